//! The one table of what keys do: keymap, help, footer, manual page and README are made from it.

use std::fmt::Write as _;
use topotop_widgets::Action;

/// Something that the user can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Leaves.
    Quit,
    /// Hands the terminal back to the shell until `fg`.
    Suspend,
    /// Draws everything again.
    Redraw,
    /// Holds the picture; sampling goes on.
    Pause,
    /// One sample back.
    StepBack,
    /// One sample forward.
    StepForward,
    /// A minute back.
    MinuteBack,
    /// A minute forward.
    MinuteForward,
    /// To the first sample there is.
    Start,
    /// To the last sample there is: live, or the end of a recording.
    End,
    /// To where a finding came or went before.
    PreviousFinding,
    /// To where the next finding comes or goes.
    NextFinding,
    /// To the mark before.
    PreviousMark,
    /// To the next mark.
    NextMark,
    /// Asks for a time and goes there.
    Jump,
    /// Loop a recording from here.
    LoopStart,
    /// Loop a recording to here.
    LoopEnd,
    /// No loop.
    LoopOff,
    /// The other one of two recorded machines.
    Machine,
    /// Closes what is open, goes back to live, drops the filter: the nearest of them.
    Back,
    /// The next screen.
    NextScreen,
    /// The screen before.
    PreviousScreen,
    /// The screen of a number, from 1.
    Screen(u8),
    /// Asks for a filter.
    Filter,
    /// Mouse on or off: off leaves selecting text to the terminal.
    Mouse,
    /// The next theme.
    Theme,
    /// The list of keys.
    Help,
    /// The screen of what could not be read.
    Gaps,
    /// A shorter interval.
    Faster,
    /// A longer interval.
    Slower,
    /// Begins a recording or ends it.
    Record,
    /// Asks for a text and writes it at this place of the recording.
    Mark,
    /// What to do about a finding: shown, confirmed, applied, measured.
    Fix,
    /// Takes the fix back that was applied here.
    Undo,
    /// Says once more that a fix shall stay that would take itself back.
    Keep,
    /// Copies the commands of the fix that is shown.
    CopyCommands,
    /// Sets parameters of the fix that is shown.
    SetParameters,
    /// Something for the panel on the screen.
    Panel(Action),
}

/// What a row of the table is about, for the help's headings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Screens.
    Screens,
    /// Rows and columns.
    Rows,
    /// Fixes.
    Fixes,
    /// Time.
    Time,
    /// The program.
    Program,
}

impl Group {
    /// Every group in the order of the help.
    pub const ALL: [Self; 5] = [Self::Screens, Self::Rows, Self::Fixes, Self::Time, Self::Program];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Screens => "Screens",
            Self::Rows => "Rows",
            Self::Fixes => "Fixes",
            Self::Time => "Time",
            Self::Program => "Program",
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What it does.
    pub command: Command,
    /// Its name in `[keys]` of the configuration.
    pub name: &'static str,
    /// Keys that always do it.
    pub keys: &'static [&'static str],
    /// Keys that do it while the picture is held or a recording is shown, whatever they do otherwise.
    pub paused: &'static [&'static str],
    /// What it does, in words.
    pub help: &'static str,
    /// One word for the footer; empty keeps it out.
    pub hint: &'static str,
    /// Where the help lists it.
    pub group: Group,
}

const fn row(
    group: Group,
    command: Command,
    name: &'static str,
    keys: &'static [&'static str],
    help: &'static str,
) -> Row {
    Row { command, name, keys, paused: &[], help, hint: "", group }
}

impl Row {
    const fn hint(mut self, hint: &'static str) -> Self {
        self.hint = hint;
        self
    }

    const fn paused(mut self, keys: &'static [&'static str]) -> Self {
        self.paused = keys;
        self
    }
}

use Command::{
    Back, CopyCommands, End, Faster, Filter, Fix, Gaps, Help, Jump, Keep, LoopEnd, LoopOff, LoopStart, Machine, Mark,
    MinuteBack, MinuteForward, Mouse, NextFinding, NextMark, NextScreen, Panel, Pause, PreviousFinding, PreviousMark,
    PreviousScreen, Quit, Record, Redraw, Screen, SetParameters, Slower, Start, StepBack, StepForward, Suspend, Theme,
    Undo,
};

/// Every action with its default keys.
pub const TABLE: &[Row] = &[
    row(Group::Screens, Screen(1), "screen-1", &["1"], "go to screen 1"),
    row(Group::Screens, Screen(2), "screen-2", &["2"], "go to screen 2"),
    row(Group::Screens, Screen(3), "screen-3", &["3"], "go to screen 3"),
    row(Group::Screens, Screen(4), "screen-4", &["4"], "go to screen 4"),
    row(Group::Screens, Screen(5), "screen-5", &["5"], "go to screen 5"),
    row(Group::Screens, Screen(6), "screen-6", &["6"], "go to screen 6"),
    row(Group::Screens, Screen(7), "screen-7", &["7"], "go to screen 7"),
    row(Group::Screens, Screen(8), "screen-8", &["8"], "go to screen 8"),
    row(Group::Screens, NextScreen, "next-screen", &["tab"], "go to the next screen"),
    row(Group::Screens, PreviousScreen, "previous-screen", &["shift-tab"], "go to the screen before"),
    row(Group::Screens, Gaps, "gaps", &["u"], "what could not be read, and what would fill it").hint("gaps"),
    row(Group::Rows, Panel(Action::Up), "up", &["up", "k"], "one row up"),
    row(Group::Rows, Panel(Action::Down), "down", &["down", "j"], "one row down"),
    row(Group::Rows, Panel(Action::PageUp), "page-up", &["pgup", "ctrl-b"], "one page up"),
    row(Group::Rows, Panel(Action::PageDown), "page-down", &["pgdn", "ctrl-f"], "one page down"),
    row(Group::Rows, Panel(Action::Home), "home", &["home", "g"], "to the first row"),
    row(Group::Rows, Panel(Action::End), "end", &["end", "G"], "to the last row"),
    row(Group::Rows, Panel(Action::Open), "open", &["enter"], "open what is selected").hint("open"),
    row(Group::Rows, Back, "back", &["esc"], "close; back to live; drop the filter"),
    row(Group::Rows, Filter, "filter", &["/"], "filter rows by name: Enter keeps it, Esc drops it").hint("filter"),
    row(Group::Rows, Panel(Action::SortNext), "sort", &["s"], "sort by the next column").hint("sort"),
    row(Group::Rows, Panel(Action::SortPrevious), "sort-back", &["S"], "sort by the column before"),
    row(Group::Rows, Panel(Action::SortReverse), "reverse", &["r"], "turn the order around"),
    row(Group::Rows, Panel(Action::Fold), "fold", &["z"], "fold or unfold"),
    row(Group::Rows, Panel(Action::Mode), "mode", &["m"], "the panel's next way to draw"),
    row(Group::Rows, Panel(Action::Where), "where", &["w"], "from a finding to where it is; from there to the finding"),
    row(Group::Rows, Panel(Action::Idle), "idle", &["i"], "hide or show what is idle"),
    row(
        Group::Fixes,
        Fix,
        "fix",
        &["f"],
        "what to do about the finding: look at it, confirm, apply, see whether it helped",
    ),
    row(Group::Fixes, Undo, "undo", &["U"], "take back the fix that was applied here"),
    row(
        Group::Fixes,
        Keep,
        "keep",
        &["K"],
        "keep a fix that would take itself back: this login may go by it, or it may prove worse",
    ),
    row(Group::Fixes, CopyCommands, "copy", &["c"], "in the dialog: its commands to the terminal's clipboard"),
    row(Group::Fixes, SetParameters, "set", &["e"], "in the dialog: set its parameters, as in combined=4"),
    row(Group::Time, Pause, "pause", &["space"], "hold the picture, while sampling goes on; play a recording")
        .hint("pause"),
    row(Group::Time, StepBack, "step-back", &["left"], "one sample back").hint("step"),
    row(Group::Time, StepForward, "step-forward", &["right"], "one sample forward"),
    row(Group::Time, MinuteBack, "minute-back", &["{", "shift-pgup"], "a minute back").paused(&["pgup"]),
    row(Group::Time, MinuteForward, "minute-forward", &["}", "shift-pgdn"], "a minute forward").paused(&["pgdn"]),
    row(Group::Time, Start, "start", &["shift-home"], "to the oldest sample").paused(&["home"]),
    row(Group::Time, End, "end-of-time", &["shift-end"], "to the newest sample: live, or the end of a recording")
        .paused(&["end"]),
    row(Group::Time, PreviousFinding, "previous-finding", &["["], "to where a finding came or went before"),
    row(Group::Time, NextFinding, "next-finding", &["]"], "to where the next finding comes or goes"),
    row(Group::Time, PreviousMark, "previous-mark", &["<"], "to the mark before"),
    row(Group::Time, NextMark, "next-mark", &[">"], "to the next mark"),
    row(Group::Time, Jump, "jump", &["t"], "go to a time: 14:05, 10m (ago, or into a recording), +30s (later), 50%"),
    row(Group::Time, Record, "record", &["R"], "begin a recording, with the past that is kept; end it"),
    row(Group::Time, Mark, "mark", &["x"], "write a mark into the recording"),
    row(Group::Time, Faster, "faster", &["+"], "sample more often; play faster"),
    row(Group::Time, Slower, "slower", &["-"], "sample less often; play slower"),
    row(Group::Time, LoopStart, "loop-start", &["("], "loop a recording from here"),
    row(Group::Time, LoopEnd, "loop-end", &[")"], "loop a recording to here"),
    row(Group::Time, LoopOff, "loop-off", &["L"], "no loop"),
    row(Group::Time, Machine, "machine", &["o"], "the other one of two recorded machines"),
    row(Group::Program, Theme, "theme", &["T"], "the next theme"),
    row(Group::Program, Mouse, "mouse", &["M"], "mouse on or off"),
    row(Group::Program, Redraw, "redraw", &["ctrl-l"], "draw everything again"),
    row(Group::Program, Suspend, "suspend", &["ctrl-z"], "suspend to the shell"),
    row(Group::Program, Quit, "quit", &["q", "ctrl-c"], "quit").hint("quit"),
    row(Group::Program, Help, "help", &["?", "h", "f1"], "this list").hint("help"),
];

/// The row of a name.
pub fn by_name(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

/// The table as the README has it.
pub fn markdown() -> String {
    let mut text = String::from("| keys | name in `[keys]` | what they do |\n| --- | --- | --- |\n");
    for row in TABLE {
        let keys: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
        let held: Vec<String> = row.paused.iter().map(|key| format!("`{key}` while paused")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {} | `{}` | {} |", [keys, held].concat().join(", "), row.name, row.help);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{TABLE, markdown};

    #[test]
    fn the_readme_has_the_table() {
        let readme = include_str!("../README.md");
        assert!(readme.contains(&markdown()), "the README's table of keys should be:\n{}", markdown());
    }

    #[test]
    fn names_and_commands_are_there_once() {
        for (at, row) in TABLE.iter().enumerate() {
            let twins = TABLE.iter().skip(at + 1).any(|other| other.name == row.name || other.command == row.command);
            assert!(!twins, "{} is in the table twice", row.name);
            assert!(!row.keys.is_empty() && !row.help.is_empty(), "{}", row.name);
        }
    }
}
