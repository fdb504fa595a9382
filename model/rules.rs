//! What can be wrong with a machine: one rule a file, each a pure predicate on a frame. The judge folds them over time.

mod before;
#[cfg(test)]
mod cases;
mod disk_words;
mod finding;
mod grid;
mod input;
mod look;
mod nodes;
mod page;
pub(crate) mod parts;
mod reclaim;
mod series;
pub mod subject;
pub mod told;

pub use finding::{Evidence, Figure, Finding, Hit, Severity, Strength};
pub use grid::{Cell, Column, Grid};
pub use input::Input;
pub use look::{Look, Unchecked};
pub use page::page;
pub use subject::Subject;

#[cfg(test)]
pub(crate) use cases::sick;

use crate::frame::Frame;

/// A number that a rule compares with.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// Its name in the configuration.
    pub name: &'static str,
    /// Unless configured otherwise; fractions are fractions, not percent.
    pub value: f64,
    /// `fraction`, `bytes`, `1/s`, …
    pub unit: &'static str,
    /// What it is compared with.
    pub about: &'static str,
}

/// How long a condition has to hold before it is a finding, and to be gone before it is none.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// So many of the last [`Pace::of`] valid samples must meet it.
    pub enter: u32,
    /// See [`Pace::enter`]; at most 32.
    pub of: u32,
    /// So many valid samples in a row must be clear of it.
    pub exit: u32,
    /// Kept for so long after it was last met, in seconds.
    pub latch_seconds: u32,
    /// Valid samples before it can say anything, where that is more than [`Pace::enter`].
    pub warm_up: u32,
    /// True where one sample without rates can tell: configuration.
    pub at_once: bool,
}

impl Pace {
    /// Eight of ten, clear for ten.
    pub const USUAL: Self = Self { enter: 8, of: 10, exit: 10, latch_seconds: 0, warm_up: 0, at_once: false };
    /// Six of ten, clear for ten.
    pub const QUICK: Self = Self { enter: 6, of: 10, exit: 10, latch_seconds: 0, warm_up: 0, at_once: false };
    /// What is configured is so or is not; clear for five, so that what swings does not flicker.
    pub const CONFIGURED: Self = Self { enter: 1, of: 1, exit: 5, latch_seconds: 0, warm_up: 0, at_once: true };
}

/// One way a machine can be wrong.
pub struct Rule {
    /// `NIC-01`: never given twice.
    pub id: &'static str,
    /// What it finds, in a few words.
    pub name: &'static str,
    /// Why it matters, for whoever never heard of it.
    pub why: &'static str,
    /// What it cannot do without: missing, it is not checked.
    pub reads: &'static [Input],
    /// The files that its numbers come from.
    pub looks_at: &'static [&'static str],
    /// What it compares with.
    pub thresholds: &'static [Threshold],
    /// What it does not find, on purpose.
    pub guards: &'static [&'static str],
    /// What to do, the best first.
    pub advice: &'static [&'static str],
    /// Where the kernel or others say so.
    pub references: &'static [&'static str],
    /// How long it takes.
    pub pace: Pace,
    /// Tables of its page: what words mean.
    pub tables: &'static [Page],
    /// What others gained, where it was reported.
    pub gained: &'static [&'static str],
    /// What `preflight` calls it, where it judges what is configured before a test begins.
    pub preflight: Option<Preflight>,
    /// The condition, on one frame.
    pub judge: fn(&mut Look<'_>),
    /// A finding in one line.
    pub title: fn(&Finding) -> String,
}

/// A table that a rule's page prints: always the same, unlike evidence.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// What it tells.
    pub title: &'static str,
    /// Headings.
    pub columns: &'static [&'static str],
    /// Rows, each as wide as the headings.
    pub rows: &'static [&'static [&'static str]],
}

/// A rule's line in the list of checks before a test.
#[derive(Clone, Copy, Debug)]
pub struct Preflight {
    /// What is checked, in a few words.
    pub name: &'static str,
    /// How it is configured, where that is well; empty where there is nothing to tell.
    pub says: fn(&Frame) -> String,
}

impl Rule {
    /// What a rule need not say: `..Rule::BASE`.
    pub const BASE: Self = Self {
        id: "",
        name: "",
        why: "",
        reads: &[],
        looks_at: &[],
        thresholds: &[],
        guards: &[],
        advice: &[],
        references: &[],
        pace: Pace::USUAL,
        tables: &[],
        gained: &[],
        preflight: None,
        judge: |_| (),
        title: |_| String::new(),
    };
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).finish_non_exhaustive()
    }
}

/// FNV-1a, on from another one.
pub(crate) const fn hash(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

macro_rules! rules {
    ($($module:ident),+ $(,)?) => {
        $(mod $module;)+

        /// Every rule, in the order of the catalogue.
        pub const ALL: &[&Rule] = &[$(&$module::RULE),+];

        /// What the rules say, in a number: another one where any of them says something else.
        pub(crate) const CODE: u64 = {
            let mut code = 0xcbf2_9ce4_8422_2325;
            $(code = hash(code, include_bytes!(concat!("rules/", stringify!($module), ".rs")));)+
            let shared: [&[u8]; 7] = [
                include_bytes!("rules/look.rs"),
                include_bytes!("rules/parts.rs"),
                include_bytes!("rules/series.rs"),
                include_bytes!("judge.rs"),
                include_bytes!("judge/fold.rs"),
                include_bytes!("judge/state.rs"),
                include_bytes!("judge/memory.rs"),
            ];
            let mut at = 0;
            while at < shared.len() {
                code = hash(code, shared[at]);
                at += 1;
            }
            code
        };
    };
}

rules!(
    cpu_01, cpu_02, cpu_03, cpu_04, cpu_05, cpu_06, cpu_07, cpu_09, cpu_10, beam_01, beam_02, beam_03, irq_01, irq_02,
    irq_03, irq_04, irq_05, nic_01, nic_02, nic_03, nic_04, nic_05, nic_06, nic_07, numa_01, numa_02, numa_03, numa_04,
    numa_05, numa_06, numa_07, numa_10, mem_01, mem_02, mem_03, mem_04, mem_05, mem_06, mem_07, mem_08, mem_09, io_01,
    io_02, io_03, io_04, io_05, io_06, io_07, meta_01, meta_02, meta_03,
);

/// The rule of an id, upper or lower case.
pub fn find(id: &str) -> Option<&'static Rule> {
    ALL.iter().find(|rule| rule.id.eq_ignore_ascii_case(id)).copied()
}
