//! How fast a terminal that answers nothing draws, by what it takes. A pseudo-terminal holds some kilobytes: nothing is known
//! before it is full, and from then on the rate at which it takes more is the rate at which it draws.

/// The most that a pseudo-terminal holds: 12 to 17 KiB, by kernel (drivers/tty/pty.c, n_tty.c).
const HOLDS: u64 = 18 << 10;
/// Bytes a second of the slowest line that pictures are made for.
const SLOWEST: u64 = 1 << 10;
/// More bytes a second than a slow line draws: a modem has less.
const TRIED: u64 = SLOWEST * 7 / 2;
/// A line that takes more bytes a second than this is not waited for.
const FAST: u64 = 16 << 10;
/// One that takes fewer is waited for as if it took these.
const LEAST: u64 = 256;
/// What may be taken at once as some is drawn.
const STEP: u64 = 4 << 10;
/// Bytes are counted for so long at least: a terminal that was busy takes them all at once afterwards.
const SPAN_NS: u64 = 400_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// What is known of the terminal's speed.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes that it had taken when it was last looked at.
    taken: u64,
    /// True from when it was full until it has taken the last byte.
    full: bool,
    /// Since when.
    full_ns: u64,
    /// Times and bytes at which it first took some since, and last.
    moves: Option<[(u64, u64); 2]>,
    /// The most that it has taken at once since.
    step: u64,
    /// Bytes a second, if it is slow.
    slow: Option<u64>,
    /// When what it took is drawn.
    drawn_ns: u64,
    /// When it was last looked at, and what it would then have held if it drew [`TRIED`].
    looked_ns: u64,
    held: u64,
    /// True once it took more than a slow line could.
    tried: bool,
}

impl Pace {
    /// Looks at how many bytes it has taken in all, and whether there are more for it.
    pub(super) fn look(&mut self, now_ns: u64, taken: u64, more: bool) {
        let new = taken.saturating_sub(self.taken);
        self.taken = taken;
        let drawn = now_ns.saturating_sub(self.looked_ns).saturating_mul(TRIED) / SECOND_NS;
        self.held = self.held.saturating_sub(drawn).saturating_add(new);
        self.looked_ns = now_ns;
        if !more && !self.full {
            self.tried |= self.held > HOLDS;
            return self.took(now_ns, new);
        }
        if !self.full {
            self.full_ns = now_ns;
        }
        // The bytes that filled it say nothing about its speed.
        if self.full && new > 0 {
            let first = self.moves.map_or((now_ns, taken), |[first, _]| first);
            self.step = if self.moves.is_some() { self.step.max(new) } else { new };
            // The last bytes were all that was left, not all that there was room for.
            let room = if more { taken } else { (taken - new).saturating_add(self.step) };
            self.moves = Some([first, (now_ns, room)]);
        }
        self.full = more;
        if !more {
            self.emptied(now_ns);
        }
    }

    /// True once what it took is drawn, as far as can be told.
    pub(super) fn is_drawn(&self, now_ns: u64) -> bool {
        self.slow.is_none() || now_ns >= self.drawn_ns
    }

    /// True while it took so little that it may still be slow.
    pub(super) fn may_be_slow(&self) -> bool {
        self.slow.is_none() && !self.tried
    }

    /// It took bytes without being full.
    fn took(&mut self, now_ns: u64, bytes: u64) {
        if bytes > HOLDS + STEP {
            self.slow = None;
        }
        if let Some(rate) = self.slow {
            self.drawn_ns = self.drawn_ns.max(now_ns).saturating_add(bytes.saturating_mul(SECOND_NS) / rate);
        }
    }

    /// It was full and has taken the last byte.
    fn emptied(&mut self, now_ns: u64) {
        if let Some(rate) = self.measured() {
            self.slow = Some(rate.max(LEAST)).filter(|rate| *rate < FAST);
            self.tried |= self.slow.is_none();
        } else if now_ns.saturating_sub(self.full_ns) < SPAN_NS {
            self.tried |= self.held > HOLDS;
        } else {
            // It is slow, and what was left went in at once: the next picture tells how slow.
            self.held = 0;
        }
        if let Some(rate) = self.slow {
            self.drawn_ns = now_ns + HOLDS * SECOND_NS / rate;
        }
    }

    /// Bytes a second while it was full; none where they were taken at once or in too short a time.
    fn measured(&mut self) -> Option<u64> {
        let [(since, before), (until, after)] = self.moves.take()?;
        let span = until.saturating_sub(since);
        let bytes = u128::from(after.saturating_sub(before)) * u128::from(SECOND_NS);
        (span >= SPAN_NS).then(|| (bytes / u128::from(span)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{HOLDS, Pace, SECOND_NS};

    /// A terminal that holds 18 KiB and draws at a rate; how many bytes it had not drawn when the next picture was due.
    fn left(rate: u64, pictures: &[u64]) -> Vec<u64> {
        let (mut pace, mut sent, mut taken, mut drawn) = (Pace::default(), 0, 0, 0u64);
        let (mut left, mut pictures) = (Vec::new(), pictures.iter());
        for step in 0.. {
            let now_ns = step * 20_000_000;
            drawn = taken.min(drawn + rate / 50);
            // Space is free in steps of a kilobyte.
            taken = sent.min(taken.max((drawn >> 10 << 10) + HOLDS));
            pace.look(now_ns, taken, taken < sent);
            if taken == sent && pace.is_drawn(now_ns) {
                left.push(taken - drawn);
                let Some(picture) = pictures.next() else { return left };
                sent += picture;
            }
        }
        left
    }

    #[test]
    fn a_slow_line_is_waited_for_once_it_was_full() {
        for rate in [500, 1024, 5000] {
            let left = left(rate, &[3000, 8000, 7000, 9000, 200, 20_000, 300, 300]);
            assert!(left[4..].iter().all(|left| *left < 1024), "{rate}: {left:?}");
        }
    }

    #[test]
    fn a_fast_line_is_not_waited_for() {
        let left = left(1 << 20, &[3000, 8000, 7000, 9000, 200, 20_000, 300, 300]);
        assert!(left[1..].iter().all(|left| *left > 0), "{left:?}");
    }

    #[test]
    fn what_was_left_at_the_end_is_no_slower_line() {
        let mut pace = Pace::default();
        pace.look(0, HOLDS, true);
        pace.look(SECOND_NS, HOLDS + 4000, true);
        pace.look(2 * SECOND_NS, HOLDS + 4050, false);
        let drawn_ns = 2 * SECOND_NS + HOLDS * SECOND_NS / 4000;
        assert!(!pace.is_drawn(drawn_ns - 1) && pace.is_drawn(drawn_ns));
    }

    #[test]
    fn a_slow_line_that_takes_the_rest_at_once_is_tried_again() {
        let mut pace = Pace::default();
        pace.look(0, HOLDS, true);
        pace.look(3 * SECOND_NS, HOLDS + 3000, false);
        assert!(pace.may_be_slow());
        let mut fast = Pace::default();
        fast.look(0, HOLDS, true);
        fast.look(1000, HOLDS + 3000, false);
        assert!(!fast.may_be_slow());
    }

    #[test]
    fn who_was_busy_and_takes_all_at_once_is_not_slow() {
        let mut pace = Pace::default();
        pace.look(0, HOLDS, true);
        pace.look(5 * SECOND_NS, HOLDS + 8000, true);
        pace.look(5 * SECOND_NS + 1000, HOLDS + 9000, false);
        assert!(pace.is_drawn(5 * SECOND_NS + 1000));
    }

    #[test]
    fn a_line_that_became_fast_is_not_waited_for() {
        let mut pace = Pace::default();
        for second in 0..5 {
            pace.look(second * SECOND_NS, HOLDS + second * 1000, second < 4);
        }
        assert!(!pace.is_drawn(22 * SECOND_NS));
        assert!(pace.is_drawn(23 * SECOND_NS));
        pace.look(23 * SECOND_NS, HOLDS + 4000 + 30_000, false);
        assert!(pace.is_drawn(23 * SECOND_NS));
    }
}
