//! What was changed by fixes and is meant to stay so.

use crate::table::table;

table! {
    /// Values that fixes in force have written, each with what it is now. A machine on which none is in force has no
    /// journal and this section is missing without gaps.
    Applied = 140 "applied" {
        /// The fix: `RULE/SUBJECT/FIX`.
        fix: Text = 1 (Id, None, "journal"),
        /// What was written: `/proc/irq/141/smp_affinity_list`, `affinity of 4122`, `combined channels of eth0`, `vm.zone_reclaim_mode`.
        target: Text = 2 (Id, None, "journal"),
        /// The rule whose finding it was for.
        rule: Text = 3 (Fact, None, "journal"),
        /// What that was about, as subjects are written.
        subject: Text = 4 (Fact, None, "journal"),
        /// The value that was written and read back.
        wanted: Text = 5 (Fact, None, "journal"),
        /// The value now; unread where its file is gone or hidden.
        value: Text = 6 (Gauge, None, "self"),
        /// CLOCK_BOOTTIME when it was written.
        applied_boot_ns: Num = 7 (Clock, Nanoseconds, "journal"),
    }
}
