//! Help on the command line: the definitions of [`Cli`] with the texts of the catalogue.

use crate::cli::Cli;
use clap::error::{ContextKind, ErrorKind};
use clap::{Command, CommandFactory as _, FromArgMatches as _};
use std::error::Error as _;
use topotop_model::locale::cli::parser;
use topotop_model::locale::{Text, cli, is_english, join};

/// The command line's definition in the selected language.
pub(crate) fn command() -> Command {
    let details = format!("{}\n\n{}", cli::ABOUT, cli::DETAILS);
    let mut command = with_texts(Cli::command(), "cli").long_about(details);
    // Hands the options that commands share to each of them.
    command.build();
    command.mut_subcommands(|command| {
        let shown = shown(command.get_name());
        with_options(command, shown)
    })
}

/// Of a live machine or a captured one.
const OF_MACHINES: &[&str] = &["root", "interval", "config", "state_dir", "no_hwloc", "metric", "lang", "verbose"];

/// The shared options that `--help` of a command lists: those that it acts on.
fn shown(command: &str) -> &'static [&'static str] {
    match command {
        "snapshot" => &["root", "interval", "theme", "config", "state_dir", "no_hwloc", "metric", "lang", "verbose"],
        "record" | "check" | "serve" => OF_MACHINES,
        "preflight" | "plan" => &["root", "interval", "config", "state_dir", "no_hwloc", "lang", "verbose"],
        "fix" => &["root", "interval", "config", "read_only", "state_dir", "no_hwloc", "metric", "lang", "verbose"],
        "replay" | "demo" => &["theme", "config", "state_dir", "lang"],
        "doctor" => &["root", "config", "lang"],
        "capture" => &["root", "interval", "config", "lang"],
        "diff" | "report" | "rules" => &["config", "lang"],
        _ => &["lang"],
    }
}

fn with_options(command: Command, shown: &'static [&'static str]) -> Command {
    let command = command.mut_args(|argument| {
        let is_shown = !argument.is_global_set() || shown.contains(&argument.get_id().as_str());
        if is_shown { argument } else { argument.hide(true) }
    });
    command.mut_subcommands(|command| with_options(command, shown))
}

/// Parses the words of a command line, its own name first.
pub(crate) fn parse<I, T>(words: I) -> Result<Cli, clap::Error>
where
    I: IntoIterator<Item = T>,
    T: Into<std::ffi::OsString> + Clone,
{
    let matches = command().try_get_matches_from(words)?;
    Cli::from_arg_matches(&matches)
}

/// What clap prints with its own words in the selected language.
pub(crate) fn localised(text: &str) -> String {
    if is_english() {
        return text.to_owned();
    }
    // A longer sentence before one that it begins with.
    let words = [
        parser::PRINT_HELP_MORE,
        parser::PRINT_HELP_SUMMARY,
        parser::PRINT_HELP,
        parser::PRINT_VERSION,
        parser::HELP_COMMAND,
        parser::USAGE,
        parser::COMMANDS,
        parser::ARGUMENTS,
        parser::OPTIONS,
        parser::DEFAULT,
        parser::POSSIBLE,
    ];
    // Where a line ends within a bracket, blanks stand between its words.
    let text =
        words.iter().fold(text.to_owned(), |text, word| unwrapped(&text, word.english()).replace(word.english(), word));
    text.replace("： ", "：")
}

/// The text with a phrase of two words on one line, wherever a line end divides it.
fn unwrapped(text: &str, phrase: &str) -> String {
    let Some((first, rest)) = phrase.split_once(' ').filter(|_| phrase.starts_with('[')) else {
        return text.to_owned();
    };
    let mut parts = text.split(first);
    let head = parts.next().unwrap_or_default().to_owned();
    parts.fold(head, |text, part| {
        let after = part.trim_start();
        let blank = part.strip_suffix(after).unwrap_or_default();
        let divided = blank.contains('\n') && after.starts_with(rest);
        if divided { format!("{}{blank}{first} {after}", text.trim_end()) } else { format!("{text}{first}{part}") }
    })
}

/// An error of clap as one line of the catalogue; none where the catalogue has no text for its kind.
pub(crate) fn error(error: &clap::Error) -> Option<String> {
    let context = |kind| error.get(kind).map(ToString::to_string);
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    let text = match error.kind() {
        ErrorKind::UnknownArgument => parser::Unexpected { argument: &argument }.to_string(),
        ErrorKind::InvalidSubcommand => {
            parser::UnknownCommand { command: &context(ContextKind::InvalidSubcommand)? }.to_string()
        }
        ErrorKind::InvalidValue if value.is_empty() => parser::NeedsValue { argument: &argument }.to_string(),
        ErrorKind::InvalidValue => parser::Invalid { value: &value, argument: &argument }.to_string(),
        // A value parser says itself what to use instead.
        ErrorKind::ValueValidation => return Some(invalid(&argument, &value, error)),
        ErrorKind::MissingRequiredArgument => parser::Required { arguments: &argument }.to_string(),
        ErrorKind::ArgumentConflict => {
            parser::Conflict { argument: &argument, other: &context(ContextKind::PriorArg)? }.to_string()
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            parser::NO_COMMAND.to_string()
        }
        _ => return None,
    };
    let similar = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    Some(match (similar.into_iter().find_map(context), context(ContextKind::ValidValue)) {
        (Some(similar), _) => parser::Similar { error: &text, similar: &similar }.to_string(),
        (None, Some(values)) if !values.is_empty() => {
            parser::OneOf { error: &text, values: &values.replace(", ", &join::ITEMS) }.to_string()
        }
        (None, _) => parser::TryHelp { error: &text }.to_string(),
    })
}

/// A value that its parser refuses, with the parser's reason.
fn invalid(argument: &str, value: &str, error: &clap::Error) -> String {
    let source = error.source();
    let why = match source.filter(|source| !source.is::<std::num::ParseIntError>()) {
        Some(source) => source.to_string(),
        None => parser::WHOLE_NUMBER.to_string(),
    };
    if why.contains(value) {
        return parser::InvalidArgument { argument: &argument, why: &why }.to_string();
    }
    parser::InvalidWhy { value: &value, argument: &argument, why: &why }.to_string()
}

fn with_texts(command: Command, path: &str) -> Command {
    let command = match text(path, "about") {
        Some(about) => command.about(about.as_str()),
        None => command,
    };
    let command = command.mut_args(|argument| match text(path, argument.get_id().as_str()) {
        Some(text) => argument.help(text.as_str()),
        None => argument,
    });
    command.mut_subcommands(|command| {
        let path = format!("{path}.{}", command.get_name());
        with_texts(command, &path)
    })
}

/// A command's own text, or the one that several commands share.
fn text(path: &str, name: &str) -> Option<Text> {
    Text::find(&format!("{path}.{name}")).or_else(|| Text::find(&format!("cli.shared.{name}")))
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::cli::Cli;
    use clap::{Command, CommandFactory as _};

    fn without_text(command: &Command, path: &str, missing: &mut Vec<String>) {
        let ids = command.get_arguments().map(|argument| argument.get_id().as_str()).chain(["about"]);
        missing.extend(ids.filter(|id| text(path, id).is_none()).map(|id| format!("{path}.{id}")));
        for command in command.get_subcommands() {
            without_text(command, &format!("{path}.{}", command.get_name()), missing);
        }
    }

    #[test]
    fn help_of_a_command_lists_the_shared_options_that_it_takes() {
        let help = |words: &[&str]| super::parse(words).expect_err("help is printed").render().to_string();
        let (mark, check) = (help(&["topotop", "mark", "--help"]), help(&["topotop", "check", "--help"]));
        assert!(!mark.contains("--interval") && mark.contains("--lang"), "{mark}");
        assert!(check.contains("--interval") && !check.contains("--read-only"), "{check}");
        let undo = help(&["topotop", "fix", "undo", "--help"]);
        assert!(undo.contains("--state-dir") && !undo.contains("--theme"), "{undo}");
    }

    #[test]
    fn every_command_and_argument_has_a_text() {
        let mut missing = Vec::new();
        without_text(&Cli::command(), "cli", &mut missing);
        assert!(missing.is_empty(), "{missing:?}");
    }
}
