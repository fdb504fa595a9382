//! Keys to commands: the table's defaults, changed by the configuration.

use crate::action::{self, Command, TABLE};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::{BTreeMap, HashMap};
use topotop_model::locale::error as errors;

/// A key with its modifiers, in one form only: what a letter's case says is no modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        Self::new(event.code, event.modifiers)
    }
}

/// Keys with names.
const NAMES: &[(&str, KeyCode)] = &[
    ("space", KeyCode::Char(' ')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
];

/// Modifiers by their prefix.
const PREFIXES: &[(&str, KeyModifiers)] =
    &[("ctrl-", KeyModifiers::CONTROL), ("alt-", KeyModifiers::ALT), ("shift-", KeyModifiers::SHIFT)];

impl Key {
    fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let mut modifiers = modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        let code = match code {
            KeyCode::BackTab => {
                modifiers |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            // Terminals differ in whether control keys come with upper or lower case.
            KeyCode::Char(c) if modifiers.contains(KeyModifiers::CONTROL) => KeyCode::Char(c.to_ascii_lowercase()),
            code => code,
        };
        if code == KeyCode::Esc {
            // Pressed twice at once it looks like Alt with itself.
            modifiers = KeyModifiers::NONE;
        }
        if matches!(code, KeyCode::Char(_)) {
            modifiers -= KeyModifiers::SHIFT;
        }
        Self { code, modifiers }
    }

    /// A key by its name: `q`, `ctrl-c`, `shift-tab`, `pgup`, `f1`.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut rest, mut modifiers) = (text, KeyModifiers::NONE);
        while let Some((prefix, modifier)) = PREFIXES.iter().find(|(prefix, _)| rest.starts_with(prefix)) {
            rest = rest.get(prefix.len()..).filter(|rest| !rest.is_empty())?;
            modifiers |= *modifier;
        }
        let named = NAMES.iter().find(|(name, _)| *name == rest).map(|&(_, code)| code);
        let function = || rest.strip_prefix('f')?.parse().ok().filter(|n| (1..=12).contains(n)).map(KeyCode::F);
        let mut chars = rest.chars();
        let single = chars.next().filter(|c| chars.next().is_none() && !c.is_control()).map(KeyCode::Char);
        Some(Self::new(named.or(single).or_else(function)?, modifiers))
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (prefix, modifier) in PREFIXES {
            if self.modifiers.contains(*modifier) {
                f.write_str(prefix)?;
            }
        }
        match (NAMES.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::F(n)) => write!(f, "f{n}"),
            (None, KeyCode::Char(c)) => write!(f, "{c}"),
            (None, code) => write!(f, "{code}"),
        }
    }
}

/// What keys do.
#[derive(Clone, Debug)]
pub struct Keymap {
    always: HashMap<Key, Command>,
    paused: HashMap<Key, Command>,
    /// Keys by command in the order of the table, for help and footer.
    listed: Vec<(Command, Vec<Key>)>,
    /// What the configuration did that its writer may not have meant.
    pub reports: Vec<String>,
}

impl Keymap {
    /// The table's keys, with those of the configuration instead where it names an action.
    pub fn new(configured: &BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        let mut taken: HashMap<Key, &'static str> = HashMap::new();
        let mut own: HashMap<&'static str, Vec<Key>> = HashMap::new();
        for (name, texts) in configured {
            let row = action::by_name(name).ok_or_else(|| errors::UnknownAction { name: &name }.to_string())?;
            let mut keys = Vec::new();
            for text in texts {
                let key =
                    Key::parse(text).ok_or_else(|| errors::UnknownKey { key: &text, action: &name }.to_string())?;
                if let Some(other) = taken.insert(key, row.name).filter(|other| *other != row.name) {
                    return Err(errors::KeyTwice { key: &text, one: &other, two: &name }.to_string());
                }
                keys.push(key);
            }
            own.insert(row.name, keys);
        }
        Ok(Self::merge(&own, &taken))
    }

    fn merge(own: &HashMap<&'static str, Vec<Key>>, taken: &HashMap<Key, &'static str>) -> Self {
        let mut map = Self { always: HashMap::new(), paused: HashMap::new(), listed: Vec::new(), reports: Vec::new() };
        let free = |key: &Key| !taken.contains_key(key);
        let defaults = |keys: &[&str]| keys.iter().filter_map(|key| Key::parse(key)).collect::<Vec<_>>();
        for row in TABLE {
            let (keys, paused) = match own.get(row.name) {
                Some(keys) => (keys.clone(), Vec::new()),
                None => (
                    defaults(row.keys).into_iter().filter(free).collect(),
                    defaults(row.paused).into_iter().filter(free).collect(),
                ),
            };
            if keys.is_empty() && !own.contains_key(row.name) {
                map.reports.push(errors::KeyLost { name: &row.name }.to_string());
            }
            map.always.extend(keys.iter().map(|&key| (key, row.command)));
            map.paused.extend(paused.iter().map(|&key| (key, row.command)));
            map.listed.push((row.command, keys));
        }
        map
    }

    /// What a key does.
    pub fn command(&self, key: Key, paused: bool) -> Option<Command> {
        let held = self.paused.get(&key).filter(|_| paused);
        held.or_else(|| self.always.get(&key)).copied()
    }

    /// The keys of a command as they are now: while the picture is held, or a recording is shown, some mean time.
    pub fn keys_now(&self, command: Command, paused: bool) -> Vec<Key> {
        if !paused {
            return self.keys(command).to_vec();
        }
        let always = self.keys(command).iter().copied().filter(|key| self.command(*key, true) == Some(command));
        let mut held: Vec<Key> = self.paused.iter().filter(|held| *held.1 == command).map(|held| *held.0).collect();
        held.sort_by_key(ToString::to_string);
        held.into_iter().chain(always).collect()
    }

    /// The keys of a command.
    pub fn keys(&self, command: Command) -> &[Key] {
        self.listed.iter().find(|(listed, _)| *listed == command).map_or(&[], |(_, keys)| keys)
    }
}

impl Default for Keymap {
    fn default() -> Self {
        Self::merge(&HashMap::new(), &HashMap::new())
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Keymap};
    use crate::action::{Command, TABLE};
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use std::collections::BTreeMap;

    fn configured(pairs: &[(&str, &str)]) -> Result<Keymap, String> {
        let map: BTreeMap<_, _> = pairs.iter().map(|&(name, key)| (name.into(), vec![key.into()])).collect();
        Keymap::new(&map)
    }

    #[test]
    fn every_default_key_is_a_key_and_has_one_meaning() {
        let mut seen = Vec::new();
        for row in TABLE {
            for text in row.keys {
                let key = Key::parse(text).expect(text);
                assert_eq!(key.to_string(), *text);
                assert!(!seen.contains(&key), "{text} has two meanings");
                seen.push(key);
            }
            assert!(row.paused.iter().all(|text| Key::parse(text).is_some()));
        }
    }

    #[test]
    fn events_find_their_keys() {
        let map = Keymap::default();
        let press = |code, modifiers| map.command(KeyEvent::new(code, modifiers).into(), false);
        assert_eq!(press(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Command::Quit));
        assert_eq!(press(KeyCode::BackTab, KeyModifiers::NONE), Some(Command::PreviousScreen));
        assert_eq!(press(KeyCode::Tab, KeyModifiers::SHIFT), Some(Command::PreviousScreen));
        assert_eq!(press(KeyCode::Char('T'), KeyModifiers::SHIFT), Some(Command::Theme));
        assert_eq!(press(KeyCode::Char('y'), KeyModifiers::NONE), None);
        let home: Key = KeyEvent::new(KeyCode::Home, KeyModifiers::NONE).into();
        assert_eq!(map.command(home, true), Some(Command::Start));
        let first = Command::Panel(topotop_widgets::Action::Home);
        assert_eq!(map.command(home, false), Some(first));
        assert!(map.keys_now(Command::Start, true).contains(&home) && !map.keys_now(first, true).contains(&home));
        assert!(!map.keys_now(Command::Start, false).contains(&home) && map.keys_now(first, false).contains(&home));
        let page = Some(Command::Panel(topotop_widgets::Action::PageUp));
        assert!(
            [true, false]
                .iter()
                .all(|&paused| map.command(Key::new(KeyCode::PageUp, KeyModifiers::NONE), paused) == page)
        );
    }

    #[test]
    fn configuration_replaces_and_reports() {
        let map = configured(&[("pause", "y")]).unwrap();
        assert_eq!(map.command(Key::parse("y").unwrap(), false), Some(Command::Pause));
        assert_eq!(map.command(Key::parse("space").unwrap(), false), None);
        assert!(map.reports.is_empty());
        let map = configured(&[("pause", "s")]).unwrap();
        assert_eq!(map.reports, ["[keys] leaves `sort` without a key"]);
        assert!(configured(&[("pause", "p"), ("jump", "p")]).unwrap_err().contains("two actions"));
        assert!(configured(&[("paws", "p")]).unwrap_err().contains("unknown action `paws`"));
        assert!(configured(&[("pause", "hyper-p")]).unwrap_err().contains("unknown key `hyper-p`"));
    }
}
