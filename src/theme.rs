//! Which theme, from a name or a file, and what the environment says about colours and characters.

use crate::config::CharsetChoice;
use topotop_widgets::{Charset, Role, Theme};

/// The theme of a name or file; none given is the default one. NO_COLOR takes the colours out.
pub fn load(wanted: Option<&str>) -> Result<Theme, String> {
    let theme = match wanted {
        None => plain()?,
        Some(name) => file(name)?,
    };
    Ok(if no_colour() { theme.without_colour() } else { theme })
}

/// The theme after the named one.
pub fn next(_name: &str) -> Option<Theme> {
    None
}

fn file(path: &str) -> Result<Theme, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("theme {path}: {error}"))?;
    Theme::parse(&text).map_err(|error| format!("theme {path}: {error}"))
}

fn plain() -> Result<Theme, String> {
    let roles: String = Role::ALL.iter().map(|role| format!("\"{}\" = {{}}\n", role.name())).collect();
    Theme::parse(&format!("name = \"plain\"\n[roles]\n{roles}")).map_err(|error| error.to_string())
}

/// True if the environment asks for no colours: NO_COLOR, or a terminal that has none.
pub fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || dumb()
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
        CharsetChoice::Auto => auto(locale().as_deref()),
    }
}

fn auto(locale: Option<&str>) -> Charset {
    let utf8 = locale.map(str::to_ascii_lowercase).is_some_and(|name| name.contains("utf-8") || name.contains("utf8"));
    if utf8 { Charset::Unicode } else { Charset::Ascii }
}

#[cfg(test)]
mod tests {
    use super::auto;
    use topotop_widgets::Charset;

    #[test]
    fn the_locale_decides() {
        assert_eq!(auto(Some("de_DE.UTF-8")), Charset::Unicode);
        assert_eq!(auto(Some("C.utf8")), Charset::Unicode);
        assert_eq!(auto(Some("C")), Charset::Ascii);
        assert_eq!(auto(None), Charset::Ascii);
    }
}
