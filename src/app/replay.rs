//! What keys and the mouse do while a recording is played: they order the player about.

use super::transport::Order;
use super::{App, Effect};
use crate::action::Command;
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use topotop_model::locale::chrome;

/// What the minute keys go, in ns.
const MINUTE_NS: i64 = 60_000_000_000;

impl App {
    /// What a command does to what is played; none where it does what it always does.
    pub(super) fn replay_command(&mut self, command: Command) -> Option<Vec<Effect>> {
        let playback = self.playback.as_ref()?;
        let order = match command {
            Command::Pause => Order::Toggle,
            Command::StepBack => Order::Step(-1),
            Command::StepForward => Order::Step(1),
            Command::MinuteBack => Order::Shift(-MINUTE_NS),
            Command::MinuteForward => Order::Shift(MINUTE_NS),
            Command::Start => Order::Start,
            Command::End => Order::End,
            Command::PreviousFinding => Order::Finding { next: false },
            Command::NextFinding => Order::Finding { next: true },
            Command::PreviousMark => Order::Mark { next: false },
            Command::NextMark => Order::Mark { next: true },
            Command::Faster => Order::Faster,
            Command::Slower => Order::Slower,
            Command::LoopStart => Order::LoopStart,
            Command::LoopEnd => Order::LoopEnd,
            Command::LoopOff => Order::LoopOff,
            Command::Machine if playback.machines.len() > 1 => Order::Machine,
            Command::Record | Command::Mark => {
                self.say(chrome::REPLAY_ONLY);
                return Some(Vec::new());
            }
            _ => return None,
        };
        Some(vec![Effect::Play(order)])
    }

    /// Looks closer at a process, where there is one to look at.
    pub(super) fn watch(&mut self, pid: Option<u32>) -> Vec<Effect> {
        if self.playback.is_none() {
            return vec![Effect::Watch(pid)];
        }
        if pid.is_some() {
            self.say(chrome::NO_WATCH);
        }
        Vec::new()
    }

    /// What the mouse does on the line of the recording; none where it is not on it.
    pub(super) fn bar_mouse(&mut self, event: MouseEvent) -> Option<Vec<Effect>> {
        let is_drag = matches!(event.kind, MouseEventKind::Drag(MouseButton::Left));
        let is_click = matches!(event.kind, MouseEventKind::Down(MouseButton::Left));
        if !is_drag && !is_click {
            self.dragging &= !matches!(event.kind, MouseEventKind::Up(_));
            return None;
        }
        // What was begun on the line goes on wherever the mouse is.
        let found = crate::view::sample_at(self, event.column, event.row, is_drag && self.dragging);
        let sample = found.filter(|_| is_click || self.dragging);
        self.dragging = sample.is_some();
        sample.map(|sample| vec![Effect::Play(Order::Sample(sample))])
    }
}
