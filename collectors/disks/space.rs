//! Size and free space of mounted file systems. statvfs waits for whoever serves the file system, forever if it is
//! gone: a worker asks, and one that does not come back is left behind.

use crate::Cx;
use crate::live::{Live, Space};
use crate::worker::Worker;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use topotop_model::Reason;

/// How long one file system may take.
const LATE: Duration = Duration::from_secs(2);
/// How long a complete sample waits for all of them.
const PATIENCE: Duration = Duration::from_millis(300);
/// How many workers may be left behind.
const LEFT_BEHIND: usize = 4;

type Answer = (Vec<u8>, Result<Space, Reason>);
type Asking = Worker<Vec<u8>, Answer>;

/// Asks for the space of mount points.
#[derive(Debug, Default)]
pub(super) struct Asker {
    worker: Option<Asking>,
    todo: VecDeque<Vec<u8>>,
    asked: VecDeque<Vec<u8>>,
    progress: Option<Instant>,
    stuck: Vec<(Vec<u8>, Asking)>,
    answers: HashMap<Vec<u8>, Result<Space, Reason>>,
}

impl Asker {
    /// Requests these paths, except those that are under way.
    pub(super) fn ask(&mut self, paths: impl Iterator<Item = Vec<u8>>) {
        let wanted: Vec<Vec<u8>> = paths.collect();
        self.answers.retain(|path, _| wanted.contains(path));
        for path in wanted {
            let busy = self.asked.contains(&path) || self.todo.contains(&path);
            if !busy && !self.stuck.iter().any(|(stuck, _)| *stuck == path) {
                self.todo.push_back(path);
            }
        }
    }

    /// The reply for a path; none while there is none.
    pub(super) fn answer(&self, path: &[u8]) -> Option<Result<Space, Reason>> {
        self.answers.get(path).copied()
    }

    /// Takes answers and hands out questions; true if something is new. A complete sample waits for a while.
    pub(super) fn turn(&mut self, cx: &Cx<'_>) -> bool {
        let mut new = self.rescue();
        self.hand_out(cx.live);
        let until = Instant::now() + PATIENCE;
        while let Some(worker) = &mut self.worker {
            let left = until.saturating_duration_since(Instant::now());
            let answer = if cx.demand.complete { worker.wait(left) } else { worker.take() };
            let Some((path, space)) = answer else { break };
            self.progress = Some(Instant::now());
            self.asked.retain(|asked| *asked != path);
            self.answers.insert(path, space);
            new = true;
            self.hand_out(cx.live);
        }
        new | self.give_up(cx.demand.complete)
    }

    fn hand_out(&mut self, live: &Arc<dyn Live>) {
        if self.todo.is_empty() || self.stuck.len() >= LEFT_BEHIND {
            return;
        }
        if self.worker.is_none() {
            let live = Arc::clone(live);
            self.worker = Worker::spawn("space", move |path: Vec<u8>| {
                let space = std::str::from_utf8(&path).map_or(Err(Reason::NotSupported), |mount| live.space(mount));
                (path, space)
            })
            .ok();
        }
        let Some(worker) = &mut self.worker else { return };
        while let Some(path) = self.todo.pop_front() {
            if self.asked.is_empty() {
                self.progress = Some(Instant::now());
            }
            if !worker.submit(path.clone()) {
                self.todo.push_front(path);
                break;
            }
            self.asked.push_back(path);
        }
    }

    /// Leaves a worker behind that does not come back, and lets another one ask for the rest.
    fn give_up(&mut self, complete: bool) -> bool {
        let limit = if complete { PATIENCE } else { LATE };
        if self.asked.is_empty() || self.progress.is_none_or(|since| since.elapsed() < limit) {
            return false;
        }
        let (Some(path), Some(worker)) = (self.asked.pop_front(), self.worker.take()) else { return false };
        self.answers.insert(path.clone(), Err(Reason::TimedOut));
        self.stuck.push((path, worker));
        while let Some(path) = self.asked.pop_back() {
            self.todo.push_front(path);
        }
        true
    }

    /// Takes late answers of workers that were left behind; then those may go.
    fn rescue(&mut self) -> bool {
        let (answers, before) = (&mut self.answers, self.stuck.len());
        self.stuck.retain_mut(|(_, worker)| match worker.take() {
            Some((path, space)) => {
                answers.insert(path, space);
                false
            }
            None => true,
        });
        self.stuck.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::Asker;
    use crate::live::{Live, Space};
    use crate::{Cx, Demand, Root};
    use std::sync::Arc;
    use topotop_model::Reason;

    #[derive(Debug)]
    struct Hanging;

    impl Live for Hanging {
        fn space(&self, mount: &str) -> Result<Space, Reason> {
            if mount == "/dead" {
                std::thread::sleep(std::time::Duration::from_secs(5));
            }
            Ok(Space { total_bytes: 7, ..Space::default() })
        }
    }

    #[test]
    fn a_dead_file_system_costs_itself_only() {
        let root = Arc::new(Root::live().expect("opened"));
        let live: Arc<dyn Live> = Arc::new(Hanging);
        let demand = Demand { complete: true, ..Demand::default() };
        let mut buf = Vec::new();
        let cx = Cx { root: &root, live: &live, now_ns: 1, demand: &demand, buf: &mut buf };
        let mut asker = Asker::default();
        let paths = || [&b"/a"[..], b"/dead", b"/b"].into_iter().map(<[u8]>::to_vec);
        asker.ask(paths());
        while asker.answer(b"/b").is_none() {
            asker.turn(&cx);
        }
        assert_eq!(asker.answer(b"/a").map(|space| space.map(|space| space.total_bytes)), Some(Ok(7)));
        assert_eq!(asker.answer(b"/dead"), Some(Err(Reason::TimedOut)));
        asker.ask(paths());
        assert_eq!(asker.todo.len(), 2, "the dead one is not asked again while it hangs");
    }
}
