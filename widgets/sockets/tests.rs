use super::Sockets;
use crate::testing::{drawn, picture, style_of, survives, text, with_cx};
use crate::{Action, Charset, Cx, Outcome, Panel, Role, Subject, Theme, demo};
use topotop_model::frame::Frame;
use topotop_model::{Gap, Reason};

#[test]
fn every_machine_size_and_action() {
    survives(|| Box::new(Sockets::default()));
}

#[test]
fn pictures() {
    for size in [(80, 22), (120, 38), (200, 58)] {
        let text = picture(&mut Sockets::default(), &demo::server(), size, &[]);
        insta::assert_snapshot!(format!("{}x{}", size.0, size.1), text);
    }
    let open = picture(&mut Sockets::default(), &demo::server(), (120, 38), &[Action::Open]);
    insta::assert_snapshot!("open", open);
}

#[test]
fn without_sockets_it_says_so() {
    let text = picture(&mut Sockets::default(), &Frame::default(), (80, 22), &[]);
    assert!(text.contains("no sockets"), "{text}");
}

#[test]
fn sockets_that_may_not_be_read_are_not_none() {
    let gap = Gap {
        path: "proc/*/fd".into(),
        reason: Reason::PermissionDenied,
        count: 6,
        needs: "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, or root".into(),
    };
    let frame = Frame { gaps: vec![gap], ..Frame::default() };
    let text = picture(&mut Sockets::default(), &frame, (80, 22), &[]);
    assert!(text.contains("CAP_SYS_PTRACE") && !text.contains("no sockets"), "{text}");
}

#[test]
fn the_list_says_how_many_processes_may_have_more() {
    let mut frame = demo::server();
    let needs = "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, or root".into();
    frame.gaps.push(Gap { path: "proc/*/fd".into(), reason: Reason::PermissionDenied, count: 6, needs });
    let text = picture(&mut Sockets::default(), &frame, (80, 22), &[]);
    assert!(text.contains("6 processes not read"), "{text}");
}

#[test]
fn a_full_accept_queue_and_lost_segments_stand_out() {
    with_cx(&demo::server(), Charset::Unicode, |cx| {
        let theme = Theme::default_theme();
        let cx = Cx { theme: &theme, ..*cx };
        let buf = drawn(&mut Sockets::default(), &cx, 120, 38);
        let style = |role| theme.style(role).fg;
        assert_eq!(style_of(&buf, "117/128").and_then(|style| style.fg), style(Role::Critical), "{}", text(&buf));
        assert_eq!(style_of(&buf, "0.7%").and_then(|style| style.fg), style(Role::Warn), "{}", text(&buf));
    });
}

#[test]
fn a_filter_finds_ports_peers_and_programs() {
    with_cx(&demo::server(), Charset::Unicode, |cx| {
        for (filter, says, lacks) in [
            ("5672", ":5672 from 10.20.0.5", "2001:db8"),
            ("2001:db8", "from 2001:db8::17", "15672"),
            ("postgres", "7741", "beam"),
        ] {
            let cx = Cx { filter, ..*cx };
            let mut panel = Sockets::default();
            let list = text(&drawn(&mut panel, &cx, 160, 40));
            let list = list.split("Network namespaces").next().unwrap_or_default();
            assert!(list.contains(says) && !list.contains(lacks), "{filter}: {list}");
        }
    });
}

#[test]
fn its_process_is_the_subject() {
    with_cx(&demo::server(), Charset::Unicode, |cx| {
        let mut panel = Sockets::default();
        drawn(&mut panel, cx, 120, 38);
        let outcome = panel.act(Action::Open, cx);
        assert!(matches!(outcome, Outcome::Selected(Subject::Process(4121 | 4383 | 4590, _))), "{outcome:?}");
    });
}
