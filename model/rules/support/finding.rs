//! What a rule reports: a hit in one frame, and the finding that hits become.

use crate::Stamp;
use crate::locale::{Text, Texts, finding as text, is_english, join, translated};
use crate::rules::{Grid, Rule, RuleId, Subject};
use serde::Serialize;
use std::borrow::Cow;
use std::sync::Arc;

/// How bad it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; costs nothing at the moment.
    #[default]
    Info,
    /// It reduces throughput or adds latency now.
    Warning,
    /// It severely reduces throughput or adds latency, or work was lost.
    Critical,
}

impl Severity {
    /// Its name in JSON and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }

    /// Its label.
    pub fn label(self) -> Text {
        match self {
            Self::Info => text::INFO,
            Self::Warning => text::WARNING,
            Self::Critical => text::CRITICAL,
        }
    }
}

/// Whether a hit opens a finding or only keeps it open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strength {
    /// The condition is met.
    #[default]
    Enter,
    /// Neither the condition that opens it nor the one that closes it is met.
    Stay,
}

/// A value of evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A number.
    Number(f64),
    /// Names, lists, settings; hostile where names are.
    Text(Arc<str>),
    /// A small table.
    Table(Arc<Grid>),
}

/// One number of a finding, and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Its name in documents.
    pub name: &'static str,
    /// Its value.
    pub value: Figure,
    /// `fraction`, `bytes`, `1/s`, `cores`, …; empty for texts.
    pub unit: &'static str,
    /// The file that it is read from.
    pub source: &'static str,
}

/// The label of evidence by its name in documents; the name itself if it has none.
pub fn evidence_label(name: &'static str) -> &'static str {
    Text::find(&format!("evidence.{name}")).map_or(name, Text::as_str)
}

/// The source of evidence in the language of the reader: a file is its path, the rest is described.
pub fn source_label(source: &str) -> Cow<'_, str> {
    translated(&["source."], source)
}

/// A condition that a rule met in one frame.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Its subject.
    pub subject: Subject,
    /// Whether it opens a finding or keeps it open.
    pub strength: Strength,
    /// How bad.
    pub severity: Severity,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// The numbers.
    pub evidence: Vec<Evidence>,
    /// Findings of other rules that have this cause: they are grouped below it.
    pub covers: Vec<(RuleId, Subject)>,
    /// True for a configuration that would cost performance under load.
    pub would_hurt: bool,
}

impl Hit {
    /// A warning about a subject, opened by this frame.
    pub fn new(subject: Subject, confidence: f64) -> Self {
        let (strength, severity) = (Strength::Enter, Severity::Warning);
        Self { subject, strength, severity, confidence, evidence: Vec::new(), covers: Vec::new(), would_hurt: false }
    }

    /// With a severity.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Opening where `enter` holds, else keeping.
    #[must_use]
    pub fn enters(mut self, enter: bool) -> Self {
        self.strength = if enter { Strength::Enter } else { Strength::Stay };
        self
    }

    /// With a number.
    #[must_use]
    pub fn number(mut self, name: Text, value: f64, unit: &'static str, source: &'static str) -> Self {
        self.evidence.push(Evidence { name: name.name(), value: Figure::Number(value), unit, source });
        self
    }

    /// With a number, where it is known.
    #[must_use]
    pub fn known(self, name: Text, value: Option<f64>, unit: &'static str, source: &'static str) -> Self {
        match value {
            Some(value) => self.number(name, value, unit, source),
            None => self,
        }
    }

    /// With a text.
    #[must_use]
    pub fn text(mut self, name: Text, value: impl Into<Arc<str>>, source: &'static str) -> Self {
        self.evidence.push(Evidence { name: name.name(), value: Figure::Text(value.into()), unit: "", source });
        self
    }

    /// With a text, where there is one.
    #[must_use]
    pub fn some_text(self, name: Text, value: impl Into<Arc<str>>, source: &'static str) -> Self {
        let value = value.into();
        if value.is_empty() { self } else { self.text(name, value, source) }
    }

    /// With a table.
    #[must_use]
    pub fn table(mut self, name: Text, value: Grid, source: &'static str) -> Self {
        self.evidence.push(Evidence { name: name.name(), value: Figure::Table(Arc::new(value)), unit: "", source });
        self
    }

    /// With the file names of a version of control groups.
    #[must_use]
    pub(crate) fn in_version(mut self, version: u32) -> Self {
        for evidence in self.evidence.iter_mut().filter(|_| version == 1) {
            evidence.source = version_1(evidence.source);
        }
        self
    }

    /// Costing performance under load, whatever it costs now: reported by a preflight.
    #[must_use]
    pub fn would_hurt(mut self) -> Self {
        self.would_hurt = true;
        self
    }

    /// Having another finding as its effect.
    #[must_use]
    pub fn covers(mut self, rule: RuleId, subject: Subject) -> Self {
        self.covers.push((rule, subject));
        self
    }
}

/// What version 1 of control groups calls files of version 2.
pub(crate) fn version_1(source: &'static str) -> &'static str {
    match source {
        "memory.current" => "memory.usage_in_bytes",
        "memory.max" => "memory.limit_in_bytes",
        "memory.events" => "memory.oom_control",
        "memory.events oom_kill without oom" => "memory.oom_control oom_kill",
        "memory.events max" | "memory.stat pgscan_direct, memory.events max" => "memory.failcnt",
        "memory.swap.current" => "memory.stat swap",
        "memory.stat file_dirty, file_writeback" => "memory.stat dirty, writeback",
        "memory.stat workingset_refault_file" => "memory.stat workingset_refault",
        "/proc/vmstat pgsteal, memory.stat pgsteal" => "/proc/vmstat pgsteal, memory.stat pgpgout",
        "cpu.max" => "cpu.cfs_quota_us, cpu.cfs_period_us",
        "/proc/PID/cmdline, /proc/PID/task/TID/status, cpu.max" => {
            "/proc/PID/cmdline, /proc/PID/task/TID/status, cpu.cfs_quota_us"
        }
        "cpuset.cpus.effective" => "cpuset.effective_cpus",
        "io.max" => "blkio.throttle.*_device",
        "io.stat" => "blkio.throttle.io_service_bytes",
        "io.stat, /proc/PID/io" => "blkio.throttle.io_service_bytes, /proc/PID/io",
        "io.stat, io.pressure, /proc/PID/io" => "blkio.throttle.io_service_bytes, io.pressure, /proc/PID/io",
        other => other,
    }
}

/// A problem that lasted.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its rule.
    pub rule: &'static Rule,
    /// Its subject.
    pub subject: Subject,
    /// The worst of the last samples that met the condition.
    pub severity: Severity,
    /// How sure.
    pub confidence: f64,
    /// The first sample that met the condition.
    pub since: Stamp,
    /// The numbers of the newest sample that met the condition.
    pub evidence: Vec<Evidence>,
    /// Findings that this one causes.
    pub children: Vec<Finding>,
}

impl Finding {
    /// It in one line; names in it are as hostile as they were read.
    pub fn title(&self) -> String {
        if is_english() {
            return (self.rule.title)(self);
        }
        let mut shown = Self { children: Vec::new(), ..self.clone() };
        for evidence in &mut shown.evidence {
            if let Figure::Text(text) = &mut evidence.value {
                *text = self.shown(text).replace(", ", &join::ITEMS).into();
            }
        }
        (self.rule.title)(&shown)
    }

    /// What to do, the best first.
    pub fn advice(&self) -> Texts {
        self.rule.advises.map_or(self.rule.advice, |advises| advises(self))
    }

    /// A text of its evidence in the language of the reader.
    pub fn shown<'a>(&self, value: &'a str) -> Cow<'a, str> {
        let own = self.rule.name.key().trim_end_matches("name");
        translated(&[own, "finding.", "reclaim.", "writers.", "needs."], value)
    }

    /// A heading, a name or a text of a table of its evidence in the language of the reader.
    pub fn shown_cell<'a>(&self, value: &'a str) -> Cow<'a, str> {
        let own = self.rule.name.key().trim_end_matches("name");
        translated(&[own, "table.", "finding.", "writers."], value)
    }

    /// A number of its evidence.
    pub fn number(&self, name: Text) -> Option<f64> {
        self.evidence.iter().find(|evidence| evidence.name == name.name()).and_then(|evidence| match evidence.value {
            Figure::Number(value) => Some(value),
            Figure::Text(_) | Figure::Table(_) => None,
        })
    }

    /// A text of its evidence; empty where there is none.
    pub fn text(&self, name: Text) -> &str {
        let value = self.evidence.iter().find(|evidence| evidence.name == name.name()).map(|evidence| &evidence.value);
        if let Some(Figure::Text(text)) = value { text } else { "" }
    }

    /// The tables of its evidence: name, table, source.
    pub fn tables(&self) -> impl Iterator<Item = (&'static str, &Grid, &'static str)> {
        self.evidence.iter().filter_map(|evidence| match &evidence.value {
            Figure::Table(grid) => Some((evidence.name, &**grid, evidence.source)),
            Figure::Number(_) | Figure::Text(_) => None,
        })
    }
}
