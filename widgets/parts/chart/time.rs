//! The time of charts: which samples share a column, and times of day below them.

use crate::Cx;
use crate::parts::number::Short;
use crate::parts::spark::Columns;
use crate::parts::units;
use jiff::Timestamp;

/// Seconds between times on an axis.
const STEPS: [i64; 17] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400];

/// Columns between the starts of two times of day, with and without seconds.
const WITH_SECONDS: i64 = 13;
const WITHOUT_SECONDS: i64 = 10;

/// Where samples, marks and findings stand on charts of a width: everything that is drawn over time uses the same.
#[derive(Clone, Copy, Debug)]
pub struct Times<'a> {
    cx: &'a Cx<'a>,
    columns: Columns,
}

impl<'a> Times<'a> {
    /// The times of charts that are so wide.
    pub fn new(cx: &'a Cx<'a>, width: u16) -> Self {
        Self { cx, columns: Columns::new(cx.history.len(), width) }
    }

    /// The column of a moment of CLOCK_MONOTONIC; none before the first sample that is drawn and after the last one.
    pub fn column(&self, mono_ns: u64) -> Option<u16> {
        let history = self.cx.history;
        let newest = history.iter().next_back()?.mono_ns;
        if mono_ns > newest {
            return None;
        }
        self.columns.of(history.iter().take_while(|headline| headline.mono_ns < mono_ns).count())
    }

    /// The moments of the first and the last sample that are drawn.
    pub fn span(&self) -> (u64, u64) {
        let history = self.cx.history;
        let first = history.iter().nth(self.columns.first()).map_or(0, |headline| headline.mono_ns);
        (first, history.iter().next_back().map_or(0, |headline| headline.mono_ns))
    }

    /// Times of day and their columns, as many as stand apart.
    pub fn labels(&self) -> Vec<(u16, Short)> {
        let starts: Vec<(u16, i64)> = self.starts();
        let (Some((_, first)), Some((_, last))) = (starts.first(), starts.last()) else { return Vec::new() };
        let (span, used) = ((last - first).max(1), starts.len().max(2) as i64 - 1);
        let apart = |step: i64| if step < 60 { WITH_SECONDS } else { WITHOUT_SECONDS };
        let step = STEPS.into_iter().find(|step| step * used >= apart(*step) * span).unwrap_or(86_400);
        let offset = self.offset(*last);
        let turns = |pair: &[(u16, i64)]| {
            let [(_, before), (column, at)] = pair else { return None };
            let here = (at + offset).div_euclid(step);
            (here != (before + offset).div_euclid(step)).then(|| (*column, here * step - offset))
        };
        let label = |(column, at): (u16, i64)| (column, self.label(at, step < 60));
        starts.windows(2).filter_map(turns).map(label).collect()
    }

    /// Each column with the time of day of its first sample, in seconds since 1970.
    fn starts(&self) -> Vec<(u16, i64)> {
        let mut starts: Vec<(u16, i64)> = Vec::new();
        for (sample, headline) in self.cx.history.iter().enumerate() {
            let Some(column) = self.columns.of(sample) else { continue };
            if starts.last().is_none_or(|last| last.0 != column) {
                starts.push((column, headline.wall_ns.div_euclid(1_000_000_000)));
            }
        }
        starts
    }

    fn offset(&self, wall: i64) -> i64 {
        let time = Timestamp::from_second(wall).unwrap_or_default();
        self.cx.zone.to_offset(time).seconds().into()
    }

    fn label(&self, wall: i64, seconds: bool) -> Short {
        let whole = units::time_of_day(wall.saturating_mul(1_000_000_000), self.cx.zone);
        if seconds {
            return whole;
        }
        Short::from_display(format_args!("{}", whole.as_str().get(..5).unwrap_or_default()))
    }
}
