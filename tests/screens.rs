//! Every screen at every size, drawn to a buffer from made-up machines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use std::time::Duration;
use topotop::app::{App, Look, Modal, Msg, Status};
use topotop::keymap::Keymap;
use topotop::source::{About, Sample};
use topotop::view;
use topotop_model::frame::Frame;
use topotop_model::history::History;
use topotop_model::judge::{Judgement, Settings, Timeline};
use topotop_model::locale::Text;
use topotop_model::testkit as demo;
use topotop_widgets::{Action, Charset, Cx, Outcome, Panel, Theme};

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 40), (200, 60), (60, 15)];

pub(crate) fn app(frame: Frame, charset: Charset) -> App {
    let look = Look { theme: Theme::default_theme(), charset, mouse: true };
    let about = About { still: true, ..About::default() };
    let status = Status { interval: Duration::from_secs(1), about, ..Status::default() };
    let mut app = App::new(Keymap::default(), look, status);
    let mut history = History::default();
    for second in (0..240).step_by(2) {
        history.push(&demo::server_at(second));
    }
    let sick = &*frame.host.name == "db-17";
    let judgement = if sick { demo::sick() } else { demo::healthy() };
    let (resources, bottleneck) = topotop_model::bottleneck::settled(&frame, &judgement.findings, &Settings::default());
    let judgement = Arc::new(Judgement { resources, bottleneck, ..judgement });
    let timeline = Arc::new(if sick { demo::timeline() } else { Timeline::default() });
    let sample = Sample { frame: Arc::new(frame), history: Arc::new(history), judgement, timeline };
    app.update(Msg::Sample(sample));
    app
}

pub(crate) fn drawn(app: &mut App, (width, height): (u16, u16)) -> Buffer {
    app.update(Msg::Resize(width, height));
    view::arrange(app);
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    view::draw(app, &mut buffer);
    buffer
}

/// The picture as text, as `snapshot --format text` writes it.
pub(crate) fn text(app: &mut App, size: (u16, u16)) -> String {
    exported(app, size, "text")
}

fn exported(app: &mut App, (width, height): (u16, u16), format: &str) -> String {
    let picture = topotop::export::picture(app, width, height);
    let topotop::export::Writer::Screen(write) = topotop::export::named(format).expect("a format").writer else {
        unreachable!("{format} is a picture")
    };
    let mut out = Vec::new();
    write(&picture, &mut out).expect("memory takes it");
    String::from_utf8(out).expect("text")
}

/// The screens whose pictures are in the README.
const PICTURES: [&str; 2] = ["overview", "findings"];

fn picture(screen: &str) -> String {
    format!("{}/docs/{screen}.svg", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_pictures_of_the_readme_are_there() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("the README");
    let answer = app(demo::server(), Charset::Unicode).shown().judgement.bottleneck.clone();
    for screen in PICTURES {
        let picture = std::fs::read_to_string(picture(screen)).expect("`make picture` writes it");
        assert!(picture.starts_with("<svg") && picture.contains(&format!(">{screen}<")), "`make picture` writes it");
        assert!(readme.contains(&format!("(docs/{screen}.svg)")));
        // Each word is an element of its own.
        let packed = |text: &str| text.split_whitespace().collect::<String>();
        let shown = packed(&picture.split('>').filter_map(|part| part.split('<').next()).collect::<String>());
        let (rule, _) = answer.finding.as_ref().expect("a finding explains it");
        let line = packed(&answer.headline());
        let at = shown.find(&line).unwrap_or_else(|| panic!("{screen} shows another answer: {shown}"));
        // The answer names its finding, and that is the first one below it.
        let below = &shown[at + line.len()..];
        let first = demo::sick().findings.iter().filter_map(|finding| below.find(finding.rule.id.as_str())).min();
        assert_eq!(first, below.find(rule.as_str()), "{screen}: {shown}");
        assert!(answer.headline().contains(rule.as_str()), "{}", answer.headline());
    }
}

/// Every screen shows the same answer as the first line of `check`.
#[test]
fn every_screen_names_what_limits() {
    for frame in [demo::server(), demo::tiny(), demo::wide(), demo::blind()] {
        let mut app = app(frame, Charset::Unicode);
        let line = app.shown().judgement.bottleneck.line();
        let headline = app.shown().judgement.bottleneck.headline();
        for screen in 0..app.panels.len() {
            app.screen = screen;
            for size in SIZES {
                let text = text(&mut app, size);
                let second = text.lines().nth(1).unwrap_or_default();
                let words: String = second.trim_start().chars().skip(2).collect();
                let cut = words.strip_suffix('…').unwrap_or(&words);
                assert!(line.starts_with(cut) && !cut.is_empty(), "screen {screen} at {size:?}: {second}");
                let fits = headline.chars().count() + 4 <= usize::from(size.0);
                assert!(!fits || words.starts_with(&headline), "screen {screen} at {size:?}: {second}");
            }
        }
    }
}

#[test]
#[ignore = "`make picture` runs it to write the pictures in the README"]
fn writes_the_picture_of_the_readme() {
    for screen in PICTURES {
        let mut app = app(demo::server(), Charset::Unicode);
        app.open_screen(screen);
        std::fs::write(picture(screen), exported(&mut app, (120, 40), "svg")).expect("written");
    }
}

#[test]
fn every_screen_fills_every_size() {
    for frame in [demo::server(), demo::tiny(), demo::wide(), Frame::default()] {
        let mut app = app(frame, Charset::Unicode);
        for screen in 0..app.panels.len() {
            app.screen = screen;
            for size in SIZES {
                let id = app.panels[screen].id();
                let text = text(&mut app, size);
                let lines: Vec<&str> = text.lines().collect();
                assert_eq!(lines.len(), usize::from(size.1), "{id} at {size:?}");
            }
        }
    }
}

#[test]
fn ascii_is_ascii() {
    for (frame, has_history) in [(demo::server(), true), (demo::tiny(), false)] {
        let mut app = app(frame, Charset::Ascii);
        for screen in 0..app.panels.len() {
            app.screen = screen;
            for size in SIZES {
                let id = app.panels[screen].id();
                let text = text(&mut app, size);
                assert!(text.is_ascii(), "{id} at {size:?}:\n{text}");
                // A question mark on its own is an unknown value; a row of them is a drawing that was not meant for ASCII.
                assert!(!has_history || !text.contains("????"), "{id} at {size:?}:\n{text}");
            }
        }
    }
}

#[test]
fn drawing_twice_gives_the_same() {
    let mut app = app(demo::server(), Charset::Unicode);
    for screen in 0..app.panels.len() {
        app.screen = screen;
        assert_eq!(drawn(&mut app, (120, 40)), drawn(&mut app, (120, 40)));
    }
}

#[test]
fn the_smallest_terminals_say_so() {
    let mut app = app(demo::server(), Charset::Unicode);
    for size in [(0, 0), (1, 1), (3, 60), (200, 3), (39, 7)] {
        let buffer = drawn(&mut app, size);
        let text: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        assert!(size.0 * size.1 < 40 || text.contains("too") || text.contains("small"), "{size:?}: {text}");
    }
}

/// The program's own lines: the first and the last of the screen.
fn edges(app: &mut App) -> String {
    let mut out = String::new();
    for size in SIZES {
        let text = text(app, size);
        let lines: Vec<&str> = text.lines().collect();
        out.extend([lines.first().unwrap_or(&""), "\n", lines.last().unwrap_or(&""), "\n"]);
    }
    out
}

/// A screen with nothing on it.
struct Empty(&'static str);

impl Panel for Empty {
    fn id(&self) -> &'static str {
        self.0
    }

    fn title(&self) -> Text {
        Text::find(&format!("screen.{}.tab", self.0)).expect("a screen")
    }

    fn tab_short(&self) -> Text {
        Text::find(&format!("screen.{}.tab_short", self.0)).expect("a screen")
    }

    fn arrange(&mut self, _: &Cx<'_>, _: Rect) {}

    fn act(&mut self, _: Action, _: &Cx<'_>) -> Outcome {
        Outcome::Ignored
    }

    fn draw(&self, _: &Cx<'_>, _: Rect, _: &mut Buffer) {}
}

#[test]
fn titles_and_footers() {
    let mut app = app(demo::server(), Charset::Unicode);
    app.panels.clear();
    for title in ["overview", "cores", "queues", "cgroups", "processes", "disks", "findings", "gaps", "sockets"] {
        app.panels.push(Box::new(Empty(title)));
    }
    let mut out = String::new();
    let mut add = |name: &str, text: String| out.extend(["== ", name, "\n", &text]);
    add("a picture", edges(&mut app));
    app.status.about.still = false;
    add("live", edges(&mut app));
    app.status.now_ns = app.newest.frame.stamp.mono_ns + 7_000_000_000;
    add("late", edges(&mut app));
    app.held = Some(app.newest.clone());
    app.filter = "broker".to_owned();
    add("held and filtered", edges(&mut app));
    app.modal = topotop::app::Modal::Filter;
    add("typing a filter", edges(&mut app));
    app.modal = topotop::app::Modal::Jump("14:0".to_owned());
    add("typing a time", edges(&mut app));
    app.modal = topotop::app::Modal::None;
    app.say("a sample every 2s");
    add("a notice", edges(&mut app));
    app.status.about =
        About { captured: Some("/srv/captures/a-very-long-name/of-a-machine".to_owned()), ..About::default() };
    app.look.charset = Charset::Ascii;
    app.notice = None;
    app.held = None;
    add("captured, in ASCII", edges(&mut app));
    insta::assert_snapshot!(out);
}

#[test]
fn the_keys_lie_over_the_screen() {
    let mut app = app(demo::server(), Charset::Unicode);
    app.command(topotop::action::Command::Help);
    for size in SIZES {
        let text = text(&mut app, size);
        assert!(text.contains("/: search, Esc: close") && text.contains("Legend (overview)"), "{size:?}:\n{text}");
    }
    let topotop::app::Modal::Help(list) = &mut app.modal else { panic!("help is open") };
    list.scroll = usize::MAX >> 1;
    assert!(text(&mut app, (80, 24)).contains("ctrl-l"));
}

/// The program's own lines and the list of keys in a made-up language: no English is left but agreed terms, keys and names
/// that come from the machine.
#[test]
fn no_text_around_panels_bypasses_the_catalogue() {
    let keys = ["esc", "enter", "tab", "shift", "ctrl", "space", "home", "end", "pgup", "pgdn", "UTC"];
    let frame = demo::server();
    let debug = format!("{frame:?}{:?}{:?}", demo::sick(), demo::timeline());
    let names: Vec<&str> = demo::words_in_strings(&debug).chain(keys).collect();
    let mut app = app(frame, Charset::Unicode);
    let mut left = std::collections::BTreeSet::new();
    topotop_model::locale::with(demo::pseudo_locale(), || {
        let mut check = |app: &mut App, lines: fn(&str) -> String| {
            for size in [(80, 24), (120, 40), (200, 60)] {
                let picture = lines(&text(app, size));
                let words = demo::english_words(&picture);
                let known = |word: &str| demo::AGREED.contains(&word) || names.iter().any(|name| name.contains(word));
                left.extend(words.filter(|word| !known(word)).map(str::to_owned));
            }
        };
        let edges =
            |picture: &str| [picture.lines().next(), picture.lines().last()].map(Option::unwrap_or_default).join("\n");
        for screen in 0..app.panels.len() {
            app.screen = screen;
            check(&mut app, edges);
        }
        app.status.about.still = false;
        check(&mut app, edges);
        app.held = Some(app.newest.clone());
        check(&mut app, edges);
        for modal in [Modal::Filter, Modal::Jump(String::new()), Modal::Mark(String::new())] {
            app.modal = modal;
            check(&mut app, edges);
        }
        app.screen = 0;
        app.modal = Modal::Help(topotop::app::List::default());
        // Over an empty panel the list of keys is all there is.
        app.newest = Sample::default();
        app.held = None;
        check(&mut app, str::to_owned);
    });
    assert!(left.is_empty(), "{left:?}");
}
