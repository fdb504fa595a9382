//! Contrast and colour differences of every theme, computed from the cells that panels draw.

use crate::every_panel::every_in;
use crate::{Charset, Role, Theme, demo, themes};
use palette::color_difference::Ciede2000;
use palette::{FromColor, Lab, LinSrgb, Srgb};
use ratatui::buffer::Cell;
use ratatui::style::Color;
use std::collections::BTreeSet;

const SEVERITIES: [Role; 4] = [Role::Ok, Role::Info, Role::Warn, Role::Critical];
const HEAT: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Normal vision, protanopia and deuteranopia: linear RGB as Machado, Oliveira and Fernandes (2009) simulate it.
const VISIONS: [(&str, [[f32; 3]; 3]); 3] = [
    ("normal", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
    ),
    (
        "deuteranopia",
        [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
    ),
];

fn linear(colour: Color) -> Option<LinSrgb> {
    let Color::Rgb(r, g, b) = colour else { return None };
    Some(Srgb::new(r, g, b).into_linear())
}

/// The contrast of two colours as WCAG defines it; none where the terminal's palette decides.
fn contrast(a: Color, b: Color) -> Option<f32> {
    contrast_of("", a, b)
}

/// The same of what a symbol covers with the first one: shades are dots of it on the second one.
fn contrast_of(symbol: &str, a: Color, b: Color) -> Option<f32> {
    let covered = match symbol {
        "░" => 0.25,
        "▒" => 0.5,
        "▓" => 0.75,
        _ => 1.0,
    };
    let luminance = |colour| linear(colour).map(|c| 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue);
    let (a, b) = (luminance(a)?, luminance(b)?);
    let a = covered * a + (1.0 - covered) * b;
    Some((a.max(b) + 0.05) / (a.min(b) + 0.05))
}

#[test]
fn shades_count_as_what_they_cover() {
    let (white, black) = (Color::Rgb(255, 255, 255), Color::Rgb(0, 0, 0));
    let ratio = |symbol| contrast_of(symbol, white, black).expect("both are colours").round() as u8;
    assert_eq!(["█", "▂", "▓", "▒", "░"].map(ratio), [21, 21, 16, 11, 6]);
    let ratio = |symbol| contrast_of(symbol, black, white).expect("both are colours");
    assert!(ratio("░") < 1.5 && ratio("▒") < 3.0, "no colour is dark enough");
}

fn seen(theme: &Theme, role: Role, vision: [[f32; 3]; 3]) -> Lab {
    let c = theme.style(role).fg.and_then(linear).expect("a colour");
    let [r, g, b] = vision.map(|row| (row[0] * c.red + row[1] * c.green + row[2] * c.blue).clamp(0.0, 1.0));
    Lab::from_color(LinSrgb::new(r, g, b))
}

/// Themes of colours that are the same in every terminal.
fn of_own_colours() -> impl Iterator<Item = Theme> {
    let all =
        themes::ALL.iter().map(|(name, text)| Theme::parse(text).unwrap_or_else(|error| panic!("{name}: {error}")));
    all.filter(|theme| matches!(theme.style(Role::Text).bg, Some(Color::Rgb(..))))
}

/// The contrast that a cell needs: text and numbers 4.5, bars and lines 3, blank cells and empty tracks none.
fn needed(cell: &Cell, theme: &Theme) -> Option<f32> {
    let symbol = cell.symbol().chars().next()?;
    match symbol {
        ' ' => None,
        '┈' | '─' if Some(cell.fg) == theme.style(Role::Free).fg => None,
        '\u{2190}'..='\u{21ff}' | '\u{2500}'..='\u{25ff}' | '\u{2800}'..='\u{28ff}' | '·' => Some(3.0),
        _ => Some(4.5),
    }
}

#[test]
fn every_cell_that_is_drawn_can_be_read() {
    let frames = [("server", demo::server()), ("blind", demo::blind())];
    for theme in of_own_colours() {
        let text = theme.style(Role::Text);
        let own =
            |colour, instead: Option<Color>| if colour == Color::Reset { instead.unwrap_or_default() } else { colour };
        let mut weak = BTreeSet::new();
        let mut looked_at = 0;
        every_in(&theme, Charset::Unicode, &frames, |what, buf| {
            for cell in buf.content() {
                let Some(needed) = needed(cell, &theme) else { continue };
                let (fg, bg) = (own(cell.fg, text.fg), own(cell.bg, text.bg));
                let ratio = contrast_of(cell.symbol(), fg, bg).expect("both are colours");
                looked_at += 1;
                if ratio < needed {
                    weak.insert(format!("{fg} on {bg}: {ratio:.2} of {needed}, `{}` in {what}", cell.symbol()));
                }
            }
        });
        assert!(looked_at > 100_000, "{}: {looked_at}", theme.name);
        assert!(weak.is_empty(), "{}: {weak:#?}", theme.name);
    }
}

/// Also what the panels of these machines happen not to draw: every role as text or as line, on every ground it gets.
#[test]
fn every_role_can_be_read_on_every_ground() {
    for theme in of_own_colours() {
        let grounds = [Role::Text, Role::Selected, Role::Related].map(|role| theme.style(role).bg);
        for &role in Role::ALL.iter().filter(|role| **role != Role::Free) {
            let style = theme.style(role);
            let line = matches!(role, Role::Border | Role::Focus) || role.name().contains('.');
            let fg = style.fg.or(theme.style(Role::Text).fg).unwrap_or_default();
            for ground in grounds.iter().map(|ground| style.bg.or(*ground).unwrap_or_default()) {
                let ratio = contrast(fg, ground).expect("both are colours");
                let needed = if line { 3.0 } else { 4.5 };
                assert!(ratio >= needed, "{} {} on {ground}: {ratio:.2}", theme.name, role.name());
            }
        }
    }
}

/// Those that promise it to every eye; `high-contrast` spends its lightness on contrast.
fn for_every_eye() -> impl Iterator<Item = Theme> {
    of_own_colours().filter(|theme| theme.name != "high-contrast")
}

#[test]
fn severities_differ_for_every_eye() {
    for theme in for_every_eye() {
        for (vision, matrix) in VISIONS {
            for (at, &a) in SEVERITIES.iter().enumerate() {
                for &b in &SEVERITIES[at + 1..] {
                    let difference = seen(&theme, a, matrix).difference(seen(&theme, b, matrix));
                    assert!(difference >= 20.0, "{} {vision} {a:?} {b:?}: {difference:.1}", theme.name);
                }
            }
        }
    }
}

#[test]
fn heat_has_an_order_for_every_eye() {
    for theme in for_every_eye() {
        for (vision, matrix) in VISIONS {
            let steps = HEAT.map(|share| seen(&theme, Role::heat(share), matrix));
            let lightness = steps.map(|step| step.l);
            assert!(
                lightness.is_sorted_by(|a, b| a < b) || lightness.is_sorted_by(|a, b| a > b),
                "{} {vision}: {lightness:?}",
                theme.name
            );
            for (at, &a) in steps.iter().enumerate() {
                for &b in &steps[at + 1..] {
                    let difference = a.difference(b);
                    assert!(difference >= 10.0, "{} {vision} {lightness:?}: {difference:.1}", theme.name);
                }
            }
        }
    }
}
