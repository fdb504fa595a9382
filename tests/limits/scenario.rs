//! What a scenario is: a load, the application's number, reliefs, and the answer that is due. Files in `scenarios/`.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::{collections::BTreeSet, fs};

/// A load that is driven into one limit, or into none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    /// One line that says what it shows.
    pub(crate) proves: String,
    /// Debian's packages that it uses.
    pub(crate) packages: Vec<String>,
    /// Functions for each of its steps.
    #[serde(default)]
    pub(crate) define: String,
    /// Starts everything.
    pub(crate) load: String,
    /// What is left after all processes ended.
    #[serde(default)]
    pub(crate) clean: String,
    /// The application's number: more is better.
    pub(crate) number: Option<Number>,
    /// Seconds that a change takes to show.
    #[serde(default = "one")]
    pub(crate) settle: u64,
    /// Nothing on the machine limits.
    #[serde(default)]
    pub(crate) nothing: bool,
    pub(crate) answer: Answer,
    /// The first is the designed one, unless it says otherwise.
    #[serde(default)]
    pub(crate) relief: Vec<Relief>,
}

/// Where the application's number comes from.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Number {
    /// A number in a line of output, summed over programs.
    pub(crate) log: Option<String>,
    /// A number in a line of output that only grows.
    pub(crate) total: Option<String>,
    /// Lines of output.
    pub(crate) count: Option<String>,
    /// A command that prints a number that only grows.
    pub(crate) counter: Option<String>,
    /// Names of programs, a pattern: all without it.
    pub(crate) of: Option<String>,
}

/// What the headline has to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) verdict: Vec<String>,
    #[serde(default)]
    pub(crate) resource: Vec<String>,
    /// A pattern.
    #[serde(default)]
    pub(crate) subject: Option<String>,
    /// A pattern.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// What the load waits for where nothing is at its limit, a pattern of the sentence.
    #[serde(default)]
    pub(crate) waits: Option<String>,
}

/// A change that removes a limit, and its way back.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Relief {
    pub(crate) name: String,
    #[serde(rename = "do")]
    pub(crate) apply: String,
    pub(crate) undo: String,
    /// Not the designed one, though it is the first.
    #[serde(default = "yes")]
    pub(crate) designed: bool,
    pub(crate) settle: Option<u64>,
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    scenario: Vec<Scenario>,
}

/// The folder of this test.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/limits")
}

impl Scenario {
    /// The relief that should win.
    pub(crate) fn designed(&self) -> Option<usize> {
        self.relief.first().filter(|relief| relief.designed).map(|_| 0)
    }
}

/// Scenarios whose names contain one of these parts, in the order of the files; all without parts.
pub(crate) fn choose(parts: &[String]) -> Result<Vec<Scenario>, String> {
    let folder = folder().join("scenarios");
    let mut all = Vec::new();
    for family in ["cpu", "memory", "disk", "network", "waiting"] {
        let path = folder.join(family).with_extension("toml");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let family: Family = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        all.extend(family.scenario);
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = all.iter().find(|scenario| !names.insert(scenario.name.clone())) {
        return Err(format!("two scenarios are called {}", twice.name));
    }
    if let Some(part) = parts.iter().find(|part| !names.iter().any(|name| name.contains(part.as_str()))) {
        return Err(format!("no scenario contains {part:?}: {names:?}"));
    }
    all.retain(|scenario| parts.is_empty() || parts.iter().any(|part| scenario.name.contains(part.as_str())));
    Ok(all)
}
