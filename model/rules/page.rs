//! The page of a rule: what is printed and what is shown on the screen are the same.

use super::{Pace, Page, Rule};
use crate::judge::Settings;

/// What there is to say of a rule besides its name and why it matters: headings with their lines, thresholds as they are
/// configured.
pub fn page(rule: &Rule, settings: &Settings) -> Vec<(&'static str, Vec<String>)> {
    let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
    let mut limits: Vec<String> = Vec::with_capacity(rule.thresholds.len() + 1);
    for threshold in rule.thresholds {
        let configured = settings.thresholds.get(&(rule.id.to_owned(), threshold.name.to_owned()));
        let (value, own) = configured.map_or((threshold.value, ""), |value| (*value, " (configured)"));
        let value = format!("{value} {}", threshold.unit);
        limits.push(format!("{:<16} {:<18} {}{own}", threshold.name, value.trim(), threshold.about));
    }
    limits.push(pace(&rule.pace));
    let mut page = vec![
        ("looks at", list(rule.looks_at)),
        ("limits", limits),
        ("no finding for", list(rule.guards)),
        ("what to do", list(rule.advice)),
        ("fixes", crate::fix::of_rule(rule.id).map(fix).collect()),
    ];
    page.extend(rule.tables.iter().map(|table| (table.title, table_lines(table))));
    page.extend([("what others gained", list(rule.gained)), ("references", list(rule.references))]);
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
    let rows = || std::iter::once(table.columns).chain(table.rows.iter().copied());
    let width = |column: usize| rows().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let line = |row: &[&str]| {
        let cells = row.iter().enumerate().map(|(at, cell)| format!("{cell:<width$}", width = width(at).unwrap_or(0)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows().map(line).collect()
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
    use super::page;
    use crate::judge::Settings;
    use crate::rules;

    #[test]
    fn thresholds_are_told_as_they_are_configured() {
        let rule = rules::find("CPU-01").expect("a rule");
        let limits = |settings: &Settings| page(rule, settings)[1].1.join("\n");
        assert!(limits(&Settings::default()).contains("0.95 fraction"));
        let own = [((rule.id.to_owned(), "busy".to_owned()), 0.5)].into_iter().collect();
        let told = limits(&Settings { thresholds: own });
        assert!(told.contains("0.5 fraction") && told.contains("(configured)") && !told.contains("0.95"), "{told}");
    }

    #[test]
    fn every_page_tells_what_somebody_new_asks() {
        for rule in rules::ALL {
            let told = [rule.name, rule.why];
            assert!(told.iter().all(|text| !text.is_empty()), "{}", rule.id);
            let lists = [rule.looks_at, rule.guards, rule.advice, rule.references];
            assert!(lists.iter().all(|list| !list.is_empty()), "{}: a part of its page is empty", rule.id);
            assert!(!rule.thresholds.is_empty(), "{}", rule.id);
            for table in rule.tables {
                assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", rule.id);
            }
        }
    }
}
