use super::{Processes, compact};
use crate::testing::{drawn, list, picture, style_of, survives, with_cx};
use crate::{Action, Charset, Outcome, Panel, Role, Subject, Theme, demo};

#[test]
fn every_machine_size_and_action() {
    survives(|| Box::new(Processes::default()));
}

#[test]
fn pictures() {
    for size in [(80, 22), (120, 38), (200, 58)] {
        let text = picture(&mut Processes::default(), &demo::server(), size, &[]);
        insta::assert_snapshot!(format!("{}x{}", size.0, size.1), text);
    }
    let open = picture(&mut Processes::default(), &demo::server(), (120, 38), &[Action::Open]);
    insta::assert_snapshot!("open", open);
    insta::assert_snapshot!("one_node", picture(&mut Processes::default(), &demo::tiny(), (80, 22), &[]));
    insta::assert_snapshot!("compact", list(compact, &demo::server(), 100, 6));
}

#[test]
fn opening_asks_for_threads_and_closing_stops_that() {
    with_cx(&demo::server(), Charset::Unicode, |cx| {
        let mut panel = Processes::default();
        drawn(&mut panel, cx, 120, 38);
        assert_eq!(panel.act(Action::Open, cx), Outcome::Watch(Some(4121)));
        assert_eq!(panel.act(Action::Down, cx), Outcome::Watch(Some(4383)));
        assert_eq!(panel.act(Action::PageDown, cx), Outcome::Changed);
        assert_eq!(panel.act(Action::Close, cx), Outcome::Watch(None));
        assert_eq!(panel.act(Action::Up, cx), Outcome::Selected(Subject::Process(4121, 4121 * 31)));
        assert_eq!(panel.act(Action::Close, cx), Outcome::Changed);
        assert_eq!(panel.act(Action::Close, cx), Outcome::Ignored);
    });
}

#[test]
fn a_pid_that_is_somebody_else_now_is_not_shown_as_the_one_before() {
    let mut panel = Processes::default();
    let mut frame = demo::server();
    with_cx(&frame, Charset::Unicode, |cx| {
        drawn(&mut panel, cx, 120, 38);
        panel.act(Action::Open, cx);
    });
    frame.stamp.seq += 1;
    frame.processes.iter_mut().for_each(|process| process.starttime += 1);
    let text = picture(&mut panel, &frame, (120, 38), &[]);
    assert!(text.contains("process 4121 has ended"), "{text}");
}

#[test]
fn what_is_denied_says_so_in_its_own_style() {
    let frame = demo::server();
    with_cx(&frame, Charset::Unicode, |cx| {
        let buf = drawn(&mut Processes::default(), cx, 200, 58);
        let denied = Theme::default_theme().style(Role::Denied);
        assert_eq!(style_of(&buf, "denied").and_then(|style| style.fg), denied.fg);
        assert!(style_of(&buf, "4×1 pinned").is_some());
    });
    with_cx(&frame, Charset::Ascii, |cx| {
        assert!(style_of(&drawn(&mut Processes::default(), cx, 200, 58), "4x1 pinned").is_some());
    });
}

#[test]
fn a_first_reading_of_io_counters_is_not_denied() {
    let mut frame = demo::server();
    frame.interval_seconds = Some(1.0);
    for process in &mut frame.processes {
        (process.write_bytes_per_second, process.has_io) = (None, process.pid == 4121);
    }
    frame.gaps.push(topotop_model::Gap {
        path: "proc/*/io".into(),
        reason: topotop_model::Reason::PermissionDenied,
        count: 1,
        needs: "".into(),
    });
    with_cx(&frame, Charset::Unicode, |cx| {
        let text = crate::testing::text(&drawn(&mut super::Processes::default(), cx, 200, 58));
        let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
        let denied = |name: &str| row(name).matches("denied").count();
        assert!(denied("4121") < denied("4383"), "{text}");
    });
}
