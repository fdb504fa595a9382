//! `/proc/PID/cmdline`: arguments, and how a BEAM binds its schedulers.
//!
//! Reading it takes the target's mmap_lock, so a worker does it.

use crate::Root;
use crate::parse::text;
use topotop_model::Reason;

/// The most bytes of arguments that are shown.
const SHOWN: usize = 512;
/// The most bytes of arguments that are searched for flags.
const SEARCHED: usize = 32 << 10;
/// The bind types that the emulator knows (erl(1), `+sbt`).
const BIND_TYPES: [&[u8]; 9] = [b"u", b"ns", b"ts", b"ps", b"s", b"nnts", b"nnps", b"tnnps", b"db"];

/// A process to ask: pid and start time.
pub(super) type Job = Vec<(u32, u64)>;

/// The reply for a process.
pub(super) type Answer = Vec<(u32, u64, Result<Cmdline, Reason>)>;

/// Arguments of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cmdline {
    /// Arguments separated by spaces, cut.
    pub(super) text: String,
    /// True when the program is called like an Erlang emulator.
    pub(super) beam: bool,
    /// The bind type of its arguments; empty when there is none.
    pub(super) bind_type: &'static str,
}

/// Reads the arguments of processes.
pub(super) fn read(root: &Root, job: &Job) -> Answer {
    let mut buf = Vec::new();
    let mut one = |pid| {
        root.open(format!("proc/{pid}/cmdline"))?.read_start(&mut buf, SEARCHED)?;
        Ok(parse(&buf))
    };
    job.iter().map(|&(pid, starttime)| (pid, starttime, one(pid))).collect()
}

fn parse(bytes: &[u8]) -> Cmdline {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let bytes = bytes.get(..end).unwrap_or_default();
    let shown: Vec<u8> = whole_chars(bytes.get(..SHOWN).unwrap_or(bytes)).to_vec();
    let shown: Vec<u8> = shown.into_iter().map(|byte| if byte == 0 { b' ' } else { byte }).collect();
    let mut args = bytes.split(|&byte| byte == 0);
    let program = args.next().and_then(|path| path.rsplit(|&byte| byte == b'/').next()).unwrap_or_default();
    Cmdline { text: text(&shown).into_owned(), beam: is_beam(program), bind_type: bind_type(args) }
}

/// True for the names that emulators have: `beam`, `beam.smp`, `beam.debug.smp`, …
pub(super) fn is_beam(name: &[u8]) -> bool {
    name == b"beam" || name.starts_with(b"beam.")
}

/// The bind type among the emulator's flags, which end at `--`: the last one wins, `sbt` before `stbt` ("try").
fn bind_type<'a>(args: impl Iterator<Item = &'a [u8]>) -> &'static str {
    let (mut set, mut tried) = ("", "");
    let mut args = args.take_while(|arg| *arg != b"--").peekable();
    while let Some(arg) = args.next() {
        let Some(flag) = arg.strip_prefix(b"-").or_else(|| arg.strip_prefix(b"+")) else { continue };
        let (value, reported) = if let Some(value) = flag.strip_prefix(b"sbt") {
            (value, &mut set)
        } else if let Some(value) = flag.strip_prefix(b"stbt") {
            (value, &mut tried)
        } else {
            continue;
        };
        let value = if value.is_empty() { args.peek().copied().unwrap_or_default() } else { value };
        let known = BIND_TYPES.iter().find(|name| **name == value);
        if let Some(name) = known.and_then(|name| std::str::from_utf8(name).ok()) {
            *reported = name;
        }
    }
    if set.is_empty() { tried } else { set }
}

/// The bytes without a character that was cut at their end.
fn whole_chars(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.get(..error.valid_up_to()).unwrap_or_default(),
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;

    fn bind(args: &str) -> &'static str {
        parse(args.replace(' ', "\0").as_bytes()).bind_type
    }

    #[test]
    fn bind_types_as_they_stand_in_command_lines() {
        assert_eq!(bind("/usr/lib/erlang/erts-13.1.5/bin/beam.smp -S 1:1 -sbt db -- -root /usr/lib"), "db");
        assert_eq!(bind("beam.smp +sbt u"), "u");
        assert_eq!(bind("beam.smp -sbttnnps"), "tnnps");
        assert_eq!(bind("beam.smp -stbt db"), "db");
        assert_eq!(bind("beam.smp -sbt u -stbt db"), "u", "sbt beats stbt");
        assert_eq!(bind("beam.smp -sbt db -sbt ns"), "ns", "the last wins");
        assert_eq!(bind("beam.smp -sbwt none -- -sbt db"), "", "an argument of the application");
        assert_eq!(bind("beam.smp -sbt nonsense"), "");
        assert_eq!(bind("beam.smp -sbt"), "");
    }

    #[test]
    fn shows_arguments_cut_at_a_character() {
        assert_eq!(parse(b"a\0b c\0\0\0").text, "a b c");
        assert!(parse(b"/x/beam.smp\0").beam);
        assert!(!parse(b"/beam/erl\0").beam);
        let long = parse("é".repeat(400).as_bytes()).text;
        assert!(long.len() <= 512 && long.chars().all(|c| c == 'é'));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            prop_assert!(parse(&bytes).text.len() <= 512 * 4);
        }
    }
}
