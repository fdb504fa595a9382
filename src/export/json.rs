//! `topotop.snapshot/1`: one document per frame, a type of its own so that the model may change without it.
//!
//! Null means known to be none, unlimited or not applicable; a key that is absent was not read (or needs a second
//! sample); zero means zero. `docs/schema/topotop.snapshot-1.json` says the same to programs.

mod cgroups;
mod disks;
mod findings;
mod host;
mod irqs;
mod limits;
mod machine;
mod nics;
mod processes;
mod resources;
mod sockets;
mod top;
mod value;

use super::Options;
pub(crate) use findings::{Finding, finding};
pub(crate) use resources::{Resource, resource};
use std::io::{self, Write};
use topotop_model::bottleneck::Resources;
use topotop_model::fix::{Offered, offered};
use topotop_model::frame::Frame;
use topotop_model::judge::Judgement;
use topotop_model::{Known, Section, State, Table};
use value::{Named, object};

/// Name and version of the document; it changes only if a key changes its meaning.
pub const SCHEMA: &str = "topotop.snapshot/1";

/// The schema itself, as it ships with the program.
pub const SCHEMA_TEXT: &str = include_str!("../../docs/schema/topotop.snapshot-1.json");

object! {
    /// One frame as a document.
    pub Document {
        schema: &'static str,
        taken_at: String,
        interval_seconds: Known<f64>,
        truncated: bool,
        host: host::Host,
        topology: machine::Topology,
        cpus: Vec<machine::Cpu>,
        memory: machine::Memory,
        nodes: Vec<machine::Node>,
        irqs: Option<Vec<irqs::IrqRow>>,
        irqs_arch: Option<Vec<irqs::ArchIrq>>,
        irqbalance: Option<irqs::Irqbalance>,
        softirqs: Option<Named<irqs::Softirq>>,
        softnet: Option<Vec<irqs::Softnet>>,
        nics: Option<Vec<nics::Nic>>,
        cgroups: Option<Vec<cgroups::Cgroup>>,
        disks: Option<Vec<disks::Disk>>,
        processes: Option<Vec<processes::Process>>,
        net_namespaces: Option<Vec<limits::NetNamespace>>,
        kernel_tables: limits::KernelTables,
        pressure: Option<host::Pressure>,
        sysctls: Option<Named<value::Text>>,
        metrics: Option<Vec<sockets::Metric>>,
        rules: Option<Vec<findings::Row>>,
        findings: Option<Vec<findings::Finding>>,
        resources: Option<Vec<resources::Resource>>,
        gaps: Vec<host::Gap>,
        cost: host::Cost,
    }
}

/// The document of a frame.
pub fn document(frame: &Frame, options: &Options<'_>) -> Document {
    let raw = &frame.raw;
    let processes = top::processes(frame, options.top);
    let cgroups = top::cgroups(frame, options.top);
    let settings = options.settings.cloned().unwrap_or_default();
    let resources = options.judgement.map(|judgement| Resources::of(frame, &judgement.findings, &settings));
    let surroundings = options.surroundings.cloned().unwrap_or_default();
    let found = |judgement: &Judgement| {
        let one = |finding| {
            let (fixes, _) = offered(finding, frame, &surroundings);
            findings::finding(finding, resources.as_ref(), &fixes)
        };
        judgement.findings.iter().map(one).collect()
    };
    Document {
        schema: SCHEMA,
        taken_at: crate::units::rfc3339(frame.stamp.wall_ns),
        interval_seconds: Known::or_none(frame.interval_seconds),
        truncated: processes.len() < frame.processes.len() || cgroups.len() < frame.cgroups.len(),
        host: host::host(&frame.host),
        topology: machine::topology(frame),
        cpus: frame.cpus.iter().filter(|cpu| cpu.online).map(machine::cpu).collect(),
        memory: machine::memory(&frame.memory),
        nodes: frame.nodes.iter().map(machine::node).collect(),
        irqs: list(&raw.irqs, frame.irqs.iter().map(|irq| irqs::irq(frame, irq))),
        irqs_arch: list(&raw.irqs_arch, frame.irqs_arch.iter().map(|irq| irqs::arch_irq(frame, irq))),
        irqbalance: frame.irqbalance.as_ref().map(irqs::irqbalance),
        softirqs: list(&raw.softirqs, frame.softirqs.iter().map(|row| irqs::softirq(frame, row))).map(Named),
        softnet: list(&raw.softnet, frame.softnet.iter().map(irqs::softnet)),
        nics: list(&raw.nics, frame.nics.iter().map(nics::nic)),
        cgroups: list(&raw.cgroups, cgroups.into_iter().map(cgroups::cgroup)),
        disks: list(&raw.disks, frame.disks.iter().map(disks::disk)),
        processes: list(&raw.processes, processes.into_iter().map(processes::process)),
        net_namespaces: (!frame.net_namespaces.is_empty())
            .then(|| frame.net_namespaces.iter().map(limits::namespace).collect()),
        kernel_tables: limits::tables(&frame.kernel_tables),
        pressure: (!frame.pressure.is_empty()).then(|| host::pressure(frame)),
        sysctls: list(&raw.sysctls, frame.sysctls.iter().map(|(name, value)| (name.into(), value.into()))).map(Named),
        metrics: list(&raw.metrics, frame.metrics.iter().map(sockets::metric)),
        rules: options.judgement.map(findings::rules),
        findings: options.judgement.map(found),
        resources: resources.as_ref().map(resources::list),
        gaps: frame.gaps.iter().map(host::gap).collect(),
        cost: host::cost(&frame.cost),
    }
}

/// Writes the document of a frame and a newline.
pub fn write(frame: &Frame, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let document = document(frame, options);
    if options.pretty {
        serde_json::to_writer_pretty(&mut *out, &document)?;
    } else {
        serde_json::to_writer(&mut *out, &document)?;
    }
    out.write_all(b"\n")
}

object! {
    /// Findings and how the rules stand, without the frame.
    #[expect(clippy::struct_field_names, reason = "keys are the contract's")]
    pub Findings {
        rules: Vec<findings::Row>,
        findings: Vec<findings::Finding>,
        resources: Vec<resources::Resource>,
    }
}

impl Findings {
    /// Of findings that were collected with their fixes, the last judgement and the resources of the whole time.
    pub fn of<'a>(
        found: impl Iterator<Item = (&'a topotop_model::rules::Finding, &'a [Offered])>,
        last: &Judgement,
        resources: &Resources,
    ) -> Self {
        Self {
            rules: findings::rules(last),
            findings: found.map(|(finding, fixes)| findings::finding(finding, Some(resources), fixes)).collect(),
            resources: resources::list(resources),
        }
    }
}

/// A list that says nothing, not "none", where its section was not read.
fn list<T: Table, U>(section: &Section<T>, rows: impl Iterator<Item = U>) -> Option<Vec<U>> {
    let rows: Vec<U> = rows.collect();
    (section.state == State::Read || !rows.is_empty()).then_some(rows)
}
