//! Drawing that panels share: no panel logic in here.

pub mod bar;
pub mod browser;
pub mod extents;
pub mod gaps;
pub mod grid;
pub mod heat;
pub mod machine;
pub mod mark;
pub mod names;
pub mod number;
pub mod pane;
pub mod panel;
mod pen;
pub mod related;
pub mod severity;
pub mod spark;
pub mod split;
pub mod table;
pub mod timebar;
pub mod units;

pub use pen::Pen;
