//! Open files of a process and the most that it may have.

use super::file::read_once;
use crate::Cx;
use crate::parse::{fields, lines, number, whole_lines};
use topotop_model::Num;

/// Descriptors of one process that are counted one by one, at most: kernels before 6.2 do not tell how many there are.
const MOST: u64 = 4096;

/// Counts open files; leaves alone what is dear to count and what may not be read.
pub(super) fn count(cx: &mut Cx<'_>, pid: u32, slot: usize, files: &mut Num, limit: &Num) {
    let dir = format!("proc/{pid}/fd");
    let counted = cx.root.directory_stat(&dir).ok().map(|stat| stat.size).filter(|size| *size > 0);
    let listed = || {
        let mut numbers = Vec::new();
        limit.value(slot).filter(|limit| *limit <= MOST)?;
        cx.root.numbers(&dir, &mut numbers).ok().map(|()| numbers.len() as u64)
    };
    files.set_or_clear(slot, counted.or_else(listed));
}

/// The soft limit of `proc/PID/limits`; no limit counts as unknown.
pub(super) fn limit(cx: &mut Cx<'_>, pid: u32) -> Option<u64> {
    read_once(cx.root, format_args!("proc/{pid}/limits"), cx.buf).ok()?;
    let line = lines(whole_lines(cx.buf).0).find_map(|line| line.strip_prefix(b"Max open files"))?;
    fields(line).next().and_then(number)
}

#[cfg(test)]
mod tests {
    use crate::live::{Captured, Live};
    use crate::{Cx, Demand, Root};
    use std::sync::Arc;
    use topotop_model::Num;

    #[test]
    fn files_are_counted_and_limits_parsed() {
        let dir = tempfile::tempdir().expect("a directory");
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max processes             95995                95995                processes \n\
                      Max open files            64                   4096                 files     \n";
        crate::testing::put(dir.path(), "proc/7/limits", limits);
        for file in ["0", "1", "2"] {
            crate::testing::put(dir.path(), format!("proc/7/fd/{file}"), "");
        }
        let root = Arc::new(Root::at(dir.path()).expect("a root"));
        let live: Arc<dyn Live> = Arc::new(Captured { root: Arc::clone(&root) });
        let mut cx = Cx { root: &root, live: &live, now_ns: 1, demand: &Demand::default(), buf: &mut Vec::new() };
        assert_eq!((super::limit(&mut cx, 7), super::limit(&mut cx, 8)), (Some(64), None));
        let (mut files, mut most) = (Num::default(), Num::default());
        most.set(0, 64);
        super::count(&mut cx, 7, 0, &mut files, &most);
        // What a directory of a disk is said to be large is not a number of files.
        assert_eq!(files.value(0), Some(3));
        super::count(&mut cx, 8, 0, &mut files, &most);
        assert_eq!(files.value(0), None);
    }
}
