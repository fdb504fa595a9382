//! Scripts: a process whose programs run one after another uses no more than one core with all of them together.

use super::Inputs;
use crate::frame::{Frame, Process};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Cores of children that come and go from which on a process is a script, and still one while the answer names it: with
/// programs of three seconds each, a third of the samples see one end.
const TURNS: (f64, f64) = (0.3, 0.03);
/// Cores up to which programs run one after another: two that run side by side use more.
const ONE: f64 = 1.1;
/// Runnable and blocked processes up to which they do; of those confined to one CPU, which never use more than that.
const RUNNABLE: (u32, u32) = (2, 1);

/// The weight of a sample in the means of who is runnable: a second sees one moment of many.
const MOMENT: f64 = 0.05;
/// The least share of the moments with runnable processes that have just one: of programs that start at random and use one
/// core together, 58 % do.
const ALONE: f64 = 0.8;
/// Generations of processes that are looked through.
const DEPTH: usize = 64;
/// Shares of moments below which nothing is known: programs of a few ms are rarely seen.
const SEEN: f64 = 0.1;
/// The most processes whose programs are followed.
const MOST: usize = 1024;

/// What comes and goes below a process, as means over the last samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Turns {
    /// Cores of its own children that come and go.
    pub(crate) cores: f64,
    /// Shares of moments with one runnable or blocked process, and with several.
    pub(crate) one: f64,
    pub(crate) several: f64,
    pub(crate) samples: u32,
}

impl Turns {
    /// True where processes below it often run side by side.
    fn side_by_side(self) -> bool {
        let seen = self.one + self.several;
        seen >= SEEN && self.one < ALONE * seen
    }
}

/// Takes in whose children come and go, and how many of those below them run at a time.
pub(super) fn observe(turns: &mut BTreeMap<(u32, u64), Turns>, frame: &Frame, newest: f64) {
    let mut next = BTreeMap::new();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let key = (process.pid, process.starttime);
        let old = turns.get(&key).copied().unwrap_or_default();
        // A long one that ends counts once.
        let now = process.children_cores.filter(|cores| cores.is_finite()).unwrap_or(0.0).min(1.0);
        let cores = old.cores + (now - old.cores) * newest;
        if cores > 0.02 && next.len() < MOST {
            next.insert(key, Turns { cores, ..old });
        }
    }
    *turns = next;
    let runnable = runnable(turns, frame);
    for (key, turns) in turns {
        turns.samples = turns.samples.saturating_add(1);
        let weight = MOMENT.max(1.0 / f64::from(turns.samples));
        let now = runnable.get(key).copied().unwrap_or(0);
        turns.one += (f64::from(u8::from(now == 1)) - turns.one) * weight;
        turns.several += (f64::from(u8::from(now > 1)) - turns.several) * weight;
    }
}

/// Runnable and blocked processes of each tree, its root among them.
fn runnable(turns: &BTreeMap<(u32, u64), Turns>, frame: &Frame) -> BTreeMap<(u32, u64), u32> {
    let mut found = BTreeMap::new();
    if turns.is_empty() {
        return found;
    }
    let by_pid: HashMap<u32, &Process> = frame.processes.iter().map(|process| (process.pid, process)).collect();
    for process in frame.processes.iter().filter(|process| matches!(process.state, 'R' | 'D')) {
        let mut at = Some(process);
        // A line of parents is never as long as the list, unless it is a circle.
        for _ in 0..DEPTH {
            let Some(process) = at else { break };
            let key = (process.pid, process.starttime);
            if turns.contains_key(&key) {
                *found.entry(key).or_insert(0) += 1;
            }
            at = process.ppid.value().and_then(|parent| by_pid.get(&parent).copied());
        }
    }
    found
}

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
            !tree.covered && is_script(inputs, process) && tree.cores >= least && is_serial(inputs, process, *tree);
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
        for _ in 0..DEPTH {
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
    !adopts && inputs.turns.get(&key).is_some_and(|turns| turns.cores >= least)
}

/// True where those below a process do not run side by side.
fn is_serial(inputs: &Inputs<'_>, process: &Process, tree: Tree) -> bool {
    let one_cpu = process.affinity.as_ref().is_some_and(|cpus| cpus.single().is_some());
    let confined = one_cpu && inputs.frame.cpus.len() > 1;
    let turns = inputs.turns.get(&(process.pid, process.starttime)).copied().unwrap_or_default();
    tree.cores <= ONE && tree.runnable <= if confined { RUNNABLE.1 } else { RUNNABLE.0 } && !turns.side_by_side()
}
