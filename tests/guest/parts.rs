//! What a scenario sent from its guest, by name.

use crate::scenario::{Outcome, holds};
use serde_json::Value;
use std::collections::BTreeMap;

/// Texts by name. Of a command they are its standard output, `NAME.errors` and `NAME.status`.
#[derive(Debug, Default)]
pub(crate) struct Parts(pub(crate) BTreeMap<String, String>);

impl Parts {
    /// From the bytes of the port: `@ SCENARIO NAME LENGTH`, a line's end and so many bytes, over and over.
    pub(crate) fn parse(bytes: &[u8], scenario: &str) -> Self {
        let mut parts = BTreeMap::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let words: Vec<&str> = head.split(' ').collect();
            let ["@", of, name, length] = words[..] else { break };
            let Some(body) = length.parse().ok().and_then(|length: usize| rest.get(end + 1..end + 1 + length)) else {
                break;
            };
            if of == scenario {
                parts.insert(name.to_owned(), String::from_utf8_lossy(body).into_owned());
            }
            rest = &rest[end + 1 + body.len()..];
        }
        Self(parts)
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str, String> {
        self.0.get(name).map(|text| text.trim_end()).ok_or_else(|| format!("the guest sent no {name}"))
    }

    pub(crate) fn json(&self, name: &str) -> Result<Value, String> {
        let text = self.text(name)?;
        serde_json::from_str(text).map_err(|error| format!("{name}: {error}: {text}"))
    }

    /// Both outputs of a command.
    pub(crate) fn output(&self, name: &str) -> Result<String, String> {
        Ok(format!("{}\n{}", self.text(name)?, self.text(&format!("{name}.errors"))?))
    }

    /// That a command ended with a status.
    pub(crate) fn ended(&self, name: &str, status: &str) -> Result<(), String> {
        let ended = self.text(&format!("{name}.status"))?;
        holds(ended == status, format!("{name} ended with {ended}, not {status}: {}", self.output(name)?))
    }

    pub(crate) fn contains(&self, name: &str, wanted: &[&str]) -> Result<(), String> {
        let text = self.text(name)?;
        let missing = wanted.iter().find(|wanted| !text.contains(**wanted));
        missing.map_or(Ok(()), |missing| Err(format!("{name} has no {missing:?}: {text}")))
    }

    /// That two texts are equal.
    pub(crate) fn equal(&self, one: &str, other: &str) -> Result<(), String> {
        let (before, after) = (self.text(one)?, self.text(other)?);
        let differ = before.lines().zip(after.lines()).find(|(before, after)| before != after);
        holds(before == after, format!("{one} and {other} differ: {differ:?}"))
    }

    /// The rows of a fix in the journal that the command line wrote, oldest first.
    pub(crate) fn journal(&self) -> Result<Vec<Value>, String> {
        let journal = self.json("journal")?;
        journal.as_array().cloned().ok_or_else(|| format!("the journal is no list: {journal}"))
    }
}

/// Every outcome in one line; the first error.
pub(crate) fn together(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
    let texts: Result<Vec<String>, String> = outcomes.into_iter().collect();
    Ok(texts?.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; "))
}
