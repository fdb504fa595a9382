//! One disk over time.

use crate::parts::chart::{Chart, Unit};
use topotop_model::frame::Disk;
use topotop_model::history::Headline;
use topotop_model::history::points::{DiskPoint, disk_key};
use topotop_model::locale::screen::disks as text;

/// The charts of a disk, the most telling first.
pub(super) fn charts<'a>(disk: &Disk) -> Vec<Chart<'a>> {
    let key = disk_key(disk);
    let of = |part: fn(&DiskPoint) -> Option<f32>| {
        move |headline: &Headline| headline.points.disk(key).and_then(part).map(f64::from)
    };
    vec![
        Chart::new(text::BUSY, Unit::Share, of(|point| point.busy)),
        Chart::new(text::AWAIT_ROW, Unit::Millis, of(|point| point.await_ms)).of_work(),
        Chart::new(text::CHART_WRITTEN, Unit::ByteRate, of(|point| point.written)),
        Chart::new(text::CHART_READ, Unit::ByteRate, of(|point| point.read)),
        Chart::new(text::CHART_REQUESTS, Unit::Rate, of(|point| point.requests)),
        Chart::new(text::QUEUE, Unit::Count, of(|point| point.depth)),
    ]
}
