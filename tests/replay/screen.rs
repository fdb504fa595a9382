//! The program's own lines while a recording is played.

use ratatui::layout::Rect;
use std::fmt::Write as _;
use std::sync::Arc;
use topotop::app::{App, Effect, Look, Msg, Status};
use topotop::keymap::Keymap;
use topotop::source::Sample;
use topotop::source::playback::{End, Playback};
use topotop_model::history::History;
use topotop_model::judge::{Change, Judgement, Settings, Timeline};
use topotop_model::recording::When;
use topotop_model::testkit as demo;
use topotop_widgets::parts::timebar::Bar;
use topotop_widgets::{Charset, Theme};

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (200, 60), (60, 15)];

fn at(second: u64) -> When {
    When { wall_ns: (1_767_348_000 + second as i64) * 1_000_000_000, mono_ns: second * 1_000_000_000 }
}

fn playback() -> Playback {
    let heat = |part: u64| if part < 300 { Some((part % 90) as u8) } else { Some((part * 7 % 255) as u8) };
    let bar = Bar {
        first: 0,
        last: 3599,
        heat: (0..512).map(heat).collect(),
        marks: vec![(600, "load up".to_owned()), (2400, "load down".to_owned())],
        holes: vec![1500],
        damage: vec![3100],
        times: (1..6).map(|part| (part * 600, format!("10:{part}0:00"))).collect(),
    };
    Playback {
        machines: vec!["db-17".to_owned()],
        playing: true,
        speed: 10.0,
        sample: 754,
        at: at(754),
        first: at(0),
        last: at(3599),
        bar: Arc::new(bar),
        ..Playback::default()
    }
}

/// Findings that appeared and cleared in the hour, by the numbers of samples.
fn timeline() -> Timeline {
    let known = demo::timeline();
    let scaled = known.changes().iter().map(|change| Change { sample: change.sample * 12, ..change.clone() });
    Timeline::of(scaled.collect())
}

fn app(charset: Charset) -> App {
    let look = Look { theme: Theme::default_theme(), charset, mouse: true };
    let mut app = App::new(Keymap::default(), look, Status::default());
    let mut history = History::default();
    for second in (0..240).step_by(2) {
        history.push(&demo::server_at(second));
    }
    let (frame, sick) = (demo::server(), demo::sick());
    let (resources, bottleneck) = topotop_model::bottleneck::settled(&frame, &sick.findings, &Settings::default());
    let (judgement, timeline) = (Arc::new(Judgement { resources, bottleneck, ..sick }), Arc::new(timeline()));
    app.update(Msg::Sample(Sample { frame: Arc::new(frame), history: Arc::new(history), judgement, timeline }));
    app.update(Msg::Playback(Box::new(playback())));
    app
}

fn text(app: &mut App, (width, height): (u16, u16)) -> String {
    let picture = topotop::export::picture(app, width, height);
    let topotop::export::Writer::Screen(write) = topotop::export::named("text").expect("a format").writer else {
        unreachable!("text is a picture")
    };
    let mut out = Vec::new();
    write(&picture, &mut out).expect("memory takes it");
    String::from_utf8(out).expect("text")
}

/// The first line and the last ones.
fn edges(app: &mut App) -> String {
    let mut out = String::new();
    for size in SIZES {
        let text = text(app, size);
        let lines: Vec<&str> = text.lines().collect();
        let rows = if size.1 < 30 { 2 } else { 3 };
        let _ = writeln!(out, "{}", lines[0]);
        for line in &lines[lines.len() - rows..] {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

#[test]
fn titles_lines_and_footers() {
    let mut out = String::new();
    let mut app = app(Charset::Unicode);
    let mut add = |name: &str, app: &mut App| {
        let _ = write!(out, "== {name}\n{}", edges(app));
    };
    let mut show = |app: &mut App, name: &str, change: fn(&mut Playback)| {
        let mut playback = playback();
        change(&mut playback);
        app.update(Msg::Playback(Box::new(playback)));
        add(name, app);
    };
    show(&mut app, "playing", |_| {});
    show(&mut app, "paused in a loop", |playback| {
        (playback.playing, playback.speed, playback.span) = (false, 0.5, (Some(700), Some(900)));
    });
    show(&mut app, "at the end of what grows", |playback| {
        (playback.following, playback.end, playback.sample, playback.at) = (true, End::Open, 3599, at(3599));
    });
    show(&mut app, "nothing comes", |playback| {
        (playback.following, playback.end, playback.quiet_seconds) = (true, End::Open, Some(75));
    });
    show(&mut app, "behind the end of what grows", |playback| {
        (playback.end, playback.playing) = (End::Open, false);
    });
    show(&mut app, "a stream that has ended", |playback| {
        (playback.end, playback.playing, playback.sample, playback.at) = (End::Over, false, 3599, at(3599));
    });
    show(&mut app, "two machines over midnight", |playback| {
        playback.machines = vec!["db-17".to_owned(), "load-3".to_owned()];
        playback.clocks = "clocks +1.24s by network traffic (93% alike)".to_owned();
        playback.short = "load-3: core 3 98%".to_owned();
        playback.last = at(100_000);
    });
    app.update(Msg::Playback(Box::new(playback())));
    app.modal = topotop::app::Modal::Jump("2h".to_owned());
    add("typing a time", &mut app);
    app.modal = topotop::app::Modal::None;
    app.look.charset = Charset::Ascii;
    add("in ASCII", &mut app);
    insta::assert_snapshot!(out);
}

#[test]
fn a_whole_screen_with_the_line() {
    let mut app = app(Charset::Unicode);
    insta::assert_snapshot!(text(&mut app, (80, 24)));
    for screen in 0..app.panels.len() {
        app.screen = screen;
        for size in SIZES {
            let text = text(&mut app, size);
            assert_eq!(text.lines().count(), usize::from(size.1));
            let line = text.lines().nth(usize::from(size.1) - 2).unwrap_or_default();
            assert!(line.contains('┃') && line.contains('◆') && line.contains('×'), "{size:?}: {line}");
        }
    }
}

#[test]
fn nothing_is_asked_of_a_recording_that_it_cannot_do() {
    let mut app = app(Charset::Unicode);
    app.area = Rect::new(0, 0, 120, 40);
    app.open_screen("processes");
    topotop::view::arrange(&mut app);
    for _ in 0..6 {
        let effects = app.command(topotop::action::Command::Panel(topotop_widgets::Action::Open));
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Watch(_) | Effect::Interval(_))), "{effects:?}");
        topotop::view::arrange(&mut app);
    }
    assert!(
        app.notice
            .as_ref()
            .is_some_and(|notice| notice.text.contains("in a recording") || notice.text.contains("a replay")),
        "{:?}",
        app.notice
    );
}

/// The picture in the README.
const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/replay.svg");

#[test]
fn the_picture_of_the_readme_is_there() {
    let picture = std::fs::read_to_string(PICTURE).expect("`make picture` writes it");
    assert!(picture.starts_with("<svg") && picture.contains(">load<"), "`make picture` writes it");
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("the README");
    assert!(readme.contains("(docs/replay.svg)"));
}

#[test]
#[ignore = "`make picture` runs it to write the picture in the README"]
fn writes_the_picture_of_the_readme() {
    let mut app = app(Charset::Unicode);
    app.open_screen("cores");
    let picture = topotop::export::picture(&mut app, 120, 40);
    let topotop::export::Writer::Screen(write) = topotop::export::named("svg").expect("a format").writer else {
        unreachable!("svg is a picture")
    };
    let mut out = Vec::new();
    write(&picture, &mut out).expect("memory takes it");
    std::fs::write(PICTURE, out).expect("written");
}
