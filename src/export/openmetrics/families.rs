//! The table of families, the most important first: a page that is too long is cut at its end.

mod answer;
mod cpu;
mod disk;
mod memory;
mod monitor;
mod network;
mod pressure;

use super::Family;

const ALL: &[&[Family]] = &[
    monitor::MACHINE,
    answer::FAMILIES,
    cpu::NODES,
    memory::FAMILIES,
    network::FAMILIES,
    pressure::FAMILIES,
    cpu::CPUS,
    disk::FAMILIES,
    monitor::COLLECTORS,
    disk::AWAIT,
];

/// Every family, in the order of the page.
pub fn all() -> impl Iterator<Item = &'static Family> {
    ALL.iter().copied().flatten()
}
