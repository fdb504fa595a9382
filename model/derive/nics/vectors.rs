//! Which interrupts serve an interface, by the strongest evidence there is, and which queue each serves.

use super::evidence::function_of;
use super::names::{Serves, Way, is_of, is_of_virtio, serves};
use crate::frame::Frame;
use crate::tables::irqs::Irqs;
use std::collections::HashMap;
use std::sync::Arc;

/// MSI-X has at most this many vectors per function.
const MAX_VECTORS: usize = 2048;

/// The interrupts and what each hangs on.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// By PCI function: place in the frame's list, index of the vector, how that is known.
    by_function: HashMap<Arc<str>, Vec<(usize, u64, &'static str)>>,
    /// The function by place in the frame's list.
    functions: HashMap<usize, (Arc<str>, u64, &'static str)>,
}

/// What is known of an interface whose vectors are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) name: &'a str,
    pub(super) pci: Option<&'a str>,
    pub(super) virtio: Option<&'a str>,
    pub(super) msi_irqs: Option<&'a crate::IdSet>,
    /// True when no other interface hangs on its PCI function.
    pub(super) alone: bool,
    /// Queues by direction, where they are known.
    pub(super) rx: Option<u32>,
    pub(super) tx: Option<u32>,
}

/// A vector of an interface: place in the frame's list and how it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Vector {
    at: usize,
    index: u64,
    source: &'static str,
    serves: Serves,
}

/// The vectors of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Served {
    /// Place in the frame's list and evidence by direction and queue.
    pub(super) queues: HashMap<(Way, u32), (usize, &'static str)>,
    /// The one that serves every queue.
    pub(super) all: Option<(usize, &'static str)>,
    /// Every interrupt that is the interface's alone.
    pub(super) own: Vec<usize>,
}

impl Interrupts {
    /// Finds the function of each interrupt.
    pub(super) fn new(frame: &Frame, table: &Irqs) -> Self {
        let mut all = Self::default();
        for (at, irq) in frame.irqs.iter().enumerate() {
            let listed = table.device.get(irq.slot).filter(|device| !device.is_empty());
            let found = match listed {
                Some(device) => {
                    Some((Arc::clone(device), table.vector.value(irq.slot).unwrap_or_default(), "msi_irqs"))
                }
                None => function_of(&irq.chip, &table.hwirq.or_empty(irq.slot))
                    .map(|(address, index, source)| (Arc::from(address), index, source)),
            };
            if let Some((function, index, source)) = found {
                all.by_function.entry(Arc::clone(&function)).or_default().push((at, index, source));
                all.functions.insert(at, (function, index, source));
            }
        }
        all
    }

    /// The vectors of an interface and the queues that they serve.
    pub(super) fn served(&self, frame: &Frame, subject: &Subject<'_>) -> Served {
        let mut vectors = self.by_device(frame, subject);
        if !vectors.iter().any(|vector| useful(&vector.serves)) {
            let named = self.by_name(frame, subject);
            if !named.is_empty() {
                vectors = named;
            }
        }
        vectors.sort_by_key(|vector| (vector.index, vector.at));
        let mut served = assign(&vectors, subject);
        served.own = vectors.iter().map(|vector| vector.at).collect();
        served.own.dedup();
        served
    }

    /// Interrupts of the interface's PCI function.
    fn by_device(&self, frame: &Frame, subject: &Subject<'_>) -> Vec<Vector> {
        let mut found: Vec<(usize, u64, &'static str)> = Vec::new();
        if let Some(irqs) = subject.msi_irqs {
            for (rank, id) in irqs.iter().take(MAX_VECTORS).enumerate() {
                let Ok(at) = frame.irqs.binary_search_by_key(&id, |irq| irq.irq) else { continue };
                // Numbers within the function are better than ranks: a vector in the middle may be unused.
                let known = self.functions.get(&at).filter(|(_, _, source)| *source != "msi_irqs");
                found.push((at, known.map_or(rank as u64, |known| known.1), "msi_irqs"));
            }
        }
        if found.is_empty() {
            found.extend(subject.pci.and_then(|pci| self.by_function.get(pci)).into_iter().flatten());
        }
        let mut vectors = Vec::new();
        for (at, index, source) in found {
            let Some(irq) = frame.irqs.get(at) else { continue };
            for action in actions(&irq.name) {
                // Several interfaces may share one function: then a name decides where there is one.
                if subject.alone || is_of(action, subject.name) || !names_interface(action) {
                    vectors.push(Vector { at, index, source, serves: serves(action, subject.name) });
                }
            }
        }
        vectors
    }

    /// Interrupts that carry the interface's name, unless they are known to be another device's.
    fn by_name(&self, frame: &Frame, subject: &Subject<'_>) -> Vec<Vector> {
        let mut vectors = Vec::new();
        for (at, irq) in frame.irqs.iter().enumerate() {
            let function = self.functions.get(&at);
            if function.zip(subject.pci).is_some_and(|(function, pci)| *function.0 != *pci) {
                continue;
            }
            for action in actions(&irq.name) {
                let virtio = subject.virtio.is_some_and(|device| is_of_virtio(action, device) || action == device);
                if is_of(action, subject.name) || virtio {
                    let bare = virtio && subject.virtio == Some(action);
                    let serves = if bare { Serves::Bare } else { serves(action, subject.name) };
                    let index = function.map_or(u64::from(irq.irq), |function| function.1);
                    vectors.push(Vector { at, index, source: "name", serves });
                }
            }
        }
        vectors
    }
}

/// The actions of an interrupt: several where it is shared. One without a name is an action too.
fn actions(name: &str) -> impl Iterator<Item = &str> {
    name.split(", ")
}

/// False for names that say the function at most: `mlx4-1@0000:13:00.0`, `mlx5_comp3@pci:0000:01:00.0`.
fn names_interface(action: &str) -> bool {
    !(action.is_empty() || action.contains('@') || action.starts_with("mlx") || action.starts_with("hns3-"))
}

fn useful(serves: &Serves) -> bool {
    matches!(serves, Serves::Queues(_) | Serves::All | Serves::Block(_) | Serves::Bare)
}

/// Gives each queue its vector.
fn assign(vectors: &[Vector], subject: &Subject<'_>) -> Served {
    let mut served = Served::default();
    for way in [Way::Rx, Way::Tx, Way::Both] {
        numbered(vectors, way, subject, &mut served);
    }
    blocks(vectors, &mut served);
    if served.queues.is_empty() {
        unnamed(vectors, subject, &mut served);
    }
    if served.queues.is_empty() {
        let all = vectors.iter().find(|vector| matches!(vector.serves, Serves::All));
        let bare = || {
            let mut bare = vectors.iter().filter(|vector| matches!(vector.serves, Serves::Bare));
            let first = bare.next();
            first.filter(|_| bare.next().is_none())
        };
        served.all = all.or_else(bare).map(|vector| (vector.at, vector.source));
    }
    served
}

/// Queues by the number in the name, or by rank where the numbers cannot be queues'.
fn numbered(vectors: &[Vector], way: Way, subject: &Subject<'_>, served: &mut Served) {
    let mut found: Vec<(Option<u32>, &Vector)> = Vec::new();
    for vector in vectors {
        if let Serves::Queues(queues) = &vector.serves {
            found.extend(queues.iter().filter(|queue| queue.0 == way).map(|queue| (queue.1, vector)));
        }
    }
    let count = match way {
        Way::Rx => subject.rx,
        Way::Tx => subject.tx,
        Way::Both => subject.rx.max(subject.tx),
    };
    let numbers: Option<Vec<u32>> = found.iter().map(|queue| queue.0).collect();
    if numbers.is_none_or(|numbers| !plausible(&numbers, count)) {
        // Cut off, counted from 1, or counted twice: their order is what is left.
        found.sort_by_key(|(number, vector)| (number.unwrap_or_default(), vector.index, vector.at));
        for (rank, queue) in found.iter_mut().enumerate() {
            queue.0 = Some(rank as u32);
        }
    }
    for (number, vector) in found {
        if let Some(number) = number {
            served.queues.entry((way, number)).or_insert((vector.at, vector.source));
        }
    }
}

/// Whether numbers are those of queues: tg3 and mlx4 count from 1, hns3 in steps of 2, and old idpf adds 1.
fn plausible(numbers: &[u32], count: Option<u32>) -> bool {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
        return false;
    }
    let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return true };
    if count.is_some_and(|count| last < count) {
        return true;
    }
    let doubled = sorted.len() > 1 && sorted.iter().enumerate().all(|(rank, &number)| number as usize == 2 * rank);
    let from_one = first == 1 && sorted.iter().enumerate().all(|(rank, &number)| number as usize == rank + 1);
    // A single queue 1 of which nothing else is known may as well be the second of two.
    !doubled && !(from_one && (count.is_some() || sorted.len() > 1))
}

/// gve: as many blocks for sending as for receiving.
fn blocks(vectors: &[Vector], served: &mut Served) {
    let blocks = || {
        vectors.iter().filter_map(|vector| match vector.serves {
            Serves::Block(block) => Some((block, vector)),
            _ => None,
        })
    };
    let Some(last) = blocks().map(|block| block.0).max() else { return };
    let half = last.div_ceil(2);
    for (block, vector) in blocks() {
        let key = if block < half { (Way::Tx, block) } else { (Way::Rx, block - half) };
        served.queues.entry(key).or_insert((vector.at, vector.source));
    }
}

/// Vectors whose names are gone while their counts stayed, if there are as many as queues, or one more for control.
fn unnamed(vectors: &[Vector], subject: &Subject<'_>, served: &mut Served) {
    let found: Vec<&Vector> = vectors.iter().filter(|vector| vector.serves == Serves::Unnamed).collect();
    let controls = vectors.len() - found.len();
    let Some(count) = subject.rx.max(subject.tx).map(|count| count as usize).filter(|&count| count > 0) else { return };
    let skip = match found.len().checked_sub(count) {
        Some(0) => 0,
        Some(1) if controls == 0 => 1,
        _ => return,
    };
    for (rank, vector) in found.into_iter().skip(skip).enumerate() {
        served.queues.insert((Way::Both, rank as u32), (vector.at, vector.source));
    }
}

#[cfg(test)]
mod tests {
    use super::plausible;

    #[test]
    fn numbers_that_cannot_be_queues() {
        assert!(plausible(&[0, 1, 2, 3], None) && plausible(&[3, 1], Some(4)) && plausible(&[0], None));
        assert!(plausible(&[1, 2, 3], Some(4)), "the first one may be missing");
        assert!(!plausible(&[1, 2, 3, 4], Some(4)), "counted from one");
        assert!(!plausible(&[1, 2, 3, 4], None));
        assert!(!plausible(&[0, 2, 4, 6], Some(4)), "counted twice");
        assert!(!plausible(&[0, 0], None));
    }
}
