//! The plan as text.

use super::{Folder, Numa, folders as planned};
use crate::locale::Text;
use crate::locale::plan as text;
use crate::rules::parts;
use crate::text::{columns, padded, printable};
use std::fmt::Write as _;

pub(super) fn text(plan: &Numa) -> String {
    let mut out = String::new();
    let count = plan.instances.len() as u64;
    let title = match plan.pid {
        Some(pid) => text::TitlePid { count, program: &plan.program, pid: &pid }.to_string(),
        None => text::Title { count, program: &plan.program }.to_string(),
    };
    line(&mut out, &title);
    instances(plan, &mut out);
    ports(plan, &mut out);
    folders(&plan.folders, &mut out);
    head(&mut out, text::HEAD_PREPARE.as_str());
    if plan.prepare.is_empty() {
        line(&mut out, &format!("  {}", text::NOTHING_TO_PREPARE));
    }
    plan.prepare.iter().for_each(|command| line(&mut out, &format!("  {command}")));
    head(&mut out, text::HEAD_START.as_str());
    for instance in &plan.instances {
        let (name, policy) = (&instance.name, &instance.memory);
        let start = text::Start { name, policy, nodes: &instance.memory_nodes, why: &instance.why };
        line(&mut out, &format!("  # {start}"));
        line(&mut out, &format!("  {}", instance.start));
    }
    for instance in &plan.instances {
        head(&mut out, &instance.unit);
        block(&mut out, &instance.unit_text);
    }
    for balancer in &plan.balancers {
        head(&mut out, &text::HeadBalancer { name: &balancer.name, place: &balancer.place }.to_string());
        block(&mut out, &balancer.text);
    }
    head(&mut out, text::HEAD_CHECKS.as_str());
    for (number, check) in plan.checklist.iter().enumerate() {
        let command = if check.command.is_empty() { String::new() } else { format!("\n     $ {}", check.command) };
        line(&mut out, &format!("  {}. {}", number + 1, check.what));
        command.lines().skip(1).for_each(|command| line(&mut out, command));
        line(&mut out, &format!("     {}", check.expect));
    }
    if !plan.notes.is_empty() {
        head(&mut out, text::HEAD_NOTES.as_str());
        plan.notes.iter().for_each(|note| line(&mut out, &format!("  - {note}")));
    }
    out
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
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
    head(out, text::HEAD_INSTANCES.as_str());
    let mut rows = vec![
        [
            text::COLUMN_NAME,
            text::COLUMN_PLACE,
            text::COLUMN_CPUS,
            text::COLUMN_MEMORY,
            text::COLUMN_HEAP,
            text::COLUMN_DIRECTORY,
        ]
        .map(|text| text.to_string()),
    ];
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
    head(out, text::HEAD_PORTS.as_str());
    if plan.ports.is_empty() {
        line(out, &format!("  {}", text::NO_KNOWN_PORTS));
        return;
    }
    let mut rows = vec![
        [text::COLUMN_INSTANCE, text::COLUMN_PROTOCOL, text::COLUMN_OLD, text::COLUMN_NEW, text::COLUMN_SKIPPED]
            .map(|text| text.to_string()),
    ];
    for port in &plan.ports {
        let skipped = if port.skipped.is_empty() { "-".to_owned() } else { port.skipped.join(", ") };
        rows.push([port.label.clone(), port.protocol.clone(), port.old.to_string(), port.new.to_string(), skipped]);
    }
    table(&rows, out);
}

fn folders(folders: &[Folder], out: &mut String) {
    if folders.is_empty() {
        return;
    }
    head(out, text::HEAD_PATHS.as_str());
    let mut rows =
        vec![[text::COLUMN_OPTION, text::COLUMN_USE, text::COLUMN_OLD, text::COLUMN_NEW].map(|text| text.to_string())];
    for folder in folders {
        let first = folder.new.first().cloned().unwrap_or_else(|| text::FOR_ALL.to_string());
        let more = folder.new.len().saturating_sub(1);
        let new = if more > 0 { text::AndMore { path: &first, count: &more }.to_string() } else { first };
        let option =
            if folder.option == planned::DIRECTORY { text::WORKING_DIRECTORY.as_str() } else { &folder.option };
        rows.push([option.to_owned(), used(folder.kind).to_string(), folder.old.clone(), new]);
    }
    table(&rows, out);
}

/// What a path is used for, in the reader's language.
fn used(kind: &str) -> Text {
    match kind {
        "own" => text::USE_OWN,
        "copy" => text::USE_COPY,
        _ => text::USE_SHARED,
    }
}

/// Aligned columns.
fn table<const N: usize>(rows: &[[String; N]], out: &mut String) {
    let shown: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| printable(cell).into_owned()).collect()).collect();
    let width =
        |column: usize| shown.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in &shown {
        let cells = row.iter().zip(&widths).map(|(cell, width)| padded(cell, *width));
        let text = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(out, "  {}", text.trim_end());
    }
}
