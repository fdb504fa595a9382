//! F-MOVE: moves a service's data to a dedicated disk.

use super::advice::{plan as advice, snippet};
use super::processes::unit;
use super::shell::quoted;
use super::{Case, Fix, Plan, Refusal, Risk};
use crate::frame::{Disk, Frame, Writer, WriterId};
use crate::locale::fix::data_disk as text;
use crate::rules;
use crate::rules::{Subject, parts};

pub(super) const FIX: Fix = Fix {
    id: "F-MOVE",
    name: text::NAME,
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
        .ok_or_else(|| Refusal::because(text::GONE.to_string()))?;
    let service = service(case.frame, disk);
    let unit = service.as_deref().and_then(unit);
    let title =
        text::Title { service: &service.as_deref().unwrap_or(text::A_SERVICE.as_str()), disk: &name }.to_string();
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
        format!("systemctl daemon-reload && mount DATA && restorecon -R DATA   # {}", text::SELINUX),
        format!("systemctl start {unit}"),
    ]
    .to_vec();
    let mounted: Vec<String> = disk.mounts.iter().map(|mount| quoted(&mount.path)).collect();
    plan.snippets = vec![
        snippet(text::PlaceData { disk: &name, mounts: &parts::list(mounted, 6) }.to_string(), &["findmnt -T DATA"]),
        snippet(
            text::PLACE_RABBITMQ.to_string(),
            &[
                "# /etc/rabbitmq/rabbitmq-env.conf",
                "MNESIA_BASE=/new/mnesia",
                text::COMMENT_RABBITMQ.as_str(),
                "raft.wal_data_dir = /new/wal",
            ],
        ),
        snippet(text::PLACE_KUBERNETES.to_string(), &[text::COMMENT_KUBERNETES.as_str(), "storageClassName: fast"]),
    ];
    plan.breaks = vec![text::BREAKS_MKFS.to_string(), text::BREAKS_DOWNTIME.to_string(), text::BREAKS_COPY.to_string()];
    plan.undo = text::UNDO.to_string();
    plan.lost = vec![text::LOST.to_string()];
    Ok(plan)
}

/// The writer to move: a latency-critical one, else the most frequent one.
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
