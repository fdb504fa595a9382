//! Compares the two windows: the verdict and its table.

use super::super::Verify;
use crate::diff::{self, Comparison, Outcome, Row, Side, Spread, Tried, Verdict as Change, Watch, compare};
use crate::frame::Frame;
use crate::journal::Measured;
use crate::locale::Text;
use crate::locale::fix::verification as text;

/// A load that falls by this share, beyond noise, is worse in itself.
const LESS: f64 = 0.10;

/// The verdict on a fix.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// `improved`, `no_change`, `worse`, `inconclusive`.
    pub name: &'static str,
    /// The decisive changes, or why it is inconclusive; names in it are hostile.
    pub why: String,
    /// The measurements, load first.
    pub table: Vec<Measured>,
}

impl Verdict {
    /// Nothing was measured.
    pub fn unmeasured(why: impl Into<String>) -> Self {
        Self { name: "inconclusive", why: why.into(), table: Vec::new() }
    }

    /// True where the fix should be undone.
    pub fn is_worse(&self) -> bool {
        self.name == "worse"
    }

    /// True where it helped.
    pub fn is_improved(&self) -> bool {
        self.name == "improved"
    }

    /// Its name on screens.
    pub fn label(&self) -> Text {
        match self.name {
            "improved" => text::IMPROVED,
            "worse" => text::WORSE,
            "no_change" => text::NO_CHANGE,
            _ => text::INCONCLUSIVE,
        }
    }
}

/// Both windows compared, with the names of subjects in them.
struct Compared {
    comparison: Comparison,
    before: Side,
    after: Side,
}

impl Compared {
    fn of<'a>(before: impl IntoIterator<Item = &'a Frame>, after: &[Frame]) -> Self {
        let fold = |frames: &mut dyn Iterator<Item = &Frame>| {
            let mut side = Side::new();
            frames.for_each(|frame| side.push(frame));
            side
        };
        let before = fold(&mut before.into_iter().map(|frame| frame as &Frame));
        let after = fold(&mut after.iter());
        Self { comparison: compare(&before, &after), before, after }
    }

    /// A watch with the subject as the comparison names it.
    fn known(&self, watch: &Watch) -> Watch {
        Watch { subject: self.before.called(&watch.subject), metric: watch.metric }
    }

    fn row(&self, watch: &Watch) -> Option<&Row> {
        self.comparison.row(&self.known(watch).subject, watch.metric)
    }

    /// The load metric: the application's own one where measured before and after.
    fn load<'a>(&self, verify: &'a Verify, metric: Option<&'a Watch>) -> Option<&'a Watch> {
        let is_there = |watch: &&Watch| self.row(watch).is_some_and(|row| row.before.is_some() && row.after.is_some());
        metric.filter(is_there).or(verify.load.as_ref())
    }
}

pub(super) fn judge<'a>(
    verify: &Verify,
    metric: Option<&Watch>,
    before: impl IntoIterator<Item = &'a Frame>,
    after: &[Frame],
) -> Verdict {
    let compared = Compared::of(before, after);
    let load = compared.load(verify, metric).map(|load| compared.known(load));
    let cost = verify.cost.as_ref().map(|cost| compared.known(cost));
    let guards: Vec<Watch> = verify.guards.iter().map(|guard| compared.known(guard)).collect();
    let tried = Tried { before: &compared.before, after: &compared.after, comparison: &compared.comparison };
    let outcome = diff::outcome(tried, load.as_ref(), cost.as_ref(), &guards);
    let row = |watch: &Option<Watch>| watch.as_ref().and_then(|watch| compared.row(watch));
    let (load, cost) = (row(&load), row(&cost));
    let (name, why) = match outcome {
        Outcome::Improved => {
            ("improved", [load, cost].into_iter().flatten().map(change).collect::<Vec<_>>().join(", "))
        }
        Outcome::Worse { rows } => {
            let rows = rows.iter().filter_map(|row| compared.comparison.rows.get(*row));
            ("worse", rows.map(change).collect::<Vec<_>>().join(", "))
        }
        Outcome::NoChange if load.is_some_and(fell) => ("worse", load.map(change).unwrap_or_default()),
        Outcome::NoChange => ("no_change", load.map(change).unwrap_or_default()),
        Outcome::Inconclusive { why } => {
            ("inconclusive", missing(load).map_or_else(|| why.to_owned(), |text| text.to_string()))
        }
    };
    Verdict { name, why, table: rows(&compared, verify, metric) }
}

pub(super) fn table<'a>(
    verify: &Verify,
    metric: Option<&Watch>,
    before: impl IntoIterator<Item = &'a Frame>,
    after: &[Frame],
) -> Vec<Measured> {
    rows(&Compared::of(before, after), verify, metric)
}

/// True where the load itself fell.
fn fell(row: &Row) -> bool {
    let means = row.before.zip(row.after);
    row.alone(false).is_change() && means.is_some_and(|(before, after)| after.mean < before.mean * (1.0 - LESS))
}

/// The window without a load measurement.
fn missing(load: Option<&Row>) -> Option<Text> {
    let load = load?;
    match (load.before, load.after) {
        (None, _) => Some(text::NO_LOAD_BEFORE),
        (_, None) => Some(text::NO_LOAD_AFTER),
        _ => None,
    }
}

/// `packets received of nic:eth0 +18%`.
fn change(row: &Row) -> String {
    let (metric, subject) = (row.metric.name, &row.subject);
    match (row.before, row.after) {
        (Some(before), Some(after)) if before.mean.abs() > 0.0 => {
            let change = format!("{:+.0}%", (after.mean / before.mean - 1.0) * 100.0);
            text::Change { metric: &metric, subject: &subject, change: &change }.to_string()
        }
        (Some(_), Some(after)) if after.mean.abs() > 0.0 => {
            text::ChangeFromZero { metric: &metric, subject: &subject }.to_string()
        }
        _ => text::ChangeNone { metric: &metric, subject: &subject }.to_string(),
    }
}

/// The measured rows, each once, in the order of their roles.
fn rows(compared: &Compared, verify: &Verify, metric: Option<&Watch>) -> Vec<Measured> {
    let load = compared.load(verify, metric);
    let mut seen: Vec<&Watch> = Vec::new();
    let mut table = Vec::new();
    let named = load.map(|watch| (watch, "load")).into_iter().chain(verify.cost.iter().map(|watch| (watch, "cost")));
    let named = named.chain(verify.guards.iter().map(|watch| (watch, "guard")));
    // Where the application's own metric is the load, the fix's one is still shown.
    let named = named.chain(verify.load.iter().chain(&verify.shown).map(|watch| (watch, "shown")));
    for (watch, role) in named {
        if !seen.contains(&watch) {
            seen.push(watch);
            table.push(measured(compared, watch, role));
        }
    }
    table
}

fn measured(compared: &Compared, watch: &Watch, role: &str) -> Measured {
    let row = compared.row(watch);
    let spread = |spread: Option<Spread>| spread.map(|spread| [spread.mean, spread.low, spread.high]);
    Measured {
        subject: watch.subject.to_string(),
        metric: watch.metric.to_owned(),
        role: role.to_owned(),
        before: row.and_then(|row| spread(row.before)),
        after: row.and_then(|row| spread(row.after)),
        verdict: row.map_or(Change::Inconclusive, |row| row.alone(role == "guard")).name().to_owned(),
    }
}
