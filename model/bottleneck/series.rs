//! Scripts: a process whose programs run one after another uses no more than one core with all of them together.

use super::Inputs;
use crate::frame::{Frame, Process};
use std::collections::{HashMap, HashSet};

/// Cores of children that come and go from which on a process is a script, and still one while the answer names it: with
/// programs of three seconds each, a third of the samples see one end.
const TURNS: (f64, f64) = (0.3, 0.03);
/// Cores up to which programs run one after another: two that run side by side use more.
const ONE: f64 = 1.1;
/// Runnable and blocked processes up to which they do; of those confined to one CPU, which never use more than that.
const RUNNABLE: (u32, u32) = (2, 1);

/// A script and what it uses with its programs.
pub(super) struct Script<'a> {
    pub(super) process: &'a Process,
    pub(super) cores: f64,
}

/// What is known of a process with those below it.
#[derive(Clone, Copy, Default)]
struct Tree {
    /// Cores that it uses, its children that come and go, and of those that stay the one with most of them.
    cores: f64,
    /// Runnable and blocked processes.
    runnable: u32,
    /// Children that are not summed up yet.
    pending: usize,
    /// A script below it uses a full core.
    covered: bool,
}

/// Scripts that use a full core, the innermost ones, and those that use little less; and the processes below them.
#[expect(clippy::too_many_lines, reason = "one pass over the processes of each parent")]
pub(super) fn scripts<'a>(inputs: &Inputs<'a>, (full, least): (f64, f64)) -> (Vec<Script<'a>>, HashSet<u32>) {
    let frame = inputs.frame;
    let (mut found, mut below) = (Vec::new(), HashSet::new());
    // Most machines run none.
    if inputs.turns.is_empty() {
        return (found, below);
    }
    let places: HashMap<u32, usize> = frame.processes.iter().enumerate().map(|(at, row)| (row.pid, at)).collect();
    let parent = |process: &Process| places.get(&process.ppid.value()?).copied();
    let mut trees: Vec<Tree> = vec![Tree::default(); frame.processes.len()];
    for at in frame.processes.iter().filter_map(parent) {
        if let Some(tree) = trees.get_mut(at) {
            tree.pending += 1;
        }
    }
    let mut ready: Vec<usize> =
        (0..trees.len()).filter(|at| trees.get(*at).is_some_and(|tree| tree.pending == 0)).collect();
    while let Some(at) = ready.pop() {
        let (Some(process), Some(tree)) = (frame.processes.get(at), trees.get_mut(at)) else { continue };
        let used = process.cpu_cores.unwrap_or(0.0) + process.children_cores.unwrap_or(0.0);
        tree.cores += if used.is_finite() { used } else { 0.0 };
        tree.runnable += u32::from(matches!(process.state, 'R' | 'D'));
        let runs_in_turn =
            !tree.covered && is_script(inputs, process) && tree.cores >= least && is_serial(frame, process, *tree);
        if runs_in_turn {
            found.push(Script { process, cores: tree.cores });
            tree.covered = tree.cores >= full;
        }
        let sum = *tree;
        if let Some((place, above)) = parent(process).and_then(|place| Some((place, trees.get_mut(place)?))) {
            above.cores = above.cores.max(sum.cores);
            above.runnable = above.runnable.saturating_add(sum.runnable);
            above.covered |= sum.covered;
            above.pending -= 1;
            if above.pending == 0 {
                ready.push(place);
            }
        }
    }
    if found.is_empty() {
        return (found, below);
    }
    let scripts: HashSet<u32> = found.iter().map(|script| script.process.pid).collect();
    for process in &frame.processes {
        let mut at = parent(process);
        // A line of parents is never as long as the list, unless it is a circle.
        for _ in 0..64 {
            let Some(above) = at.and_then(|at| frame.processes.get(at)) else { break };
            if scripts.contains(&above.pid) {
                below.insert(process.pid);
                break;
            }
            at = parent(above);
        }
    }
    (found, below)
}

/// True for a process whose children come and go.
fn is_script(inputs: &Inputs<'_>, process: &Process) -> bool {
    let key = (process.pid, process.starttime);
    let subject = crate::rules::Subject::Process(key.0, key.1);
    let least = if inputs.full.as_ref() == Some(&subject) { TURNS.1 } else { TURNS.0 };
    // The first process of a machine takes over the children of all that are gone.
    let adopts = process.pid == 1 && inputs.frame.host.in_container.value() != Some(true);
    !adopts && inputs.turns.get(&key).is_some_and(|turns| *turns >= least)
}

/// True where those below a process do not run side by side.
fn is_serial(frame: &Frame, process: &Process, tree: Tree) -> bool {
    let confined = process.affinity.as_ref().is_some_and(|cpus| cpus.single().is_some()) && frame.cpus.len() > 1;
    tree.cores <= ONE && tree.runnable <= if confined { RUNNABLE.1 } else { RUNNABLE.0 }
}
