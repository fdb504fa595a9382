//! What keys and clicks mean to a panel.

/// Something the user wants from the panel that is shown. Keys for it are defined once, in the program's key table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
    /// Sort by the column to the left.
    SortPrevious,
    /// Sort by the column to the right.
    SortNext,
    /// Turn the sort order around.
    SortReverse,
    /// Open what is selected: its detail.
    Open,
    /// Close the detail.
    Close,
    /// Fold or unfold what is selected, or the whole grouping.
    Fold,
    /// The panel's next way to draw: heat, split, cores × time, matrix.
    Mode,
    /// Show only what does something, or everything.
    Idle,
    /// Whole command lines instead of the other columns, or back.
    Commands,
    /// Processes below their parents, or in one list.
    Tree,
    /// Threads below their processes, or none.
    Threads,
    /// CPU time in percent of a CPU, or in cores.
    Percent,
    /// Without kernel threads, or with them.
    Kernel,
    /// To where a finding is; to the finding of what is selected.
    Where,
    /// What to do about a finding.
    Fix,
    /// A click on a cell of the terminal.
    Click {
        /// Column of the terminal.
        column: u16,
        /// Row of the terminal.
        row: u16,
    },
    /// The wheel over a cell: rows down, or up when negative.
    Wheel {
        /// Rows.
        rows: i16,
        /// Column of the terminal.
        column: u16,
        /// Row of the terminal.
        row: u16,
    },
}

/// What a panel made of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It has no use for it.
    #[default]
    Ignored,
    /// Something looks different now.
    Changed,
    /// This subject is selected now; other panels mark it too.
    Selected(crate::Subject),
    /// To the screen where this subject is, with it selected.
    Goto(crate::Subject),
    /// What to do about this finding.
    Fix(topotop_model::rules::RuleId, crate::Subject),
    /// Threads and exact memory of this process are wanted.
    Watch(Option<u32>),
}
