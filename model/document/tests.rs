//! The schemas of `docs/schema`, generated from the types of the documents.

use super::{Application, ById, Diff, Done, Offer, OrNull, Plan, Snapshot, Text, Undone};
use crate::{IdSet, Known};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::path::Path;

/// An empty text is left out.
impl JsonSchema for Text {
    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "x-optional": true})
    }
}

/// Missing is absent, none is null.
impl<T: JsonSchema> JsonSchema for Known<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Known_{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = OrNull::<T>::json_schema(generator);
        schema.insert("x-optional".to_owned(), true.into());
        schema
    }
}

impl<T: JsonSchema> JsonSchema for OrNull<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("OrNull_{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Option::<T>::json_schema(generator);
        schema.insert("x-null".to_owned(), true.into());
        schema
    }
}

impl<T: JsonSchema> JsonSchema for ById<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("ById_{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": {"pattern": "^[0-9]+$"},
            "additionalProperties": generator.subschema_for::<T>(),
            "x-optional": true,
        })
    }
}

impl<T: JsonSchema> JsonSchema for super::Named<'_, T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Named_{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "additionalProperties": generator.subschema_for::<T>()})
    }
}

impl JsonSchema for IdSet {
    fn schema_name() -> Cow<'static, str> {
        "IdSet".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Ids as the kernel lists them: 0-3,8.",
            "type": "string",
            "pattern": "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$",
        })
    }
}

/// The schema of a type whose keys get a prefix.
pub(crate) fn prefixed<T: JsonSchema>(prefix: &str, generator: &mut SchemaGenerator) -> Schema {
    let mut schema = T::json_schema(generator);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        *properties =
            std::mem::take(properties).into_iter().map(|(key, value)| (format!("{prefix}{key}"), value)).collect();
    }
    schema.remove("required");
    schema
}

/// Keys whose texts are times.
const TIMES: [&str; 2] = ["taken_at", "since"];
/// RFC 3339, UTC.
const TIME: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z$";

/// Bounds of numbers that follow from what a key is called.
fn bounds(name: &str) -> Option<(f64, Option<f64>)> {
    let shares = ["busy", "user", "system", "softirq", "irq", "iowait", "idle", "steal", "wait_share", "memory_error"];
    match name {
        _ if shares.contains(&name) || name.ends_with("_ratio") || name.ends_with("s_share") => Some((0.0, Some(1.0))),
        _ if name.contains("growth") => None,
        _ if name.ends_with("per_second") || name.ends_with("_cores") || name.ends_with("_ms") => Some((0.0, None)),
        _ => None,
    }
}

fn is_type(schema: &Value, name: &str) -> bool {
    let of = &schema["type"];
    of == name || of.as_array().is_some_and(|types| types.iter().any(|of| of == name))
}

/// Absent where an `Option` is none, no other keys, no marks of the generator.
fn tidy(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        schema.as_array_mut().into_iter().flatten().for_each(tidy);
        return;
    };
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        let mut optional = Vec::new();
        for (name, property) in properties.iter_mut() {
            let is_float = is_type(property, "number");
            let Some(property) = property.as_object_mut() else { continue };
            if property.remove("x-optional").is_some() {
                optional.push(Value::from(name.as_str()));
            }
            if TIMES.contains(&name.as_str()) {
                property.insert("pattern".to_owned(), TIME.into());
            }
            let Some((least, most)) = bounds(name).filter(|_| is_float) else { continue };
            property.insert("minimum".to_owned(), least.into());
            if let Some(most) = most {
                property.insert("maximum".to_owned(), most.into());
            }
        }
        if let Some(Value::Array(required)) = object.get_mut("required") {
            required.retain(|name| !optional.contains(name));
        }
        object.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    strip(object);
    for (key, value) in object.iter_mut() {
        match value {
            Value::Object(named) if key == "properties" || key == "$defs" => named.values_mut().for_each(tidy),
            value => tidy(value),
        }
    }
}

fn strip(object: &mut Map<String, Value>) {
    // A format says no more than the type.
    for key in ["format", "title", "x-optional", "minLength", "maxLength"] {
        object.remove(key);
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        // A note to those who show it.
        *text = text.replace("; hostile where names are", "").replace("; hostile", "");
    }
    if object.remove("x-null").is_some() {
        return;
    }
    if let Some(types) = object.get_mut("type").filter(|types| types.is_array()) {
        let left: Vec<Value> =
            types.as_array().into_iter().flatten().filter(|name| **name != "null").cloned().collect();
        *types = if let [only] = left.as_slice() { only.clone() } else { left.into() };
    }
    let is_null = |schema: &Value| schema["type"] == "null";
    if let Some([one, null]) = object.get("anyOf").and_then(Value::as_array).map(Vec::as_slice)
        && is_null(null)
        && let Value::Object(one) = one.clone()
    {
        object.remove("anyOf");
        object.extend(one);
    }
}

/// A generator whose `Option` is absent where it is none.
fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_deserialize().into_generator()
}

/// Compares a schema with the file that ships, or writes the file where `INSTA_UPDATE=always` asks for it.
#[expect(clippy::disallowed_methods, reason = "the schemas ship as files")]
fn compare(id: &str, description: &str, mut schema: Value) {
    tidy(&mut schema);
    let root = schema.as_object_mut().expect("an object");
    let (name, version) = id.split_once('/').expect("a name and a version");
    let file = format!("{name}-{version}.json");
    root.insert("$id".to_owned(), json!(file));
    root.insert("title".to_owned(), json!(id));
    root.insert("description".to_owned(), json!(description));
    if let Some(named) = root.get_mut("properties").and_then(|properties| properties.get_mut("schema")) {
        *named = json!({"const": id});
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema").join(file);
    let text = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &text).expect("written");
    }
    let shipped = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = shipped.lines().zip(text.lines()).find(|(shipped, generated)| shipped != generated);
    assert!(shipped == text, "{} differs from its types: run with INSTA_UPDATE=always ({differs:?})", path.display());
}

#[test]
fn a_snapshot() {
    let schema = generator().into_root_schema_for::<Snapshot<'_>>().to_value();
    compare(
        super::SNAPSHOT,
        "One snapshot of a machine. Null means known to be none, unlimited or not applicable. An absent key was not read: it was not requested, or the attempt failed and is listed in gaps, or it is a rate or share and there is only one sample. Zero means zero. Ids are the kernel's numbers, and lists are complete and sorted unless truncated is true. Terminal control characters are escaped in strings that come from the machine.",
        schema,
    );
}

#[test]
fn a_comparison() {
    let schema = generator().into_root_schema_for::<Diff>().to_value();
    compare(
        super::DIFF,
        "What changed between two recordings or spans. A metric without `before` or `after` had no valid sample there; null means that there was no such setting.",
        schema,
    );
}

#[test]
fn fixes() {
    let mut generator = generator();
    let mut kinds = Map::new();
    let mut add = |name: &str, schema: Schema| kinds.insert(name.to_owned(), schema.to_value());
    add("offers", generator.subschema_for::<Vec<Offer>>());
    add("plan", generator.subschema_for::<Plan<'_>>());
    add("done", generator.subschema_for::<Done>());
    add("undone", generator.subschema_for::<Undone>());
    add("applications", generator.subschema_for::<Vec<Application>>());
    add("application", generator.subschema_for::<Application>());
    kinds.extend(generator.take_definitions(true));
    let schema =
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/offers", "$defs": kinds});
    compare(
        "topotop.fix/1",
        "What `topotop fix` writes with --format json. `list` writes available fixes, `journal` applied fixes, `journal ID` one applied fix, `show` and `apply --dry-run` a plan, `apply` what was done, `undo` what was undone. Null means that there is none. Terminal control characters are escaped in strings that come from the machine.",
        schema,
    );
}
