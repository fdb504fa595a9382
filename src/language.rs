//! The language of the program: `--lang`, else what the environment names where the terminal can show it, else English.

use std::ffi::OsString;
use topotop_model::locale::{self, error as text};

/// English, which every terminal shows.
const ENGLISH: &str = "en";
/// Chinese in Simplified script.
const CHINESE: &str = "zh-CN";

/// Selects the language before the command line is parsed, so that its errors and help have it.
pub(crate) fn select(arguments: impl Iterator<Item = OsString>) {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let code = flag(arguments).unwrap_or_else(|| {
        let named = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(variable).unwrap_or_default();
        let encoding = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
        let console = variable("TERM").is_some_and(|term| term == "linux");
        of_environment(&named, &encoding, console)
    });
    locale::select(code);
}

/// The value parser of `--lang`.
pub(crate) fn parse(name: &str) -> Result<&'static str, String> {
    named(name).ok_or_else(|| {
        let known: Vec<&str> = locale::LANGUAGES.iter().map(|language| language.code).collect();
        text::UnknownLanguage { name: &topotop_model::text::printable(name), known: &known.join(", ") }.to_string()
    })
}

/// The language that `--lang` names, up to the command of `record`.
fn flag(mut arguments: impl Iterator<Item = OsString>) -> Option<&'static str> {
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            return None;
        }
        if argument == "--lang" {
            return named(arguments.next()?.to_str()?);
        }
        if let Some(name) = argument.to_str().and_then(|argument| argument.strip_prefix("--lang=")) {
            return named(name);
        }
    }
    None
}

/// The code of a language by its name in any of the usual notations: `zh-CN`, `zh_CN.UTF-8`, `zh`, `C`.
fn named(name: &str) -> Option<&'static str> {
    let name = name.split(['.', '@']).next().unwrap_or_default().replace('_', "-").to_ascii_lowercase();
    match name.as_str() {
        "c" | "posix" | "en" => Some(ENGLISH),
        "zh" | "zh-cn" | "zh-sg" | "zh-my" => Some(CHINESE),
        name if name.starts_with("zh-hans") => Some(CHINESE),
        name if name.starts_with("en-") => Some(ENGLISH),
        _ => None,
    }
}

/// The language of the environment; English where the terminal cannot show Han.
fn of_environment(named_as: &str, encoding: &str, console: bool) -> &'static str {
    let encoding = encoding.to_ascii_lowercase();
    let shows = (encoding.contains("utf-8") || encoding.contains("utf8")) && !console;
    named(named_as).filter(|_| shows).unwrap_or(ENGLISH)
}

#[cfg(test)]
mod tests {
    use super::{flag, of_environment, parse};

    #[test]
    fn the_environment_selects_what_the_terminal_can_show() {
        assert_eq!(of_environment("zh_CN.UTF-8", "zh_CN.UTF-8", false), "zh-CN");
        assert_eq!(of_environment("zh_CN.UTF-8", "zh_CN.UTF-8", true), "en", "the console of Linux has no Han");
        assert_eq!(of_environment("zh_CN.GBK", "zh_CN.GBK", false), "en");
        assert_eq!(of_environment("zh_CN", "C", false), "en");
        assert_eq!(of_environment("zh_CN", "en_US.utf8", false), "zh-CN");
        assert_eq!(of_environment("zh_TW.UTF-8", "zh_TW.UTF-8", false), "en", "another script");
        assert_eq!(of_environment("de_DE.UTF-8", "de_DE.UTF-8", false), "en");
        assert_eq!(of_environment("", "", false), "en");
    }

    #[test]
    fn the_flag_is_found_before_the_command_of_record() {
        let flag = |words: &[&str]| flag(words.iter().map(Into::into));
        assert_eq!(flag(&["check", "--lang", "zh-CN"]), Some("zh-CN"));
        assert_eq!(flag(&["--lang=en", "check"]), Some("en"));
        assert_eq!(flag(&["record", "--", "x", "--lang", "zh"]), None);
        assert!(parse("xx").unwrap_err().contains("en, zh-CN"));
    }
}
