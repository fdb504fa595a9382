//! Resources and the answer as text.

use super::Verdict;
use super::{Bottleneck, Confidence, Outcome, Resource, ResourceKind, SAMPLES};
use crate::locale::resource::note;
use crate::locale::{join, resource as text};
use crate::rules::{Subject, parts};

impl Bottleneck {
    /// The answer as every screen, `check` and JSON say it: `limited by disk sda at 98% busy, await 12.0 ms; …`.
    pub fn headline(&self) -> String {
        let about = self.resource.as_ref().map(|resource| self.detail(resource)).unwrap_or_default();
        match self.verdict {
            // A captured machine stays at one sample.
            _ if self.is_collecting() && self.samples == 0 && !self.unknown.is_empty() => {
                text::Inconclusive { unknown: &self.unknown_text() }.to_string()
            }
            _ if self.is_collecting() && self.unknown.is_empty() => {
                text::Collecting { samples: &self.samples, needed: &SAMPLES }.to_string()
            }
            _ if self.is_collecting() => {
                let (samples, needed, unknown) = (&self.samples, &SAMPLES, &self.unknown_text());
                text::CollectingUnknown { samples, needed, unknown }.to_string()
            }
            Outcome::Limited if self.confidence == Confidence::Low => {
                text::ProbablyLimited { resource: &about }.to_string()
            }
            Outcome::Limited => text::Limited { resource: &about }.to_string(),
            Outcome::Imbalance => {
                let peers = parts::percent(self.peers);
                text::Imbalance { resource: &about, peers: &peers }.to_string()
            }
            Outcome::NotSaturated => match &self.latency {
                Some(resource) if resource.kind == ResourceKind::Cpus && resource.note == note::IDLE_INJECTED => {
                    text::NotSaturatedInjected { share: &parts::percent(resource.wait) }.to_string()
                }
                Some(resource) if resource.kind == ResourceKind::Cpus => {
                    text::NotSaturatedRunQueue { share: &parts::percent(resource.wait) }.to_string()
                }
                Some(resource) => text::NotSaturatedLatency { resource: &resource.summary() }.to_string(),
                None => text::NOT_SATURATED.to_string(),
            },
            Outcome::Idle => text::IDLE.to_string(),
            Outcome::Inconclusive => text::Inconclusive { unknown: &self.unknown_text() }.to_string(),
        }
    }

    /// The same without what stands beside the answer, where there is little room.
    pub fn short_headline(&self) -> String {
        match (self.verdict, &self.resource) {
            (Outcome::Imbalance, Some(resource)) if !self.is_collecting() => {
                text::ImbalanceAlone { resource: &self.detail(resource) }.to_string()
            }
            _ => self.headline(),
        }
    }

    /// The resource, what waits for it, and the finding that explains it.
    fn detail(&self, resource: &Resource) -> String {
        let summary = resource.summary();
        let share = parts::percent(resource.wait);
        let waiting = resource.wait.filter(|wait| *wait >= 0.01);
        let about = match (resource.kind, waiting) {
            (ResourceKind::Softirq, _) => lost(summary, resource),
            // Nobody waits for what is refused at once.
            (ResourceKind::Conntrack | ResourceKind::Pids, Some(_)) => refused(summary, resource),
            (_, Some(_)) => text::Waiting { resource: &summary, share: &share }.to_string(),
            (_, None) => summary,
        };
        match &self.finding {
            Some((rule, _)) => text::Explained { resource: &about, rule }.to_string(),
            None => about,
        }
    }

    /// The unknown resources that could be what limits, and why they are unknown: what has the same reason is named together.
    fn unknown_text(&self) -> String {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for resource in &self.unknown {
            let (label, owner, reason) = (resource.kind.label(), resource.owner(), resource.note.to_string());
            let named = if owner.is_empty() { label.to_string() } else { format!("{label} {owner}") };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) if names.contains(&named) => {}
                Some((_, names)) => names.push(named),
                None => reasons.push((reason, vec![named])),
            }
        }
        let one = |(reason, names): (String, Vec<String>)| match names.join(&join::ITEMS) {
            names if reason.is_empty() => names,
            names => text::Detail { resource: &names, details: &reason }.to_string(),
        };
        reasons.into_iter().map(one).collect::<Vec<_>>().join(&join::ITEMS)
    }

    /// The same in few words: `next: thread, headroom ≤ 2.8×`; none where there is no factor.
    pub fn next_brief(&self) -> Option<String> {
        let next = self.next.as_ref().filter(|next| (1.05..100.0).contains(&next.headroom))?;
        let (resource, times) = (&next.resource.kind.label(), &format!("{:.1}", next.headroom));
        self.is_limit().then(|| text::NextHeadroom { resource, times }.to_string())
    }

    /// What would limit next: `next: disk sda at 42% busy, headroom ≤ 2.1×`.
    pub fn next_text(&self) -> Option<String> {
        let next = self.next.as_ref()?;
        let summary = next.resource.summary();
        let nearest = matches!(self.verdict, Outcome::NotSaturated | Outcome::Idle | Outcome::Inconclusive);
        // Far away is not worth a number.
        let times = format!("{:.1}", next.headroom);
        // What is full and not waited for has no headroom to speak of.
        if nearest && next.resource.verdict == Verdict::Full {
            return Some(text::FullNotLimiting { resource: &summary }.to_string());
        }
        // Nor is 1.0 times as much any headroom.
        Some(match (nearest, next.headroom >= 100.0 || next.headroom < 1.05) {
            (true, true) => text::Nearest { resource: &summary }.to_string(),
            (false, true) => text::Next { resource: &summary }.to_string(),
            (true, false) => text::NearestHeadroom { resource: &summary, times: &times }.to_string(),
            (false, false) => text::NextHeadroom { resource: &summary, times: &times }.to_string(),
        })
    }

    /// Both in one line.
    pub fn line(&self) -> String {
        match self.next_text().filter(|_| !self.is_collecting()) {
            Some(next) => format!("{}{}{next}", self.headline(), join::CLAUSES),
            None => self.headline(),
        }
    }
}

/// A core full of interrupts, and what it has no time for.
fn lost(summary: String, resource: &Resource) -> String {
    let count = resource.waits.map(|waits| waits.value).filter(|count| *count >= 1.0);
    let Some(count) = count else { return summary };
    text::SoftirqLost { resource: &summary, count: &parts::count(Some(count.round())) }.to_string()
}

fn refused(summary: String, resource: &Resource) -> String {
    let Some(waits) = resource.waits.filter(|waits| waits.unit == "1/s") else { return summary };
    text::Refused { resource: &summary, count: &parts::tenths(waits.value) }.to_string()
}

/// `12.3`, and `0.04` of drives that are as fast.
fn milliseconds(ms: f64) -> String {
    if ms < 0.1 { format!("{ms:.2}") } else { format!("{ms:.1}") }
}

impl Resource {
    /// Its owner: `core 3`, `beam.smp 4121`, `eth0`; hostile where names are, empty without one.
    pub fn owner(&self) -> String {
        match (&self.subject, self.tid) {
            (Some(Subject::Cpu(cpu)), _) => text::OwnerCore { cpu }.to_string(),
            (Some(Subject::Process(..)), Some(tid)) => text::OwnerId { name: &self.name, id: &tid }.to_string(),
            (Some(Subject::Process(pid, _)), None) => text::OwnerId { name: &self.name, id: pid }.to_string(),
            (Some(Subject::Host), _) if self.name.is_empty() => String::new(),
            // The judge writes English.
            (Some(Subject::Host), _) if *self.name == *note::HOST.english() => note::HOST.to_string(),
            (Some(subject), _) if self.name.is_empty() => subject.to_string(),
            _ => self.name.to_string(),
        }
    }

    /// True for a script: a process with programs that run one after another.
    fn is_series(&self) -> bool {
        self.kind == ResourceKind::Thread && self.tid.is_none() && self.subject.is_some()
    }

    /// Its utilisation and its limit: `42% of 25.0 Gbit/s`, `3% busy, await 0.4 ms`; empty if unknown.
    pub fn figure(&self) -> String {
        let (used, limit) = (self.used.map(|used| used.0), self.limit.map(|limit| limit.0));
        let Some(share) = self.share else {
            return match (self.kind, used) {
                (ResourceKind::NicIn | ResourceKind::NicOut, Some(bytes)) => parts::bits(bytes * 8.0),
                (ResourceKind::Bandwidth, Some(bytes)) => text::Rate { rate: &parts::bytes(Some(bytes)) }.to_string(),
                _ => String::new(),
            };
        };
        let share = parts::percent(Some(share));
        let of = |limit: String| text::OfLimit { share: &share, limit: &limit }.to_string();
        match (self.kind, used, limit) {
            (ResourceKind::NicIn | ResourceKind::NicOut, _, Some(limit)) => of(parts::bits(limit * 8.0)),
            (ResourceKind::Quota | ResourceKind::Cpuset, _, Some(limit)) => match &*parts::count(Some(limit)) {
                "1" => text::OfOneCore { share: &share }.to_string(),
                cores => text::OfCores { share: &share, cores: &cores }.to_string(),
            },
            (ResourceKind::FileSystem, _, Some(limit)) if self.limit.is_some_and(|(_, unit)| unit == "inodes") => {
                of(parts::count(Some(limit)))
            }
            (ResourceKind::Memory | ResourceKind::Swap | ResourceKind::FileSystem, _, Some(limit)) => {
                of(parts::bytes(Some(limit)))
            }
            (
                ResourceKind::Tcp
                | ResourceKind::Conntrack
                | ResourceKind::Ports
                | ResourceKind::Files
                | ResourceKind::Pids,
                _,
                Some(limit),
            ) => of(parts::count(Some(limit))),
            (ResourceKind::IoThrottle, _, Some(limit)) => {
                let bytes = self.limit.is_some_and(|(_, unit)| unit == "bytes/s");
                let rate = if bytes { parts::bytes(Some(limit)) } else { parts::count(Some(limit)) };
                text::OfRate { share: &share, rate: &rate }.to_string()
            }
            (ResourceKind::Disk, Some(wait), _) => {
                text::BusyLatency { share: &share, latency: &milliseconds(wait) }.to_string()
            }
            (ResourceKind::Disk, None, _) => text::Busy { share: &share }.to_string(),
            _ => share,
        }
    }

    /// Its label, owner and figure: `core 3 at 98%`, `NIC out eth0 at 42% of 25.0 Gbit/s`.
    pub fn summary(&self) -> String {
        let (owner, figure) = (self.owner(), self.figure());
        if self.is_series() && !figure.is_empty() {
            return text::OneAfterAnother { process: &owner, share: &figure }.to_string();
        }
        let label = match (self.kind, &self.subject) {
            (ResourceKind::Core, _) => "",
            (ResourceKind::Cpus, _) => text::THE_CPUS.as_str(),
            (ResourceKind::Memory, Some(Subject::Cgroup(_))) => text::MEMORY_LIMIT.as_str(),
            _ => self.kind.label().as_str(),
        };
        let parts: Vec<&str> = [label, &owner].into_iter().filter(|part| !part.is_empty()).collect();
        let owner = if parts.is_empty() { self.kind.label().to_string() } else { parts.join(" ") };
        let summary =
            if figure.is_empty() { owner } else { text::OwnerFigure { owner: &owner, figure: &figure }.to_string() };
        let Some(clock) = self.clock else { return summary };
        let ghz = |mhz: f64| format!("{:.1}", mhz / 1000.0);
        let (clock, highest, cause) = (&ghz(clock.mhz), &ghz(clock.highest_mhz), &clock.cause.label());
        text::Clocked { resource: &summary, clock, highest, cause }.to_string()
    }
}
