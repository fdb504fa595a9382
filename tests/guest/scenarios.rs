//! All scenarios, by the kind of machine that runs them.

mod cpu;
mod disk;
mod measured;
mod memory;
mod network;
mod placement;
mod systemd;
mod verdicts;

use crate::scenario::Scenario;

pub(crate) const VIRTIO: &[&Scenario] = &[
    &cpu::QUOTA,
    &cpu::CLOCK,
    &network::VIRTIO_CHANNELS,
    &network::INTERRUPTS,
    &placement::FAR,
    &placement::SPREAD,
    &placement::FULL_NODE,
    &placement::PLAN,
    &cpu::OFFLINE,
    &memory::SHMEM,
    &cpu::IDLE,
];
pub(crate) const IGB: &[&Scenario] = &[
    &cpu::ISOLATED,
    &placement::ERLANG,
    &placement::ERLANG_UNBOUND,
    &network::IGB_CHANNELS,
    &disk::SHARED,
    &disk::SHARED_BUSY,
    &disk::THROTTLED,
    &memory::CACHE,
    &memory::APPENDER,
    &memory::REFAULT,
];
pub(crate) const V1: &[&Scenario] = &[&memory::CACHE_V1, &memory::REFAULT_V1, &memory::SETTINGS];
pub(crate) const SYSTEMD: &[&Scenario] =
    &[&systemd::MEMORY, &systemd::QUOTA, &systemd::DISK, &systemd::IRQBALANCE, &systemd::LOGIN];
pub(crate) const VIRTIO_MEASURED: &[&Scenario] = &[
    &measured::CHANNELS_VIRTIO,
    &measured::INTERRUPTS,
    &measured::QUOTA,
    &measured::FORECAST,
    &verdicts::CHANNELS,
    &verdicts::QUOTA,
];
pub(crate) const IGB_MEASURED: &[&Scenario] = &[
    &measured::CHANNELS_IGB,
    &measured::LIMIT,
    &measured::HIGH,
    &measured::WRITER,
    &measured::ERLANG,
    &verdicts::AFFINITY,
    &verdicts::PAGE_CACHE,
    &verdicts::WRITER,
    &verdicts::LIMIT,
];
pub(crate) const V1_MEASURED: &[&Scenario] = &[&measured::LIMIT_V1];
