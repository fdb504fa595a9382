//! The application's own numbers.

use crate::table::table;

table! {
    /// Numbers that the user asked for with `--metric`.
    Metrics = 110 "metrics" {
        /// What the user calls it.
        name: Text = 1 (Id, None, "--metric"),
        /// Its unit, as the user says; empty when it is not set.
        unit: Text = 2 (Fact, None, "--metric"),
        /// Where it comes from, as the user wrote it; hostile.
        source: Text = 3 (Fact, None, "--metric"),
        /// The number; unread when none came for long.
        value: Num = 4 (Gauge, Float, "--metric"),
        /// CLOCK_MONOTONIC when the number came.
        value_at_ns: Num = 5 (Clock, Nanoseconds, "self"),
        /// The largest number so far, of a counter the largest rate per second.
        peak: Num = 6 (Gauge, Float, "self"),
        /// 1 when the number only grows and its rate is what matters.
        counter: Num = 7 (Fact, None, "--metric"),
        /// 1 when it tells whether the machine is under load.
        gates: Num = 8 (Fact, None, "--metric"),
        /// The least that is load; none when it is a tenth of the peak.
        least: Num = 9 (Fact, Float, "--metric"),
        /// Rate per second of a counter, between its last two numbers.
        rate: Num = 10 (Gauge, Float, "self"),
    }
}
