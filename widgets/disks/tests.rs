use super::{Disks, compact};
use crate::testing::{drawn, list, over_time, picture, style_of, survives, with_cx};
use crate::{Action, Charset, Role, Theme, demo};
use topotop_model::frame::Disk;

#[test]
fn every_machine_size_and_action() {
    survives(|| Box::new(Disks::default()));
}

#[test]
fn pictures() {
    for size in [(80, 22), (120, 38), (200, 58)] {
        let text = picture(&mut Disks::default(), &demo::server(), size, &[]);
        insta::assert_snapshot!(format!("{}x{}", size.0, size.1), text);
    }
    insta::assert_snapshot!("open", picture(&mut Disks::default(), &demo::server(), (120, 38), &[Action::Open]));
    insta::assert_snapshot!("compact", list(compact, &demo::server(), 60, 3));
}

#[test]
fn what_stands_on_a_disk_comes_below_it() {
    let mut frame = demo::server();
    let upper = Disk { name: "dm-0".into(), kind: "dm".into(), lower: vec!["nvme1n1".into()], ..Disk::default() };
    let ring = Disk { name: "ring".into(), lower: vec!["ring".into()], ..Disk::default() };
    frame.disks.extend([upper, ring]);
    let text = picture(&mut Disks::default(), &frame, (80, 22), &[]);
    let line = |word: &str| text.lines().position(|line| line.contains(word)).unwrap();
    assert_eq!(line("└ dm-0"), line("nvme1n1") + 1, "{text}");
    assert!(text.contains("ring"));
}

#[test]
fn no_requests_are_no_zero_milliseconds() {
    with_cx(&demo::server(), Charset::Unicode, |cx| {
        let buf = drawn(&mut Disks::default(), cx, 120, 38);
        assert_eq!(style_of(&buf, "—").and_then(|style| style.fg), Theme::default_theme().style(Role::Absent).fg);
    });
}

#[test]
fn charts_take_the_rows_that_the_list_leaves() {
    for size in [(80, 22), (120, 38), (200, 58)] {
        let text = over_time(&mut Disks::default(), size, &[]);
        insta::assert_snapshot!(format!("over_time_{}x{}", size.0, size.1), text);
        // No empty lower half where there is something to show.
        let lines: Vec<&str> = text.lines().collect();
        let blank = lines.windows(4).filter(|lines| lines.iter().all(|line| line.trim().is_empty())).count();
        assert_eq!(blank, 0, "{text}");
    }
    insta::assert_snapshot!("over_time_open", over_time(&mut Disks::default(), (200, 58), &[Action::Open]));
}
