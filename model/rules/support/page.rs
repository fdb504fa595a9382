//! The page of a rule, the same on the screen and on the command line.

use crate::judge::Settings;
use crate::locale::{Text, Texts, rule_page as text, unit};
use crate::rules::support::{finding, parts};
use crate::rules::{Pace, Page, Rule, Threshold};
use crate::text::{columns, padded};

/// The subject of a section of a rule's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageTopic {
    /// The files that it reads.
    Sources,
    /// What it compares with, as configured.
    Thresholds,
    /// What it does not report, on purpose.
    Exceptions,
    /// What to do.
    Remedies,
    /// Fixes that answer it.
    Fixes,
    /// A table of terms.
    Table(Text),
    /// What others gained.
    Gains,
    /// Documentation.
    References,
}

impl PageTopic {
    /// Its heading.
    pub fn heading(self) -> Text {
        match self {
            Self::Sources => text::SOURCES,
            Self::Thresholds => text::THRESHOLDS,
            Self::Exceptions => text::EXCEPTIONS,
            Self::Remedies => text::REMEDIES,
            Self::Fixes => text::FIXES,
            Self::Table(title) => title,
            Self::Gains => text::GAINS,
            Self::References => text::REFERENCES,
        }
    }

    /// True if its lines are aligned in columns: they must not be wrapped.
    pub fn is_aligned(self) -> bool {
        matches!(self, Self::Thresholds | Self::Table(_))
    }
}

/// The sections of a rule's page after its name and why it matters, without empty ones.
pub fn page(rule: &Rule, settings: &Settings) -> Vec<(PageTopic, Vec<String>)> {
    let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
    let texts = |items: Texts| items.iter().map(|item| item.to_string()).collect::<Vec<_>>();
    let mut page = vec![
        (PageTopic::Sources, rule.sources.iter().copied().map(source).collect()),
        (PageTopic::Thresholds, thresholds(rule, settings)),
        (PageTopic::Exceptions, texts(rule.guards)),
        (PageTopic::Remedies, texts(rule.advice)),
        (PageTopic::Fixes, crate::fix::of_rule(&rule.id).map(fix).collect()),
    ];
    page.extend(rule.tables.iter().map(|table| (PageTopic::Table(table.title), table_lines(table))));
    page.extend([(PageTopic::Gains, texts(rule.gained)), (PageTopic::References, list(rule.references))]);
    page.retain(|(_, lines)| !lines.is_empty());
    page
}

/// A file, with what version 1 of control groups calls it.
fn source(name: &'static str) -> String {
    let old = finding::version_1(name);
    if old == name {
        finding::source_label(name).into_owned()
    } else {
        text::SourceVersions { name: &name, old: &old }.to_string()
    }
}

/// Its thresholds as configured, then its pace.
fn thresholds(rule: &Rule, settings: &Settings) -> Vec<String> {
    let line = |threshold: &Threshold| {
        let value = threshold.configured(&settings.thresholds);
        let line = format!("{:<16} {:<18} {}", threshold.name(), quantity(value, threshold.unit), threshold.about);
        let is_own = value.to_bits() == threshold.value.to_bits();
        if is_own { line } else { text::Configured { text: &line }.to_string() }
    };
    rule.thresholds.iter().map(line).chain([pace(&rule.pace)]).collect()
}

/// A limit as people read it: `95%` of a fraction, `5000/s`, `2 cores`.
fn quantity(value: f64, unit: &str) -> String {
    // What a configuration says may have more digits than a float has.
    let exact = |value: f64| (value * 1e9).round() / 1e9;
    match unit {
        "fraction" => format!("{}%", exact(value * 100.0)),
        "bytes" => parts::bytes(Some(value)),
        "cores" => unit::Cores { count: &value }.to_string(),
        "threads" => unit::Threads { count: &value }.to_string(),
        "bytes/s" => format!("{}/s", parts::bytes(Some(value))),
        _ => match unit.strip_prefix("1/") {
            Some(unit) => format!("{value}/{unit}"),
            None => format!("{value} {unit}").trim().to_owned(),
        },
    }
}

/// A fix that answers it, with its parameters.
fn fix(fix: &crate::fix::Fix) -> String {
    let names: Vec<&str> = fix.parameters.iter().map(|parameter| parameter.name).collect();
    let (id, name, parameters) = (&fix.id, &fix.name, &names.join(", "));
    match (fix.executable, parameters.is_empty()) {
        (true, true) => text::Fix { id, name }.to_string(),
        (true, false) => text::FixParameters { id, name, parameters }.to_string(),
        (false, true) => text::Advice { id, name }.to_string(),
        (false, false) => text::AdviceParameters { id, name, parameters }.to_string(),
    }
}

/// A table with aligned columns.
fn table_lines(table: &Page) -> Vec<String> {
    let rows: Vec<Vec<&str>> = table.rows.iter().map(|row| row.as_str().split(" | ").collect()).collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell)).max();
    let line = |row: &[&str]| {
        let cells = row.iter().enumerate().map(|(at, cell)| padded(cell, width(at).unwrap_or(0)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(|row| line(row)).collect()
}

/// When a finding opens and clears.
fn pace(pace: &Pace) -> String {
    let (enter, of, exit, minutes) = (&pace.enter, &pace.of, &pace.exit, &(pace.latch_seconds / 60));
    match (pace.of <= 1, pace.latch_seconds > 0) {
        (true, false) => text::AtOnce { exit }.to_string(),
        (true, true) => text::AtOnceLatched { exit, minutes }.to_string(),
        (false, false) => text::After { enter, of, exit }.to_string(),
        (false, true) => text::AfterLatched { enter, of, exit, minutes }.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::judge::Settings;
    use crate::rules;
    use crate::rules::page;

    #[test]
    fn thresholds_are_shown_as_configured() {
        let rule = rules::find("CPU-01").expect("a rule");
        let limits = |settings: &Settings| page(rule, settings)[1].1.join("\n");
        assert!(limits(&Settings::default()).contains(" 95% "));
        let own = [((rule.id.to_string(), "busy".to_owned()), 0.5)].into_iter().collect();
        let configured = limits(&Settings { thresholds: own });
        assert!(configured.contains(" 50% ") && configured.contains("(configured)"), "{configured}");
        assert!(!configured.contains("95%"), "{configured}");
    }

    #[test]
    fn every_page_is_complete() {
        for rule in rules::ALL {
            assert!([rule.name, rule.why].iter().all(|text| !text.is_empty()), "{}", rule.id);
            assert!([rule.guards, rule.advice].iter().all(|texts| !texts.is_empty()), "{}", rule.id);
            assert!([rule.sources, rule.references].iter().all(|list| !list.is_empty()), "{}", rule.id);
            assert!(rule.thresholds.iter().all(|threshold| threshold.rule == rule.id), "{}", rule.id);
            assert!(!rule.thresholds.is_empty(), "{}", rule.id);
            for table in rule.tables {
                let cells: std::collections::BTreeSet<_> =
                    table.rows.iter().map(|row| row.split(" | ").count()).collect();
                assert_eq!(cells.len(), 1, "{}: rows of a table differ in their number of cells", rule.id);
            }
        }
    }
}
