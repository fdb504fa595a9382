//! Interrupts, interfaces, memory and disks.

use super::*;

pub(super) const CASES: &[Case] = &[];

pub(super) const QUIET: &[Quiet] = &[];

pub(super) const HIDDEN: &[Hidden] = &[];
