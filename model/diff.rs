//! What changed between two recordings, two spans of one, or before and after a fix.
//!
//! Each side folds frames one at a time into bounded series ([`Side`]); [`compare`] aligns them by what stays the same
//! (topology, names), tests each metric against its own noise, folds what follows from something else under it, and
//! says what it could not judge. Nothing in here knows a file.

mod align;
mod bias;
#[cfg(test)]
mod calibration;
#[cfg(test)]
pub(crate) mod check;
mod compare;
mod cost;
mod decide;
mod explain;
mod facts;
mod findings;
mod metric;
pub mod metrics;
mod outcome;
mod part;
mod reason;
mod row;
mod series;
mod side;
pub mod stat;
mod subject;
pub mod window;

pub use align::Alignment;
pub use bias::Bias;
pub use compare::{Comparison, compare, compare_by};
pub use cost::{Cost, CostChange};
pub use decide::{ALONE, Answer, Decision, Question, decide};
pub use facts::FactChange;
pub use findings::{Found, FoundChanges, FoundSide};
pub use metric::{Better, Floor, Measure, Metric};
pub use outcome::{Outcome, Tried, Watch, outcome};
pub use part::Window;
pub use reason::Reason;
pub use row::{Row, Spread, Verdict};
pub use side::{Side, reading};
pub use subject::Subject;
