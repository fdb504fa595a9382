//! What a finding leaves as no limit: statements by exclusion.

use super::{Kind, Stave, Staves, Verdict, blame};
use crate::rules::{Finding, Severity};
use std::fmt::Write as _;

/// The staves beside a finding that are ruled out or unknown, so that it stands alone; empty where that says nothing:
/// for what costs nothing now, and what is not about the speed of the machine.
pub fn exclusions<'a>(finding: &Finding, staves: &'a Staves) -> Vec<&'a Stave> {
    if finding.severity < Severity::Warning {
        return Vec::new();
    }
    let kinds: &[Kind] = match blame::of(finding).first() {
        Some(Kind::Core | Kind::Thread | Kind::Softirq | Kind::Quota) => {
            &[Kind::NicIn, Kind::NicOut, Kind::Disk, Kind::Memory]
        }
        Some(Kind::Disk) => &[Kind::Core, Kind::NicIn, Kind::NicOut, Kind::Memory],
        Some(Kind::Memory | Kind::Remote) => &[Kind::Core, Kind::NicIn, Kind::NicOut, Kind::Disk],
        Some(Kind::NicIn | Kind::NicOut) => &[Kind::Core, Kind::Disk, Kind::Memory],
        None => &[],
    };
    let beside = kinds.iter().filter_map(|kind| staves.get(*kind));
    beside.filter(|stave| stave.verdict != Verdict::Guilty).collect()
}

/// The same as a sentence: `neither nic (in 12 %, out 42 % of 25.0 Gbit/s) nor disk (3 % busy) is the limit; not known:
/// memory (a limit could not be read)`. Empty without any.
pub fn sentence(beside: &[&Stave]) -> String {
    let mut items: Vec<(&str, Vec<String>)> = Vec::new();
    for stave in beside.iter().filter(|stave| stave.verdict == Verdict::RuledOut) {
        let (label, side) = label(stave.kind);
        let figure = stave.figure();
        let who = stave.who();
        let text = match (figure.is_empty(), stave.kind) {
            (true, _) => stave.note.to_owned(),
            (false, Kind::Core) => format!("{who} {figure}"),
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
    for stave in beside.iter().filter(|stave| stave.verdict == Verdict::Unknown) {
        let text = format!("{} ({})", label(stave.kind).0, stave.note);
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

/// A stave's name in a sentence, and what tells its direction.
fn label(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::NicIn => ("nic", " in"),
        Kind::NicOut => ("nic", " out"),
        other => (other.label(), ""),
    }
}
