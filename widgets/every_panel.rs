//! What holds for every panel, whatever it shows.

use crate::testing::{drawn, with_cx};
use crate::{Action, Charset, Cx, Subject, Theme, all, demo};
use std::sync::LazyLock;
use topotop_model::frame::Frame;
use topotop_model::judge::Judgement;
use topotop_model::text::printable;

const ACTIONS: [Action; 14] = [
    Action::Down,
    Action::Where,
    Action::Mode,
    Action::Fold,
    Action::SortNext,
    Action::SortReverse,
    Action::Open,
    Action::PageDown,
    Action::End,
    Action::Idle,
    Action::Commands,
    Action::Tree,
    Action::Threads,
    Action::Up,
];

const SIZES: [(u16, u16); 6] = [(120, 40), (80, 24), (39, 9), (12, 4), (1, 1), (0, 0)];

fn frames() -> [(&'static str, Frame); 6] {
    [
        ("server", demo::server()),
        ("wide", demo::wide()),
        ("tiny", demo::tiny()),
        ("blind", demo::blind()),
        ("hostile", demo::hostile()),
        ("empty", Frame::default()),
    ]
}

/// What is found on a machine: trouble, trouble with names that steer terminals, nothing, and nobody looked.
fn judgement_of(name: &str) -> &'static Judgement {
    static ALL: LazyLock<[Judgement; 4]> =
        LazyLock::new(|| [demo::sick(), demo::sick_hostile(), demo::healthy(), Judgement::default()]);
    let [sick, hostile, healthy, none] = &*ALL;
    match name {
        "server" | "wide" => sick,
        "hostile" => hostile,
        "tiny" => healthy,
        _ => none,
    }
}

/// Draws every panel at every size, before and after every action.
fn every(charset: Charset, frames: &[(&str, Frame)], check: impl FnMut(&str, &ratatui::buffer::Buffer)) {
    every_in(&Theme::default_theme(), charset, frames, check);
}

/// The same in a theme.
pub(crate) fn every_in(
    theme: &Theme,
    charset: Charset,
    frames: &[(&str, Frame)],
    mut check: impl FnMut(&str, &ratatui::buffer::Buffer),
) {
    let history = demo::history();
    for (name, frame) in frames {
        for mut panel in all() {
            let mut selected: Option<Subject> = None;
            for at in 0..=ACTIONS.len() {
                // The widest machine is slow to draw and shows nothing new at every size.
                for (width, height) in SIZES.into_iter().filter(|size| *name != "wide" || size.1 == 40) {
                    with_cx(frame, charset, |cx| {
                        let judgement = judgement_of(name);
                        let cx = Cx { theme, history: &history, judgement, selected: selected.as_ref(), ..*cx };
                        let buf = drawn(&mut *panel, &cx, width, height);
                        check(&format!("{name} {} {width}x{height}", panel.id()), &buf);
                    });
                }
                let Some(&action) = ACTIONS.get(at) else { continue };
                let outcome = with_cx(frame, charset, |cx| {
                    let judgement = judgement_of(name);
                    let cx = Cx { theme, history: &history, judgement, selected: selected.as_ref(), ..*cx };
                    drawn(&mut *panel, &cx, 120, 40);
                    panel.act(action, &cx)
                });
                if let crate::Outcome::Selected(subject) = outcome {
                    selected = Some(subject);
                }
            }
        }
    }
}

#[test]
fn nothing_unsafe_reaches_a_cell() {
    every(Charset::Unicode, &frames(), |what, buf| {
        for cell in &buf.content {
            let symbol = cell.symbol();
            assert_eq!(printable(symbol), symbol, "{what}");
        }
    });
}

#[test]
fn ascii_terminals_get_ascii() {
    let frames = [("server", demo::server()), ("tiny", demo::tiny()), ("blind", demo::blind())];
    every(Charset::Ascii, &frames, |what, buf| {
        for (at, cell) in buf.content.iter().enumerate() {
            assert!(cell.symbol().is_ascii(), "{what}: {:?} in {}", cell.symbol(), at / usize::from(buf.area.width));
        }
    });
}

/// Glyphs that belong to texts, and lines that frame and part.
const NO_MARKS: &str = "─│┌┐└┘┬┴├┤╭╰╶‖·×→←↑↓–≈≥≤“”（）「」，。、：；！？";

#[test]
fn every_glyph_of_a_screen_is_in_its_legend() {
    let mut legends: std::collections::BTreeMap<&str, String> = std::collections::BTreeMap::new();
    for panel in all() {
        legends.insert(panel.id(), signs_of(&*panel).iter().map(|sign| sign.glyph).collect());
    }
    let mut missing: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    let frames = [("server", demo::server()), ("tiny", demo::tiny()), ("blind", demo::blind())];
    every(Charset::Unicode, &frames, |what, buf| {
        let screen = what.split(' ').nth(1).unwrap_or_default();
        for glyph in buf.content.iter().flat_map(|cell| cell.symbol().chars()) {
            let is_text = glyph.is_ascii() || glyph.is_alphanumeric() || NO_MARKS.contains(glyph);
            let missing = missing.entry(screen.to_owned()).or_default();
            if !is_text && !legends[screen].contains(glyph) && !missing.contains(glyph) {
                missing.push(glyph);
            }
        }
    });
    missing.retain(|_, glyphs| !glyphs.is_empty());
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The signs that the help of a panel lists.
fn signs_of(panel: &dyn crate::Panel) -> Vec<crate::parts::panel::Sign> {
    panel.legend().into_iter().chain(crate::parts::legend::COMMON.iter().copied()).collect()
}

#[test]
fn a_mark_without_unicode_is_the_one_of_its_legend() {
    let frames = [("server", demo::server()), ("tiny", demo::tiny()), ("blind", demo::blind())];
    let rows = |buf: &ratatui::buffer::Buffer| -> Vec<Vec<char>> {
        let width = usize::from(buf.area.width.max(1));
        let glyph = |cell: &ratatui::buffer::Cell| cell.symbol().chars().next().unwrap_or(' ');
        buf.content.chunks(width).map(|row| row.iter().map(glyph).collect()).collect()
    };
    let mut drawings = std::collections::VecDeque::new();
    every(Charset::Unicode, &frames, |_, buf| drawings.push_back(rows(buf)));
    let legends: std::collections::BTreeMap<_, _> =
        all().iter().map(|panel| (panel.id(), signs_of(&**panel))).collect();
    let mut wrong = std::collections::BTreeSet::new();
    every(Charset::Ascii, &frames, |what, buf| {
        let screen = what.split(' ').nth(1).unwrap_or_default();
        let unicode = drawings.pop_front().unwrap_or_default();
        for (unicode, ascii) in unicode.iter().zip(rows(buf)) {
            // Where a text has other lengths, places do not compare.
            if unicode.iter().zip(&ascii).any(|(a, b)| a.is_alphanumeric() && a != b) {
                continue;
            }
            // Kinds of time in charts are full cells in colours, which letters stand for.
            let cells = unicode.iter().zip(ascii).filter(|(glyph, _)| **glyph != '█');
            for (glyph, mark) in cells {
                let is_text = glyph.is_ascii() || glyph.is_alphanumeric() || NO_MARKS.contains(*glyph);
                let mut signs = legends[screen].iter().filter(|sign| sign.glyph.contains(*glyph)).peekable();
                if !is_text && signs.peek().is_some() && !signs.any(|sign| sign.ascii.contains(mark)) {
                    wrong.insert(format!("{screen}: {glyph} is drawn {mark:?}"));
                }
            }
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_legend_has_a_mark_with_two_meanings_in_ascii() {
    let mut twice = std::collections::BTreeSet::new();
    for mut panel in all() {
        for _ in 0..3 {
            let signs = signs_of(&*panel);
            for (at, one) in signs.iter().enumerate() {
                for other in signs.iter().skip(at + 1).filter(|other| other.glyph != one.glyph) {
                    let both =
                        one.ascii.split_whitespace().find(|mark| other.ascii.split_whitespace().any(|it| it == *mark));
                    twice.extend(
                        both.map(|mark| format!("{}: {mark:?} is {} and {}", panel.id(), one.label, other.label)),
                    );
                }
            }
            with_cx(&demo::server(), Charset::Ascii, |cx| panel.act(Action::Mode, cx));
        }
    }
    assert!(twice.is_empty(), "{twice:#?}");
}

#[test]
fn every_column_is_in_the_legend_of_its_screen() {
    let mut missing = Vec::new();
    for (_, frame) in [("server", demo::server())] {
        for mut panel in all() {
            for _ in 0..3 {
                let columns = panel.table().map(|table| table.columns()).unwrap_or_default();
                missing.extend(
                    columns
                        .iter()
                        .filter(|column| !column.title.is_empty() && column.help().is_none())
                        .map(|column| format!("{} = {:?}", column.title.key(), column.title.english())),
                );
                with_cx(&frame, Charset::Unicode, |cx| {
                    drawn(&mut *panel, cx, 120, 40);
                    panel.act(Action::Mode, cx);
                });
            }
        }
    }
    missing.sort();
    missing.dedup();
    assert!(missing.is_empty(), "{missing:#?}");
}
