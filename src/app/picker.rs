//! Choosing what a table is sorted by and which columns it shows; the search for a row.

use super::{App, Effect, Modal, edit};
use crate::action::Command;
use crossterm::event::{KeyCode, KeyEvent};
use std::fmt::Write as _;
use topotop_model::locale::chrome;
use topotop_widgets::Action;
use topotop_widgets::parts::table::ColumnInfo;

/// A list of columns to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picker {
    /// True where one is chosen to sort by, false where they are shown, hidden and moved.
    pub sorts: bool,
    /// The row that is selected.
    pub at: usize,
}

/// What a direct key sorts by, whatever a screen calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// CPU time.
    Cpu,
    /// Memory.
    Memory,
    /// Time spent waiting.
    Wait,
    /// Input and output.
    Io,
}

/// What is switched on in a list and kept, by its name in the file.
pub(super) const MODES: &[(&str, Action)] = &[
    ("tree", Action::Tree),
    ("threads", Action::Threads),
    ("percent", Action::Percent),
    ("no-kernel-threads", Action::Kernel),
];

impl Measure {
    /// Its columns by their names, the best first.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Cpu => &["cpu", "util"],
            Self::Memory => &["rss", "used"],
            Self::Wait => &["wait", "await", "throtl"],
            Self::Io => &["write-s", "read-s"],
        }
    }
}

impl App {
    /// The columns that the picker lists.
    pub fn pickable(&mut self, picker: &Picker) -> Vec<ColumnInfo> {
        let Some((panel, _)) = self.panel() else { return Vec::new() };
        let columns = panel.table().map(|table| table.columns()).unwrap_or_default();
        columns.into_iter().filter(|column| !picker.sorts || column.sortable).collect()
    }

    /// Opens the picker; false where the screen has no table.
    pub(super) fn pick(&mut self, sorts: bool) -> bool {
        let mut picker = Picker { sorts, at: 0 };
        let columns = self.pickable(&picker);
        if columns.is_empty() {
            return false;
        }
        picker.at = columns.iter().position(|column| sorts && column.sorted.is_some()).unwrap_or(0);
        self.modal = Modal::Pick(picker);
        true
    }

    pub(super) fn sort_by(&mut self, measure: Measure) -> Vec<Effect> {
        let sorted = self.panel().is_some_and(|(panel, _)| {
            panel.table().is_some_and(|table| measure.columns().iter().any(|name| table.sort_on(name, None)))
        });
        if sorted { vec![self.remember()] } else { self.useless() }
    }

    /// What a key does while the picker is open.
    pub(super) fn pick_key(&mut self, event: KeyEvent, command: Option<Command>) -> Vec<Effect> {
        let Modal::Pick(mut picker) = std::mem::take(&mut self.modal) else { return Vec::new() };
        let columns = self.pickable(&picker);
        let last = columns.len().saturating_sub(1);
        let chosen = columns.get(picker.at.min(last)).map(|column| column.name.clone()).unwrap_or_default();
        match (event.code, command) {
            (KeyCode::Enter, _) if picker.sorts => return self.picked_sort(&chosen),
            (KeyCode::Enter | KeyCode::Esc, _) => return vec![self.remember()],
            (KeyCode::Char(' '), _) if !picker.sorts => {
                self.toggle_column(&columns, picker.at);
                // What is hidden goes to the end of the list: the cursor goes with it.
                let now = self.pickable(&picker);
                picker.at = now.iter().position(|column| column.name == chosen).unwrap_or(picker.at);
            }
            (KeyCode::Left | KeyCode::Right, _) if !picker.sorts => {
                picker.at = self.move_column(&columns, picker.at, event.code == KeyCode::Right);
            }
            (KeyCode::Backspace | KeyCode::Delete, _) if !picker.sorts => self.show_columns(&[]),
            (KeyCode::Up, _) => picker.at = picker.at.min(last).saturating_sub(1),
            (KeyCode::Down, _) => picker.at = (picker.at + 1).min(last),
            (KeyCode::Home | KeyCode::PageUp, _) => picker.at = 0,
            (KeyCode::End | KeyCode::PageDown, _) => picker.at = last,
            // A letter goes to the next heading that begins with it.
            (KeyCode::Char(letter), _) => {
                let begins = |at: &usize| {
                    let column = columns.get(*at % columns.len());
                    column.is_some_and(|column| column.title.to_lowercase().starts_with(letter.to_ascii_lowercase()))
                };
                let found = (picker.at + 1..=picker.at + columns.len()).find(begins);
                picker.at = found.map_or(picker.at, |at| at % columns.len());
            }
            _ => {}
        }
        self.modal = Modal::Pick(picker);
        Vec::new()
    }

    /// Chosen once more, the order is turned around.
    fn picked_sort(&mut self, name: &str) -> Vec<Effect> {
        if let Some((panel, _)) = self.panel()
            && let Some(table) = panel.table()
        {
            let sorted = table.columns().into_iter().find(|column| column.name == name).and_then(|found| found.sorted);
            table.sort_on(name, sorted.map(|descending| !descending));
        }
        vec![self.remember()]
    }

    fn show_columns(&mut self, names: &[String]) {
        if let Some((panel, _)) = self.panel()
            && let Some(table) = panel.table()
        {
            table.show_columns(names);
        }
    }

    /// One column at least stays.
    fn toggle_column(&mut self, columns: &[ColumnInfo], at: usize) {
        let is_shown = |(row, column): &(usize, &ColumnInfo)| column.shown != (*row == at);
        let names: Vec<String> =
            columns.iter().enumerate().filter(is_shown).map(|(_, column)| column.name.clone()).collect();
        if !names.is_empty() {
            self.show_columns(&names);
        }
    }

    fn move_column(&mut self, columns: &[ColumnInfo], at: usize, later: bool) -> usize {
        let mut names: Vec<String> =
            columns.iter().filter(|column| column.shown).map(|column| column.name.clone()).collect();
        let to = if later { at + 1 } else { at.wrapping_sub(1) };
        if at >= names.len() || to >= names.len() {
            return at;
        }
        names.swap(at, to);
        self.show_columns(&names);
        to
    }

    /// The layout of every table for the state folder: a line each, `screen columns NAME,…` and `screen sort NAME desc`.
    pub(super) fn remember(&mut self) -> Effect {
        let mut lines = String::new();
        for panel in &mut self.panels {
            let id = panel.id();
            let on = panel.modes();
            for (name, _) in MODES.iter().filter(|mode| on.contains(&mode.1)) {
                let _ = writeln!(lines, "{id} mode {name}");
            }
            let Some(table) = panel.table() else { continue };
            let columns = table.columns();
            let shown: Vec<&str> =
                columns.iter().filter(|column| column.shown).map(|column| column.name.as_str()).collect();
            let _ = writeln!(lines, "{id} columns {}", shown.join(","));
            if let Some((name, descending)) = columns.iter().find_map(|column| Some((&column.name, column.sorted?))) {
                let _ = writeln!(lines, "{id} sort {name} {}", if descending { "desc" } else { "asc" });
            }
        }
        Effect::Remember(lines)
    }

    /// Takes a layout over; what it does not know is left out.
    pub fn recall(&mut self, lines: &str) {
        let screen = self.screen;
        for line in lines.lines().take(64) {
            let mut words = line.split(' ');
            let (Some(id), Some(what), Some(value)) = (words.next(), words.next(), words.next()) else { continue };
            let mode = MODES.iter().find(|mode| what == "mode" && mode.0 == value);
            if let Some((_, action)) = mode.filter(|_| self.open_screen(id)) {
                self.switch_on(*action);
            }
            let panel = self.panels.iter_mut().find(|panel| panel.id() == id);
            let Some(table) = panel.and_then(|panel| panel.table()) else { continue };
            match what {
                "columns" => table.show_columns(&value.split(',').take(64).map(str::to_owned).collect::<Vec<_>>()),
                "sort" => drop(table.sort_on(value, words.next().map(|order| order == "desc"))),
                _ => {}
            }
        }
        self.screen = screen;
    }

    fn switch_on(&mut self, action: Action) {
        if let Some((panel, cx)) = self.panel().filter(|(panel, _)| !panel.modes().contains(&action)) {
            panel.act(action, &cx);
        }
    }

    /// To the next row that shows what was searched for; asks for it the first time.
    pub(super) fn search(&mut self, forward: bool) -> Vec<Effect> {
        // What a filter leaves is what was looked for.
        let text = self.searched.clone();
        if text.is_empty() && self.filter.is_empty() {
            self.modal = Modal::Search(String::new());
            return Vec::new();
        }
        let subject = self.panel().and_then(|(panel, cx)| {
            let found = panel.table()?.search(&cx, &text, forward);
            found.then(|| panel.table().and_then(|table| table.chosen()))
        });
        match subject {
            Some(subject) => self.selected = subject.or(self.selected.take()),
            None => self.say(chrome::NotFound { text: &text }.to_string()),
        }
        Vec::new()
    }

    /// What a key does while a search is typed.
    pub(super) fn search_key(&mut self, event: KeyEvent) -> Vec<Effect> {
        let Modal::Search(text) = &mut self.modal else { return Vec::new() };
        match event.code {
            KeyCode::Esc => self.modal = Modal::None,
            KeyCode::Enter => {
                self.searched = std::mem::take(text);
                self.modal = Modal::None;
                if !self.searched.is_empty() {
                    return self.search(true);
                }
            }
            _ => {
                edit::key(text, event);
            }
        }
        Vec::new()
    }

    /// Says that a key does nothing on this screen.
    pub(super) fn useless(&mut self) -> Vec<Effect> {
        let screen = self.panels.get(self.screen).map(|panel| panel.title());
        self.say(
            chrome::NothingHere { screen: &screen.map(|title| title.to_string()).unwrap_or_default() }.to_string(),
        );
        Vec::new()
    }

    /// True for what moves within a list: at its end there is nothing to say.
    pub(super) fn moves(action: Action) -> bool {
        matches!(
            action,
            Action::Up
                | Action::Down
                | Action::PageUp
                | Action::PageDown
                | Action::Home
                | Action::End
                | Action::Close
                | Action::Click { .. }
                | Action::Wheel { .. }
        )
    }
}
