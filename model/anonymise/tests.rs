use super::{Anonymiser, Names};
use crate::{Column, Section, Snapshot, Table, Visit, codec};
use proptest::prelude::*;
use std::collections::hash_map::RandomState;
use std::sync::Arc;

const SECRET: &str = "zebrafish";

/// A machine where everything that people name is called after the secret.
fn machine(secret: &str) -> Snapshot {
    let mut snapshot = Snapshot::default();
    macro_rules! row {
        ($section:ident { $($column:ident: $value:expr),* $(,)? }) => {{
            let section = Arc::make_mut(&mut snapshot.$section);
            section.begin(7);
            let slot = section.data_mut().insert();
            $(section.data_mut().$column.set(slot, $value);)*
        }};
    }
    row!(host { name: secret, kernel: "6.1.0", boot_id: "0123abcd-0123-0123-0123-0123456789ab" });
    row!(processes { pid: 2, comm: "ksoftirqd/0", flags: super::KERNEL_THREAD, cmdline: "" });
    let arguments = format!("/opt/{secret}/beam.smp +sbt db -name {secret}@10.1.2.3 -D{secret}=1 /{secret}");
    row!(processes { pid: 7, comm: secret, flags: 0, cgroup: &*format!("/{secret}.slice"), cmdline: &*arguments });
    row!(threads { pid: 7, tid: 8, comm: "1_scheduler", flags: 0 });
    row!(threads { pid: 7, tid: 9, comm: &*format!("{secret}-1"), flags: 0 });
    row!(cgroups {
        path: &*format!("/{secret}.slice"),
        pod_name: secret,
        namespace: &*format!("ns-{secret}"),
        container_name: secret,
        container_id: "0123456789ab",
        pod_uid: "0a1b2c3d-1111",
        runtime: "docker",
    });
    row!(cgroup_io { path: &*format!("/{secret}.slice"), dev: 1 });
    row!(nics { name: "eth0", kind: "physical", driver: "mlx5_core", address: "52:54:00:12:34:56" });
    let own = format!("{secret}0");
    row!(nics { name: &*own, lower: &*format!("eth0 {own}"), master: &*own, driver: "veth" });
    row!(nic_queues { nic: &*own, direction: "rx" });
    row!(irqs { irq: 9, name: &*format!("{own}-TxRx-0"), device: &*own, chip: "PCI-MSI" });
    row!(pci_devices { address: "0000:01:00.0", name: &*own, driver: "mlx5_core" });
    row!(disks { dev: 1, name: "sda", model: "DISK 1", lower: "" });
    row!(disks { dev: 2, name: "loop0", lower: &*format!("/srv/{secret}.img") });
    row!(mounts { dev: 1, path: &*format!("/srv/{secret}"), fs: "ext4", source: "/dev/sda" });
    row!(mounts { dev: 2, path: "/", fs: "ext4", source: &*format!("/dev/mapper/{secret}-root") });
    row!(sysctls { name: "vm.swappiness", value: "60" });
    row!(listeners { pid: 7, address: "0.0.0.0", port: 5672, protocol: "tcp" });
    row!(listeners { pid: 7, path: &*format!("/run/{secret}.sock"), protocol: "unix" });
    row!(peers { pid: 7, address: "10.1.2.3", port: 5432 });
    row!(peers { pid: 7, address: "2001:db8:1:2::3", port: 5432 });
    row!(metrics { name: "tps", source: &*format!("file:/var/log/{secret}.log") });
    fixes(&mut snapshot, secret);
    snapshot
}

/// What two fixes wrote.
fn fixes(snapshot: &mut Snapshot, secret: &str) {
    let section = Arc::make_mut(&mut snapshot.applied);
    section.begin(7);
    let (group, file) = (format!("cgroup:/{secret}.slice"), format!("/sys/fs/cgroup/{secret}.slice/memory.high"));
    let fix = format!("MEM-02/cgroup%3A%2F{secret}.slice/F-HIGH");
    let rows = [(&*fix, &*group, &*file), ("IRQ-03/irq%3A9/F-IRQAFF", "irq:9", "/proc/irq/9/smp_affinity_list")];
    for (fix, subject, target) in rows {
        let table = section.data_mut();
        let slot = table.insert();
        table.fix.set(slot, fix);
        table.subject.set(slot, subject);
        table.target.set(slot, target);
        table.wanted.set(slot, "1");
    }
}

/// Every text of a snapshot.
#[derive(Default)]
struct Texts(Vec<(&'static str, String)>);

impl Visit for Texts {
    fn section<T: Table>(&mut self, name: &'static str, section: &Arc<Section<T>>) {
        for index in 0..T::COLUMNS.len() {
            if let Some(Column::Text(column)) = section.data().column(index) {
                let rows = section.data().rows().iter();
                self.0.extend(rows.filter_map(|slot| Some((name, column.get(slot)?.to_string()))));
            }
        }
        self.0.extend(section.gaps.iter().map(|gap| (name, gap.path.to_string())));
    }
}

fn texts(snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let mut texts = Texts::default();
    snapshot.visit(&mut texts);
    texts.0
}

fn anonymiser() -> Anonymiser {
    Anonymiser::new(Names::new(RandomState::new()))
}

#[test]
fn no_planted_name_is_left_in_what_is_decoded() {
    let before = machine(SECRET);
    assert!(texts(&before).iter().filter(|(_, text)| text.contains(SECRET)).count() >= 17, "they are there at first");
    let mut after = before.clone();
    anonymiser().apply(&mut after);
    let record = codec::encode(None, &after).expect("encoded");
    let decoded = codec::decode(None, &record).expect("decoded");
    for (section, text) in texts(&decoded) {
        assert!(!text.contains(SECRET), "{section}: {text}");
        assert!(
            !text.contains("10.1.2.3")
                && !text.contains("2001")
                && !text.contains("0123abcd")
                && !text.contains("12:34:56"),
            "{text}"
        );
    }
    assert_eq!(decoded, after);
}

#[test]
fn what_diagnosis_needs_stays_and_joins_hold() {
    let mut after = machine(SECRET);
    let mut anonymiser = anonymiser();
    anonymiser.apply(&mut after);
    let secret = anonymiser.names().words(SECRET);
    let (processes, threads) = (after.processes.data(), after.threads.data());
    assert_eq!((&*processes.comm.or_empty(0), &*processes.comm.or_empty(1)), ("ksoftirqd/0", &*secret));
    assert_eq!(&*threads.comm.or_empty(0), "1_scheduler");
    let arguments = processes.cmdline.or_empty(1);
    assert!(arguments.starts_with(&format!("/opt/{secret}/beam.smp +sbt db -")), "{arguments}");
    assert!(arguments.contains(&format!("{secret}@10.")), "{arguments}");
    let (cgroups, io) = (after.cgroups.data(), after.cgroup_io.data());
    assert_eq!(cgroups.path.or_empty(0), processes.cgroup.or_empty(1), "a process is found in its group");
    assert_eq!(cgroups.path.or_empty(0), io.path.or_empty(0));
    assert_eq!(&*cgroups.runtime.or_empty(0), "docker");
    let (nics, irqs) = (after.nics.data(), after.irqs.data());
    let own = nics.name.or_empty(1);
    assert_eq!((&*nics.name.or_empty(0), &*nics.driver.or_empty(0)), ("eth0", "mlx5_core"));
    assert_eq!(irqs.name.or_empty(0), format!("{own}-TxRx-0").into(), "an interrupt is found for its interface");
    assert_eq!(after.pci_devices.data().name.or_empty(0), own);
    assert_eq!(after.nic_queues.data().nic.or_empty(0), own);
    assert_eq!(&*nics.lower.or_empty(1), format!("eth0 {own}"));
    let (listeners, peers, metrics) = (after.listeners.data(), after.peers.data(), after.metrics.data());
    assert_eq!((&*listeners.address.or_empty(0), &*metrics.name.or_empty(0)), ("0.0.0.0", "tps"));
    assert!(peers.address.or_empty(0).starts_with("10.") && peers.address.or_empty(1).starts_with("fd00::"));
    let mounts = after.mounts.data();
    assert_eq!((&*mounts.source.or_empty(0), &*mounts.fs.or_empty(0)), ("/dev/sda", "ext4"));
    assert_eq!(&*mounts.path.or_empty(1), "/");
}

#[test]
fn a_section_that_did_not_change_does_not_change() {
    let mut anonymiser = anonymiser();
    let first = machine(SECRET);
    let (mut one, mut two) = (first.clone(), first.clone());
    anonymiser.apply(&mut one);
    anonymiser.apply(&mut two);
    assert!(Arc::ptr_eq(&one.processes, &two.processes) && Arc::ptr_eq(&one.cgroups, &two.cgroups));
    assert!(Arc::ptr_eq(&one.sysctls, &first.sysctls), "what has no names is shared");
    let mut three = machine(SECRET);
    anonymiser.apply(&mut three);
    assert_eq!(one, three, "the same names for the same");
}

#[test]
fn a_command_line_is_renamed_as_the_processes_are() {
    let anonymiser = anonymiser();
    let command = [format!("/opt/{SECRET}"), "+sbt".to_owned(), format!("--db={SECRET}")];
    let renamed = anonymiser.command(&command);
    assert!(!renamed.concat().contains(SECRET) && renamed[1] == "+sbt", "{renamed:?}");
}

proptest! {
    #[test]
    fn no_name_panics_or_costs_a_row(name in ".{0,40}") {
        let mut snapshot = machine(&name);
        let rows = snapshot.processes.data().rows().len();
        anonymiser().apply(&mut snapshot);
        prop_assert_eq!(snapshot.processes.data().rows().len(), rows);
    }
}
