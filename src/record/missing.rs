//! What happened between two samples: missing samples, clocks that were set.

use crate::units;
use std::time::Duration;
use topotop_model::Stamp;
use topotop_model::locale::recording::cause as text;
use topotop_model::locale::{Text, in_english};
use topotop_model::recording::What;

/// A wall clock that is corrected gently goes wrong by less than this many ns …
const SLEW_NS: i64 = 250_000_000;
/// … or by this fraction of the time between the samples.
const SLEW_PER_NS: u64 = 1000;

/// Why a sample may come late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delay {
    /// The program was stopped and continued.
    Stopped,
    /// It was not woken when it was to be.
    Asleep,
    /// Taking it took long.
    Slow,
}

impl Delay {
    /// Of what was seen: a signal to go on, a wake-up so long after it was due.
    pub(crate) fn of(stopped: bool, woken_late: Duration, interval: Duration) -> Self {
        if stopped {
            return Self::Stopped;
        }
        if woken_late > interval / 2 { Self::Asleep } else { Self::Slow }
    }

    fn reason(self) -> Text {
        match self {
            Self::Stopped => text::WAS_STOPPED,
            Self::Asleep => text::WAS_NOT_SCHEDULED,
            Self::Slow => text::SAMPLED_SLOWLY,
        }
    }
}

/// Events to be recorded between two samples.
pub(crate) fn between(before: Stamp, after: Stamp, interval: Duration, late: Delay) -> Vec<What> {
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
    let mono_ns = after.mono_ns.saturating_sub(before.mono_ns);
    let boot_ns = after.boot_ns.saturating_sub(before.boot_ns);
    let mut events = Vec::new();
    let slept_ns = boot_ns.saturating_sub(mono_ns);
    if slept_ns >= interval_ns {
        let slept = || text::WasSuspended { time: &units::span(slept_ns / 1_000_000_000) }.to_string();
        let reason = in_english(slept);
        events.push(What::Skipped { samples: slept_ns / interval_ns, reason });
    }
    // A sample may be half an interval late and is still the one that was due.
    let missed = mono_ns.saturating_add(interval_ns / 2) / interval_ns;
    if missed > 1 {
        events.push(What::Skipped { samples: missed - 1, reason: late.reason().english().to_owned() });
    }
    let step_ns = after.wall_ns.saturating_sub(before.wall_ns).saturating_sub_unsigned(boot_ns);
    if step_ns.saturating_abs() > SLEW_NS + (boot_ns / SLEW_PER_NS) as i64 {
        let seconds = format!("{:.1}", step_ns.unsigned_abs() as f64 / 1e9);
        let text = in_english(|| {
            if step_ns > 0 {
                text::ClockForward { seconds: &seconds }.to_string()
            } else {
                text::ClockBack { seconds: &seconds }.to_string()
            }
        });
        events.push(What::Note { text });
    }
    events
}

#[cfg(test)]
mod tests {
    use super::{Delay, between};
    use proptest::prelude::*;
    use std::time::Duration;
    use topotop_model::Stamp;
    use topotop_model::recording::What;

    fn at(wall: f64, mono: f64, boot: f64) -> Stamp {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        Stamp { seq: 1, wall_ns: (wall * 1e9) as i64, mono_ns: ns(mono), boot_ns: ns(boot) }
    }

    fn said(before: Stamp, after: Stamp, stopped: bool) -> Vec<String> {
        let late = Delay::of(stopped, Duration::ZERO, Duration::from_secs(1));
        let text = |what| match what {
            What::Skipped { samples, reason } => format!("{samples}: {reason}"),
            What::Note { text } => text,
            other => format!("{other:?}"),
        };
        between(before, after, Duration::from_secs(1), late).into_iter().map(text).collect()
    }

    #[test]
    fn a_steady_machine_says_nothing() {
        assert!(said(at(1000.0, 10.0, 20.0), at(1001.0, 11.0, 21.0), false).is_empty());
        assert!(said(at(1000.0, 10.0, 20.0), at(1001.4, 11.4, 21.4), false).is_empty(), "a late sample is one");
        assert!(said(at(1000.0, 10.0, 20.0), at(1001.1, 11.0, 21.0), false).is_empty(), "a slewed clock");
        assert!(said(at(1000.0, 10.0, 20.0), at(1000.2, 10.2, 20.2), false).is_empty(), "an early sample");
    }

    #[test]
    fn what_is_missing_is_counted_with_its_reason() {
        let long = said(at(1000.0, 10.0, 20.0), at(1005.0, 15.0, 25.0), false);
        assert_eq!(
            long,
            ["4: sampling took longer than the interval: the machine was overloaded, or topotop was stopped"]
        );
        assert_eq!(said(at(1000.0, 10.0, 20.0), at(1005.0, 15.0, 25.0), true), ["4: topotop was stopped"]);
        let slept = said(at(1000.0, 10.0, 20.0), at(1000.0 + 7621.0, 11.0, 20.0 + 7621.0), false);
        assert_eq!(slept, ["7620: the machine was suspended for 2h07m"]);
    }

    #[test]
    fn a_clock_that_is_set_is_noted_and_costs_no_sample() {
        let back = said(at(1000.0, 10.0, 20.0), at(1000.0 - 3599.0, 11.0, 21.0), false);
        assert_eq!(back, ["the clock was set back by 3600.0 s"]);
        assert_eq!(said(at(1000.0, 10.0, 20.0), at(1003.5, 11.0, 21.0), false), ["the clock was set forward by 2.5 s"]);
    }

    proptest! {
        #[test]
        fn no_clocks_panic(a: (i64, u64, u64), b: (i64, u64, u64), interval: Duration, stopped: bool) {
            let stamp = |(wall_ns, mono_ns, boot_ns)| Stamp { seq: 0, wall_ns, mono_ns, boot_ns };
            let _ = between(stamp(a), stamp(b), interval, Delay::of(stopped, interval, interval));
        }
    }
}
