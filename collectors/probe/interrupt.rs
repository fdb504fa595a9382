//! Where an interrupt may go. Drivers give their interrupts other numbers when queues come and go: the names of their
//! actions stay.

use super::identity::actions_of;
use super::{Unread, file};
use crate::Root;
use std::collections::BTreeSet;
use topotop_model::Reason;
use topotop_model::locale::fix::machine as text;

/// Interrupts searched for a name, at most.
const MOST: usize = 65_536;

/// Its CPUs as a list.
pub(super) fn value(root: &Root, irq: u32, actions: &str) -> Result<String, Unread> {
    file::value(root, &path(number(root, irq, actions)?))
}

/// The file that has them.
pub(super) fn path(irq: u32) -> String {
    format!("/proc/irq/{irq}/smp_affinity_list")
}

/// The number that has these actions now: the one that had them, else the only other one.
pub(super) fn number(root: &Root, irq: u32, actions: &str) -> Result<u32, Unread> {
    let wanted = names(actions);
    let has = |irq: u32| actions_of(root, irq).is_some_and(|now| names(&now) == wanted);
    if has(irq) {
        return Ok(irq);
    }
    if wanted.is_empty() {
        return Err(Unread::because(text::UnnamedIrq { irq: &irq }.to_string()));
    }
    let mut numbers = Vec::new();
    root.numbers("proc/irq", &mut numbers).map_err(|reason: Reason| Unread::file("proc/irq", reason))?;
    let mut found = numbers.into_iter().take(MOST).filter(|number| has(*number));
    match (found.next(), found.next()) {
        (Some(number), None) => Ok(number),
        (None, _) => Err(Unread::because(text::NoIrq { actions: &actions, irq: &irq }.to_string())),
        (Some(_), Some(_)) => Err(Unread::because(text::SeveralIrqs { actions: &actions, irq: &irq }.to_string())),
    }
}

fn names(actions: &str) -> BTreeSet<&str> {
    actions.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use crate::Root;
    use crate::probe::values;
    use crate::testing;
    use std::path::Path;
    use topotop_model::fix::Target;

    fn put(dir: &Path, irq: u32, actions: &str, cpus: &str) {
        for (path, text) in [
            (format!("sys/kernel/irq/{irq}/actions"), format!("{actions}\n")),
            (format!("proc/irq/{irq}/smp_affinity_list"), format!("{cpus}\n")),
        ] {
            testing::put(dir, &path, &text);
        }
    }

    #[test]
    fn they_are_found_again_by_their_names() {
        let dir = tempfile::tempdir().expect("a directory");
        put(dir.path(), 41, "eth0-rx-1", "1");
        put(dir.path(), 52, "eth0-rx-0", "5");
        put(dir.path(), 60, "twice", "6");
        put(dir.path(), 61, "twice", "7");
        put(dir.path(), 62, "b,a", "0-3");
        let root = Root::at(dir.path()).expect("a root");
        let read = |irq, actions: &str| {
            let values = values(&root, &Target::Interrupt { irq, actions: actions.to_owned() });
            values.map(|values| values[0].1.clone()).map_err(|unread| unread.why)
        };
        assert_eq!(read(41, "eth0-rx-1").as_deref(), Ok("1"));
        assert_eq!(read(41, "eth0-rx-0").as_deref(), Ok("5"), "its number is another one's now");
        assert_eq!(read(99, "eth0-rx-1").as_deref(), Ok("1"));
        assert_eq!(read(60, "twice").as_deref(), Ok("6"));
        assert_eq!(read(62, "a, b").as_deref(), Ok("0-3"));
        assert_eq!(read(41, "twice"), Err("several IRQs belong to twice now, none of them 41".to_owned()));
        assert_eq!(read(41, "eth0-rx-2"), Err("no IRQ belongs to eth0-rx-2 now (was 41)".to_owned()));
        assert!(read(41, "").is_err());
    }
}
