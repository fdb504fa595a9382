//! The page of a rule: what is printed and what is shown on the screen are the same.

use crate::judge::Settings;
use crate::locale::Texts;
use crate::rules::{Pace, Page, Rule};

/// What there is to say of a rule besides its name and why it matters: headings with their lines, thresholds as they are
/// configured.
pub fn page(rule: &Rule, settings: &Settings) -> Vec<(&'static str, Vec<String>)> {
    let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
    let texts = |items: Texts| items.iter().map(|item| item.to_string()).collect::<Vec<_>>();
    let mut limits: Vec<String> = Vec::with_capacity(rule.thresholds.len() + 1);
    for threshold in rule.thresholds {
        let value = threshold.configured(&settings.thresholds);
        let own = if value.to_bits() == threshold.value.to_bits() { "" } else { " (configured)" };
        let value = format!("{value} {}", threshold.unit);
        limits.push(format!("{:<16} {:<18} {}{own}", threshold.name(), value.trim(), threshold.about));
    }
    limits.push(pace(&rule.pace));
    let mut page = vec![
        ("looks at", list(rule.sources)),
        ("limits", limits),
        ("no finding for", texts(rule.guards)),
        ("what to do", texts(rule.advice)),
        ("fixes", crate::fix::of_rule(&rule.id).map(fix).collect()),
    ];
    page.extend(rule.tables.iter().map(|table| (table.title.as_str(), table_lines(table))));
    page.extend([("what others gained", texts(rule.gained)), ("references", list(rule.references))]);
    page.retain(|(_, lines)| !lines.is_empty());
    page
}

/// A fix that answers it, with what can be set.
fn fix(fix: &crate::fix::Fix) -> String {
    let set: Vec<&str> = fix.parameters.iter().map(|parameter| parameter.name).collect();
    let set = if set.is_empty() { String::new() } else { format!("; --set {}", set.join(", ")) };
    let kind = if fix.executable { "" } else { " (advice)" };
    format!("{}  {}{kind}{set}", fix.id, fix.name)
}

/// A table with its columns lined up.
fn table_lines(table: &Page) -> Vec<String> {
    let rows: Vec<Vec<&str>> = table.rows.iter().map(|row| row.as_str().split(" | ").collect()).collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let line = |row: &[&str]| {
        let cells = row.iter().enumerate().map(|(at, cell)| format!("{cell:<width$}", width = width(at).unwrap_or(0)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(|row| line(row)).collect()
}

fn pace(pace: &Pace) -> String {
    let enter = if pace.of <= 1 {
        "found at once".to_owned()
    } else {
        format!("found after {} of {} samples", pace.enter, pace.of)
    };
    let latch =
        if pace.latch_seconds > 0 { format!(", kept for {} min", pace.latch_seconds / 60) } else { String::new() };
    format!("{enter}, over after {} without it{latch}", pace.exit)
}

#[cfg(test)]
mod tests {
    use crate::judge::Settings;
    use crate::rules;
    use crate::rules::page;

    #[test]
    fn thresholds_are_told_as_they_are_configured() {
        let rule = rules::find("CPU-01").expect("a rule");
        let limits = |settings: &Settings| page(rule, settings)[1].1.join("\n");
        assert!(limits(&Settings::default()).contains("0.95 fraction"));
        let own = [((rule.id.to_string(), "busy".to_owned()), 0.5)].into_iter().collect();
        let told = limits(&Settings { thresholds: own });
        assert!(told.contains("0.5 fraction") && told.contains("(configured)") && !told.contains("0.95"), "{told}");
    }

    #[test]
    fn every_page_tells_what_somebody_new_asks() {
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
