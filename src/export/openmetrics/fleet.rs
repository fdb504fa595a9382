//! Recording and alert rules, made from the table: a name that is not in it is an error of a test.

use std::fmt::Write as _;

/// A recorded series: name, expression.
const RECORDED: &[(&str, &str)] = &[
    (
        "instance:topotop_cpu_busy:ratio_rate5m",
        "sum by (instance) (rate(topotop_node_cpu_seconds_total{mode!~\"idle|iowait|steal\"}[5m])) / sum by (instance) (topotop_online_cpus)",
    ),
    (
        "instance_node:topotop_cpu_busy:ratio_rate5m",
        "sum by (instance, node) (rate(topotop_node_cpu_seconds_total{mode!~\"idle|iowait|steal\"}[5m])) / sum by (instance, node) (topotop_online_cpus)",
    ),
    ("instance:topotop_hottest_cpu:ratio", "max by (instance) (topotop_cpu_busy_ratio)"),
    ("instance_device:topotop_nic_bytes:rate5m", "sum by (instance, device) (rate(topotop_nic_bytes_total[5m]))"),
    ("instance_device:topotop_disk_bytes:rate5m", "sum by (instance, device) (rate(topotop_disk_bytes_total[5m]))"),
    ("topotop_hosts:limited_by", "count by (verdict, resource) (topotop_bottleneck_info)"),
    ("topotop_hosts:finding", "count by (rule, severity) (count by (instance, rule, severity) (topotop_finding_info))"),
];

/// An alert.
struct Alert {
    name: &'static str,
    expression: &'static str,
    lasts: &'static str,
    severity: &'static str,
    summary: &'static str,
}

const ALERTS: &[Alert] = &[
    Alert {
        name: "TopotopLimited",
        expression: "max without (confidence) (topotop_bottleneck_info{verdict=~\"limited|imbalance\"}) == 1",
        lasts: "10m",
        severity: "warning",
        summary: "{{ $labels.instance }} is limited by {{ $labels.resource }} ({{ $labels.verdict }})",
    },
    Alert {
        name: "TopotopCriticalFinding",
        expression: "max without (subject) (topotop_finding_info{severity=\"critical\"}) == 1",
        lasts: "2m",
        severity: "critical",
        summary: "{{ $labels.instance }}: {{ $labels.rule }} ({{ $labels.kind }}): run `topotop rules {{ $labels.rule }}` for details",
    },
    Alert {
        name: "TopotopFinding",
        expression: "max without (subject) (topotop_finding_info{severity=\"warning\"}) == 1",
        lasts: "15m",
        severity: "warning",
        summary: "{{ $labels.instance }}: {{ $labels.rule }} ({{ $labels.kind }}): run `topotop rules {{ $labels.rule }}` for details",
    },
    Alert {
        name: "TopotopLittleHeadroom",
        expression: "topotop_headroom_factor < 1.2",
        lasts: "15m",
        severity: "info",
        summary: "{{ $labels.instance }}: {{ $labels.resource }} has headroom ≤ {{ $value | humanize }}×",
    },
    Alert {
        name: "TopotopOneQueue",
        expression: "topotop_nic_channels < topotop_nic_channels_max and topotop_nic_busiest_queue_ratio > 0.9 and on (instance, device) sum by (instance, device) (rate(topotop_nic_packets_total[5m])) > 10000",
        lasts: "10m",
        severity: "warning",
        summary: "{{ $labels.instance }}: {{ $labels.device }} receives through one queue",
    },
    Alert {
        // serve answers 503 instead of an old sample.
        name: "TopotopNotReached",
        expression: "up{job=\"topotop\"} == 0",
        lasts: "5m",
        severity: "warning",
        summary: "{{ $labels.instance }}: topotop serve does not respond, rejects the token, or has no fresh sample",
    },
    Alert {
        name: "TopotopSeriesDropped",
        expression: "sum without (family) (topotop_series_dropped) > 0",
        lasts: "15m",
        severity: "info",
        summary: "{{ $labels.instance }}: {{ $value }} series dropped: its page is full",
    },
];

/// A scalar of YAML.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The file of recording rules.
pub fn recording_rules() -> String {
    let mut out = String::from(
        "# Recording rules of topotop, for Prometheus and vmalert.\ngroups:\n  - name: topotop\n    rules:\n",
    );
    for (name, expression) in RECORDED {
        // Writing to memory cannot fail.
        let _ = write!(out, "      - record: {name}\n        expr: {}\n", quoted(expression));
    }
    out
}

/// The file of alerts.
pub fn alert_rules() -> String {
    let mut out = String::from(
        "# Alerts of topotop, for Prometheus and vmalert.\ngroups:\n  - name: topotop-alerts\n    rules:\n",
    );
    for Alert { name, expression, lasts, severity, summary } in ALERTS {
        let _ = write!(
            out,
            "      - alert: {name}\n        expr: {}\n        for: {lasts}\n        labels:\n          severity: {severity}\n        annotations:\n          summary: {}\n",
            quoted(expression),
            quoted(summary)
        );
    }
    out
}

/// Every expression.
#[cfg(test)]
pub(super) fn expressions() -> impl Iterator<Item = &'static str> {
    RECORDED.iter().map(|(_, expression)| *expression).chain(ALERTS.iter().map(|alert| alert.expression))
}

/// The list of families, for people.
pub fn list() -> String {
    let mut out = String::from("| series | type | labels | what it is |\n| --- | --- | --- | --- |\n");
    for family in super::all() {
        let labels: Vec<String> = family.labels.iter().map(|label| format!("`{label}`")).collect();
        let (series, kind) = (family.series(), family.kind.name());
        let _ = writeln!(out, "| `{series}` | {kind} | {} | {} |", labels.join(", "), family.help);
    }
    out
}
