//! What clicks and the wheel do.

use super::{App, Effect, Modal};
use crate::action::Command;
use crate::view::{Spot, spot_at};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use topotop_widgets::Action;
use topotop_widgets::fix::Press;

/// Rows that the wheel goes at once.
const WHEEL_ROWS: i16 = 3;

impl App {
    pub(super) fn mouse(&mut self, event: MouseEvent) -> Vec<Effect> {
        if !matches!(self.modal, Modal::None) {
            return self.modal_mouse(event);
        }
        if let Some(effects) = self.bar_mouse(event) {
            return effects;
        }
        let action = match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                if self.notice_mouse(event.row) {
                    return Vec::new();
                }
                if let Some(command) = crate::view::hint_at(self, event.column, event.row) {
                    return self.command(command);
                }
                if let Some(screen) = crate::view::tab_at(self, event.column, event.row) {
                    self.screen = screen;
                    return Vec::new();
                }
                if crate::view::is_findings(self, event.row) {
                    self.open_screen("findings");
                    return Vec::new();
                }
                Action::Click { column: event.column, row: event.row }
            }
            MouseEventKind::Down(MouseButton::Right) => return self.command(Command::Back),
            MouseEventKind::ScrollUp => Action::Wheel { rows: -WHEEL_ROWS, column: event.column, row: event.row },
            MouseEventKind::ScrollDown => Action::Wheel { rows: WHEEL_ROWS, column: event.column, row: event.row },
            _ => return Vec::new(),
        };
        self.act(action).1
    }

    /// Where a notice stands in place of the tabs, a click clears it; that of a rollback opens its dialog.
    fn notice_mouse(&mut self, row: u16) -> bool {
        if row + 1 != self.area.height {
            return false;
        }
        if self.reverts_in().is_some() {
            self.modal = Modal::Fix;
            return true;
        }
        self.notice.take().is_some()
    }

    /// Clicks are the keys of what lies over the screen: the right button is Esc wherever it is pressed.
    fn modal_mouse(&mut self, event: MouseEvent) -> Vec<Effect> {
        match event.kind {
            MouseEventKind::Down(MouseButton::Right) => self.pressed(KeyCode::Esc),
            MouseEventKind::Down(MouseButton::Left) => match spot_at(self, (event.column, event.row)) {
                Some(Spot::Command(command)) => {
                    self.modal = Modal::None;
                    self.command(command)
                }
                Some(Spot::Row(row)) => self.choose_row(row),
                Some(Spot::Fix(press)) => self.press(press),
                Some(Spot::Beside) => self.pressed(KeyCode::Esc),
                Some(Spot::Idle) => Vec::new(),
                // A line that is typed is taken as it stands.
                None => self.pressed(KeyCode::Enter),
            },
            MouseEventKind::ScrollUp if self.is_list() => self.turn_list(KeyCode::Up),
            MouseEventKind::ScrollDown if self.is_list() => self.turn_list(KeyCode::Down),
            kind => {
                self.modal_wheel(kind);
                Vec::new()
            }
        }
    }

    /// True for a list whose selection moves.
    fn is_list(&self) -> bool {
        matches!(self.modal, Modal::Export(_) | Modal::Palette(_) | Modal::Pick(_))
    }

    fn turn_list(&mut self, code: KeyCode) -> Vec<Effect> {
        (0..WHEEL_ROWS).flat_map(|_| self.pressed(code)).collect()
    }

    fn pressed(&mut self, code: KeyCode) -> Vec<Effect> {
        self.modal_key(KeyEvent::new(code, KeyModifiers::NONE)).unwrap_or_default()
    }

    fn choose_row(&mut self, row: usize) -> Vec<Effect> {
        let mut key = KeyCode::Enter;
        match &mut self.modal {
            Modal::Export(at) => *at = row,
            Modal::Palette(palette) => palette.at = row,
            Modal::Pick(picker) => {
                picker.at = row;
                key = if picker.sorts { KeyCode::Enter } else { KeyCode::Char(' ') };
            }
            _ => return Vec::new(),
        }
        self.pressed(key)
    }

    fn press(&mut self, press: Press) -> Vec<Effect> {
        let (code, command) = match press {
            Press::Enter | Press::Choice(_) | Press::Button(_) => (KeyCode::Enter, Command::Panel(Action::Open)),
            Press::Close => (KeyCode::Esc, Command::Back),
            Press::Set => (KeyCode::Null, Command::Export),
            Press::Undo => (KeyCode::Null, Command::Undo),
            Press::Keep => (KeyCode::Null, Command::Keep),
        };
        match (&mut self.fixing, press) {
            (Some(dialog), Press::Choice(at)) => dialog.chosen = at,
            (Some(dialog), Press::Button(button)) => dialog.button = button,
            _ => {}
        }
        self.fix_key(KeyEvent::new(code, KeyModifiers::NONE), Some(command))
    }
}
