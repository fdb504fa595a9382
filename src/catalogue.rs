//! `topotop rules`: what can be found, by which limits and why.

use std::fmt::Write as _;
use topotop_model::judge::Settings;
use topotop_model::locale::{error as errors, rules as texts};
use topotop_model::rules::{self, Rule};

/// The catalogue, or the page of one rule.
pub(crate) fn text(id: Option<&str>, settings: &Settings) -> Result<String, String> {
    let Some(id) = id else {
        let rows = rules::ALL.iter().map(|rule| format!("{:<8} {}\n", rule.id, rule.name));
        return Ok(rows.collect::<String>() + &format!("\n{}\n", texts::FOOT));
    };
    let rule = rules::find(id).ok_or_else(|| errors::UnknownRuleId { id: &id }.to_string())?;
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = write(rule, settings, &mut page);
    Ok(page)
}

fn write(rule: &Rule, settings: &Settings, page: &mut String) -> std::fmt::Result {
    writeln!(page, "{}  {}\n\n{}", rule.id, rule.name, rule.why)?;
    for (topic, lines) in rules::page(rule, settings) {
        writeln!(page, "\n{}", topic.heading())?;
        lines.iter().try_for_each(|line| writeln!(page, "  {line}"))?;
    }
    writeln!(page)
}
