//! One budget for descriptors that stay open: each kept proc or cgroup file costs about 4.4 KiB of kernel memory.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most descriptors that all collectors together keep for rows (processes, threads, control groups).
const MOST: usize = 8192;
/// Left for everything else: libraries, pipes, system files.
const SPARE: u64 = 256;

static KEPT: AtomicUsize = AtomicUsize::new(0);
static LIMIT: OnceLock<(usize, Rlimit)> = OnceLock::new();

/// The right to keep one descriptor; dropping it gives the right back.
#[derive(Debug)]
pub struct Reserved(());

impl Drop for Reserved {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reserves one descriptor; none when the budget is used up: then open, read and close.
pub fn reserve() -> Option<Reserved> {
    take(&KEPT, most()).then_some(Reserved(()))
}

/// Counts one more, unless that is too many.
fn take(kept: &AtomicUsize, most: usize) -> bool {
    kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |kept| (kept < most).then_some(kept + 1)).is_ok()
}

/// How many descriptors may be kept.
fn most() -> usize {
    limits().0
}

/// RLIMIT_NOFILE as this program was started with it: what the programs that it starts are to have.
pub fn original() -> Rlimit {
    limits().1
}

/// What may be kept and the original limit; the first time, raises the soft RLIMIT_NOFILE to the hard one.
fn limits() -> &'static (usize, Rlimit) {
    LIMIT.get_or_init(|| {
        let original = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: original.maximum, maximum: original.maximum };
        let now = if setrlimit(Resource::Nofile, raised).is_ok() { original.maximum } else { original.current };
        let room = now.unwrap_or(u64::MAX).saturating_sub(SPARE);
        (usize::try_from(room).unwrap_or(usize::MAX).min(MOST), original)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn gives_no_more_than_there_are() {
        let kept = AtomicUsize::new(6);
        assert_eq!([(); 3].map(|()| super::take(&kept, 8)), [true, true, false]);
        assert_eq!(kept.into_inner(), 8);
    }
}
