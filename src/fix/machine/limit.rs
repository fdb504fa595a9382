//! Limits of memory that go down: below what cannot be reclaimed version 2 kills for it. Raising one is no trouble, taking
//! that back may be.

use super::Trouble;
use topotop_collectors::Root;
use topotop_collectors::probe::memory;
use topotop_model::locale::fix::machine as text;

/// Why a value must not be written to a file: it is a limit of memory, and the group holds more that stays.
pub(super) fn check(root: &Root, path: &str, value: &str) -> Result<(), Trouble> {
    let Some((group, name)) = path.rsplit_once('/') else { return Ok(()) };
    let usage = match name {
        "memory.max" => "memory.current",
        "memory.limit_in_bytes" => "memory.usage_in_bytes",
        _ => return Ok(()),
    };
    let Ok(limit) = value.parse::<u64>() else { return Ok(()) };
    let stuck = memory::stuck_bytes(root, &format!("{group}/memory.stat"), &format!("{group}/{usage}"));
    let stuck = stuck.map_err(|unread| Trouble::because(text::MightKill { why: &unread }.to_string()))?;
    if stuck <= limit {
        return Ok(());
    }
    Err(Trouble::because(text::WouldKill { stuck: &stuck, limit: &limit }.to_string()))
}

#[cfg(test)]
mod tests {
    use super::check;
    use topotop_collectors::Root;

    #[test]
    fn a_limit_that_would_kill_is_not_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let put = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("written");
        put("memory.current", "1000\n");
        put("memory.stat", "active_file 200\ninactive_file 300\n");
        let root = Root::at(dir.path()).expect("a root");
        let refused = |path: &str, value: &str| check(&root, path, value).is_err();
        assert!(refused("/memory.max", "499"));
        assert!(!refused("/memory.max", "500") && !refused("/memory.max", "max") && !refused("/memory.high", "1"));
        std::fs::remove_file(dir.path().join("memory.stat")).expect("removed");
        assert!(refused("/memory.max", "500"), "unknown is not safe");
    }
}
