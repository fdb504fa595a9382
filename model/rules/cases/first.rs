//! Placement of CPUs and memory, and the monitor itself.

use super::*;

pub(super) const CASES: &[Case] = &[];

pub(super) const QUIET: &[Quiet] = &[];

pub(super) const HIDDEN: &[Hidden] = &[];
