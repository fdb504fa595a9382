//! The configuration file: everything in it is optional, nothing unknown is passed over.

use crate::metrics::Told;
use crate::{trust, units};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
use std::path::{Path, PathBuf};
use std::time::Duration;
use topotop_model::derive::Settings;
use topotop_model::locale::error as text;
use topotop_model::rules::Threshold;
use topotop_model::{judge, rules};

/// What the configuration says; command-line flags go before it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time between samples.
    #[serde(default, deserialize_with = "interval")]
    pub interval: Option<Duration>,
    /// Name or file of the theme.
    pub theme: Option<String>,
    /// The screen to start with.
    pub screen: Option<String>,
    /// False leaves the mouse to the terminal.
    pub mouse: Option<bool>,
    /// Which characters to draw with.
    #[serde(default)]
    pub charset: CharsetChoice,
    /// Keys by action.
    #[serde(default, deserialize_with = "keys")]
    pub keys: BTreeMap<String, Vec<String>>,
    /// Recordings.
    #[serde(default)]
    pub record: Record,
    /// Limits of rules that are not the usual ones: by rule, by name.
    #[serde(default, deserialize_with = "limits")]
    pub rules: BTreeMap<(String, String), f64>,
    /// Interfaces by name.
    #[serde(default)]
    pub nic: BTreeMap<String, Nic>,
    /// The application's own numbers by name.
    #[serde(default, deserialize_with = "numbers")]
    pub metrics: BTreeMap<String, Told>,
    /// Why a configuration in its usual place was ignored.
    #[serde(skip)]
    pub refused: Option<String>,
    /// Why the programs that it names are not run: the file, and who else may write it.
    #[serde(skip)]
    pub foreign: Option<String>,
}

/// Which characters to draw with.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum CharsetChoice {
    /// What the locale and the terminal can show.
    #[default]
    Auto,
    /// Blocks and lines.
    Unicode,
    /// ASCII only.
    Ascii,
}

/// Recordings.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Where those go that are begun on the screen; the working directory otherwise.
    pub directory: Option<PathBuf>,
}

/// What is known of an interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// What it can carry, in Mbit/s.
    #[serde(deserialize_with = "capacity")]
    pub capacity: u64,
}

/// Every rule and limit must be known: one that was misspelt would be none.
fn limits<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<(String, String), f64>, D::Error> {
    let tables = BTreeMap::<String, BTreeMap<String, f64>>::deserialize(from)?;
    let mut all = BTreeMap::new();
    for (id, limits) in tables {
        let ids = || rules::ALL.iter().map(|rule| rule.id.as_str());
        let unknown =
            || serde::de::Error::custom(text::UnknownRule { id: &id, nearest: &nearest(&id, ids()) }.to_string());
        let rule = rules::find(&id).ok_or_else(unknown)?;
        for (name, value) in limits {
            let mut names = rule.thresholds.iter().map(Threshold::name);
            if !names.clone().any(|known| known == name) {
                let hint = nearest(&name, &mut names);
                return Err(serde::de::Error::custom(
                    text::UnknownThreshold { rule: &id, name: &name, nearest: &hint }.to_string(),
                ));
            }
            all.insert((rule.id.to_string(), name), value);
        }
    }
    Ok(all)
}

/// The known name most alike; empty without any.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let alike = known.map(|known| (strsim::jaro_winkler(&name.to_lowercase(), &known.to_lowercase()), known));
    let best = alike.max_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or_else(String::new, |(_, known)| known.to_owned())
}

/// Every source must be one that can be read.
fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Told>, D::Error> {
    let all = BTreeMap::<String, Told>::deserialize(from)?;
    for (name, told) in &all {
        told.metric(name, told.source.as_deref().unwrap_or("file:/")).map_err(serde::de::Error::custom)?;
    }
    Ok(all)
}

fn interval<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(from)?;
    units::interval(&text).map(Some).map_err(serde::de::Error::custom)
}

fn capacity<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    units::megabits(&String::deserialize(from)?).map_err(serde::de::Error::custom)
}

/// One key or a list of them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Keys {
    One(String),
    Many(Vec<String>),
}

fn keys<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    let map = BTreeMap::<String, Keys>::deserialize(from)?;
    let list = |keys| match keys {
        Keys::One(key) => vec![key],
        Keys::Many(keys) => keys,
    };
    Ok(map.into_iter().map(|(name, keys)| (name, list(keys))).collect())
}

impl Config {
    /// Reads the file given, or the one in its usual place if there is one that can be trusted.
    pub fn load(given: Option<&Path>) -> Result<Self, String> {
        match given {
            Some(path) => Self::named(path),
            None => usual_place().map_or_else(|| Ok(Self::default()), |path| Self::found(&path)),
        }
    }

    /// A file that the user named: it is read whoever wrote it, and programs are run only on this user's or root's word.
    fn named(path: &Path) -> Result<Self, String> {
        let file = trust::read(path).map_err(|error| {
            text::ConfigUnreadable { path: &path.display(), error: &trust::said(&error) }.to_string()
        })?;
        let mut config = Self::parse(&file.text).map_err(|error| format!("{}: {error}", path.display()))?;
        config.foreign = file.foreign().map(|why| format!("{}: {why}", path.display()));
        Ok(config)
    }

    /// A file that nobody named: what others could have put there is ignored.
    fn found(path: &Path) -> Result<Self, String> {
        let refused = |why: &str| {
            let refused = text::ConfigRefused { path: &path.display(), why: &why }.to_string();
            Self { refused: Some(refused), ..Self::default() }
        };
        let file = match trust::read(path) {
            Ok(file) => file,
            // Not there, or in the home of somebody else after sudo or setpriv.
            Err(error) if matches!(error.kind(), NotFound | PermissionDenied | NotADirectory) => {
                return Ok(Self::default());
            }
            Err(error) => return Ok(refused(&trust::said(&error))),
        };
        if let Some(why) = file.foreign_place(path) {
            return Ok(refused(&why));
        }
        Self::parse(&file.text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The configuration of a text; errors say the line and the key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
            text::ConfigLine { line: &line, error: &error.message().replace('\n', " ") }.to_string()
        })?;
        crate::keymap::Keymap::new(&config.keys)?;
        Ok(config)
    }

    /// What the derive layer wants to know of it.
    pub fn settings(&self) -> Settings {
        Settings { nic_capacity_mbps: self.nic.iter().map(|(name, nic)| (name.clone(), nic.capacity)).collect() }
    }

    /// What the judge wants to know of it.
    pub fn judge(&self) -> judge::Settings {
        judge::Settings { thresholds: self.rules.clone() }
    }

    /// A file with every key at its default, as comments.
    pub fn defaults() -> String {
        let mut text = String::from(
            "# topotop's configuration: $XDG_CONFIG_HOME/topotop/config.toml. Every key is at its default here.\n\n\
             # Time between samples.\n#interval = \"1s\"\n\
             # THEMES, or a file.\n#theme = \"default\"\n\
             # The screen to start with.\n#screen = \"overview\"\n\
             # false leaves the mouse to the terminal.\n#mouse = true\n\
             # auto, unicode or ascii.\n#charset = \"auto\"\n\n\
             # Capacity of an interface that reports no usable link speed: cloud and virtual NICs.\n\
             #[nic.eth0]\n#capacity = \"24Gbit\"\n\n\
             # Application metrics, as with --metric. load = false: not a measure of load, such as a\n\
             # latency. least: minimum that counts as load (default: a tenth of the maximum so far).\n\
             #[metrics.tps]\n#source = \"file:/var/log/app.log#/tps = ([0-9.]+)/\"\n#unit = \"tx/s\"\n\
             #least = 100\n#load = true\n#stale = \"30s\"\n\n\
             # Directory for recordings started with R (default: the working directory).\n\
             [record]\n#directory = \".\"\n\n[keys]\n",
        );
        text = text.replace("THEMES", &topotop_widgets::themes::names());
        for row in crate::action::TABLE {
            let keys: Vec<String> = row.keys.iter().map(|key| format!("{key:?}")).collect();
            let line = format!("#{} = [{}]", row.name, keys.join(", "));
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{line:<40} # {}", row.help);
        }
        text
    }
}

fn usual_place() -> Option<PathBuf> {
    // A relative one would be somewhere else in each folder that the program is started in.
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")))?;
    Some(base.join("topotop/config.toml"))
}

#[cfg(test)]
mod tests {
    use super::{CharsetChoice, Config};
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn a_full_file_is_read() {
        let text = "interval = '2s'\ntheme = 'light'\nmouse = false\ncharset = 'ascii'\n\
                    [nic.eth0]\ncapacity = '24Gbit'\n[keys]\npause = 'p'\nquit = ['q', 'ctrl-q']\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.interval, Some(Duration::from_secs(2)));
        assert_eq!(config.charset, CharsetChoice::Ascii);
        assert_eq!(config.settings().nic_capacity_mbps, [("eth0".to_owned(), 24_000)]);
        assert_eq!(config.keys["quit"], ["q", "ctrl-q"]);
    }

    #[test]
    fn errors_say_line_and_key() {
        let error = |text| Config::parse(text).unwrap_err();
        let unknown = error("mouse = true\n\ncolour = 'red'\n");
        assert!(unknown.starts_with("line 3: ") && unknown.contains("`colour`"), "{unknown}");
        assert!(error("[nic.eth0]\ncapacity = 'lots'\n").starts_with("line 2: invalid rate `lots`"));
        assert!(error("[nic.eth0]\nspeed = 1\n").contains("`speed`"));
        assert!(error("[keys]\nfly = 'f'\n").contains("unknown action `fly`"));
        assert!(!error("interval = \n").contains('\n'));
    }

    #[test]
    fn the_defaults_are_a_configuration() {
        let text = Config::defaults();
        Config::parse(&text).unwrap();
        let uncommented: String = text
            .lines()
            .map(|line| line.strip_prefix('#').unwrap_or(line))
            .fold(String::new(), |text, line| if line.starts_with(' ') { text } else { text + line + "\n" });
        Config::parse(&uncommented).unwrap();
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = Config::parse(&text);
        }
    }
}
