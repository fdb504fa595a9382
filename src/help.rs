//! Help on the command line: the definitions of [`Cli`] with the texts of the catalogue.

use crate::cli::Cli;
use clap::{Command, CommandFactory as _, FromArgMatches as _};
use topotop_model::locale::{Text, cli};

/// The command line's definition in the selected language.
pub(crate) fn command() -> Command {
    let details = format!("{}\n\n{}", cli::ABOUT, cli::DETAILS);
    with_texts(Cli::command(), "cli").long_about(details)
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
    fn every_command_and_argument_has_a_text() {
        let mut missing = Vec::new();
        without_text(&Cli::command(), "cli", &mut missing);
        assert!(missing.is_empty(), "{missing:?}");
    }
}
