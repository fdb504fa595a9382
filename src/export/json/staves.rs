//! What is ruled out as the limit, what is guilty, and what nobody knows.

use super::value::{Text, object};
use std::sync::Arc;
use topotop_model::staves::{self, Staves};

object! {
    /// One stave.
    #[expect(clippy::struct_field_names, reason = "keys are the contract's")]
    pub(crate) Stave {
        stave: &'static str,
        verdict: &'static str,
        share: Option<f64>,
        guilty_at: f64,
        used: Option<f64>,
        limit: Option<f64>,
        unit: Option<&'static str>,
        subject: Option<Text>,
        name: Option<Text>,
        thread: Option<u32>,
        rule: Option<&'static str>,
        note: Option<&'static str>,
    }
}

/// All of them.
pub(crate) fn list(staves: &Staves) -> Vec<Stave> {
    staves.iter().map(stave).collect()
}

/// One of them.
pub(crate) fn stave(stave: &staves::Stave) -> Stave {
    Stave {
        stave: stave.kind.name(),
        verdict: stave.verdict.name(),
        share: stave.share,
        guilty_at: stave.guilty_at,
        used: stave.used.map(|used| used.0),
        limit: stave.limit.map(|limit| limit.0),
        unit: stave.used.or(stave.limit).map(|used| used.1),
        subject: stave.subject.as_ref().map(|subject| Text::from(&Arc::<str>::from(subject.to_string()))),
        name: (!stave.name.is_empty()).then(|| Text::from(&stave.name)),
        thread: stave.tid,
        rule: stave.rule.map(|(rule, _)| rule),
        note: (!stave.note.is_empty()).then_some(stave.note),
    }
}
