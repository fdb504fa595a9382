//! What limits the machine, and what is wrong with it.

use crate::export::openmetrics::rows::Rows;
use crate::export::openmetrics::{Family, Kind, Page, Section};
use std::collections::BTreeSet;
use topotop_model::judge::{Basis, Standing};
use topotop_model::rules::Severity;

/// Findings that are listed at most.
const FINDINGS: usize = 48;

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "bottleneck",
        kind: Kind::Info,
        unit: "",
        help: "What limits the machine: limited, imbalance, not_saturated, idle or inconclusive, and the resource.",
        labels: &["verdict", "resource", "confidence"],
        section: Section::Answer,
        read: bottleneck,
    },
    Family {
        name: "headroom_factor",
        kind: Kind::Gauge,
        unit: "",
        help: "Factor by which the load can grow before the next resource reaches its limit; an upper bound.",
        labels: &["resource"],
        section: Section::Answer,
        read: |page, rows| {
            if let Some(next) = &page.judgement.bottleneck.next {
                rows.add(&[("resource", &next.resource.kind.name())], Some(next.headroom));
            }
        },
    },
    Family {
        name: "resource_utilization_ratio",
        kind: Kind::Gauge,
        unit: "ratio",
        help: "Utilisation of the busiest member of a resource; absent where it is unknown.",
        labels: &["resource"],
        section: Section::Answer,
        read: |page, rows| {
            for resource in page.judgement.resources.iter() {
                rows.add(&[("resource", &resource.kind.name())], resource.share);
            }
        },
    },
    Family {
        name: "resource_state",
        kind: Kind::Info,
        unit: "",
        help: "State of a resource: limiting, full, latency_bound, has_headroom or unknown.",
        labels: &["resource", "state"],
        section: Section::Answer,
        read: |page, rows| {
            for resource in page.judgement.resources.iter() {
                rows.info(&[("resource", &resource.kind.name()), ("state", &resource.verdict.name())]);
            }
        },
    },
    Family {
        name: "findings",
        kind: Kind::Gauge,
        unit: "",
        help: "Open findings by severity.",
        labels: &["severity"],
        section: Section::Findings,
        read: findings,
    },
    Family {
        name: "finding",
        kind: Kind::Info,
        unit: "",
        help: "Open findings by rule, severity and kind of subject; the subject with --expose-names only.",
        labels: &["rule", "severity", "kind"],
        section: Section::Findings,
        read: each_finding,
    },
    Family {
        name: "rules",
        kind: Kind::Gauge,
        unit: "",
        help: "Rules by state: quiet, firing or not_checked.",
        labels: &["state"],
        section: Section::Findings,
        read: rules,
    },
    Family {
        name: "application_value",
        kind: Kind::Gauge,
        unit: "",
        help: "The application metric of --metric; absent while it has no value.",
        labels: &["name", "unit"],
        section: Section::Application,
        read: |page, rows| {
            for metric in page.frame.metrics.iter().take(16) {
                rows.add(&[("name", &metric.name), ("unit", &metric.unit)], metric.value);
            }
        },
    },
];

fn is_judged(page: &Page<'_>) -> bool {
    page.judgement.basis == Basis::Judged && !page.judgement.rules.is_empty()
}

fn bottleneck(page: &Page<'_>, rows: &mut Rows<'_>) {
    if !is_judged(page) {
        return;
    }
    let answer = &page.judgement.bottleneck;
    let resource = answer.resource.as_ref().map_or("", |resource| resource.kind.name());
    let (verdict, confidence) = (answer.verdict.name(), answer.confidence.name());
    rows.info(&[("verdict", &verdict), ("resource", &resource), ("confidence", &confidence)]);
}

fn findings(page: &Page<'_>, rows: &mut Rows<'_>) {
    if !is_judged(page) {
        return;
    }
    let all = page.judgement.all();
    for severity in [Severity::Info, Severity::Warning, Severity::Critical] {
        let count = all.iter().filter(|finding| finding.severity == severity).count();
        rows.add(&[("severity", &severity.name())], Some(count as f64));
    }
}

fn each_finding(page: &Page<'_>, rows: &mut Rows<'_>) {
    let all = page.judgement.all();
    let mut listed = BTreeSet::new();
    for finding in all {
        let subject = finding.subject.to_string();
        let kind = subject.split(':').next().unwrap_or_default();
        let (rule, severity) = (finding.rule.id, finding.severity.name());
        let labels: [(&str, &dyn std::fmt::Display); 4] =
            [("rule", &rule), ("severity", &severity), ("kind", &kind), ("subject", &subject)];
        // Without names all of a rule are one series, and take one place.
        let own = if page.names { subject.clone() } else { kind.to_owned() };
        if !listed.insert((rule, severity, own)) {
            continue;
        }
        if listed.len() > FINDINGS {
            rows.dropped += 1;
        } else {
            rows.info(if page.names { &labels } else { labels.split_at(3).0 });
        }
    }
}

fn rules(page: &Page<'_>, rows: &mut Rows<'_>) {
    if !is_judged(page) {
        return;
    }
    let state = |standing: &Standing| match standing {
        Standing::Quiet => "quiet",
        Standing::Firing => "firing",
        Standing::NotChecked(_) => "not_checked",
    };
    for name in ["quiet", "firing", "not_checked"] {
        let count = page.judgement.rules.iter().filter(|(_, standing)| state(standing) == name).count();
        rows.add(&[("state", &name)], Some(count as f64));
    }
}
