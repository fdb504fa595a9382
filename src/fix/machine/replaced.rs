//! Groups of version 1 that are removed and made again, under the same name, while a fix changes them.

use super::groups::Group;
use super::{Kernel, Machine as _};
use crate::fix::applier::{Applier, ApplyEvent, empty, paper, resolve};
use crate::fix::journal::Ledger as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use topotop_collectors::Root;
use topotop_model::fix::{Identity, Plan, Step, Target};
use topotop_model::journal::{Applied, Because};

/// What a fix writes to a group.
const WRITTEN: [(&str, &str); 2] = [("cpu.shares", "2048"), ("cpu.cfs_quota_us", "150000")];

fn plan(group: &Group) -> Plan {
    let mut plan = empty();
    plan.identity = vec![Identity::Cgroup { directory: group.dir.display().to_string(), inode: 0 }];
    plan.steps = WRITTEN.map(|(file, value)| Step::new(file, Target::file(group.path(file)), value)).to_vec();
    plan.kept.clear();
    plan
}

fn make_again(dir: &Path) {
    fs::remove_dir(dir).expect("removed");
    fs::create_dir(dir).expect("made");
}

fn values(group: &Group) -> [String; 2] {
    WRITTEN.map(|(file, _)| fs::read_to_string(group.path(file)).expect("read").trim().to_owned())
}

fn kernel() -> Kernel {
    Kernel::new(Arc::new(Root::live().expect("a root")))
}

#[test]
fn one_that_is_made_again_between_check_and_write_is_not_written() {
    let Some(group) = Group::new("cpu", "again") else { return };
    let before = values(&group);
    let (mut machine, mut paper) = (kernel(), paper());
    let proposal = resolve(&machine, &plan(&group));
    assert_eq!(proposal.refused, None);
    let mut tell = |event: ApplyEvent| {
        if matches!(event, ApplyEvent::Writing { step: 0, .. }) {
            make_again(&group.dir);
        }
        ControlFlow::Continue(())
    };
    let done = Applier::new(&mut machine, &mut paper, &mut tell).apply(&proposal, "a test", None).expect("a result");
    assert_eq!((values(&group), done.state), (before, Applied::Failed), "{done:?}");
    let said = done.outcomes.first().and_then(|outcome| outcome.error.clone()).expect("an error");
    assert!(said.contains("removed and created again"), "{said}");
}

#[test]
fn one_that_is_made_again_during_an_undo_keeps_its_values() {
    let Some(group) = Group::new("cpu", "undo") else { return };
    let (mut machine, mut paper) = (kernel(), paper());
    let proposal = resolve(&machine, &plan(&group));
    let mut quiet = |_: ApplyEvent| ControlFlow::Continue(());
    let done = Applier::new(&mut machine, &mut paper, &mut quiet).apply(&proposal, "a test", None).expect("applied");
    assert_eq!((values(&group), done.state), (WRITTEN.map(|(_, value)| value.to_owned()), Applied::Applied));
    let journal = paper.read().expect("a journal");
    let application = journal.applications.first().expect("one");
    // Whoever makes it again gives it the same values: they are theirs now.
    let mut tell = |event: ApplyEvent| {
        if matches!(event, ApplyEvent::PutBack(outcome) if outcome.step == 1) {
            make_again(&group.dir);
            for (file, value) in WRITTEN {
                fs::write(group.path(file), value).expect("written");
            }
        }
        ControlFlow::Continue(())
    };
    let undone = Applier::new(&mut machine, &mut paper, &mut tell).undo(application, &Because::Asked, false);
    let undone = undone.expect("a result");
    assert_eq!((values(&group), undone.whole), (WRITTEN.map(|(_, value)| value.to_owned()), false), "{undone:?}");
    // And a later undo is refused as a whole.
    let again = Applier::new(&mut machine, &mut paper, &mut quiet).undo(application, &Because::Asked, false);
    assert!(again.is_err_and(|refused| refused.0.contains("removed and created again")));
    assert!(machine.same(&Identity::Host).is_ok());
}
