//! What a finding leaves as no limit: statements by exclusion.

use super::{Resource, ResourceKind, Resources, Verdict};
use crate::rules::{Finding, Severity};
use std::fmt::Write as _;

/// The resources beside a finding that are has headroom or unknown, so that it stands alone; empty where that says nothing:
/// for what costs nothing now, and what is not about the speed of the machine.
pub fn exclusions<'a>(finding: &Finding, resources: &'a Resources) -> Vec<&'a Resource> {
    if finding.severity < Severity::Warning {
        return Vec::new();
    }
    let kinds: &[ResourceKind] = match (finding.rule.limits)(finding).first() {
        Some(ResourceKind::Core | ResourceKind::Thread | ResourceKind::Softirq | ResourceKind::Quota) => {
            &[ResourceKind::NicIn, ResourceKind::NicOut, ResourceKind::Disk, ResourceKind::Memory]
        }
        Some(ResourceKind::Disk) => {
            &[ResourceKind::Core, ResourceKind::NicIn, ResourceKind::NicOut, ResourceKind::Memory]
        }
        Some(ResourceKind::Memory | ResourceKind::Remote) => {
            &[ResourceKind::Core, ResourceKind::NicIn, ResourceKind::NicOut, ResourceKind::Disk]
        }
        Some(ResourceKind::NicIn | ResourceKind::NicOut) => {
            &[ResourceKind::Core, ResourceKind::Disk, ResourceKind::Memory]
        }
        None => &[],
    };
    let beside = kinds.iter().filter_map(|kind| resources.get(*kind));
    beside.filter(|resource| resource.verdict != Verdict::Limiting).collect()
}

/// The same as a sentence: `neither nic (in 12 %, out 42 % of 25.0 Gbit/s) nor disk (3 % busy) is the limit; not known:
/// memory (a limit could not be read)`. Empty without any.
pub fn sentence(beside: &[&Resource]) -> String {
    let mut items: Vec<(&str, Vec<String>)> = Vec::new();
    for resource in beside.iter().filter(|resource| resource.verdict == Verdict::HasHeadroom) {
        let (label, side) = label(resource.kind);
        let figure = resource.figure();
        let who = resource.owner();
        let text = match (figure.is_empty(), resource.kind) {
            (true, _) => resource.note.to_owned(),
            (false, ResourceKind::Core) => format!("{who} {figure}"),
            (false, _) => format!("{who}{side} {figure}"),
        };
        match items.iter_mut().find(|(known, _)| *known == label) {
            // Both directions of no link are one thing to say.
            Some((_, texts)) if texts.contains(&text) => {}
            Some((_, texts)) => texts.push(text),
            None => items.push((label, vec![text])),
        }
    }
    let mut unknown: Vec<String> = Vec::new();
    for resource in beside.iter().filter(|resource| resource.verdict == Verdict::Unknown) {
        let text = format!("{} ({})", label(resource.kind).0, resource.note);
        if !unknown.contains(&text) {
            unknown.push(text);
        }
    }
    let items: Vec<String> =
        items.into_iter().map(|(label, texts)| format!("{label} ({})", texts.join(", "))).collect();
    let mut text = match items.as_slice() {
        [] => String::new(),
        [one] => format!("{one} is not the limit"),
        [first, rest @ ..] => format!("neither {first} nor {} is the limit", rest.join(" nor ")),
    };
    if !unknown.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{}not known: {}", if text.is_empty() { "" } else { "; " }, unknown.join(", "));
    }
    text
}

/// A resource's name in a sentence, and what tells its direction.
fn label(kind: ResourceKind) -> (&'static str, &'static str) {
    match kind {
        ResourceKind::NicIn => ("nic", " in"),
        ResourceKind::NicOut => ("nic", " out"),
        other => (other.label(), ""),
    }
}
