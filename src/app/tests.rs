use super::{App, Effect, Look, Modal, Msg, Status};
use crate::keymap::Keymap;
use crate::source::{Sample, Target};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use topotop_model::frame::Frame;
use topotop_model::testkit as demo;
use topotop_widgets::{Charset, Theme};

fn at(seq: u64) -> Sample {
    let mut frame: Frame = demo::tiny();
    frame.stamp.seq = seq;
    frame.stamp.mono_ns = seq * 1_000_000_000;
    frame.stamp.boot_ns = seq * 1_000_000_000;
    frame.stamp.wall_ns = 86_400_000_000_000 + seq as i64 * 1_000_000_000;
    Sample { frame: Arc::new(frame), ..Sample::default() }
}

fn app() -> App {
    let look = Look { theme: Theme::default_theme(), charset: Charset::Unicode, mouse: true };
    let status = Status { interval: Duration::from_secs(1), ..Status::default() };
    let mut app = App::new(Keymap::default(), look, status);
    app.update(Msg::Sample(at(100)));
    app
}

fn press(app: &mut App, code: KeyCode) -> Vec<Effect> {
    app.update(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn type_in(app: &mut App, text: &str) {
    for c in text.chars() {
        assert_eq!(press(app, KeyCode::Char(c)), []);
    }
}

#[test]
fn nothing_is_sought_before_there_is_a_sample() {
    let mut app = app();
    app.newest = Sample::default();
    assert_eq!(press(&mut app, KeyCode::Left), []);
    press(&mut app, KeyCode::Char(' '));
    assert!(app.held.is_none());
}

#[test]
fn n_goes_through_what_a_filter_leaves_and_esc_leaves_nothing_selected() {
    let mut app = app();
    press(&mut app, KeyCode::Char('5'));
    crate::view::arrange(&mut app);
    let comm = app.newest.frame.processes[0].comm.clone();
    type_in(&mut app, &format!("/cmd:{comm}"));
    press(&mut app, KeyCode::Enter);
    crate::view::arrange(&mut app);
    press(&mut app, KeyCode::Char('n'));
    assert!(app.notice.is_none() && app.selected.is_some(), "{:?}", app.notice.map(|notice| notice.text));
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.selected, None, "no other screen marks what is no longer selected");
}

#[test]
fn pause_holds_and_samples_go_on() {
    let mut app = app();
    press(&mut app, KeyCode::Char(' '));
    app.update(Msg::Sample(at(101)));
    assert_eq!(app.shown().frame.stamp.seq, 100);
    assert_eq!(app.newest.frame.stamp.seq, 101);
    press(&mut app, KeyCode::Char(' '));
    assert_eq!(app.shown().frame.stamp.seq, 101);
}

#[test]
fn stepping_back_from_live_holds_what_is_found() {
    let mut app = app();
    let stamp = app.newest.frame.stamp;
    assert_eq!(press(&mut app, KeyCode::Right), [], "there is no sample after live");
    assert_eq!(press(&mut app, KeyCode::Left), [Effect::Seek(stamp, Target::Samples(-1))]);
    app.update(Msg::Sought(Some(at(99))));
    assert_eq!(app.shown().frame.stamp.seq, 99);
    let held = app.shown().frame.stamp;
    assert_eq!(press(&mut app, KeyCode::Char('{')), [Effect::Seek(held, Target::Nanoseconds(-60_000_000_000))]);
    app.update(Msg::Sought(Some(at(99))));
    assert!(app.notice.as_ref().unwrap().text.contains("oldest"));
    press(&mut app, KeyCode::Esc);
    assert!(app.held.is_none());
    assert_eq!(press(&mut app, KeyCode::PageUp), [], "PgUp moves rows");
}

#[test]
fn the_palette_finds_actions_and_rows() {
    let mut app = app();
    app.update(Msg::Sample(Sample { frame: Arc::new(topotop_model::testkit::server()), ..Sample::default() }));
    let find = |app: &mut App, text: &str| {
        press(app, KeyCode::Char(':'));
        type_in(app, text);
        let shown = app.entries(text);
        (shown.first().map(|entry| entry.title.clone()).unwrap_or_default(), press(app, KeyCode::Enter))
    };
    assert_eq!(find(&mut app, "quit"), ("quit".to_owned(), vec![Effect::Quit]));
    let (title, _) = find(&mut app, "beam");
    assert!(title.starts_with("beam"), "{title}");
    assert!(matches!(app.selected, Some(topotop_widgets::Subject::Process(..))), "{:?}", app.selected);
    assert_eq!((find(&mut app, "cpu 3").0.as_str(), &app.selected), ("CPU 3", &Some(topotop_widgets::Subject::Cpu(3))));
    assert!(find(&mut app, "NIC-01").0.starts_with("NIC-01") && app.filter == "NIC-01");
    let picture = |app: &mut App| crate::export::picture(app, 80, 24).buffer;
    press(&mut app, KeyCode::Char(':'));
    type_in(&mut app, "no such thing at all");
    let open = picture(&mut app);
    press(&mut app, KeyCode::Esc);
    assert!(open != picture(&mut app) && app.modal == Modal::None);
}

#[test]
fn the_palette_takes_english_and_names_of_commands() {
    let mut app = app();
    app.update(Msg::Sample(Sample { frame: Arc::new(topotop_model::testkit::server()), ..Sample::default() }));
    let first = |app: &App, text: &str| app.entries(text).first().map(|entry| entry.title.clone()).unwrap_or_default();
    let name = |id: &str| topotop_model::fix::ALL.iter().find(|fix| fix.id == id).map(|fix| fix.name).expect("a fix");
    let chinese = topotop_model::locale::LANGUAGES.iter().find(|language| language.code == "zh-CN").expect("Chinese");
    for language in [&topotop_model::locale::ENGLISH, chinese] {
        topotop_model::locale::with(language, || {
            for (typed, id) in [
                ("pin", "F-PIN"),
                ("renice", "F-NICE"),
                ("nice", "F-NICE"),
                ("ionice", "F-IOCLASS"),
                ("I/O class", "F-IOCLASS"),
                ("move to", "F-CGMOVE"),
                ("kill", "F-SIGNAL"),
                ("signal", "F-SIGNAL"),
            ] {
                assert_eq!(first(&app, typed), name(id).to_string(), "{typed}");
            }
            for (typed, action) in [("pause", "pause"), ("export", "export"), ("theme", "theme")] {
                let action = crate::action::by_name(action).expect("an action");
                assert_eq!(first(&app, typed), action.help.to_string(), "{typed}");
            }
        });
    }
    assert!(app.entries("eth0").iter().all(|entry| entry.title.contains("eth0")), "no scattered letters");
    assert!(!app.entries("qt").is_empty(), "scattered letters where there is nothing else");
    assert_eq!((first(&app, "node 1").as_str(), first(&app, "irq 1").starts_with("IRQ 1")), ("node 1", true));
    // Without a selected process an action says so; with one it opens its dialog.
    press(&mut app, KeyCode::Char(':'));
    type_in(&mut app, "renice");
    press(&mut app, KeyCode::Enter);
    assert!(app.fixing.is_none() && app.notice.is_some());
}

#[test]
fn jumps_understand_times() {
    let mut app = app();
    let stamp = app.newest.frame.stamp;
    let jump = |app: &mut App, text: &str| {
        press(app, KeyCode::Char('t'));
        type_in(app, text);
        press(app, KeyCode::Enter)
    };
    assert_eq!(jump(&mut app, "10m"), [Effect::Seek(stamp, Target::Nanoseconds(-600_000_000_000))]);
    assert_eq!(jump(&mut app, "+30s"), [Effect::Seek(stamp, Target::Nanoseconds(30_000_000_000))]);
    assert_eq!(jump(&mut app, "00:01"), [Effect::Seek(stamp, Target::Wall(86_460_000_000_000))]);
    // Later than now is yesterday.
    assert_eq!(jump(&mut app, "14:05"), [Effect::Seek(stamp, Target::Wall(50_700_000_000_000))]);
    assert_eq!(jump(&mut app, "soon"), []);
    assert!(app.notice.unwrap().text.contains("invalid time `soon`"));
}

#[test]
fn the_filter_is_live_kept_and_dropped() {
    let mut app = app();
    press(&mut app, KeyCode::Char('/'));
    type_in(&mut app, "beaq");
    press(&mut app, KeyCode::Backspace);
    app.update(Msg::Paste("m\u{1b}[2J\n".to_owned()));
    assert_eq!(app.cx().filter, "beam[2J");
    press(&mut app, KeyCode::Enter);
    assert_eq!((app.filter.as_str(), &app.modal), ("beam[2J", &Modal::None));
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.filter, "");
    press(&mut app, KeyCode::Char('/'));
    type_in(&mut app, "q");
    press(&mut app, KeyCode::Esc);
    assert_eq!((app.filter.as_str(), &app.modal), ("", &Modal::None));
}

#[test]
fn findings_are_gone_to_in_live_history() {
    use topotop_model::judge::{Change, Timeline};
    use topotop_model::rules::{Severity, Subject as About};
    let change = |sample, came| {
        let (rule, title, severity) = ("IO-01".into(), "sda".into(), Severity::Warning);
        Change { sample, wall_ns: 0, mono_ns: 0, came, rule, subject: About::Host, severity, title }
    };
    let mut app = app();
    assert_eq!(press(&mut app, KeyCode::Char('[')), []);
    assert!(app.notice.as_ref().is_some_and(|notice| notice.text == "no finding opened or cleared"));
    let timeline = Arc::new(Timeline::of(vec![change(40, true), change(70, false)]));
    app.update(Msg::Sample(Sample { timeline, ..at(100) }));
    assert_eq!(press(&mut app, KeyCode::Char('[')), [Effect::Seek(at(100).frame.stamp, Target::Seq(70))]);
    assert!(app.notice.as_ref().is_some_and(|notice| notice.text == "change 2 of 2: IO-01 cleared: sda"));
    app.update(Msg::Sought(Some(at(70))));
    assert_eq!(press(&mut app, KeyCode::Char('[')), [Effect::Seek(at(70).frame.stamp, Target::Seq(40))]);
    assert_eq!(press(&mut app, KeyCode::Char(']')), []);
}

#[test]
fn help_is_searched_and_closed() {
    let mut app = app();
    press(&mut app, KeyCode::Char('?'));
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Char('/'));
    type_in(&mut app, "quit");
    press(&mut app, KeyCode::Enter);
    assert!(matches!(&app.modal, Modal::Help(list) if list.query == "quit" && !list.typing));
    assert_eq!(press(&mut app, KeyCode::Esc), []);
    assert!(matches!(&app.modal, Modal::Help(list) if list.query.is_empty()));
    assert_eq!(press(&mut app, KeyCode::Char('q')), []);
    assert_eq!(app.modal, Modal::None);
    assert_eq!(press(&mut app, KeyCode::Char('q')), [Effect::Quit]);
}

#[test]
fn control_c_leaves_from_anywhere() {
    for opener in ['/', '?', 't', 'x'] {
        let mut app = app();
        press(&mut app, KeyCode::Char(opener));
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(app.update(Msg::Key(control_c)), [Effect::Quit], "after {opener}");
    }
}

#[test]
fn intervals_go_up_and_down_and_end() {
    let mut app = app();
    assert_eq!(press(&mut app, KeyCode::Char('+')), [Effect::Interval(Duration::from_millis(500))]);
    assert_eq!(press(&mut app, KeyCode::Char('-')), [Effect::Interval(Duration::from_secs(1))]);
    for _ in 0..20 {
        press(&mut app, KeyCode::Char('-'));
    }
    assert_eq!(app.status.interval, Duration::from_mins(1));
}

#[test]
fn late_samples_and_old_notices_are_noticed() {
    let mut app = app();
    app.update(Msg::Tick(101_000_000_000));
    assert_eq!(app.overdue(), None);
    let wakes = app.wakes_at().unwrap();
    app.update(Msg::Tick(wakes));
    assert_eq!(app.overdue(), Some(2));
    app.say("hello");
    assert!(app.wakes_at().unwrap() > wakes);
    app.update(Msg::Tick(wakes + 10_000_000_000));
    assert!(app.notice.is_none());
    app.status.about.captured = Some("/captured".to_owned());
    assert_eq!((app.overdue(), app.wakes_at()), (None, None));
}

#[test]
fn tabs_are_clicked_and_turned() {
    let mut app = app();
    let footer = app.area.height - 1;
    let click = |column| MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column,
        row: footer,
        modifiers: KeyModifiers::NONE,
    };
    let last = app.panels.len() - 1;
    press(&mut app, KeyCode::BackTab);
    assert_eq!(app.screen, last);
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.screen, 0);
    press(&mut app, KeyCode::Char('7'));
    press(&mut app, KeyCode::Char('1'));
    assert_eq!(app.screen, 0);
    let column = (0..app.area.width).find(|&column| crate::view::tab_at(&app, column, footer) == Some(last));
    app.update(Msg::Mouse(click(column.unwrap())));
    assert_eq!(app.screen, last);
}

#[test]
fn the_help_fits_any_terminal() {
    for (width, height) in (1..60).flat_map(|width| (1..12).map(move |height| (width, height))) {
        let mut app = app();
        app.update(Msg::Resize(width, height));
        press(&mut app, KeyCode::Char('?'));
        crate::view::arrange(&mut app);
        let mut buffer = ratatui::buffer::Buffer::empty(app.area);
        crate::view::draw(&app, &mut buffer);
        assert!(app.modal != Modal::None);
    }
}

proptest! {
    #[test]
    fn no_keys_panic(keys in prop::collection::vec((any::<char>(), 0u8..8, 0usize..16), 0..60), width: u16, height in 0u16..80) {
        const SPECIAL: [KeyCode; 12] = [
            KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::BackTab, KeyCode::Up, KeyCode::Down, KeyCode::Left,
            KeyCode::Right, KeyCode::PageUp, KeyCode::PageDown, KeyCode::Home, KeyCode::Backspace,
        ];
        let mut app = app();
        app.update(Msg::Resize(width % 250, height));
        for (c, modifiers, special) in keys {
            let plain = char::from(b' ' + (c as u32 % 95) as u8);
            let code = SPECIAL.get(special).copied().unwrap_or(KeyCode::Char(plain));
            let modifiers = if modifiers == 0 { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
            for effect in app.update(Msg::Key(KeyEvent::new(code, modifiers))) {
                if let Effect::Seek(..) = effect {
                    app.update(Msg::Sought(Some(at(50))));
                }
            }
            crate::view::arrange(&mut app);
            let mut buffer = ratatui::buffer::Buffer::empty(app.area);
            crate::view::draw(&app, &mut buffer);
        }
    }
}

#[test]
fn the_view_is_exported_in_a_chosen_format() {
    let mut app = app();
    press(&mut app, KeyCode::Char('5'));
    press(&mut app, KeyCode::Char('e'));
    assert_eq!(app.modal, Modal::Export(0));
    press(&mut app, KeyCode::Down);
    let effects = press(&mut app, KeyCode::Enter);
    let [Effect::Export("text", name)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(name.starts_with("processes-") && name.split('.').nth(1) == Some("txt") && !name.contains('/'), "{name}");
    press(&mut app, KeyCode::Char('e'));
    assert!(matches!(press(&mut app, KeyCode::Char('s')).as_slice(), [Effect::Export("svg", _)]));
    press(&mut app, KeyCode::Char('e'));
    assert_eq!((press(&mut app, KeyCode::Esc), &app.modal), (Vec::new(), &Modal::None));
    app.newest = Sample::default();
    press(&mut app, KeyCode::Char('e'));
    assert_eq!(app.modal, Modal::None, "no sample, no view");
}

#[test]
fn the_selected_row_is_copied_as_headings_and_values() {
    let mut app = app();
    assert_eq!(press(&mut app, KeyCode::Char('c')), [], "nothing is selected and nothing found");
    press(&mut app, KeyCode::Char('5'));
    crate::view::arrange(&mut app);
    press(&mut app, KeyCode::Down);
    let effects = press(&mut app, KeyCode::Char('c'));
    let [Effect::Copy(text)] = effects.as_slice() else { panic!("{effects:?}") };
    let [heads, values] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert!(heads.contains("PID\t") && heads.matches('\t').count() == values.matches('\t').count(), "{text}");
    let pid = app.newest.frame.processes.iter().any(|process| values.contains(&process.pid.to_string()));
    assert!(pid, "{text}");
}

#[test]
fn what_is_said_again_is_seen_to_be_said_again() {
    let mut app = app();
    app.say("no marks");
    assert_eq!(app.notice.as_ref().unwrap().shown(), "no marks");
    app.say("no marks");
    assert_eq!(app.notice.as_ref().unwrap().shown(), "no marks (2)");
    app.say("other");
    assert_eq!(app.notice.as_ref().unwrap().shown(), "other");
}

#[test]
fn f_in_a_list_wants_a_row() {
    let mut app = app();
    press(&mut app, KeyCode::Char('5'));
    crate::view::arrange(&mut app);
    assert_eq!(press(&mut app, KeyCode::Char('f')), []);
    assert!(app.notice.as_ref().is_some_and(|notice| notice.text.contains("select a row")));
    assert!(app.fixing.is_none());
}
