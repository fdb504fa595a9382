use super::{Align, Column, Did, Identity, Key, Table, Width, matches};
use crate::testing::{row, with_cx};
use crate::{Action, Charset, Cx, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::Stamp;
use topotop_model::frame::{Frame, Process};
use topotop_model::locale::screen::processes as text;

static COLUMNS: &[Column<usize>] = &[
    Column::right(
        text::PID_HEAD,
        0,
        |_| Width::fixed(5),
        |cx, at: usize, pen| {
            pen.text(Role::Text, &cx.frame.processes[at].pid.to_string());
        },
    )
    .lowest(|cx, at: usize| Key::Number(f64::from(cx.frame.processes[at].pid))),
    Column::left(
        text::COMM_HEAD,
        1,
        |_| Width::flex(4, 8, 1),
        |cx, at: usize, pen| {
            pen.text(Role::Text, &cx.frame.processes[at].comm);
        },
    )
    .lowest(|cx, at: usize| Key::Text(&cx.frame.processes[at].comm)),
    Column::right(
        text::CPU_HEAD,
        2,
        |_| Width::fixed(5),
        |cx, at: usize, pen| {
            pen.some(cx.frame.processes[at].cpu_cores, "", |cores| (crate::parts::units::cores(cores), Role::Text));
        },
    )
    .highest(|cx, at: usize| Key::some(cx.frame.processes[at].cpu_cores)),
    Column::left(
        text::POLICY_HEAD,
        5,
        |_| Width::range(6, 10),
        |_, _: usize, pen| {
            pen.text(Role::Dim, "note");
        },
    ),
];

const IDENTITY: Identity<usize, u32> = Identity {
    of: |cx, at| cx.frame.processes.get(at).map(|process| process.pid),
    is: |cx, at, pid| cx.frame.processes.get(at).is_some_and(|process| process.pid == *pid),
    subject: |pid| Some(Subject::Process(*pid, 0)),
    from: |subject| if let Subject::Process(pid, _) = subject { Some(*pid) } else { None },
};

/// A frame of processes: pid and cores.
fn frame(seq: u64, rows: &[(u32, Option<f64>)]) -> Frame {
    let process = |&(pid, cpu_cores): &(u32, Option<f64>)| Process {
        pid,
        comm: format!("name{pid}").into(),
        cpu_cores,
        ..Process::default()
    };
    Frame {
        stamp: Stamp { seq, ..Stamp::default() },
        processes: rows.iter().map(process).collect(),
        ..Frame::default()
    }
}

fn table() -> Table<usize, u32> {
    Table::new(COLUMNS, IDENTITY, Some(2))
}

const AREA: Rect = Rect::new(0, 0, 40, 6);

fn arrange(table: &mut Table<usize, u32>, cx: &Cx<'_>) {
    if table.stale(cx, 0) {
        let rows = cx.frame.processes.iter().enumerate().filter(|(_, process)| matches(cx.filter, &process.comm));
        table.fill(cx, rows.map(|(at, _)| at), cx.frame.processes.len());
    }
    table.place(cx, AREA);
}

fn pids(table: &Table<usize, u32>, cx: &Cx<'_>) -> Vec<u32> {
    table.rows().iter().map(|&at| cx.frame.processes[at].pid).collect()
}

fn drawn(table: &Table<usize, u32>, cx: &Cx<'_>) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, 42, 6));
    table.draw(cx, &mut buf);
    buf
}

const THREE: &[(u32, Option<f64>)] = &[(1, Some(0.5)), (2, None), (3, Some(2.0))];

#[test]
fn unknown_values_come_last_in_either_order() {
    with_cx(&frame(1, THREE), Charset::Unicode, |cx| {
        let mut table = table();
        arrange(&mut table, cx);
        assert_eq!(pids(&table, cx), [3, 1, 2]);
        assert_eq!(table.act(Action::SortReverse, cx), Did::Changed);
        arrange(&mut table, cx);
        assert_eq!(pids(&table, cx), [1, 3, 2]);
        assert_eq!(table.order(), Some((text::CPU_HEAD, false)));
        assert_eq!(table.act(Action::SortNext, cx), Did::Changed);
        arrange(&mut table, cx);
        assert_eq!((table.order(), pids(&table, cx)), (Some((text::PID_HEAD, false)), vec![1, 2, 3]));
    });
}

#[test]
fn selection_is_of_the_thing_and_not_of_the_row() {
    let mut table = table();
    with_cx(&frame(1, THREE), Charset::Unicode, |cx| {
        arrange(&mut table, cx);
        assert_eq!(table.selected(), None);
        assert_eq!((table.act(Action::Down, cx), table.selected().copied()), (Did::Selected, Some(3)));
        assert_eq!((table.act(Action::Down, cx), table.selected().copied()), (Did::Selected, Some(1)));
    });
    // It overtakes: still selected, in the first row.
    with_cx(&frame(2, &[(1, Some(9.0)), (3, Some(2.0))]), Charset::Unicode, |cx| {
        arrange(&mut table, cx);
        assert_eq!((pids(&table, cx), table.selected().copied()), (vec![1, 3], Some(1)));
        assert!(row(&drawn(&table, cx), 1).starts_with("▶    1 name1"));
        assert_eq!(table.act(Action::Up, cx), Did::Nothing);
    });
    // It ends: nothing else is taken for it, the next step goes on from where it was.
    with_cx(&frame(3, &[(3, Some(2.0)), (4, Some(1.0))]), Charset::Unicode, |cx| {
        arrange(&mut table, cx);
        assert_eq!(table.selected_row(cx), None);
        assert!(!row(&drawn(&table, cx), 1).contains('▶'));
        assert_eq!((table.act(Action::Down, cx), table.selected().copied()), (Did::Selected, Some(4)));
    });
}

#[test]
fn filter_keeps_identity_and_counts() {
    let many: Vec<(u32, Option<f64>)> = (1..=30).map(|pid| (pid, Some(f64::from(pid)))).collect();
    let frame = frame(1, &many);
    let mut table = table();
    with_cx(&frame, Charset::Unicode, |cx| {
        arrange(&mut table, cx);
        table.act(Action::End, cx);
        assert_eq!(table.selected().copied(), Some(1));
        let narrow = Cx { filter: "NAME1", ..*cx };
        arrange(&mut table, &narrow);
        assert_eq!((table.counts(), table.selected_row(&narrow).is_some()), ((11, 30), true));
        let other = Cx { filter: "name2", ..*cx };
        arrange(&mut table, &other);
        assert_eq!(table.selected_row(&other), None);
        arrange(&mut table, cx);
        assert_eq!(table.selected_row(cx).map(|at| cx.frame.processes[at].pid), Some(1));
    });
}

#[test]
fn pages_wheel_and_bar() {
    let many: Vec<(u32, Option<f64>)> = (1..=30).map(|pid| (pid, Some(f64::from(pid)))).collect();
    with_cx(&frame(1, &many), Charset::Unicode, |cx| {
        let mut table = table();
        arrange(&mut table, cx);
        assert_eq!(table.act(Action::Wheel { rows: 3, column: 12, row: 4 }, cx), Did::Changed);
        arrange(&mut table, cx);
        assert!(row(&drawn(&table, cx), 1).contains("name27"));
        assert_eq!(table.act(Action::Wheel { rows: -99, column: 12, row: 4 }, cx), Did::Changed);
        arrange(&mut table, cx);
        assert_eq!(table.act(Action::Wheel { rows: -1, column: 12, row: 4 }, cx), Did::Nothing);
        table.act(Action::PageDown, cx);
        arrange(&mut table, cx);
        assert_eq!(table.selected().copied(), Some(25));
        let buf = drawn(&table, cx);
        assert!(row(&buf, 5).starts_with("▶   25"), "a page down shows what is selected");
        assert!((1..6).any(|y| buf[(40, y)].symbol() == "┃"), "a bar says where");
        // The wheel may leave the selection behind; the next frame does not jump back to it.
        table.act(Action::Wheel { rows: 15, column: 12, row: 4 }, cx);
        arrange(&mut table, cx);
        assert!(!(1..6).any(|y| row(&drawn(&table, cx), y).contains('▶')));
    });
}

#[test]
fn clicks_sort_select_and_open() {
    with_cx(&frame(1, THREE), Charset::Unicode, |cx| {
        let mut table = table();
        arrange(&mut table, cx);
        assert_eq!(table.act(Action::Click { column: 8, row: 0 }, cx), Did::Changed);
        arrange(&mut table, cx);
        assert_eq!(table.order(), Some((text::COMM_HEAD, false)));
        assert!(row(&drawn(&table, cx), 0).contains("COMM▲"));
        assert_eq!(table.act(Action::Click { column: 8, row: 2 }, cx), Did::Selected);
        assert_eq!(table.selected().copied(), Some(2));
        assert_eq!(table.act(Action::Click { column: 8, row: 2 }, cx), Did::Opened);
        assert_eq!(table.act(Action::Click { column: 8, row: 5 }, cx), Did::Nothing);
        assert_eq!(table.act(Action::Click { column: 99, row: 99 }, cx), Did::Nothing);
    });
}

#[test]
fn another_panels_selection_is_taken_over_once() {
    with_cx(&frame(1, THREE), Charset::Unicode, |cx| {
        let mut table = table();
        let subject = Subject::Process(1, 0);
        let elsewhere = Cx { selected: Some(&subject), ..*cx };
        arrange(&mut table, &elsewhere);
        assert_eq!(table.selected().copied(), Some(1));
        table.act(Action::Up, &elsewhere);
        arrange(&mut table, &elsewhere);
        assert_eq!(table.selected().copied(), Some(3), "the user has moved on");
        let nic = Subject::Nic(Arc::from("eth0"));
        arrange(&mut table, &Cx { selected: Some(&nic), ..*cx });
        assert_eq!(table.selected().copied(), Some(3), "not a subject of this table");
    });
}

#[test]
fn unimportant_columns_vanish_and_ascii_has_its_marks() {
    with_cx(&frame(1, THREE), Charset::Ascii, |cx| {
        let mut table = table();
        arrange(&mut table, cx);
        let heads = row(&drawn(&table, cx), 0);
        assert!(heads.contains("CPU\\") && heads.contains("POLICY"), "{heads}");
        table.place(cx, Rect::new(0, 0, 20, 6));
        let heads = row(&drawn(&table, cx), 0);
        assert!(heads.contains("CPU\\") && !heads.contains("POLICY"), "{heads}");
        table.place(cx, Rect::new(0, 0, 8, 6));
        assert_eq!(row(&drawn(&table, cx), 0), "   PID");
        table.act(Action::Down, cx);
        assert!(row(&drawn(&table, cx), 1).starts_with(">    3"));
    });
}

#[test]
fn drawing_stays_inside() {
    with_cx(&frame(1, THREE), Charset::Unicode, |cx| {
        let mut table = table();
        for (width, height) in [(0, 0), (1, 1), (2, 2), (500, 300)] {
            arrange(&mut table, cx);
            table.place(cx, Rect::new(3, 2, width, height));
            drawn(&table, cx);
        }
        assert_eq!(COLUMNS[0].align, Align::Right);
    });
}

#[test]
fn five_thousand_rows_are_built_once_a_frame() {
    let many: Vec<(u32, Option<f64>)> = (1..=5000).map(|pid| (pid, Some(f64::from(pid % 97)))).collect();
    with_cx(&frame(1, &many), Charset::Unicode, |cx| {
        let mut table = table();
        assert!(table.stale(cx, 0));
        arrange(&mut table, cx);
        assert!(!table.stale(cx, 0), "another draw of the same frame sorts nothing");
        assert!(table.stale(cx, 1));
    });
}

#[test]
fn filters_ignore_case() {
    assert!(matches("BEAM", "beam.smp") && matches("", "x") && matches("äÖ", "xÄöx"));
    assert!(!matches("beam", "bea") && !matches("x", ""));
}
