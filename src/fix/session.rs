//! The thread that executes orders of the fix dialog, so that the screen never waits.

use super::order::{Order, Reply, Wanted};
use crate::source::GoneBy;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use topotop_model::fix::{Surroundings, Verdict, Verification};
use topotop_model::journal::Because;
use topotop_model::locale::fix::apply as text;

/// The longest wait for an application at program exit: it stops after the item being written.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reads and writes the machine for the dialog.
pub trait MachineWriter: Send {
    /// Reads the surroundings that plans depend on.
    fn look(&mut self) -> Surroundings;

    /// Reads the current values of a plan's targets, and holds the objects that it changes.
    fn resolve(&mut self, wanted: &Wanted) -> Reply;

    /// Applies the plan resolved last. `tell` receives each item and may abort.
    fn apply(&mut self, tell: &mut dyn FnMut(Reply) -> ControlFlow<()>) -> Reply;

    /// Cancels the automatic rollback of an application.
    fn confirm(&mut self, number: u64) -> Result<(), String>;

    /// Writes a verdict to the journal.
    fn verdict(&mut self, number: u64, verdict: &Verdict) -> Result<(), String>;

    /// Undoes an application.
    fn undo(&mut self, number: u64, why: &Because) -> Reply;

    /// The undo of an application by another process; none where still applied.
    fn ask(&mut self, number: u64) -> Option<Reply>;
}

/// An order with the history that it needs.
type Job = (Order, Option<GoneBy>);

/// The screen's handle of the thread.
#[derive(Debug)]
pub(crate) struct FixSession {
    jobs: Sender<Job>,
    stop: Arc<AtomicBool>,
    /// Orders in progress.
    open: Arc<(Mutex<usize>, Condvar)>,
}

impl FixSession {
    /// Starts the thread; `reply` is called from it.
    pub(crate) fn start(
        machine: Box<dyn MachineWriter>,
        reply: impl Fn(Reply) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (jobs, inbox) = channel();
        let (stop, open) = (Arc::<AtomicBool>::default(), Arc::<(Mutex<usize>, Condvar)>::default());
        let clerk = SessionThread { machine, reply: Box::new(reply), stop: Arc::clone(&stop), open: Arc::clone(&open) };
        std::thread::Builder::new().name("fixes".to_owned()).spawn(move || clerk.run(&inbox))?;
        Ok(Self { jobs, stop, open })
    }

    /// Sends an order, with the history where it needs one.
    pub(crate) fn order(&self, order: Order, past: Option<GoneBy>) {
        if order == Order::Abort {
            self.stop.store(true, Ordering::Relaxed);
            return;
        }
        if order == Order::Apply {
            self.stop.store(false, Ordering::Relaxed);
        }
        *lock(&self.open.0) += 1;
        // A thread that has ended has reported it.
        let _ = self.jobs.send((order, past));
    }

    /// Aborts the application and waits until the journal is complete.
    pub(crate) fn finish(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let open = lock(&self.open.0);
        let waited = self.open.1.wait_timeout_while(open, PATIENCE, |open| *open > 0);
        drop(waited);
    }
}

struct SessionThread {
    machine: Box<dyn MachineWriter>,
    reply: Box<dyn Fn(Reply) + Send>,
    stop: Arc<AtomicBool>,
    open: Arc<(Mutex<usize>, Condvar)>,
}

impl SessionThread {
    fn run(mut self, inbox: &Receiver<Job>) {
        for (order, past) in inbox {
            // An internal error is reported, and the next order still runs.
            if catch_unwind(AssertUnwindSafe(|| self.act(order, past))).is_err() {
                (self.reply)(Reply::Trouble(text::INTERNAL_ERROR.to_string()));
            }
            *lock(&self.open.0) -= 1;
            self.open.1.notify_all();
        }
    }

    fn act(&mut self, order: Order, past: Option<GoneBy>) {
        let trouble = |done: Result<(), String>| done.err().map(Reply::Trouble);
        let answer = match order {
            Order::Look => Some(Reply::Surroundings(Box::new(self.machine.look()))),
            Order::Resolve(wanted) => Some(self.machine.resolve(&wanted)),
            Order::Measure(verify, metric) => {
                let mut verification = Verification::new(&verify, metric.as_deref());
                if let Some(past) = past {
                    past.frames(|frame| {
                        verification.push(frame);
                    });
                }
                Some(Reply::Before(Box::new(verification)))
            }
            Order::Apply => {
                let (reply, stop) = (&self.reply, &self.stop);
                let answer = self.machine.apply(&mut |event| {
                    reply(event);
                    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                Some(answer)
            }
            Order::Abort => None,
            Order::Confirm(number) => Some(match self.machine.confirm(number) {
                Ok(()) => Reply::Confirmed(number),
                Err(error) => Reply::Trouble(error),
            }),
            Order::Verdict(number, verdict) => trouble(self.machine.verdict(number, &verdict)),
            Order::Undo(number, why) => Some(self.machine.undo(number, &why)),
            Order::Ask(number) => self.machine.ask(number),
        };
        if let Some(answer) = answer {
            (self.reply)(answer);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
