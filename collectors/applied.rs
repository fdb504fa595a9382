//! What fixes have written and what it is now. A machine on which no fix is in force keeps no journal: then the section is
//! missing, without gaps.

use crate::{Collector, Cx};
use topotop_model::{Draft, State};

/// Tells that nothing is in force.
#[derive(Debug, Default)]
pub(crate) struct AppliedCollector;

impl Collector for AppliedCollector {
    fn name(&self) -> &'static str {
        "applied"
    }

    fn period_ns(&self) -> u64 {
        30_000_000_000
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        if draft.applied.state == State::NotCollected {
            draft.applied.begin(cx.now_ns);
            draft.applied.state = State::Missing;
        }
    }
}
