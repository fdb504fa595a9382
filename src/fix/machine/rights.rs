//! Whether a plan may be written at all: what it needs is held, and its files take writes from whoever asks. The kernel has
//! the last word; this is said before anybody is asked for a yes.

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use topotop_collectors::probe::dirty;
use topotop_model::fix::{Plan, Step, Target};

/// Why it may not, with what is missing; `held` are the capabilities in effect.
pub(super) fn missing(plan: &Plan, held: &[String]) -> Option<String> {
    let lacks = plan.lacks(held);
    if !lacks.is_empty() {
        let named: Vec<String> = lacks.iter().map(|need| format!("{} {}", need.capability, need.what)).collect();
        return Some(format!("not held here: {}", named.join(", and ")));
    }
    let why = |step: &Step| files(&step.target).into_iter().find_map(|path| refused(&path).map(|why| (path, why)));
    let whys: Vec<_> = plan.steps.iter().map(|step| (why(step), step.essential)).collect();
    let essential = whys.iter().find_map(|(why, essential)| why.as_ref().filter(|_| *essential));
    // Of those that are each worth having one is enough.
    let none = whys.iter().all(|(why, _)| why.is_some()).then(|| whys.first().and_then(|(why, _)| why.as_ref()));
    if let Some((path, why)) = essential.or(none.flatten()) {
        return Some(format!("{path} takes no writes here: {why}{}", needed(plan)));
    }
    let starts = plan.steps.iter().any(|step| matches!(step.target, Target::Service { .. }));
    if starts && !rustix::process::geteuid().is_root() {
        return Some(format!("daemons are started by root{}", needed(plan)));
    }
    None
}

/// What else than capabilities a plan needs.
fn needed(plan: &Plan) -> String {
    let others: Vec<&str> =
        plan.needs.iter().filter(|need| need.capability.is_empty()).map(|need| need.what.as_str()).collect();
    if others.is_empty() { String::new() } else { format!("; it needs {}", others.join(", ")) }
}

/// The files that a place is written by; none where it is written by calls or by somebody else.
fn files(target: &Target) -> Vec<String> {
    match target {
        Target::File { path } | Target::Line { path, .. } | Target::Reclaim { path } | Target::ForceEmpty { path } => {
            vec![path.clone()]
        }
        Target::DirtyLimit { background } => vec![dirty::path(*background, "bytes")],
        Target::Interrupt { irq, .. } => vec![format!("/proc/irq/{irq}/smp_affinity_list")],
        _ => Vec::new(),
    }
}

/// What the kernel has against writing to a file; none where it has nothing, or where that is found out by writing.
fn refused(path: &str) -> Option<&'static str> {
    match accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS) {
        Err(Errno::ACCESS | Errno::PERM) => Some("permission denied"),
        Err(Errno::ROFS) => Some("it is mounted read-only"),
        _ => None,
    }
}
