//! Values that were written in English, in the language of the reader: what the judge stores and recordings hold.

use super::{KEYS, SOURCE_TEXTS, current, fill_from, is_english, join};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

/// The letters that the fixed part of a text needs to be recognised.
const LEAST_LETTERS: usize = 2;

/// Values remembered, so that no frame searches again.
const MOST_CACHED: usize = 1024;

/// By value: the first prefix, the code of the language, the translation.
type Cache = HashMap<String, Vec<(String, &'static str, Option<String>)>>;

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// Texts in texts: an item of a list, and what it says of itself.
const DEEPEST: u8 = 2;

/// Separators within which an item may end.
const LONGEST_LIST: usize = 8;

/// A value in the current language, by the texts whose keys begin with one of the prefixes; a list item by item. What is no
/// text of the catalogue stays.
pub fn translated<'a>(prefixes: &[&str], value: &'a str) -> Cow<'a, str> {
    if is_english() || value.is_empty() {
        return Cow::Borrowed(value);
    }
    let about = (prefixes.first().copied().unwrap_or_default(), current().code);
    let translated = CACHE.with_borrow_mut(|cache| {
        if let Some(row) = cache.get(value).and_then(|rows| rows.iter().find(|row| (&*row.0, row.1) == about)) {
            return row.2.clone();
        }
        let parts = || listed(prefixes, value, "; ", 0).or_else(|| listed(prefixes, value, ", ", 0));
        let each = || value.split(", ").map(|item| known(prefixes, item, 0)).collect::<Option<Vec<_>>>();
        let translated =
            each().map(|items| items.join(&join::ITEMS)).or_else(|| known(prefixes, value, 0)).or_else(parts);
        if cache.len() >= MOST_CACHED {
            cache.clear();
        }
        cache.entry(value.to_owned()).or_default().push((about.0.to_owned(), about.1, translated.clone()));
        translated
    });
    translated.map_or(Cow::Borrowed(value), Cow::Owned)
}

fn listed(prefixes: &[&str], value: &str, separator: &str, depth: u8) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let (mut rest, mut found, mut nested) = (value, false, separator == "; ");
    // The shortest first: an item may hold the separator itself.
    while !rest.is_empty() {
        let ends = rest.match_indices(separator).map(|(at, _)| at).chain([rest.len()]);
        let own = |end: usize| Some((end, known(prefixes, rest.get(..end)?, depth)?));
        let (end, own) = match ends.clone().take(LONGEST_LIST).find_map(own) {
            Some((end, own)) => (end, Some(own)),
            None => (ends.min().unwrap_or(rest.len()), None),
        };
        found |= own.is_some();
        nested |= rest.get(..end).is_some_and(|item| item.contains(separator));
        parts.push(own.unwrap_or_else(|| rest.get(..end).unwrap_or_default().to_owned()));
        rest = rest.get(end + separator.len()..).unwrap_or_default();
    }
    found.then(|| parts.join(if nested { &join::CLAUSES } else { &join::ITEMS }))
}

/// The text of the catalogue that a value is, filled in: of several the one with the most words of its own. Arguments that
/// are texts themselves are translated too.
fn known(prefixes: &[&str], value: &str, depth: u8) -> Option<String> {
    let keys = prefixes.iter().flat_map(|prefix| {
        let first = KEYS.partition_point(|key| *key < *prefix);
        KEYS.iter().enumerate().skip(first).take_while(move |(_, key)| key.starts_with(prefix)).map(|(at, _)| at)
    });
    let matches = keys.filter_map(|at| {
        let pattern = SOURCE_TEXTS.get(at)?;
        Some((at, letters(pattern), matched(pattern, value)?))
    });
    let (at, _, arguments) = matches.min_by_key(|(_, letters, _)| std::cmp::Reverse(*letters))?;
    let inner = |text: &str| {
        let list = |separator| listed(prefixes, text, separator, depth + 1);
        let own = || known(prefixes, text, depth + 1).or_else(|| list("; ")).or_else(|| list(", "));
        let own = (depth < DEEPEST).then(own).flatten();
        own.unwrap_or_else(|| text.replace(", ", &join::ITEMS))
    };
    let arguments: Vec<(&str, String)> = arguments.into_iter().map(|(name, text)| (name, inner(text))).collect();
    fill_from(current().texts.get(at)?, &arguments)
}

/// The fixed parts of a text.
fn fixed(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split('{').enumerate().map(|(at, part)| match at {
        0 => part,
        _ => part.split_once('}').map_or("", |(_, rest)| rest),
    })
}

/// Letters of the fixed parts.
fn letters(pattern: &str) -> usize {
    fixed(pattern).flat_map(str::chars).filter(char::is_ascii_alphabetic).count()
}

/// True if an argument has the words of the text itself: it is several items of a list.
fn repeats(pattern: &str, arguments: &[(&str, &str)]) -> bool {
    let mut words = fixed(pattern).filter(|part| letters(part) > LEAST_LETTERS);
    words.any(|part| arguments.iter().any(|(_, argument)| argument.contains(part)))
}

/// The arguments with which a text is a value.
fn matched<'p, 'v>(pattern: &'p str, value: &'v str) -> Option<Vec<(&'p str, &'v str)>> {
    if !pattern.contains('{') {
        return (pattern == value).then(Vec::new);
    }
    if pattern.contains("{{") {
        return None;
    }
    let mut arguments = Vec::new();
    let (mut ahead, mut value) = (pattern, value);
    loop {
        let literal = ahead.split('{').next().unwrap_or_default();
        value = value.strip_prefix(literal)?;
        let Some((name, rest)) = ahead.get(literal.len() + 1..).and_then(|rest| rest.split_once('}')) else {
            let is_it = value.is_empty() && letters(pattern) >= LEAST_LETTERS && !repeats(pattern, &arguments);
            return is_it.then_some(arguments);
        };
        let until = rest.split('{').next().unwrap_or_default();
        let end = if rest.is_empty() { value.len() } else { ends(value, until, rest.len() == until.len())? };
        arguments.push((name, value.get(..end)?));
        (ahead, value) = (rest, value.get(end..)?);
    }
}

/// Where an argument ends: at the text after it.
fn ends(value: &str, until: &str, last: bool) -> Option<usize> {
    if last { value.strip_suffix(until).map(str::len) } else { value.find(until) }
}

#[cfg(test)]
mod tests {
    use super::matched;

    #[test]
    fn arguments_are_read_back() {
        assert_eq!(
            matched("node {node}: {cores} cores", "node 0: 1.50 cores"),
            Some(vec![("node", "0"), ("cores", "1.50")])
        );
        assert_eq!(matched("{a} ({b})", "x (1)"), None, "no words to recognise it by");
        assert_eq!(matched("off", "off"), Some(Vec::new()));
        assert_eq!(matched("at {size}", "at"), None);
        assert_eq!(matched("{a}: {n} cores", "x: 1 cores, y: 2 cores"), None, "two items");
    }
}
