//! The application's own numbers: of those that tell of load more is better, of others nobody knows.

use super::super::metric::Better::{Higher, Neither};
use super::super::metric::{Floor, Measure, Metric, Read};
use super::Table;
use crate::locale::metric as text;

/// A twentieth of the larger value.
const FLOOR: Floor = Floor::Both(0.0, 0.05);

/// One of them.
pub(in super::super) const METRIC: Table = &[
    Metric::new(
        "metric.work",
        text::number::WORK,
        Measure::Number,
        Higher,
        FLOOR,
        Read::Metric(|number| number.value.filter(|_| number.gates)),
    ),
    Metric::new(
        "metric.value",
        text::number::VALUE,
        Measure::Number,
        Neither,
        FLOOR,
        Read::Metric(|number| number.value.filter(|_| !number.gates)),
    ),
];
