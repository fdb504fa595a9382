//! Threads of this program that the scheduler leaves out get a real-time priority: what runs only after the load has ended
//! can show nothing of it. Kernels have left out for a minute what sleeps most of the time, beside a group of tasks that
//! switch often (Linux 6.18).

use crate::sys::realtime::{self, Heirs, Policy};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(400);
/// What a thread with a real-time priority may run of the time between two looks: one that runs longer loses it.
const MOST: f64 = 0.4;
/// Looks in a row for which it may run longer.
const LONG: u32 = 8;
/// Looks until a thread that lost it may have it again.
const PENALTY: u32 = 40;

/// True where this process gave its main thread the priority.
static OURS: AtomicBool = AtomicBool::new(false);

/// Lets this process raise its threads when it has no other rights any more: before it gives them away, and after it
/// started what does not belong to it.
pub(crate) fn allow() {
    let own = getrlimit(Resource::Rtprio);
    if own.maximum == Some(0) {
        // Needs CAP_SYS_RESOURCE; without it, threads have the priority from the start.
        let _ = setrlimit(Resource::Rtprio, Rlimit { current: Some(1), maximum: Some(1) });
    }
}

fn can_raise() -> bool {
    let allowed = || capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_NICE));
    getrlimit(Resource::Rtprio).current.is_none_or(|most| most > 0) || allowed()
}

/// Starts at once, whatever else runs: until the threads are watched, or the process turns out to need no watching.
pub(crate) fn hurry() {
    // A policy that the user chose stays. Threads and processes that are started before `relax` have the priority as well.
    if realtime::policy() == Policy::Ordinary && realtime::set_round_robin(0, Heirs::Yes).is_ok() {
        OURS.store(true, Ordering::Relaxed);
    }
}

/// Takes its turns like every other process from here on.
pub(crate) fn relax() {
    if OURS.swap(false, Ordering::Relaxed) {
        // To take the priority back needs no right.
        let _ = realtime::set_ordinary(0);
    }
}

/// The same for a process that was started meanwhile.
pub(crate) fn disinherit() {
    if realtime::policy() == Policy::LowestRoundRobin {
        let _ = realtime::set_ordinary(0);
    }
}

/// Keeps what it inherited for this thread alone: for one that only answers.
pub(crate) fn answer_at_once() {
    if realtime::policy() == Policy::LowestRoundRobin && realtime::set_round_robin(0, Heirs::No).is_err() {
        disinherit();
    }
}

/// Watches the threads of this process as long as it runs; ends at once where it may not have the priority.
pub(crate) fn watch() {
    // What looks for threads that are left out must not be left out itself, nor wait for its first turn: it inherits this.
    let is_free = OURS.load(Ordering::Relaxed) || realtime::policy() == Policy::Ordinary;
    if !is_free || realtime::set_round_robin(0, Heirs::Yes).is_err() {
        return;
    }
    OURS.store(true, Ordering::Relaxed);
    // Without this thread, samples come as the scheduler lets them.
    let mut threads = Threads { raised: !can_raise(), ..Threads::default() };
    let keep = threads.raised;
    // A thread that waits is found soon, one that runs for too long needs not be.
    let look = if keep { LOOK * 4 } else { LOOK };
    let _ = std::thread::Builder::new().name("starvation".to_owned()).spawn(move || {
        let own = own_tid();
        loop {
            threads.look(own);
            std::thread::sleep(look);
        }
    });
    if !keep {
        relax();
    }
}

fn own_tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// What a look sees of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// True where it runs, or could.
    runnable: bool,
    /// Time on a CPU in ns, of a thread whose time is asked for.
    ran_ns: Option<u64>,
}

/// What is to be done with a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    Raise,
    Lower,
}

/// A thread from look to look.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// Its time on a CPU when it was last seen, where it was runnable.
    waits_since_ns: Option<u64>,
    raised: bool,
    /// Looks for which it has run long.
    long: u32,
    ran_ns: u64,
    penalty: u32,
}

impl Thread {
    /// Takes in what was seen after so much time.
    fn step(&mut self, seen: Seen, elapsed: Duration) -> Step {
        let ran = seen.ran_ns.unwrap_or(self.ran_ns);
        let share = ran.saturating_sub(self.ran_ns) as f64 / elapsed.as_nanos().max(1) as f64;
        self.ran_ns = ran;
        self.penalty = self.penalty.saturating_sub(1);
        if self.raised {
            self.waits_since_ns = None;
            self.long = if share > MOST { self.long + 1 } else { 0 };
            if self.long < LONG {
                return Step::Nothing;
            }
            (self.raised, self.long, self.penalty) = (false, 0, PENALTY);
            return Step::Lower;
        }
        let waited = seen.runnable && seen.ran_ns.is_some() && self.waits_since_ns == seen.ran_ns;
        self.waits_since_ns = seen.ran_ns.filter(|_| seen.runnable);
        if !waited || self.penalty > 0 {
            return Step::Nothing;
        }
        self.raised = true;
        Step::Raise
    }
}

/// The threads of this process.
#[derive(Default)]
struct Threads {
    /// True where threads have the priority from their start.
    raised: bool,
    known: BTreeMap<u32, Thread>,
    looked: Option<Instant>,
}

impl Threads {
    fn look(&mut self, own: u32) {
        let now = Instant::now();
        let elapsed = self.looked.replace(now).map_or(LOOK, |before| now.saturating_duration_since(before));
        let Ok(entries) = std::fs::read_dir("/proc/self/task") else { return };
        let mut known = BTreeMap::new();
        for tid in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
            let new = || Thread { raised: self.raised, ..Thread::default() };
            let mut thread = self.known.get(&tid).copied().unwrap_or_else(new);
            let Some(seen) = seen(tid, thread.raised).filter(|_| tid != own) else { continue };
            // A thread that has ended needs nothing, and one that may not be changed stays as it is.
            let _ = match thread.step(seen, elapsed) {
                Step::Nothing => Ok(()),
                Step::Raise => realtime::set_round_robin(tid, Heirs::No),
                Step::Lower => realtime::set_ordinary(tid),
            };
            known.insert(tid, thread);
        }
        self.known = known;
    }
}

/// The state of a thread of this process, and its time on a CPU where it is runnable or `timed`.
fn seen(tid: u32, timed: bool) -> Option<Seen> {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).ok()?;
    let runnable = stat.rsplit_once(')')?.1.trim_start().starts_with('R');
    let ran_ns = (runnable || timed).then(|| ran_ns(tid)).flatten();
    Some(Seen { runnable, ran_ns })
}

fn ran_ns(tid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{LONG, LOOK, PENALTY, Seen, Step, Thread, own_tid};
    use crate::sys::realtime::{self, Heirs};

    fn waits(ran_ns: u64) -> Seen {
        Seen { runnable: true, ran_ns: Some(ran_ns) }
    }

    const SLEEPS: Seen = Seen { runnable: false, ran_ns: None };

    #[test]
    fn a_thread_that_waits_from_look_to_look_is_raised() {
        let mut thread = Thread::default();
        assert_eq!(thread.step(waits(5), LOOK), Step::Nothing);
        assert_eq!(thread.step(waits(5), LOOK), Step::Raise);
        assert_eq!(thread.step(waits(5), LOOK), Step::Nothing, "it is already");
    }

    #[test]
    fn a_thread_that_runs_or_sleeps_stays_as_it_is() {
        let mut thread = Thread::default();
        for seen in [waits(5), waits(6), SLEEPS, waits(7), SLEEPS, waits(7), waits(8), SLEEPS, SLEEPS] {
            assert_eq!(thread.step(seen, LOOK), Step::Nothing, "{seen:?}");
        }
    }

    #[test]
    fn a_thread_that_runs_all_the_time_loses_its_priority_for_a_while() {
        let mut thread = Thread { raised: true, ..Thread::default() };
        let look = LOOK.as_nanos() as u64;
        assert_eq!(thread.step(waits(look / 4), LOOK), Step::Nothing);
        let steps: Vec<Step> = (1..=u64::from(LONG)).map(|turn| thread.step(waits(turn * look), LOOK)).collect();
        assert_eq!((steps.iter().position(|step| *step == Step::Lower), steps.len()), (Some(7), 8));
        for _ in 1..PENALTY {
            assert_eq!(thread.step(waits(9 * look), LOOK), Step::Nothing);
        }
        assert_eq!(thread.step(waits(9 * look), LOOK), Step::Raise);
    }

    #[test]
    fn a_policy_is_set_and_taken_back() {
        let policy = || {
            let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", own_tid())).expect("own thread");
            stat.rsplit_once(')').expect("a name").1.split_whitespace().nth(38).expect("policy").to_owned()
        };
        let set = std::thread::spawn(move || {
            let raised = realtime::set_round_robin(0, Heirs::No).map(|()| policy());
            let lowered = realtime::set_ordinary(0).map(|()| policy());
            (raised, lowered)
        });
        let (raised, lowered) = set.join().expect("a thread");
        assert!(matches!(raised.as_deref(), Ok("2") | Err(&rustix::io::Errno::PERM)), "{raised:?}");
        assert_eq!(lowered.as_deref(), Ok("0"));
    }
}
