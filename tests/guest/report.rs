//! How scenarios came out: printed at once, and once more together at the end, where a reader of the last lines sees it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What one machine writes for the process that started it: a line each, fields between tabs.
pub(crate) struct Report {
    path: PathBuf,
    shape: &'static str,
    lines: String,
}

impl Report {
    pub(crate) fn new(path: &Path, shape: &'static str) -> Self {
        Self { path: path.to_owned(), shape, lines: String::new() }
    }

    pub(crate) fn passed(&mut self, name: &str, shown: &str, took: Duration) {
        println!("guest {}: {name}: ok, {} s: {shown}", self.shape, took.as_secs());
        self.line("passed", name, took, shown);
    }

    pub(crate) fn failed(&mut self, name: &str, why: &str, took: Duration) {
        println!("guest {}: {name}: FAILED, {} s: {why}", self.shape, took.as_secs());
        self.line("failed", name, took, why);
    }

    /// A boot that never reached its first process, which is repeated.
    pub(crate) fn failed_boot(&mut self, why: &str) {
        self.line("boot", self.shape, Duration::ZERO, why);
    }

    fn line(&mut self, what: &str, name: &str, took: Duration, text: &str) {
        let short: String = text.chars().take(400).collect::<String>().replace(['\n', '\t'], " ");
        writeln!(self.lines, "{what}\t{name}\t{}\t{short}", took.as_secs()).expect("a text");
        fs::write(&self.path, &self.lines).expect("a file");
    }
}

/// Prints what came of all machines, in the words of `cargo test`; true where every scenario that was chosen passed.
pub(crate) fn summary(reports: &[PathBuf], chosen: &[&str], others: usize, start: Instant) -> bool {
    let text: String = reports.iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.splitn(4, '\t').collect()).collect();
    let of = |what: &str| rows.iter().filter(|row| row[0] == what).collect::<Vec<_>>();
    let (passed, mut failed) = (of("passed"), of("failed"));
    let lost: Vec<Vec<&str>> = chosen
        .iter()
        .filter(|name| !passed.iter().chain(&failed).any(|row| row[1] == **name))
        .map(|name| vec!["failed", name, "0", "its machine ended without a result"])
        .collect();
    failed.extend(&lost);
    println!();
    for row in &passed {
        println!("test guest::{} ... ok ({} s)", row[1], row[2]);
    }
    for row in &failed {
        println!("test guest::{} ... FAILED ({} s)", row[1], row[2]);
    }
    for row in of("boot") {
        println!("guest {}: a boot was repeated: {}", row[1], row[3]);
    }
    for row in &failed {
        println!("guest: {}: {}", row[1], row[3]);
    }
    let good = failed.is_empty();
    println!(
        "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; {others} filtered out; finished in {:.2}s\n",
        if good { "ok" } else { "FAILED" },
        passed.len(),
        failed.len(),
        start.elapsed().as_secs_f64()
    );
    good
}
