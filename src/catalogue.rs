//! `topotop rules`: what can be found, by which limits and why.

use std::fmt::Write as _;
use topotop_model::judge::Settings;
use topotop_model::rules::{self, Pace, Rule};

/// The catalogue, or the page of one rule.
pub(crate) fn text(id: Option<&str>, settings: &Settings) -> Result<String, String> {
    let Some(id) = id else {
        let rows = rules::ALL.iter().map(|rule| format!("{:<8} {}\n", rule.id, rule.name));
        return Ok(
            rows.collect::<String>() + "\ntopotop rules ID tells of one: what it looks at, its limits, what to do\n"
        );
    };
    let rule = rules::find(id).ok_or_else(|| format!("rules {id}: no such rule: topotop rules lists them"))?;
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = write(rule, settings, &mut page);
    Ok(page)
}

fn write(rule: &Rule, settings: &Settings, page: &mut String) -> std::fmt::Result {
    writeln!(page, "{}  {}\n\n{}\n", rule.id, rule.name, rule.why)?;
    list(page, "looks at", rule.looks_at)?;
    writeln!(page, "limits")?;
    for threshold in rule.thresholds {
        let key = (rule.id.to_owned(), threshold.name.to_owned());
        let (value, own) =
            settings.thresholds.get(&key).map_or((threshold.value, ""), |value| (*value, " (configured)"));
        let value = format!("{value} {}", threshold.unit);
        writeln!(page, "  {:<16} {:<18} {}{own}", threshold.name, value.trim(), threshold.about)?;
    }
    writeln!(page, "  {}\n", pace(&rule.pace))?;
    list(page, "no finding for", rule.guards)?;
    list(page, "what to do", rule.advice)?;
    list(page, "references", rule.references)
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

fn list(page: &mut String, title: &str, items: &[&str]) -> std::fmt::Result {
    writeln!(page, "{title}")?;
    items.iter().try_for_each(|item| writeln!(page, "  {item}"))?;
    writeln!(page)
}
