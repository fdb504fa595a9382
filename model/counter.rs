//! Kernel counters that wrap, step back and restart.

/// What a counter gained: a decrease is a wrap of a u32 if the old value was near its top, else a restart from zero
/// (nothing is known of the interval, so no gain is claimed).
pub fn gain_u32(before: u64, now: u64) -> Option<u64> {
    const TOP: u64 = u32::MAX as u64;
    if now >= before {
        gain(before, now)
    } else if before <= TOP && before > TOP / 2 && now < TOP / 2 {
        Some(now + (TOP + 1 - before))
    } else {
        None
    }
}

/// What a 64-bit counter gained; nothing is claimed when it stepped back, or rose by what no machine does in any time that
/// lies between two samples: 9 PB, 9 million seconds in nanoseconds.
pub fn gain(before: u64, now: u64) -> Option<u64> {
    now.checked_sub(before).filter(|gained| *gained < MOST)
}

/// The lowest gain that is none.
const MOST: u64 = 1 << 53;

/// A gain per second.
pub fn per_second(gained: u64, elapsed_ns: u64) -> Option<f64> {
    (elapsed_ns > 0).then(|| gained as f64 * 1e9 / elapsed_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::{gain, gain_u32, per_second};

    #[test]
    fn wraps_and_restarts() {
        assert_eq!(gain_u32(4_294_967_290, 4), Some(10));
        assert_eq!(gain_u32(1000, 4), None, "a restarted counter is no wrap");
        assert_eq!(gain_u32(1000, 1004), Some(4));
        assert_eq!((gain(10, 9), gain(10, 17), gain(10, u64::MAX - 1)), (None, Some(7), None));
        assert_eq!(per_second(10, 0), None);
        assert_eq!(per_second(10, 2_000_000_000), Some(5.0));
    }
}
