//! A snapshot with other names in it, before it goes to a recording: hosts, people, programs, control groups,
//! containers, mounts and addresses are renamed, the same by the same within one recording. What diagnosis needs
//! stays: numbers, the kernel's names (kernel threads, devices, drivers, eth0), words that say what something is.

mod interfaces;
mod names;

pub use names::Names;

use crate::tables::{
    applied, cgroups, disks, host, irqs, memory, metrics, nics, off_cpu, processes, sockets, topology,
};
use crate::{ColumnMut, Section, Snapshot, Table, VisitMut};
use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Kernel threads (PF_KTHREAD) are called the same everywhere.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// Names that are remembered.
const REMEMBERED: usize = 1 << 16;

/// How the texts of a column are renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rule {
    /// Word by word.
    Words,
    /// Word by word, but not of kernel threads.
    Comm,
    /// As the arguments of a program.
    Arguments,
    /// As a path, where there is a slash in it.
    Path,
    /// As where something is mounted.
    Mount,
    /// As what is mounted: block devices keep their names.
    Source,
    /// As an interface.
    Interface,
    /// Only what names an interface in it.
    AroundInterface,
    /// As a hardware address.
    Hardware,
    /// As the address of a host.
    Host,
    /// What a fix was for and what it wrote: settings of the kernel's own keep their names.
    Fix,
}

/// The columns that may tell whose something is. All other texts are the kernel's words.
const RULES: [(u16, &[&str], Rule); 25] = [
    (host::Host::ID, &["name", "boot_id"], Rule::Words),
    (processes::Processes::ID, &["comm"], Rule::Comm),
    (processes::Threads::ID, &["comm"], Rule::Comm),
    (processes::Processes::ID, &["cmdline"], Rule::Arguments),
    (processes::Processes::ID, &["user"], Rule::Words),
    (processes::Processes::ID, &["cgroup", "cpu_cgroup", "cpuset_cgroup", "io_cgroup"], Rule::Path),
    (cgroups::Cgroups::ID, &["path"], Rule::Path),
    (cgroups::CgroupIo::ID, &["path"], Rule::Path),
    (cgroups::CgroupMounts::ID, &["dir"], Rule::Mount),
    (cgroups::Cgroups::ID, &["container_id", "pod_uid", "pod_name", "namespace", "container_name"], Rule::Words),
    (memory::OomKills::ID, &["memcg", "task_memcg"], Rule::Path),
    (disks::Disks::ID, &["lower"], Rule::Path),
    (disks::Mounts::ID, &["path"], Rule::Mount),
    (disks::Mounts::ID, &["source"], Rule::Source),
    (nics::Nics::ID, &["name", "lower", "master"], Rule::Interface),
    (nics::NicQueues::ID, &["nic"], Rule::Interface),
    (nics::Nics::ID, &["address"], Rule::Hardware),
    (irqs::Irqs::ID, &["name", "device"], Rule::AroundInterface),
    (topology::PciDevices::ID, &["name"], Rule::AroundInterface),
    (sockets::Listeners::ID, &["address"], Rule::Host),
    (sockets::Listeners::ID, &["path"], Rule::Words),
    (sockets::Peers::ID, &["address"], Rule::Host),
    (off_cpu::Waits::ID, &["peer"], Rule::Host),
    // What the user calls a number stays; where it comes from may name hosts and files.
    (metrics::Metrics::ID, &["source"], Rule::Words),
    (applied::Applied::ID, &["fix", "subject", "target"], Rule::Fix),
];

fn rule(table: u16, column: &str) -> Option<Rule> {
    let found = RULES.iter().find(|(id, columns, _)| *id == table && columns.contains(&column));
    found.map(|(_, _, rule)| *rule)
}

/// A section as it came last and as it went.
struct Seen {
    came: Box<dyn Any + Send>,
    went: Box<dyn Any + Send>,
}

/// Renames what is in snapshots.
pub struct Anonymiser {
    names: Names,
    /// Names that were given, by rule and text.
    given: HashMap<(Rule, Arc<str>), Arc<str>>,
    /// The sections of the last snapshot, by the table's id.
    sections: HashMap<u16, Seen>,
    /// Words of interfaces' own names.
    private: Vec<String>,
    /// Block devices.
    devices: HashSet<Arc<str>>,
}

impl Anonymiser {
    /// One that gives these names.
    pub fn new(names: Names) -> Self {
        let (given, sections) = (HashMap::new(), HashMap::new());
        Self { names, given, sections, private: Vec::new(), devices: HashSet::new() }
    }

    /// How it names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Renames what is in a snapshot. A section that is the one of the last snapshot becomes the same one again.
    pub fn apply(&mut self, snapshot: &mut Snapshot) {
        self.learn(snapshot);
        snapshot.visit_mut(self);
    }

    /// The command line of a program with other names in it.
    pub fn command(&self, command: &[String]) -> Vec<String> {
        command.iter().map(|argument| self.names.argument(argument)).collect()
    }

    /// Learns the names that other tables mention.
    fn learn(&mut self, snapshot: &Snapshot) {
        let (nics, disks) = (snapshot.nics.data(), snapshot.disks.data());
        let mut private = Vec::new();
        for name in nics.rows().iter().filter_map(|slot| nics.name.get(slot)) {
            self.names.private_words(name, &mut private);
        }
        private.sort_unstable();
        private.dedup();
        let devices: HashSet<Arc<str>> = disks.rows().iter().filter_map(|slot| disks.name.get(slot).cloned()).collect();
        if private == self.private && devices == self.devices {
            return;
        }
        self.devices = devices;
        self.private = private;
        self.given.clear();
        self.sections.clear();
    }

    fn other(&mut self, rule: Rule, text: &Arc<str>) -> Arc<str> {
        if let Some(other) = self.given.get(&(rule, Arc::clone(text))) {
            return Arc::clone(other);
        }
        let other: Arc<str> = self.rename(rule, text).into();
        if self.given.len() >= REMEMBERED {
            self.given.clear();
        }
        self.given.insert((rule, Arc::clone(text)), Arc::clone(&other));
        other
    }

    fn rename(&self, rule: Rule, text: &str) -> String {
        let names = &self.names;
        match rule {
            Rule::Arguments => text.split(' ').map(|argument| names.argument(argument)).collect::<Vec<_>>().join(" "),
            Rule::Path if text.contains('/') => names.path(text),
            Rule::Path => text.to_owned(),
            Rule::Mount => names.mount_point(text),
            Rule::Source if self.is_device(text) => text.to_owned(),
            Rule::Words | Rule::Comm | Rule::Source => names.words(text),
            Rule::Interface => names.interface(text),
            Rule::AroundInterface => names.around_interfaces(text, &self.private),
            Rule::Hardware => names.hardware_address(text),
            Rule::Host => names.host_address(text),
            Rule::Fix => names.of_fix(text),
        }
    }

    fn is_device(&self, source: &str) -> bool {
        source.strip_prefix("/dev/").is_some_and(|name| self.devices.contains(name))
    }

    /// Renames the texts of one column.
    fn column<T: Table>(&mut self, table: &mut T, index: usize, rule: Rule) {
        let slots: Vec<usize> = table.rows().iter().collect();
        for slot in slots {
            if rule == Rule::Comm && is_kernel_thread(table, slot) {
                continue;
            }
            let Some(ColumnMut::Text(column)) = table.column_mut(index) else { return };
            let Some(text) = column.get(slot).filter(|text| !text.is_empty()).cloned() else { continue };
            let other = self.other(rule, &text);
            if let Some(ColumnMut::Text(column)) = table.column_mut(index) {
                column.set_shared(slot, &other);
            }
        }
    }
}

fn is_kernel_thread<T: Table>(table: &T, slot: usize) -> bool {
    let index = T::COLUMNS.iter().position(|column| column.name == "flags");
    match index.and_then(|index| table.column(index)) {
        Some(crate::Column::Num(flags)) => flags.value(slot).is_some_and(|flags| flags & KERNEL_THREAD != 0),
        _ => false,
    }
}

impl VisitMut for Anonymiser {
    fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
        let rules: Vec<(usize, Rule)> =
            (0..).zip(T::COLUMNS).filter_map(|(index, column)| Some((index, rule(T::ID, column.name)?))).collect();
        if rules.is_empty() {
            return;
        }
        if let Some(Seen { came, went }) = self.sections.get(&T::ID)
            && came.downcast_ref::<Arc<Section<T>>>().is_some_and(|came| Arc::ptr_eq(came, section))
            && let Some(went) = went.downcast_ref::<Arc<Section<T>>>()
        {
            *section = Arc::clone(went);
            return;
        }
        let mut fresh = Section::clone(section);
        for (index, rule) in rules {
            self.column(fresh.data_mut(), index, rule);
        }
        let came = std::mem::replace(section, Arc::new(fresh));
        self.sections.insert(T::ID, Seen { came: Box::new(came), went: Box::new(Arc::clone(section)) });
    }
}

#[cfg(test)]
mod tests;
