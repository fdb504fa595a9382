use super::super::{App, Effect, Look, Modal, Msg, Status};
use crate::fix::order::{Order, Reach, Reply};
use crate::keymap::Keymap;
use crate::source::Sample;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::fix::{Item, Resolved, Surroundings};
use topotop_model::frame::NicRates;
use topotop_model::journal::{Applied, Because, Outcome};
use topotop_model::judge::{Judgement, Settings};
use topotop_model::recording::{FixState, What};
use topotop_model::testkit as demo;
use topotop_widgets::fix::{Button, Doing, Stage};
use topotop_widgets::{Charset, Theme};

fn sample(second: u64) -> Sample {
    // As the load would be after it: half as much again.
    changed(second, |rx| rx.packets_per_second = rx.packets_per_second.map(|packets| packets * 1.5))
}

fn worse(second: u64) -> Sample {
    changed(second, |rx| rx.errors_per_second = Some(5_000.0))
}

fn changed(second: u64, after: impl Fn(&mut NicRates)) -> Sample {
    let mut frame = demo::server();
    let start = frame.stamp;
    frame.stamp.seq = start.seq + second;
    frame.stamp.mono_ns = start.mono_ns + second * 1_000_000_000;
    for nic in frame.nics.iter_mut().filter(|_| second > 30) {
        after(&mut nic.rx);
    }
    let sick = demo::sick();
    let (resources, bottleneck) = topotop_model::bottleneck::settled(&frame, &sick.findings, &Settings::default());
    let judgement = Judgement { resources, bottleneck, ..sick };
    Sample { frame: Arc::new(frame), judgement: Arc::new(judgement), ..Sample::default() }
}

fn app() -> App {
    let look = Look { theme: Theme::default_theme(), charset: Charset::Unicode, mouse: true };
    let mut app = App::new(Keymap::default(), look, Status::default());
    app.area = Rect::new(0, 0, 120, 40);
    app.update(Msg::Sample(sample(0)));
    app.open_screen("findings");
    crate::view::arrange(&mut app);
    app
}

fn press(app: &mut App, code: KeyCode) -> Vec<Effect> {
    let effects = app.update(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    crate::view::arrange(app);
    effects
}

fn orders(effects: &[Effect]) -> Vec<Order> {
    let order = |effect: &Effect| match effect {
        Effect::Fix(order) => Some(order.clone()),
        _ => None,
    };
    effects.iter().filter_map(order).collect()
}

fn reported(effects: &[Effect]) -> Vec<(FixState, String)> {
    let reported = |effect: &Effect| match effect {
        Effect::Tell(What::Fix(reported)) => Some((reported.state, reported.detail.clone())),
        _ => None,
    };
    effects.iter().filter_map(reported).collect()
}

fn text(app: &mut App) -> String {
    let picture = crate::export::picture(app, 120, 40);
    let rows = picture.buffer.content.chunks(120);
    rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>() + "\n").collect()
}

/// Goes to the plan of the first choice, with its values read.
fn reviewed(app: &mut App) {
    let mut effects = press(app, KeyCode::Char('f'));
    assert!(app.modal == Modal::Fix);
    if matches!(app.fixing.as_ref().map(|dialog| &dialog.stage), Some(Stage::Choosing)) {
        effects = press(app, KeyCode::Enter);
    }
    let orders = orders(&effects);
    let plan = orders.iter().find_map(|order| match order {
        Order::Resolve(wanted) => Some(wanted.plan.clone()),
        _ => None,
    });
    assert!(orders.iter().any(|order| matches!(order, Order::Measure(..))));
    let plan = plan.expect("a plan to be read");
    let item = |new: &str| Item { key: String::new(), old: Some("combined 1".to_owned()), new: new.to_owned() };
    let items = plan.steps.iter().map(|step| vec![item(&step.new)]).collect();
    let asked = plan.commands.clone();
    let resolved = Resolved { items, kept: Vec::new(), unread: Vec::new(), plan };
    app.update(Msg::Fix(Reply::Resolved(Box::new(resolved), None, asked)));
    crate::view::arrange(app);
}

fn stage(app: &App) -> &Stage {
    &app.fixing.as_ref().expect("a dialog").stage
}

fn applied(number: u64, second: u64) -> Reply {
    let mono_ns = sample(second).frame.stamp.mono_ns;
    let state = Applied::Applied;
    Reply::Applied { number, state, mono_ns, revert_after_seconds: None, trouble: None }
}

#[test]
fn nothing_is_applied_without_a_yes() {
    let mut app = app();
    reviewed(&mut app);
    assert!(matches!(stage(&app), Stage::Review(_)));
    assert_eq!(app.fixing.as_ref().map(|dialog| dialog.button), Some(Button::Cancel));
    assert_eq!(press(&mut app, KeyCode::Enter), [], "the first button is the way out");
    assert!(app.modal == Modal::None && app.fixing.is_none());
}

fn type_in(app: &mut App, typed: &str) {
    for c in typed.chars() {
        press(app, KeyCode::Char(c));
    }
}

#[test]
fn parameters_are_set_by_a_key_and_the_plan_is_made_anew() {
    let mut app = app();
    reviewed(&mut app);
    assert!(
        text(&mut app).contains("Parameters    combined (channels), rx (channels), tx (channels)"),
        "{}",
        text(&mut app)
    );
    press(&mut app, KeyCode::Char('e'));
    assert!(text(&mut app).contains("combined=  rx=  tx="), "{}", text(&mut app));
    type_in(&mut app, "combined=9");
    assert_eq!(press(&mut app, KeyCode::Enter), [], "nothing goes out");
    assert!(text(&mut app).contains("invalid combined=9: use a number from 0 to 8"), "{}", text(&mut app));
    press(&mut app, KeyCode::Backspace);
    assert!(text(&mut app).contains("combined= (channels): combined channels"), "{}", text(&mut app));
    type_in(&mut app, "4");
    let orders = orders(&press(&mut app, KeyCode::Enter));
    let plan =
        orders.iter().find_map(|order| if let Order::Resolve(wanted) = order { Some(&wanted.plan) } else { None });
    assert_eq!(plan.expect("a plan").commands, ["ethtool -L eth0 combined 4"]);
    assert!(matches!(stage(&app), Stage::Reading(_)), "its old values are read first");
    // What comes late is of the plan before.
    let late = Resolved { items: Vec::new(), kept: Vec::new(), unread: Vec::new(), plan: plan.expect("one").clone() };
    let asked = vec!["ethtool -L eth0 combined 8".to_owned()];
    app.update(Msg::Fix(Reply::Resolved(Box::new(late), None, asked)));
    assert!(matches!(stage(&app), Stage::Reading(_)));
    assert!(text(&mut app).contains("combined=4, rx (channels)"), "{}", text(&mut app));
    press(&mut app, KeyCode::Char('e'));
    assert!(text(&mut app).contains("parameters: combined=4_"), "{}", text(&mut app));
    press(&mut app, KeyCode::Esc);
    assert!(app.fixing.as_ref().is_some_and(|dialog| dialog.editing.is_none()), "the dialog stays");
}

#[test]
fn it_is_shown_confirmed_applied_measured_and_undone() {
    let mut app = app();
    reviewed(&mut app);
    let picture = text(&mut app);
    for part in
        ["ethtool -L eth0 combined 8", "combined 1 → combined 8", "disruptive", "Your session", "Undo", "▶[ Cancel ]"]
    {
        assert!(picture.contains(part), "{part}\n{picture}");
    }
    for second in 1..=30 {
        app.update(Msg::Sample(sample(second)));
    }
    press(&mut app, KeyCode::Right);
    press(&mut app, KeyCode::Right);
    let effects = press(&mut app, KeyCode::Enter);
    assert_eq!(orders(&effects), [Order::Apply]);
    let outcome =
        Outcome { step: 0, key: String::new(), value: Some("combined 8".to_owned()), error: None, ended: false };
    app.update(Msg::Fix(Reply::Wrote(outcome)));
    let effects = app.update(Msg::Fix(applied(7, 30)));
    assert_eq!(reported(&effects), [(FixState::Applied, "the load test is invalid from here on".to_owned())]);
    let mut verdicts = Vec::new();
    for second in 31..=80 {
        let effects = app.update(Msg::Sample(sample(second)));
        verdicts.extend(orders(&effects).into_iter().map(|order| (second, order)));
    }
    let [(65, Order::Verdict(7, verdict))] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    assert_eq!(verdict.name, "improved", "{verdict:?}");
    let picture = text(&mut app);
    for part in
        ["Verdict: improved", "packets received (nic:eth0)", "+50%", "Now: imbalance: softirq CPU 17 at 98%", "U undo"]
    {
        assert!(picture.contains(part), "{part}\n{picture}");
    }
    let effects = press(&mut app, KeyCode::Char('U'));
    assert_eq!(orders(&effects), [Order::Undo(7, Because::Asked)]);
    let undone = Reply::Undone { number: 7, why: Because::Asked, whole: true, items: Vec::new() };
    assert_eq!(reported(&app.update(Msg::Fix(undone))), [(FixState::Undone, "asked".to_owned())]);
    assert!(text(&mut app).contains("undone: everything that can be restored is as before"));
    assert_eq!(press(&mut app, KeyCode::Char('U')), [], "once");
}

/// Applied as 7 at the thirtieth second; what was ordered until the verdict.
fn measured(app: &mut App, meanwhile: impl Fn(&mut App)) -> Vec<Order> {
    reviewed(app);
    for second in 1..=30 {
        app.update(Msg::Sample(worse(second)));
    }
    press(app, KeyCode::Left);
    press(app, KeyCode::Enter);
    app.update(Msg::Fix(applied(7, 30)));
    meanwhile(app);
    (31..=80).flat_map(|second| orders(&app.update(Msg::Sample(worse(second))))).collect()
}

#[test]
fn a_small_effect_is_decided_by_an_undo() {
    let mut app = app();
    let faster = |second: u64| {
        let more = if (31..=80).contains(&second) { 1.15 } else { 1.0 };
        changed(second, |rx| rx.packets_per_second = rx.packets_per_second.map(|packets| packets * more))
    };
    reviewed(&mut app);
    (1..=30).for_each(|second| drop(app.update(Msg::Sample(faster(second)))));
    press(&mut app, KeyCode::Left);
    press(&mut app, KeyCode::Enter);
    app.update(Msg::Fix(applied(7, 30)));
    (31..=80).for_each(|second| drop(app.update(Msg::Sample(faster(second)))));
    let picture = text(&mut app);
    for part in ["Verdict: improved", "undo to get a verdict", "U undo and compare"] {
        assert!(picture.contains(part), "{part}\n{picture}");
    }
    assert_eq!(orders(&press(&mut app, KeyCode::Char('U'))), [Order::Undo(7, Because::ToCompare)]);
    app.update(Msg::Fix(Reply::Undone { number: 7, why: Because::ToCompare, whole: true, items: Vec::new() }));
    assert!(app.running().is_some_and(topotop_widgets::fix::Run::is_busy));
    let ordered = (81..=130).flat_map(|second| orders(&app.update(Msg::Sample(faster(second))))).collect::<Vec<_>>();
    let [Order::Verdict(7, verdict)] = ordered.as_slice() else { panic!("{ordered:?}") };
    assert_eq!(verdict.name, "improved", "{verdict:?}");
    assert!(
        verdict.why.ends_with("compared with the windows before the fix and after the undo combined"),
        "{verdict:?}"
    );
    assert!(!text(&mut app).contains("undo to get a verdict"));
}

#[test]
fn what_got_worse_is_undone_by_itself() {
    let mut app = app();
    let ordered = measured(&mut app, |app| {
        assert!(text(app).contains("undone automatically if worse"), "{}", text(app));
    });
    let [Order::Verdict(7, verdict), Order::Undo(7, why)] = ordered.as_slice() else { panic!("{ordered:?}") };
    assert_eq!((verdict.name, why), ("worse", &Because::Worse));
    assert!(text(&mut app).contains("Verdict: worse") && text(&mut app).contains("undoing"), "{}", text(&mut app));
    let undone = Reply::Undone { number: 7, why: Because::Worse, whole: true, items: Vec::new() };
    app.update(Msg::Fix(undone));
    let picture = text(&mut app);
    for part in
        ["Verdict: worse", "undone: everything that can be restored is as before (the measured result got worse)"]
    {
        assert!(picture.contains(part), "{part}\n{picture}");
    }
}

#[test]
fn what_shall_stay_stays_though_it_got_worse() {
    let mut app = app();
    let ordered = measured(&mut app, |app| {
        assert_eq!(press(app, KeyCode::Char('K')), []);
        assert!(text(app).contains("stays applied even if worse"), "{}", text(app));
    });
    let [Order::Verdict(7, verdict)] = ordered.as_slice() else { panic!("{ordered:?}") };
    assert_eq!(verdict.name, "worse");
    assert_eq!(orders(&press(&mut app, KeyCode::Char('U'))), [Order::Undo(7, Because::Asked)]);
}

#[test]
fn what_must_not_wait_for_a_verdict_is_undone_at_once_though_it_shall_stay() {
    use topotop_model::fix::{Trip, Verification};
    let mut app = app();
    let ordered = measured(&mut app, |app| {
        press(app, KeyCode::Char('K'));
        let start = app.newest.frame.stamp.mono_ns;
        let Some(Stage::Run(run)) = app.fixing.as_mut().map(|dialog| &mut dialog.stage) else { panic!("a run") };
        let mut verify = run.resolved.plan.verify.clone();
        let errors = verify.guards.iter().find(|guard| guard.metric == "nic.rx_errors").expect("a guard").clone();
        verify.trips = vec![Trip { watch: errors, above_hundredths: 100, seconds: 3 }];
        let mut verification = Verification::new(&verify, None);
        verification.applied(start);
        run.verification = Some(verification);
    });
    let [Order::Verdict(7, verdict), Order::Undo(7, why)] = ordered.as_slice() else { panic!("{ordered:?}") };
    assert_eq!((verdict.name, why), ("worse", &Because::Pressure));
    assert!(verdict.why.contains("nic.rx_errors of nic:eth0 was 5000.000, above 1 for 3 s"), "{}", verdict.why);
}

#[test]
fn what_is_noted_and_cannot_be_read_is_no_obstacle() {
    let mut app = app();
    reviewed(&mut app);
    let steps = match &mut app.fixing.as_mut().expect("a dialog").stage {
        Stage::Review(resolved) => {
            let steps = resolved.plan.steps.len();
            resolved.unread = vec![(steps, "its driver does not tell".to_owned())];
            steps
        }
        _ => panic!("a plan"),
    };
    assert!(text(&mut app).contains("undo will not restore it"), "{}", text(&mut app));
    let obstacle = |app: &App| app.fixing.as_ref().and_then(|dialog| dialog.obstacle());
    assert_eq!(obstacle(&app), None);
    if let Stage::Review(resolved) = &mut app.fixing.as_mut().expect("a dialog").stage {
        resolved.unread = vec![(steps - 1, "permission denied".to_owned())];
    }
    assert!(obstacle(&app).is_some_and(|why| why.contains("permission denied")));
}

#[test]
fn what_is_dangerous_is_typed() {
    let mut app = app();
    app.status.surroundings = Surroundings { login_nic: Some("eth0".to_owned()), ..Surroundings::default() };
    reviewed(&mut app);
    assert!(text(&mut app).contains("at risk: your SSH session uses it"), "{}", text(&mut app));
    press(&mut app, KeyCode::Left);
    assert_eq!(press(&mut app, KeyCode::Enter), [], "its name is asked for");
    assert!(text(&mut app).contains("type eth0 and press Enter to apply"));
    for c in "eth1".chars() {
        press(&mut app, KeyCode::Char(c));
    }
    assert_eq!(press(&mut app, KeyCode::Enter), []);
    assert!(text(&mut app).contains("wrong name"));
    press(&mut app, KeyCode::Enter);
    for c in "eth0".chars() {
        press(&mut app, KeyCode::Char(c));
    }
    assert_eq!(orders(&press(&mut app, KeyCode::Enter)), [Order::Apply]);
}

#[test]
fn what_may_cut_the_login_off_counts_down_and_is_kept() {
    let mut app = app();
    reviewed(&mut app);
    press(&mut app, KeyCode::Left);
    press(&mut app, KeyCode::Enter);
    let now = app.newest.frame.stamp.mono_ns;
    app.update(Msg::Tick(now));
    let (number, state) = (3, Applied::Applied);
    app.update(Msg::Fix(Reply::Applied { number, state, mono_ns: now, revert_after_seconds: Some(60), trouble: None }));
    app.update(Msg::Tick(now + 13_000_000_000));
    assert!(text(&mut app).contains("automatic rollback in 47s: K keep"), "{}", text(&mut app));
    // It goes on while the dialog is closed, and nothing else is begun meanwhile.
    press(&mut app, KeyCode::Esc);
    assert!(app.modal == Modal::None);
    assert!(text(&mut app).contains("automatic rollback of the fix in 47 s: K cancels it"), "{}", text(&mut app));
    press(&mut app, KeyCode::Char('f'));
    assert!(matches!(stage(&app), Stage::Run(_)));
    assert_eq!(orders(&press(&mut app, KeyCode::Char('K'))), [Order::Confirm(3)]);
    app.update(Msg::Fix(Reply::Confirmed(3)));
    assert!(!text(&mut app).contains("takes itself back") && !text(&mut app).contains("automatic rollback"));
}

#[test]
fn what_was_not_confirmed_is_asked_for() {
    let mut app = app();
    reviewed(&mut app);
    press(&mut app, KeyCode::Left);
    press(&mut app, KeyCode::Enter);
    let now = app.newest.frame.stamp.mono_ns;
    let (number, state) = (3, Applied::Applied);
    app.update(Msg::Fix(Reply::Applied { number, state, mono_ns: now, revert_after_seconds: Some(60), trouble: None }));
    let asked = |app: &mut App, ms: u64| orders(&app.update(Msg::Tick(now + ms * 1_000_000)));
    assert_eq!(asked(&mut app, 59_000), []);
    assert_eq!(asked(&mut app, 60_500), []);
    assert_eq!(asked(&mut app, 61_200), [Order::Ask(3)]);
    assert_eq!(asked(&mut app, 61_700), []);
    assert_eq!(asked(&mut app, 62_300), [Order::Ask(3)]);
    let undone = Reply::Undone { number: 3, why: Because::NotConfirmed, whole: true, items: Vec::new() };
    app.update(Msg::Fix(undone));
    assert_eq!(asked(&mut app, 64_000), []);
    assert!(text(&mut app).contains("(not confirmed in time)"));
}

#[test]
fn a_recording_shows_fixes_and_applies_none() {
    let mut app = app();
    app.status.reach = Reach::Show("fixes are available on a live machine only, not in a recording".to_owned());
    press(&mut app, KeyCode::Char('f'));
    if matches!(stage(&app), Stage::Choosing) {
        assert_eq!(press(&mut app, KeyCode::Enter), []);
    }
    let picture = text(&mut app);
    assert!(picture.contains("not in a recording") && !picture.contains("[ Apply ]"), "{picture}");
    for _ in 0..4 {
        press(&mut app, KeyCode::Right);
        assert_ne!(app.fixing.as_ref().map(|dialog| dialog.button), Some(Button::Apply));
    }
    assert_eq!(press(&mut app, KeyCode::Char('c')), [Effect::Copy("ethtool -L eth0 combined 8".to_owned())]);
}

#[test]
fn a_write_that_takes_long_is_stopped() {
    let mut app = app();
    reviewed(&mut app);
    press(&mut app, KeyCode::Left);
    press(&mut app, KeyCode::Enter);
    assert_eq!(orders(&press(&mut app, KeyCode::Esc)), [Order::Abort]);
    assert!(text(&mut app).contains("stopping after this item"));
    app.update(Msg::Fix(Reply::Refused("eth0, index 2: it is gone".to_owned())));
    let Stage::Run(run) = stage(&app) else { panic!("a run") };
    assert_eq!((run.doing, run.state), (Doing::Ended, Some(Applied::Failed)));
    assert!(text(&mut app).contains("it is gone") && text(&mut app).contains("nothing changed"));
}

#[test]
fn a_finding_that_is_over_has_no_dialog() {
    let mut app = app();
    let rule = app.newest.judgement.findings[0].rule.id;
    app.newest.judgement = Arc::new(demo::healthy());
    app.fix_finding(rule, &topotop_widgets::Subject::Host);
    assert!(app.fixing.is_none() && app.notice.as_ref().is_some_and(|notice| notice.text.contains("has cleared")));
    assert_eq!(press(&mut app, KeyCode::Char('f')), []);
}

#[test]
fn the_selected_finding_is_copied_as_text() {
    let mut app = app();
    app.open_screen("findings");
    crate::view::arrange(&mut app);
    let effects = press(&mut app, KeyCode::Char('c'));
    let [Effect::Copy(text)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(text.contains("NIC-01") || text.contains("eth0"), "{text}");
    assert!(!text.lines().any(|line| line.ends_with(' ')), "{text}");
}
