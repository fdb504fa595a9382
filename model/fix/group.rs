//! Shared by fixes of cgroups: the directory of a cgroup, its manager, and how to write its settings.

use super::shell::quoted;
use super::{Case, Identity, Need, Refusal, Snippet, Step, Target, Verify};
use crate::diff::{Subject as Of, Watch};
use crate::frame::{Cgroup, CgroupMemory, Frame};
use crate::locale::fix as shared;
use crate::locale::{Text, evidence};
use crate::rules::{Subject, parts};
use std::sync::Arc;

/// A page, to which the kernel rounds every limit: what is written in whole MiB reads back as it was written.
pub(super) const MIB: u64 = 1 << 20;

/// A group and where its files of one controller are.
#[derive(Clone, Debug)]
pub(super) struct Group<'a> {
    pub(super) cgroup: &'a Cgroup,
    /// 1 or 2: of the hierarchy that has the controller.
    pub(super) version: u32,
    /// Its directory there.
    pub(super) dir: String,
    /// Its inode there; zero where it is not known.
    inode: u64,
}

impl<'a> Group<'a> {
    /// The group that a finding is about.
    pub(super) fn of(case: &Case<'a>, controller: &str) -> Result<Self, Refusal> {
        let Subject::Cgroup(path) = &case.finding.subject else { return Err(Refusal::NotForThis) };
        Self::at(case.frame, path, controller)
    }

    /// The group of a path.
    pub(super) fn at(frame: &'a Frame, path: &str, controller: &str) -> Result<Self, Refusal> {
        let cgroup = frame.cgroup(path).ok_or(Refusal::NotForThis)?;
        let unknown = || Refusal::until(shared::NO_CGROUP_MOUNT.to_string(), "/proc/self/mountinfo");
        let (version, dir) = frame.cgroup_directory(path, controller).ok_or_else(unknown)?;
        // A row's inode is of the memory hierarchy, else of others: where it is not of this one, it is
        // looked up when the plan is shown.
        let one = |name| frame.cgroup_directory(path, name).is_some_and(|(version, _)| version == 1);
        let is_known =
            if version == 1 { controller == "memory" } else { !["memory", "cpu", "cpuacct"].into_iter().any(one) };
        let inode = if is_known { cgroup.inode.value().unwrap_or(0) } else { 0 };
        Ok(Self { cgroup, version, dir, inode })
    }

    /// Its memory.
    pub(super) fn memory(&self) -> Result<&'a CgroupMemory, Refusal> {
        let unread =
            || Refusal::until(shared::CgroupMemoryUnread { cgroup: &self.cgroup.path }.to_string(), "memory.stat");
        self.cgroup.memory.as_ref().ok_or_else(unread)
    }

    pub(super) fn identity(&self) -> Identity {
        Identity::Cgroup { directory: self.dir.clone(), inode: self.inode }
    }

    /// A file of it.
    pub(super) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.dir.trim_end_matches('/'))
    }

    /// Its systemd unit; none for cgroups that systemd does not manage.
    pub(super) fn unit(&self) -> Option<&'a str> {
        unit(&self.cgroup.path)
    }

    /// How to write a setting: through systemd where it manages the cgroup, else to the file.
    pub(super) fn setting(
        &self,
        case: &Case<'_>,
        what: &str,
        new: &str,
        file: &Named<'_>,
        unit: &Named<'_>,
    ) -> Setting {
        let by = self.unit().filter(|_| case.surroundings.systemd && !unit.name.is_empty());
        let Some(name) = by else {
            let path = self.file(file.name);
            let command = format!("echo {} > {}", quoted(file.value), quoted(&path));
            let step = Step::new(what, Target::file(path), new);
            return Setting { step, command, kept: Vec::new(), undo: Undo::Echo };
        };
        let property = unit.name.to_owned();
        let command = format!("systemctl set-property --runtime {} {property}={}", quoted(name), unit.value);
        let step = Step::new(what, Target::UnitProperty { unit: name.to_owned(), property }, unit.value);
        // Undo leaves no drop-in that was not there, and a value that somebody wrote to the file beside systemd.
        let mut kept = vec![Target::UnitDropIn { unit: name.to_owned(), property: unit.name.to_owned() }];
        let is_plain = ["cpu.", "cpuset.", "memory."].iter().any(|controller| file.name.starts_with(controller));
        kept.extend(is_plain.then(|| Target::file(self.file(file.name))));
        Setting { step, command, kept, undo: Undo::Systemd }
    }

    /// What may write its settings; `kubelet` says what the kubelet does.
    pub(super) fn reverters(&self, kubelet: Option<Text>) -> Vec<String> {
        let mut who = Vec::new();
        if self.cgroup.container.is_some() || is_of_containers(&self.cgroup.path) {
            who.push(shared::REVERTER_RUNTIME.to_string());
            who.extend(kubelet.map(|text| text.to_string()));
        }
        // Container runtimes with the systemd cgroup driver leave their cgroups to it.
        if is_unit(&self.cgroup.path) {
            who.push(shared::REVERTER_SYSTEMD.to_string());
        }
        who
    }

    /// The configuration that makes a setting permanent: of the unit or the container.
    pub(super) fn lasting(&self, unit: &str, pod: &str) -> Option<Snippet> {
        if is_of_containers(&self.cgroup.path) {
            return Some(Snippet { place: shared::PLACE_CONTAINER.to_string(), text: format!("{pod}\n") });
        }
        let name = self.unit()?;
        let section = match name.rsplit('.').next() {
            Some("slice") => "Slice",
            Some("scope") => return None,
            _ => "Service",
        };
        // systemd has another name for the limit of version 1.
        let unit = unit
            .strip_prefix("MemoryMax=")
            .filter(|_| self.version == 1)
            .map_or_else(|| unit.to_owned(), |bytes| format!("MemoryLimit={bytes}"));
        let place = format!("/etc/systemd/system/{name}.d/90-topotop.conf");
        Some(Snippet { place, text: format!("[{section}]\n{unit}\n") })
    }
}

/// A setting's name and value in the notation of its interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

/// The interface that undo uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Undo {
    Echo,
    Systemd,
}

/// A setting of a group as it is written.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) step: Step,
    pub(super) command: String,
    /// What changes with it, to be restored after it.
    pub(super) kept: Vec<Target>,
    undo: Undo,
}

impl Setting {
    /// The command that undoes it, given the old value for the file and for systemd.
    pub(super) fn undo(&self, file: &str, unit: &str) -> String {
        match (&self.undo, &self.step.target) {
            (Undo::Systemd, Target::UnitProperty { unit: name, property }) => {
                format!("systemctl set-property --runtime {} {property}={unit}", quoted(name))
            }
            (_, target) => format!("echo {} > {}", quoted(file), quoted(&target.to_string())),
        }
    }
}

/// Writing a cgroup's files requires no capability: their owner may write them.
pub(super) fn need() -> Need {
    Need { capability: String::new(), what: shared::NEED_CGROUP.to_string() }
}

/// The systemd unit of a cgroup path that nobody else manages: its last part, where all parts above are slices of systemd.
fn unit(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    (is_unit(path) && !is_of_containers(path)).then_some(name)
}

/// True where systemd made the cgroup.
pub(super) fn is_unit(path: &str) -> bool {
    let Some((above, name)) = path.rsplit_once('/') else { return false };
    let ends = |name: &str, suffix: &str| name.len() > suffix.len() && name.ends_with(suffix);
    let in_slices = above.split('/').filter(|part| !part.is_empty()).all(|part| ends(part, ".slice"));
    in_slices && [".service", ".scope", ".slice"].iter().any(|suffix| ends(name, suffix))
}

/// True for the cgroups of Kubernetes and of container runtimes, which manage them.
fn is_of_containers(path: &str) -> bool {
    let of_agents = |part: &str| {
        ["kubepods", "kubelet", "docker", "libpod", "cri-containerd", "crio", "machine-libpod"].iter().any(|name| {
            part.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', '_']))
        })
    };
    // The daemons themselves are services like others.
    path.split('/').any(|part| of_agents(part) && !part.ends_with(".service"))
}

/// A metric of a cgroup.
pub(super) fn watch(path: &Arc<str>, metric: &'static str) -> Watch {
    Watch { subject: Of::Cgroup(Arc::clone(path)), metric }
}

/// The load metric: traffic of the busiest interface where it is significant, else the cgroup's CPU time.
pub(super) fn load(frame: &Frame, path: &Arc<str>) -> Watch {
    // Of version 1 a group need not be where CPU time is counted.
    let counted = frame.cgroup(path).is_some_and(|cgroup| cgroup.cpu.usage_cores.is_some());
    let own = || if counted { watch(path, "cgroup.cores") } else { load_of_machine(frame) };
    traffic(frame).unwrap_or_else(own)
}

fn traffic(frame: &Frame) -> Option<Watch> {
    let bytes = |nic: &crate::frame::Nic| nic.rx.bytes_per_second.unwrap_or(0.0);
    let nics = frame.nics.iter().filter(|nic| parts::is_physical(nic) && bytes(nic) >= 1e6);
    let nic = nics.max_by(|a, b| bytes(a).total_cmp(&bytes(b)))?;
    Some(Watch { subject: Of::Nic(Arc::clone(&nic.name)), metric: "nic.rx_bytes" })
}

/// The load metric of the host: traffic where it is significant, else CPU time.
pub(super) fn load_of_machine(frame: &Frame) -> Watch {
    traffic(frame).unwrap_or(Watch { subject: Of::Host, metric: "host.busy" })
}

/// How the effect on a group's memory is measured: what waits for it, else what is read again, else how often the limit
/// was hit.
pub(super) fn verify(case: &Case<'_>, cgroup: &Cgroup, settle_seconds: u32) -> Verify {
    let path = &cgroup.path;
    let memory = cgroup.memory.as_ref();
    let waits = cgroup.pressure.memory.is_some_and(|stall| stall.some_ratio.is_some());
    let refaults = memory.is_some_and(|memory| memory.refault_file_per_second.is_some());
    let cost = match (waits, refaults) {
        (true, _) => "cgroup.memory_pressure",
        (false, true) => "cgroup.refault_file",
        (false, false) => "cgroup.events_max",
    };
    let host = |metric| Watch { subject: Of::Host, metric };
    let shown = ["cgroup.memory", "cgroup.refault_file", "cgroup.pgscan_direct", "cgroup.events_max"];
    // What comes and goes is measured over two rounds of it.
    let period = case.finding.number(evidence::PERIOD).map_or(0, |period| (period * 2.0).ceil() as u32 + 1);
    Verify {
        load: Some(load(case.frame, path)),
        cost: Some(watch(path, cost)),
        guards: vec![host("host.allocstall"), host("host.pswpout")],
        shown: shown.into_iter().filter(|metric| *metric != cost).map(|metric| watch(path, metric)).collect(),
        before_seconds: period.max(30),
        settle_seconds,
        after_seconds: period.max(30),
        ..Verify::default()
    }
}

/// A size: `64M`, `5G`, `1073741824`.
pub(super) fn size(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches('B').trim_end_matches('i');
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T']);
    let shift = match text.strip_prefix(digits)? {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// A parameter that is a size, in whole MiB; refused where it is not a size or out of range.
pub(super) fn sized(case: &Case<'_>, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, Refusal> {
    let Some(text) = case.set.get(name) else { return Ok(None) };
    let whole = size(text).map(|bytes| bytes / MIB * MIB).filter(|bytes| range.contains(bytes));
    let (low, high) = (show(*range.start()), show(*range.end()));
    whole.map(Some).ok_or_else(|| {
        Refusal::because(shared::SizeRange { name: &name, text: &text, low: &low, high: &high }.to_string())
    })
}

/// Bytes for people.
pub(super) fn show(bytes: u64) -> String {
    parts::bytes(Some(bytes as f64))
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Group, is_of_containers, is_unit, size, unit};
    use crate::Known;
    use crate::frame::{Cgroup, CgroupMount, Frame};
    use proptest::prelude::*;

    /// A machine of one version; of version 1 with a hierarchy for each controller.
    pub(in super::super) fn mounted(frame: &mut Frame, version: u32) {
        let mount =
            |dir: &str, controllers: &str| CgroupMount { dir: dir.into(), version, controllers: controllers.into() };
        frame.cgroup_mounts = if version == 2 {
            vec![mount("/sys/fs/cgroup", "")]
        } else {
            ["memory", "cpu,cpuacct", "blkio"].map(|name| mount(&format!("/sys/fs/cgroup/{name}"), name)).to_vec()
        };
        for cgroup in &mut frame.cgroups {
            cgroup.version = version;
        }
    }

    #[test]
    fn units_are_systemds_own() {
        assert_eq!(unit("/system.slice/mq.service"), Some("mq.service"));
        assert_eq!(unit("/user.slice/user-0.slice/session-3.scope"), Some("session-3.scope"));
        assert_eq!(unit("/a-b.slice"), Some("a-b.slice"));
        for path in [
            "/mq",
            "/",
            "/.service",
            "/kubepods.slice/kubepods-pod1.slice/cri-containerd-8a.scope",
            "/kubepods.slice",
            "/system.slice/docker-8a.scope",
            "/user.slice/user-0.slice/user@0.service/app.slice/x.service",
            "/docker/8a/system.slice/x.service",
            "/system.slice/x.service/below",
        ] {
            assert_eq!(unit(path), None, "{path}");
        }
        assert_eq!(unit("/system.slice/docker.service"), Some("docker.service"));
        assert!(
            is_unit("/kubepods.slice/kubepods-pod1.slice/cri-containerd-8a.scope") && !is_unit("/kubepods/pod1/8a")
        );
        assert!(is_of_containers("/kubepods/burstable/pod1/8a") && !is_of_containers("/system.slice/kubelet.service"));
    }

    #[test]
    fn systemd_is_named_where_it_keeps_the_group_of_a_container() {
        let count = |path: &str| {
            let mut frame =
                Frame { cgroups: vec![Cgroup { path: path.into(), ..Cgroup::default() }], ..Frame::default() };
            mounted(&mut frame, 2);
            let who = Group::at(&frame, path, "memory").expect("a group").reverters(None);
            (who.len(), who.last().is_some_and(|last| last.starts_with("systemd")))
        };
        assert_eq!(count("/kubepods.slice/kubepods-pod1.slice/cri-containerd-8a.scope"), (2, true));
        assert_eq!(count("/kubepods/burstable/pod1/8a"), (1, false));
        assert_eq!(count("/system.slice/mq.service"), (1, true));
    }

    #[test]
    fn an_inode_is_of_the_hierarchy_that_tells_of_memory() {
        let mut frame = Frame::default();
        let group = Cgroup { path: "/mq".into(), inode: Known::Value(7), ..Cgroup::default() };
        frame.cgroups.push(group);
        let place = |frame: &Frame, controller: &str| {
            let group = Group::at(frame, "/mq", controller).expect("a group");
            (group.dir.clone(), group.inode)
        };
        mounted(&mut frame, 1);
        assert_eq!(place(&frame, "cpu"), ("/sys/fs/cgroup/cpu,cpuacct/mq".to_owned(), 0));
        assert_eq!(place(&frame, "memory"), ("/sys/fs/cgroup/memory/mq".to_owned(), 7));
        mounted(&mut frame, 2);
        assert_eq!(place(&frame, "cpu"), ("/sys/fs/cgroup/mq".to_owned(), 7));
    }

    #[test]
    fn sizes_have_units() {
        let cases = [("64M", Some(64 << 20)), ("5G", Some(5 << 30)), ("7", Some(7)), ("1GiB", Some(1 << 30))];
        for (text, bytes) in cases {
            assert_eq!(size(text), bytes, "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "1X", "99999999999999T"] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,30}") {
            let _ = (unit(&text), is_of_containers(&text), size(&text));
        }
    }
}
