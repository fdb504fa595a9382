//! The resources of a machine: limiting, with headroom or unknown.

use super::value::{Text, object};
use std::sync::Arc;
use topotop_model::bottleneck::{self, Resources};

object! {
    /// One resource.
    #[expect(clippy::struct_field_names, reason = "keys are the contract's")]
    pub(crate) Resource {
        resource: &'static str,
        verdict: &'static str,
        share: Option<f64>,
        limit_at: f64,
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
pub(crate) fn list(resources: &Resources) -> Vec<Resource> {
    resources.iter().map(resource).collect()
}

/// One of them.
pub(crate) fn resource(resource: &bottleneck::Resource) -> Resource {
    Resource {
        resource: resource.kind.name(),
        verdict: resource.verdict.name(),
        share: resource.share,
        limit_at: resource.limit_at,
        used: resource.used.map(|used| used.0),
        limit: resource.limit.map(|limit| limit.0),
        unit: resource.used.or(resource.limit).map(|used| used.1),
        subject: resource.subject.as_ref().map(|subject| Text::from(&Arc::<str>::from(subject.to_string()))),
        name: (!resource.name.is_empty()).then(|| Text::from(&resource.name)),
        thread: resource.tid,
        rule: resource.rule.map(|(rule, _)| rule.as_str()),
        note: (!resource.note.is_empty()).then(|| resource.note.english()),
    }
}
