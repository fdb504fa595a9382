//! What the name of an interrupt's action says of the queues behind it. Drivers agree on little: `eth0-TxRx-0`,
//! `i40e-eth0-TxRx-0`, `mlx5_comp0@pci:0000:01:00.0`, `eth0-Tx-Rx-7`, `eth0-5`, `enp5s0f4d1 (queue 11)`, `eth0-q0-rx`,
//! `virtio0-input.0`. Vectors for links, mailboxes, flow director or RDMA serve no queue.

use crate::text::words;

/// Which way a queue's packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    Rx,
    Tx,
    Both,
}

/// What a vector serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Serves {
    /// A queue, or one in each direction; the number is unknown where the name was cut off.
    Queues(Vec<(Way, Option<u32>)>),
    /// Every queue of the interface.
    All,
    /// Only the interface's name: the sole vector of the interface, or its link vector.
    Bare,
    /// One block of gve: the lower half sends, the upper half receives.
    Block(u32),
    /// Something else than packets.
    Control,
    /// No name: nothing asked for this vector yet, or polling took its place.
    Unnamed,
}

/// Words that say that a vector serves no queue.
const CONTROL: [&str; 37] = [
    "misc",
    "async",
    "fdir",
    "ctrl",
    "control",
    "mbx",
    "mailbox",
    "mgmnt",
    "mgmt",
    "config",
    "event",
    "aeq",
    "ceq",
    "cmd",
    "pages",
    "hwc",
    "rbdr",
    "err",
    "lsc",
    "link",
    "mac",
    "wol",
    "lpi",
    "ptp",
    "other",
    "admin",
    "eq",
    "stats",
    "sriov",
    "pf",
    "health",
    "xdp",
    "safety",
    "timestamp",
    "oicr",
    "irdma",
    "synce",
];

/// What an action serves. `nic` is the interface's name; it is left out of the search for words.
pub(super) fn serves(action: &str, nic: &str) -> Serves {
    let action = action.trim();
    if action.is_empty() {
        return Serves::Unnamed;
    }
    if action == nic {
        return Serves::Bare;
    }
    let own = without_name(action, nic);
    let text = own.as_deref().unwrap_or(action);
    // `mlx5_comp0@pci:0000:01:00.0`: what follows is where, not what.
    let text = text.split('@').next().unwrap_or(text);
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = words(&lower).collect();
    if words.iter().any(|word| CONTROL.contains(word)) {
        return Serves::Control;
    }
    if words.contains(&"virtqueues") {
        return Serves::All;
    }
    if words.contains(&"ntfy") {
        return last_number(&lower).map_or(Serves::Control, Serves::Block);
    }
    let found = directions(&words);
    if !found.is_empty() {
        return Serves::Queues(found);
    }
    match trailing(&lower) {
        Some(number) => Serves::Queues(vec![(Way::Both, Some(number))]),
        None => Serves::Control,
    }
}

/// True if an action is the interface's: its name stands there as a whole, so that eth1 is not found in eth10-rx-0.
pub(super) fn is_of(action: &str, nic: &str) -> bool {
    position(action.trim(), nic).is_some()
}

/// True if an action belongs to a virtio device.
pub(super) fn is_of_virtio(action: &str, device: &str) -> bool {
    action.trim().strip_prefix(device).is_some_and(|rest| rest.starts_with('-'))
}

/// The directions and numbers that words spell, from the last group of them: `tx rx 7`, `tx 0 rx 3`, `q 1 rx`.
fn directions(words: &[&str]) -> Vec<(Way, Option<u32>)> {
    let mut found: Vec<(Way, Option<u32>)> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let next = words.get(at + 1).copied();
        let number = next.and_then(number);
        let before = at.checked_sub(1).and_then(|at| words.get(at)).copied().and_then(self::number);
        let queued = at >= 2 && words.get(at - 2).is_some_and(|word| matches!(*word, "q" | "queue"));
        let way = match *word {
            "tx" | "rx" if next == Some(if *word == "tx" { "rx" } else { "tx" }) => {
                found.push((Way::Both, words.get(at + 2).copied().and_then(self::number)));
                at += 2;
                continue;
            }
            "rx" | "rxq" | "input" => Some(Way::Rx),
            "tx" | "txq" | "output" => Some(Way::Tx),
            "txrx" | "rxtx" | "fp" | "comp" => Some(Way::Both),
            "q" | "qp" | "queue"
                if number.is_some() && !words.get(at + 2).is_some_and(|w| matches!(*w, "rx" | "tx")) =>
            {
                Some(Way::Both)
            }
            _ => None,
        };
        if let Some(way) = way {
            found.push((way, number.or(before.filter(|_| queued))));
        }
        at += 1;
    }
    // `rx` may be part of a name that is not this interface's: then the last word is the one that counts.
    let numbered: Vec<_> = found.iter().copied().filter(|queue| queue.1.is_some()).collect();
    match (numbered.as_slice(), found.last()) {
        ([.., a, b], _) if a.0 != b.0 && a.0 != Way::Both && b.0 != Way::Both => vec![*a, *b],
        ([.., last], _) | ([], Some(last)) => vec![*last],
        ([], None) => Vec::new(),
    }
}

fn number(word: &str) -> Option<u32> {
    word.parse().ok().filter(|&number| number <= 65_535)
}

/// `7` of `eth6-7`.
fn trailing(text: &str) -> Option<u32> {
    let (_, tail) = text.trim_end().rsplit_once('-')?;
    tail.bytes().all(|byte| byte.is_ascii_digit()).then(|| number(tail)).flatten()
}

fn last_number(text: &str) -> Option<u32> {
    words(text).filter_map(number).last()
}

/// The action without the interface's name.
fn without_name(action: &str, nic: &str) -> Option<String> {
    let at = position(action, nic)?;
    let (head, tail) = (action.get(..at)?, action.get(at + nic.len()..)?);
    Some(format!("{head}{tail}"))
}

/// Where an interface's whole name stands in an action.
fn position(action: &str, nic: &str) -> Option<usize> {
    if nic.is_empty() {
        return None;
    }
    let ends = |c: Option<char>| c.is_none_or(|c| matches!(c, '-' | ':' | '@' | ' ' | '_' | '(' | ','));
    action.match_indices(nic).map(|(at, _)| at).find(|&at| {
        ends(action.get(..at).and_then(|head| head.chars().next_back()))
            && ends(action.get(at + nic.len()..).and_then(|tail| tail.chars().next()))
    })
}

#[cfg(test)]
mod tests {
    use super::Way::{Both, Rx, Tx};
    use super::{Serves, is_of, is_of_virtio, serves};
    use proptest::prelude::*;

    #[test]
    fn queues_of_many_drivers() {
        for (nic, action, way, number) in [
            ("eno1", "eno1-TxRx-0", Both, Some(0)),
            ("eth0", "eth0-rx-3", Rx, Some(3)),
            ("eth0", "eth0-tx-12", Tx, Some(12)),
            ("ens7f0", "i40e-ens7f0-TxRx-31", Both, Some(31)),
            ("enp195s0f0", "i40e-eth0-TxRx-4", Both, Some(4)),
            ("ens3f0", "ice-ens3f0-TxRx-9", Both, Some(9)),
            ("eth1", "idpf-eth1-Tx-5", Tx, Some(5)),
            ("eth0", "mlx5_comp17@pci:0000:01:00.0", Both, Some(17)),
            ("eth0", "mlx4-comp-2@pci:0000:13:00.0", Both, Some(2)),
            ("eth0", "mlx4-1@0000:13:00.0", Both, Some(1)),
            ("eth6", "eth6-7", Both, Some(7)),
            ("eth0", "eth0-Tx-Rx-7", Both, Some(7)),
            ("enp4s0f0np0", "enp4s0f0np0-TxRx-", Both, None),
            ("eth3", "eth3-fp-2", Both, Some(2)),
            ("enp5s0f4d1", "enp5s0f4d1 (queue 11)", Both, Some(11)),
            ("eth0", "mana_q3@pci:7870:00:00.0", Both, Some(3)),
            ("eth0", "virtio0-input.2", Rx, Some(2)),
            ("eth0", "virtio0-output.2", Tx, Some(2)),
            ("ens34", "ens34-rxtx-1", Both, Some(1)),
            ("eth0", "hns3-0000:7d:00.0-TxRx-2", Both, Some(2)),
            ("eth0", "eth0-q1-tx", Tx, Some(1)),
            ("vif26.0", "vif26.0-q1-rx", Rx, Some(1)),
            ("eth0", "eth0:rx-0", Rx, Some(0)),
            ("rx0", "rx0-TxRx-4", Both, Some(4)),
            ("ctrl", "ctrl-rx-1", Rx, Some(1)),
        ] {
            assert_eq!(serves(action, nic), Serves::Queues(vec![(way, number)]), "{action}");
        }
    }

    #[test]
    fn vectors_of_other_kinds() {
        assert_eq!(serves("eth0-tx-0-rx-3", "eth0"), Serves::Queues(vec![(Tx, Some(0)), (Rx, Some(3))]));
        assert_eq!(serves("gve-ntfy-blk5@pci:0000:00:04.0", "eth0"), Serves::Block(5));
        assert_eq!(serves("eth%d-ntfy-block.3", "eth0"), Serves::Block(3));
        assert_eq!(serves("virtio1-virtqueues", "eth0"), Serves::All);
        assert_eq!(serves("eth0", "eth0"), Serves::Bare);
        assert_eq!(serves("", "eth0"), Serves::Unnamed);
        for control in [
            "i40e-0000:c3:00.0:misc",
            "i40e-0000:c3:00.0:fdir-TxRx-0",
            "ice-0000:65:00.0:ctrl-TxRx-0",
            "irdma-0000:4b:00.0-CEQ-1",
            "irdma-0000:4b:00.0-AEQ",
            "iavf-0000:3b:0b.0:mbx",
            "idpf-Mailbox-0",
            "mlx5_async0@pci:0000:01:00.0",
            "mlx5_cmd_eq@pci:0000:01:00.0",
            "mlx5_pages_eq@pci:0000:01:00.0",
            "mlx4-async@pci:0000:13:00.0",
            "ena-mgmnt@pci:0000:27:00.0",
            "gve-mgmnt@pci:0000:00:04.0",
            "mana_hwc@pci:7870:00:00.0",
            "virtio0-config",
            "ens34-event-2",
            "eth0-rbdr-0",
            "eth0-qset-err-0",
            "hclge-misc-0000:7d:00.2",
            "eth0:mac",
        ] {
            assert_eq!(serves(control, "eth0"), Serves::Control, "{control}");
        }
    }

    #[test]
    fn names_match_as_a_whole() {
        assert!(is_of("eth1-rx-0", "eth1") && is_of("i40e-eth1-TxRx-0", "eth1") && is_of("eth1", "eth1"));
        for other in ["eth10-rx-0", "veth1-rx-0", "eth1.5-rx-0", "peth1"] {
            assert!(!is_of(other, "eth1"), "{other}");
        }
        assert!(is_of_virtio("virtio1-input.0", "virtio1") && !is_of_virtio("virtio10-input.0", "virtio1"));
    }

    proptest! {
        #[test]
        fn no_text_panics(action in ".*", nic in ".*") {
            let _ = (serves(&action, &nic), is_of(&action, &nic), is_of_virtio(&action, &nic));
            let _ = serves(&format!("{nic}-{action}"), &nic);
        }
    }
}
