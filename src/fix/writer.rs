//! Executes orders of the dialog on this machine, through the applier, with the user's journal.

use super::applier::{Applier, ApplyEvent, Proposal, Refused, resolve};
use super::deadman;
use super::journal::{self, File, Ledger as _};
use super::machine::Kernel;
use super::order::{Reply, Wanted};
use super::session::MachineWriter;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use topotop_collectors::{Root, surroundings};
use topotop_model::fix::{Surroundings, Verdict};
use topotop_model::journal::{Applied, Because, Entry, Journal, State};
use topotop_model::locale::fix::apply as text;
use topotop_model::text::printable;

/// Seconds until the automatic rollback of a fix that may disconnect the user.
const REVERT_AFTER: u32 = deadman::SECONDS;

/// This machine and its journal.
#[derive(Debug)]
pub(crate) struct LocalWriter {
    root: Arc<Root>,
    machine: Kernel,
    state: Option<PathBuf>,
    /// The capabilities that it was started with: what this process drops since is no reason why a fix is refused.
    held: Vec<String>,
    /// The plan shown last, with holds on the objects that it changes.
    proposal: Option<Proposal>,
}

impl LocalWriter {
    /// Reads below a root; writes where that is the live root and `state` is a directory for the journal.
    pub(crate) fn new(root: Arc<Root>, state: Option<PathBuf>) -> Self {
        let held = surroundings::capabilities(&root);
        Self { machine: Kernel::new(Arc::clone(&root)), root, state, held, proposal: None }
    }

    /// Nothing is shown any more: nothing can be applied.
    pub(crate) fn forget(&mut self) {
        self.proposal = None;
    }

    fn open(&self) -> Result<File, String> {
        let state = self.state.as_deref();
        let state = state.ok_or_else(|| text::NO_STATE_DIR.to_string())?;
        File::open(state)
    }

    fn append(&self, number: u64, entry: &Entry) -> Result<(), String> {
        let mut ledger = self.open()?;
        let is_there = |journal: &Journal| journal.applications.iter().any(|application| application.number == number);
        if !is_there(&ledger.read()?) {
            return Err(text::NotInJournal { number: &number }.to_string());
        }
        ledger.append(number, entry, true)
    }

    fn applied(&mut self, tell: &mut dyn FnMut(Reply) -> ControlFlow<()>) -> Result<Reply, String> {
        // A shown plan is applied once.
        let proposal = self.proposal.take().ok_or_else(|| text::NO_PROPOSAL.to_string())?;
        let at_risk = !proposal.resolved.plan.cuts_off.is_empty();
        let revert_after_seconds = at_risk.then_some(REVERT_AFTER);
        let mut ledger = self.open()?;
        let state = self.state.clone().unwrap_or_default();
        let mut unarmed = None;
        let mut handle = |event| match event {
            // Nothing risky is written before the automatic rollback is armed.
            ApplyEvent::Begun(number) if at_risk => match deadman::arm_this(&state, number, REVERT_AFTER) {
                Ok(armed) => tell(Reply::Armed(armed)),
                Err(why) => {
                    unarmed = Some(why);
                    ControlFlow::Break(())
                }
            },
            ApplyEvent::Begun(_) | ApplyEvent::Writing { .. } => ControlFlow::Continue(()),
            ApplyEvent::PutBack(outcome) => {
                // What is being rolled back already is not aborted.
                let _ = tell(Reply::PutBack(outcome));
                ControlFlow::Continue(())
            }
            ApplyEvent::Far(progress) => tell(Reply::Far(progress)),
            ApplyEvent::Wrote(outcome) => tell(Reply::Wrote(outcome)),
        };
        let done = Applier::new(&mut self.machine, &mut ledger, &mut handle)
            .apply(&proposal, &who(), revert_after_seconds)
            .map_err(|Refused(why)| why)?;
        if let Some(why) = unarmed {
            return Err(text::NothingWritten { why: &why }.to_string());
        }
        Ok(Reply::Applied {
            number: done.number,
            state: done.state,
            mono_ns: topotop_collectors::now().mono_ns,
            revert_after_seconds: revert_after_seconds.filter(|_| done.state != Applied::Failed),
            trouble: done.trouble,
        })
    }

    fn undone(&mut self, number: u64, why: &Because) -> Result<Reply, String> {
        let mut ledger = self.open()?;
        let journal = ledger.read()?;
        let application =
            journal.find(&number.to_string()).ok_or_else(|| text::NotInJournal { number: &number }.to_string())?;
        let returned = Applier::new(&mut self.machine, &mut ledger, &mut |_| ControlFlow::Continue(()))
            .undo(application, why, false)
            .map_err(|Refused(why)| why)?;
        let (why, whole, items) = (why.clone(), returned.whole, returned.outcomes);
        Ok(Reply::Undone { number, why, whole, items })
    }
}

impl MachineWriter for LocalWriter {
    fn look(&mut self) -> Surroundings {
        let read = surroundings::read(&self.root);
        let held = if read.capabilities.is_empty() { Vec::new() } else { self.held.clone() };
        Surroundings { capabilities: held, ..read }
    }

    fn resolve(&mut self, wanted: &Wanted) -> Reply {
        let proposal = resolve(&self.machine, &wanted.plan);
        let asked = wanted.plan.commands.clone();
        let reply = Reply::Resolved(Box::new(proposal.resolved.clone()), proposal.refused.clone(), asked);
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

/// The user, the terminal, and the user before sudo.
fn who() -> String {
    let mut who = format!("uid {}", rustix::process::geteuid().as_raw());
    for name in ["SUDO_USER", "USER", "LOGNAME"] {
        if let Ok(value) = std::env::var(name) {
            who = format!("{who}, {name} {}", printable(&value));
            break;
        }
    }
    if let Ok(terminal) = rustix::termios::ttyname(std::io::stdin(), Vec::new()) {
        who = format!("{who}, on {}", printable(&terminal.to_string_lossy()));
    }
    who
}

#[cfg(test)]
mod tests {
    use super::{LocalWriter, MachineWriter as _};
    use std::sync::Arc;
    use topotop_collectors::Root;
    use topotop_model::fix::Verdict;

    #[test]
    fn nothing_is_written_about_what_was_never_applied() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = Arc::new(Root::live().expect("a root"));
        let mut writer = LocalWriter::new(root, Some(dir.path().to_owned()));
        for number in [0, 1, 99, 1 << 48, u64::MAX] {
            assert!(writer.confirm(number).is_err(), "{number}");
            assert!(writer.verdict(number, &Verdict::unmeasured("made up".to_owned())).is_err(), "{number}");
        }
        let journal = super::journal::read(dir.path()).expect("a journal");
        assert_eq!((journal.next, journal.damaged, journal.applications.len()), (1, 0, 0));
    }
}
