//! I/O class and level of a process's threads, as words: `best-effort 7`.

use super::Unread;
use super::threads::{Ordinary, values_of};
use crate::Root;
use crate::sys::ioprio::ioprio;
use topotop_model::Reason;
use topotop_model::locale::fix::machine as text;

/// Classes of linux/ioprio.h, by number.
const CLASSES: [&str; 4] = ["none", "realtime", "best-effort", "idle"];

/// Of each thread; only a running kernel has it.
pub(super) fn values(root: &Root, pid: u32, starttime: u64) -> Result<Vec<(String, String)>, Unread> {
    if !root.is_live() {
        return Err(Unread::because(text::CAPTURE_IO_PRIORITIES));
    }
    let values = values_of(root, pid, starttime, priority)?;
    if values.is_empty() { Err(Unread::because(text::NoOrdinaryThread { pid: &pid }.to_string())) } else { Ok(values) }
}

/// Of one thread.
pub(super) fn priority(_: &Root, thread: &Ordinary) -> Result<String, Reason> {
    ioprio(thread.tid).map(words)
}

/// `best-effort 7` of a class and a level. A thread of no class has no level: before Linux 5.18 it reads as 4 where it
/// never had one, and is not taken back so.
pub fn words(value: u32) -> String {
    let (class, level) = (value >> 13, value & 0x7);
    let name = CLASSES.get(class as usize).copied().unwrap_or("unknown");
    format!("{name} {}", if class == 0 { 0 } else { level })
}

/// The class and level of words; none where they are none.
pub fn parse(words: &str) -> Option<u32> {
    let (class, level) = words.split_once(' ')?;
    let class = CLASSES.iter().position(|known| *known == class)? as u32;
    let level: u32 = level.parse().ok().filter(|level| *level <= 7)?;
    Some(class << 13 | level)
}

#[cfg(test)]
mod tests {
    use super::{parse, words};
    use proptest::prelude::*;

    #[test]
    fn classes_and_levels() {
        assert_eq!((words(0), words(2 << 13 | 7)), ("none 0".to_owned(), "best-effort 7".to_owned()));
        assert_eq!(words(4), "none 0");
        assert_eq!((parse("idle 0"), parse("best-effort 8"), parse("mad 1")), (Some(3 << 13), None, None));
    }

    proptest! {
        #[test]
        fn what_is_said_is_read_back(class in 1u32..4, level in 0u32..8) {
            prop_assert_eq!(parse(&words(class << 13 | level)), Some(class << 13 | level));
        }

        #[test]
        fn no_text_panics(text in ".{0,20}", value: u32) {
            let _ = (parse(&text), words(value));
        }
    }
}
