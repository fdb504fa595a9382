//! The application's own numbers: each with its age.

use crate::frame::{Frame, Metric};
use crate::{Table, Window};

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    let Some(table) = window.now.metrics.value() else { return };
    let metric = |slot| {
        let counter = table.counter.value(slot) == Some(1);
        let value = if counter { table.rate.float(slot) } else { table.value.float(slot) };
        let at_ns = table.value_at_ns.value(slot).filter(|_| value.is_some());
        Metric {
            name: table.name.or_empty(slot),
            value,
            unit: table.unit.or_empty(slot),
            source: table.source.or_empty(slot),
            age_seconds: at_ns.map(|at_ns| frame.stamp.mono_ns.saturating_sub(at_ns) as f64 / 1e9),
            peak: table.peak.float(slot),
            least: table.least.float(slot),
            gates: table.gates.value(slot) == Some(1),
        }
    };
    let mut metrics: Vec<Metric> = table.rows().iter().map(metric).collect();
    metrics.sort_by(|a, b| a.name.cmp(&b.name));
    frame.metrics = metrics;
}

#[cfg(test)]
mod tests {
    use crate::derive::Deriver;
    use crate::frame::Frame;
    use crate::{Draft, Snapshot, Stamp, Table, Window};

    fn frame(fill: impl FnOnce(&mut crate::tables::metrics::Metrics, usize)) -> Frame {
        let mut draft = Draft::default();
        draft.metrics.begin(10_000_000_000);
        let table = draft.metrics.data_mut();
        let slot = table.insert();
        table.name.set(slot, "tps");
        table.gates.set(slot, 1);
        fill(table, slot);
        let stamp = Stamp { seq: 1, wall_ns: 0, mono_ns: 12_000_000_000, boot_ns: 0 };
        let mut window = Window::default();
        window.push(draft.publish(stamp, &Snapshot::default()));
        Deriver::default().frame(&window)
    }

    #[test]
    fn a_number_has_its_age_and_says_whether_there_is_load() {
        let at = |value: f64, peak: f64| {
            frame(|table, slot| {
                table.value.set_float(slot, value);
                table.value_at_ns.set(slot, 9_500_000_000);
                table.peak.set_float(slot, peak);
            })
        };
        let metric = &at(50.0, 1000.0).metrics[0];
        assert_eq!((metric.value, metric.age_seconds), (Some(50.0), Some(2.5)));
        assert_eq!(metric.shows_load(), Some(false), "a twentieth of what was seen");
        assert_eq!(at(100.0, 1000.0).metrics[0].shows_load(), Some(true));
        assert_eq!(at(0.0, 0.0).metrics[0].shows_load(), Some(false));
        assert_eq!(at(-1.0, 5.0).metrics[0].shows_load(), Some(false));
    }

    #[test]
    fn a_least_value_goes_before_the_peak_and_a_number_that_is_gone_says_nothing() {
        let metric = frame(|table, slot| {
            table.value.set_float(slot, 50.0);
            table.peak.set_float(slot, 1000.0);
            table.least.set_float(slot, 20.0);
        });
        assert_eq!(metric.metrics[0].shows_load(), Some(true));
        let gone = frame(|table, slot| table.peak.set_float(slot, 1000.0));
        assert_eq!((gone.metrics[0].value, gone.metrics[0].shows_load()), (None, None));
        let rate = frame(|table, slot| {
            table.counter.set(slot, 1);
            table.value.set_float(slot, 1e9);
            table.rate.set_float(slot, 3.0);
        });
        assert_eq!(rate.metrics[0].value, Some(3.0));
    }
}
