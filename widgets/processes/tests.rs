use super::{Processes, compact};
use crate::testing::{drawn, list, over_time, picture, style_of, survives, with_cx};
use crate::{Action, Charset, Cx, Outcome, Panel, Role, Subject, Theme, demo};

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
fn charts_take_the_rows_that_the_list_leaves() {
    for size in [(80, 22), (120, 38), (200, 58)] {
        let text = over_time(&mut Processes::default(), size, &[]);
        insta::assert_snapshot!(format!("over_time_{}x{}", size.0, size.1), text);
    }
    insta::assert_snapshot!("over_time_open", over_time(&mut Processes::default(), (200, 58), &[Action::Open]));
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
    assert!(text.contains("process 4121 has exited"), "{text}");
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

/// The pids and tids of the lines in their order, indented by depth.
fn lines(panel: &mut Processes, frame: &topotop_model::frame::Frame, filter: &str) -> Vec<(u16, u32)> {
    with_cx(frame, Charset::Unicode, |cx| {
        let cx = Cx { filter, ..*cx };
        drawn(panel, &cx, 120, 38);
        let rows = panel.browser.table.rows().iter();
        let id = |row: &super::rows::Row| super::rows::id(&cx, *row).map(|id| if id.2 > 0 { id.2 } else { id.0 });
        rows.map(|row| (row.depth, id(row).unwrap_or_default())).collect()
    })
}

/// 10 below 1, 12 and 11 below 10, 20 alone; 30 and 31 are each other's parents.
fn family() -> topotop_model::frame::Frame {
    let process = |(pid, ppid, cores): (u32, u32, f64)| topotop_model::frame::Process {
        pid,
        ppid: topotop_model::Known::Value(ppid),
        comm: format!("p{pid}").into(),
        cpu_cores: Some(cores),
        threads: topotop_model::Known::Value(2),
        ..Default::default()
    };
    let all = [(1, 0, 0.0), (10, 1, 0.1), (11, 10, 0.2), (12, 10, 0.9), (20, 0, 0.5), (30, 31, 0.0), (31, 30, 0.0)];
    let thread = |(tid, cores): (u32, f64)| topotop_model::frame::Thread {
        tid,
        pid: 20,
        comm: "worker".into(),
        cpu_cores: Some(cores),
        ..Default::default()
    };
    topotop_model::frame::Frame {
        processes: all.into_iter().map(process).collect(),
        threads: [(20, 0.1), (21, 0.4)].into_iter().map(thread).collect(),
        ..Default::default()
    }
}

#[test]
fn children_stand_below_their_parents_and_circles_are_listed_too() {
    let (mut panel, frame) = (Processes::default(), family());
    with_cx(&frame, Charset::Unicode, |cx| panel.act(Action::Tree, cx));
    let all = lines(&mut panel, &frame, "");
    assert_eq!(all[..5], [(0, 20), (0, 1), (1, 10), (2, 12), (2, 11)]);
    assert_eq!(all.len(), 7);
    assert_eq!(lines(&mut panel, &frame, "p11"), [(0, 1), (1, 10), (2, 11)], "a match with its ancestors");
    with_cx(&frame, Charset::Unicode, |cx| {
        panel.act(Action::Home, cx);
        panel.act(Action::Down, cx);
        panel.act(Action::Down, cx);
        panel.act(Action::Fold, cx);
    });
    assert_eq!(lines(&mut panel, &frame, "")[..3], [(0, 20), (0, 1), (1, 10)]);
    assert_eq!(lines(&mut panel, &frame, "").len(), 5);
}

#[test]
fn threads_are_lines_of_their_own() {
    let (mut panel, frame) = (Processes::default(), family());
    with_cx(&frame, Charset::Unicode, |cx| {
        drawn(&mut panel, cx, 120, 38);
        assert_eq!(panel.act(Action::Threads, cx), Outcome::Watch(None));
        drawn(&mut panel, cx, 120, 38);
        panel.act(Action::Home, cx);
        panel.act(Action::Down, cx);
        assert_eq!(panel.act(Action::Down, cx), Outcome::Watch(Some(20)));
        assert_eq!(panel.thread(), Some(21), "the busiest thread of 20");
        assert_eq!(panel.modes(), [Action::Threads]);
    });
    assert_eq!(lines(&mut panel, &frame, "")[..4], [(0, 12), (0, 20), (1, 21), (1, 20)]);
    let text = picture(&mut panel, &frame, (120, 38), &[]);
    assert!(text.contains("└ worker"), "{text}");
}

#[test]
fn columns_are_chosen_moved_and_searched() {
    use crate::parts::table::Listed as _;
    let frame = demo::server();
    let mut panel = Processes::default();
    let table = &mut panel.browser.table;
    table.show_columns(&["cpu".to_owned(), "pid".to_owned(), "no-such".to_owned(), "comm".to_owned()]);
    let shown: Vec<String> =
        table.columns().into_iter().filter(|column| column.shown).map(|column| column.name).collect();
    assert_eq!(shown, ["cpu", "pid", "comm"]);
    assert!(table.sort_on("rss", None) && !table.sort_on("affinity", None));
    assert_eq!(
        table.columns().into_iter().find(|column| column.sorted.is_some()).map(|column| column.name).as_deref(),
        Some("rss")
    );
    with_cx(&frame, Charset::Unicode, |cx| {
        drawn(&mut panel, cx, 80, 22);
        assert!(panel.browser.table.search(cx, "BEAM", true));
        let first = panel.browser.table.selected().copied();
        assert!(panel.browser.table.search(cx, "beam", true));
        assert_ne!(panel.browser.table.selected().copied(), first);
        assert!(panel.browser.table.search(cx, "beam", false));
        assert_eq!(panel.browser.table.selected().copied(), first);
        assert!(!panel.browser.table.search(cx, "no such text", true));
    });
    panel.browser.table.show_columns(&[]);
    assert!(panel.browser.table.columns().len() > 15);
}

#[test]
fn with_threads_what_threads_have_comes_first() {
    for (size, heads) in [((120, 36), &["LAST", "NODE"][..]), ((200, 56), &["LAST", "NODE", "WAIT", "AFFINITY", "S "])]
    {
        let mut panel = Processes::default();
        let text = picture(&mut panel, &demo::server(), size, &[Action::Threads]);
        let line = text.lines().find(|line| line.contains("PID")).unwrap_or_default();
        assert!(heads.iter().all(|head| line.contains(head)), "{line}");
    }
}

#[test]
fn the_id_of_a_container_is_not_shown_whole() {
    let mut frame = demo::server();
    let id = "0123456789abcdef".repeat(4);
    frame.processes.iter_mut().for_each(|process| process.cgroup = format!("/docker/{id}/init").into());
    let text = picture(&mut Processes::default(), &frame, (200, 58), &[Action::Open]);
    assert!(text.contains("/docker/0123456789ab…/init") && !text.contains(&id), "{text}");
}
