//! The thread that does what the dialog orders: it reads, applies, takes back and notes, while the screen goes on and
//! samples come.

use super::order::{Order, Reply};
use crate::source::GoneBy;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use topotop_model::fix::{Plan, Surroundings, Verdict, Verification};
use topotop_model::journal::Because;

/// How long an application is waited for when the program ends: it stops after the item that is being written.
const PATIENCE: Duration = Duration::from_secs(20);

/// Who does it.
pub trait Hands: Send {
    /// Reads what fixes may be planned from.
    fn look(&mut self) -> Surroundings;

    /// Reads the values of a plan's places, and keeps hold of whom it changes.
    fn resolve(&mut self, plan: &Plan) -> Reply;

    /// Applies what was resolved last. `tell` hears of each item, and stops it.
    fn apply(&mut self, tell: &mut dyn FnMut(Reply) -> ControlFlow<()>) -> Reply;

    /// Answers what would take an application back.
    fn confirm(&mut self, number: u64) -> Result<(), String>;

    /// Notes a verdict.
    fn verdict(&mut self, number: u64, verdict: &Verdict) -> Result<(), String>;

    /// Takes an application back.
    fn undo(&mut self, number: u64, why: &Because) -> Reply;

    /// What has become of an application; none while nothing has.
    fn ask(&mut self, number: u64) -> Option<Reply>;
}

/// An order with what belongs to it.
type Job = (Order, Option<GoneBy>);

/// The screen's side.
#[derive(Debug)]
pub(crate) struct Desk {
    jobs: Sender<Job>,
    stop: Arc<AtomicBool>,
    /// Orders that are not done yet.
    open: Arc<(Mutex<usize>, Condvar)>,
}

impl Desk {
    /// Starts the thread; `reply` is called from it.
    pub(crate) fn start(hands: Box<dyn Hands>, reply: impl Fn(Reply) + Send + 'static) -> std::io::Result<Self> {
        let (jobs, inbox) = channel();
        let (stop, open) = (Arc::<AtomicBool>::default(), Arc::<(Mutex<usize>, Condvar)>::default());
        let clerk = Clerk { hands, reply: Box::new(reply), stop: Arc::clone(&stop), open: Arc::clone(&open) };
        std::thread::Builder::new().name("fixes".to_owned()).spawn(move || clerk.run(&inbox))?;
        Ok(Self { jobs, stop, open })
    }

    /// Orders something; what goes by comes along where it is wanted.
    pub(crate) fn order(&self, order: Order, past: Option<GoneBy>) {
        if order == Order::Abort {
            self.stop.store(true, Ordering::Relaxed);
            return;
        }
        if order == Order::Apply {
            self.stop.store(false, Ordering::Relaxed);
        }
        *lock(&self.open.0) += 1;
        // A thread that is gone has said so.
        let _ = self.jobs.send((order, past));
    }

    /// Stops what is being written and waits until the journal knows of it.
    pub(crate) fn finish(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let open = lock(&self.open.0);
        let waited = self.open.1.wait_timeout_while(open, PATIENCE, |open| *open > 0);
        drop(waited);
    }
}

struct Clerk {
    hands: Box<dyn Hands>,
    reply: Box<dyn Fn(Reply) + Send>,
    stop: Arc<AtomicBool>,
    open: Arc<(Mutex<usize>, Condvar)>,
}

impl Clerk {
    fn run(mut self, inbox: &Receiver<Job>) {
        for (order, past) in inbox {
            // A defect is told, and the next order is done all the same.
            if catch_unwind(AssertUnwindSafe(|| self.act(order, past))).is_err() {
                (self.reply)(Reply::Trouble(
                    "a defect in topotop: `topotop fix journal` tells what was written".to_owned(),
                ));
            }
            *lock(&self.open.0) -= 1;
            self.open.1.notify_all();
        }
    }

    fn act(&mut self, order: Order, past: Option<GoneBy>) {
        let trouble = |done: Result<(), String>| done.err().map(Reply::Trouble);
        let answer = match order {
            Order::Look => Some(Reply::Surroundings(Box::new(self.hands.look()))),
            Order::Resolve(plan) => Some(self.hands.resolve(&plan)),
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
                let answer = self.hands.apply(&mut |told| {
                    reply(told);
                    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                Some(answer)
            }
            Order::Abort => None,
            Order::Confirm(number) => Some(match self.hands.confirm(number) {
                Ok(()) => Reply::Confirmed(number),
                Err(error) => Reply::Trouble(error),
            }),
            Order::Verdict(number, verdict) => trouble(self.hands.verdict(number, &verdict)),
            Order::Undo(number, why) => Some(self.hands.undo(number, &why)),
            Order::Ask(number) => self.hands.ask(number),
        };
        if let Some(answer) = answer {
            (self.reply)(answer);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
