//! Dashboards for Grafana, made from the table of families.

use super::{Family, Kind, Section, all};
use serde_json::{Value, json};

/// A dashboard: the name of its file and its document.
pub fn dashboards() -> Vec<(&'static str, Value)> {
    vec![("topotop-fleet.json", fleet()), ("topotop-topology.json", topology()), ("topotop-host.json", host())]
}

/// Columns of Grafana's grid.
const COLUMNS: u64 = 24;
const SOURCE: &str = "${datasource}";
const ONE: &str = "instance=\"$instance\"";

/// How a panel draws.
#[derive(Clone, Copy)]
enum Look {
    Lines,
    Stacked,
    Bars,
    Number,
    Table,
}

/// A panel without a position.
struct Panel {
    title: String,
    help: String,
    look: Look,
    unit: &'static str,
    expression: String,
    legend: String,
    width: u64,
}

impl Panel {
    fn new(title: &str, look: Look, unit: &'static str, expression: &str, legend: &str, width: u64) -> Self {
        let (title, expression, legend) = (title.to_owned(), expression.to_owned(), legend.to_owned());
        Self { title, help: String::new(), look, unit, expression, legend, width }
    }

    fn height(&self) -> u64 {
        if matches!(self.look, Look::Number) { 4 } else { 8 }
    }

    fn document(&self, id: u64, x: u64, y: u64) -> Value {
        let (kind, instant) = match self.look {
            Look::Lines | Look::Stacked => ("timeseries", false),
            Look::Bars => ("bargauge", true),
            Look::Number => ("stat", true),
            Look::Table => ("table", true),
        };
        let stacking = if matches!(self.look, Look::Stacked) { "normal" } else { "none" };
        let custom = match self.look {
            Look::Lines | Look::Stacked => {
                json!({"lineWidth": 1, "fillOpacity": 10, "stacking": {"mode": stacking, "group": "A"}})
            }
            _ => json!({}),
        };
        let mut defaults = json!({"unit": self.unit, "custom": custom});
        if self.unit == "percentunit" {
            defaults["min"] = json!(0);
            defaults["max"] = json!(1);
        }
        let options = match self.look {
            Look::Lines | Look::Stacked => {
                json!({"legend": {"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []}, "tooltip": {"mode": "multi", "sort": "desc"}})
            }
            Look::Bars => {
                json!({"orientation": "horizontal", "displayMode": "gradient", "showUnfilled": true, "minVizWidth": 0, "minVizHeight": 10, "reduceOptions": {"calcs": ["lastNotNull"], "values": false}})
            }
            Look::Number => {
                json!({"reduceOptions": {"calcs": ["lastNotNull"], "values": false}, "orientation": "auto", "textMode": "auto", "colorMode": "value", "graphMode": "none", "justifyMode": "auto"})
            }
            Look::Table => json!({"showHeader": true}),
        };
        let format = if matches!(self.look, Look::Table) { "table" } else { "time_series" };
        json!({
            "id": id,
            "type": kind,
            "title": self.title,
            "description": self.help,
            "datasource": {"type": "prometheus", "uid": SOURCE},
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height()},
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": options,
            "targets": [{
                "refId": "A",
                "datasource": {"type": "prometheus", "uid": SOURCE},
                "expr": self.expression,
                "legendFormat": self.legend,
                "format": format,
                "instant": instant,
                "range": !instant,
            }],
        })
    }
}

/// Rows of panels with their titles.
type Rows = Vec<(&'static str, Vec<Panel>)>;

fn dashboard(uid: &str, title: &str, of_one: bool, rows: &Rows) -> Value {
    let (mut panels, mut id, mut y) = (Vec::new(), 0, 0);
    for (title, row) in rows.iter().filter(|(_, row)| !row.is_empty()) {
        id += 1;
        panels.push(json!({"id": id, "type": "row", "title": title, "collapsed": false, "panels": [],
            "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1}}));
        y += 1;
        let (mut x, mut height) = (0, 0);
        for panel in row {
            if x + panel.width > COLUMNS {
                (x, y, height) = (0, y + height, 0);
            }
            id += 1;
            panels.push(panel.document(id, x, y));
            x += panel.width;
            height = height.max(panel.height());
        }
        y += height;
    }
    let mut variables =
        vec![json!({"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
        "hide": 0, "includeAll": false, "multi": false, "refresh": 1, "regex": "", "options": [], "current": {}})];
    if of_one {
        let query = "label_values(topotop_build_info, instance)";
        variables.push(json!({"name": "instance", "label": "Host", "type": "query",
            "datasource": {"type": "prometheus", "uid": SOURCE},
            "query": {"query": query, "refId": "instance"}, "hide": 0, "includeAll": false, "multi": false, "refresh": 2,
            "regex": "", "sort": 1, "options": [], "current": {}}));
    }
    json!({
        "uid": uid,
        "title": title,
        "tags": ["topotop"],
        "editable": true,
        "schemaVersion": 38,
        "version": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "graphTooltip": 1,
        "annotations": {"list": []},
        "links": [],
        "templating": {"list": variables},
        "panels": panels,
    })
}

/// Grafana's unit of a family: counters are drawn as rates.
fn unit(family: &Family) -> &'static str {
    match (family.unit, family.kind) {
        ("bytes", Kind::Counter) => "Bps",
        ("bytes", _) => "bytes",
        ("seconds", Kind::Counter) => "none",
        ("seconds", _) if family.name.contains("timestamp") => "dateTimeFromNow",
        ("seconds", _) => "s",
        ("ratio", _) => "percentunit",
        (_, Kind::Counter) => "cps",
        _ => "none",
    }
}

/// The panel of a family of one host.
fn panel(family: &Family) -> Panel {
    let series = family.series();
    let expression = match family.kind {
        Kind::Counter => format!("rate({series}{{{ONE}}}[$__rate_interval])"),
        // Grafana counts in milliseconds here.
        Kind::Gauge if family.name.contains("timestamp") => format!("{series}{{{ONE}}} * 1000"),
        Kind::Gauge | Kind::Info => format!("{series}{{{ONE}}}"),
    };
    let legend: Vec<String> = family.labels.iter().map(|label| format!("{{{{{label}}}}}")).collect();
    let look = match family.kind {
        Kind::Info => Look::Table,
        Kind::Counter if family.unit == "seconds" && family.labels.contains(&"mode") => Look::Stacked,
        Kind::Gauge if family.labels.contains(&"resource") && family.name != "headroom_factor" => Look::Bars,
        Kind::Gauge if family.labels.is_empty() => Look::Number,
        Kind::Gauge | Kind::Counter => Look::Lines,
    };
    let width = if matches!(look, Look::Number) { 6 } else { 12 };
    let title = family.name.trim_end_matches("_ratio").trim_end_matches("_bytes").trim_end_matches("_seconds");
    let title = if matches!(title, "nic" | "disk") { format!("{title} bytes") } else { title.replace('_', " ") };
    let help = family.help.to_owned();
    Panel { help, ..Panel::new(&title, look, unit(family), &expression, &legend.join(" "), width) }
}

const SECTIONS: [(Section, &str); 9] = [
    (Section::Answer, "Bottleneck"),
    (Section::Findings, "Findings"),
    (Section::Cpu, "CPU by node"),
    (Section::Memory, "Memory by node"),
    (Section::Network, "NICs and queues"),
    (Section::Disk, "Disks"),
    (Section::Pressure, "Pressure"),
    (Section::Application, "Application"),
    (Section::Monitor, "Machine and monitor"),
];

fn rows_of(sections: &[(Section, &'static str)]) -> Rows {
    let of = |section: Section| all().filter(|family| family.section == section).map(panel).collect();
    sections.iter().map(|(section, title)| (*title, of(*section))).collect()
}

/// Every family of one host.
fn host() -> Value {
    dashboard("topotop-host", "topotop: one host", true, &rows_of(&SECTIONS))
}

/// Where load is on the machine: nodes, CPUs, memory, NICs.
fn topology() -> Value {
    let busy = format!(
        "sum by (node) (rate(topotop_node_cpu_seconds_total{{{ONE},mode!~\"idle|iowait|steal\"}}[$__rate_interval])) / sum by (node) (topotop_online_cpus{{{ONE}}})"
    );
    let softirq = format!(
        "sum by (node) (rate(topotop_node_cpu_seconds_total{{{ONE},mode=\"softirq\"}}[$__rate_interval])) / sum by (node) (topotop_online_cpus{{{ONE}}})"
    );
    let hottest = format!("topk(16, topotop_cpu_busy_ratio{{{ONE}}})");
    let interrupted = format!("topk(16, topotop_cpu_softirq_ratio{{{ONE}}})");
    let first = vec![
        Panel::new("Busy by node", Look::Lines, "percentunit", &busy, "node {{node}}", 12),
        Panel::new("Softirq by node", Look::Lines, "percentunit", &softirq, "node {{node}}", 12),
        Panel::new("Busiest CPUs", Look::Bars, "percentunit", &hottest, "cpu {{cpu}} node {{node}}", 12),
        Panel::new(
            "CPUs with the most softirq",
            Look::Bars,
            "percentunit",
            &interrupted,
            "cpu {{cpu}} node {{node}}",
            12,
        ),
    ];
    let mut rows: Rows = vec![("Machine", first)];
    rows.extend(rows_of(&[
        (Section::Memory, "Memory by node"),
        (Section::Network, "NICs and queues"),
        (Section::Disk, "Disks"),
    ]));
    dashboard("topotop-topology", "topotop: machine topology", true, &rows)
}

/// Findings over all hosts.
fn fleet() -> Value {
    let rows = vec![("Bottlenecks", answers()), ("Findings", findings()), ("Resources", resources())];
    dashboard("topotop-fleet", "topotop: findings across the fleet", false, &rows)
}

fn answers() -> Vec<Panel> {
    let limited = "count(topotop_bottleneck_info{verdict=~\"limited|imbalance\"}) or vector(0)";
    let critical = "count(topotop_findings{severity=\"critical\"} > 0) or vector(0)";
    let away = "count(up{job=\"topotop\"} == 0) or vector(0)";
    let by_answer = "count by (verdict, resource) (topotop_bottleneck_info)";
    vec![
        Panel::new("Hosts", Look::Number, "none", "count(topotop_build_info)", "", 6),
        Panel::new("Limited hosts", Look::Number, "none", limited, "", 6),
        Panel::new("Hosts with critical findings", Look::Number, "none", critical, "", 6),
        Panel::new("Unreachable hosts", Look::Number, "none", away, "", 6),
        Panel::new("Hosts by limiting resource", Look::Lines, "none", by_answer, "{{verdict}} {{resource}}", 12),
        Panel::new("Bottleneck of each host", Look::Table, "none", "topotop_bottleneck_info", "", 12),
    ]
}

fn findings() -> Vec<Panel> {
    let hosts = "sort_desc(count by (rule, severity) (count by (instance, rule, severity) (topotop_finding_info)))";
    let by_severity = "sum by (severity) (topotop_findings)";
    vec![
        Panel::new("Hosts by finding", Look::Bars, "none", hosts, "{{rule}} {{severity}}", 12),
        Panel::new("Findings by severity", Look::Lines, "none", by_severity, "{{severity}}", 12),
        Panel::new("Open findings", Look::Table, "none", "topotop_finding_info", "", 24),
    ]
}

fn resources() -> Vec<Panel> {
    let headroom = "bottomk(10, topotop_headroom_factor)";
    let fullest = "topk(10, topotop_resource_utilization_ratio)";
    let busy = "topk(10, sum by (instance) (rate(topotop_node_cpu_seconds_total{mode!~\"idle|iowait|steal\"}[$__rate_interval])) / sum by (instance) (topotop_online_cpus))";
    let channels = "bottomk(10, topotop_nic_channels / topotop_nic_channels_max)";
    vec![
        Panel::new("Least headroom", Look::Bars, "none", headroom, "{{instance}} {{resource}}", 12),
        Panel::new("Most utilised resources", Look::Bars, "percentunit", fullest, "{{instance}} {{resource}}", 12),
        Panel::new("Busiest hosts", Look::Lines, "percentunit", busy, "{{instance}}", 12),
        Panel::new(
            "Channels in use, share of the maximum",
            Look::Bars,
            "percentunit",
            channels,
            "{{instance}} {{device}}",
            12,
        ),
    ]
}
