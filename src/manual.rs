//! Completions and the manual page, from the command line's own definitions and the table of actions.

use crate::action::{Group, TABLE};
use crate::help;
use std::fmt::Write as _;
use std::io::Write as _;
use topotop_model::locale::error::ManualFailed;
use topotop_model::locale::in_english;

/// A completion script, in English as all that programs read.
pub(crate) fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    in_english(|| {
        let mut out = Vec::new();
        clap_complete::generate(shell, &mut help::command(), "topotop", &mut out);
        out
    })
}

/// The manual page: the program, its commands one after the other, keys, files and status.
pub(crate) fn page() -> Result<Vec<u8>, String> {
    let mut command = help::command();
    command.build();
    let man = clap_mangen::Man::new(command.clone()).section("1");
    let mut out = Vec::new();
    let written = (|| {
        man.render_title(&mut out)?;
        man.render_name_section(&mut out)?;
        man.render_synopsis_section(&mut out)?;
        man.render_description_section(&mut out)?;
        man.render_options_section(&mut out)?;
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
            writeln!(out, ".SH {}", roff(&sub.get_name().to_uppercase()))?;
            let man = clap_mangen::Man::new(sub.clone());
            let mut options = Vec::new();
            man.render_description_section(&mut options)?;
            man.render_options_section(&mut options)?;
            // Its own headings would look like the program's.
            let text = String::from_utf8_lossy(&options).replace(".SH DESCRIPTION\n", "").replace(".SH ", ".SS ");
            out.write_all(text.as_bytes())?;
        }
        out.write_all(tail().as_bytes())
    })();
    written.map_err(|error: std::io::Error| ManualFailed { error: &error }.to_string())?;
    Ok(out)
}

/// Keys, files, environment and status.
fn tail() -> String {
    let mut text = String::from(".SH KEYS\n");
    for group in Group::ALL {
        // Writing to a String cannot fail.
        let _ = writeln!(text, ".SS {}", group.title());
        for row in TABLE.iter().filter(|row| row.group == group) {
            let _ =
                writeln!(text, ".TP\n\\fB{}\\fR\n{} ({})", roff(&row.keys.join(", ")), roff(&row.help), roff(row.name));
        }
    }
    text.push_str(
        ".SH FILES\n.TP\n\\fI$XDG_CONFIG_HOME/topotop/config.toml\\fR\nConfiguration; \
         \\fBtopotop \\-\\-print\\-config\\fR writes one with every default. The names in parentheses above are keys of its \
         [keys] section.\n.SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nNo colours.\n.TP\n\\fBTERM\\fR, \\fBCOLORTERM\\fR\nNumber of \
         colours of the terminal.\n.TP\n\\fBLC_ALL\\fR, \\fBLC_CTYPE\\fR, \\fBLANG\\fR\nCharacter set: topotop draws with ASCII characters unless it is UTF\\-8.\n\
         .SH EXIT STATUS\n.TP\n0\nSuccess.\n.TP\n1\n\\fBcheck\\fR and \\fBpreflight\\fR: something that \\fB\\-\\-fail\\-on\\fR names was found; \
         \\fBdiff \\-\\-exit\\-code\\fR: something changed.\n.TP\n2\nError, reported on standard error; with \\fB\\-\\-strict\\fR, incomplete or inconclusive.\n.TP\n3\n\\fBdiff \\-\\-exit\\-code\\fR: not decided.\n\
         .TP\n125, 126, 127\n\\fBrecord\\fR with a command: topotop failed, the command cannot be executed, or it was not \
         found. Otherwise the exit status of the command, or 128 plus the number of the signal that killed it.\n",
    );
    text
}

/// Text for roff: nothing of it is a request or an escape.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if escaped.starts_with('.') { format!("\\&{escaped}") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::{completions, page};
    use crate::action::TABLE;

    #[test]
    fn the_page_names_every_key_and_flag() {
        let page = String::from_utf8(page().unwrap()).unwrap();
        assert!(TABLE.iter().all(|row| page.contains(&super::roff(&row.help))));
        assert!(page.contains("SNAPSHOT") && page.contains("\\-\\-root"));
    }

    #[test]
    fn completions_know_the_commands() {
        let script = String::from_utf8(completions(clap_complete::Shell::Bash)).unwrap();
        assert!(script.contains("snapshot") && !script.contains("__hwloc"));
    }
}
