//! Which theme, from a name or a file, and what the environment says about colours and characters.

use crate::config::CharsetChoice;
use topotop_model::locale::error as text;
use topotop_widgets::themes::{self, Depth};
use topotop_widgets::{Charset, Theme};

/// The theme of a name or file as so many colours can show it; none given is the default one.
pub fn load(wanted: Option<&str>, depth: Depth) -> Result<Theme, String> {
    let theme = match wanted {
        None => Theme::default_theme(),
        Some(name) => match themes::named(name) {
            Some(theme) => theme.map_err(|error| {
                topotop_model::locale::error::ThemeRefused { name: &name, error: &error }.to_string()
            })?,
            None => file(name)?,
        },
    };
    let name = theme.name.clone();
    // It keeps its name, so that going to the next one goes on from there.
    let mut fitted = theme.fitted(depth);
    fitted.name = name;
    Ok(fitted)
}

/// The theme after the named one; the first one after a theme from a file.
pub fn next(name: &str, depth: Depth) -> Option<Theme> {
    let at = themes::ALL.iter().position(|(known, _)| *known == name).map_or(0, |at| at + 1);
    let (next, _) = themes::ALL.get(at).or(themes::ALL.first())?;
    load(Some(next), depth).ok()
}

fn file(path: &str) -> Result<Theme, String> {
    let file = crate::trust::read(path.as_ref()).map_err(|error| {
        text::UnknownTheme { path: &path, error: &crate::trust::said(&error), known: &themes::names() }.to_string()
    })?;
    Theme::parse(&file.text)
        .map_err(|error| topotop_model::locale::error::ThemeRefused { name: &path, error: &error }.to_string())
}

/// The colours that the terminal can show, as the environment tells them.
pub fn depth() -> Depth {
    let variable = |name| std::env::var(name).unwrap_or_default();
    if no_colour() { Depth::None } else { depth_of(&variable("TERM"), &variable("COLORTERM")) }
}

fn depth_of(term: &str, colorterm: &str) -> Depth {
    if matches!(colorterm, "truecolor" | "24bit") || term.ends_with("-direct") {
        Depth::True
    } else if term.contains("256color") {
        Depth::Indexed
    } else {
        Depth::Ansi
    }
}

/// True if the environment asks for no colours: NO_COLOR, or a terminal that has none.
pub fn no_colour() -> bool {
    let is = |name, wanted: fn(&std::ffi::OsStr) -> bool| std::env::var_os(name).is_some_and(|value| wanted(&value));
    is("NO_COLOR", |value| !value.is_empty()) || is("TERM", |value| value == "dumb")
}

/// True where colours are drawn on a background that may be light: the console's is not.
pub fn has_background() -> bool {
    !no_colour() && std::env::var_os("TERM").is_none_or(|term| term != "linux")
}

/// True on a terminal that cannot place its cursor.
pub fn dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// The characters to draw with: as chosen, or what the locale can show.
pub fn charset(choice: CharsetChoice) -> Charset {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = || variable("LC_ALL").or_else(|| variable("LC_CTYPE")).or_else(|| variable("LANG"));
    match choice {
        CharsetChoice::Unicode => Charset::Unicode,
        CharsetChoice::Ascii => Charset::Ascii,
        // Whoever asks for another language sees its characters, whatever the locale says.
        CharsetChoice::Auto if !topotop_model::locale::is_english() => Charset::Unicode,
        CharsetChoice::Auto => auto(locale().as_deref()),
    }
}

fn auto(locale: Option<&str>) -> Charset {
    let utf8 = locale.map(str::to_ascii_lowercase).is_some_and(|name| name.contains("utf-8") || name.contains("utf8"));
    if utf8 { Charset::Unicode } else { Charset::Ascii }
}

#[cfg(test)]
mod tests {
    use super::{auto, depth_of, load, next};
    use topotop_widgets::Charset;
    use topotop_widgets::themes::{ALL, Depth};

    #[test]
    fn the_terminal_decides() {
        assert_eq!(depth_of("xterm-256color", "truecolor"), Depth::True);
        assert_eq!(depth_of("screen-256color", ""), Depth::Indexed);
        assert_eq!(depth_of("linux", ""), Depth::Ansi);
    }

    #[test]
    fn going_on_comes_around() {
        let mut name = load(None, Depth::Ansi).unwrap().name;
        let mut seen = Vec::new();
        for _ in ALL {
            seen.push(name.clone());
            name = next(&name, Depth::Ansi).unwrap().name;
        }
        assert_eq!(seen.len(), ALL.len());
        assert_eq!(name, seen[0]);
        assert!(load(Some("no-such-theme"), Depth::True).unwrap_err().contains("one of default, light"));
    }

    #[test]
    fn the_locale_decides() {
        assert_eq!(auto(Some("de_DE.UTF-8")), Charset::Unicode);
        assert_eq!(auto(Some("C.utf8")), Charset::Unicode);
        assert_eq!(auto(Some("C")), Charset::Ascii);
        assert_eq!(auto(None), Charset::Ascii);
    }
}
