use super::{Cgroups, compact};
use crate::testing::{drawn, list, over_time, picture, style_of, survives, with_cx};
use crate::{Action, Charset, Cx, Panel as _, Role, Theme, demo};

#[test]
fn every_machine_size_and_action() {
    survives(|| Box::new(Cgroups::default()));
}

#[test]
fn pictures() {
    for size in [(80, 22), (120, 38), (200, 58)] {
        let text = picture(&mut Cgroups::default(), &demo::server(), size, &[]);
        insta::assert_snapshot!(format!("{}x{}", size.0, size.1), text);
    }
    let mut panel = Cgroups::default();
    insta::assert_snapshot!("cpu", picture(&mut panel, &demo::server(), (120, 22), &[Action::Mode]));
    insta::assert_snapshot!("io", picture(&mut panel, &demo::server(), (120, 22), &[Action::Mode]));
    insta::assert_snapshot!("tree", picture(&mut Cgroups::default(), &demo::server(), (80, 15), &[Action::Tree]));
    let open = [Action::Down, Action::Down, Action::Down, Action::Open];
    insta::assert_snapshot!("open", picture(&mut Cgroups::default(), &demo::server(), (120, 50), &open));
    insta::assert_snapshot!("compact", list(compact, &demo::server(), 60, 5));
}

fn first_words(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim_start_matches(['▶', ' ', '▾', '▸']).split(' ').next()).collect()
}

#[test]
fn folding_hides_what_is_below_and_a_filter_finds_it() {
    let mut panel = Cgroups::default();
    let frame = demo::server();
    let folded = picture(&mut panel, &frame, (80, 15), &[Action::Tree, Action::Down, Action::Down, Action::Fold]);
    assert!(!folded.contains("broker-0") && folded.contains("kubepods.slice +3"), "{folded}");
    with_cx(&frame, Charset::Unicode, |cx| {
        let found = crate::testing::text(&drawn(&mut panel, &Cx { filter: "BROKER-2", ..*cx }, 80, 15));
        assert!(
            found.contains("broker-2") && found.contains("kubepods.slice") && !found.contains("broker-1"),
            "{found}"
        );
    });
}

#[test]
fn siblings_are_sorted_below_their_parent() {
    let text = picture(&mut Cgroups::default(), &demo::server(), (80, 15), &[Action::Tree]);
    let words = first_words(&text);
    let at = |word: &str| words.iter().position(|other| other.starts_with(word)).unwrap();
    assert!(at("kubepods") < at("broker-0") && at("broker-0") < at("broker-1") && at("broker-2") < at("system.slice"));
}

#[test]
fn a_full_machine_is_no_alarm_and_a_stuck_limit_is() {
    let frame = demo::server();
    with_cx(&frame, Charset::Unicode, |cx| {
        let buf = drawn(&mut Cgroups::default(), cx, 120, 30);
        let theme = Theme::default_theme();
        assert_eq!(style_of(&buf, "99%").and_then(|style| style.fg), theme.style(Role::Warn).fg);
        assert_eq!(style_of(&buf, "16%").and_then(|style| style.fg), theme.style(Role::Dim).fg);
        assert_eq!(style_of(&buf, "host").and_then(|style| style.fg), theme.style(Role::Dim).fg);
    });
}

#[test]
fn a_path_of_many_parts_costs_no_stack() {
    let mut frame = demo::tiny();
    let group = frame.cgroups[0].clone();
    let mut path = String::new();
    for _ in 0..3000 {
        path.push_str("/d");
        frame.cgroups.push(topotop_model::frame::Cgroup { path: path.as_str().into(), ..group.clone() });
    }
    picture(&mut Cgroups::default(), &frame, (80, 22), &[Action::End]);
}

#[test]
fn groups_nearest_to_their_limits_come_first_and_the_tree_is_one_key_away() {
    let mut panel = Cgroups::default();
    let list = picture(&mut panel, &demo::server(), (80, 15), &[]);
    let names: Vec<&str> = list.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    let wanted = ["broker-0/rabbitmq", "broker-1/rabbitmq", "broker-2/rabbitmq", "postgresql.service"];
    assert_eq!(names, wanted, "{list}");
    let tree = picture(&mut panel, &demo::server(), (80, 15), &[Action::Tree]);
    assert!(tree.contains("▾ kubepods.slice") && panel.modes() == [Action::Tree], "{tree}");
    assert_eq!(picture(&mut panel, &demo::server(), (80, 15), &[Action::Tree]), list);
}

#[test]
fn the_time_to_the_limit_is_never_cut() {
    let frame = demo::server();
    for width in 40..=200 {
        let table = picture(&mut Cgroups::default(), &frame, (width, 22), &[]);
        assert!(table.contains(" 14m ") || table.contains(" 14m\n"), "{width}: {table}");
        let short = list(compact, &frame, width, 5);
        assert!(short.contains("limit in 14m") && short.contains("PSI 6%"), "{width}: {short}");
    }
}

#[test]
fn charts_take_the_rows_that_the_list_leaves() {
    for size in [(80, 22), (120, 38), (200, 58)] {
        let text = over_time(&mut Cgroups::default(), size, &[]);
        insta::assert_snapshot!(format!("over_time_{}x{}", size.0, size.1), text);
        // No empty lower half where there is something to show.
        let lines: Vec<&str> = text.lines().collect();
        let blank = lines.windows(4).filter(|lines| lines.iter().all(|line| line.trim().is_empty())).count();
        assert_eq!(blank, 0, "{text}");
    }
    insta::assert_snapshot!("over_time_open", over_time(&mut Cgroups::default(), (200, 58), &[Action::Open]));
}

#[test]
fn pods_stay_different_in_a_narrow_list() {
    let text = picture(&mut Cgroups::default(), &demo::server(), (60, 13), &[]);
    assert!(["broker-0", "broker-1", "broker-2"].iter().all(|name| text.contains(name)), "{text}");
}
