//! The language of the program: `--lang`, else what the environment names where the terminal can show it, else English.

use crate::cli::{Cli, Command};
use crate::fix::args::Verb;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use topotop_model::locale::{self, error as text};

/// English, which every terminal shows.
const ENGLISH: &str = "en";
/// Chinese in Simplified script.
const CHINESE: &str = "zh-CN";

/// Selects the language before the command line is parsed, so that its errors and help have it.
pub(crate) fn select() {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let arguments = std::env::args_os().skip(1);
    let code = match flag(arguments) {
        Some(code) => code,
        None => {
            let named = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(variable).unwrap_or_default();
            let encoding = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
            let console = variable("TERM").is_some_and(|term| term == "linux");
            of_environment(&named, &encoding, console)
        }
    };
    locale::select(code);
}

/// The value parser of `--lang`.
pub(crate) fn parse(name: &str) -> Result<&'static str, String> {
    named(name).ok_or_else(|| {
        let known: Vec<&str> = locale::LANGUAGES.iter().map(|language| language.code).collect();
        text::UnknownLanguage { name: &topotop_model::text::printable(name), known: &known.join(", ") }.to_string()
    })
}

/// Documents for programs are English throughout.
pub(crate) fn english_for_programs(cli: &Cli) {
    if is_for_programs(cli) {
        locale::select(ENGLISH);
    }
}

fn is_for_programs(cli: &Cli) -> bool {
    let data = |format: &str| matches!(format, "json" | "jsonl" | "junit");
    match &cli.command {
        Some(Command::Snapshot(args)) => match (&args.format, &args.output) {
            (Some(format), _) => data(format),
            (None, Some(path)) => path.extension().is_some_and(|extension| extension == "json"),
            (None, None) => !std::io::stdout().is_terminal(),
        },
        Some(Command::Check(args)) => data(&args.format),
        Some(Command::Preflight(args)) => data(&args.format),
        Some(Command::Doctor(args)) => data(&args.format),
        Some(Command::Replay(args)) => args.format.is_some(),
        Some(Command::Export(_) | Command::Completions { .. } | Command::Capture(_)) => true,
        Some(Command::Fix(args)) => match &args.verb {
            Verb::List { format, .. } | Verb::Journal { format, .. } => data(format),
            _ => false,
        },
        _ => false,
    }
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
