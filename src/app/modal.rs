//! What lies over the screen and takes the keys.

use super::{App, Effect, edit};
use crate::action::Command;
use crossterm::event::{KeyCode, KeyEvent, MouseEventKind};
use topotop_widgets::Action;

/// What lies over the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Modal {
    /// Nothing.
    #[default]
    None,
    /// The filter is typed.
    Filter,
    /// A time is typed.
    Jump(String),
    /// A mark for the recording is typed.
    Mark(String),
    /// What rows are searched for is typed.
    Search(String),
    /// Columns to choose from.
    Pick(super::Picker),
    /// Formats to write the view in.
    Export(usize),
    /// Something to find and do.
    Palette(super::Palette),
    /// The list of keys.
    Help(List),
    /// The dialog about a fix.
    Fix,
}

/// A list that scrolls and is searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// Rows above the first one shown.
    pub scroll: usize,
    /// Only lines with this.
    pub query: String,
    /// True while the query is typed.
    pub typing: bool,
}

/// Rows of a page in a list.
const PAGE: usize = 10;

impl List {
    fn scroll_by(&mut self, rows: isize) {
        // The view knows how long the list is; it stops at the last page.
        self.scroll = self.scroll.saturating_add_signed(rows).min(1 << 16);
    }

    /// True if the list stays open.
    fn key(&mut self, event: KeyEvent, command: Option<Command>) -> bool {
        if self.typing {
            match event.code {
                KeyCode::Enter => self.typing = false,
                KeyCode::Esc => *self = Self::default(),
                _ => self.scroll = if edit::key(&mut self.query, event) { 0 } else { self.scroll },
            }
            return true;
        }
        match command {
            Some(Command::Panel(Action::Up)) => self.scroll_by(-1),
            Some(Command::Panel(Action::Down)) => self.scroll_by(1),
            Some(Command::Panel(Action::PageUp) | Command::MinuteBack) => self.scroll_by(-(PAGE as isize)),
            Some(Command::Panel(Action::PageDown) | Command::MinuteForward | Command::Pause) => {
                self.scroll_by(PAGE as isize);
            }
            Some(Command::Panel(Action::Home) | Command::Start) => self.scroll = 0,
            Some(Command::Panel(Action::End) | Command::End) => self.scroll = 1 << 16,
            Some(Command::Filter) => self.typing = true,
            Some(Command::Back) if !self.query.is_empty() => *self = Self::default(),
            Some(Command::Back | Command::Help | Command::Quit | Command::Panel(Action::Open)) => {
                return false;
            }
            _ => {}
        }
        true
    }
}

impl App {
    /// What a key does while something lies over the screen; none if nothing does.
    pub(super) fn modal_key(&mut self, event: KeyEvent) -> Option<Vec<Effect>> {
        let command = self.keymap.command(event.into(), self.in_time());
        let control = !matches!(event.code, KeyCode::Char(_)) || !event.modifiers.is_empty();
        if let Some(command @ (Command::Suspend | Command::Redraw)) = command {
            return (control && !matches!(self.modal, Modal::None)).then(|| self.command(command));
        }
        if command == Some(Command::Quit) && event.modifiers.contains(crossterm::event::KeyModifiers::CONTROL) {
            return Some(vec![Effect::Quit]);
        }
        match &mut self.modal {
            Modal::None => None,
            Modal::Help(list) => {
                if !list.key(event, command) {
                    self.modal = Modal::None;
                }
                Some(Vec::new())
            }
            Modal::Filter => Some(self.filter_key(event)),
            Modal::Jump(_) => Some(self.jump_key(event)),
            Modal::Mark(_) => Some(self.mark_key(event)),
            Modal::Search(_) => Some(self.search_key(event)),
            Modal::Pick(_) => Some(self.pick_key(event, command)),
            Modal::Export(at) => {
                let at = *at;
                Some(self.export_key(at, event))
            }
            Modal::Palette(_) => Some(self.palette_key(event)),
            Modal::Fix => Some(self.fix_key(event, command)),
        }
    }

    fn filter_key(&mut self, event: KeyEvent) -> Vec<Effect> {
        match event.code {
            KeyCode::Enter => self.modal = Modal::None,
            KeyCode::Esc => {
                self.filter.clear();
                self.modal = Modal::None;
            }
            // Rows can be looked through while the filter is typed.
            KeyCode::Up => return self.command(Command::Panel(Action::Up)),
            KeyCode::Down => return self.command(Command::Panel(Action::Down)),
            _ => {
                edit::key(&mut self.filter, event);
            }
        }
        Vec::new()
    }

    fn jump_key(&mut self, event: KeyEvent) -> Vec<Effect> {
        let Modal::Jump(text) = &mut self.modal else { return Vec::new() };
        match event.code {
            KeyCode::Esc => self.modal = Modal::None,
            KeyCode::Enter => {
                let text = std::mem::take(text);
                self.modal = Modal::None;
                return self.jump(&text);
            }
            _ => {
                edit::key(text, event);
            }
        }
        Vec::new()
    }

    fn mark_key(&mut self, event: KeyEvent) -> Vec<Effect> {
        let Modal::Mark(text) = &mut self.modal else { return Vec::new() };
        match event.code {
            KeyCode::Esc => self.modal = Modal::None,
            KeyCode::Enter => {
                let text = std::mem::take(text);
                self.modal = Modal::None;
                return vec![Effect::Mark(text)];
            }
            _ => {
                edit::key(text, event);
            }
        }
        Vec::new()
    }

    pub(super) fn paste(&mut self, text: &str) {
        match &mut self.modal {
            Modal::Filter => edit::paste(&mut self.filter, text),
            Modal::Jump(line) | Modal::Mark(line) | Modal::Search(line) => edit::paste(line, text),
            Modal::Palette(palette) => edit::paste(&mut palette.typed, text),
            Modal::Help(list) if list.typing => edit::paste(&mut list.query, text),
            Modal::Fix => {
                let line = self.fixing.as_mut().and_then(|dialog| dialog.typed.as_mut().or(dialog.editing.as_mut()));
                if let Some(typed) = line {
                    edit::paste(typed, text);
                }
            }
            _ => {}
        }
    }

    pub(super) fn modal_wheel(&mut self, kind: MouseEventKind) {
        if self.modal == Modal::Fix {
            return self.fix_wheel(kind);
        }
        let Modal::Help(list) = &mut self.modal else { return };
        match kind {
            MouseEventKind::ScrollUp => list.scroll_by(-3),
            MouseEventKind::ScrollDown => list.scroll_by(3),
            _ => {}
        }
    }
}
