//! `topotop.snapshot/1`: one document per frame.

mod top;

use super::Options;
use std::io::{self, Write};
use topotop_model::bottleneck::Resources;
use topotop_model::document::{self, Finding, Resource, RuleState, Snapshot};
use topotop_model::fix::{Offered, offered};
use topotop_model::frame::Frame;
use topotop_model::judge::Judgement;
use topotop_model::locale::in_english;
use topotop_model::{rules, waiting};

/// The schema, as it ships with the program.
pub const SCHEMA_TEXT: &str = include_str!("../../docs/schema/topotop.snapshot-1.json");

/// Writes the document of a frame and a newline.
pub fn write(frame: &Frame, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    in_english(|| write_document(frame, options, out))
}

fn write_document(frame: &Frame, options: &Options<'_>, out: &mut dyn Write) -> io::Result<()> {
    let taken_at = crate::units::rfc3339(frame.stamp.wall_ns);
    let (processes, cgroups) = (top::processes(frame, options.top), top::cgroups(frame, options.top));
    let mut document = Snapshot::of(frame, taken_at, processes, cgroups);
    if let Some(judgement) = options.judgement {
        let resources = Some(&judgement.resources).filter(|resources| !resources.is_empty());
        let surroundings = options.surroundings.cloned().unwrap_or_default();
        let fixes = |finding| offered(finding, frame, &surroundings).0;
        let findings = judgement.findings.iter();
        document.rules = Some(document::rules(judgement));
        document.findings = Some(findings.map(|row| finding(row, resources, &fixes(row))).collect());
        let since = judgement.bottleneck.since.map(|since| crate::units::rfc3339(since.wall_ns));
        let waiting = waiting::beside(frame, &judgement.bottleneck).map(document::Waiting::from);
        document.bottleneck = resources.map(|_| document::bottleneck(&judgement.bottleneck, since, waiting));
        document.resources = resources.map(document::resources);
    }
    if options.pretty {
        serde_json::to_writer_pretty(&mut *out, &document)?;
    } else {
        serde_json::to_writer(&mut *out, &document)?;
    }
    out.write_all(b"\n")
}

/// One finding with its fixes.
pub(crate) fn finding(finding: &rules::Finding, resources: Option<&Resources>, fixes: &[Offered]) -> Finding {
    document::finding(finding, crate::units::rfc3339(finding.since.wall_ns), resources, fixes)
}

/// Findings and how the rules stand, without the frame.
#[derive(Clone, Debug, serde::Serialize)]
#[expect(clippy::struct_field_names, reason = "keys are the contract's")]
pub struct Findings {
    rules: Vec<RuleState>,
    findings: Vec<Finding>,
    resources: Vec<Resource>,
}

impl Findings {
    /// From collected findings with their fixes, the last judgement and the resources of the whole period.
    pub fn of<'a>(
        found: impl Iterator<Item = (&'a rules::Finding, &'a [Offered])>,
        last: &Judgement,
        resources: &Resources,
    ) -> Self {
        Self {
            rules: document::rules(last),
            findings: found.map(|(row, fixes)| finding(row, Some(resources), fixes)).collect(),
            resources: document::resources(resources),
        }
    }
}
