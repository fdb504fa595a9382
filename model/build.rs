//! Turns the catalogues in `locale/` into Rust: a constant for each text, a struct for each text with arguments, and one
//! table of texts per language. What another language lacks, or has with other arguments, is English; a test lists it.

#![expect(clippy::expect_used, clippy::panic, reason = "a build script fails the build by panicking")]
#![expect(clippy::disallowed_methods, reason = "the build script reads the catalogues; the model reads nothing")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};
use toml::Value;

/// The language that defines the keys; all others are checked against it.
const SOURCE: &str = "en";

/// One entry of a catalogue.
#[derive(Clone, PartialEq)]
enum Entry {
    Text(String),
    /// Forms by grammatical number, in the order `one`, `other`.
    Plural(String, String),
    List(Vec<String>),
}

impl Entry {
    fn texts(&self) -> Vec<&String> {
        match self {
            Self::Text(text) => vec![text],
            Self::Plural(one, other) => vec![one, other],
            Self::List(texts) => texts.iter().collect(),
        }
    }

    /// As they stand in the table: a text without arguments has nothing to fill in, so its braces are plain.
    fn stored(&self) -> Vec<String> {
        let plain = self.arguments().is_empty();
        let texts = self.texts().into_iter();
        texts.map(|text| if plain { text.replace("{{", "{").replace("}}", "}") } else { text.clone() }).collect()
    }

    fn arguments(&self) -> BTreeSet<String> {
        self.texts().into_iter().flat_map(|text| arguments(text)).collect()
    }
}

fn main() {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("locale");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut languages = BTreeMap::new();
    for file in fs::read_dir(&folder).expect("model/locale").flatten() {
        let path = file.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            println!("cargo:rerun-if-changed={}", path.display());
            let code = path.file_stem().and_then(|stem| stem.to_str()).expect("a language code").to_owned();
            languages.insert(code, catalogue(&path));
        }
    }
    let source = languages.remove(SOURCE).expect("model/locale/en.toml");
    let mut problems: Vec<String> = Vec::new();
    for (code, language) in &mut languages {
        complete(code, &source, language, &mut problems);
    }
    let out = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("locale.rs");
    fs::write(out, generate(&source, &languages, &problems)).expect("the build folder is writable");
}

/// The entries of a file by dotted key.
fn catalogue(path: &Path) -> BTreeMap<String, Entry> {
    let text = fs::read_to_string(path).expect("a readable catalogue");
    let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut entries = BTreeMap::new();
    flatten("", &table, &mut entries);
    entries
}

fn flatten(prefix: &str, table: &toml::Table, entries: &mut BTreeMap<String, Entry>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let well_formed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        assert!(name.bytes().all(well_formed), "{key}: use lower case, digits and _");
        match value {
            Value::String(text) => {
                entries.insert(key, Entry::Text(text.clone()));
            }
            Value::Array(items) => {
                let text = |item: &Value| item.as_str().unwrap_or_else(|| panic!("{key}: not a text")).to_owned();
                entries.insert(key.clone(), Entry::List(items.iter().map(text).collect()));
            }
            Value::Table(forms) if forms.contains_key("other") => {
                let other = forms["other"].as_str().unwrap_or_else(|| panic!("{key}.other: not a text"));
                let one = forms.get("one").and_then(Value::as_str).unwrap_or(other);
                entries.insert(key, Entry::Plural(one.to_owned(), other.to_owned()));
            }
            Value::Table(inner) => flatten(&key, inner, entries),
            _ => panic!("{key}: neither a text, a list of texts nor a table"),
        }
    }
}

/// The names in braces; `{{` and `}}` are literal.
fn arguments(text: &str) -> Vec<String> {
    let (mut names, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find('{') {
        if rest[at + 1..].starts_with('{') {
            rest = &rest[at + 2..];
            continue;
        }
        let end = rest[at..].find('}').unwrap_or_else(|| panic!("unclosed brace: {text}")) + at;
        let name = &rest[at + 1..end];
        let well_formed = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(well_formed, "argument {{{name}}} of {text:?}: use lower case and _, or {{{{ for a brace");
        names.push(name.to_owned());
        rest = &rest[end + 1..];
    }
    names
}

/// Gives a language the English of what it lacks or has in another form, and lists that.
fn complete(
    code: &str,
    source: &BTreeMap<String, Entry>,
    language: &mut BTreeMap<String, Entry>,
    problems: &mut Vec<String>,
) {
    let unknown = language.keys().filter(|key| !source.contains_key(*key));
    problems.extend(unknown.map(|key| format!("{code}: {key} is unknown")));
    for (key, entry) in source {
        let own = match (entry, language.get(key)) {
            // A language without grammatical number has one form.
            (Entry::Plural(..), Some(Entry::Text(text))) => Some(Entry::Plural(text.clone(), text.clone())),
            (_, own) => own.cloned(),
        };
        let problem = own.as_ref().map_or(Some("is missing".to_owned()), |own| mismatch(entry, own));
        problems.extend(problem.iter().map(|problem| format!("{code}: {key} {problem}")));
        let own = own.filter(|_| problem.is_none());
        language.insert(key.clone(), own.unwrap_or_else(|| entry.clone()));
    }
}

/// Why a text cannot stand for the English one.
fn mismatch(entry: &Entry, other: &Entry) -> Option<String> {
    let plural = matches!(entry, Entry::Plural(..));
    let arguments = |entry: &Entry| {
        let mut names = entry.arguments();
        let _ = plural && names.remove("count");
        names
    };
    if std::mem::discriminant(entry) != std::mem::discriminant(other) {
        Some("has another kind".to_owned())
    } else if entry.texts().len() != other.texts().len() {
        Some("has another number of texts".to_owned())
    } else if arguments(entry) != arguments(other) {
        Some(format!("has other arguments: {:?}", other.arguments()))
    } else {
        None
    }
}

/// A module of the generated code.
#[derive(Default)]
struct Module {
    items: String,
    modules: BTreeMap<String, Module>,
}

fn generate(
    source: &BTreeMap<String, Entry>,
    languages: &BTreeMap<String, BTreeMap<String, Entry>>,
    problems: &[String],
) -> String {
    let mut root = Module::default();
    let mut keys = Vec::new();
    for (key, entry) in source {
        let (path, name) = key.rsplit_once('.').unwrap_or(("", key));
        let module = path
            .split('.')
            .filter(|part| !part.is_empty())
            .fold(&mut root, |module, part| module.modules.entry(part.to_owned()).or_default());
        item(&mut module.items, name, entry, keys.len());
        keys.extend(std::iter::repeat_n(key.clone(), entry.texts().len()));
    }
    let mut code = String::new();
    table(&mut code, "KEYS", "Dotted keys by index.", keys.into_iter());
    code.push_str("#[cfg(test)]\n");
    table(&mut code, "PROBLEMS", "What other languages lack or have in another form.", problems.iter().cloned());
    table(&mut code, "SOURCE_TEXTS", "English by index.", source.values().flat_map(Entry::stored));
    let mut list = String::from("/// Every language, English first.\npub static LANGUAGES: &[Language] = &[\n");
    let _ = writeln!(list, "    Language {{ code: {SOURCE:?}, texts: SOURCE_TEXTS }},");
    for (code_of, language) in languages {
        let name = format!("TEXTS_{}", code_of.to_uppercase().replace('-', "_"));
        table(&mut code, &name, "Texts by index.", source.keys().flat_map(|key| language[key].stored()));
        let _ = writeln!(list, "    Language {{ code: {code_of:?}, texts: {name} }},");
    }
    code + &list + "];\n" + &body(&root)
}

fn table(code: &mut String, name: &str, about: &str, texts: impl Iterator<Item = String>) {
    let _ = writeln!(code, "/// {about}\nstatic {name}: &[&str] = &[");
    for text in texts {
        let _ = writeln!(code, "    {text:?},");
    }
    code.push_str("];\n");
}

fn body(module: &Module) -> String {
    let mut code = module.items.clone();
    for (name, inner) in &module.modules {
        let _ = writeln!(code, "/// Texts.\npub mod {name} {{\n{}}}", body(inner));
    }
    code
}

/// A constant, or a struct with a field for each argument.
fn item(code: &mut String, name: &str, entry: &Entry, index: usize) {
    let about = entry.texts().first().map(|text| text.replace('\n', " ")).unwrap_or_default();
    let (upper, mut arguments) = (name.to_uppercase(), entry.arguments());
    let locale = "crate::locale";
    match entry {
        Entry::List(texts) => {
            let length = texts.len();
            let _ = writeln!(
                code,
                "/// `{about}` …\npub const {upper}: {locale}::Texts = {locale}::Texts {{ first: {index}, length: {length} }};"
            );
            return;
        }
        Entry::Text(_) if arguments.is_empty() => {
            let _ = writeln!(code, "/// `{about}`\npub const {upper}: {locale}::Text = {locale}::Text({index});");
            return;
        }
        Entry::Text(_) => {}
        Entry::Plural(..) => {
            arguments.remove("count");
        }
    }
    let plural = matches!(entry, Entry::Plural(..));
    let camel: String = name.split('_').map(|part| part[..1].to_uppercase() + &part[1..]).collect();
    let (life, any) = if arguments.is_empty() { ("", "") } else { ("<'a>", "<'_>") };
    let _ = writeln!(code, "/// `{about}`\n#[derive(Clone, Copy)]\npub struct {camel}{life} {{");
    if plural {
        code.push_str("    /// How many.\n    pub count: u64,\n");
    }
    for argument in &arguments {
        let _ = writeln!(code, "    /// Argument.\n    pub {argument}: &'a dyn std::fmt::Display,");
    }
    let fields: Vec<String> = arguments.iter().map(|argument| format!("({argument:?}, self.{argument})")).collect();
    let fields = fields.join(", ");
    let (count, at) = if plural {
        ("(\"count\", &self.count), ", format!("{index} + usize::from(self.count != 1)"))
    } else {
        ("", index.to_string())
    };
    let _ = writeln!(
        code,
        "}}\nimpl std::fmt::Display for {camel}{any} {{\n    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{\n        {locale}::fill({locale}::Text({at}), &[{count}{fields}], f)\n    }}\n}}"
    );
}
