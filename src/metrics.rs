//! The application's own numbers, as the command line and the configuration ask for them.

use crate::args::Global;
use crate::config::Config;
use crate::units;
use serde::{Deserialize, Deserializer};
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
            Some(settings) => all.push(settings.metric(&metric.name, &metric.text)?),
            None => all.push(metric.clone()),
        }
    }
    for (name, settings) in &config.metrics {
        if let Some(source) = settings.source.as_ref().filter(|_| all.iter().all(|metric| metric.name != *name)) {
            let metric = settings.metric(name, source)?;
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

#[cfg(test)]
mod tests {
    use super::asked;
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
        let settings: Vec<_> = metrics.iter().map(|metric| (&*metric.name, &*metric.text, &*metric.unit)).collect();
        assert_eq!(settings, [("tps", "file:/c", "tx/s"), ("lag", "file:/b", "")]);
        assert_eq!((metrics[0].least, metrics[0].gates), (Some(100.0), true));
        assert_eq!((metrics[1].gates, metrics[1].stale), (false, Duration::from_mins(2)));
        let twice = parsed(&["--metric", "tps=file:/c", "--metric", "tps=file:/d"]);
        assert!(asked(&twice.global, &config).unwrap_err().contains("duplicate name"));
    }

    #[test]
    fn wrong_ones_say_so_in_a_line() {
        for (text, part) in [
            ("[metrics.tps]\nsource = 'nothing'\n", "invalid source"),
            ("[metrics.tps]\nstale = 'long'\n", "long"),
            ("[metrics.\"a b\"]\nsource = 'file:/x'\n", "use at most"),
            ("[metrics.tps]\nsauce = 'file:/x'\n", "sauce"),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{error}");
        }
    }
}
