//! Values of the places that fixes write, and whether what a fix is about is still the same: read when a plan is shown,
//! before it is applied and after. One file a kind; nothing here writes.

pub mod dirty;
mod file;
mod identity;
mod interrupt;
pub mod ioprio;
mod line;
mod member;
pub mod memory;
mod nic;
mod nice;
pub mod pages;
mod service;
pub mod threads;
mod unit;

use crate::Root;
use topotop_model::Reason;
use topotop_model::fix::{Identity, Target};
use topotop_model::locale::fix::machine as text;
use topotop_model::locale::translated;

/// Why a place has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// What happened.
    pub why: String,
    /// What would let it be read; empty where nothing would.
    pub needs: String,
}

impl Unread {
    /// With nothing that would help.
    pub fn because(why: impl Into<String>) -> Self {
        Self { why: why.into(), needs: String::new() }
    }

    /// A file that could not be read.
    pub fn file(path: &str, reason: Reason) -> Self {
        let needs = if reason == Reason::PermissionDenied { "root" } else { "" };
        Self { why: format!("{path}: {}", reason.text()), needs: needs.to_owned() }
    }
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.needs.is_empty() {
            return f.write_str(&self.why);
        }
        text::WithNeeds { why: &self.why, needs: &translated(&["needs."], &self.needs) }.fmt(f)
    }
}

/// The values of a place, with the key of each item: `4122@88131` for a thread, empty where there is one value only.
pub fn values(root: &Root, target: &Target) -> Result<Vec<(String, String)>, Unread> {
    match target {
        Target::File { path } => one(file::value(root, path)),
        Target::Line { path, key } => one(line::value(root, path, key)),
        Target::DirtyLimit { background } => one(dirty::value(root, *background)),
        Target::Reclaim { path } => one(memory::value(root, path, "Linux 5.19 or later and cgroup v2")),
        Target::ForceEmpty { path } => one(memory::value(root, path, "cgroup v1")),
        Target::Affinity { pid, starttime } => threads::masks(root, *pid, *starttime),
        Target::Channels { nic } => one(nic::channels(root, nic)),
        Target::Rings { nic } => one(nic::rings(root, nic)),
        Target::RssTable { nic } => one(nic::rss_table(root, nic)),
        Target::Interrupt { irq, actions } => one(interrupt::value(root, *irq, actions)),
        Target::Service { name } => one(service::value(root, name)),
        Target::Pages { pid, starttime } => one(pages::value(root, *pid, *starttime)),
        Target::Member { pid, starttime, controller, .. } => one(member::value(root, *pid, *starttime, controller)),
        Target::Nice { pid, starttime } => nice::values(root, *pid, *starttime),
        Target::Stopped { pid, starttime } | Target::Signal { pid, starttime } => {
            one(nice::state(root, *pid, *starttime))
        }
        Target::Thread { tid, of } => {
            let own = format!("{tid}@");
            let mut values = values(root, of)?;
            values.retain(|(key, _)| key.starts_with(&own));
            if values.is_empty() { Err(Unread::because(text::ThreadExited { tid }.to_string())) } else { Ok(values) }
        }
        Target::IoPriority { pid, starttime } => ioprio::values(root, *pid, *starttime),
        Target::UnitProperty { unit, property } => one(unit::value(root, unit, property)),
        Target::UnitDropIn { unit, property } => one(unit::drop_in(root, unit, property)),
    }
}

/// The file with the CPUs that an interrupt may go to, by the number that it has now.
pub fn interrupt(root: &Root, irq: u32, actions: &str) -> Result<String, Unread> {
    interrupt::number(root, irq, actions).map(interrupt::path)
}

/// The process of a daemon that runs.
pub fn daemon(root: &Root, name: &str) -> Result<Option<u32>, Unread> {
    service::running(root, name).map(|running| running.map(|running| running.pid))
}

/// The value of one item; none where it is not there any more. Of thousands of threads not all are read for one.
pub fn value(root: &Root, target: &Target, key: &str) -> Result<Option<String>, Unread> {
    // Where each thread has one, all of them are not read for the value of one.
    match target {
        Target::Affinity { pid, .. } => return threads::value_of(root, *pid, key, threads::mask),
        Target::Nice { pid, .. } if root.is_live() => return threads::value_of(root, *pid, key, nice::nice),
        Target::IoPriority { pid, .. } if root.is_live() => {
            return threads::value_of(root, *pid, key, ioprio::priority);
        }
        Target::Thread { tid, of } if key.starts_with(&format!("{tid}@")) => return value(root, of, key),
        _ => {}
    }
    Ok(values(root, target)?.into_iter().find(|(known, _)| known == key).map(|(_, value)| value))
}

/// Whether something is what it was when the plan was made; what it is now otherwise.
pub fn same(root: &Root, identity: &Identity) -> Result<(), String> {
    identity::same(root, identity)
}

/// True where it is a process that has exited.
pub fn has_exited(root: &Root, identity: &Identity) -> bool {
    identity::has_exited(root, identity)
}

/// An identity with what frames do not carry: an interface's hardware address, a control group's inode.
pub fn filled(root: &Root, identity: &Identity) -> Identity {
    identity::filled(root, identity)
}

fn one(value: Result<String, Unread>) -> Result<Vec<(String, String)>, Unread> {
    value.map(|value| vec![(String::new(), value)])
}
