//! When a control group reaches its memory limit: one estimate for screens and documents.

use super::points::group_key;
use super::{History, TREND_NS};
use crate::Known;
use crate::frame::{Cgroup, CgroupMemory, Frame};
use crate::trend::Trend;

/// Growth that is worth a forecast, as a share of the limit per second: over one interval, and over some time.
const WORTH_GROWTH: f64 = 0.000_4;
const WORTH_TREND: f64 = 0.000_1;
/// From this share on a group is at its limit, where reclaim holds it.
const FULL: f64 = 0.97;

/// When a limit would be reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// At the growth of the last half minute; of the last interval while less is known.
    pub seconds: f64,
    /// Its 95 % range; without a later end where the growth could as well be none. None for one interval.
    pub range: Option<(f64, Option<f64>)>,
}

impl History {
    /// When the limit of a group would be reached; none at the limit, without one, and where it grows by noise only.
    pub fn forecast(&self, cgroup: &Cgroup) -> Known<Forecast> {
        let Some(memory) = cgroup.memory.as_ref().filter(|memory| memory.is_limited()) else { return Known::None };
        let (Some(limit), Known::Value(current)) = (limit(memory), memory.current_bytes) else { return Known::None };
        let left = limit - current as f64;
        if current as f64 >= FULL * limit {
            return Known::None;
        }
        let trend = self.trend(cgroup);
        let Some(growth) = trend.map(|trend| trend.growth).or(memory.growth_bytes_per_second) else {
            return Known::Missing;
        };
        let worth = if trend.is_some() { WORTH_TREND } else { WORTH_GROWTH };
        if growth < limit * worth {
            return Known::None;
        }
        let range = trend.map(|trend| trend.range(left));
        Known::Value(Forecast { seconds: left / growth, range })
    }

    /// Puts the forecast of each group into a frame that becomes a document.
    pub fn put_forecasts(&self, frame: &mut Frame) {
        for at in 0..frame.cgroups.len() {
            let Some(cgroup) = frame.cgroups.get(at).filter(|cgroup| cgroup.memory.is_some()) else { continue };
            let forecast = self.forecast(cgroup);
            let Some(memory) = frame.cgroups.get_mut(at).and_then(|cgroup| cgroup.memory.as_mut()) else { continue };
            memory.time_to_limit_seconds = forecast.map(|forecast| forecast.seconds);
            let range = forecast.value().and_then(|forecast| forecast.range);
            memory.time_to_limit_low_seconds = range.map(|range| range.0);
            memory.time_to_limit_high_seconds = range.map_or(Known::Missing, |range| match range.1 {
                Some(high) => Known::Value(high),
                None => Known::None,
            });
        }
    }

    /// How the memory of a group grew over the last half minute, or as much of it as is known (least squares); none where
    /// less than five seconds of it are known.
    fn trend(&self, cgroup: &Cgroup) -> Option<Trend> {
        let key = group_key(cgroup);
        let end = self.samples.back()?.mono_ns;
        let recent = self.samples.iter().rev().take_while(|sample| end.saturating_sub(sample.mono_ns) <= TREND_NS);
        let points: Vec<(f64, f64)> = recent
            .map_while(|sample| {
                let used = sample.limited.iter().find(|entry| entry.0 == key)?.1;
                Some((end.saturating_sub(sample.mono_ns) as f64 / -1e9, used as f64))
            })
            .collect();
        Trend::of(&points)
    }
}

fn limit(memory: &CgroupMemory) -> Option<f64> {
    memory.effective_limit_bytes.value().filter(|&limit| limit > 0).map(|limit| limit as f64)
}
