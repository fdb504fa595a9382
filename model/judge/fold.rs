//! Findings under their causes.

use crate::rules::{Finding, Subject};
use std::collections::BTreeSet;

/// A finding and those that are told under it.
type Found<'a> = (Finding, &'a [(&'static str, Subject)]);

/// Puts each finding under the first one that covers it, with what it covers itself; they come by rule and subject.
pub(super) fn under_causes(found: Vec<Found<'_>>) -> Vec<Finding> {
    let place = |(rule, subject): &(&'static str, Subject)| {
        found.binary_search_by(|(other, _)| other.rule.id.cmp(rule).then_with(|| other.subject.cmp(subject))).ok()
    };
    let mut covers: Vec<Vec<usize>> =
        found.iter().map(|(_, covers)| covers.iter().filter_map(place).collect()).collect();
    let mut causes: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); found.len()];
    for (cause, covered) in covers.iter().enumerate() {
        for &effect in covered.iter().filter(|effect| **effect != cause) {
            if let Some(causes) = causes.get_mut(effect) {
                causes.insert(cause);
            }
        }
    }
    let mut findings: Vec<Option<Finding>> = found.into_iter().map(|(finding, _)| Some(finding)).collect();
    let caused = causes.iter().enumerate().filter(|(_, causes)| !causes.is_empty());
    let mut left: BTreeSet<usize> = caused.map(|(at, _)| at).collect();
    while let Some(at) = left.pop_first() {
        let Some(parent) = causes.get(at).and_then(|causes| causes.first().copied()) else { continue };
        let Some(child) = findings.get_mut(at).and_then(Option::take) else { continue };
        if let Some(Some(finding)) = findings.get_mut(parent) {
            finding.severity = finding.severity.max(child.severity);
            finding.children.push(child);
        }
        // What it caused is caused by its own cause now.
        let inherited = covers.get_mut(at).map(std::mem::take).unwrap_or_default();
        for &effect in &inherited {
            let Some(of_effect) = causes.get_mut(effect) else { continue };
            of_effect.remove(&at);
            if effect != parent {
                of_effect.insert(parent);
            }
            if of_effect.is_empty() || findings.get(effect).is_none_or(Option::is_none) {
                left.remove(&effect);
            } else {
                left.insert(effect);
            }
        }
        if let Some(covers) = covers.get_mut(parent) {
            covers.extend(inherited);
        }
    }
    findings.into_iter().flatten().collect()
}
