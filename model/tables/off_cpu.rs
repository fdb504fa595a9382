//! What threads of the busiest processes do, sampled a few times a second: where their time goes when they run on no CPU.

use crate::table::table;

table! {
    /// Processes whose threads were sampled, and how often in the last ten seconds.
    OffCpu = 97 "off_cpu" {
        /// The process.
        pid: Num = 1 (Id, None, "proc/*/stat"),
        /// When it started: with the pid it names the process.
        starttime: Num = 2 (Id, Ticks, "proc/*/stat"),
        /// CLOCK_MONOTONIC of the last of these samples.
        read_at_ns: Num = 3 (Clock, Nanoseconds, "self"),
        /// Samples of its threads.
        samples: Num = 4 (Gauge, Count, "self"),
        /// Those of which the system call could not be read.
        denied: Num = 5 (Gauge, Count, "proc/*/task/*/syscall"),
        /// Threads that were sampled: those that were given a CPU in the last seconds.
        threads: Num = 6 (Gauge, Count, "self"),
        /// Seconds over which these samples go.
        span_ns: Num = 7 (Gauge, Nanoseconds, "self"),
    }
}

table! {
    /// What those threads were found at in the last ten seconds: one row per process, state and call.
    Waits = 98 "waits" {
        /// The process.
        pid: Num = 1 (Id, None, "proc/*/stat"),
        /// When it started.
        starttime: Num = 2 (Id, Ticks, "proc/*/stat"),
        /// State letter as a code point; `R` of one that ran or wanted to.
        state: Num = 3 (Id, None, "proc/*/task/*/stat"),
        /// System call that it was in; empty for none, unread where it could not be read.
        call: Text = 4 (Id, None, "proc/*/task/*/syscall"),
        /// Function of the kernel that it slept in, of uninterruptible sleep only.
        wchan: Text = 5 (Id, None, "proc/*/task/*/wchan"),
        /// What the call waits for: `socket`, `pipe`, `file`, `eventpoll`, `eventfd`, …, `lock` where the program's title
        /// says so; empty where there is no such.
        target: Text = 6 (Id, None, "proc/*/fd/*"),
        /// The lock word's address of a futex, the inode of a socket or pipe.
        object: Num = 7 (Id, None, "proc/*/task/*/syscall"),
        /// Operation of a futex (FUTEX_*).
        operation: Num = 8 (Id, None, "proc/*/task/*/syscall"),
        /// 1 where the call returns by itself after a time.
        timed: Num = 9 (Id, None, "proc/*/task/*/syscall"),
        /// Other end's address of the connection that an answer is outstanding of, or that is read.
        peer: Text = 10 (Id, None, "INET_DIAG"),
        /// 0: nothing outstanding; 1: something was sent after the last that was received; 2: both within a millisecond;
        /// 3: a connection that was accepted.
        outstanding: Num = 11 (Id, None, "INET_DIAG"),
        /// Samples.
        samples: Num = 12 (Gauge, Count, "self"),
        /// Different threads among them.
        threads: Num = 13 (Gauge, Count, "self"),
        /// The most of them at once.
        together: Num = 14 (Gauge, Count, "self"),
        /// The port of the service: the other end's, or the own one of connections that were accepted.
        port: Num = 15 (Id, None, "INET_DIAG"),
    }
}
