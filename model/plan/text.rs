//! The plan as people read it.

use super::{Folder, Numa};
use crate::rules::parts;
use crate::text::printable;
use std::fmt::Write as _;

pub(super) fn text(plan: &Numa) -> String {
    let mut out = String::new();
    let of = plan.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    line(&mut out, &format!("{}{of}: {} instances. Nothing of this is executed.", plan.program, plan.instances.len()));
    instances(plan, &mut out);
    ports(plan, &mut out);
    folders(&plan.folders, &mut out);
    head(&mut out, "prepare");
    if plan.prepare.is_empty() {
        line(&mut out, "  nothing: no path of its own is on the command line");
    }
    plan.prepare.iter().for_each(|command| line(&mut out, &format!("  {command}")));
    head(&mut out, "start, beside the one that runs");
    for instance in &plan.instances {
        line(
            &mut out,
            &format!(
                "  # {}: memory {} of node {}: {}",
                instance.name, instance.memory, instance.memory_nodes, instance.why
            ),
        );
        line(&mut out, &format!("  {}", instance.start));
    }
    for instance in &plan.instances {
        head(&mut out, &instance.unit);
        block(&mut out, &instance.unit_text);
    }
    for balancer in &plan.balancers {
        head(&mut out, &format!("load balancer: {}, in {}", balancer.name, balancer.place));
        block(&mut out, &balancer.text);
    }
    head(&mut out, "what proves the binding");
    for (number, check) in plan.checklist.iter().enumerate() {
        let command = if check.command.is_empty() { String::new() } else { format!("\n     $ {}", check.command) };
        line(&mut out, &format!("  {}. {}", number + 1, check.what));
        command.lines().skip(1).for_each(|command| line(&mut out, command));
        line(&mut out, &format!("     {}", check.expect));
    }
    if !plan.notes.is_empty() {
        head(&mut out, "to be known");
        plan.notes.iter().for_each(|note| line(&mut out, &format!("  - {note}")));
    }
    out
}

fn line(out: &mut String, text: &str) {
    // A text takes whatever is written to it.
    let _ = writeln!(out, "{}", printable(text));
}

fn head(out: &mut String, text: &str) {
    out.push('\n');
    line(out, text);
}

fn block(out: &mut String, text: &str) {
    text.lines().for_each(|text| line(out, &if text.is_empty() { String::new() } else { format!("  {text}") }));
}

fn instances(plan: &Numa, out: &mut String) {
    head(out, "instances");
    let mut rows = vec![["name", "place", "CPUs", "memory", "heap", "folder"].map(str::to_owned)];
    for instance in &plan.instances {
        let heap = instance.heap_bytes.map_or_else(|| "-".to_owned(), |bytes| parts::bytes(Some(bytes as f64)));
        rows.push([
            instance.name.clone(),
            instance.place.clone(),
            instance.cpus.clone(),
            format!("{} {}", instance.memory, instance.memory_nodes),
            heap,
            instance.directory.clone(),
        ]);
    }
    table(&rows, out);
}

fn ports(plan: &Numa, out: &mut String) {
    head(out, "ports");
    if plan.ports.is_empty() {
        line(out, "  none that is known");
        return;
    }
    let mut rows = vec![["instance", "protocol", "old", "new", "free"].map(str::to_owned)];
    for port in &plan.ports {
        let free = if port.skipped.is_empty() { "yes".to_owned() } else { format!("yes; {}", port.skipped.join(", ")) };
        rows.push([port.label.clone(), port.protocol.clone(), port.old.to_string(), port.new.to_string(), free]);
    }
    table(&rows, out);
}

fn folders(folders: &[Folder], out: &mut String) {
    if folders.is_empty() {
        return;
    }
    head(out, "files and folders");
    let mut rows = vec![["option", "", "old", "new"].map(str::to_owned)];
    for folder in folders {
        let first = folder.new.first().cloned().unwrap_or_else(|| "for all".to_owned());
        let more = folder.new.len().saturating_sub(1);
        let new = if more > 0 { format!("{first} and {more} more") } else { first };
        rows.push([folder.option.clone(), folder.kind.to_owned(), folder.old.clone(), new]);
    }
    table(&rows, out);
}

/// Columns lined up by their characters.
fn table<const N: usize>(rows: &[[String; N]], out: &mut String) {
    let shown: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| printable(cell).into_owned()).collect()).collect();
    let width = |column: usize| {
        shown.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in &shown {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let text = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(out, "  {}", text.trim_end());
    }
}
