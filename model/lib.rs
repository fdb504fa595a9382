//! What topotop knows of a machine.
//!
//! Collectors fill a [`Draft`]; each tick publishes it as a [`Snapshot`] of raw counters; snapshots go through the log
//! ([`codec`], [`ring`]) and, two generations at a time ([`Window`]), become a [`frame::Frame`] of rates and joins
//! that screens, exports and rules share. Nothing in here does I/O or knows a clock or a terminal.

pub mod align;
pub mod anonymise;
pub mod bottleneck;
pub mod codec;
pub mod column;
pub mod counter;
pub mod derive;
pub mod diff;
pub mod document;
pub mod fix;
pub mod frame;
mod gap;
pub mod history;
mod id_set;
pub mod journal;
pub mod judge;
mod known;
pub mod locale;
pub mod plan;
pub mod recording;
pub mod ring;
pub mod rules;
mod section;
mod snapshot;
mod stamp;
mod table;
pub mod tables;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
pub mod text;
mod total;
mod trend;
pub mod waiting;

pub use column::{Column, ColumnDef, ColumnMut, Meaning, NONE, Num, Sets, Sparse, Text, Unit};
pub use gap::{Gap, Gaps, Reason};
pub use id_set::IdSet;
pub use known::Known;
pub use section::{Section, State};
pub use snapshot::{Draft, SectionStates, Snapshot, Visit, VisitMut, Window};
pub use stamp::Stamp;
pub use table::{Rows, Slots, Table};
pub use total::Total;
