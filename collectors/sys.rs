//! System calls that no library wraps safely, each behind a safe function.

pub mod addresses;
pub mod affinity;
pub mod child;
pub mod ethtool;
pub mod ioprio;
pub mod pages;
