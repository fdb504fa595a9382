//! What keys do to the list on the screen and to fixes of its rows.

use super::picker::MODES;
use super::{App, Effect};
use crate::action::Command;
use topotop_widgets::{Action, Outcome};

impl App {
    /// Does what a command about rows, columns and fixes says; says so where it does nothing here.
    pub(super) fn list_command(&mut self, command: Command) -> Vec<Effect> {
        match command {
            Command::Fix => self.fix(),
            Command::FixWorst => self.fix_worst(),
            Command::Undo => self.undo_fix(),
            Command::Keep => self.keep_fix(),
            Command::CopySelected => self.copy(),
            Command::Export => self.ask_export(),
            Command::Columns if self.pick(false) => Vec::new(),
            Command::SortBy(measure) => self.sort_by(measure),
            Command::SearchNext => self.search(true),
            Command::SearchPrevious => self.search(false),
            Command::Actions => self.row_actions(),
            Command::Panel(Action::SortNext) if self.pick(true) => Vec::new(),
            Command::Panel(action) => {
                let (used, effects) = self.act(action);
                if !used && !Self::moves(action) {
                    return self.useless();
                }
                let turned = MODES.iter().any(|mode| mode.1 == action);
                effects.into_iter().chain(turned.then(|| self.remember())).collect()
            }
            _ => self.useless(),
        }
    }

    /// Hands an action to the panel; true if it had a use for it.
    pub(super) fn act(&mut self, action: Action) -> (bool, Vec<Effect>) {
        let Some((panel, cx)) = self.panel() else { return (false, Vec::new()) };
        match panel.act(action, &cx) {
            Outcome::Ignored if action == Action::Where => (true, self.open_finding()),
            Outcome::Ignored => (false, Vec::new()),
            Outcome::Changed => (true, Vec::new()),
            Outcome::Selected(subject) => {
                self.selected = Some(subject);
                (true, Vec::new())
            }
            Outcome::Goto(subject) => (true, self.go_to(&subject)),
            Outcome::Watch(pid) => {
                // The row that is open or whose threads are shown is selected too.
                let selected = self.panel().and_then(|(panel, _)| panel.table()?.chosen());
                self.selected = selected.or(self.selected.take());
                (true, self.watch(pid))
            }
            Outcome::Fix(rule, subject) => (true, self.fix_finding(rule, &subject)),
        }
    }

    /// Closes the detail, else returns to live, else deselects what was selected on another screen, else clears the filter.
    pub(super) fn back(&mut self) -> Vec<Effect> {
        let (used, effects) = self.act(Action::Close);
        if used {
            // What is no longer selected on its own screen is not selected on any.
            let left =
                self.panel().is_some_and(|(panel, _)| panel.table().is_some_and(|table| table.chosen().is_none()));
            self.selected = self.selected.take().filter(|_| !left);
            return effects;
        }
        if self.held.take().is_none() && self.selected.take().is_none() {
            self.filter.clear();
        }
        Vec::new()
    }
}
