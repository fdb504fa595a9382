//! Drawing that panels share: no panel logic in here.

pub mod bar;
pub mod gaps;
pub mod heat;
pub mod number;
pub mod panel;
mod pen;
pub mod spark;

pub use pen::Pen;
