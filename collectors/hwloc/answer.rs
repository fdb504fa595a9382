//! The child's reply: one line per fact, the last line marks it as complete. It is as hostile as the tree it describes.

use crate::files::{MAX_ID, parse_list};
use crate::parse::{fields, lines, number, text, whole_lines};
use topotop_model::IdSet;

/// The first line.
pub(super) const START: &str = "topotop-hwloc 1";
/// The last line.
pub(super) const END: &str = "end";

/// The most facts of one kind.
const MOST: usize = 1 << 14;

/// The facts that libhwloc reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Groups of CPUs between machine and core.
    pub(crate) groups: Vec<IdSet>,
    /// Kinds of memory by node.
    pub(crate) tiers: Vec<(u32, String)>,
    /// Where PCI devices stand.
    pub(crate) devices: Vec<Device>,
}

/// The place of a PCI device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Device {
    /// Its address.
    pub(crate) address: String,
    /// CPUs next to it.
    pub(crate) cpus: IdSet,
    /// Distance of each node.
    pub(crate) distances: Vec<(u32, u64)>,
}

impl Answer {
    /// Parses an answer; none when it is not whole or a line of it is not what the child prints.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (whole, cut) = whole_lines(bytes);
        let mut lines = lines(whole);
        if cut || lines.next()? != START.as_bytes() {
            return None;
        }
        let mut answer = Self::default();
        for line in lines.by_ref() {
            if line == END.as_bytes() {
                return lines.next().is_none().then_some(answer);
            }
            answer.line(line)?;
        }
        None
    }

    fn line(&mut self, line: &[u8]) -> Option<()> {
        let mut parts = fields(line);
        match parts.next()? {
            b"group" if self.groups.len() < MOST => self.groups.push(set(parts.next()?)?),
            b"node" if self.tiers.len() < MOST => {
                let node = id(parts.next()?)?;
                let kind = parts.next().filter(|kind| kind.len() <= 32)?;
                self.tiers.push((node, text(kind).into_owned()));
            }
            b"pci" if self.devices.len() < MOST => {
                let address = text(parts.next()?).into_owned();
                let cpus = set(parts.next()?)?;
                let pair = |field: &[u8]| {
                    let at = field.iter().position(|&byte| byte == b'=')?;
                    let (node, far) = field.split_at_checked(at)?;
                    Some((id(node)?, number(far.get(1..)?)?))
                };
                self.devices.push(Device { address, cpus, distances: parts.map(pair).collect::<Option<_>>()? });
            }
            _ => return None,
        }
        Some(())
    }
}

fn id(field: &[u8]) -> Option<u32> {
    number(field).and_then(|id| u32::try_from(id).ok()).filter(|&id| id <= MAX_ID)
}

fn set(field: &[u8]) -> Option<IdSet> {
    let mut list = field.to_vec();
    list.push(b'\n');
    parse_list(&list).filter(|set| !set.is_empty())
}

#[cfg(test)]
mod tests {
    use super::Answer;
    use proptest::prelude::*;

    const TEXT: &str = "topotop-hwloc 1\ngroup 0-7,16\nnode 2 HBM\npci 0000:3b:00.0 0-7 0=10 1=21\n\
                        pci 0000:5e:00.0 8-15\nend\n";

    #[test]
    fn takes_whole_answers_only() {
        let answer = Answer::parse(TEXT.as_bytes()).expect("an answer");
        assert_eq!(answer.groups.first().map(ToString::to_string).as_deref(), Some("0-7,16"));
        assert_eq!(answer.tiers, [(2, "HBM".to_owned())]);
        assert_eq!(answer.devices.first().map(|device| device.distances.clone()), Some(vec![(0, 10), (1, 21)]));
        assert_eq!(Answer::parse(b"topotop-hwloc 1\nend\n"), Some(Answer::default()));
        for bad in ["", "end\n", "topotop-hwloc 2\nend\n", "topotop-hwloc 1\ngroup\nend\n", "topotop-hwloc 1\nx\nend\n"]
        {
            assert_eq!(Answer::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = Answer::parse(&bytes);
            let _ = Answer::parse(&[TEXT.as_bytes(), &bytes].concat());
        }

        #[test]
        fn cut_answers_are_none(cut in 0usize..TEXT.len()) {
            prop_assert_eq!(Answer::parse(&TEXT.as_bytes()[..cut]), None);
        }
    }
}
