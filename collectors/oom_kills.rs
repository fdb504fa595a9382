//! What the kernel's log says of processes that the OOM killer killed: counters tell of none for whose limit it was.
//!
//! The log is read from where it was when this program started, and only after the kernel has counted a kill.

use crate::parse::number;
use crate::root::log::KernelLog;
use crate::{Collector, Cx};
use topotop_model::text::from_bytes;
use topotop_model::{Draft, Reason, Slots, Table as _};

/// Records and bytes of the log that are read for one sample at most.
const RECORDS: usize = 4096;
const BYTES: usize = 1 << 20;
/// The longest record that the kernel gives out.
const RECORD: usize = 8192;
/// The longest path of a group that is believed.
const PATH: usize = 4096;
/// Kills that are kept, and for how long, in ns: groups count them in another sample than the machine.
const MOST: usize = 64;
const KEPT_NS: u64 = 30_000_000_000;

/// What would make the log readable.
fn needs(reason: Reason) -> &'static str {
    if reason == Reason::PermissionDenied { "CAP_SYSLOG" } else { "/dev/kmsg of the host" }
}

/// A kill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kill {
    sequence: u64,
    constraint: String,
    memcg: Option<String>,
    task_memcg: Option<String>,
    read_at_ns: u64,
}

/// Reads `/dev/kmsg`.
#[derive(Debug, Default)]
pub(crate) struct OomKillCollector {
    log: Option<Result<KernelLog, Reason>>,
    /// What the machine had counted.
    counted: Option<u64>,
    kills: Vec<Kill>,
    /// Why the log could not be read when it was needed.
    unread: Option<Reason>,
    slots: Slots<u64>,
}

impl Collector for OomKillCollector {
    fn name(&self) -> &'static str {
        "oom_kills"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        if self.log.is_none() && cx.root.is_live() {
            self.log = Some(cx.root.kernel_log());
        }
        let memory = draft.memory.data();
        let counted = memory.first().and_then(|slot| memory.oom_kill.value(slot));
        let advanced = counted.zip(self.counted).is_some_and(|(now, before)| now > before);
        self.counted = counted.or(self.counted);
        self.kills.retain(|kill| cx.now_ns.saturating_sub(kill.read_at_ns) < KEPT_NS);
        if advanced {
            self.unread = self.read(cx).err();
        }
        let section = &mut draft.oom_kills;
        section.begin(cx.now_ns);
        if let Some(reason) = self.unread {
            section.gaps.add("dev/kmsg", reason, needs(reason));
        }
        self.slots.begin();
        let table = section.data_mut();
        for kill in &self.kills {
            let (slot, fresh) = self.slots.slot(table, &kill.sequence);
            if fresh {
                table.sequence.set(slot, kill.sequence);
                table.constraint.set(slot, &kill.constraint);
                for (column, path) in [(&mut table.memcg, &kill.memcg), (&mut table.task_memcg, &kill.task_memcg)] {
                    match path {
                        Some(path) => column.set(slot, path),
                        None => column.clear(slot),
                    }
                }
            }
        }
        self.slots.finish(table, |_, _| {});
    }
}

impl OomKillCollector {
    fn read(&mut self, cx: &mut Cx<'_>) -> Result<(), Reason> {
        match &self.log {
            Some(Ok(log)) => {
                let mut record = vec![0; RECORD];
                let mut bytes = 0;
                for _ in 0..RECORDS {
                    let Some(record) = log.next(&mut record)? else { break };
                    bytes += record.len();
                    take(&mut self.kills, record, cx.now_ns);
                    if bytes > BYTES {
                        break;
                    }
                }
            }
            Some(Err(reason)) => return Err(*reason),
            // A captured machine has what somebody saved of it.
            None => {
                cx.root.read("dev/kmsg", cx.buf)?;
                let records = cx.buf.split(|byte| *byte == b'\n').take(RECORDS);
                records.for_each(|record| take(&mut self.kills, record, cx.now_ns));
            }
        }
        Ok(())
    }
}

/// Adds the kill that a record tells of, if it does.
fn take(kills: &mut Vec<Kill>, record: &[u8], now_ns: u64) {
    let Some(kill) = kill(record) else { return };
    if kills.len() < MOST && kills.iter().all(|known| known.sequence != kill.sequence) {
        kills.push(Kill { read_at_ns: now_ns, ..kill });
    }
}

/// The kill of a record `6,1234,5678,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=…` (Linux 5.0), of older kernels one
/// of `Task in /a/b killed as a result of limit of /a` and `Out of memory: Kill process …`.
fn kill(record: &[u8]) -> Option<Kill> {
    let at = record.iter().position(|byte| *byte == b';')?;
    let (head, text) = (record.get(..at)?, record.get(at + 1..)?);
    let mut head = head.split(|byte| *byte == b',');
    // Programs may write to the log too: their facility is not the kernel's, 0.
    let facility = number(head.next()?)? >> 3;
    let sequence = number(head.next()?)?;
    if facility != 0 {
        return None;
    }
    let line = text.split(|byte| *byte == b'\n').next()?;
    let text = from_bytes(line);
    let (constraint, memcg, task_memcg) = modern(&text).or_else(|| old(&text))?;
    let path = |path: &str| (path.starts_with('/') && path.len() <= PATH).then(|| path.to_owned());
    Some(Kill {
        sequence,
        constraint: constraint.to_owned(),
        memcg: memcg.and_then(path),
        task_memcg: task_memcg.and_then(path),
        read_at_ns: 0,
    })
}

type Parts<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

fn modern(text: &str) -> Option<Parts<'_>> {
    let rest = text.strip_prefix("oom-kill:constraint=CONSTRAINT_")?;
    let constraint = rest.split(',').next()?;
    let known = ["NONE", "CPUSET", "MEMORY_POLICY", "MEMCG"].into_iter().find(|known| *known == constraint)?;
    // The name of the task comes last, and may hold anything.
    let (groups, _) = rest.split_once(",task=")?;
    let (before, task_memcg) = groups.split_once(",task_memcg=").map_or((groups, None), |(a, b)| (a, Some(b)));
    Some((known, before.split_once(",oom_memcg=").map(|(_, path)| path), task_memcg))
}

fn old(text: &str) -> Option<Parts<'_>> {
    if text.starts_with("Out of memory: Kill process ") {
        return Some(("NONE", None, None));
    }
    let (victim, limit) = text.strip_prefix("Task in ")?.split_once(" killed as a result of limit of ")?;
    Some(("MEMCG", Some(limit), Some(victim)))
}

#[cfg(test)]
mod tests {
    use super::{Kill, kill};
    use crate::{Options, Root, Sampler};
    use std::fs;
    use topotop_model::Table as _;

    fn of(record: &str) -> Option<(String, Option<String>, Option<String>)> {
        kill(record.as_bytes()).map(|Kill { constraint, memcg, task_memcg, .. }| (constraint, memcg, task_memcg))
    }

    #[test]
    fn records_say_whose_limit_it_was() {
        let path = |path: &str| Some(path.to_owned());
        assert_eq!(
            of(
                "6,812,99,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/mq,\
                task_memcg=/mq/a,task=x,task_memcg=/y,pid=7,uid=0\n SUBSYSTEM=x\n"
            ),
            Some(("MEMCG".to_owned(), path("/mq"), path("/mq/a")))
        );
        assert_eq!(
            of("6,813,99,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,\
                task_memcg=/mq/a,task=java,pid=7,uid=0"),
            Some(("NONE".to_owned(), None, path("/mq/a")))
        );
        assert_eq!(
            of("6,1,9,-;Task in /docker/a killed as a result of limit of /docker"),
            Some(("MEMCG".to_owned(), path("/docker"), path("/docker/a")))
        );
        assert_eq!(of("3,1,9,-;Out of memory: Kill process 7 (java) score 9"), Some(("NONE".to_owned(), None, None)));
        for nothing in [
            "14,1,9,-;oom-kill:constraint=CONSTRAINT_NONE,global_oom,task_memcg=/a,task=x,pid=1,uid=0",
            "6,1,9,-;oom-kill:constraint=CONSTRAINT_LUNCH,task=x,pid=1,uid=0",
            "6,1,9,-;oom-kill:constraint=CONSTRAINT_NONE",
            "6,1;",
            "",
        ] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn the_log_is_read_once_a_kill_was_counted() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for folder in ["proc", "dev"] {
            fs::create_dir(dir.path().join(folder)).expect("made");
        }
        let line = "6,812,99,-;oom-kill:constraint=CONSTRAINT_NONE,global_oom,task_memcg=/mq,task=x,pid=7,uid=0\n";
        let log = dir.path().join("dev/kmsg");
        fs::write(&log, line).expect("written");
        let count =
            |kills: u32| fs::write(dir.path().join("proc/vmstat"), format!("oom_kill {kills}\n")).expect("written");
        let sampler = || Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default());
        let mut first = sampler();
        count(3);
        assert!(first.sample().oom_kills.data().rows().is_empty());
        count(4);
        let snapshot = first.sample();
        let table = snapshot.oom_kills.data();
        let slot = table.first().expect("a kill");
        let texts =
            [&table.constraint, &table.memcg, &table.task_memcg].map(|column| column.or_empty(slot).to_string());
        assert_eq!(texts, ["NONE", "", "/mq"]);
        // Nobody may read it.
        fs::remove_file(&log).expect("removed");
        let mut second = sampler();
        second.sample();
        count(5);
        let snapshot = second.sample();
        assert!(snapshot.oom_kills.gaps.iter().any(|gap| &*gap.path == "dev/kmsg"));
    }
}
