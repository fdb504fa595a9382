//! What rules share: context, findings, subjects, helpers.

pub(crate) mod context;
mod devices;
pub(crate) mod disk_text;
pub(crate) mod finding;
pub(crate) mod grid;
pub(crate) mod input;
pub(crate) mod nodes;
pub(crate) mod page;
pub(crate) mod parts;
pub(crate) mod preflight;
pub(crate) mod reclaim;
pub mod report;
pub(crate) mod series;
pub mod subject;
