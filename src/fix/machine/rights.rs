//! Checks before confirmation that a plan can be written: its capabilities are held and its files are writable. The kernel
//! decides in the end.

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use topotop_collectors::probe::dirty;
use topotop_model::Reason;
use topotop_model::fix::{Plan, Step, Target};
use topotop_model::locale::Text;
use topotop_model::locale::fix::apply as text;

/// What is missing to write it; `held` are the effective capabilities.
pub(super) fn missing(plan: &Plan, held: &[String]) -> Option<String> {
    let lacks = plan.lacks(held);
    if !lacks.is_empty() {
        let named: Vec<String> = lacks.iter().map(|need| format!("{} {}", need.capability, need.what)).collect();
        return Some(text::MissingCapability { capabilities: &named.join(", ") }.to_string());
    }
    let why = |step: &Step| files(step).into_iter().find_map(|path| refused(&path).map(|why| (path, why)));
    let whys: Vec<_> = plan.steps.iter().map(|step| (why(step), step.essential)).collect();
    let essential = whys.iter().find_map(|(why, essential)| why.as_ref().filter(|_| *essential));
    // Of optional steps one writable step is enough.
    let none = whys.iter().all(|(why, _)| why.is_some()).then(|| whys.first().and_then(|(why, _)| why.as_ref()));
    if let Some((path, why)) = essential.or(none.flatten()) {
        let needs = needed(plan);
        return Some(if needs.is_empty() {
            text::NotWritable { path: &path, why: &why }.to_string()
        } else {
            text::NotWritableRequires { path: &path, why: &why, needs: &needs }.to_string()
        });
    }
    let starts = plan.steps.iter().any(|step| matches!(step.target, Target::Service { .. }));
    if starts && !rustix::process::geteuid().is_root() {
        return Some(text::DAEMON_ROOT.to_string());
    }
    None
}

/// The requirements of a plan other than capabilities.
fn needed(plan: &Plan) -> String {
    let others: Vec<&str> =
        plan.needs.iter().filter(|need| need.capability.is_empty()).map(|need| need.what.as_str()).collect();
    others.join(", ")
}

/// The files that a place is written by; none where it is written by calls or by somebody else.
fn files(step: &Step) -> Vec<String> {
    match &step.target {
        Target::Member { mount, .. } => {
            vec![format!("{}{}/cgroup.procs", mount.trim_end_matches('/'), step.new.trim_end_matches('/'))]
        }
        Target::File { path } | Target::Line { path, .. } | Target::Reclaim { path } | Target::ForceEmpty { path } => {
            vec![path.clone()]
        }
        Target::DirtyLimit { background } => vec![dirty::path(*background, "bytes")],
        Target::Interrupt { irq, .. } => vec![format!("/proc/irq/{irq}/smp_affinity_list")],
        _ => Vec::new(),
    }
}

/// What the kernel has against writing to a file; none where it has nothing, or where that is found out by writing.
fn refused(path: &str) -> Option<Text> {
    match accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS) {
        Err(Errno::ACCESS | Errno::PERM) => Some(Reason::PermissionDenied.text()),
        Err(Errno::ROFS) => Some(text::MOUNTED_READ_ONLY),
        _ => None,
    }
}
