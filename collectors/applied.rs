//! What fixes have written and what it is now. A machine on which no fix is in force keeps no journal: then the section is
//! missing, without gaps.

use crate::state::{self, JOURNAL, OF_ROOT};
use crate::worker::Worker;
use crate::{Collector, Cx, Options, Root, probe};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use topotop_model::fix::Target;
use topotop_model::journal::{Application, Journal};
use topotop_model::tables::applied::Applied;
use topotop_model::{Draft, Reason, State, Table};

/// How often values are read again; at once where the journal has grown.
const PERIOD_NS: u64 = 30_000_000_000;
/// How long a complete sample waits for them.
const PATIENCE: Duration = Duration::from_millis(300);
/// The most values that are watched.
const MOST: usize = 4096;

/// A value in force.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    fix: String,
    target: String,
    rule: String,
    subject: String,
    wanted: String,
    value: Option<String>,
    applied_boot_ns: u64,
}

/// What was read: rows, and whether lines of the journal are lost; or why it could not be.
type Answer = Result<(Vec<Row>, bool), String>;

/// Reads the journal, and the values that fixes in force have written, through a worker: some wait for locks.
#[derive(Debug)]
pub(crate) struct AppliedCollector {
    directory: Option<PathBuf>,
    worker: Option<Worker<(), Answer>>,
    read_ns: Option<u64>,
    /// Length and time of the journal when it was read.
    seen: Option<(u64, i64)>,
    hidden: bool,
}

impl AppliedCollector {
    pub(crate) fn new(options: &Options) -> Self {
        let directory = state::directory(options.state_dir.as_deref());
        Self { directory, worker: None, read_ns: None, seen: None, hidden: false }
    }
}

impl Collector for AppliedCollector {
    fn name(&self) -> &'static str {
        "applied"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        if draft.applied.state == State::NotCollected {
            draft.applied.begin(cx.now_ns);
            draft.applied.state = State::Missing;
        }
        // A captured machine's fixes are not this one's.
        let Some(directory) = self.directory.as_deref().filter(|_| cx.root.is_live()) else { return };
        let is_due = self.read_ns.is_none_or(|last| cx.now_ns.saturating_sub(last) >= PERIOD_NS) || cx.demand.complete;
        let seen = std::fs::symlink_metadata(directory.join(JOURNAL));
        let seen = seen.map(|facts| (facts.len(), facts.mtime_nsec() ^ facts.mtime()));
        if is_due {
            self.hidden = is_hidden(directory);
        }
        let seen = match seen {
            Ok(seen) => seen,
            Err(error) => {
                self.none(cx.now_ns, draft, error.kind() == std::io::ErrorKind::PermissionDenied);
                return;
            }
        };
        let busy = self.worker.as_ref().is_some_and(|worker| worker.pending() > 0);
        if (is_due || self.seen != Some(seen)) && !busy {
            self.read_ns = Some(cx.now_ns);
            self.seen = Some(seen);
            self.ask(cx.root, directory.to_path_buf());
        }
        let Some(worker) = &mut self.worker else { return };
        let answer = if cx.demand.complete { worker.wait(PATIENCE) } else { worker.take() };
        if let Some(answer) = answer {
            draft.applied.begin(cx.now_ns);
            fill(&answer, draft);
            self.hint(draft);
        }
    }
}

impl AppliedCollector {
    fn ask(&mut self, root: &Arc<Root>, directory: PathBuf) {
        if self.worker.is_none() {
            let root = Arc::clone(root);
            self.worker = Worker::spawn("applied", move |()| read(&root, &directory)).ok();
        }
        if let Some(worker) = &mut self.worker {
            worker.submit(());
        }
    }

    /// Without a journal nothing is in force, unless it is kept from this user.
    fn none(&mut self, now_ns: u64, draft: &mut Draft, denied: bool) {
        let was = self.seen.take().is_some() || draft.applied.gaps.is_empty() == (denied || self.hidden);
        if was {
            draft.applied.begin(now_ns);
            clear(draft.applied.data_mut());
            draft.applied.state = State::Missing;
            if denied {
                draft.applied.gaps.add("journal", Reason::PermissionDenied, "root");
            }
            self.hint(draft);
        }
    }

    /// What root applied cannot be seen by others.
    fn hint(&self, draft: &mut Draft) {
        if self.hidden {
            draft.applied.gaps.add(&OF_ROOT[1..], Reason::PermissionDenied, "root");
        }
    }
}

/// True where root keeps a journal that this user, who has another one, may not read.
fn is_hidden(own: &Path) -> bool {
    let refused = |error: std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
    own != Path::new(OF_ROOT) && std::fs::symlink_metadata(Path::new(OF_ROOT).join(JOURNAL)).is_err_and(refused)
}

fn read(root: &Root, directory: &Path) -> Answer {
    let journal = state::folded(directory)?;
    let boot = root.read_text("proc/sys/kernel/random/boot_id").map_err(|_| "cannot read the boot ID".to_owned())?;
    Ok((rows(root, &journal, boot.trim()), journal.lost() > 0))
}

/// What is in force in this boot: of two fixes that wrote the same, the later one.
fn rows(root: &Root, journal: &Journal, boot: &str) -> Vec<Row> {
    let of_now = journal.applications.iter().filter(|application| application.boot_id == boot);
    let mut wanted: BTreeMap<(String, &str), (&Application, &Target, &str)> = BTreeMap::new();
    for application in of_now {
        for (target, key, value) in application.in_force() {
            // Pages are taken and given back all the time.
            if !matches!(target, Target::Pages { .. }) {
                wanted.insert((target.to_string(), key), (application, target, value));
            }
        }
    }
    let mut known: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut rows = Vec::new();
    for ((place, key), (application, target, wanted)) in wanted.into_iter().take(MOST) {
        let values = known.entry(place.clone()).or_insert_with(|| {
            probe::values(root, target).map(|values| values.into_iter().collect()).unwrap_or_default()
        });
        let value = values.get(key);
        // A thread that has ended took its value along.
        if value.is_none() && !key.is_empty() {
            continue;
        }
        let is_so = value.is_some_and(|value| target.agrees(wanted, value));
        let mut parts = application.intent.fix.split('/');
        let (rule, subject) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        rows.push(Row {
            fix: application.intent.fix.clone(),
            target: if key.is_empty() { place } else { format!("{place}, {key}") },
            rule: rule.to_owned(),
            subject: topotop_model::fix::parse_id(&application.intent.fix)
                .map_or_else(|| subject.to_owned(), |(_, subject, _)| subject.to_string()),
            // In other words it is the same.
            value: if is_so { Some(wanted.to_owned()) } else { value.cloned() },
            wanted: wanted.to_owned(),
            applied_boot_ns: application.ended_boot_ns.unwrap_or(application.boot_ns),
        });
    }
    rows
}

fn clear(table: &mut Applied) {
    let old: Vec<usize> = table.rows().iter().collect();
    for slot in old {
        table.remove(slot);
    }
}

fn fill(answer: &Answer, draft: &mut Draft) {
    let table = draft.applied.data_mut();
    clear(table);
    let Ok((rows, lost)) = answer else {
        let needs = topotop_model::locale::needs::JOURNAL.english();
        draft.applied.state = State::Missing;
        draft.applied.gaps.add("journal", Reason::NotSupported, needs);
        return;
    };
    for row in rows {
        let slot = table.insert();
        let texts = [
            (&mut table.fix, &row.fix),
            (&mut table.target, &row.target),
            (&mut table.rule, &row.rule),
            (&mut table.subject, &row.subject),
            (&mut table.wanted, &row.wanted),
        ];
        for (column, text) in texts {
            column.set(slot, text);
        }
        match &row.value {
            Some(value) => table.value.set(slot, value),
            None => table.value.clear(slot),
        }
        table.applied_boot_ns.set(slot, row.applied_boot_ns);
    }
    if rows.is_empty() {
        draft.applied.state = State::Missing;
    }
    if *lost {
        draft.applied.gaps.add("journal", Reason::Malformed, "");
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, rows};
    use crate::Root;
    use topotop_model::fix::{Identity, Item, Restore, Risk, Target};
    use topotop_model::journal::{Applied, Entry, Intent, Line, Outcome, Written, fold};

    fn application(number: u64, boot: &str, path: &str, new: &str, undone: bool) -> String {
        let item = Item { key: String::new(), old: Some("0".to_owned()), new: new.to_owned() };
        let intent = Intent {
            fix: "NIC-05/nic%3Aeth0/F-CHAN".to_owned(),
            title: String::new(),
            who: String::new(),
            commands: Vec::new(),
            risk: Risk::Safe,
            identity: vec![Identity::Host],
            steps: vec![Written { target: Target::file(path), restore: Restore::Old, items: vec![item] }],
            kept: Vec::new(),
            revert_after_seconds: None,
        };
        let outcome = Outcome { step: 0, key: String::new(), value: Some(new.to_owned()), error: None, ended: false };
        let mut entries = vec![
            Entry::Intent(Box::new(intent)),
            Entry::Wrote(outcome.clone()),
            Entry::Ended { state: Applied::Applied },
        ];
        if undone {
            entries.push(Entry::Undo { why: "asked".to_owned().into(), forced: false });
            entries.push(Entry::PutBack(Outcome { value: Some("0".to_owned()), ..outcome }));
            entries.push(Entry::Undone { whole: true });
        }
        let line = |entry| Line {
            at: String::new(),
            wall_ns: 0,
            boot_ns: number,
            boot_id: boot.to_owned(),
            number,
            seq: None,
            after: None,
            entry,
        };
        entries.into_iter().map(|entry| line(entry).encode() + "\n").collect()
    }

    #[test]
    fn what_is_in_force_is_told_with_what_it_is_now() {
        let dir = tempfile::tempdir().expect("a directory");
        let net = dir.path().join("sys/class/net/eth0/queues/rx-0");
        std::fs::create_dir_all(&net).expect("made");
        std::fs::write(net.join("rps_cpus"), "00000000,0000000e\n").expect("written");
        std::fs::create_dir_all(dir.path().join("proc/sys/vm")).expect("made");
        std::fs::write(dir.path().join("proc/sys/vm/swappiness"), "60\n").expect("written");
        let root = Root::at(dir.path()).expect("a root");
        let (rps, vm) = ("/sys/class/net/eth0/queues/rx-0/rps_cpus", "/proc/sys/vm/swappiness");
        let text = [
            application(1, "now", rps, "c", false),
            application(2, "now", rps, "e", false),
            application(3, "now", vm, "10", false),
            application(4, "now", "/proc/sys/vm/gone", "1", false),
            application(5, "now", "/proc/sys/vm/undone", "1", true),
            application(6, "before", "/proc/sys/vm/before", "1", false),
        ];
        let found = rows(&root, &fold(text.concat().as_bytes()), "now");
        let reported: Vec<_> = found
            .iter()
            .map(|row: &Row| (row.target.as_str(), row.wanted.as_str(), row.value.as_deref(), row.applied_boot_ns))
            .collect();
        let expected = [("/proc/sys/vm/gone", "1", None, 4), (vm, "10", Some("60"), 3), (rps, "e", Some("e"), 2)];
        assert_eq!(reported, expected);
        assert_eq!((found[0].rule.as_str(), found[0].subject.as_str()), ("NIC-05", "nic:eth0"));
    }
}
