//! One process over time.

use crate::parts::chart::{Chart, Unit};
use topotop_model::frame::Process;
use topotop_model::history::Headline;
use topotop_model::history::points::{ProcessPoint, process_key};
use topotop_model::locale::screen::processes as text;

/// The charts of a process, the most telling first.
pub(super) fn charts<'a>(process: &Process) -> Vec<Chart<'a>> {
    let key = process_key(process);
    let of = |part: fn(&ProcessPoint) -> Option<f32>| {
        move |headline: &Headline| headline.points.process(key).and_then(part).map(f64::from)
    };
    vec![
        Chart::new(text::CHART_CPU, Unit::Cores, of(|point| point.cores)),
        Chart::new(text::CHART_WAITED, Unit::Cores, of(|point| point.waited)),
        Chart::new(text::CHART_MEMORY, Unit::Bytes, of(|point| point.memory)),
        Chart::new(text::CHART_WRITTEN, Unit::ByteRate, of(|point| point.written)),
        Chart::new(text::CHART_READ, Unit::ByteRate, of(|point| point.read)),
    ]
}
