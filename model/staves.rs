//! The staves of the barrel: whichever is the shortest holds everything up. Each is ruled out, guilty or unknown.
//!
//! A stave is guilty while a finding about it is open, and near its limit also without one: then by its own measure,
//! with the same thresholds as the rules. What could not be measured, or has a limit that nobody knows, is unknown and
//! never ruled out.

mod blame;
mod exclusions;
mod groups;
mod links;
mod places;
mod tally;
mod words;

pub use exclusions::{exclusions, sentence};
pub use tally::Tally;

use crate::frame::Frame;
use crate::judge::Settings;
use crate::rules::{self, Finding, Severity, Subject};
use std::sync::Arc;

/// What may be the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The hottest core.
    Core,
    /// The hottest thread: one cannot be faster than a core.
    Thread,
    /// The core with most soft and hard interrupts.
    Softirq,
    /// The busiest disk.
    Disk,
    /// The fullest link, receiving.
    NicIn,
    /// The fullest link, sending.
    NicOut,
    /// The group nearest to its CPU quota.
    Quota,
    /// The group nearest to its memory limit, or the machine.
    Memory,
    /// The large process with most of its memory on other nodes.
    Remote,
}

impl Kind {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 9] = [
        Self::Core,
        Self::Thread,
        Self::Softirq,
        Self::Disk,
        Self::NicIn,
        Self::NicOut,
        Self::Quota,
        Self::Memory,
        Self::Remote,
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Thread => "thread",
            Self::Softirq => "softirq",
            Self::Disk => "disk",
            Self::NicIn => "nic_in",
            Self::NicOut => "nic_out",
            Self::Quota => "quota",
            Self::Memory => "memory",
            Self::Remote => "remote",
        }
    }

    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::NicIn => "nic in",
            Self::NicOut => "nic out",
            Self::Quota => "cpu quota",
            Self::Remote => "remote memory",
            other => other.name(),
        }
    }

    /// The narrower cause first: a core full of interrupts is short of cores only on the face of it.
    fn rank(self) -> u8 {
        match self {
            Self::Core => 0,
            Self::Thread => 1,
            Self::Remote => 2,
            Self::Softirq => 3,
            Self::Quota => 4,
            Self::Disk => 5,
            Self::Memory => 6,
            Self::NicIn | Self::NicOut => 7,
        }
    }
}

/// How a stave stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It was measured and is not the limit.
    RuledOut,
    /// Nobody knows.
    #[default]
    Unknown,
    /// It is the limit, or one of them.
    Guilty,
}

impl Verdict {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::RuledOut => "ruled_out",
            Self::Unknown => "unknown",
            Self::Guilty => "guilty",
        }
    }

    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::RuledOut => "ruled out",
            other => other.name(),
        }
    }
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Stave {
    /// What it is.
    pub kind: Kind,
    /// How it stands.
    pub verdict: Verdict,
    /// How full it is, 0 to 1; none where it is not known or there is nothing to fill.
    pub share: Option<f64>,
    /// The share from which on it is guilty by its own measure.
    pub guilty_at: f64,
    /// What is used, with its unit: bytes/s of a link, cores of a quota, bytes of a limit, ms of a disk's requests.
    pub used: Option<(f64, &'static str)>,
    /// What that is measured against, in the same unit.
    pub limit: Option<(f64, &'static str)>,
    /// Whose it is.
    pub subject: Option<Subject>,
    /// What people call it; hostile, and empty where the subject's number says it all.
    pub name: Arc<str>,
    /// The thread, where it is about one.
    pub tid: Option<u32>,
    /// The open finding that makes it guilty, and how bad that is.
    pub rule: Option<(&'static str, Severity)>,
    /// Why it is unknown, or why there is nothing to measure; else what is to be known besides.
    pub note: &'static str,
}

impl Stave {
    /// One that nothing is known of.
    pub(crate) fn unknown(kind: Kind, note: &'static str) -> Self {
        Self {
            kind,
            verdict: Verdict::Unknown,
            share: None,
            guilty_at: 1.0,
            used: None,
            limit: None,
            subject: None,
            name: Arc::default(),
            tid: None,
            rule: None,
            note,
        }
    }

    /// One that the machine does not have.
    fn absent(kind: Kind, note: &'static str) -> Self {
        Self { verdict: Verdict::RuledOut, ..Self::unknown(kind, note) }
    }

    /// One that is so full: guilty from `at` on.
    fn measured(kind: Kind, share: f64, at: f64) -> Self {
        let verdict = if share >= at { Verdict::Guilty } else { Verdict::RuledOut };
        Self { verdict, share: Some(share), guilty_at: at, ..Self::unknown(kind, "") }
    }

    fn about(self, subject: Subject, name: &Arc<str>) -> Self {
        Self { subject: Some(subject), name: Arc::clone(name), ..self }
    }

    /// How far it is from being guilty: 2.0 where twice as much would fit; none where nobody knows.
    pub fn headroom(&self) -> Option<f64> {
        self.share.filter(|share| *share > 0.0).map(|share| self.guilty_at / share)
    }

    /// What makes one guilty stave worse than another.
    fn weight(&self) -> (Option<Severity>, u8, f64) {
        let over = self.share.map_or(0.0, |share| share / self.guilty_at.max(f64::MIN_POSITIVE));
        (self.rule.map(|(_, severity)| severity), self.kind.rank(), over)
    }
}

/// All of a machine's staves; none before it was judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Staves(Vec<Stave>);

impl Staves {
    /// Of a frame and what was found in it, by thresholds as they are configured.
    pub fn of(frame: &Frame, findings: &[Finding], settings: &Settings) -> Self {
        let barrel = Barrel { frame, findings, settings };
        let mut staves = vec![
            places::core(&barrel),
            places::thread(&barrel),
            places::softirq(&barrel),
            places::disk(&barrel),
            links::nic(&barrel, Kind::NicIn),
            links::nic(&barrel, Kind::NicOut),
            groups::quota(&barrel),
            groups::memory(&barrel),
            places::remote(&barrel),
        ];
        for stave in &mut staves {
            if let Some(finding) = barrel.blamed(stave.kind) {
                stave.verdict = Verdict::Guilty;
                stave.rule = Some((finding.rule.id, finding.severity));
                let known = stave.share.is_some();
                if !known {
                    stave.subject = Some(finding.subject.clone());
                }
            }
        }
        Self(staves)
    }

    /// Each of them, in the order of [`Kind::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = &Stave> {
        self.0.iter()
    }

    /// One of them.
    pub fn get(&self, kind: Kind) -> Option<&Stave> {
        self.0.iter().find(|stave| stave.kind == kind)
    }

    /// True where nothing was judged.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one that holds everything up: of those that are guilty the worst finding's, then the narrowest.
    pub fn short(&self) -> Option<&Stave> {
        let guilty = self.0.iter().filter(|stave| stave.verdict == Verdict::Guilty);
        guilty.max_by(|a, b| Self::compare(a, b))
    }

    fn compare(a: &Stave, b: &Stave) -> std::cmp::Ordering {
        let (a, b) = (a.weight(), b.weight());
        (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
    }

    /// The one that would be short next.
    pub fn next(&self) -> Option<&Stave> {
        let measured = self.0.iter().filter(|stave| stave.verdict == Verdict::RuledOut && stave.headroom().is_some());
        measured.min_by(|a, b| a.headroom().unwrap_or(f64::MAX).total_cmp(&b.headroom().unwrap_or(f64::MAX)))
    }
}

/// Of the machines of one test, the one whose stave is short and that stave.
pub fn shortest(machines: &[Staves]) -> Option<(usize, Stave)> {
    let short = machines.iter().enumerate().filter_map(|(at, staves)| Some((at, staves.short()?)));
    short.max_by(|a, b| Staves::compare(a.1, b.1)).map(|(at, stave)| (at, stave.clone()))
}

impl FromIterator<Stave> for Staves {
    fn from_iter<I: IntoIterator<Item = Stave>>(staves: I) -> Self {
        Self(staves.into_iter().collect())
    }
}

/// What staves are measured from.
struct Barrel<'a> {
    frame: &'a Frame,
    findings: &'a [Finding],
    settings: &'a Settings,
}

impl Barrel<'_> {
    /// A rule's threshold as configured; `otherwise` where there is no such rule.
    fn limit(&self, rule: &str, name: &str, otherwise: f64) -> f64 {
        let known = rules::find(rule).and_then(|rule| rule.thresholds.iter().find(|threshold| threshold.name == name));
        let configured = self.settings.thresholds.get(&(rule.to_owned(), name.to_owned()));
        configured.copied().or(known.map(|threshold| threshold.value)).unwrap_or(otherwise)
    }

    /// The worst open finding about a stave that costs something now.
    fn blamed(&self, kind: Kind) -> Option<&Finding> {
        let open = self.findings.iter().filter(|finding| finding.severity >= Severity::Warning);
        open.filter(|finding| blame::of(finding).contains(&kind)).max_by_key(|finding| finding.severity)
    }

    /// True for what an open finding about a stave is about.
    fn is_blamed(&self, kind: Kind, subject: &Subject) -> bool {
        let about = |finding: &&Finding| finding.severity >= Severity::Warning && finding.subject == *subject;
        self.findings.iter().filter(about).any(|finding| blame::of(finding).contains(&kind))
    }

    /// Nothing where there are no rates yet; else why nothing was measured.
    fn no_rates(&self) -> Option<&'static str> {
        self.frame.interval_seconds.is_none().then_some("no rate yet")
    }
}

#[cfg(test)]
mod tests;
