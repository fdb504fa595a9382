//! What changed between two recordings, two spans of one, or before and after a fix.
//!
//! Each side folds frames one at a time into bounded series ([`Side`]); [`compare`] aligns them by what stays the same
//! (topology, names), tests each metric against its own noise, folds what follows from something else under it, and
//! says what it could not judge. Nothing in here knows a file.

mod align;
#[cfg(test)]
pub(crate) mod check;
mod compare;
mod explain;
mod facts;
mod findings;
mod metric;
pub mod metrics;
mod outcome;
mod series;
mod side;
pub mod stat;
mod subject;

pub use align::Alignment;
pub use compare::{Comparison, Row, Spread, Verdict, compare};
pub use facts::FactChange;
pub use findings::{Found, FoundChanges, FoundSide};
pub use metric::{Better, Floor, Measure, Metric};
pub use outcome::{Outcome, Tried, Watch, outcome};
pub use side::{Side, reading};
pub use subject::Subject;
