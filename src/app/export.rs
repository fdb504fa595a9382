//! Copying what is selected, and writing the view to a file.

use super::{App, Effect, Modal};
use crate::export::ALL;
use crate::units;
use crossterm::event::{KeyCode, KeyEvent};
use topotop_model::locale::chrome;
use topotop_widgets::findings::text_of;

impl App {
    /// The selected row or finding; without a selection the worst finding.
    pub(super) fn copy(&mut self) -> Vec<Effect> {
        let chosen = self.panel().and_then(|(panel, cx)| panel.copied(&cx));
        let worst = || {
            let cx = self.cx();
            cx.judgement.findings.first().map(|finding| text_of(&cx, finding))
        };
        let Some(text) = chosen.or_else(worst) else {
            self.say(chrome::NOTHING_TO_COPY);
            return Vec::new();
        };
        vec![Effect::Copy(text)]
    }

    /// Asks for the format.
    pub(super) fn ask_export(&mut self) -> Vec<Effect> {
        if self.shown().is_there() {
            self.modal = Modal::Export(0);
        } else {
            self.say(chrome::NO_SAMPLE);
        }
        Vec::new()
    }

    /// What a key does while a format is chosen: a letter chooses the one that begins with it.
    pub(super) fn export_key(&mut self, at: usize, event: KeyEvent) -> Vec<Effect> {
        let last = ALL.len().saturating_sub(1);
        let begins = |letter: char| ALL.iter().position(|format| format.name.starts_with(letter));
        self.modal = match event.code {
            KeyCode::Enter => return self.export(at),
            KeyCode::Esc => Modal::None,
            KeyCode::Up => Modal::Export(at.saturating_sub(1)),
            KeyCode::Down => Modal::Export((at + 1).min(last)),
            KeyCode::Home | KeyCode::PageUp => Modal::Export(0),
            KeyCode::End | KeyCode::PageDown => Modal::Export(last),
            KeyCode::Char(letter) => match begins(letter.to_ascii_lowercase()) {
                Some(at) => return self.export(at),
                None => Modal::Export(at),
            },
            _ => Modal::Export(at),
        };
        Vec::new()
    }

    fn export(&mut self, at: usize) -> Vec<Effect> {
        self.modal = Modal::None;
        let Some(format) = ALL.get(at) else { return Vec::new() };
        let frame = &self.shown().frame;
        let screen = self.panels.get(self.screen).map(|panel| panel.id()).unwrap_or_default();
        let extension = format.extensions.first().copied().unwrap_or(format.name);
        let name = format!("{screen}-{}.{extension}", units::zoned(frame.stamp.wall_ns).strftime("%Y%m%d-%H%M%S"));
        vec![Effect::Export(format.name, name)]
    }
}
