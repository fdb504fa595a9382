//! `topotop fix list`.

use super::super::args;
use super::super::observer::Observed;
use super::super::session::MachineWriter;
use super::{Context, DONE, Observation, observe, print, print_json};
use std::fmt::Write as _;
use topotop_model::document::Offer;
use topotop_model::fix::{Offered, offered};
use topotop_model::locale::cli::fix as text;
use topotop_model::locale::in_english;
use topotop_model::rules::Finding;
use topotop_model::text::printable;

/// Commands that are listed at most.
const COMMANDS: usize = 8;

/// Every command of a fix; of advice the first line.
fn commands(fix: &Offered, text: &mut String) {
    let most = if fix.executable { COMMANDS } else { 1 };
    for line in fix.command.lines().take(most) {
        let _ = writeln!(text, "    {}", printable(line));
    }
    let more = fix.command.lines().count().saturating_sub(most);
    if more > 0 && fix.executable {
        let _ = writeln!(text, "    {}", text::MoreCommands { count: more as u64 });
    }
}

pub(super) fn run(
    context: &Context,
    args: &args::Source,
    format: &str,
    machine: &mut dyn MachineWriter,
) -> Result<u8, String> {
    let observation = observe(context, args, machine)?;
    let listed = || observation.with(|seen| listed(seen, &observation));
    if format == "json" {
        print_json(&in_english(listed).0)?;
        return Ok(DONE);
    }
    let (_, text) = listed();
    if text.is_empty() {
        print(&(text::NoFixes { count: &observation.with(|seen| seen.samples) }.to_string() + "\n"))?;
    } else {
        print(&format!("{text}\n{}\n", text::LIST_HINT))?;
    }
    Ok(DONE)
}

/// What is offered, for programs and for people.
fn listed(seen: &Observed, observation: &Observation) -> (Vec<Offer>, String) {
    let (mut offers, mut text) = (Vec::new(), String::new());
    let Some(frame) = seen.frames.back() else { return (offers, text) };
    let mut findings: Vec<&Finding> =
        seen.findings.iter().flat_map(|finding| std::iter::once(finding).chain(&finding.children)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    // What two others explain stands below both.
    let mut listed = std::collections::HashSet::new();
    for finding in findings {
        if !listed.insert((finding.rule.id, finding.subject.clone())) {
            continue;
        }
        let (fixes, refused) = offered(finding, frame, &observation.surroundings);
        offers.extend(fixes.iter().map(|fix| Offer::of(finding, fix)));
        if fixes.is_empty() && refused.is_empty() {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{} {} {}", finding.severity.label(), finding.rule.id, printable(&finding.title()));
        for fix in &fixes {
            let kind = if fix.executable { fix.risk.label() } else { text::KIND_ADVICE };
            let _ = writeln!(text, "  {}  {kind}\n    {}", fix.id, printable(&fix.title));
            commands(fix, &mut text);
        }
        for no in &refused {
            let line = if no.needs.is_empty() {
                text::Refused { fix: &no.fix, why: &no.why }.to_string()
            } else {
                text::RefusedWithNeeds { fix: &no.fix, why: &no.why, needs: &no.needs }.to_string()
            };
            let _ = writeln!(text, "  {}", printable(&line));
        }
    }
    (offers, text)
}
