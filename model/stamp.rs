//! When a snapshot was taken.

/// Three clocks as integers, set outside the model: wall for display, monotonic for rates, boottime for order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Counts samples from 1.
    pub seq: u64,
    /// Nanoseconds since 1970, UTC (CLOCK_REALTIME).
    pub wall_ns: i64,
    /// Nanoseconds of CLOCK_MONOTONIC: stands still in suspend.
    pub mono_ns: u64,
    /// Nanoseconds of CLOCK_BOOTTIME: goes on in suspend.
    pub boot_ns: u64,
}
