//! Does what the dialog orders: on this machine, through the applier, with the journal of its user.

use super::applier::{Applier, Proposal, Refused, Told, resolve};
use super::deadman;
use super::desk::Hands;
use super::journal::{self, File, Ledger as _};
use super::machine::Kernel;
use super::order::Reply;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use topotop_collectors::{Root, surroundings};
use topotop_model::fix::{Plan, Surroundings, Verdict};
use topotop_model::journal::{Applied, Because, Entry, State};

/// Seconds after which what may cut the login off takes itself back.
const REVERT_AFTER: u32 = deadman::SECONDS;

/// This machine and its journal.
#[derive(Debug)]
pub(crate) struct Own {
    root: Arc<Root>,
    machine: Kernel,
    state: Option<PathBuf>,
    /// What was shown last, with a hold on whom it changes.
    proposal: Option<Proposal>,
}

impl Own {
    /// Reads below a root; writes where that is this machine's own and `state` is a place for the journal.
    pub(crate) fn new(root: Arc<Root>, state: Option<PathBuf>) -> Self {
        Self { machine: Kernel::new(Arc::clone(&root)), root, state, proposal: None }
    }

    fn open(&self) -> Result<File, String> {
        let state = self.state.as_deref();
        let state = state.ok_or("no place for the journal: set HOME, or give one with --state-dir")?;
        File::open(state)
    }

    fn append(&self, number: u64, entry: &Entry) -> Result<(), String> {
        self.open()?.append(number, entry, true)
    }

    fn applied(&mut self, tell: &mut dyn FnMut(Reply) -> ControlFlow<()>) -> Result<Reply, String> {
        // What was shown is applied once.
        let proposal = self.proposal.take().ok_or("nothing was shown that could be applied")?;
        let at_risk = !proposal.resolved.plan.cuts_off.is_empty();
        let revert_after_seconds = at_risk.then_some(REVERT_AFTER);
        let mut ledger = self.open()?;
        let state = self.state.clone().unwrap_or_default();
        let mut unarmed = None;
        let mut heard = |told| match told {
            // Nobody is cut off without something that lets them in again.
            Told::Begun(number) if at_risk => match deadman::arm_this(&state, number, REVERT_AFTER) {
                Ok(_) => ControlFlow::Continue(()),
                Err(why) => {
                    unarmed = Some(why);
                    ControlFlow::Break(())
                }
            },
            Told::Begun(_) | Told::Writing { .. } | Told::PutBack(_) => ControlFlow::Continue(()),
            Told::Far(progress) => tell(Reply::Far(progress)),
            Told::Wrote(outcome) => tell(Reply::Wrote(outcome)),
        };
        let done = Applier::new(&mut self.machine, &mut ledger, &mut heard)
            .apply(&proposal, &who(), revert_after_seconds)
            .map_err(|Refused(why)| why)?;
        if let Some(why) = unarmed {
            return Err(format!("nothing was written: {why}"));
        }
        let put_back =
            (!done.put_back.is_empty()).then(|| match done.put_back.iter().find_map(|one| one.error.clone()) {
                None => "what had been written was put back".to_owned(),
                Some(error) => format!("what had been written could not all be put back: {error}"),
            });
        Ok(Reply::Applied {
            number: done.number,
            state: done.state,
            mono_ns: topotop_collectors::now().mono_ns,
            revert_after_seconds: revert_after_seconds.filter(|_| done.state != Applied::Failed),
            trouble: done.trouble.or(put_back),
        })
    }

    fn undone(&mut self, number: u64, why: &Because) -> Result<Reply, String> {
        let mut ledger = self.open()?;
        let journal = ledger.read()?;
        let application = journal.find(&number.to_string()).ok_or_else(|| format!("the journal has no {number}"))?;
        let returned = Applier::new(&mut self.machine, &mut ledger, &mut |_| ControlFlow::Continue(()))
            .undo(application, why, false)
            .map_err(|Refused(why)| why)?;
        let (why, whole, items) = (why.clone(), returned.whole, returned.outcomes);
        Ok(Reply::Undone { number, why, whole, items })
    }
}

impl Hands for Own {
    fn look(&mut self) -> Surroundings {
        surroundings::read(&self.root)
    }

    fn resolve(&mut self, plan: &Plan) -> Reply {
        let proposal = resolve(&self.machine, plan);
        let reply = Reply::Resolved(Box::new(proposal.resolved.clone()), proposal.refused.clone());
        self.proposal = Some(proposal);
        reply
    }

    fn apply(&mut self, tell: &mut dyn FnMut(Reply) -> ControlFlow<()>) -> Reply {
        self.applied(tell).unwrap_or_else(Reply::Refused)
    }

    fn confirm(&mut self, number: u64) -> Result<(), String> {
        self.append(number, &Entry::Confirmed)
    }

    fn verdict(&mut self, number: u64, verdict: &Verdict) -> Result<(), String> {
        let entry =
            Entry::Verdict { verdict: verdict.name.to_owned(), why: verdict.why.clone(), table: verdict.table.clone() };
        self.append(number, &entry)
    }

    fn undo(&mut self, number: u64, why: &Because) -> Reply {
        self.undone(number, why).unwrap_or_else(Reply::Trouble)
    }

    fn ask(&mut self, number: u64) -> Option<Reply> {
        let journal = journal::read(self.state.as_deref()?).ok()?;
        let application = journal.find(&number.to_string())?;
        match application.state() {
            State::Undone | State::Reverted | State::Partial => {
                let undo = application.undo.as_ref()?;
                let back = application.items.iter().flatten().filter_map(|item| item.put_back.clone());
                let (why, whole) = (undo.why.clone(), undo.whole.unwrap_or_default());
                Some(Reply::Undone { number, why, whole, items: back.collect() })
            }
            _ => None,
        }
    }
}

/// User and terminal, for whoever reads the journal later.
fn who() -> String {
    let uid = rustix::process::getuid().as_raw();
    let name = std::env::var("SUDO_USER").or_else(|_| std::env::var("USER")).unwrap_or_else(|_| format!("uid {uid}"));
    let terminal = std::fs::read_link("/proc/self/fd/0").map(|path| path.display().to_string()).unwrap_or_default();
    format!("{name} (uid {uid}) on {terminal}")
}
