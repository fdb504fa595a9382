//! What keys do in the dialog.

use super::super::{App, Effect, Modal, edit};
use crate::action::Command;
use crate::fix::order::Order;
use crossterm::event::{KeyCode, KeyEvent, MouseEventKind};
use topotop_widgets::Action;
use topotop_widgets::fix::{Button, Dialog, Doing, Stage};

/// Lines of a page.
const PAGE: isize = 8;

impl App {
    /// What a key does while the dialog is open.
    pub(in super::super) fn fix_key(&mut self, event: KeyEvent, command: Option<Command>) -> Vec<Effect> {
        let Some(dialog) = &mut self.fixing else {
            self.modal = Modal::None;
            return Vec::new();
        };
        if let Some(typed) = &mut dialog.typed {
            match event.code {
                KeyCode::Esc => dialog.typed = None,
                KeyCode::Enter => return self.apply_fix(),
                _ => {
                    edit::key(typed, event);
                }
            }
            return Vec::new();
        }
        if dialog.editing.is_some() {
            return self.parameter_key(event);
        }
        dialog.note = None;
        match command {
            Some(Command::Back | Command::Quit) => return self.leave_fix(),
            Some(Command::Undo) => return self.undo_fix(),
            Some(Command::Keep) => return self.keep_fix(),
            Some(Command::CopySelected) => return self.copy_fix(),
            Some(Command::Export) => self.set_parameters(),
            Some(Command::Help) => self.say(topotop_model::locale::chrome::DIALOG_HELP),
            Some(Command::Panel(Action::Open)) => return self.press_fix(),
            Some(Command::Panel(action)) => scroll(dialog, action),
            Some(Command::MinuteBack) => scroll(dialog, Action::PageUp),
            Some(Command::MinuteForward | Command::Pause) => scroll(dialog, Action::PageDown),
            Some(Command::StepBack | Command::PreviousScreen) => turn(dialog, false),
            Some(Command::StepForward | Command::NextScreen) => turn(dialog, true),
            _ => {}
        }
        Vec::new()
    }

    /// What the wheel does.
    pub(in super::super) fn fix_wheel(&mut self, kind: MouseEventKind) {
        let Some(dialog) = &mut self.fixing else { return };
        let by = match kind {
            MouseEventKind::ScrollUp => -3,
            MouseEventKind::ScrollDown => 3,
            _ => return,
        };
        dialog.scroll = dialog.scroll.saturating_add_signed(by);
    }

    /// A step back: to what there is to choose from, or out. What is applied stays applied.
    fn leave_fix(&mut self) -> Vec<Effect> {
        let Some(dialog) = &mut self.fixing else { return Vec::new() };
        let several = dialog.choices.len() > 1;
        match &mut dialog.stage {
            Stage::Reading(_) | Stage::Review(_) if several => {
                (dialog.stage, dialog.scroll, dialog.typed) = (Stage::Choosing, 0, None);
                self.measuring = None;
                return Vec::new();
            }
            Stage::Run(run) if run.doing == Doing::Applying && !run.aborting => {
                run.aborting = true;
                return vec![Effect::Fix(Order::Abort)];
            }
            Stage::Run(_) => {}
            _ => {
                self.fixing = None;
                self.measuring = None;
            }
        }
        self.modal = Modal::None;
        Vec::new()
    }

    fn press_fix(&mut self) -> Vec<Effect> {
        let Some(dialog) = &self.fixing else { return Vec::new() };
        match (&dialog.stage, dialog.button) {
            (Stage::Choosing, _) if dialog.wants_value() => {
                self.set_parameters();
                Vec::new()
            }
            (Stage::Choosing, _) => self.choose_fix(),
            (Stage::Review(_), Button::Cancel) => {
                (self.fixing, self.measuring, self.modal) = (None, None, Modal::None);
                Vec::new()
            }
            (Stage::Review(_), Button::Copy) => self.copy_fix(),
            (Stage::Review(_), Button::Apply) => self.apply_fix(),
            (Stage::Reading(_) | Stage::Run(_), _) => Vec::new(),
        }
    }

    /// The commands go to the terminal's clipboard.
    fn copy_fix(&mut self) -> Vec<Effect> {
        let Some(dialog) = &mut self.fixing else { return Vec::new() };
        let text = dialog.copied();
        if text.is_empty() {
            dialog.note = Some(topotop_model::locale::dialog::fix::NO_COMMAND.into());
            return Vec::new();
        }
        let lines = text.lines().count();
        dialog.note = Some(topotop_model::locale::dialog::fix::Copied { lines: &lines }.to_string());
        vec![Effect::Copy(text)]
    }
}

fn scroll(dialog: &mut Dialog, action: Action) {
    let by = match action {
        Action::Up => -1,
        Action::Down => 1,
        Action::PageUp => -PAGE,
        Action::PageDown => PAGE,
        Action::Home => isize::MIN,
        Action::End => 1 << 16,
        _ => return,
    };
    if matches!(dialog.stage, Stage::Choosing) {
        let last = dialog.choices.len().saturating_sub(1);
        dialog.chosen = dialog.chosen.saturating_add_signed(by).min(last);
    } else {
        // The view knows how long the text is.
        dialog.scroll = dialog.scroll.saturating_add_signed(by).min(1 << 16);
    }
}

/// The next button, or the one before.
fn turn(dialog: &mut Dialog, forward: bool) {
    if !matches!(dialog.stage, Stage::Review(_)) {
        return;
    }
    let mut all = vec![Button::Cancel, Button::Copy];
    if dialog.obstacle().is_none() {
        all.push(Button::Apply);
    }
    let at = all.iter().position(|button| *button == dialog.button).unwrap_or(0);
    let next = if forward { at + 1 } else { at + all.len() - 1 } % all.len();
    dialog.button = all.get(next).copied().unwrap_or_default();
}
