//! The filter of processes: words, fields as in `cpu>50 user:postgres cmd:broker node:1 cg:web`, and expressions as in
//! `/beam|java/`.

use crate::Cx;
use crate::parts::table::matches;
use regex_lite::{Regex, RegexBuilder};
use topotop_model::frame::Process;

/// What a filter asks of a process; every term must hold.
pub(super) struct Filter<'a> {
    terms: Vec<Term<'a>>,
}

enum Term<'a> {
    /// Anywhere in name, arguments, group or user, or the pid.
    Word(&'a str),
    /// A regular expression for name or arguments.
    Expression(Regex),
    Command(&'a str),
    User(&'a str),
    Cgroup(&'a str),
    Pid(u32),
    Node(u32),
    State(char),
    /// Percent of a CPU: at least, or less.
    Cpu(bool, f64),
    /// Resident bytes: at least, or less.
    Memory(bool, f64),
}

impl<'a> Filter<'a> {
    /// Text without a field is one word, with its spaces.
    pub(super) fn new(text: &'a str) -> Self {
        let terms: Vec<Term<'a>> = text.split_whitespace().map(Term::new).collect();
        if terms.iter().all(|term| matches!(term, Term::Word(_))) {
            let terms = if text.is_empty() { Vec::new() } else { vec![Term::Word(text)] };
            return Self { terms };
        }
        Self { terms }
    }

    /// True if a process is to be shown.
    pub(super) fn passes(&self, process: &Process) -> bool {
        self.terms.iter().all(|term| term.holds(process))
    }
}

/// Names of fields, as the filter knows them.
pub(super) const FIELDS: &str = "cmd: user: cg: pid: node: state: cpu> mem>";

/// A word that looks like a field and is none: `foo` of `foo>3`.
pub(super) fn unknown_field(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace().filter(|word| matches!(Term::new(word), Term::Word(_)));
    words.find_map(|word| {
        let (name, value) = word.split_once([':', '>', '<'])?;
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
        // `kworker/u8:2` and `std::vector` are names.
        (is_name && !value.is_empty() && !value.starts_with(':')).then_some(name)
    })
}

impl<'a> Term<'a> {
    fn new(text: &'a str) -> Self {
        Self::field(text).or_else(|| Self::expression(text)).unwrap_or(Self::Word(text))
    }

    /// `/beam|java/`; what is no expression is a word.
    fn expression(text: &str) -> Option<Self> {
        let inner = text.strip_prefix('/')?.strip_suffix('/').filter(|inner| !inner.is_empty())?;
        RegexBuilder::new(inner).case_insensitive(true).build().ok().map(Self::Expression)
    }

    fn field(text: &'a str) -> Option<Self> {
        let at = text.find([':', '>', '<'])?;
        let (name, rest) = text.split_at_checked(at)?;
        let (sign, value) = rest.split_at_checked(1)?;
        let value = value.strip_prefix('=').unwrap_or(value);
        if value.is_empty() {
            return None;
        }
        Some(match (name, sign) {
            ("cmd", ":") => Self::Command(value),
            ("user", ":") => Self::User(value),
            ("cg", ":") => Self::Cgroup(value),
            ("pid", ":") => Self::Pid(value.parse().ok()?),
            ("node", ":") => Self::Node(value.parse().ok()?),
            ("state", ":") => Self::State(value.chars().next()?.to_ascii_uppercase()),
            ("cpu", ">" | "<") => Self::Cpu(sign == ">", value.trim_end_matches('%').parse().ok()?),
            ("mem", ">" | "<") => Self::Memory(sign == ">", bytes(value)?),
            _ => return None,
        })
    }

    fn holds(&self, process: &Process) -> bool {
        match *self {
            Self::Expression(ref regex) => regex.is_match(&process.comm) || regex.is_match(&process.cmdline),
            Self::Word(word) => {
                [&process.comm, &process.cmdline, &process.cgroup, &process.user].iter().any(|text| matches(word, text))
                    || word.parse() == Ok(process.pid)
            }
            Self::Command(word) => matches(word, &process.comm) || matches(word, &process.cmdline),
            Self::User(user) => {
                matches(user, &process.user) || process.uid.value().is_some_and(|uid| user.parse() == Ok(uid))
            }
            Self::Cgroup(word) => matches(word, &process.cgroup),
            Self::Pid(pid) => process.pid == pid,
            Self::State(state) => process.state == state,
            Self::Node(node) => {
                let holds = |bytes: &[(u32, u64)]| bytes.iter().any(|entry| entry.0 == node && entry.1 > 0);
                process.cpu_by_node.iter().any(|entry| entry.0 == node && entry.1 >= 0.01)
                    || process.memory.as_ref().is_some_and(|memory| holds(&memory.by_node))
            }
            Self::Cpu(above, percent) => process.cpu_cores.is_some_and(|cores| (cores * 100.0 >= percent) == above),
            Self::Memory(above, bytes) => process.rss_bytes.value().is_some_and(|rss| (rss as f64 >= bytes) == above),
        }
    }
}

/// `512`, `64M`, `1.5G`: bytes.
fn bytes(text: &str) -> Option<f64> {
    let text = text.trim_end_matches(['i', 'B', 'b']);
    let unit = text.chars().last()?;
    let shift = match unit.to_ascii_uppercase() {
        'K' => 10,
        'M' => 20,
        'G' => 30,
        'T' => 40,
        _ => return text.parse().ok(),
    };
    let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
    Some(number * f64::from(1u32 << (shift % 30)) * if shift >= 30 { f64::from(1u32 << 30) } else { 1.0 })
}

/// The filter of a screen.
pub(super) fn of<'a>(cx: &Cx<'a>) -> Filter<'a> {
    Filter::new(cx.filter)
}

#[cfg(test)]
mod tests {
    use super::{Filter, bytes, unknown_field};
    use std::sync::Arc;
    use topotop_model::Known;
    use topotop_model::frame::Process;

    fn broker() -> Process {
        Process {
            pid: 4121,
            comm: Arc::from("beam.smp"),
            cmdline: Arc::from("/usr/lib/erlang/bin/beam.smp -name rabbit"),
            cgroup: Arc::from("/system.slice/web.service"),
            user: Arc::from("rabbitmq"),
            uid: Known::Value(114),
            state: 'D',
            cpu_cores: Some(0.6),
            cpu_by_node: vec![(0, 0.0), (1, 0.6)],
            rss_bytes: Known::Value(2 << 30),
            ..Process::default()
        }
    }

    #[test]
    fn every_term_must_hold() {
        let process = broker();
        let yes = [
            "",
            "BEAM",
            "rabbit",
            "4121",
            "-name rabbit",
            "cpu>50",
            "cpu>=60%",
            "cpu<61",
            "user:rabbit",
            "user:114",
            "cmd:erlang",
            "node:1",
            "cg:web",
            "pid:4121",
            "state:d",
            "mem>1.5G",
            "mem<3g",
            "cpu>50 user:rabbit node:1",
            "beam cpu>10",
            "/^BEAM[.]/",
            r"/java|-name\srabbit$/ cpu>10",
            "/usr/lib/erlang",
        ];
        let no = [
            "postgres",
            "cpu>61",
            "cpu<50",
            "user:root",
            "cmd:java",
            "node:0",
            "cg:db",
            "pid:1",
            "state:R",
            "mem>3G",
            "cpu>50 user:root",
            "beam cpu>90",
            "foo:bar",
            "/^smp/",
            "/(/",
        ];
        assert!(yes.iter().all(|text| Filter::new(text).passes(&process)));
        let passed: Vec<_> = no.iter().filter(|text| Filter::new(text).passes(&process)).collect();
        assert!(passed.is_empty(), "{passed:?}");
    }

    #[test]
    fn a_field_that_there_is_not_is_named() {
        let unknown = ["foo>3", "cpu>5 foo:bar", "cpu>x", "rss>1G"].map(unknown_field);
        assert_eq!(unknown, [Some("foo"), Some("foo"), Some("cpu"), Some("rss")]);
        let known = ["", "cpu>5 user:root", "beam", "kworker/u8:2", "/a:b/", "a::", "user:"].map(unknown_field);
        assert!(known.iter().take(6).all(Option::is_none), "{known:?}");
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("64M"), Some(67_108_864.0));
        assert_eq!(bytes("1T"), Some(1_099_511_627_776.0));
        assert_eq!((bytes("12"), bytes("G"), bytes("é")), (Some(12.0), None, None));
    }
}
