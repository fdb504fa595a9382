//! The themes that ship with the program, and how they fit terminals with fewer colours.

use crate::{Theme, ThemeError};
use ratatui::style::Color;

/// Name and text of every theme; the first one is used unless another is asked for.
pub const ALL: &[(&str, &str)] = &[
    ("default", include_str!("../themes/default.toml")),
    ("light", include_str!("../themes/light.toml")),
    ("projector", include_str!("../themes/projector.toml")),
    ("high-contrast", include_str!("../themes/high-contrast.toml")),
    ("colour-blind", include_str!("../themes/colour-blind.toml")),
    ("mono", include_str!("../themes/mono.toml")),
    ("ansi", include_str!("../themes/ansi.toml")),
];

/// Their names in one line.
pub fn names() -> String {
    ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// The theme of a name.
pub fn named(name: &str) -> Option<Result<Theme, ThemeError>> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| Theme::parse(text))
}

/// How many colours a terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// Any.
    #[default]
    True,
    /// The 256 of xterm.
    Indexed,
    /// The 16 that the user chose for the terminal.
    Ansi,
    /// None, as NO_COLOR asks for.
    None,
}

impl Theme {
    /// The theme as a terminal with so many colours can show it. A theme of free colours gives way to `ansi` where
    /// there are 16 only: the nearest of 16 would make different things look the same.
    #[must_use]
    pub fn fitted(self, depth: Depth) -> Self {
        match depth {
            Depth::Indexed => self.recoloured(indexed),
            Depth::Ansi if self.colours().any(|colour| matches!(colour, Color::Rgb(..) | Color::Indexed(16..))) => {
                named("ansi").and_then(Result::ok).unwrap_or_else(Self::plain)
            }
            Depth::None if self.colours().next().is_some() => {
                named("mono").and_then(Result::ok).unwrap_or_else(Self::plain)
            }
            Depth::True | Depth::Ansi | Depth::None => self,
        }
    }
}

/// The nearest of the 6×6×6 cube and the grey ramp.
fn indexed(colour: Color) -> Color {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let Color::Rgb(red, green, blue) = colour else { return colour };
    let level = |value: u8| {
        let (at, nearest) = LEVELS
            .iter()
            .enumerate()
            .min_by_key(|(_, level)| level.abs_diff(value))
            .map_or((0, 0), |(at, level)| (at as u8, *level));
        (at, nearest)
    };
    let ((r, red_level), (g, green_level), (b, blue_level)) = (level(red), level(green), level(blue));
    let mean = (u16::from(red) + u16::from(green) + u16::from(blue)) / 3;
    let step = (mean.saturating_sub(3) / 10).min(23) as u8;
    let grey = 8 + 10 * step;
    let distance = |r: u8, g: u8, b: u8| {
        let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        square(r, red) + square(g, green) + square(b, blue)
    };
    if distance(grey, grey, grey) < distance(red_level, green_level, blue_level) {
        Color::Indexed(232 + step)
    } else {
        Color::Indexed(16 + 36 * r + 6 * g + b)
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, Depth, named};
    use crate::{Role, Theme};
    use ratatui::style::{Color, Modifier, Style};

    fn every() -> impl Iterator<Item = Theme> {
        ALL.iter().map(|(name, text)| {
            let theme = Theme::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(theme.name, *name);
            theme
        })
    }

    #[test]
    fn heat_steps_differ_at_every_depth() {
        let steps = [Role::Heat0, Role::Heat1, Role::Heat2, Role::Heat3, Role::Heat4];
        for depth in [Depth::True, Depth::Indexed, Depth::Ansi] {
            for theme in every() {
                let theme = theme.fitted(depth);
                for (at, a) in steps.iter().enumerate() {
                    for b in &steps[at + 1..] {
                        assert_ne!(theme.style(*a), theme.style(*b), "{} {depth:?} {}", theme.name, a.name());
                    }
                }
            }
        }
    }

    #[test]
    fn pictures_are_never_reversed() {
        // A full block in reverse is a hole.
        for theme in every().flat_map(|theme| [theme.clone(), theme.without_colour()]) {
            for role in Role::ALL.iter().filter(|role| role.name().contains('.')) {
                let style = theme.style(*role);
                assert!(!style.add_modifier.contains(Modifier::REVERSED), "{} {}", theme.name, role.name());
                assert_eq!(style.bg, None, "{} {}", theme.name, role.name());
            }
        }
    }

    #[test]
    fn fewer_colours() {
        let default = || Theme::default_theme();
        assert!(default().fitted(Depth::Indexed).colours().all(|colour| !matches!(colour, Color::Rgb(..))));
        assert_eq!(default().fitted(Depth::Ansi).name, "ansi");
        assert_eq!(named("mono").unwrap().unwrap().fitted(Depth::Ansi).name, "mono");
        assert_eq!(default().fitted(Depth::None).colours().count(), 0);
        assert_eq!(named("mono").unwrap().unwrap().colours().count(), 0);
        assert_eq!(default().fitted(Depth::None).name, "mono");
        let bare = default().without_colour();
        assert_eq!(bare.style(Role::Selected), Style::new().add_modifier(Modifier::REVERSED));
        assert_eq!(bare.style(Role::Heat4), Style::new().add_modifier(Modifier::BOLD));
    }

    #[test]
    fn a_theme_file_is_complete_or_refused() {
        let text = ALL[0].1;
        let error = |text: &str| Theme::parse(text).map(|theme| theme.name).unwrap_err().0;
        assert_eq!(error(&text.replace("\"heat.3\"", "\"heat.9\"")), "unknown role `heat.9`");
        assert_eq!(error(&text.replace("ok = {", "# ok = {")), "role `ok` is missing");
        assert_eq!(error(&text.replace("fg = \"leaf\"", "fg = \"grass\"")), "unknown colour `grass`");
    }
}
