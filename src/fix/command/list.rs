//! `topotop fix list`.

use super::super::args;
use super::super::show::{lines, safe};
use super::{Context, DONE, document, look, print};
use serde_json::{Value, json};
use std::fmt::Write as _;
use topotop_model::fix::{Offered, offered};
use topotop_model::rules::Finding;
use topotop_model::text::printable;

pub(super) fn run(context: &Context, args: &args::Look, format: &str) -> Result<u8, String> {
    let looked = look(context, args)?;
    let (mut objects, mut text) = (Vec::new(), String::new());
    let samples = looked.with(|seen| {
        let Some(frame) = seen.frames.back() else { return 0 };
        let mut findings: Vec<&Finding> =
            seen.findings.iter().flat_map(|finding| std::iter::once(finding).chain(&finding.children)).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        for finding in findings {
            let (fixes, refused) = offered(finding, frame, &looked.surroundings);
            objects.extend(fixes.iter().map(|fix| object(finding, fix)));
            if fixes.is_empty() && refused.is_empty() {
                continue;
            }
            // A text takes whatever is written to it.
            let _ = writeln!(text, "{} {} {}", finding.severity.name(), finding.rule.id, printable(&finding.title()));
            for fix in &fixes {
                let kind = if fix.executable { fix.risk.name() } else { "advice" };
                let _ = writeln!(
                    text,
                    "  {}  {kind}\n    {}\n    {}",
                    fix.id,
                    printable(&fix.title),
                    printable(fix.line())
                );
            }
            for no in &refused {
                let needs = if no.needs.is_empty() { String::new() } else { format!(" (needs {})", no.needs) };
                let _ = writeln!(text, "  {} cannot: {}", no.fix, printable(&format!("{}{needs}", no.why)));
            }
        }
        seen.samples
    });
    if format == "json" {
        document(&Value::Array(objects))?;
    } else if text.is_empty() {
        print(&format!("nothing on offer after {samples} samples: watch longer with --for, or see `topotop check`\n"))?;
    } else {
        text.push_str("\ntopotop fix show ID tells all of one, topotop fix apply ID asks and applies\n");
        print(&text)?;
    }
    Ok(DONE)
}

fn object(finding: &Finding, fix: &Offered) -> Value {
    json!({
        "id": fix.id,
        "rule": finding.rule.id,
        "subject": safe(&finding.subject.to_string()),
        "title": safe(&fix.title),
        "command": lines(&fix.command),
        "risk": fix.risk.name(),
        "executable": fix.executable,
        "persistent": fix.persistent.as_deref().map(lines),
    })
}
