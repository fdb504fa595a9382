//! The documents that programs read: `topotop.snapshot/1`, `topotop.diff/1` and those of fixes.
//!
//! Rows of a frame are serialised as they are; what is here is the rest of a document. Null means known to be none,
//! unlimited or not applicable; a key that is absent was not read (or needs a second sample); zero means zero. The
//! schemas in `docs/schema` are generated from these types by a test.

mod diff;
mod findings;
mod fix;
mod resources;
mod snapshot;
#[cfg(test)]
mod tests;
mod value;

pub use diff::{DIFF, Diff, FixEvent, Side as DiffSide};
pub use findings::{Finding, RuleState, finding, rules};
pub use fix::{Application, Done, Offer, Outcome, Plan, Undone};
pub use resources::{Bottleneck, Resource, Waiting, bottleneck, resources};
pub use snapshot::{Named, SNAPSHOT, Snapshot};
#[cfg(test)]
pub(crate) use tests::prefixed;
pub use value::{Absent, ById, OrNull, Text, absent, known_text, lines, safe, texts};
pub(crate) use value::{all_shown, each_line, shown};
