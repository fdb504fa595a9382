//! The comparison as a document: `topotop.diff/1`, described by `docs/schema/topotop.diff-1.json`.

use super::{About, Report};
use crate::units::rfc3339;
use std::io::{self, Write};
use topotop_model::document::{Diff, DiffSide, FixEvent};

/// Writes the report and a newline.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let fixes = report.fixes().into_iter().map(|(at, event)| FixEvent::of(rfc3339(*at), event)).collect();
    let sides = (side(&report.before), side(&report.after));
    let document = Diff::of(sides, &report.comparison, &report.findings, report.all).with(report.summary(), fixes);
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

fn side(about: &About) -> DiffSide {
    DiffSide {
        file: about.file.clone(),
        host: about.host.clone(),
        kernel: about.kernel.clone(),
        boot_id: about.boot_id.clone(),
        span: about.span.clone(),
        from: rfc3339(about.from_wall_ns),
        to: rfc3339(about.to_wall_ns),
        seconds: about.seconds,
        samples: about.samples,
        samples_per_block: about.block,
        damaged_places: about.damaged,
    }
}
