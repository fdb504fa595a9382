//! `make attack`: hostile recordings with right checksums, hostile roots, signals at all sizes of terminals, hostile pages,
//! files and programs of metrics, for so many minutes. Each finding fails it; the counts are printed.

use super::{recording, text};
use crate::common::pty::{Session, TOPOTOP};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use topotop_model::recording::{HEAD_BYTES, HEADER_BYTES, Head, SYNC};

/// Numbers that a seed gives (xorshift), so that a finding can be had again.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Minutes for all attacks, and the seed: `ARGS="minutes=20 seed=7"`.
fn asked(name: &str, usual: u64) -> u64 {
    let words = std::env::var("TOPOTOP_ATTACK").unwrap_or_default();
    let value = words.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
    value.unwrap_or(usual)
}

/// Tries until a fifth of the time is over; how often it tried.
pub(super) fn repeat(name: &str, mut attack: impl FnMut(&mut Chance)) {
    let time = Duration::from_secs(asked("minutes", 1) * 12);
    let seed = asked("seed", 1);
    let begun = Instant::now();
    let mut tried = 0;
    while begun.elapsed() < time {
        let mut chance = Chance((seed + tried).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        chance.below(2);
        attack(&mut chance);
        tried += 1;
    }
    eprintln!("{name}: {tried} tries, 0 findings (seeds {seed} to {})", seed + tried);
}

/// Runs a verb; it ends in time with a status of its own, in few lines, without a panic or a control character.
pub(super) fn survives(what: &str, arguments: &[&str]) {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60", TOPOTOP]).args(arguments).env("HOME", "/nonexistent");
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    let said = text(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code <= 2), "{what} {arguments:?}: {} {said}", output.status);
    assert!(!said.contains("panicked"), "{what} {arguments:?}: {said}");
    let hostile = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!said.contains(hostile) && said.lines().count() <= 8, "{what} {arguments:?}: {said:?}");
    let shown = text(&output.stdout);
    assert!(!shown.contains(|c: char| hostile(c) && !matches!(c, '\t' | '\r')), "{what} {arguments:?}");
}

/// Changes bytes of a record's body, or what its head says, and sets its checksum right.
fn mutate(bytes: &mut [u8], chance: &mut Chance) {
    let places: Vec<usize> = (HEADER_BYTES..bytes.len().saturating_sub(HEAD_BYTES))
        .filter(|&at| bytes.get(at..at + 3) == Some(&SYNC[..]) && Head::parse(&bytes[at..]).is_some())
        .collect();
    for _ in 0..=chance.below(6) {
        let Some(&at) = places.get(chance.below(places.len())) else { return };
        let Some(head) = Head::parse(&bytes[at..]) else { continue };
        let end = at + head.bytes() as usize;
        if end > bytes.len() {
            continue;
        }
        let mut body = bytes[at + HEAD_BYTES..end].to_vec();
        let (mut number, mut wall, mut mono) = (head.number, head.wall_ns, head.mono_ns);
        match chance.below(8) {
            0 => number = [0, 1, u32::MAX, number.wrapping_add(1)][chance.below(4)],
            1 => wall = [i64::MIN, i64::MAX, 0, -1][chance.below(4)],
            2 => mono = [0, u64::MAX, 1][chance.below(3)],
            _ => {
                for _ in 0..=chance.below(8) {
                    let place = chance.below(body.len());
                    if let Some(byte) = body.get_mut(place) {
                        *byte = [0, 0xff, 0x80, 0x7f, chance.0 as u8][chance.below(5)];
                    }
                }
            }
        }
        let record = Head::record(head.kind, head.segment, number, (wall, mono), &body);
        bytes[at..end].copy_from_slice(&record);
    }
}

/// Every verb that reads a recording, beside another one where it reads two.
pub(super) fn recorded_verbs<'a>(path: &'a str, source: &'a str, out: &'a str) -> Vec<Vec<&'a str>> {
    let verbs: [&[&str]; 17] = [
        &["report", path],
        &["export", path, "-s", "processes"],
        &["export", path, "-s", "cgroups"],
        &["snapshot", "--from", path, "--format", "html"],
        &["check", "--from", path, "--format", "junit"],
        &["record", "info", path],
        &["record", "info", "--json", path],
        &["record", "cut", path, "-o", out],
        &["record", "merge", path, source, "-o", out],
        &["check", "--from", path],
        &["check", "--from", path, "--format", "jsonl"],
        &["preflight", "--from", path],
        &["snapshot", "--from", path, "--format", "json"],
        &["snapshot", "--from", path, "--format", "text"],
        &["replay", path, "--format", "jsonl"],
        &["diff", source, path],
        &["fix", "list", "--from", path],
    ];
    verbs.iter().map(|verb| verb.to_vec()).collect()
}

#[test]
#[ignore = "make attack"]
fn mutated_recordings() {
    let (dir, source) = recording();
    let good = std::fs::read(&source).expect("read");
    let path = dir.path().join("mutated.rec").display().to_string();
    repeat("mutated recordings", |chance| {
        let mut bytes = good.clone();
        mutate(&mut bytes, chance);
        std::fs::write(&path, &bytes).expect("written");
        let out = dir.path().join("out.rec");
        let _ = std::fs::remove_file(&out);
        let out = out.display().to_string();
        let verbs = recorded_verbs(&path, &source, &out);
        survives("mutated recording", &verbs[chance.below(verbs.len())]);
    });
}

fn files(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(below).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
#[ignore = "make attack"]
fn hostile_roots() {
    let dir = tempfile::tempdir().expect("a directory");
    crate::common::hostile_names(dir.path());
    let mut all = Vec::new();
    files(dir.path(), &mut all);
    let root = dir.path().display().to_string();
    repeat("hostile roots", |chance| {
        let damaged: Vec<(PathBuf, Vec<u8>)> = (0..=chance.below(12))
            .filter_map(|_| {
                let path = all.get(chance.below(all.len()))?.clone();
                let good = std::fs::read(&path).ok()?;
                let mut bytes = good.clone();
                match chance.below(6) {
                    0 => bytes.clear(),
                    1 => bytes = b"18446744073709551615 -9223372036854775808 1e400\n".repeat(1 + chance.below(200)),
                    2 => bytes = vec![b'9'; 1 << chance.below(18)],
                    3 => bytes = good.repeat(1 + chance.below(50)),
                    4 => bytes.truncate(chance.below(good.len())),
                    _ => {
                        for _ in 0..8 {
                            let place = chance.below(bytes.len());
                            if let Some(byte) = bytes.get_mut(place) {
                                *byte = chance.0 as u8;
                            }
                        }
                    }
                }
                std::fs::write(&path, bytes).ok()?;
                Some((path, good))
            })
            .collect();
        let verbs: [&[&str]; 7] = [
            &["doctor", "--root", &root, "--for", "1s"],
            &["plan", "numa", "--root", &root, "--pid", "2", "--instances", "2"],
            &["snapshot", "--root", &root, "--format", "json"],
            &["snapshot", "--root", &root, "--format", "text", "--size", "200x60"],
            &["check", "--root", &root, "--for", "1s"],
            &["preflight", "--root", &root, "--for", "1s"],
            &["fix", "list", "--root", &root, "--for", "1s"],
        ];
        survives("hostile root", verbs[chance.below(verbs.len())]);
        for (path, good) in damaged.into_iter().rev() {
            std::fs::write(path, good).expect("restored");
        }
    });
}

#[test]
#[ignore = "make attack"]
fn signals_at_all_sizes() {
    const SIGNALS: [&str; 10] = ["TERM", "HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "SEGV", "ABRT", "BUS"];
    const SIZES: [(u16, u16); 10] =
        [(0, 0), (1, 1), (1, 50), (2, 1), (8, 3), (80, 24), (120, 40), (500, 12), (20, 300), (5000, 3)];
    repeat("signals at all sizes", |chance| {
        // The emulator of the tests keeps its size: it has no screens of one row or column.
        let mut session = Session::topotop(&["--no-hwloc", "--interval", "100ms"], (120, 40));
        let mut size = || SIZES[chance.below(SIZES.len())];
        let (first, second) = (size(), size());
        session.claim(first.0, first.1);
        session.entered();
        std::thread::sleep(Duration::from_millis(chance.below(400) as u64));
        session.claim(second.0, second.1);
        session.keys(["", "?", "7", "/x", "R"][chance.below(4)]);
        session.signal(SIGNALS[chance.below(SIGNALS.len())]);
        session.ends();
        session.restored();
    });
}

/// A server that answers each request with something else.
fn serve(seed: u64) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for (at, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            let mut chance = Chance(seed.wrapping_add(at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 512]);
                let bodies: [Vec<u8>; 7] = [
                    b"x ".repeat(1 << 20),
                    b"x{a=\"".repeat(1 << 18),
                    vec![b'9'; 4 << 20],
                    b"x 1\n".repeat(1 << 20),
                    vec![0; 1 << 20],
                    b"x{a=\"\x1b[31m\"} nan\n".to_vec(),
                    b"# TYPE x counter\nx 1e999\n".to_vec(),
                ];
                let body = &bodies[chance.below(bodies.len())];
                let head = [
                    "HTTP/1.1 200 OK\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nA: b\r\n",
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                    "",
                ][chance.below(4)];
                // Who asked may have had enough.
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
            });
        }
    });
    port
}

#[test]
#[ignore = "make attack"]
fn hostile_metrics() {
    let port = serve(asked("seed", 1));
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("log");
    repeat("hostile metrics", |chance| {
        let line = ["1 ", "tps = 1 ", "x", "\u{1b}[2J", "9"][chance.below(5)].repeat(1 << chance.below(18));
        std::fs::write(&file, line).expect("written");
        let source = match chance.below(4) {
            0 => format!("x=http://127.0.0.1:{port}/"),
            1 => format!("x=http://127.0.0.1:{port}/#x{{a=\"b\"}}"),
            2 => format!("x=file:{}#/([0-9])(.*y)?/", file.display()),
            _ => format!("x=command:cat {}#/([0-9])(.*y)?/", file.display()),
        };
        survives("hostile metric", &["check", "--for", "1s", "--interval", "200ms", "--no-hwloc", "--metric", &source]);
    });
}
