//! F-MOVE: a service's data on a disk of its own.

use super::advice::{plan as advice, snippet};
use super::processes::unit;
use super::shell::quoted;
use super::{Case, Fix, Plan, Refusal, Risk};
use crate::frame::{Disk, Frame, Writer, WriterId};
use crate::rules;
use crate::rules::{Subject, parts};

pub(super) const FIX: Fix = Fix {
    id: "F-MOVE",
    name: "move a data directory to a disk of its own",
    answers: &[
        (rules::disk_shared::ID, 0),
        (rules::disk_saturated::ID, 9),
        (rules::flush_storm::ID, 9),
        (rules::disk_capped::ID, 9),
        (rules::file_system_full::ID, 9),
    ],
    executable: false,
    parameters: &[],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let Subject::Disk(name) = &case.finding.subject else { return Err(Refusal::NotForThis) };
    let disk = case
        .frame
        .disks
        .iter()
        .find(|disk| *disk.name == **name)
        .ok_or_else(|| Refusal::because("the disk is gone"))?;
    let service = service(case.frame, disk);
    let unit = service.as_deref().and_then(unit);
    let title = format!("{}'s data from {name} to a disk of its own", service.as_deref().unwrap_or("a service"));
    let mut plan = advice(case, FIX.id, title, Risk::Dangerous);
    let unit = quoted(unit.unwrap_or("SERVICE"));
    plan.commands = [
        "mkfs.xfs /dev/NEW".to_owned(),
        "mkdir -p /mnt/new && mount /dev/NEW /mnt/new".to_owned(),
        "rsync -aHAX --numeric-ids DATA/ /mnt/new/".to_owned(),
        format!("systemctl stop {unit}"),
        "rsync -aHAX --numeric-ids --delete DATA/ /mnt/new/".to_owned(),
        "umount /mnt/new && mv DATA DATA.old && mkdir DATA && chown --reference=DATA.old DATA && chmod --reference=DATA.old DATA".to_owned(),
        "echo \"UUID=$(blkid -s UUID -o value /dev/NEW) DATA xfs noatime,nofail 0 2\" >> /etc/fstab".to_owned(),
        "systemctl daemon-reload && mount DATA && restorecon -R DATA   # where SELinux is enforced".to_owned(),
        format!("systemctl start {unit}"),
    ]
    .to_vec();
    let mounted: Vec<String> = disk.mounts.iter().map(|mount| quoted(&mount.path)).collect();
    plan.snippets = vec![
        snippet(format!("DATA is on {name}, which is mounted at {}", parts::list(mounted, 6)), &["findmnt -T DATA"]),
        snippet(
            "RabbitMQ: its files elsewhere, without moving the mount",
            &[
                "# /etc/rabbitmq/rabbitmq-env.conf",
                "MNESIA_BASE=/new/mnesia",
                "# rabbitmq.conf: the log of quorum queues alone",
                "raft.wal_data_dir = /new/wal",
            ],
        ),
        snippet(
            "Kubernetes: another StorageClass",
            &["# volumeClaimTemplates of a new StatefulSet, nodes replaced one by one", "storageClassName: fast"],
        ),
    ];
    plan.breaks = vec![
        "mkfs erases whatever is on /dev/NEW: look with blkid and lsblk first".to_owned(),
        "the service stands still from its stop to its start; in a cluster drain it first, one node at a time"
            .to_owned(),
        "what is written to DATA between the two copies is in the second one only because the service has stopped"
            .to_owned(),
    ];
    "the service stopped, the mount taken out of fstab, DATA.old moved back; what was written meanwhile is on the new disk only".clone_into(&mut plan.undo);
    plan.lost = vec!["what was written since, unless it is copied back".to_owned()];
    Ok(plan)
}

/// Who is to have the new disk: whose latency others wait for, else who writes most often.
fn service(frame: &Frame, disk: &Disk) -> Option<String> {
    let name = |writer: &Writer| match &writer.who {
        WriterId::Cgroup(path) => path.to_string(),
        WriterId::Process(pid) => {
            frame.process(*pid).map_or_else(|| format!("process {pid}"), |process| process.comm.to_string())
        }
    };
    let delicate = disk.writers.iter().map(name).find(|name| parts::is_delicate(name));
    delicate.or_else(|| disk.writers.first().map(name))
}
