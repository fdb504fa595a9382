//! What clicks and the wheel do.

use super::{App, Effect, Modal};
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use topotop_widgets::Action;

/// Rows that the wheel goes at once.
const WHEEL_ROWS: i16 = 3;

impl App {
    pub(super) fn mouse(&mut self, event: MouseEvent) -> Vec<Effect> {
        if !matches!(self.modal, Modal::None) {
            self.modal_wheel(event.kind);
            return Vec::new();
        }
        if let Some(effects) = self.bar_mouse(event) {
            return effects;
        }
        let action = match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
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
            MouseEventKind::ScrollUp => Action::Wheel { rows: -WHEEL_ROWS, column: event.column, row: event.row },
            MouseEventKind::ScrollDown => Action::Wheel { rows: WHEEL_ROWS, column: event.column, row: event.row },
            _ => return Vec::new(),
        };
        self.act(action).1
    }
}
