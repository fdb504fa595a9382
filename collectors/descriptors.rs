//! One budget for descriptors that stay open: each kept proc or cgroup file costs about 4.4 KiB of kernel memory.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most descriptors that all collectors together keep for rows (processes, threads, control groups).
const MOST: usize = 8192;
/// Left for everything else: libraries, pipes, system files.
const SPARE: u64 = 256;

static KEPT: AtomicUsize = AtomicUsize::new(0);
static LIMITS: OnceLock<(Rlimit, usize)> = OnceLock::new();

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
    let most = limits().1;
    KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |kept| (kept < most).then_some(kept + 1)).ok()?;
    Some(Reserved(()))
}

/// The soft and hard RLIMIT_NOFILE that this program was started with: its children get them back.
pub fn original_limit() -> Rlimit {
    limits().0
}

/// Raises the soft RLIMIT_NOFILE to the hard one, once, and tells how many descriptors may be kept.
fn limits() -> &'static (Rlimit, usize) {
    LIMITS.get_or_init(|| {
        let original = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: original.maximum, maximum: original.maximum };
        let now = if setrlimit(Resource::Nofile, raised).is_ok() { original.maximum } else { original.current };
        let room = now.unwrap_or(u64::MAX).saturating_sub(SPARE);
        (original, usize::try_from(room).unwrap_or(usize::MAX).min(MOST))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn gives_back_what_was_reserved() {
        let reserved: Vec<_> = std::iter::repeat_with(super::reserve).take(10).collect();
        assert!(reserved.iter().all(Option::is_some));
        drop(reserved);
        assert!(super::original_limit().current.is_some() || super::original_limit().maximum.is_none());
    }
}
