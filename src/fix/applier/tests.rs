//! The applier on a machine that is a table, with failures and ends at every point.

use super::{Applier, ApplyEvent, Done, Proposal, resolve};
use crate::fix::journal::Ledger;
use crate::fix::machine::{Hold, Machine, Progress, Trouble};
use proptest::prelude::*;
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use topotop_collectors::probe::Unread;
use topotop_model::fix::{Case, Identity, Plan, Restore, Step, Surroundings, Target};
use topotop_model::journal::{self, Application, Applied, Because, Entry, Journal, Line, State};
use topotop_model::rules::{Finding, Severity, Subject};

/// A table of values, and what goes wrong.
#[derive(Default)]
struct Fake {
    values: BTreeMap<(String, String), String>,
    /// What the n-th write answers, and whether it took the value all the same.
    fails: BTreeMap<usize, (Trouble, bool)>,
    writes: usize,
    /// What a place takes instead of what is written.
    takes: BTreeMap<String, String>,
    /// What ends once so many writes were made.
    ends_after: Option<(usize, String)>,
    /// Threads that are born by the first write.
    born: Vec<(String, String, String)>,
    calls: Rc<Calls>,
}

/// Counts calls of machine and journal, and ends the program at one.
#[derive(Default)]
struct Calls {
    made: Cell<usize>,
    end_at: Cell<Option<usize>>,
}

impl Calls {
    fn one(&self) {
        self.made.set(self.made.get() + 1);
        assert!(self.end_at.get() != Some(self.made.get()), "killed");
    }
}

impl Fake {
    fn with(values: &[(&str, &str, &str)]) -> Self {
        let values = values.iter().map(|(place, key, value)| (((*place).into(), (*key).into()), (*value).into()));
        Self { values: values.collect(), ..Self::default() }
    }

    fn value(&self, place: &str, key: &str) -> &str {
        self.values.get(&(place.to_owned(), key.to_owned())).map_or("", String::as_str)
    }
}

impl Machine for Fake {
    fn values(&self, target: &Target) -> Result<Vec<(String, String)>, Unread> {
        self.calls.one();
        let place = target.to_string();
        let of = self.values.iter().filter(|((name, _), _)| *name == place);
        let values: Vec<_> = of.map(|((_, key), value)| (key.clone(), value.clone())).collect();
        if values.is_empty() { Err(Unread::because(format!("{place}: not found"))) } else { Ok(values) }
    }

    fn same(&self, identity: &Identity) -> Result<(), String> {
        self.calls.one();
        match &self.ends_after {
            Some((writes, why)) if self.writes >= *writes => Err(format!("{identity}: {why}")),
            _ => Ok(()),
        }
    }

    fn filled(&self, identity: &Identity) -> Identity {
        identity.clone()
    }

    fn write(
        &mut self,
        target: &Target,
        key: &str,
        value: &str,
        _tell: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(), Trouble> {
        self.calls.one();
        self.writes += 1;
        let failure = self.fails.get(&self.writes).cloned();
        if failure.as_ref().is_none_or(|(_, taken)| *taken) {
            let place = target.to_string();
            let taken = self.takes.get(&place).cloned().unwrap_or_else(|| value.to_owned());
            self.values.insert((place, key.to_owned()), taken);
        }
        for (place, key, value) in std::mem::take(&mut self.born) {
            self.values.insert((place, key), value);
        }
        // Killed in the write: the value may be there.
        self.calls.one();
        failure.map_or(Ok(()), |(trouble, _)| Err(trouble))
    }
}

/// A journal in memory.
#[derive(Default)]
pub(crate) struct Paper {
    bytes: Vec<u8>,
    boot_id: String,
    /// The line that cannot be written any more, counted from one, and those after it.
    full_at: Option<usize>,
    lines: usize,
    calls: Rc<Calls>,
}

impl Ledger for Paper {
    fn read(&self) -> Result<Journal, String> {
        Ok(journal::fold(&self.bytes))
    }

    fn boot_id(&self) -> &str {
        &self.boot_id
    }

    fn append(&mut self, number: u64, entry: &Entry, _firm: bool) -> Result<(), String> {
        self.calls.one();
        self.lines += 1;
        if self.full_at.is_some_and(|full| self.lines >= full) {
            return Err("fixes.journal: No space left on device".to_owned());
        }
        let line = Line {
            at: String::new(),
            wall_ns: 0,
            boot_ns: 0,
            boot_id: self.boot_id.clone(),
            number,
            seq: None,
            after: None,
            entry: entry.clone(),
        };
        self.bytes.extend_from_slice((line.encode() + "\n").as_bytes());
        self.calls.one();
        Ok(())
    }
}

/// A plan with nothing in it, as a fix begins one.
pub(crate) fn empty() -> Plan {
    let frame = topotop_model::frame::Frame::default();
    let rule = topotop_model::rules::find("NIC-01").expect("a rule");
    let finding = Finding {
        rule,
        subject: Subject::Nic("eth0".into()),
        severity: Severity::Warning,
        confidence: 1.0,
        since: topotop_model::Stamp::default(),
        evidence: Vec::new(),
        children: Vec::new(),
    };
    let (set, surroundings) = (BTreeMap::new(), Surroundings::default());
    let case = Case { finding: &finding, frame: &frame, set: &set, surroundings: &surroundings, metric: None };
    case.plan("F-CHAN", "a plan")
}

/// Two files, a process with three threads; a file that changes with them.
fn plan() -> Plan {
    let threads = Target::Affinity { pid: 7, starttime: 1 };
    Plan {
        identity: vec![Identity::Process { pid: 7, starttime: 1, comm: "x".to_owned() }],
        steps: vec![
            Step::new("a", Target::file("/sys/a"), "2"),
            Step { essential: false, ..Step::new("threads", threads, "0-1") },
            Step::new("b", Target::file("/sys/b"), "3"),
        ],
        kept: vec![Target::file("/sys/kept")],
        ..empty()
    }
}

fn machine() -> Fake {
    Fake::with(&[
        ("/sys/a", "", "1"),
        ("/sys/b", "", "1"),
        ("/sys/kept", "", "k"),
        ("affinity of 7", "7@1", "0"),
        ("affinity of 7", "8@2", "1"),
        ("affinity of 7", "9@3", "2-3"),
    ])
}

pub(crate) fn paper() -> Paper {
    Paper { boot_id: "boot".to_owned(), ..Paper::default() }
}

fn on(_: ApplyEvent) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn apply(machine: &mut Fake, paper: &mut Paper, proposal: &Proposal) -> Result<Done, String> {
    Applier::new(machine, paper, &mut on).apply(proposal, "uid 0", None).map_err(|refused| refused.0)
}

fn undo(machine: &mut Fake, paper: &mut Paper, forced: bool) -> Result<bool, String> {
    let application = last(paper);
    let returned = Applier::new(machine, paper, &mut on).undo(&application, &Because::Asked, forced);
    returned.map(|returned| returned.whole).map_err(|refused| refused.0)
}

fn last(paper: &Paper) -> Application {
    journal::fold(&paper.bytes).applications.pop().expect("an application")
}

fn errno(errno: Errno) -> Trouble {
    Trouble::errno(errno)
}

#[test]
fn what_was_applied_is_read_back_and_undone() {
    let (mut machine, mut paper) = (machine(), paper());
    let before = machine.values.clone();
    let proposal = resolve(&machine, &plan());
    let done = apply(&mut machine, &mut paper, &proposal).expect("applied");
    assert_eq!((done.state, done.outcomes.len()), (Applied::Applied, 5));
    assert_eq!(machine.value("/sys/b", ""), "3");
    assert_eq!(machine.value("affinity of 7", "9@3"), "0-1");
    // The driver set it anew.
    machine.values.insert(("/sys/kept".to_owned(), String::new()), "other".to_owned());
    assert_eq!(last(&paper).state(), State::Applied);
    assert_eq!(undo(&mut machine, &mut paper, false), Ok(true));
    assert_eq!(machine.values, before);
    assert_eq!(last(&paper).state(), State::Undone);
    assert!(undo(&mut machine, &mut paper, true).is_err_and(|why| why.contains("already undone")));
}

#[test]
fn a_plan_that_is_so_already_is_not_applied() {
    let (mut machine, mut paper) = (machine(), paper());
    let plan = Plan { steps: vec![Step::new("a", Target::file("/sys/a"), "1")], kept: Vec::new(), ..plan() };
    let proposal = resolve(&machine, &plan);
    assert!(apply(&mut machine, &mut paper, &proposal).is_err_and(|why| why.contains("already applied")));
    assert!(paper.bytes.is_empty());
}

#[test]
fn an_essential_step_that_fails_takes_the_others_back() {
    for trouble in [Errno::PERM, Errno::INVAL, Errno::BUSY, Errno::IO, Errno::AGAIN] {
        for taken in [false, true] {
            let (mut machine, mut paper) = (machine(), paper());
            let before = machine.values.clone();
            // The fifth write is the last essential one.
            machine.fails.insert(5, (errno(trouble), taken));
            let proposal = resolve(&machine, &plan());
            let done = apply(&mut machine, &mut paper, &proposal).expect("a result");
            assert_eq!(done.state, Applied::Failed, "{trouble:?}");
            assert_eq!(machine.values, before, "{trouble:?}");
            let error = done.outcomes.last().and_then(|outcome| outcome.error.clone());
            assert_eq!(error, Some(errno(trouble).message));
            assert_eq!(last(&paper).state(), State::Failed);
            assert!(undo(&mut machine, &mut paper, false).is_err_and(|why| why.contains("none of it is in effect")));
        }
    }
}

#[test]
fn a_failure_beside_is_told_item_by_item() {
    let (mut machine, mut paper) = (machine(), paper());
    let before = machine.values.clone();
    machine
        .fails
        .insert(3, (Trouble { errno: Some(22), message: "requested channel count exceeds maximum".to_owned() }, false));
    let proposal = resolve(&machine, &plan());
    let done = apply(&mut machine, &mut paper, &proposal).expect("a result");
    assert_eq!(done.state, Applied::Partial);
    let failed: Vec<_> =
        done.outcomes.iter().filter_map(|outcome| Some((outcome.key.as_str(), outcome.error.as_deref()?))).collect();
    assert_eq!(failed, [("8@2", "requested channel count exceeds maximum")]);
    // What failed may be anything later: it was never written.
    machine.values.insert(("affinity of 7".to_owned(), "8@2".to_owned()), "5".to_owned());
    assert_eq!(undo(&mut machine, &mut paper, false), Ok(true));
    machine.values.insert(("affinity of 7".to_owned(), "8@2".to_owned()), "1".to_owned());
    assert_eq!(machine.values, before);
}

#[test]
fn what_the_kernel_takes_in_silence_is_told() {
    let (mut machine, mut paper) = (machine(), paper());
    machine.takes.insert("/sys/b".to_owned(), "1".to_owned());
    let proposal = resolve(&machine, &plan());
    let done = apply(&mut machine, &mut paper, &proposal).expect("a result");
    assert_eq!(done.state, Applied::Failed, "the last step is essential and did nothing");
    assert!(
        done.outcomes
            .last()
            .and_then(|outcome| outcome.error.as_deref())
            .is_some_and(|error| error.contains("the value is 1, not 3"))
    );
    assert_eq!(machine.value("/sys/a", ""), "1");
}

#[test]
fn threads_that_are_born_meanwhile_are_written_and_put_back_too() {
    let (mut machine, mut paper) = (machine(), paper());
    machine.born = vec![("affinity of 7".to_owned(), "10@4".to_owned(), "2-3".to_owned())];
    let proposal = resolve(&machine, &plan());
    let done = apply(&mut machine, &mut paper, &proposal).expect("applied");
    assert_eq!(done.state, Applied::Applied);
    assert_eq!(machine.value("affinity of 7", "10@4"), "0-1");
    // One ends: that is no reason to refuse.
    machine.values.remove(&("affinity of 7".to_owned(), "8@2".to_owned()));
    assert_eq!(undo(&mut machine, &mut paper, false), Ok(true));
    assert_eq!(machine.value("affinity of 7", "10@4"), "2-3");
}

#[test]
fn nothing_is_written_to_another_one() {
    let (mut machine, mut paper) = (machine(), paper());
    let before = machine.values.clone();
    let proposal = resolve(&machine, &plan());
    machine.ends_after = Some((0, "has exited, its PID now belongs to sshd".to_owned()));
    assert!(apply(&mut machine, &mut paper, &proposal).is_err_and(|why| why.contains("belongs to sshd")));
    assert!(paper.bytes.is_empty(), "nothing was about to be written");
    assert_eq!(machine.values, before);
}

#[test]
fn a_process_that_ends_on_the_way_ends_the_plan() {
    let (mut machine, mut paper) = (machine(), paper());
    let proposal = resolve(&machine, &plan());
    machine.ends_after = Some((2, "has exited".to_owned()));
    let done = apply(&mut machine, &mut paper, &proposal).expect("a result");
    assert_eq!((done.state, machine.value("/sys/a", "")), (Applied::Failed, "1"));
}

#[test]
fn a_process_that_ends_while_it_is_shown_is_missed() {
    struct Held(Fake, RefCell<Option<std::process::Child>>);
    impl Machine for Held {
        fn values(&self, target: &Target) -> Result<Vec<(String, String)>, Unread> {
            self.0.values(target)
        }
        fn same(&self, identity: &Identity) -> Result<(), String> {
            self.0.same(identity)
        }
        fn filled(&self, identity: &Identity) -> Identity {
            identity.clone()
        }
        fn hold(&self, _: &Identity) -> Hold {
            let pid = self.1.borrow().as_ref().map_or(0, std::process::Child::id);
            Hold::of(&Identity::Process { pid, starttime: 0, comm: String::new() })
        }
        fn write(
            &mut self,
            target: &Target,
            key: &str,
            value: &str,
            tell: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
        ) -> Result<(), Trouble> {
            self.0.write(target, key, value, tell)
        }
    }
    let child = std::process::Command::new("sleep").arg("60").spawn().expect("started");
    let mut held = Held(machine(), RefCell::new(Some(child)));
    let mut paper = paper();
    let proposal = resolve(&held, &plan());
    assert_eq!(proposal.refused, None);
    let mut child = held.1.take().expect("a child");
    child.kill().expect("ended");
    child.wait().expect("collected");
    // Whatever process has its PID now: the one that was shown has exited.
    let refused = Applier::new(&mut held, &mut paper, &mut on).apply(&proposal, "uid 0", None);
    assert!(refused.is_err_and(|refused| refused.0.contains("has exited")));
    assert!(paper.bytes.is_empty());
}

#[test]
fn a_value_that_changed_since_it_was_shown_is_shown_again() {
    let (mut machine, mut paper) = (machine(), paper());
    let proposal = resolve(&machine, &plan());
    machine.values.insert(("/sys/a".to_owned(), String::new()), "9".to_owned());
    assert!(
        apply(&mut machine, &mut paper, &proposal)
            .is_err_and(|why| why.contains("has changed from 1 to 9 since it was shown"))
    );
}

#[test]
fn a_journal_that_cannot_be_written_stops_everything() {
    for full_at in 1..12 {
        let (mut machine, mut paper) = (machine(), paper());
        let before = machine.values.clone();
        paper.full_at = Some(full_at);
        let proposal = resolve(&machine, &plan());
        match apply(&mut machine, &mut paper, &proposal) {
            Err(why) => {
                assert!(full_at == 1 && why.contains("No space left") && machine.writes == 0, "{full_at}: {why}");
            }
            // Its end alone was not logged: the fix is in force and the journal lets it be undone.
            Ok(done) if full_at == 7 => assert!(done.trouble.is_some() && done.state == Applied::Applied),
            Ok(done) if full_at > 7 => assert!(done.trouble.is_none()),
            Ok(done) => {
                assert!(done.trouble.is_some_and(|trouble| trouble.contains("No space left")), "{full_at}");
                assert_eq!(machine.values, before, "{full_at}");
            }
        }
        if full_at > 1 && full_at <= 7 {
            assert_eq!(last(&paper).state(), State::Interrupted, "{full_at}");
            paper.full_at = None;
            assert_eq!(undo(&mut machine, &mut paper, false), Ok(true), "{full_at}");
            assert_eq!(machine.values, before, "{full_at}");
        }
    }
}

#[test]
fn undo_is_refused_where_somebody_else_was_at_it() {
    let (mut machine, mut paper) = (machine(), paper());
    let proposal = resolve(&machine, &plan());
    apply(&mut machine, &mut paper, &proposal).expect("applied");
    machine.values.insert(("/sys/a".to_owned(), String::new()), "9".to_owned());
    let refused = undo(&mut machine, &mut paper, false);
    assert_eq!(refused, Err("/sys/a is 9, not 2: changed by something else since; overwrite with --force".to_owned()));
    assert_eq!((machine.value("/sys/a", ""), machine.value("/sys/b", "")), ("9", "3"));
    machine.ends_after = Some((0, "is another one".to_owned()));
    assert!(undo(&mut machine, &mut paper, true).is_err_and(|why| why.contains("is another one")), "not even by force");
    machine.ends_after = None;
    paper.boot_id = "another".to_owned();
    assert!(undo(&mut machine, &mut paper, true).is_err_and(|why| why.contains("booted since")), "not even by force");
    paper.boot_id = "boot".to_owned();
    assert_eq!(undo(&mut machine, &mut paper, true), Ok(true));
    assert_eq!(machine.value("/sys/a", ""), "1");
}

#[test]
fn journals_of_older_versions_still_undo() {
    let old = include_bytes!("../../../tests/data/journal-1.jsonl");
    let written = || {
        let (mut machine, mut paper) = (machine(), paper());
        let before = machine.values.clone();
        let proposal = resolve(&machine, &plan());
        apply(&mut machine, &mut paper, &proposal).expect("applied");
        (machine, before)
    };
    let lines: Vec<&[u8]> = old.split_inclusive(|&byte| byte == b'\n').collect();
    // Whole, and cut by a kill after each line and within it.
    for whole in 1..=lines.len() {
        for torn in [0, 20] {
            let (mut machine, before) = written();
            let mut bytes = lines[..whole].concat();
            bytes.extend_from_slice(lines.get(whole).map_or(&[][..], |line| &line[..torn]));
            let mut paper = Paper { bytes: bytes.clone(), ..paper() };
            assert_eq!(journal::fold(&paper.bytes).lost(), u64::from(bytes.len() > lines[..whole].concat().len()));
            assert_eq!(undo(&mut machine, &mut paper, false), Ok(true), "{whole} lines");
            assert_eq!(machine.values, before, "{whole} lines");
        }
    }
}

#[test]
fn undo_goes_as_far_as_a_damaged_journal_tells() {
    let all = include_bytes!("../../../tests/data/journal-1.jsonl");
    let lines: Vec<&[u8]> = all.split_inclusive(|&byte| byte == b'\n').collect();
    for damaged in 0..lines.len() {
        let (mut machine, mut paper) = (machine(), paper());
        let before = machine.values.clone();
        let proposal = resolve(&machine, &plan());
        apply(&mut machine, &mut paper, &proposal).expect("applied");
        let tampered = lines[damaged].to_ascii_uppercase();
        paper.bytes = [&lines[..damaged], &[tampered.as_slice()], &lines[damaged + 1..]].concat().concat();
        let read = journal::fold(&paper.bytes);
        if damaged == 0 {
            // What was written is in the damaged line alone.
            assert_eq!((read.applications.len(), read.incomplete.contains(&1)), (0, true));
        } else {
            assert!(read.lost() > 0, "line {damaged}");
            assert_eq!(undo(&mut machine, &mut paper, false), Ok(true), "line {damaged}");
            assert_eq!(machine.values, before, "line {damaged}");
        }
    }
}

#[test]
fn an_undo_that_fails_can_be_tried_again() {
    let (mut machine, mut paper) = (machine(), paper());
    let before = machine.values.clone();
    let proposal = resolve(&machine, &plan());
    apply(&mut machine, &mut paper, &proposal).expect("applied");
    machine.fails.insert(machine.writes + 1, (errno(Errno::BUSY), false));
    assert_eq!(undo(&mut machine, &mut paper, false), Ok(false));
    assert_eq!(last(&paper).state(), State::Partial);
    assert_eq!(undo(&mut machine, &mut paper, false), Ok(true));
    assert_eq!(machine.values, before);
}

#[test]
fn what_cannot_be_put_back_is_not_said_to_be() {
    let (mut machine, mut paper) = (machine(), paper());
    let reclaim = Target::Reclaim { path: "/sys/fs/cgroup/a/memory.reclaim".to_owned() };
    let step = Step { restore: Restore::Never, ..Step::new("reclaim", reclaim, "4096") };
    let proposal = resolve(&machine, &Plan { steps: vec![step], kept: Vec::new(), ..plan() });
    let done = apply(&mut machine, &mut paper, &proposal).expect("applied");
    assert_eq!(done.state, Applied::Applied);
    assert!(undo(&mut machine, &mut paper, false).is_err_and(|why| why.contains("cannot be undone")));
}

/// Kills the program at a call of machine or journal, and undoes what it left.
fn killed(at: usize, also_undo: bool) -> bool {
    let (mut machine, mut paper) = (machine(), paper());
    let calls = Rc::new(Calls::default());
    machine.calls = Rc::clone(&calls);
    paper.calls = Rc::clone(&calls);
    let before = machine.values.clone();
    let proposal = resolve(&machine, &plan());
    calls.made.set(0);
    calls.end_at.set(Some(at));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        apply(&mut machine, &mut paper, &proposal).expect("applied");
        if also_undo {
            undo(&mut machine, &mut paper, false).expect("undone");
        }
    }));
    calls.end_at.set(None);
    let journal = journal::fold(&paper.bytes);
    assert_eq!(journal.damaged, 0);
    match journal.applications.first() {
        None => assert_eq!(machine.values, before, "killed at call {at}: nothing was about to be written"),
        Some(application) if matches!(application.state(), State::Undone) => assert_eq!(machine.values, before),
        Some(_) => {
            assert_eq!(undo(&mut machine, &mut paper, false), Ok(true), "killed at call {at}");
            assert_eq!(machine.values, before, "killed at call {at}");
            assert_eq!(last(&paper).state(), State::Undone);
        }
    }
    ended.is_err()
}

#[test]
fn killed_at_any_point_it_can_be_undone() {
    let applied = (1..500).take_while(|at| killed(*at, false)).count();
    let undone = (1..500).take_while(|at| killed(*at, true)).count();
    assert!(applied > 25 && undone > applied + 15, "{applied} {undone}");
}

proptest! {
    /// Whatever fails at whatever writes: what the journal says is what the machine has.
    #[test]
    fn journal_and_machine_agree(fails in proptest::collection::btree_map(1_usize..16, any::<bool>(), 0..8)) {
        let (mut machine, mut paper) = (machine(), paper());
        machine.fails = fails.into_iter().map(|(write, taken)| (write, (errno(Errno::IO), taken))).collect();
        let before = machine.values.clone();
        let proposal = resolve(&machine, &plan());
        let done = apply(&mut machine, &mut paper, &proposal).expect("a result");
        let application = last(&paper);
        for (target, key, value) in application.in_force() {
            prop_assert_eq!(machine.value(&target.to_string(), key), value);
        }
        if done.state == Applied::Failed {
            prop_assert_eq!(&machine.values, &before);
        } else {
            machine.fails.clear();
            let _ = undo(&mut machine, &mut paper, true);
            prop_assert_eq!(&machine.values, &before);
        }
    }
}
