//! The machine as a whole, pressure, gaps and cost.

use super::value::{Named, Text, object, text};
use topotop_model::Known;
use topotop_model::frame::{self, Frame, PressureStall};

object! {
    pub(crate) Host {
        name: Option<Text>,
        kernel: Option<Text>,
        arch: Option<Text>,
        os: Option<Text>,
        cpu_model: Option<Text>,
        virtualization: Option<Text>,
        boot_id: Option<Text>,
        uptime_seconds: Known<u64>,
        in_container: Known<bool>,
        load: Option<Vec<f64>>,
        running: Known<u64>,
        blocked: Known<u64>,
        tasks: Known<u64>,
        run_wait_cores: Option<f64>,
        context_switches_per_second: Option<f64>,
        forks_per_second: Option<f64>,
        interrupts_per_second: Option<f64>,
    }
}

pub(super) fn host(host: &frame::Host) -> Host {
    Host {
        name: text(&host.name),
        kernel: text(&host.kernel),
        arch: text(&host.arch),
        os: text(&host.os),
        cpu_model: text(&host.cpu_model),
        virtualization: text(&host.virtualization),
        boot_id: text(&host.boot_id),
        uptime_seconds: host.uptime_seconds,
        in_container: host.in_container,
        load: host.load.map(Vec::from),
        running: host.running,
        blocked: host.blocked,
        tasks: host.tasks,
        run_wait_cores: host.run_wait_cores,
        context_switches_per_second: host.context_switches_per_second,
        forks_per_second: host.forks_per_second,
        interrupts_per_second: host.interrupts_per_second,
    }
}

pub(crate) type Pressure = Named<Stall>;

object! {
    pub(crate) Stall {
        some_ratio: Option<f64>,
        full_ratio: Option<f64>,
        some_avg10_percent: Known<f64>,
        full_avg10_percent: Known<f64>,
    }
}

pub(super) fn pressure(frame: &Frame) -> Pressure {
    Named(frame.pressure.iter().map(|row| (Text::from(&row.resource), stall(&row.stall))).collect())
}

pub(super) fn stall(stall: &PressureStall) -> Stall {
    Stall {
        some_ratio: stall.some_ratio,
        full_ratio: stall.full_ratio,
        some_avg10_percent: stall.some_avg10_percent,
        full_avg10_percent: stall.full_avg10_percent,
    }
}

object! {
    pub(crate) Gap {
        path: Text,
        reason: topotop_model::Reason,
        count: u64,
        needs: Option<Text>,
    }
}

impl super::value::Absent for topotop_model::Reason {}

pub(super) fn gap(gap: &topotop_model::Gap) -> Gap {
    Gap { path: Text::from(&gap.path), reason: gap.reason, count: gap.count, needs: text(&gap.needs) }
}

object! {
    pub(crate) Cost {
        sample_ms: Option<f64>,
        cpu_ms: Option<f64>,
        cpu_cores: Option<f64>,
        rss_bytes: Option<u64>,
        backend: Option<Text>,
        per_collector: Option<Named<f64>>,
    }
}

pub(super) fn cost(cost: &frame::Cost) -> Cost {
    let per_collector: Vec<_> = cost.collectors.iter().map(|row| (Text::from(&row.name), row.took_ms)).collect();
    Cost {
        sample_ms: cost.sample_ms,
        cpu_ms: cost.cpu_ms,
        cpu_cores: cost.cpu_cores,
        rss_bytes: cost.rss_bytes,
        backend: text(&cost.backend),
        per_collector: (!per_collector.is_empty()).then_some(Named(per_collector)),
    }
}
