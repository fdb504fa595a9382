//! Tells when no process can have come or gone: listing `/proc` is a good part of what a sample costs on an idle machine.

use crate::Cx;
use topotop_model::{Draft, Table};

/// After so long processes are listed whatever the counters say, in ns: what is visible may change without a fork.
const THOROUGH_NS: u64 = 10_000_000_000;

/// How many tasks were ever made and how many there are, as the kernel counts both over all pid namespaces.
#[derive(Debug, Default)]
pub(super) struct Population {
    listed: Option<(u64, u64)>,
    listed_ns: u64,
}

impl Population {
    /// True if the same tasks are there as when this was false last. The counters are of before the listing, so what
    /// comes or goes meanwhile shows in the next sample.
    pub(super) fn stands(&mut self, cx: &Cx<'_>, draft: &Draft) -> bool {
        let load = draft.load.data();
        let only = load.first().filter(|_| draft.load.read_at_ns == cx.now_ns);
        // A fork moves the first one, an exit the second one alone.
        let counts = only.and_then(|only| load.forks.value(only).zip(load.tasks.value(only)));
        // What only looks like Linux may not count.
        let counts = counts.filter(|&(forks, tasks)| forks > 0 && tasks > 0);
        let thorough = cx.demand.complete || !cx.root.is_live() || cx.root.is_traced();
        let recent = cx.now_ns.saturating_sub(self.listed_ns) < THOROUGH_NS;
        if counts.is_some() && counts == self.listed && recent && !thorough {
            return true;
        }
        (self.listed, self.listed_ns) = (counts, cx.now_ns);
        false
    }

    /// The listing failed: the next sample tries again.
    pub(super) fn forget(&mut self) {
        self.listed = None;
    }
}

#[cfg(test)]
mod tests {
    use super::Population;
    use crate::live::{Kernel, Live};
    use crate::{Cx, Demand, Root};
    use std::sync::Arc;
    use topotop_model::{Draft, Table};

    #[test]
    fn stands_until_a_fork_or_an_exit() {
        let root = Arc::new(Root::live().expect("this machine"));
        let live: Arc<dyn Live> = Arc::new(Kernel);
        let mut population = Population::default();
        let mut stands = |seconds: u64, forks: Option<u64>, tasks: u64, complete: bool| {
            let mut draft = Draft::default();
            draft.load.begin(seconds * 1_000_000_000);
            let load = draft.load.data_mut();
            let only = load.only();
            load.forks.set_or_clear(only, forks);
            load.tasks.set(only, tasks);
            let demand = Demand { complete, process: None };
            let now_ns = seconds * 1_000_000_000;
            let cx = Cx { root: &root, live: &live, now_ns, demand: &demand, buf: &mut Vec::new() };
            population.stands(&cx, &draft)
        };
        assert!(!stands(1, Some(7), 3, false), "nothing was listed yet");
        assert!(stands(2, Some(7), 3, false));
        assert!(!stands(3, Some(8), 3, false), "one came and one went");
        assert!(!stands(4, Some(8), 2, false), "one went");
        assert!(stands(5, Some(8), 2, false));
        assert!(!stands(6, Some(8), 2, true));
        assert!(!stands(7, None, 2, false), "unknown");
        assert!(!stands(8, None, 2, false), "unknown is not the same");
        assert!(!stands(8, Some(8), 0, false) && !stands(8, Some(8), 0, false), "nobody counts");
        assert!(!stands(9, Some(8), 2, false));
        assert!(stands(18, Some(8), 2, false));
        assert!(!stands(19, Some(8), 2, false), "once in a while in any case");
    }
}
