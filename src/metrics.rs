//! The application's own numbers, as the command line and the configuration ask for them.

use crate::cli::{Cli, Command, Global, RecordCommand};
use crate::config::Config;
use crate::fix::args::{ApplyArgs, Verb};
use crate::units;
use serde::{Deserialize, Deserializer};
use std::path::{Path, PathBuf};
use std::time::Duration;
use topotop_collectors::metrics::{Metric, STALE, Source};
use topotop_model::locale::error as text;

/// The most of them.
const MOST: usize = 64;

/// What the configuration says of a number; where it comes from may be left to `--metric`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// Where it comes from.
    pub source: Option<String>,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// The least that is load.
    pub least: Option<f64>,
    /// False where it says nothing of load, as a latency does.
    pub load: Option<bool>,
    /// After so long a number that does not come again is no longer shown.
    #[serde(default, deserialize_with = "stale")]
    pub stale: Option<Duration>,
}

fn stale<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    units::duration(&String::deserialize(from)?).map(Some).map_err(serde::de::Error::custom)
}

impl Told {
    /// The number of a name that comes from `source`.
    pub fn metric(&self, name: &str, source: &str) -> Result<Metric, String> {
        Ok(Metric {
            unit: self.unit.clone(),
            least: self.least.filter(|least| least.is_finite()),
            gates: self.load.unwrap_or(true),
            stale: self.stale.unwrap_or(STALE),
            ..Metric::new(name, source)?
        })
    }
}

/// What is to be read: those of the command line, and those of the configuration that have a source of their own. One
/// that is in both comes from where the command line says, and is the rest as configured.
pub fn asked(global: &Global, config: &Config) -> Result<Vec<Metric>, String> {
    let mut all: Vec<Metric> = Vec::new();
    for metric in &global.metric {
        if all.iter().any(|other| other.name == metric.name) {
            return Err(text::MetricTwice { name: &metric.name }.to_string());
        }
        match config.metrics.get(&metric.name) {
            Some(told) => all.push(told.metric(&metric.name, &metric.text)?),
            None => all.push(metric.clone()),
        }
    }
    for (name, told) in &config.metrics {
        if let Some(source) = told.source.as_ref().filter(|_| all.iter().all(|metric| metric.name != *name)) {
            let metric = told.metric(name, source)?;
            if let (Source::Command(..), Some(why)) = (&metric.source, &config.foreign) {
                return Err(text::ForeignCommand { name: &name, why: &why }.to_string());
            }
            all.push(metric);
        }
    }
    if all.len() > MOST {
        return Err(text::TooManyMetrics { count: &all.len(), most: &MOST }.to_string());
    }
    Ok(all)
}

/// Why `--metric` cannot be followed: where no live machine is looked at there is nothing to ask, and only `record` has a
/// command whose lines may be read.
pub fn refusal(cli: &Cli) -> Option<String> {
    let first = cli.global.metric.first()?;
    let no_machine = |from: Option<&Path>| from.is_some() || cli.global.root.is_some();
    let (live, has_command) = match &cli.command {
        None => (!no_machine(None), false),
        Some(Command::Snapshot(args)) => (!no_machine(args.from.as_deref()), false),
        Some(Command::Check(args)) => (!no_machine(args.from.first().map(PathBuf::as_path)), false),
        Some(Command::Fix(args)) => match &args.verb {
            Verb::List { source, .. } => (!no_machine(source.from.as_deref()), false),
            Verb::Show(which) | Verb::Apply(ApplyArgs { which, .. }) => {
                (!no_machine(which.source.from.as_deref()), false)
            }
            Verb::Undo { .. } | Verb::Journal { .. } | Verb::Confirm { .. } => (false, false),
        },
        Some(Command::Record(RecordCommand { args: Some(args), .. })) => (!no_machine(None), !args.command.is_empty()),
        Some(_) => (false, false),
    };
    if !live {
        let name = &first.name;
        return Some(text::MetricWithoutMachine { name: &name }.to_string());
    }
    let of_command = cli.global.metric.iter().find(|metric| matches!(metric.source, Source::Stream(..)));
    of_command.filter(|_| !has_command).map(|metric| {
        let (name, text) = (&metric.name, &metric.text);
        format!(
            "--metric {name}: {text} reads what a command prints: use record -- COMMAND, or file:, command: or http://"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{asked, refusal};
    use crate::cli::Cli;
    use crate::config::Config;
    use clap::Parser as _;
    use std::time::Duration;

    fn parsed(arguments: &[&str]) -> Cli {
        Cli::try_parse_from(std::iter::once(&"topotop").chain(arguments)).unwrap()
    }

    #[test]
    fn the_command_line_goes_before_the_configuration() {
        let config = "[metrics.tps]\nsource = 'file:/a'\nunit = 'tx/s'\nleast = 100\n[metrics.lag]\nsource = 'file:/b'\nload = false\n\
                      stale = '2m'\n[metrics.unused]\nunit = 'x'\n";
        let config = Config::parse(config).unwrap();
        let metrics = asked(&parsed(&["--metric", "tps=file:/c"]).global, &config).unwrap();
        let told: Vec<_> = metrics.iter().map(|metric| (&*metric.name, &*metric.text, &*metric.unit)).collect();
        assert_eq!(told, [("tps", "file:/c", "tx/s"), ("lag", "file:/b", "")]);
        assert_eq!((metrics[0].least, metrics[0].gates), (Some(100.0), true));
        assert_eq!((metrics[1].gates, metrics[1].stale), (false, Duration::from_mins(2)));
        let twice = parsed(&["--metric", "tps=file:/c", "--metric", "tps=file:/d"]);
        assert!(asked(&twice.global, &config).unwrap_err().contains("duplicate name"));
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        let said = |arguments: &[&str]| refusal(&parsed(arguments)).unwrap_or_default();
        assert_eq!(said(&["check", "--metric", "tps=file:/c"]), "");
        assert_eq!(said(&["--metric", "tps=file:/c"]), "");
        assert_eq!(said(&["record", "-o", "x", "--metric", "tps=/a/", "--", "true"]), "");
        assert!(said(&["check", "--metric", "tps=/a/"]).contains("record -- COMMAND"));
        assert!(said(&["record", "-o", "x", "--metric", "tps=/a/"]).contains("record -- COMMAND"));
        assert!(said(&["replay", "x", "--metric", "tps=file:/c"]).contains("live machine"));
        assert!(said(&["--root", "/x", "--metric", "tps=file:/c"]).contains("live machine"));
        assert!(said(&["check", "--from", "x", "--metric", "tps=file:/c"]).contains("live machine"));
    }

    #[test]
    fn wrong_ones_say_so_in_a_line() {
        for (text, part) in [
            ("[metrics.tps]\nsource = 'nothing'\n", "is no source"),
            ("[metrics.tps]\nstale = 'long'\n", "long"),
            ("[metrics.\"a b\"]\nsource = 'file:/x'\n", "a name has letters"),
            ("[metrics.tps]\nsauce = 'file:/x'\n", "sauce"),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{error}");
        }
    }
}
