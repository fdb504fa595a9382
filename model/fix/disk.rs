//! Shared by fixes of a contended disk: the noisy writer, and the writer that should benefit.

use super::{Case, Refusal};
use crate::diff::{Subject as Of, Watch};
use crate::frame::{Cgroup, CgroupIoRate, Disk, Frame, Process, Writer, WriterId};
use crate::locale::evidence;
use crate::locale::fix as shared;
use crate::rules::{Subject, disk_shared, disk_text, parts};
use std::sync::Arc;

/// Two writers of one disk.
#[derive(Clone, Debug)]
pub(super) struct Shared<'a> {
    pub(super) disk: &'a Disk,
    pub(super) disturber: Party<'a>,
    pub(super) victim: Party<'a>,
}

/// A writer of a disk.
#[derive(Clone, Debug)]
pub(super) struct Party<'a> {
    /// Its cgroup; of a process too: the one that its I/O is counted in, unless everybody's is.
    pub(super) group: Arc<str>,
    /// The one that its I/O is counted in.
    counted_in: Arc<str>,
    /// The process in it that writes most.
    pub(super) process: Option<&'a Process>,
    /// True where the kernel accounts by cgroup.
    pub(super) counted: bool,
    pub(super) bytes_per_second: f64,
    share: f64,
    delicate: bool,
}

impl<'a> Shared<'a> {
    /// The noisy writer and its victim on the finding's disk: the largest writer that is not latency-critical.
    pub(super) fn of(case: &Case<'a>) -> Result<Self, Refusal> {
        let Subject::Disk(name) = &case.finding.subject else { return Err(Refusal::NotForThis) };
        let disk = case.frame.disks.iter().find(|disk| disk.name == *name).ok_or(Refusal::NotForThis)?;
        let parties = parties(case.frame, disk);
        let starved = starved(case, &parties);
        if parties.len() + starved.len() < 2 {
            return Err(Refusal::NotForThis);
        }
        let larger = |a: &&Party<'a>, b: &&Party<'a>| a.share.total_cmp(&b.share);
        let disturber = match case.set.get("group") {
            Some(group) => {
                let known = parties.iter().find(|party| *party.group == **group);
                known.ok_or_else(|| {
                    Refusal::because(shared::GroupNotWriter { group: &group, disk: &name }.to_string())
                })?
            }
            // Whoever leaves the others nothing to write is the cause, whatever its name.
            None => parties
                .iter()
                .filter(|party| !starved.is_empty() || !party.delicate)
                .max_by(larger)
                .ok_or_else(|| Refusal::because(shared::ALL_WRITERS_CRITICAL.to_string()))?,
        };
        let others = || parties.iter().filter(|party| party.group != disturber.group);
        let waits = || starved.iter().find(|party| party.group != disturber.group);
        let largest = || others().filter(|party| party.delicate).max_by(larger).or_else(|| others().max_by(larger));
        let victim = waits().or_else(largest).ok_or(Refusal::NotForThis)?;
        Ok(Self { disk, disturber: disturber.clone(), victim: victim.clone() })
    }

    /// `8:16`.
    pub(super) fn number(&self) -> String {
        format!("{}:{}", self.disk.dev >> 20, self.disk.dev & 0xf_ffff)
    }

    /// I/O rates of the noisy writer on this disk, where accounted.
    pub(super) fn rate(&self, frame: &'a Frame) -> Option<&'a CgroupIoRate> {
        frame.cgroup(&self.disturber.counted_in)?.io.iter().find(|row| row.dev == self.disk.dev)
    }

    /// Measures the victim's writes, the disk's latency and the noisy writer's share.
    pub(super) fn verify(&self, case: &Case<'_>) -> super::Verify {
        let disk = |metric| Watch { subject: Of::Disk(Arc::clone(&self.disk.name)), metric };
        let mut verify = case.plan("", "").verify;
        verify.load = Some(self.victim.writes());
        verify.shown = vec![disk("disk.write_await"), disk("disk.utilisation"), self.disturber.writes()];
        for party in [&self.victim, &self.disturber].into_iter().filter(|party| party.counted) {
            verify.shown.push(super::group::watch(&party.group, "cgroup.io_pressure"));
        }
        verify
    }
}

impl Party<'_> {
    pub(super) fn writes(&self) -> Watch {
        match self.process.filter(|_| !self.counted) {
            Some(process) => Watch {
                subject: Of::Process { comm: Arc::clone(&process.comm), cgroup: Arc::clone(&process.cgroup) },
                metric: "process.write_bytes",
            },
            None => super::group::watch(&self.group, "cgroup.io_writes"),
        }
    }
}

/// The writers of a disk by cgroup, without unattributed writeback.
fn parties<'a>(frame: &'a Frame, disk: &Disk) -> Vec<Party<'a>> {
    let mut parties: Vec<Party<'a>> = Vec::new();
    for party in disk.writers.iter().filter_map(|writer| party(frame, writer)) {
        match parties.iter_mut().find(|known| known.group == party.group) {
            Some(known) => {
                known.share += party.share;
                known.bytes_per_second += party.bytes_per_second;
                known.delicate |= party.delicate;
            }
            None => parties.push(party),
        }
    }
    parties
}

/// Those that the finding says to wait for the disk, the longest wait first: they write next to nothing, so most are no
/// writers.
fn starved<'a>(case: &Case<'a>, writers: &[Party<'a>]) -> Vec<Party<'a>> {
    if case.finding.text(evidence::WAITING_SERVICES).is_empty() {
        return Vec::new();
    }
    let least = disk_shared::SHARE.value;
    let rows = case.finding.tables().filter(|(name, ..)| *name == evidence::WHO_WRITES.name());
    let names = rows.flat_map(|(_, grid, _)| grid.rows.iter().map(|(name, _)| name));
    let parties = names.filter_map(|name| {
        let party = party(case.frame, &Writer { who: disk_text::writer(case.frame, name)?, ..Writer::default() })?;
        Some(writers.iter().find(|writer| writer.group == party.group).cloned().unwrap_or(party))
    });
    parties.filter(|party| party.share < least).collect()
}

fn party<'a>(frame: &'a Frame, writer: &Writer) -> Option<Party<'a>> {
    let share = writer.bytes_share.into_iter().chain(writer.ops_share).fold(0.0, f64::max);
    let rate = |process: &Process| process.write_bytes_per_second.unwrap_or(0.0);
    let (group, counted_in, process, counted) = match &writer.who {
        WriterId::Cgroup(path) => {
            let inside = frame.processes.iter().filter(|process| process.io_group() == path && !process.kernel);
            (path, path, inside.max_by(|a, b| rate(a).total_cmp(&rate(b))), true)
        }
        WriterId::Process(pid) => {
            let process = frame.process(*pid).filter(|process| !process.kernel)?;
            let own = process.io_group();
            (if **own == *"/" { &process.cgroup } else { own }, own, Some(process), false)
        }
    };
    let (group, counted_in) = (Arc::clone(group), Arc::clone(counted_in));
    let by_name = process.is_some_and(|process| parts::is_delicate(&process.comm));
    let delicate = by_name || parts::is_delicate(&group);
    let is_somebody = !group.is_empty() && (&*group != "/" || !counted);
    let bytes_per_second = writer.bytes_per_second;
    is_somebody.then_some(Party { group, counted_in, process, counted, bytes_per_second, share, delicate })
}

/// The cgroup to limit: not the root, which contains everything.
pub(super) fn held<'a>(case: &Case<'a>, party: &Party<'_>) -> Result<super::group::Group<'a>, Refusal> {
    if &*party.counted_in == "/" {
        return Err(Refusal::until(shared::NO_OWN_CGROUP.to_string(), shared::OWN_SERVICE.to_string()));
    }
    let cgroup: &Cgroup = case.frame.cgroup(&party.counted_in).ok_or(Refusal::NotForThis)?;
    super::group::Group::at(case.frame, &cgroup.path, "blkio")
}
