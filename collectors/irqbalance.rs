//! irqbalance: whether it runs, and what it must leave alone. Its process is looked for among those just read; only
//! its own files are opened.

mod config;

use crate::rights::{self, Needs};
use crate::systemctl::systemctl;
use crate::worker::Worker;
use crate::{Collector, Cx, Root, daemon};
use config::{Banned, oneshot_configured};
pub(crate) use config::{banned_irqs, is_oneshot};
use std::time::Duration;
use topotop_model::tables::irqs::Irqbalance;
use topotop_model::{Draft, IdSet, Reason, Section, Sets, State, Table};

const PERIOD_NS: u64 = 5_000_000_000;
/// How often systemd is asked about a service that is not running, in ns.
const ASK_NS: u64 = 30_000_000_000;
const WAIT: Duration = Duration::from_millis(300);
const PROGRAMS: [&str; 4] =
    ["usr/sbin/irqbalance", "usr/bin/irqbalance", "sbin/irqbalance", "usr/local/sbin/irqbalance"];
const CONFIGS: [&str; 2] = ["etc/default/irqbalance", "etc/sysconfig/irqbalance"];

/// Looks for irqbalance.
#[derive(Debug, Default)]
pub(crate) struct IrqbalanceCollector {
    worker: Option<Worker<(), bool>>,
    asked_ns: Option<u64>,
    failed: bool,
}

impl Collector for IrqbalanceCollector {
    fn name(&self) -> &'static str {
        "irqbalance"
    }

    fn period_ns(&self) -> u64 {
        PERIOD_NS
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let (named, whole) = search(draft);
        let found = named.into_iter().find(|&pid| daemon::is(cx.root, pid, "irqbalance", cx.buf));
        let section = &mut draft.irqbalance;
        section.begin(cx.now_ns);
        let table = section.data_mut();
        let known = table.rows().iter().next();
        let slot = known.unwrap_or_else(|| table.insert());
        let installed = installed(cx.root);
        table.installed.set_or_clear(slot, installed.map(u64::from));
        if let Some(pid) = found {
            table.pid.set(slot, u64::from(pid));
            running(cx, section, slot, pid);
            return;
        }
        table.pid.clear(slot);
        table.banned_cpus.clear(slot);
        table.banned_irqs.clear(slot);
        if !whole {
            table.state.clear(slot);
            section.gaps.add(
                "proc/*/comm",
                Reason::NotFound,
                "the host's PID namespace, with all its processes visible",
            );
            section.state = State::Missing;
            return;
        }
        let state = if installed == Some(true) && configured_oneshot(cx) {
            "oneshot"
        } else if installed == Some(true) && self.failed(cx) {
            "failed"
        } else {
            "absent"
        };
        section.data_mut().state.set(slot, state);
    }
}

impl IrqbalanceCollector {
    /// Whether systemd reports the service as failed: asked rarely, and by a worker.
    fn failed(&mut self, cx: &Cx<'_>) -> bool {
        if !cx.root.is_live() || !cx.root.exists("run/systemd/system") {
            return false;
        }
        if self.worker.is_none() {
            self.worker = Worker::spawn("irqbalance", |()| service_failed()).ok();
        }
        let Some(worker) = &mut self.worker else { return false };
        while let Some(failed) = worker.take() {
            self.failed = failed;
        }
        if self.asked_ns.is_none_or(|asked| cx.now_ns.saturating_sub(asked) >= ASK_NS) && worker.pending() == 0 {
            let first = self.asked_ns.is_none();
            worker.submit(());
            self.asked_ns = Some(cx.now_ns);
            if let Some(failed) = (first || cx.demand.complete).then(|| worker.wait(WAIT)).flatten() {
                self.failed = failed;
            }
        }
        self.failed
    }
}

/// Processes of its name among those just read, and whether all of the machine's are among them: kernel threads are seen only
/// from the first pid namespace.
fn search(draft: &Draft) -> (Vec<u32>, bool) {
    let Some(processes) = draft.processes.value() else { return (Vec::new(), false) };
    let named = |slot: usize, name: &str| processes.comm.get(slot).is_some_and(|comm| **comm == *name);
    let mut found = Vec::new();
    let mut whole = false;
    for slot in processes.rows().iter() {
        let Some(pid) = processes.pid.id(slot).value() else { continue };
        whole |= pid == 2 && named(slot, "kthreadd");
        if named(slot, "irqbalance") {
            found.push(pid);
        }
    }
    found.sort_unstable();
    (found, whole)
}

/// Whether the program is there; none in a tree that has no programs.
fn installed(root: &Root) -> Option<bool> {
    let there = PROGRAMS.iter().any(|path| root.exists(path));
    (there || root.is_live() || root.exists("usr/sbin")).then_some(there)
}

fn running(cx: &mut Cx<'_>, section: &mut Section<Irqbalance>, slot: usize, pid: u32) {
    let mut banned_irqs = None;
    let mut state = "running";
    match cx.root.read(format!("proc/{pid}/cmdline"), cx.buf) {
        Ok(()) => {
            banned_irqs = Some(config::banned_irqs(cx.buf));
            if is_oneshot(cx.buf) {
                state = "oneshot";
            }
        }
        Err(reason) => section.gaps.add("proc/*/cmdline", reason, ""),
    }
    let mut banned_cpus = None;
    match cx.root.read(format!("proc/{pid}/environ"), cx.buf) {
        Ok(()) => match config::banned_cpus(cx.buf) {
            Banned::Cpus(set) => banned_cpus = Some(set),
            Banned::Unreadable => section.gaps.add("proc/*/environ", Reason::Malformed, ""),
        },
        Err(reason) => section.gaps.add("proc/*/environ", reason, &rights::needs(cx.root, Needs::Ptrace)),
    }
    let table = section.data_mut();
    table.state.set(slot, state);
    put(&mut table.banned_cpus, slot, banned_cpus);
    put(&mut table.banned_irqs, slot, banned_irqs);
}

fn put(column: &mut Sets, slot: usize, set: Option<IdSet>) {
    match set {
        Some(set) => column.set(slot, set),
        None => column.clear(slot),
    }
}

fn configured_oneshot(cx: &mut Cx<'_>) -> bool {
    CONFIGS.iter().any(|path| cx.root.read(path, cx.buf).is_ok() && oneshot_configured(cx.buf))
}

/// Asks systemd.
fn service_failed() -> bool {
    let arguments = ["show", "irqbalance.service", "--property=ActiveState", "--value"].map(str::to_owned);
    systemctl(&arguments).is_ok_and(|state| state.trim() == "failed")
}
