//! Page cache that is taken from a control group, a little at a time: asked for more than it has, the kernel drops
//! everything and says EAGAIN.

use super::{Progress, Trouble, file};
use rustix::io::Errno;
use std::ops::ControlFlow;
use topotop_collectors::Root;
use topotop_collectors::probe::memory;
use topotop_model::fix::{Identity, reclaim_step};
use topotop_model::locale::fix::machine as text;

/// Less than this is not asked for.
const LEAST: u64 = 1 << 20;

/// Takes so many bytes; what is cold is read again before each step, so that no step asks for more than there is.
pub(super) fn write(
    root: &Root,
    path: &str,
    value: &str,
    whose: &[Identity],
    tell: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<(), Trouble> {
    let of: u64 = value.parse().map_err(|_| Trouble::invalid(value))?;
    let stat = path.rsplit_once('/').map(|(group, _)| format!("{group}/memory.stat"));
    let stat = stat.ok_or_else(|| Trouble::invalid(path))?;
    let mut cold = || memory::cold_bytes(root, &stat).map_err(|unread| Trouble::because(unread.to_string()));
    let mut ask = |bytes: u64| file::write(path, &bytes.to_string(), whose);
    run(of, &mut cold, &mut ask, tell)
}

/// The steps, whoever takes the memory.
fn run(
    of: u64,
    cold: &mut dyn FnMut() -> Result<u64, Trouble>,
    ask: &mut dyn FnMut(u64) -> Result<(), Trouble>,
    tell: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<(), Trouble> {
    let mut done = 0;
    let partly = |done: u64, why: &dyn std::fmt::Display| {
        Trouble::because(text::PartlyReclaimed { done: &done, total: &of, why }.to_string())
    };
    while done < of {
        let step = reclaim_step(of).min(of - done).min(cold()?);
        if step < LEAST.min(of) {
            return Err(partly(done, &text::NO_COLD_CACHE));
        }
        match ask(step) {
            Ok(()) => done += step,
            // Some of the step was reclaimed, and nothing tells how much: to go on would drop what is in use.
            Err(Trouble { errno: Some(errno), .. }) if errno == Errno::AGAIN.raw_os_error() => {
                return Err(Trouble { errno: Some(errno), ..partly(done, &text::FOUND_LESS) });
            }
            Err(trouble) if done == 0 => return Err(trouble),
            Err(trouble) => return Err(Trouble { errno: trouble.errno, ..partly(done, &trouble.message) }),
        }
        if tell(&Progress { done, of, unit: "bytes" }).is_break() && done < of {
            return Err(partly(done, &text::STOPPED));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Progress, Trouble, run};
    use rustix::io::Errno;
    use std::ops::ControlFlow;

    const MIB: u64 = 1 << 20;

    /// Reclaims from a group that has so much cold cache; what was asked for, and what came of it.
    fn reclaim(of: u64, cold: u64, fails_at: usize, stops_at: u64) -> (Vec<u64>, Result<(), Trouble>, u64) {
        let (mut asked, mut reported) = (Vec::new(), 0);
        let cell = std::cell::Cell::new(cold);
        let result = run(
            of,
            &mut || Ok(cell.get()),
            &mut |bytes| {
                asked.push(bytes);
                if asked.len() > fails_at {
                    return Err(Trouble::errno(Errno::AGAIN));
                }
                cell.set(cell.get() - bytes);
                Ok(())
            },
            &mut |progress: &Progress| {
                reported = progress.done;
                if progress.done >= stops_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        (asked, result, reported)
    }

    #[test]
    fn in_steps_to_the_byte() {
        let (asked, result, reported) = reclaim(100 * MIB, 1 << 30, 99, u64::MAX);
        assert_eq!(asked, [16, 16, 16, 16, 16, 16, 4].map(|mib| mib * MIB));
        assert_eq!((result, reported), (Ok(()), 100 * MIB));
        let (asked, result, _) = reclaim(4 << 30, 8 << 30, 99, u64::MAX);
        assert_eq!((asked.len(), result), (64, Ok(())));
    }

    #[test]
    fn never_more_than_is_cold() {
        let (asked, result, _) = reclaim(100 * MIB, 40 * MIB, 99, u64::MAX);
        assert_eq!(asked, [16, 16, 8].map(|mib| mib * MIB));
        let said = result.expect_err("partly").message;
        assert_eq!(said, "41943040 of 104857600 bytes were reclaimed: the rest of its page cache is active or dirty");
    }

    #[test]
    fn again_is_partly_done_and_ends_it() {
        let (asked, result, _) = reclaim(100 * MIB, 1 << 30, 2, u64::MAX);
        let trouble = result.expect_err("partly");
        assert_eq!((asked.len(), trouble.errno), (3, Some(Errno::AGAIN.raw_os_error())));
        assert!(trouble.message.starts_with("33554432 of 104857600 bytes were reclaimed"), "{trouble}");
    }

    #[test]
    fn it_stops_when_told_to() {
        let (asked, result, _) = reclaim(100 * MIB, 1 << 30, 99, 32 * MIB);
        assert_eq!(asked.len(), 2);
        assert_eq!(result.expect_err("stopped").message, "33554432 of 104857600 bytes were reclaimed: stopped");
    }
}
