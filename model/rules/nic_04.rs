//! NIC-04: one of many queues gets nearly all packets.

use super::{Finding, Hit, Input, Look, Pace, Rule, Subject, Threshold, parts};
use crate::frame::{Nic, Queue};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "NIC-04",
    name: "one queue gets nearly all packets",
    why: "A card spreads packets over its queues by a hash of their flow and a table of queues. When the table or the hash favours one queue, or one flow is most of the traffic, one core does the work that several are there for.",
    reads: &[Input::CpuTimes, Input::Nics, Input::Queues],
    looks_at: &["ethtool -S", "ethtool -x", "/proc/irq/N/effective_affinity_list", "/proc/stat"],
    thresholds: &[
        Threshold { name: "skew", value: 4.0, unit: "", about: "times the mean that the busiest queue gets, or nine tenths of everything" },
        Threshold { name: "exit", value: 2.5, unit: "", about: "over below this" },
        Threshold { name: "queues", value: 4.0, unit: "", about: "receive queues, at least" },
        Threshold { name: "busy", value: 0.8, unit: "fraction", about: "of the time that the CPU of that queue is busy" },
        Threshold { name: "packets", value: 5000.0, unit: "1/s", about: "packets received, at least" },
    ],
    guards: &[
        "a queue whose CPU has time left",
        "drivers that count no packets by queue: then it is not checked",
        "one flow cannot be split, whatever the table says: it is said where the table spreads evenly",
    ],
    advice: &[
        "Where the table leaves queues out: ethtool -X NIC equal N",
        "Where many UDP flows hash alike: ethtool -N NIC rx-flow-hash udp4 sdfn",
        "One flow: more connections, or RPS to move its work off the interrupted core",
    ],
    references: &["Documentation/networking/scaling.rst", "ethtool(8)"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let queues: Vec<&Queue> = nic.queues.iter().filter(|queue| &*queue.direction != "tx").collect();
        let loaded = nic.rx.packets_per_second.is_some_and(|packets| packets >= look.limit("packets"));
        if (queues.len() as f64) < look.limit("queues") || !loaded {
            continue;
        }
        let rates: Vec<(&Queue, f64)> = queues.iter().filter_map(|queue| Some((*queue, queue.packets_per_second?))).collect();
        if rates.len() < queues.len() {
            look.unchecked(subject, "its driver counts no packets by queue", "ethtool -S with counters by queue");
            continue;
        }
        let sum: f64 = rates.iter().map(|rate| rate.1).sum();
        let Some((hottest, most)) = rates.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let busiest = hottest.cpus.iter().flat_map(|cpus| cpus.iter()).filter_map(|cpu| Some((cpu, frame.cpu(cpu)?.busy()?)));
        let Some((cpu, busy)) = busiest.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            look.unchecked(subject, "the CPUs of its queues could not be read", "/proc/irq/N/effective_affinity_list");
            continue;
        };
        let (share, count) = (most / sum.max(1.0), queues.len() as f64);
        let skew = share * count;
        if skew < look.limit("exit") || busy < look.limit("busy") * 0.75 {
            continue;
        }
        let (table, said) = spread(nic, hottest.queue, queues.len());
        let hit = Hit::new(subject, if said == Spread::Uneven { 0.8 } else { 0.6 })
            .enters((skew >= look.limit("skew") || share >= 0.9) && busy >= look.limit("busy"))
            .number("queue", f64::from(hottest.queue), "", "ethtool -S")
            .number("share", share, "fraction", "ethtool -S")
            .number("skew", skew, "", "ethtool -S")
            .number("queues", count, "", "ethtool -S")
            .number("cpu", f64::from(cpu), "", "/proc/irq/N/effective_affinity_list")
            .number("busy", busy, "fraction", "/proc/stat")
            .known("packets", nic.rx.packets_per_second, "1/s", "/proc/net/dev")
            .text("indirection", table, "ethtool -x")
            .text("because", said.text(), "ethtool -x")
            .covers("IRQ-01", Subject::Cpu(cpu))
            .covers("CPU-01", Subject::Cpu(cpu))
            .covers("NIC-03", Subject::Cpu(cpu));
        look.hit(hit);
    }
}

/// What the indirection table says of a skew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    Unknown,
    Even,
    Uneven,
}

impl Spread {
    fn text(self) -> &'static str {
        match self {
            Self::Unknown => "the table could not be read",
            Self::Even => "few flows: the table spreads evenly, and one flow cannot be split",
            Self::Uneven => "the table favours that queue",
        }
    }
}

/// The table by queue, and whether it favours one.
fn spread(nic: &Nic, hottest: u32, queues: usize) -> (String, Spread) {
    let entries = &nic.rss_indirection;
    let sum: u64 = entries.iter().map(|entry| entry.1).sum();
    if sum == 0 {
        return ("unread".to_owned(), Spread::Unknown);
    }
    let own = entries.iter().find(|entry| entry.0 == hottest).map_or(0, |entry| entry.1);
    let uneven = own as f64 / sum as f64 * queues as f64 >= 2.0;
    let text = entries.iter().map(|(queue, count)| format!("{queue}: {}", parts::percent(Some(*count as f64 / sum as f64))));
    (parts::list(text, 16), if uneven { Spread::Uneven } else { Spread::Even })
}

fn title(finding: &Finding) -> String {
    let figure = |name| parts::count(finding.number(name));
    let share = parts::percent(finding.number("share"));
    let busy = parts::percent(finding.number("busy"));
    let (nic, queue, queues, cpu) = (&finding.subject, figure("queue"), figure("queues"), figure("cpu"));
    format!("{nic}: queue {queue} of {queues} gets {share} of the packets, its cpu {cpu} is {busy} busy: {}", finding.text("because"))
}
