//! What is done to guests, and what has to be found.

mod disk;
mod erlang;
mod memory;
mod mend;
mod mend_memory;
mod network;
mod numa;
mod placed;
mod quiet;
mod systemd;

use crate::seen::{Outcome, Parts, Seen};

/// One kind of trouble, or of health that looks like it.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    /// A word or a few, joined by dashes.
    pub(crate) name: &'static str,
    /// Shell lines that make it; `lib` has what they share.
    pub(crate) inject: &'static str,
    /// Shell lines that take it away; then silence is asked for. None where nothing is wrong in the first place.
    pub(crate) clean: &'static str,
    /// Samples with rates that are watched.
    pub(crate) samples: u32,
    /// Between them.
    pub(crate) interval_ms: u32,
    /// Whether packets from outside are needed.
    pub(crate) network: bool,
    /// What has to be found in them.
    pub(crate) sick: fn(&Seen) -> Outcome,
    /// Shell lines that cure it and take the cure back, before `clean`; what they `tell` is judged by `mended`.
    pub(crate) mend: &'static str,
    /// Whether it was cured, and all is as before.
    pub(crate) mended: fn(&Parts) -> Outcome,
}

const PLAIN: Scenario = Scenario {
    name: "",
    inject: "",
    clean: "",
    samples: 12,
    interval_ms: 500,
    network: false,
    sick: Seen::quiet,
    mend: "",
    mended: |_| Ok(String::new()),
};

pub(crate) const VIRTIO: &[&Scenario] = &[
    &network::ONE_QUEUE,
    &network::CROWDED,
    &mend::INTERRUPTS,
    &numa::FAR,
    &numa::SPREAD,
    &numa::FULL_NODE,
    &placed::FAR,
    &placed::PLAN,
    &quiet::OFFLINE,
    &memory::SHMEM,
    &quiet::IDLE,
];
pub(crate) const IGB: &[&Scenario] = &[
    &quiet::ISOLATED,
    &erlang::BOUND,
    &erlang::UNBOUND,
    &placed::ERLANG,
    &network::ONE_QUEUE_IGB,
    &disk::SHARED,
    &disk::SHARED_BUSY,
    &memory::CACHE,
    &memory::APPENDER,
    &memory::REFAULT,
    &mend_memory::DISK,
    &mend_memory::QUOTA,
];
pub(crate) const V1: &[&Scenario] = &[&memory::CACHE_V1, &memory::REFAULT_V1];
pub(crate) const SYSTEMD: &[&Scenario] =
    &[&systemd::MEMORY, &systemd::QUOTA, &systemd::DISK, &systemd::IRQBALANCE, &systemd::LOGIN];
// What is measured on a machine that has the host to itself.
pub(crate) const VIRTIO_ALONE: &[&Scenario] = &[&mend::CHANNELS, &mend::CHANNELS_SCREEN];
pub(crate) const IGB_ALONE: &[&Scenario] =
    &[&mend::CHANNELS_IGB, &mend::CHANNELS_LOGIN, &mend::QUEUES, &mend_memory::CACHE];
pub(crate) const V1_ALONE: &[&Scenario] = &[&mend_memory::CACHE_V1, &mend_memory::SETTINGS];
