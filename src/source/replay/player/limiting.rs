//! Of two machines at one instant, the one that limits.

use super::super::Clocks;
use super::super::buffer::ReplayBuffer;
use super::{APART_NS, Player};
use crate::app::transport::RecordingIndex as _;
use topotop_model::bottleneck::{Bottleneck, limiting_machine};
use topotop_model::recording::When;

impl Player {
    /// Brings the other machines to the instant that is shown; nothing where there is one machine only, or none is
    /// short of anything.
    pub(super) fn limiting(&mut self) -> Option<String> {
        if self.buffers.len() < 2 {
            return None;
        }
        let (shown, clocks, sample) = (self.machine, self.clocks.clone(), self.transport.sample);
        let when = self.buffers.get_mut(shown)?.when(sample)?;
        let mut answers = Vec::with_capacity(self.buffers.len());
        for (machine, buffer) in self.buffers.iter_mut().enumerate() {
            let there = machine == shown || brought(buffer, when, &clocks, shown);
            // A machine without a sample at that time has no answer.
            answers.push(if there { buffer.bottleneck() } else { Bottleneck::default() });
        }
        let (machine, answer) = limiting_machine(&answers)?;
        Some(format!("{}: {}", self.names.get(machine)?, answer.headline()))
    }
}

/// Brings a machine to an instant of another one; false where it was not recorded then.
fn brought(buffer: &mut ReplayBuffer, when: When, clocks: &Clocks, from: usize) -> bool {
    let wall_ns = when.wall_ns.saturating_add(clocks.shift_ns(from));
    let found = match clocks {
        Clocks::OneBoot => buffer.by_own_time(when.mono_ns),
        _ => buffer.nearest(wall_ns),
    };
    let Some((found, there)) = found.and_then(|found| Some((found, buffer.when(found)?))) else { return false };
    let apart = match clocks {
        Clocks::OneBoot => there.mono_ns.abs_diff(when.mono_ns),
        _ => there.wall_ns.abs_diff(wall_ns),
    };
    apart <= APART_NS.unsigned_abs() && buffer.go(found).0.is_some()
}
