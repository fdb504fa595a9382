//! System calls that no library wraps safely, each behind a safe function.

pub(crate) mod crash;
pub(crate) mod fork;
pub(crate) mod landlock;
pub(crate) mod realtime;
pub(crate) mod seccomp;
