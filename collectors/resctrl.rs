//! Memory bandwidth by L3 from resctrl, where somebody has mounted it: sums of its control groups, each of which counts the
//! tasks that are in no other one.

use crate::files::Files;
use crate::{Collector, Cx};
use std::collections::BTreeMap;
use topotop_model::{Draft, Reason, Slots, State};

const ROOT: &str = "sys/fs/resctrl";
/// Control groups that are summed at most: hardware has some dozens of them.
const GROUPS: usize = 128;
/// L3 domains at most.
const DOMAINS: usize = 256;
/// Directories of resctrl that are no groups.
const OTHERS: [&str; 3] = ["info", "mon_data", "mon_groups"];
/// How long a machine without it is left alone, in ns.
const REST_NS: u64 = 60_000_000_000;

/// Bytes since the start: all, and those from the own node. None where a group's counter is not there.
type Bytes = [Option<u64>; 2];

/// Reads `/sys/fs/resctrl`.
#[derive(Debug, Default)]
pub(crate) struct ResctrlCollector {
    /// When to look again whether it is mounted.
    due_ns: u64,
    slots: Slots<u32>,
}

impl Collector for ResctrlCollector {
    fn name(&self) -> &'static str {
        "resctrl"
    }

    /// Each counter may interrupt a CPU of its domain.
    fn period_ns(&self) -> u64 {
        2_000_000_000
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        if cx.now_ns < self.due_ns {
            return;
        }
        let section = &mut draft.memory_bandwidth;
        section.begin(cx.now_ns);
        let mut files = Files::new(cx);
        let domains = match domains(&mut files) {
            Ok(domains) => domains,
            Err(reason) => {
                if !matches!(reason, Reason::NotFound | Reason::Vanished) {
                    section.gaps.add("sys/fs/resctrl/*", reason, "");
                }
                BTreeMap::new()
            }
        };
        self.due_ns = if domains.is_empty() { cx.now_ns.saturating_add(REST_NS) } else { 0 };
        section.state = if domains.is_empty() { State::Missing } else { section.state };
        self.slots.begin();
        let table = section.data_mut();
        for (l3, [total, local]) in domains {
            let (slot, _) = self.slots.slot(table, &l3);
            table.l3.set(slot, u64::from(l3));
            table.total_bytes.set_or_clear(slot, total);
            table.local_bytes.set_or_clear(slot, local);
        }
        self.slots.finish(table, |_, _| {});
    }
}

/// Bytes by L3, summed over the groups.
fn domains(files: &mut Files<'_>) -> Result<BTreeMap<u32, Bytes>, Reason> {
    let mut sums: BTreeMap<u32, Bytes> = BTreeMap::new();
    let mut groups = vec![ROOT.to_owned()];
    let names = files.root.names(ROOT)?.into_iter().filter(|name| !OTHERS.contains(&name.as_str()));
    groups.extend(names.take(GROUPS).map(|name| format!("{ROOT}/{name}")));
    for (number, group) in groups.iter().enumerate() {
        let own = match files.root.names(format!("{group}/mon_data")) {
            Ok(own) => own,
            Err(reason) if number == 0 => return Err(reason),
            // A file, or a group that is gone.
            Err(_) => continue,
        };
        for name in own {
            let Some(l3) = name.strip_prefix("mon_L3_").and_then(|id| id.parse::<u32>().ok()) else { continue };
            if !sums.contains_key(&l3) && sums.len() >= DOMAINS {
                continue;
            }
            let mut of = |counter: &str| {
                let bytes = files.bytes(&format!("{group}/mon_data/{name}/{counter}")).ok();
                bytes.and_then(crate::parse::number)
            };
            let bytes = [of("mbm_total_bytes"), of("mbm_local_bytes")];
            let sum = sums.entry(l3).or_insert([Some(0); 2]);
            for (sum, bytes) in sum.iter_mut().zip(bytes) {
                *sum = sum.zip(bytes).map(|(sum, bytes)| sum.saturating_add(bytes));
            }
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use crate::{Options, Root, Sampler};
    use std::fs;
    use topotop_model::{State, Table as _};

    #[test]
    fn groups_are_summed_by_domain() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().join("sys/fs/resctrl");
        let put = |group: &str, l3: &str, total: &str| {
            let domain = root.join(group).join("mon_data").join(l3);
            fs::create_dir_all(&domain).expect("made");
            fs::write(domain.join("mbm_total_bytes"), format!("{total}\n")).expect("written");
            fs::write(domain.join("mbm_local_bytes"), "5\n").expect("written");
        };
        put("", "mon_L3_00", "1000");
        put("", "mon_L3_01", "Unavailable");
        put("db", "mon_L3_00", "500");
        put("db", "mon_L3_01", "7");
        put("info", "mon_L3_00", "900000");
        fs::write(root.join("schemata"), "L3:0=ff;1=ff\n").expect("written");
        let sample = || Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default()).sample();
        let snapshot = sample();
        let table = snapshot.memory_bandwidth.data();
        let rows: Vec<_> = table
            .rows()
            .iter()
            .map(|slot| (table.l3.id(slot).value(), table.total_bytes.value(slot), table.local_bytes.value(slot)))
            .collect();
        assert_eq!(rows, [(Some(0), Some(1500), Some(10)), (Some(1), None, Some(10))]);
        fs::remove_dir_all(&root).expect("removed");
        assert_eq!(sample().memory_bandwidth.state, State::Missing);
        assert!(sample().memory_bandwidth.gaps.is_empty());
    }
}
