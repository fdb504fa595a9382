use super::{Family, Format, Kind, Page, Totals, alert_rules, all, dashboards, fleet, list, recording_rules, write};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use topotop_model::frame::{Channel, Disk, Frame, Nic};
use topotop_model::judge::{Judge, Judgement};
use topotop_model::rules::{Finding, Subject};
use topotop_model::{Known, testkit};

fn page_of(frame: &Frame, judgement: &Judgement, format: Format, names: bool) -> String {
    let mut totals = Totals::default();
    totals.take(frame);
    totals.take(frame);
    let mut out = String::new();
    write(&Page { frame, judgement, totals: &totals, taken_ns: 1_700_000_000_250_000_000, names }, format, &mut out);
    out
}

/// Lines that are series.
fn series(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter(|line| !line.starts_with('#'))
}

/// A page as OpenMetrics wants it: types before series, families in one piece, each series once, an end.
fn is_well_formed(page: &str, format: Format) {
    let (mut families, mut seen): (Vec<(String, String)>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
    let open = format == Format::OpenMetrics;
    assert_eq!(page.ends_with("\n# EOF\n"), open);
    for line in page.lines().filter(|line| *line != "# EOF") {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(families.iter().all(|(known, _)| known != name), "{name} twice");
            families.push((name.to_owned(), kind.to_owned()));
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').unwrap();
            assert!(open && name.ends_with(&format!("_{unit}")), "{line}");
        } else if !line.starts_with('#') {
            let (name, kind) = families.last().unwrap();
            let suffix = match kind.as_str() {
                "counter" if open => "_total",
                "info" => "_info",
                _ => "",
            };
            assert!(open || kind != "info", "{name}");
            let (left, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
            assert_eq!(left.split('{').next().unwrap(), format!("{name}{suffix}"), "{line}");
            assert!(seen.insert(left.to_owned()), "{left} twice");
            assert!(line.chars().all(|c| !c.is_control()), "{line:?}");
        }
    }
    assert!(!families.is_empty());
}

#[test]
fn pages_are_well_formed() {
    for frame in
        [testkit::server(), testkit::tiny(), testkit::blind(), testkit::hostile(), testkit::wide(), Frame::default()]
    {
        for judgement in [testkit::sick(), testkit::sick_hostile(), Judgement::default()] {
            for (format, names) in [(Format::OpenMetrics, false), (Format::Prometheus, true)] {
                is_well_formed(&page_of(&frame, &judgement, format, names), format);
            }
        }
    }
}

#[test]
fn the_page_of_a_server_is_as_agreed() {
    insta::assert_snapshot!("server", page_of(&testkit::server(), &testkit::sick(), Format::OpenMetrics, false));
}

#[test]
fn what_was_not_read_is_absent() {
    let blind = page_of(&testkit::blind(), &Judgement::default(), Format::Prometheus, false);
    for family in ["topotop_findings", "topotop_bottleneck", "topotop_rules", "topotop_resource"] {
        assert!(!blind.contains(family), "{family} without a judgement");
    }
    let none = page_of(&Frame::default(), &Judgement::default(), Format::Prometheus, false);
    let names: BTreeSet<&str> = series(&none).map(|line| line.split(['{', ' ']).next().unwrap()).collect();
    let known = ["build_info", "machine_info", "sample_timestamp_seconds", "series"];
    assert_eq!(names, known.map(|name| format!("topotop_{name}")).iter().map(String::as_str).collect());
}

#[test]
fn subjects_are_named_only_if_wanted() {
    let (frame, judgement) = (testkit::server(), testkit::sick());
    assert!(!page_of(&frame, &judgement, Format::OpenMetrics, false).contains("subject="));
    let named = page_of(&frame, &judgement, Format::OpenMetrics, true);
    assert!(named.contains(&format!("subject=\"{}\"", judgement.findings[0].subject)), "{named}");
    assert!(!named.contains("subject=\"\""));
}

#[test]
fn findings_of_one_rule_and_kind_are_one_series() {
    let mut judgement = testkit::sick();
    let one = judgement.findings[0].clone();
    let many = (0..60).map(|cpu| Finding { subject: Subject::Cpu(cpu), ..one.clone() });
    judgement.findings.splice(0..0, many);
    let rules: BTreeSet<&str> = judgement.all().iter().map(|finding| finding.rule.id.as_str()).collect();
    let page = page_of(&testkit::server(), &judgement, Format::Prometheus, false);
    for rule in rules {
        assert!(page.contains(&format!("topotop_finding_info{{rule=\"{rule}\"")), "{rule}");
    }
    assert!(!page.contains("family=\"finding\""), "none was cut");
    let named = page_of(&testkit::server(), &judgement, Format::Prometheus, true);
    assert!(named.contains("family=\"finding\""), "each is one of its own");
}

/// A machine of so many CPUs on so many nodes, with 4 cards of 16 queues and 24 disks.
fn large(cpus: u32, nodes: u32) -> Frame {
    let mut frame = testkit::wide();
    let shape = |frame: &mut Frame| {
        let mut topology = (*frame.topology).clone();
        topology.cpus.truncate(cpus as usize);
        topology.nodes.truncate(nodes as usize);
        for place in &mut topology.cpus {
            place.node = Known::Value(place.id * nodes / cpus);
        }
        frame.topology = Arc::new(topology);
    };
    shape(&mut frame);
    frame.cpus.truncate(cpus as usize);
    frame.nodes.truncate(nodes as usize);
    assert_eq!((frame.cpus.len(), frame.nodes.len()), (cpus as usize, nodes as usize), "the test kit has fewer");
    let card = testkit::server().nics.into_iter().find(|nic| *nic.kind == *"physical").unwrap();
    let sixteen = Channel { current: Known::Value(16), max: Known::Value(16) };
    let nic = |number| {
        let mut nic = Nic { name: format!("eth{number}").into(), utilisation: Some(0.5), ..card.clone() };
        nic.channels.combined = sixteen;
        nic.queues = (0..16).filter_map(|_| card.queues.first().cloned()).collect();
        nic
    };
    frame.nics = (0..4).map(nic).collect();
    let disk = testkit::server().disks.into_iter().next().unwrap();
    let busy = Disk { utilisation: Some(0.5), await_ms: Known::Value(1.0), read_bytes_per_second: Some(1.0), ..disk };
    let disk =
        |number: u32| Disk { name: format!("sd{number}").into(), write_bytes_per_second: Some(1.0), ..busy.clone() };
    frame.disks = (0..24).map(disk).collect();
    frame
}

#[test]
fn series_are_bounded_and_what_is_cut_is_counted() {
    for (cpus, nodes, most) in [(128, 2, 500), (128, 4, 500), (128, 8, 500), (1000, 16, 600)] {
        let frame = large(cpus, nodes);
        let resources = Judge::default().step(&frame).resources;
        let judgement = Judgement { resources, ..testkit::sick() };
        let page = page_of(&frame, &judgement, Format::OpenMetrics, true);
        is_well_formed(&page, Format::OpenMetrics);
        let count = series(&page).count();
        assert!(count <= most, "{cpus} CPUs: {count} series");
        assert!(page.contains(&format!("topotop_series {count}\n")), "{count}");
        // What people look at first is whole.
        for name in ["resource_state_info", "nic_busiest_queue_ratio", "finding_info", "node_cpu_seconds_total"] {
            assert!(page.contains(&format!("topotop_{name}{{")), "{cpus} CPUs: {name}");
            assert!(
                !page.contains(&format!("family=\"{}\"", name.trim_end_matches("_info").trim_end_matches("_total")))
            );
        }
        let per_cpu = series(&page).filter(|line| line.starts_with("topotop_cpu_busy_ratio")).count();
        assert_eq!(per_cpu, if cpus > 128 { 0 } else { cpus as usize });
        let cut: usize = series(&page)
            .filter_map(|line| line.strip_prefix("topotop_series_dropped{")?.rsplit(' ').next()?.parse::<usize>().ok())
            .sum();
        let whole = series(&page).filter(|line| line.starts_with("topotop_disk_await_seconds")).count();
        assert_eq!(cut > 0, whole < 24, "{cpus} CPUs, {nodes} nodes: {cut} cut, {whole} of 24");
    }
}

#[test]
fn formats_are_chosen_by_the_accept_header() {
    let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    for (header, open) in [
        (prometheus, true),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", true),
        ("application/openmetrics-text", true),
        ("text/plain, application/openmetrics-text;q=0.5", false),
        ("application/openmetrics-text;q=0", false),
        ("application/openmetrics-text;Q=0.1,text/plain", false),
        ("text/plain;q=0.3,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6", true),
        ("application/openmetrics-text;version=0.0.1", false),
        ("text/plain;version=0.0.4", false),
        ("*/*", false),
        ("", false),
        (";;,q=,=;q=x", false),
    ] {
        assert_eq!(Format::accepted(header) == Format::OpenMetrics, open, "{header:?}");
    }
}

#[test]
fn totals_only_grow_while_the_machine_stays_the_same() {
    let frame = testkit::server();
    let mut totals = Totals::default();
    totals.take(&frame);
    let once = totals.clone();
    totals.take(&frame);
    let seconds = frame.interval_seconds.unwrap();
    for (node, sums) in &once.cpu {
        let here = frame.cpus.iter().filter(|cpu| super::totals::node(&frame, cpu.id) == Some(*node));
        let user: f64 = here.filter_map(|cpu| cpu.shares).map(|shares| shares.user * seconds).sum();
        assert!((sums[0] - user).abs() < 1e-6, "node {node}");
        assert!(totals.cpu[node].iter().zip(sums).all(|(twice, once)| (twice - 2.0 * once).abs() < 1e-9));
    }
    let without = Frame { disks: Vec::new(), ..frame };
    totals.take(&without);
    assert!(!once.disks.is_empty() && totals.disks.is_empty());
}

/// Names follow the conventions of Prometheus.
#[test]
fn names_say_unit_and_kind() {
    let mut names = BTreeSet::new();
    for Family { name, kind, unit, help, labels, .. } in all() {
        assert!(names.insert(name), "{name} twice");
        assert!(!name.ends_with("_total") && !name.ends_with("_info"), "{name}");
        assert!(["", "seconds", "bytes", "ratio"].contains(unit), "{name}: {unit}");
        assert!(unit.is_empty() || name.ends_with(&format!("_{unit}")), "{name}: {unit}");
        assert!(help.ends_with('.') && !help.contains('\n') && !help.contains('\\'), "{name}: {help}");
        assert!(*kind != Kind::Info || !labels.is_empty(), "{name}");
    }
}

/// Every series of a page has the labels of its family.
#[test]
fn labels_are_those_of_the_table() {
    for frame in [testkit::server(), large(128, 4), large(1000, 16)] {
        let page = page_of(&frame, &testkit::sick(), Format::Prometheus, false);
        for line in series(&page) {
            let name = line.split(['{', ' ']).next().unwrap();
            let Some(family) = all().find(|family| family.series() == name) else {
                assert!(name.starts_with("topotop_series"), "{name}");
                continue;
            };
            let labels: Vec<&str> = line.split('"').step_by(2).filter_map(|part| part.strip_suffix('=')).collect();
            let labels: Vec<&str> =
                labels.iter().map(|label| label.trim_start_matches(name).trim_start_matches(['{', ','])).collect();
            assert_eq!(labels, family.labels, "{line}");
            let value = || line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok()).unwrap();
            assert!(family.unit != "ratio" || (0.0..=1.0).contains(&value()), "{line}");
        }
    }
}

/// Compares a file with what the table makes of it, or writes it where `INSTA_UPDATE=always` asks for it.
fn is_generated(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == text, "{file} differs from the table: run with INSTA_UPDATE=always");
}

#[test]
fn shipped_files_are_made_from_the_table() {
    for (file, document) in dashboards() {
        is_generated(&format!("dist/grafana/{file}"), &format!("{document:#}\n"));
    }
    is_generated("dist/prometheus/topotop-recording.rules.yml", &recording_rules());
    is_generated("dist/prometheus/topotop-alerts.rules.yml", &alert_rules());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fleet.md");
    let docs = std::fs::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- metrics: made from the table -->\n", "<!-- end of metrics -->");
    let (before, rest) = docs.split_once(begin).unwrap();
    is_generated("docs/fleet.md", &format!("{before}{begin}{}{end}{}", list(), rest.split_once(end).unwrap().1));
}

/// A query that asks for a name that no page has would show nothing, for ever.
#[test]
fn queries_ask_for_what_there_is() {
    let documents: Vec<String> = dashboards().iter().map(|(_, document)| document.to_string()).collect();
    let texts = documents.iter().cloned().chain(fleet::expressions().map(str::to_owned));
    let series: BTreeSet<String> = all().map(Family::series).chain(["topotop_series_dropped".to_owned()]).collect();
    let mut asked = BTreeSet::new();
    for text in texts {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
        for word in words.filter(|word| word.starts_with("topotop_")) {
            assert!(series.contains(word), "{word} is in no table");
            asked.insert(word.to_owned());
        }
    }
    let unasked: Vec<&String> = series.difference(&asked).collect();
    assert!(unasked.is_empty(), "on no dashboard: {unasked:?}");
}
