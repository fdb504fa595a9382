//! Pressure stall information.

use crate::table::table;

table! {
    /// Pressure on the whole machine by resource.
    Pressure = 60 "pressure" {
        /// `cpu`, `memory`, `io` or `irq`.
        resource: Text = 1 (Id, None, "proc/pressure/*"),
        /// Time in which some task waited.
        some_total_us: Num = 2 (Counter, Microseconds, "proc/pressure/*"),
        /// Time in which all tasks waited.
        full_total_us: Num = 3 (Counter, Microseconds, "proc/pressure/*"),
        /// The kernel's 10 s average of some, in hundredths of a percent.
        some_avg10: Num = 4 (Gauge, Permyriad, "proc/pressure/*"),
        /// The kernel's 10 s average of full.
        full_avg10: Num = 5 (Gauge, Permyriad, "proc/pressure/*"),
    }
}
