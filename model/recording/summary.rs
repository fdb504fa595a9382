//! What a minute was like, in sixteen bytes: the timeline of a day without decoding it.

use crate::frame::Frame;
use crate::history::Headline;

/// Bytes that a summary takes in this version.
const BYTES: usize = 16;
/// The byte of a value that is not known.
const UNKNOWN: u8 = 255;

/// Shares between two key frames; none where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Mean busy share of the CPUs.
    pub busy: Option<f64>,
    /// Busy share of the busiest CPU.
    pub hottest_cpu: Option<f64>,
    /// Softirq share of the CPU with most.
    pub hottest_softirq: Option<f64>,
    /// Mean iowait share.
    pub iowait: Option<f64>,
    /// Utilisation of the fullest disk.
    pub disk: Option<f64>,
    /// Utilisation of the fullest interface direction.
    pub nic: Option<f64>,
    /// The fullest memory against its limit.
    pub memory: Option<f64>,
    /// Share of time in which some task waited for memory.
    pub memory_pressure: Option<f64>,
    /// Share of time in which some task waited for a disk.
    pub io_pressure: Option<f64>,
}

impl Summary {
    /// What a frame shows; best of one between two key frames.
    pub fn of(frame: &Frame) -> Self {
        Self::from(&Headline::of(frame))
    }

    /// The larger of each value of two; the known one where one is unknown.
    #[must_use]
    pub fn larger(&self, other: &Self) -> Self {
        let max = |a: Option<f64>, b: Option<f64>| [a, b].into_iter().flatten().max_by(f64::total_cmp);
        Self {
            busy: max(self.busy, other.busy),
            hottest_cpu: max(self.hottest_cpu, other.hottest_cpu),
            hottest_softirq: max(self.hottest_softirq, other.hottest_softirq),
            iowait: max(self.iowait, other.iowait),
            disk: max(self.disk, other.disk),
            nic: max(self.nic, other.nic),
            memory: max(self.memory, other.memory),
            memory_pressure: max(self.memory_pressure, other.memory_pressure),
            io_pressure: max(self.io_pressure, other.io_pressure),
        }
    }

    fn values(&self) -> [Option<f64>; 9] {
        [
            self.busy,
            self.hottest_cpu,
            self.hottest_softirq,
            self.iowait,
            self.disk,
            self.nic,
            self.memory,
            self.memory_pressure,
            self.io_pressure,
        ]
    }

    pub(crate) fn encode(&self) -> [u8; BYTES] {
        let mut out = [UNKNOWN; BYTES];
        for (byte, value) in out.iter_mut().zip(self.values()) {
            *byte =
                value.filter(|value| value.is_finite()).map_or(UNKNOWN, |value| (value.clamp(0.0, 1.0) * 254.0) as u8);
        }
        out
    }

    /// The values of bytes; those that are missing are unknown.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let value = |at: usize| bytes.get(at).filter(|&&byte| byte != UNKNOWN).map(|&byte| f64::from(byte) / 254.0);
        Self {
            busy: value(0),
            hottest_cpu: value(1),
            hottest_softirq: value(2),
            iowait: value(3),
            disk: value(4),
            nic: value(5),
            memory: value(6),
            memory_pressure: value(7),
            io_pressure: value(8),
        }
    }
}

impl From<&Headline> for Summary {
    fn from(headline: &Headline) -> Self {
        Self {
            busy: headline.busy,
            hottest_cpu: headline.hottest_cpu.map(|cpu| cpu.1),
            hottest_softirq: headline.hottest_softirq.map(|cpu| cpu.1),
            iowait: headline.iowait,
            disk: headline.disk,
            nic: headline.nic,
            memory: headline.memory,
            memory_pressure: headline.memory_pressure,
            io_pressure: headline.io_pressure,
        }
    }
}

/// The body of a key frame: its summary, a place for the judge's state, the codec's payload.
pub fn key_body(summary: &Summary, judge: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 + BYTES + 4 + judge.len() + payload.len());
    out.push(BYTES as u8);
    out.extend_from_slice(&summary.encode());
    out.extend_from_slice(&(judge.len() as u32).to_le_bytes());
    out.extend_from_slice(judge);
    out.extend_from_slice(payload);
    out
}

/// The parts of a key frame's body.
pub fn split_key(body: &[u8]) -> Option<(Summary, &[u8], &[u8])> {
    let (&size, rest) = body.split_first()?;
    let (summary, rest) = rest.split_at_checked(usize::from(size))?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (judge, payload) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((Summary::parse(summary), judge, payload))
}

#[cfg(test)]
mod tests {
    use super::{Summary, key_body, split_key};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_key_is_split_as_it_was_made(busy in 0.0f64..1.0, judge: Vec<u8>, payload: Vec<u8>) {
            let summary = Summary { busy: Some(busy), disk: Some(f64::NAN), ..Summary::default() };
            let body = key_body(&summary, &judge, &payload);
            let (back, state, rest) = split_key(&body).ok_or_else(|| TestCaseError::fail("a key"))?;
            prop_assert_eq!((state, rest), (&judge[..], &payload[..]));
            prop_assert!((back.busy.unwrap_or(-1.0) - busy).abs() < 0.005);
            prop_assert_eq!((back.disk, back.nic), (None, None));
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = split_key(&bytes);
        }
    }
}
