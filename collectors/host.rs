//! Who the machine is. Facts that change seldom: read every half minute.

mod container;
mod sysctls;
mod users;
mod virt;

pub(crate) use sysctls::SysctlsCollector;

use crate::files::{Files, note, put};
use crate::parse::{lines, number, text, trim};
use crate::{Collector, Cx, Root};
use topotop_model::tables::host::Host;
use topotop_model::{Draft, Reason, Section, State, Table};

/// Reads names, release, model, virtualization, uptime and the number of users.
#[derive(Debug, Default)]
pub(crate) struct HostCollector;

/// More bytes of clock sources are none.
const LONGEST_CHOICE: usize = 256;
/// Bytes of /proc/cpuinfo that describe the first CPU; on big machines the rest costs milliseconds.
const CPUINFO_START: usize = 4096;

impl Collector for HostCollector {
    fn name(&self) -> &'static str {
        "host"
    }

    fn period_ns(&self) -> u64 {
        30_000_000_000
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        draft.host.begin(cx.now_ns);
        let section = &mut draft.host;
        let row = section.data_mut().only();
        let mut files = Files::new(cx);
        let read = names(&mut files, section, row);
        live_only(&mut files, section.data_mut(), row);
        let cpuinfo = start_of_cpuinfo(&mut files);
        let table = section.data_mut();
        match cpuinfo.as_deref().and_then(model) {
            Some(model) => table.cpu_model.set(row, &model),
            None => table.cpu_model.clear(row),
        }
        match virt::detect(&mut files, cpuinfo.as_deref()) {
            Some(name) => table.virtualization.set(row, &name),
            None => table.virtualization.clear(row),
        }
        table.in_container.set_or_clear(row, container::detect(&mut files).map(u64::from));
        clock_sources(&mut files, section.data_mut(), row);
        let users = users::count(&mut files, &mut section.gaps);
        put(&mut section.data_mut().users, row, users);
        if !read && cpuinfo.is_none() {
            section.state = State::Missing;
        }
    }
}

/// Reads the facts of the kernel; true when there were any.
fn names(files: &mut Files<'_>, section: &mut Section<Host>, row: usize) -> bool {
    let mut any = false;
    let mut one = |path: &str, gaps: &mut topotop_model::Gaps| match files.bytes(path) {
        Ok(bytes) => {
            any = true;
            Some(text(bytes).into_owned())
        }
        Err(Reason::NotFound) => {
            let pattern = if path.starts_with("proc/sys/") { "proc/sys/*" } else { path };
            gaps.add(pattern, Reason::NotFound, "");
            None
        }
        Err(reason) => {
            note(gaps, path, reason);
            None
        }
    };
    let name = one("proc/sys/kernel/hostname", &mut section.gaps);
    let kernel = one("proc/sys/kernel/osrelease", &mut section.gaps);
    let boot_id = one("proc/sys/kernel/random/boot_id", &mut section.gaps);
    let uptime = one("proc/uptime", &mut section.gaps);
    let table = section.data_mut();
    let kernel = kernel.map(|release| format!("Linux {release}"));
    for (column, value) in [(&mut table.name, name), (&mut table.kernel, kernel), (&mut table.boot_id, boot_id)] {
        match value {
            Some(value) => column.set(row, &value),
            None => column.clear(row),
        }
    }
    table.uptime_seconds.set_or_clear(row, uptime.as_deref().and_then(seconds));
    match files.bytes("etc/os-release").ok().and_then(pretty_name) {
        Some(name) => table.os.set(row, &name),
        None => table.os.clear(row),
    }
    any
}

/// What time is read from, and could be; nothing where the kernel has no choice to offer.
fn clock_sources(files: &mut Files<'_>, table: &mut Host, row: usize) {
    let columns = [(&mut table.clock_source, "current"), (&mut table.clock_sources, "available")];
    for (column, which) in columns {
        let path = format!("sys/devices/system/clocksource/clocksource0/{which}_clocksource");
        match files.bytes(&path).map(|bytes| text(trim(bytes)).into_owned()) {
            Ok(names) if names.len() <= LONGEST_CHOICE => column.set(row, &names),
            _ => column.clear(row),
        }
    }
}

/// Facts without a file: asked of the kernel, or as `capture` wrote them.
fn live_only(files: &mut Files<'_>, table: &mut Host, row: usize) {
    let (arch, page) = if files.root.is_live() {
        (Some(sysinfo::System::cpu_arch()), Some(rustix::param::page_size() as u64))
    } else {
        let arch = files.bytes(ARCH).ok().map(|bytes| text(bytes).into_owned());
        (arch, files.bytes(PAGE_SIZE).ok().and_then(number))
    };
    match arch.filter(|arch| !arch.is_empty()) {
        Some(arch) => table.arch.set(row, &arch),
        None => table.arch.clear(row),
    }
    table.page_bytes.set_or_clear(row, page);
}

const ARCH: &str = "topotop/arch";
const PAGE_SIZE: &str = "topotop/page_size";

/// The files of a captured tree with what only a running kernel knows.
pub(crate) fn capture(root: &Root) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    if !root.is_live() {
        return Vec::new();
    }
    vec![
        (ARCH.into(), format!("{}\n", sysinfo::System::cpu_arch()).into_bytes()),
        (PAGE_SIZE.into(), format!("{}\n", rustix::param::page_size()).into_bytes()),
    ]
}

fn start_of_cpuinfo(files: &mut Files<'_>) -> Option<Vec<u8>> {
    let kept = files.root.open("proc/cpuinfo").ok()?;
    let buf = files.buffer();
    kept.read_start(buf, CPUINFO_START).ok()?;
    (!buf.is_empty()).then(|| buf.clone())
}

/// The first value of a key in /proc/cpuinfo.
fn cpuinfo_value<'a>(bytes: &'a [u8], key: &str) -> Option<&'a [u8]> {
    lines(bytes).find_map(|line| {
        let at = line.iter().position(|&byte| byte == b':')?;
        let (name, value) = line.split_at_checked(at)?;
        (trim(name) == key.as_bytes()).then(|| trim(value.get(1..).unwrap_or_default()))
    })
}

/// The model as the architectures name it.
fn model(bytes: &[u8]) -> Option<String> {
    let keys = ["model name", "Model Name", "cpu model", "cpu", "Processor", "Hardware", "vendor", "vendor_id"];
    let value = keys.iter().find_map(|key| cpuinfo_value(bytes, key))?;
    (!value.is_empty()).then(|| text(value).split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Whole seconds of `/proc/uptime`.
fn seconds(line: &str) -> Option<u64> {
    number(line.split(['.', ' ']).next()?.as_bytes())
}

/// `PRETTY_NAME` of os-release.
fn pretty_name(bytes: &[u8]) -> Option<String> {
    let value = lines(bytes).find_map(|line| line.strip_prefix(b"PRETTY_NAME="))?;
    let value = text(value);
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{model, pretty_name, seconds};
    use proptest::prelude::*;

    #[test]
    fn takes_models_of_several_architectures() {
        let x86 = b"processor\t: 0\nvendor_id\t: Some\nmodel name\t: Some  CPU   3\n";
        assert_eq!(model(x86).as_deref(), Some("Some CPU 3"));
        assert_eq!(model(b"processor\t: 0\ncpu\t\t: POWER9, altivec\n").as_deref(), Some("POWER9, altivec"));
        assert_eq!(model(b"vendor_id       : IBM/S390\n").as_deref(), Some("IBM/S390"));
        assert_eq!(model(b"processor\t: 0\nBogoMIPS\t: 100.00\n"), None);
        assert_eq!(pretty_name(b"ID=x\nPRETTY_NAME=\"Some OS 12\"\n").as_deref(), Some("Some OS 12"));
        assert_eq!(seconds("12345.67 234.5"), Some(12345));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, line in ".*") {
            let _ = (model(&bytes), pretty_name(&bytes), seconds(&line));
        }
    }
}
