//! The one table of what keys do: keymap, help, footer, manual page and README are made from it.

use crate::app::Measure;
use std::fmt::Write as _;
use topotop_model::locale::Text;
use topotop_model::locale::action;
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
    /// Freezes the display while sampling continues.
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
    /// Switches between two recorded machines.
    Machine,
    /// Closes what is open, else returns to live, else clears the filter.
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
    /// Finds an action, a row or a rule by some letters.
    Palette,
    /// The screen of data that could not be read.
    Gaps,
    /// A shorter interval.
    Faster,
    /// A longer interval.
    Slower,
    /// Begins a recording or ends it.
    Record,
    /// Asks for a text and writes it at this place of the recording.
    Mark,
    /// Shows, confirms, applies and measures the fix of a finding.
    Fix,
    /// The same for the worst finding.
    FixWorst,
    /// What can be done to the selected row.
    Actions,
    /// Undoes the fix that was applied here.
    Undo,
    /// Cancels the automatic rollback of a fix.
    Keep,
    /// Copies the selected row or finding; in the dialog the commands of the fix.
    CopySelected,
    /// Writes the view to a file; in the dialog sets parameters of the fix.
    Export,
    /// Chooses the columns of a table.
    Columns,
    /// Sorts by what a key stands for.
    SortBy(Measure),
    /// To the next row with the text that was searched for.
    SearchNext,
    /// To the row before with it.
    SearchPrevious,
    /// Something for the panel on the screen.
    Panel(Action),
}

/// Groups of keys: the headings of the help.
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
    pub fn title(self) -> Text {
        match self {
            Self::Screens => action::GROUP_SCREENS,
            Self::Rows => action::GROUP_ROWS,
            Self::Fixes => action::GROUP_FIXES,
            Self::Time => action::GROUP_TIME,
            Self::Program => action::GROUP_PROGRAM,
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
    /// Keys that do it while the display is frozen or a recording is shown, whatever they do otherwise.
    pub paused: &'static [&'static str],
    /// What it does, in at most five words.
    pub help: Text,
    /// One word for the footer; empty keeps it out.
    pub hint: Text,
    /// Where the help lists it.
    pub group: Group,
}

const fn row(group: Group, command: Command, name: &'static str, keys: &'static [&'static str], help: Text) -> Row {
    Row { command, name, keys, paused: &[], help, hint: Text::EMPTY, group }
}

impl Row {
    const fn hint(mut self, hint: Text) -> Self {
        self.hint = hint;
        self
    }

    const fn paused(mut self, keys: &'static [&'static str]) -> Self {
        self.paused = keys;
        self
    }
}

use Command::{
    Actions, Back, Columns, CopySelected, End, Export, Faster, Filter, Fix, FixWorst, Gaps, Help, Jump, Keep, LoopEnd,
    LoopOff, LoopStart, Machine, Mark, MinuteBack, MinuteForward, Mouse, NextFinding, NextMark, NextScreen, Palette,
    Panel, Pause, PreviousFinding, PreviousMark, PreviousScreen, Quit, Record, Redraw, Screen, SearchNext,
    SearchPrevious, Slower, SortBy, Start, StepBack, StepForward, Suspend, Theme, Undo,
};

/// Every action with its default keys.
pub const TABLE: &[Row] = &[
    row(Group::Screens, Screen(1), "screen-1", &["1"], action::SCREEN_1),
    row(Group::Screens, Screen(2), "screen-2", &["2"], action::SCREEN_2),
    row(Group::Screens, Screen(3), "screen-3", &["3"], action::SCREEN_3),
    row(Group::Screens, Screen(4), "screen-4", &["4"], action::SCREEN_4),
    row(Group::Screens, Screen(5), "screen-5", &["5"], action::SCREEN_5),
    row(Group::Screens, Screen(6), "screen-6", &["6"], action::SCREEN_6),
    row(Group::Screens, Screen(7), "screen-7", &["7"], action::SCREEN_7),
    row(Group::Screens, Screen(8), "screen-8", &["8"], action::SCREEN_8),
    row(Group::Screens, Screen(9), "screen-9", &["9"], action::SCREEN_9),
    row(Group::Screens, NextScreen, "next-screen", &["tab"], action::NEXT_SCREEN),
    row(Group::Screens, PreviousScreen, "previous-screen", &["shift-tab"], action::PREVIOUS_SCREEN),
    row(Group::Screens, Gaps, "gaps", &["u"], action::GAPS).hint(action::HINT_GAPS),
    row(Group::Rows, Panel(Action::Up), "up", &["up", "k"], action::UP),
    row(Group::Rows, Panel(Action::Down), "down", &["down", "j"], action::DOWN),
    row(Group::Rows, Panel(Action::PageUp), "page-up", &["pgup", "ctrl-b"], action::PAGE_UP),
    row(Group::Rows, Panel(Action::PageDown), "page-down", &["pgdn", "ctrl-f"], action::PAGE_DOWN),
    row(Group::Rows, Panel(Action::Home), "home", &["home", "g"], action::HOME),
    row(Group::Rows, Panel(Action::End), "end", &["end", "G"], action::END),
    row(Group::Rows, Panel(Action::Open), "open", &["enter"], action::OPEN).hint(action::HINT_OPEN),
    row(Group::Rows, Back, "back", &["esc"], action::BACK),
    row(Group::Rows, Filter, "filter", &["/"], action::FILTER).hint(action::HINT_FILTER),
    row(Group::Rows, Panel(Action::SortNext), "sort", &["s"], action::SORT).hint(action::HINT_SORT),
    row(Group::Rows, Panel(Action::SortPrevious), "sort-back", &["S"], action::SORT_BACK),
    row(Group::Rows, SortBy(Measure::Cpu), "sort-cpu", &["P"], action::SORT_CPU),
    row(Group::Rows, SortBy(Measure::Memory), "sort-memory", &["B"], action::SORT_MEMORY),
    row(Group::Rows, SortBy(Measure::Wait), "sort-wait", &["W"], action::SORT_WAIT),
    row(Group::Rows, SortBy(Measure::Io), "sort-io", &["I"], action::SORT_IO),
    row(Group::Rows, Panel(Action::SortReverse), "reverse", &["r"], action::REVERSE),
    row(Group::Rows, Columns, "columns", &["C"], action::COLUMNS),
    row(Group::Rows, SearchNext, "search-next", &["n"], action::SEARCH_NEXT),
    row(Group::Rows, SearchPrevious, "search-back", &["N"], action::SEARCH_BACK),
    row(Group::Rows, Panel(Action::Fold), "fold", &["z"], action::FOLD),
    row(Group::Rows, Panel(Action::Mode), "mode", &["m"], action::MODE),
    row(Group::Rows, Panel(Action::Where), "where", &["w"], action::WHERE),
    row(Group::Rows, Panel(Action::Idle), "idle", &["i"], action::IDLE),
    row(Group::Rows, Panel(Action::Tree), "tree", &["V"], action::TREE),
    row(Group::Rows, Panel(Action::Threads), "threads", &["H"], action::THREADS),
    row(Group::Rows, Panel(Action::Percent), "percent", &["%"], action::PERCENT),
    row(Group::Rows, Panel(Action::Kernel), "kernel-threads", &["X"], action::KERNEL),
    row(Group::Rows, Panel(Action::Commands), "commands", &["p"], action::COMMANDS),
    row(Group::Fixes, Fix, "fix", &["f"], action::FIX),
    row(Group::Fixes, FixWorst, "fix-worst", &["F"], action::FIX_WORST),
    row(Group::Fixes, Actions, "actions", &["a"], action::ACTIONS),
    row(Group::Fixes, Undo, "undo", &["U"], action::UNDO),
    row(Group::Fixes, Keep, "keep", &["K"], action::KEEP),
    row(Group::Time, Pause, "pause", &["space"], action::PAUSE).hint(action::HINT_PAUSE),
    row(Group::Time, StepBack, "step-back", &["left"], action::STEP_BACK).hint(action::HINT_STEP),
    row(Group::Time, StepForward, "step-forward", &["right"], action::STEP_FORWARD),
    row(Group::Time, MinuteBack, "minute-back", &["{", "shift-pgup"], action::MINUTE_BACK),
    row(Group::Time, MinuteForward, "minute-forward", &["}", "shift-pgdn"], action::MINUTE_FORWARD),
    row(Group::Time, Start, "start", &["shift-home"], action::START).paused(&["home"]),
    row(Group::Time, End, "end-of-time", &["shift-end"], action::END_OF_TIME).paused(&["end"]),
    row(Group::Time, PreviousFinding, "previous-finding", &["["], action::PREVIOUS_FINDING),
    row(Group::Time, NextFinding, "next-finding", &["]"], action::NEXT_FINDING),
    row(Group::Time, PreviousMark, "previous-mark", &["<"], action::PREVIOUS_MARK),
    row(Group::Time, NextMark, "next-mark", &[">"], action::NEXT_MARK),
    row(Group::Time, Jump, "jump", &["t"], action::JUMP),
    row(Group::Time, Record, "record", &["R"], action::RECORD),
    row(Group::Time, Mark, "mark", &["x"], action::MARK),
    row(Group::Time, Faster, "faster", &["+"], action::FASTER),
    row(Group::Time, Slower, "slower", &["-"], action::SLOWER),
    row(Group::Time, LoopStart, "loop-start", &["("], action::LOOP_START),
    row(Group::Time, LoopEnd, "loop-end", &[")"], action::LOOP_END),
    row(Group::Time, LoopOff, "loop-off", &["L"], action::LOOP_OFF),
    row(Group::Time, Machine, "machine", &["o"], action::MACHINE),
    row(Group::Program, CopySelected, "copy", &["c"], action::COPY),
    row(Group::Program, Export, "export", &["e"], action::EXPORT),
    row(Group::Program, Theme, "theme", &["T"], action::THEME),
    row(Group::Program, Mouse, "mouse", &["M"], action::MOUSE),
    row(Group::Program, Redraw, "redraw", &["ctrl-l"], action::REDRAW),
    row(Group::Program, Suspend, "suspend", &["ctrl-z"], action::SUSPEND),
    row(Group::Program, Quit, "quit", &["q", "ctrl-c"], action::QUIT).hint(action::HINT_QUIT),
    row(Group::Program, Help, "help", &["?", "h", "f1"], action::HELP).hint(action::HINT_HELP),
    row(Group::Program, Palette, "palette", &[":"], action::PALETTE),
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
        let _ = writeln!(text, "| {} | `{}` | {} |", [keys, held].concat().join(", "), row.name, row.help.english());
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
            assert!(row.help.split_whitespace().count() <= 5, "the help of {} is too long", row.name);
        }
    }
}
