//! System calls that change something and that no library wraps, each behind a safe function.

pub mod affinity;
pub mod ethtool;
pub mod ioprio;
pub mod pages;
