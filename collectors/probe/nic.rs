//! Driver settings of an interface: channels, rings, the RSS table. No file has them: the kernel is asked.

use super::Unread;
use crate::Root;
use crate::live::Channels;
use crate::sys::ethtool;
use std::fmt::Write as _;
use topotop_model::Reason;
use topotop_model::locale::fix::machine as text;

/// `combined 4`, `rx 2 tx 2`: the kinds that the driver has.
pub(super) fn channels(root: &Root, nic: &str) -> Result<String, Unread> {
    let channels = asked(root, nic, "ethtool -l", ethtool::channels)?;
    formatted(nic, [("combined", channels.combined), ("rx", channels.rx), ("tx", channels.tx)])
}

/// `rx 1024 tx 1024`.
pub(super) fn rings(root: &Root, nic: &str) -> Result<String, Unread> {
    let Channels { rx, tx, .. } = asked(root, nic, "ethtool -g", ethtool::rings)?;
    formatted(nic, [("rx", rx), ("tx", tx), ("", (0, 0))])
}

/// `equal 4` where the queues take turns, else `queue*entries` in order.
pub(super) fn rss_table(root: &Root, nic: &str) -> Result<String, Unread> {
    asked(root, nic, "ethtool -x", ethtool::indirection).map(|table| table_text(&table))
}

fn asked<T>(root: &Root, nic: &str, by: &str, ask: fn(&str) -> Result<T, Reason>) -> Result<T, Unread> {
    if !root.is_live() {
        return Err(Unread::because(text::NeedsLive { nic: &nic, tool: &by }.to_string()));
    }
    ask(nic).map_err(|reason| match reason {
        Reason::NotSupported => Unread::because(text::NotSupported { nic: &nic, tool: &by }.to_string()),
        Reason::NotFound | Reason::Vanished => Unread::because(text::Gone { name: &nic }.to_string()),
        reason => Unread::because(format!("{nic}: {by}: {}", reason.text())),
    })
}

fn formatted(nic: &str, kinds: [(&str, (u32, u32)); 3]) -> Result<String, Unread> {
    let known = kinds.iter().filter(|(_, (_, most))| *most > 0);
    let text: Vec<String> = known.map(|(kind, (now, _))| format!("{kind} {now}")).collect();
    if text.is_empty() {
        Err(Unread::because(text::NothingToSet { nic: &nic }.to_string()))
    } else {
        Ok(text.join(" "))
    }
}

fn table_text(table: &[u32]) -> String {
    let queues = table.iter().max().map_or(0, |last| last.saturating_add(1));
    if queues > 0 && table.iter().zip((0..queues).cycle()).all(|(entry, queue)| *entry == queue) {
        return format!("equal {queues}");
    }
    let mut text = String::new();
    for run in table.chunk_by(|a, b| a == b) {
        if let Some(queue) = run.first() {
            // A text takes whatever is written to it.
            let _ = write!(text, "{}{queue}*{}", if text.is_empty() { "" } else { " " }, run.len());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::table_text;
    use crate::Root;
    use crate::probe::values;
    use topotop_model::fix::Target;

    #[test]
    fn tables_are_short() {
        assert_eq!(table_text(&[0, 1, 2, 0, 1, 2, 0]), "equal 3");
        assert_eq!(table_text(&[0; 128]), "equal 1");
        assert_eq!(table_text(&[0, 0, 1, 0]), "0*2 1*1 0*1");
        assert_eq!(table_text(&[u32::MAX]), "4294967295*1");
        assert_eq!(table_text(&[]), "");
    }

    #[test]
    fn captured_machines_are_not_asked() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = Root::at(dir.path()).expect("a root");
        for target in [Target::Channels { nic: "lo".into() }, Target::RssTable { nic: "lo".into() }] {
            let unread = values(&root, &target).expect_err("nothing");
            assert!(unread.why.contains("capture"), "{unread}");
        }
        let live = Root::live().expect("this machine");
        let none = values(&live, &Target::Rings { nic: "no-such-nic".into() }).expect_err("nothing");
        assert_eq!(none.why, "no-such-nic is gone");
        assert!(values(&live, &Target::Channels { nic: "lo".into() }).is_err());
    }
}
