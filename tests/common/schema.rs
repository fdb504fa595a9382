//! A checker for the subset of JSON Schema that the shipped schema uses; another keyword is an error of the schema.
#![expect(clippy::panic, reason = "a schema that the checker cannot read fails the test")]

use serde_json::{Map, Value};

/// Keywords that say nothing of a value, hold for it, or are looked at beside another one.
const ELSEWHERE: [&str; 14] = [
    "$schema",
    "$id",
    "title",
    "description",
    "$defs",
    "type",
    "const",
    "enum",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "pattern",
    "additionalProperties",
];

/// Everything in a document that the schema does not allow, as `path: what`.
pub(crate) fn violations(schema: &Value, document: &Value) -> Vec<String> {
    violations_below(schema, schema, document)
}

fn violations_below(root: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut checker = Checker { root, found: Vec::new() };
    checker.check(schema, value, "");
    checker.found
}

struct Checker<'a> {
    root: &'a Value,
    found: Vec<String>,
}

impl<'a> Checker<'a> {
    fn say(&mut self, path: &str, what: &str) {
        self.found.push(format!("{path}: {what}"));
    }

    fn check(&mut self, schema: &'a Value, value: &Value, path: &str) {
        let rules = schema.as_object().expect("a schema is an object");
        for (keyword, rule) in rules {
            match keyword.as_str() {
                "$ref" => self.check(self.definition(rule), value, path),
                "type" if !of_type(rule, value) => self.say(path, &format!("{value} is no {rule}")),
                "const" if rule != value => self.say(path, &format!("{value} is not {rule}")),
                "enum" if !rule.as_array().expect("a list").contains(value) => {
                    self.say(path, &format!("{value} is none of {rule}"));
                }
                "minimum" if value.as_f64() < rule.as_f64() && value.is_number() => {
                    self.say(path, &format!("{value} is below {rule}"));
                }
                "maximum" if value.as_f64() > rule.as_f64() && value.is_number() => {
                    self.say(path, &format!("{value} is above {rule}"));
                }
                "minItems" if value.as_array().is_some_and(|list| (list.len() as u64) < rule.as_u64().unwrap_or(0)) => {
                    self.say(path, &format!("it has fewer than {rule} values"));
                }
                "maxItems" if value.as_array().is_some_and(|list| Some(list.len() as u64) > rule.as_u64()) => {
                    self.say(path, &format!("it has more than {rule} values"));
                }
                "pattern" if value.as_str().is_some_and(|text| !matches(rule, text)) => {
                    self.say(path, &format!("{value} does not look like {rule}"));
                }
                "anyOf" | "oneOf" => {
                    let fits = |rule: &Value| violations_below(self.root, rule, value).is_empty();
                    if !rule.as_array().expect("a list").iter().any(fits) {
                        self.say(path, &format!("{value} fits none of {rule}"));
                    }
                }
                "items" => self.items(rule, value, path),
                "required" => self.required(rule, value, path),
                "properties" => self.properties(rules, value, path),
                "propertyNames" => self.names(rule, value, path),
                "additionalProperties" if !rules.contains_key("properties") => self.properties(rules, value, path),
                known if ELSEWHERE.contains(&known) => {}
                other => panic!("the checker does not know {other} at {path}"),
            }
        }
    }

    fn definition(&self, reference: &Value) -> &'a Value {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#')).expect("a reference into the file");
        self.root.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is not defined"))
    }

    fn items(&mut self, rule: &'a Value, value: &Value, path: &str) {
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            self.check(rule, item, &format!("{path}/{index}"));
        }
    }

    fn required(&mut self, rule: &Value, value: &Value, path: &str) {
        let Some(object) = value.as_object() else { return };
        for name in rule.as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                self.say(path, &format!("{name} is missing"));
            }
        }
    }

    fn names(&mut self, rule: &Value, value: &Value, path: &str) {
        for name in value.as_object().into_iter().flat_map(Map::keys) {
            if !matches(&rule["pattern"], name) {
                self.say(path, &format!("{name} is no key here"));
            }
        }
    }

    fn properties(&mut self, rules: &'a Map<String, Value>, value: &Value, path: &str) {
        // Every object says what else it may hold, so that no key goes undescribed.
        let others = rules.get("additionalProperties").unwrap_or_else(|| panic!("{path} is open"));
        for (name, value) in value.as_object().into_iter().flatten() {
            let path = format!("{path}/{name}");
            match rules.get("properties").and_then(|properties| properties.get(name)) {
                Some(rule) => self.check(rule, value, &path),
                None if others.is_object() => self.check(others, value, &path),
                None => self.say(&path, "is not described"),
            }
        }
    }
}

fn of_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("{other} is no type"),
    };
    rule.as_array().map_or_else(|| is(rule), |names| names.iter().any(is))
}

/// The three patterns of the schema, without a regular expression engine.
fn matches(pattern: &Value, text: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match pattern.as_str().expect("a pattern") {
        "^[0-9]+$" => number(text),
        "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$" => {
            let range = |part: &str| part.split_once('-').map_or(number(part), |(a, b)| number(a) && number(b));
            text.is_empty() || text.split(',').all(range)
        }
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z$" => {
            let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
            let rest = shape.strip_prefix("0000-00-00T00:00:00").and_then(|rest| rest.strip_suffix('Z'));
            rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.').is_some_and(number))
        }
        other => panic!("the checker does not know the pattern {other}"),
    }
}
