use super::Findings;
use crate::testing::{drawn, harmless, judged, row, text};
use crate::{Action, Charset, Cx, Outcome, Panel, Subject, demo};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::judge::{Basis, Judgement};

fn picture(judgement: &Judgement, (width, height): (u16, u16), actions: &[Action]) -> String {
    judged(&demo::server(), judgement, Charset::Unicode, |cx| {
        let mut panel = Findings::default();
        drawn(&mut panel, cx, width, height);
        for &action in actions {
            panel.act(action, cx);
            drawn(&mut panel, cx, width, height);
        }
        text(&drawn(&mut panel, cx, width, height))
    })
}

#[test]
fn looks() {
    for (name, judgement) in [("sick", demo::sick()), ("healthy", demo::healthy())] {
        for size in [(80, 22), (120, 38), (200, 58)] {
            let picture = picture(&judgement, size, &[]);
            insta::assert_snapshot!(format!("findings_{name}_{}x{}", size.0, size.1), picture);
        }
    }
    insta::assert_snapshot!("findings_page_120x38", picture(&demo::sick(), (120, 38), &[Action::Down, Action::Open]));
    insta::assert_snapshot!("findings_rules_80x22", picture(&demo::sick(), (80, 22), &[Action::Mode]));
    judged(&demo::server(), &demo::sick(), Charset::Ascii, |cx| {
        insta::assert_snapshot!("findings_ascii_120x38", text(&drawn(&mut Findings::default(), cx, 120, 38)));
    });
}

#[test]
fn every_machine_size_and_action() {
    crate::testing::survives(|| Box::new(Findings::default()));
}

#[test]
fn nothing_judged_is_not_all_clear() {
    let picture = picture(&Judgement::default(), (120, 38), &[]);
    assert!(picture.contains("not evaluated yet") && !picture.contains("no findings"), "{picture}");
    let noted = Judgement { basis: Basis::Noted, ..demo::sick() };
    let picture = self::picture(&noted, (120, 38), &[]);
    assert!(picture.contains("as evaluated when recorded") && !picture.contains("quiet"), "{picture}");
}

#[test]
fn enter_opens_the_page_and_esc_closes_it() {
    judged(&demo::server(), &demo::sick(), Charset::Unicode, |cx| {
        let mut panel = Findings::default();
        drawn(&mut panel, cx, 120, 38);
        assert_eq!(panel.act(Action::Down, cx), Outcome::Selected(Subject::Nic("eth0".into())));
        panel.act(Action::Open, cx);
        let page = text(&drawn(&mut panel, cx, 120, 38));
        assert!(page.contains("Rule NIC-01") && page.contains("Thresholds") && page.contains("5000/s"), "{page}");
        assert_eq!(panel.act(Action::Close, cx), Outcome::Changed);
        let detail = text(&drawn(&mut panel, cx, 120, 38));
        assert!(detail.contains("Evidence") && detail.contains("ethtool -l"), "{detail}");
        assert_eq!(panel.act(Action::Where, cx), Outcome::Goto(Subject::Nic("eth0".into())));
        // The core that it drowns lies under it.
        assert_eq!(panel.act(Action::Down, cx), Outcome::Selected(Subject::Cpu(17)));
        assert_eq!((panel.act(Action::Close, cx), panel.act(Action::Close, cx)), (Outcome::Changed, Outcome::Ignored));
    });
}

#[test]
fn what_is_selected_elsewhere_is_selected_here() {
    judged(&demo::server(), &demo::sick(), Charset::Unicode, |cx| {
        let mut panel = Findings::default();
        let disk = Subject::Disk("nvme1n1".into());
        let picture = text(&drawn(&mut panel, &Cx { selected: Some(&disk), ..*cx }, 120, 38));
        assert!(picture.lines().any(|line| line.starts_with('▶') && line.contains("IO-02")), "{picture}");
        // Nothing is found about this one: what was selected stays.
        let other = Subject::Disk("sda".into());
        let picture = text(&drawn(&mut panel, &Cx { selected: Some(&other), ..*cx }, 120, 38));
        assert!(picture.lines().any(|line| line.starts_with('▶') && line.contains("IO-02")), "{picture}");
    });
}

#[test]
fn the_filter_keeps_causes_with_their_effects() {
    judged(&demo::server(), &demo::sick(), Charset::Unicode, |cx| {
        let picture = text(&drawn(&mut Findings::default(), &Cx { filter: "cpu:17", ..*cx }, 120, 38));
        assert!(
            picture.contains("NIC-01") && picture.contains("└ ▲ IRQ-01") && !picture.contains("MEM-02"),
            "{picture}"
        );
    });
}

#[test]
fn hostile_subjects_do_not_get_through() {
    for charset in [Charset::Unicode, Charset::Ascii] {
        judged(&demo::hostile(), &demo::sick_hostile(), charset, |cx| {
            let mut panel = Findings::default();
            for (width, height) in [(0, 0), (1, 1), (12, 4), (80, 22), (200, 58)] {
                for action in [Action::Down, Action::Open, Action::Close, Action::Mode, Action::Mode, Action::Down] {
                    harmless(&drawn(&mut panel, cx, width, height), charset);
                    panel.act(action, cx);
                }
                let area = Rect::new(0, 0, width, height);
                let mut buf = Buffer::empty(area);
                super::compact(cx, area, &mut buf);
                super::line(cx, area, &mut buf);
                harmless(&buf, charset);
            }
        });
    }
}

#[test]
fn the_line_names_the_worst_and_counts_the_rest() {
    let line = |judgement: &Judgement, width| {
        judged(&demo::server(), judgement, Charset::Unicode, |cx| {
            let area = Rect::new(0, 0, width, 1);
            let mut buf = Buffer::empty(area);
            super::line(cx, area, &mut buf);
            row(&buf, 0)
        })
    };
    insta::assert_snapshot!(
        [
            line(&demo::sick(), 80),
            line(&demo::sick(), 120),
            line(&demo::healthy(), 80),
            line(&Judgement::default(), 80),
        ]
        .join("\n")
    );
}

/// A judgement whose first finding has a long value, with the id of a container in it.
fn long_evidence() -> Judgement {
    let mut judgement = demo::sick();
    let id = "0123456789abcdef".repeat(4);
    let value = format!("/kubepods.slice/{}/cri-containerd-{id}.scope", "a-long-name-of-a-pod".repeat(6));
    judgement.findings[0].evidence[0].value = topotop_model::rules::Figure::Text(value.into());
    judgement
}

#[test]
fn evidence_shows_no_id_whole() {
    let picture = picture(&long_evidence(), (200, 58), &[Action::Down]);
    assert!(picture.contains("0123456789ab…") && !picture.contains("0123456789abcdef"), "{picture}");
}

#[test]
fn what_is_copied_is_not_cut() {
    judged(&demo::server(), &long_evidence(), Charset::Ascii, |cx| {
        let text = super::text_of(cx, &cx.judgement.findings[0]);
        let value = format!("{}/cri-containerd-0123456789ab…", "a-long-name-of-a-pod".repeat(6));
        assert!(text.lines().any(|line| line.contains(&value)), "{text}");
        let fixes = topotop_model::fix::offered(&cx.judgement.findings[0], cx.frame, cx.surroundings).0;
        assert!(!fixes.is_empty() && fixes.iter().all(|fix| !fix.executable || text.contains(fix.line())), "{text}");
    });
}
