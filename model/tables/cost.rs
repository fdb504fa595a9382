//! What the monitor itself costs.

use crate::table::table;

table! {
    /// Cost by collector.
    Cost = 130 "cost" {
        /// The collector; `total` for the process.
        collector: Text = 1 (Id, None, "self"),
        /// Wall time of its longest reading in the last ten seconds; for `total` that of this sample.
        took_ns: Num = 2 (Gauge, Nanoseconds, "self"),
        /// CPU time of its readings since start, written every ten seconds; for `total` that of the whole process, each time.
        cpu_ns: Num = 3 (Counter, Nanoseconds, "self"),
        /// Its resident memory; only for `total`.
        rss_bytes: Num = 4 (Gauge, Bytes, "proc/self/statm"),
        /// `file`, or the backend that reads instead of files.
        backend: Text = 5 (Fact, None, "self"),
    }
}
