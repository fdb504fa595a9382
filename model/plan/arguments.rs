//! The arguments of an instance: the program's, with its own ports, paths and heap.

use super::memory::{heap_flag, is_java};
use super::{Folder, Instance, Port, Program};
use crate::locale::plan as text;

const MIB: u64 = 1 << 20;

pub(super) fn argv(program: &Program, at: usize, ports: &[Port], folders: &[Folder], heap: Option<u64>) -> Vec<String> {
    let own: Vec<&Port> = ports.iter().filter(|port| port.instance == at).collect();
    let mut words: Vec<String> = Vec::with_capacity(program.argv.len() + 2);
    for (index, word) in program.argv.iter().enumerate() {
        let moved = if index == 0 { word.clone() } else { with_paths(word, folders, at) };
        let is_size = word.starts_with("-Xm") || word.starts_with("-Xss") || word.starts_with("-XX:");
        words.push(if index == 0 || is_size || moved != *word { moved } else { with_ports(word, &own) });
    }
    let Some(heap) = heap.filter(|_| is_java(program)) else { return words };
    let mib = heap / MIB;
    for word in &mut words {
        if word.starts_with("-Xmx") {
            *word = format!("-Xmx{mib}m");
        } else if word.starts_with("-Xms") && heap_flag(program, "-Xms").is_some_and(|start| start > heap) {
            *word = format!("-Xms{mib}m");
        }
    }
    if heap_flag(program, "-Xmx").is_none() {
        words.insert(1.min(words.len()), format!("-Xmx{mib}m"));
    }
    words
}

/// A word with the paths of an instance: alone, or behind an equals sign.
fn with_paths(word: &str, folders: &[Folder], at: usize) -> String {
    let (option, value) = match word.split_once('=') {
        Some((option, value)) => (format!("{option}="), value),
        None => (String::new(), word),
    };
    let new = folders.iter().filter(|folder| folder.old == value).find_map(|folder| folder.new.get(at));
    new.map_or_else(|| word.to_owned(), |new| format!("{option}{new}"))
}

/// A word with the ports of an instance: whole numbers, no parts of sizes, versions or names.
fn with_ports(word: &str, ports: &[&Port]) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, digits) = rest.split_at(start);
        out.push_str(before);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (number, after) = digits.split_at(end);
        let new = number.parse::<u16>().ok().and_then(|old| ports.iter().find(|port| port.old == old));
        let stands_alone =
            may_precede(&out, word) && !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
        match new {
            Some(port) if stands_alone => out.push_str(&port.new.to_string()),
            _ => out.push_str(number),
        }
        rest = after;
    }
    out + rest
}

/// True where a number that begins here is one of its own: `:8080`, `=8080`, `-p8080`, but not `1.8080` or `v8080`.
fn may_precede(before: &str, word: &str) -> bool {
    let short_option = before.len() == 2 && word.starts_with('-') && !word.starts_with("--");
    short_option || !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.')
}

/// Notes ports that no argument names, and what else is missing.
pub(super) fn note_missing(program: &Program, ports: &[Port], instances: &[Instance], notes: &mut Vec<String>) {
    let Some(first) = instances.first() else { return };
    let own: Vec<&Port> = ports.iter().filter(|port| port.instance == 0).collect();
    let named = |port: &Port| {
        let alone = Port { new: if port.old == 1 { 2 } else { 1 }, ..port.clone() };
        program.argv.iter().skip(1).any(|word| !word.starts_with("-X") && with_ports(word, &[&alone]) != *word)
    };
    let hidden: Vec<String> = own.iter().filter(|port| !named(port)).map(|port| port.old.to_string()).collect();
    if !hidden.is_empty() {
        notes.push(text::HiddenPorts { ports: &hidden.join(", ") }.to_string());
    }
    if first.argv.len() == 1 && own.is_empty() {
        notes.push(text::BARE_COMMAND.to_string());
    }
    if program.argv.iter().any(|word| word.ends_with("beam.smp") || word == "-sname" || word == "-name") {
        notes.push(text::ERLANG_NAMES.to_string());
    }
    if program.pid.is_some() {
        notes.push(text::ENVIRONMENT.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::with_ports;
    use crate::plan::Port;
    use proptest::prelude::*;

    fn port(old: u16, new: u16) -> Port {
        let text = String::new;
        Port { instance: 0, label: text(), protocol: text(), address: text(), old, new, skipped: Vec::new() }
    }

    #[test]
    fn ports_are_whole_numbers() {
        let (a, b) = (port(8080, 8081), port(8081, 8083));
        let cases = [
            ("--port=8080", "--port=8081"),
            ("-p8080", "-p8081"),
            ("0.0.0.0:8080", "0.0.0.0:8081"),
            ("[::]:8080,8081", "[::]:8081,8083"),
            ("8080", "8081"),
            ("18080", "18080"),
            ("8080m", "8080m"),
            ("v8080", "v8080"),
            ("1.8080.2", "1.8080.2"),
            ("99999999999999999999", "99999999999999999999"),
            ("-Dserver.port=8080", "-Dserver.port=8081"),
        ];
        for (word, expected) in cases {
            assert_eq!(with_ports(word, &[&a, &b]), expected);
        }
    }

    proptest! {
        #[test]
        fn other_words_stay(word in "[^0-9]{0,30}", more in ".{0,30}") {
            prop_assert_eq!(with_ports(&word, &[&port(8080, 1)]), word);
            let _ = with_ports(&more, &[&port(8, 1)]);
        }
    }
}
