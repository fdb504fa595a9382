//! What binds an instance: numactl, else taskset, and a unit for systemd.

use super::Program;
use super::memory::Memory;
use super::places::Slot;
use std::fmt::Write as _;

/// What stands before the command.
pub(super) fn bound(numactl: bool, slot: &Slot, memory: &Memory) -> String {
    if !numactl {
        // The memory is local as long as its node has some: pages come from where they are touched first.
        return format!("taskset -c {}", slot.cpus);
    }
    let cpus =
        if slot.whole { format!("--cpunodebind={}", slot.nodes) } else { format!("--physcpubind={}", slot.cpus) };
    let nodes = match (memory.policy, memory.nodes.single()) {
        ("bind", _) => format!("--membind={}", memory.nodes),
        (_, Some(node)) => format!("--preferred={node}"),
        _ => format!("--preferred-many={}", memory.nodes),
    };
    format!("numactl {cpus} {nodes}")
}

pub(super) fn text(
    program: &Program,
    name: &str,
    slot: &Slot,
    memory: &Memory,
    argv: &[String],
    directory: &str,
) -> String {
    let mut text =
        format!("[Unit]\nDescription={name}, CPUs {}\nAfter=network-online.target\n\n[Service]\n", slot.cpus);
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            // A text takes whatever is written to it.
            let _ = writeln!(text, "{name}={value}");
        }
    };
    if program.user != "root" {
        line("User", &specifiers(&program.user));
    }
    line("WorkingDirectory", &specifiers(directory));
    line("CPUAffinity", &slot.cpus.to_string().replace(',', " "));
    line("NUMAPolicy", memory.policy);
    line("NUMAMask", &memory.nodes.to_string());
    let mut words: Vec<String> = argv.iter().map(|word| quoted(word)).collect();
    // systemd wants the program's whole path.
    if let Some(first) = words.first_mut()
        && argv.first().is_some_and(|word| !word.starts_with('/'))
        && !program.exe.is_empty()
    {
        *first = quoted(&program.exe);
    }
    line("ExecStart", &words.join(" "));
    line("Restart", "on-failure");
    text + "\n[Install]\nWantedBy=multi-user.target\n"
}

/// A path or a name in a setting: `%` means something, and a line ends where it ends.
fn specifiers(text: &str) -> String {
    text.replace('%', "%%").chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// A word of ExecStart (systemd.service(5), command lines).
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    let mut out = "\"".to_owned();
    for c in word.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '%' => out.push_str("%%"),
            '$' => out.push_str("$$"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_of_a_unit_stay_words() {
        let cases = [
            ("-x=1", "-x=1"),
            ("a b", "\"a b\""),
            ("50%", "\"50%%\""),
            ("$HOME", "\"$$HOME\""),
            ("a\nExecStart=/bin/x", "\"a\\x0aExecStart=/bin/x\""),
            ("q\"\\", "\"q\\\"\\\\\""),
            ("", "\"\""),
        ];
        for (word, expected) in cases {
            assert_eq!(quoted(word), expected);
        }
    }
}
