//! What fixes have done: a journal of lines, each a JSON object with its checksum, appended before and after each write.
//! People read it with a pager; garbage in it costs the lines that it damaged.

mod application;
mod because;
mod end;
mod fold;
mod line;

pub use application::{Application, ItemState, Judged, PutBack, State};
pub use because::Because;
pub use end::{End, LENGTH as END_LENGTH, fold_to, is_relinked};
pub use fold::{Journal, fold};
pub use line::{Damage, checksum};

use crate::diff::metrics;
use crate::fix::{Identity, Item, Restore, Risk, Target};
use crate::locale::dialog::fix as text;
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// `wall_ns` for people: RFC 3339, UTC.
    #[serde(default)]
    pub at: String,
    /// Wall time in ns since 1970.
    pub wall_ns: i64,
    /// CLOCK_BOOTTIME in ns.
    pub boot_ns: u64,
    /// /proc/sys/kernel/random/boot_id.
    pub boot_id: String,
    /// Which application of a fix: counted up, never given twice.
    pub number: u64,
    /// Its place among the lines of that application, from 1, so that a line taken out is missed; none in journals of
    /// versions that did not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u32>,
    /// The checksum of the line before it in the file, 0 for the first, so that whole applications taken out are missed;
    /// none in journals of versions that did not link them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
    /// What happened.
    #[serde(flatten)]
    pub entry: Entry,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// A plan is about to be applied: on the disk before anything is written.
    Intent(Box<Intent>),
    /// An item that came up meanwhile is about to be written too: on the disk before it is.
    Added {
        /// The step.
        step: usize,
        /// Its value before and to come.
        item: Item,
    },
    /// An item was written, or could not be.
    Wrote(Outcome),
    /// The last item of a plan was tried.
    Ended {
        /// Outcome.
        state: Applied,
    },
    /// Whoever applied it said once more that it shall stay.
    Confirmed,
    /// Its effect was measured.
    Verdict {
        /// `improved`, `no_change`, `worse`, `inconclusive`.
        verdict: String,
        /// Why, where that is to be said.
        why: String,
        /// What was measured.
        table: Vec<Measured>,
    },
    /// It is about to be undone.
    Undo {
        /// Why.
        why: Because,
        /// True where values that somebody else changed are overwritten.
        forced: bool,
    },
    /// An item was put back, or could not be.
    PutBack(Outcome),
    /// The last item of the undo was tried.
    Undone {
        /// True where every item that can be restored was.
        whole: bool,
    },
}

/// A plan with everything that undoing it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// `RULE/SUBJECT/FIX`.
    pub fix: String,
    /// Its title, in one line.
    pub title: String,
    /// Who asked: user and terminal.
    pub who: String,
    /// What somebody would have typed.
    pub commands: Vec<String>,
    /// At what risk.
    pub risk: Risk,
    /// Who is changed.
    pub identity: Vec<Identity>,
    /// What is written, in this order.
    pub steps: Vec<Written>,
    /// What changes with it and is put back after the steps.
    pub kept: Vec<Written>,
    /// It takes itself back after so many seconds unless confirmed; none where nothing can be cut off.
    pub revert_after_seconds: Option<u32>,
}

/// A target with its items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// Where.
    pub target: Target,
    /// What undoing does with it.
    pub restore: Restore,
    /// Values before and to come.
    pub items: Vec<Item>,
}

/// Outcome of one item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The step: places of `steps`, then of `kept`.
    pub step: usize,
    /// The item's key.
    pub key: String,
    /// What was read back; none where it could not be.
    pub value: Option<String>,
    /// What the kernel said where it failed.
    pub error: Option<String>,
    /// True where it failed for having ended, as threads do: there is nothing left to write to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
}

/// Outcome of applying a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Applied {
    /// Every item has its new value.
    Applied,
    /// Some items were written as expected.
    Partial,
    /// No item was written as expected.
    Failed,
}

/// A metric of a subject in words; the application's own by its name alone.
pub fn called(subject: &str, metric: &str) -> String {
    let known = metrics::named(metric);
    let name = known.map_or(metric, |metric| metric.name.as_str());
    let own = subject.strip_prefix("metric:").filter(|_| metric == "metric.work");
    own.map_or_else(|| text::Metric { name: &name, subject: &subject }.to_string(), str::to_owned)
}

/// A row of the table of a verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Measured {
    /// `nic:eth0`.
    pub subject: String,
    /// `nic.rx_packets`.
    pub metric: String,
    /// Its role in the verdict: `load`, `cost`, `guard`, `shown`.
    pub role: String,
    /// Mean, lower and upper quartile of the window before; absent without valid samples.
    pub before: Option<[f64; 3]>,
    /// Mean, lower and upper quartile of the window after; absent without valid samples.
    pub after: Option<[f64; 3]>,
    /// `improved`, `worse`, `changed`, `no_change`, `inconclusive`, `only_before`, `only_after`.
    pub verdict: String,
    /// The 95 % interval of the difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// No difference is larger than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// Why it is inconclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Samples before and after that were used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_used: Option<[u64; 2]>,
}
