//! Of two machines at one instant, the one that limits.

use super::super::Clocks;
use super::super::deck::Deck;
use super::{APART_NS, Player};
use crate::app::transport::Reel as _;
use topotop_model::bottleneck::{Resources, limiting_machine};
use topotop_model::recording::When;

impl Player {
    /// Brings the other machines to the instant that is shown; nothing where there is one machine only, or none is
    /// short of anything.
    pub(super) fn short(&mut self) -> Option<String> {
        if self.decks.len() < 2 {
            return None;
        }
        let (shown, clocks, sample) = (self.machine, self.clocks.clone(), self.transport.sample);
        let when = self.decks.get_mut(shown)?.when(sample)?;
        let mut resources = Vec::with_capacity(self.decks.len());
        for (machine, deck) in self.decks.iter_mut().enumerate() {
            let there = machine == shown || brought(deck, when, &clocks, shown);
            // One that was not recorded then has nothing to say.
            resources.push(if there { deck.resources() } else { Resources::default() });
        }
        let (machine, resource) = limiting_machine(&resources)?;
        Some(format!("{}: {}", self.names.get(machine)?, resource.summary()))
    }
}

/// Brings a machine to an instant of another one; false where it was not recorded then.
fn brought(deck: &mut Deck, when: When, clocks: &Clocks, from: usize) -> bool {
    let wall_ns = when.wall_ns.saturating_add(clocks.shift_ns(from));
    let found = match clocks {
        Clocks::OneBoot => deck.by_own_time(when.mono_ns),
        _ => deck.nearest(wall_ns),
    };
    let Some((found, there)) = found.and_then(|found| Some((found, deck.when(found)?))) else { return false };
    let apart = match clocks {
        Clocks::OneBoot => there.mono_ns.abs_diff(when.mono_ns),
        _ => there.wall_ns.abs_diff(wall_ns),
    };
    apart <= APART_NS.unsigned_abs() && deck.go(found).0.is_some()
}
