use super::{Button, Choice, Dialog, Keys, Run, Stage, Undone, arrange, draw};
use crate::testing::{judged, text, with_cx};
use crate::{Charset, Cx, Subject, Theme, demo, themes};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::BTreeMap;
use topotop_model::diff::{self, Watch};
use topotop_model::fix::verification::Trip;
use topotop_model::fix::{
    ALL, Identity, Item, Need, Plan, Refused, Resolved, Risk, Snippet, Step, Surroundings, Target, Verdict, Verify,
};
use topotop_model::journal::{Applied, Measured, Outcome};

/// A plan with everything that one can have.
fn plan() -> Plan {
    let nic = |metric| Watch { subject: diff::Subject::Nic("eth0".into()), metric };
    let host = |metric| Watch { subject: diff::Subject::Host, metric };
    let pressure = Watch { subject: diff::Subject::Pressure("memory".into()), metric: "pressure.full" };
    Plan {
        fix: "F-CHAN",
        rule: topotop_model::rules::nic_channels::ID,
        subject: Subject::Nic("eth0".into()),
        title: "Raise the combined channels of eth0 from 1 to 8".to_owned(),
        identity: vec![Identity::Nic { name: "eth0".into(), ifindex: 2, address: "52:54:00:12:34:56".into() }],
        steps: vec![
            Step::new("channels", Target::Channels { nic: "eth0".into() }, "combined 8"),
            Step::new("threads", Target::Affinity { pid: 4121, starttime: 88 }, "0-7"),
        ],
        kept: vec![Target::RssTable { nic: "eth0".into() }, Target::file("/proc/irq/141/smp_affinity_list")],
        commands: vec!["ethtool -L eth0 combined 8".to_owned()],
        snippets: Vec::new(),
        risk: Risk::Dangerous,
        breaks: vec![
            "many drivers reset the device: no link for 0.1 to 5 s, a bond fails over".to_owned(),
            "invalidates a running measurement".to_owned(),
        ],
        cuts_off: vec!["your SSH session uses it".to_owned()],
        needs: vec![Need { capability: "CAP_NET_ADMIN".into(), what: "to set channels".into() }],
        undo: "ethtool -L eth0 combined 1, then restores the affinities".to_owned(),
        lost: vec!["IRQ numbers may change".to_owned()],
        reverters: vec!["NetworkManager, if a profile sets the channels".to_owned()],
        verify: Verify {
            load: Some(nic("nic.rx_packets")),
            cost: Some(host("host.busiest_softirq")),
            guards: vec![nic("nic.rx_errors"), nic("nic.rx_drops")],
            shown: Vec::new(),
            trips: vec![Trip { watch: pressure, above_hundredths: 10, seconds: 5 }],
            before_seconds: 30,
            settle_seconds: 5,
            after_seconds: 30,
        },
        persistent: Some(Snippet {
            place: "/etc/systemd/network/10-eth0.link".to_owned(),
            text: "[Match]\nOriginalName=eth0\n\n[Link]\nCombinedChannels=8\n".to_owned(),
        }),
    }
}

fn resolved() -> Resolved {
    let item = |key: &str, old: &str, new: &str| Item { key: key.into(), old: Some(old.into()), new: new.into() };
    let threads = [("4122@90", "0"), ("4123@90", "1")].map(|(key, old)| item(key, old, "0-7")).to_vec();
    Resolved {
        items: vec![vec![item("", "combined 1", "combined 8")], threads],
        kept: Vec::new(),
        unread: Vec::new(),
        plan: plan(),
    }
}

fn dialog(stage: Stage) -> Dialog {
    let refused = Refused {
        fix: "F-RPS",
        name: topotop_model::locale::fix::packet_steering::NAME,
        why: "it has several queues".to_owned(),
        needs: "an interface with one queue".to_owned(),
    };
    Dialog {
        rule: topotop_model::rules::nic_channels::ID,
        subject: Subject::Nic("eth0".into()),
        title: "eth0 uses 1 of 8 combined channels; CPU 17 is 96% softirq".to_owned(),
        choices: vec![Choice::Plan(ALL[0], Box::new(plan())), Choice::Refused(refused)],
        chosen: 0,
        stage,
        button: Button::Cancel,
        typed: None,
        sets: BTreeMap::new(),
        editing: None,
        scroll: 0,
        disabled: None,
        now_ns: 0,
        note: None,
    }
}

fn measured(role: &str, metric: &str, before: Option<[f64; 3]>, after: Option<[f64; 3]>, verdict: &str) -> Measured {
    let subject = if metric.starts_with("host.") { "host" } else { "nic:eth0" }.to_owned();
    let (metric, role, verdict) = (metric.to_owned(), role.to_owned(), verdict.to_owned());
    Measured { subject, metric, role, before, after, verdict, ..Measured::default() }
}

/// Applied, and measured.
fn run() -> Run {
    let outcome = |step: usize, key: &str, value: &str, error: Option<&str>| Outcome {
        step,
        key: key.into(),
        value: Some(value.into()),
        error: error.map(str::to_owned),
        ended: false,
    };
    let plan_verify = plan().verify;
    let mut run = Run::new(resolved(), Some(topotop_model::fix::Verification::new(&plan_verify, None)));
    run.number = Some(7);
    run.doing = super::Doing::Ended;
    run.state = Some(Applied::Partial);
    run.items = vec![
        outcome(0, "", "combined 8", None),
        outcome(1, "4122@90", "0-7", None),
        outcome(1, "4123@90", "1", Some("Invalid argument")),
    ];
    run.verdict = Some(Verdict {
        name: "improved",
        why: "packets received (nic:eth0) +18%, softirq of the busiest CPU (host) -42%".to_owned(),
        table: vec![
            measured("load", "nic.rx_packets", Some([94e3, 92e3, 96e3]), Some([111e3, 108e3, 113e3]), "improved"),
            measured("cost", "host.busiest_softirq", Some([0.98, 0.97, 0.99]), Some([0.57, 0.5, 0.6]), "improved"),
            measured("guard", "nic.rx_errors", Some([0.0; 3]), Some([0.0; 3]), "no_change"),
            measured("guard", "nic.rx_drops", None, None, "inconclusive"),
        ],
        ..Verdict::unmeasured("")
    });
    run
}

fn keys() -> Keys {
    let key = |key: &str| key.to_owned();
    Keys { undo: key("U"), keep: key("K"), copy: key("c"), set: key("e"), page: key("pgdn") }
}

fn picture(cx: &Cx<'_>, dialog: &Dialog, (width, height): (u16, u16)) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buf = Buffer::empty(area);
    let mut dialog = dialog.clone();
    arrange(cx, &mut dialog, area);
    draw(cx, &dialog, &keys(), area, &mut buf);
    text(&buf)
}

const SIZES: [(u16, u16); 3] = [(80, 22), (120, 38), (200, 58)];

#[test]
fn looks() {
    let (frame, judgement) = (demo::server(), demo::sick());
    let stages = [
        ("choosing", Stage::Choosing),
        ("review", Stage::Review(Box::new(resolved()))),
        ("run", Stage::Run(Box::new(run()))),
    ];
    for (name, stage) in stages {
        for size in SIZES {
            judged(&frame, &judgement, Charset::Unicode, |cx| {
                let name = format!("fix_{name}_{}x{}", size.0, size.1);
                insta::assert_snapshot!(name, picture(cx, &dialog(stage.clone()), size));
            });
        }
        judged(&frame, &judgement, Charset::Ascii, |cx| {
            let picture = picture(cx, &dialog(stage.clone()), (80, 22));
            assert!(picture.is_ascii(), "{picture}");
            insta::assert_snapshot!(format!("fix_{name}_ascii_80x22"), picture);
        });
    }
}

/// The text has everything to know before confirming, reachable by scrolling.
#[test]
fn nothing_is_left_out_on_a_small_terminal() {
    judged(&demo::server(), &demo::sick(), Charset::Unicode, |cx| {
        let mut all = String::new();
        let mut dialog = dialog(Stage::Review(Box::new(resolved())));
        for page in 0..8 {
            dialog.scroll = page * 10;
            all += &picture(cx, &dialog, (80, 22));
        }
        let plan = plan();
        let parts = [&plan.title, &plan.commands[0], &plan.cuts_off[0], &plan.lost[0], "52:54:00:12:34:56"];
        let more = ["combined 1 → combined 8", "4123@90: 1 → 0-7", "dangerous", "CombinedChannels=8", "CAP_NET_ADMIN"];
        let last =
            ["automatic rollback after 60 s", "should rise: packets received", "immediate rollback if", "Cancel"];
        for part in parts.into_iter().map(|part| part as &str).chain(more).chain(last) {
            assert!(all.contains(part), "{part}\n{all}");
        }
    });
}

/// A missing capability is shown before applying, with the alternative.
#[test]
fn missing_capabilities_are_shown() {
    judged(&demo::server(), &demo::sick(), Charset::Unicode, |cx| {
        let dialog = dialog(Stage::Review(Box::new(resolved())));
        let warns = |surroundings: &Surroundings| {
            let cx = Cx { surroundings, ..*cx };
            picture(&cx, &dialog, (120, 58)).contains("CAP_NET_ADMIN to set channels: topotop lacks it")
        };
        let none = Surroundings { uid: 1000, ..Surroundings::default() };
        let held = Surroundings { capabilities: vec!["CAP_NET_ADMIN".to_owned()], ..none.clone() };
        assert!(warns(&none) && !warns(&held) && !warns(&Surroundings::default()));
    });
}

/// Where there are no colours, the focus is still seen.
#[test]
fn the_focus_has_a_sign() {
    judged(&demo::server(), &demo::sick(), Charset::Unicode, |cx| {
        let mut dialog = dialog(Stage::Review(Box::new(resolved())));
        for (button, sign) in
            [(Button::Cancel, "▶[ Cancel ]"), (Button::Copy, "▶[ Copy commands ]"), (Button::Apply, "▶[ Apply ]")]
        {
            dialog.button = button;
            let picture = picture(cx, &dialog, (80, 22));
            assert!(picture.contains(sign) && picture.matches('▶').count() == 1, "{picture}");
        }
    });
}

/// Every theme, size, stage and hostile name: nothing panics, nothing leaves the area, nothing steers the terminal.
#[test]
fn survives_everything() {
    let evil = "\u{1b}[31mred\u{7}\u{202e}\n名前".repeat(9);
    let mut undone = run();
    undone.undone = Some(Undone { why: evil.clone().into(), whole: false, items: undone.items.clone() });
    undone.trouble = Some(evil.clone());
    undone.deadline_ns = Some(5_000_000_000);
    let mut hostile = resolved();
    hostile.plan.title.clone_from(&evil);
    hostile.plan.commands = vec![evil.clone(); 3];
    hostile.plan.identity = vec![Identity::Process { pid: 1, starttime: 2, comm: evil.clone() }];
    hostile.unread = vec![(0, evil.clone())];
    let stages = [
        Stage::Choosing,
        Stage::Reading(Box::new(hostile.plan.clone())),
        Stage::Review(Box::new(hostile)),
        Stage::Run(Box::new(run())),
        Stage::Run(Box::new(undone)),
        Stage::Run(Box::new(Run::new(resolved(), None))),
    ];
    let all: Vec<Theme> = themes::ALL.iter().map(|(_, text)| Theme::parse(text).expect("a theme")).collect();
    for theme in &all {
        for charset in [Charset::Unicode, Charset::Ascii] {
            for (width, height) in [(1, 1), (40, 6), (60, 12), (80, 22), (200, 58)] {
                for stage in &stages {
                    judged(&demo::server(), &demo::sick_hostile(), charset, |cx| {
                        let cx = Cx { theme, ..*cx };
                        let mut dialog = dialog(stage.clone());
                        dialog.title.clone_from(&evil);
                        dialog.note = Some(evil.clone());
                        dialog.scroll = usize::from(width);
                        let picture = picture(&cx, &dialog, (width, height));
                        let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
                        assert!(!picture.contains(steers), "{picture:?}");
                    });
                }
            }
        }
    }
}

/// What is written where each press is.
fn presses(dialog: &Dialog, size: (u16, u16)) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    judged(&demo::server(), &demo::sick(), Charset::Unicode, |cx| {
        let area = Rect::new(0, 0, size.0, size.1);
        let mut buffer = Buffer::empty(area);
        draw(cx, dialog, &keys(), area, &mut buffer);
        for (row, column) in (0..size.1).flat_map(|row| (0..size.0).map(move |column| (row, column))) {
            if let Some(press) = super::press(cx, dialog, &keys(), area, (column, row)) {
                found.entry(format!("{press:?}")).or_default().push_str(buffer[(column, row)].symbol());
            }
        }
    });
    found
}

#[test]
fn what_is_pressed_is_what_is_written_there() {
    for size in [(80, 24), (120, 40)] {
        let choices = presses(&dialog(Stage::Choosing), size);
        assert!(choices["Choice(0)"].contains("F-CHAN") && !choices["Choice(0)"].contains("F-RPS"), "{choices:?}");
        assert!(choices["Choice(1)"].contains("several queues"), "{choices:?}");
        assert_eq!((choices["Enter"].as_str(), choices["Close"].as_str()), ("Enter review", "Esc close"));
        let review = presses(&dialog(Stage::Review(Box::new(resolved()))), size);
        assert!(review["Button(Apply)"].contains("[ Apply ]") && review["Button(Cancel)"].contains("[ Cancel ]"));
        let run = presses(&dialog(Stage::Run(Box::new(run()))), size);
        assert!(run["Undo"].starts_with("U undo"), "{run:?}");
    }
}

/// The CPUs of a pin are marked in a drawing of the machine, whatever its size, without scrolling.
#[test]
fn a_pin_draws_the_machine() {
    let machines = [("server", demo::server()), ("large", demo::large()), ("widest", demo::widest())];
    for (name, frame) in machines {
        for charset in [Charset::Unicode, Charset::Ascii] {
            with_cx(&frame, charset, |cx| {
                let mut dialog = dialog(Stage::Choosing);
                let target = Target::Affinity { pid: 4121, starttime: 88 };
                let steps = vec![Step::new("threads", target, "0-3,17")];
                let pin = ALL.iter().find(|fix| fix.id == "F-PIN").unwrap();
                dialog.choices[0] = Choice::Plan(pin, Box::new(Plan { steps, ..plan() }));
                let mark = if charset == Charset::Ascii { '^' } else { '▲' };
                let shown = picture(cx, &dialog, (80, 22));
                assert!(
                    shown.matches(mark).count() >= 2 && shown.contains("F-RPS") && !shown.contains("pgdn"),
                    "{shown}"
                );
                assert!(charset == Charset::Unicode || shown.is_ascii(), "{shown}");
                insta::assert_snapshot!(format!("pin_{name}_{charset:?}"), shown);
                dialog.editing = Some("cpus=0".to_owned());
                let typed = picture(cx, &dialog, (80, 22));
                assert_ne!(shown, typed, "the drawing follows what is typed");
            });
        }
    }
}
