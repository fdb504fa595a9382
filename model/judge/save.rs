//! The judge's state as bytes: what a recording keeps at its key frames, so that seeking goes on judging from there.
//!
//! It is believed only where the rules and their limits are the same that wrote it.

mod bytes;
mod evidence;

use super::memory::Memory;
use super::state::{Key, State};
use super::{Judge, Settings};
use crate::Stamp;
use crate::rules::{self, Hit, Severity, Strength, Subject};
use bytes::{In, Out};
pub(crate) use evidence::word;
use std::collections::VecDeque;

/// The most bytes that a state takes in a recording.
pub const MAX_STATE: usize = 8 << 10;
/// The most that these bytes become.
const MAX_UNPACKED: usize = 512 << 10;
/// The form of the bytes.
const VERSION: u8 = 1;

/// A judge from a recording.
#[derive(Debug)]
pub struct Restored {
    /// It, as it was before the key frame's sample.
    pub judge: Judge,
    /// False where series were left out since they were too long: some samples before must be judged again.
    pub whole: bool,
}

/// What the rules and limits are, in a number.
pub fn fingerprint(settings: &Settings) -> u64 {
    let mut hash = rules::CODE;
    for ((rule, name), value) in &settings.thresholds {
        for bytes in [rule.as_bytes(), &[0], name.as_bytes(), &[0], &value.to_bits().to_le_bytes()] {
            hash = rules::hash(hash, bytes);
        }
    }
    hash
}

impl Judge {
    /// The state, the longest series left out where they take too much; nothing where that is still too much.
    pub fn save(&self) -> Vec<u8> {
        let Self { settings, states, memory, samples } = self;
        let mut series: Vec<_> = memory.series().collect();
        series.sort_by_key(|(rule, subject, values)| (std::cmp::Reverse(values.len()), *rule, *subject));
        let mut left_out = 0;
        loop {
            let mut out = Out::default();
            out.number(*samples);
            out.number(states.len() as u64);
            for (key, state) in states {
                put_state(&mut out, key, state);
            }
            let kept = series.get(left_out..).unwrap_or_default();
            out.number(kept.len() as u64);
            for (rule, subject, values) in kept {
                out.text(rule);
                out.text(&subject.to_string());
                put_series(&mut out, values);
            }
            let mut bytes = vec![VERSION, u8::from(left_out == 0)];
            bytes.extend_from_slice(&fingerprint(settings).to_le_bytes());
            let packed = Some(&out.bytes).filter(|bytes| bytes.len() <= MAX_UNPACKED);
            // Packing memory cannot fail.
            bytes.extend(packed.and_then(|bytes| zstd::bulk::compress(bytes, 1).ok()).unwrap_or_default());
            if packed.is_some() && bytes.len() <= MAX_STATE {
                return bytes;
            }
            if left_out == series.len() {
                return Vec::new();
            }
            // Half of what is left at a time: packing a hundred series a hundred times would take too long.
            left_out += (series.len() - left_out).div_ceil(2);
        }
    }

    /// The judge that bytes are the state of; none where other rules or limits wrote them, or they are damaged.
    pub fn restore(settings: &Settings, bytes: &[u8]) -> Option<Restored> {
        let (&[version, whole], rest) = bytes.split_first_chunk::<2>()?;
        let (written_by, packed) = rest.split_first_chunk::<8>()?;
        if version != VERSION || u64::from_le_bytes(*written_by) != fingerprint(settings) {
            return None;
        }
        let judge = Self::unpack(settings, &zstd::bulk::decompress(packed, MAX_UNPACKED).ok()?)?;
        Some(Restored { judge, whole: whole == 1 })
    }

    /// The judge of a state that is no longer compressed.
    pub fn unpack(settings: &Settings, bytes: &[u8]) -> Option<Self> {
        let mut input = In::new(bytes);
        let samples = input.number()?.min(u64::MAX / 2);
        let mut judge = Self { settings: settings.clone(), samples, ..Self::default() };
        for _ in 0..input.count()? {
            let (key, state) = state(&mut input)?;
            judge.states.insert(key, state);
        }
        let mut memory = Memory::default();
        for _ in 0..input.count()? {
            let rule = rules::find(input.text()?)?.id;
            let subject = Subject::parse(input.text()?)?;
            memory.put(rule, subject, series(&mut input)?);
        }
        judge.memory = memory;
        input.is_over().then_some(judge)
    }
}

fn put_state(out: &mut Out, key: &Key, state: &State) {
    let State { rule: _, met, clear, since, open, opened_ns, last_met_ns, now_ns, hit, severities } = state;
    out.text(&key.0);
    out.text(&key.1.to_string());
    for bits in [*met, *clear].iter().chain(severities) {
        out.number(u64::from(*bits));
    }
    out.number(u64::from(since.is_some()));
    if let Some(Stamp { seq, wall_ns, mono_ns, boot_ns }) = since {
        out.number(*seq);
        out.signed(*wall_ns);
        out.number(*mono_ns);
        out.number(*boot_ns);
    }
    out.number(u64::from(*open));
    out.option(*opened_ns);
    out.number(*last_met_ns);
    out.number(*now_ns);
    out.number(u64::from(hit.is_some()));
    if let Some(hit) = hit {
        put_hit(out, hit);
    }
}

fn state(input: &mut In<'_>) -> Option<(Key, State)> {
    let rule = rules::find(input.text()?)?;
    let subject = Subject::parse(input.text()?)?;
    let (met, clear) = (input.small()?, input.small()?);
    let severities = [input.small()?, input.small()?, input.small()?];
    let since = if input.flag()? {
        let (seq, wall_ns) = (input.number()?, input.signed()?);
        Some(Stamp { seq, wall_ns, mono_ns: input.number()?, boot_ns: input.number()? })
    } else {
        None
    };
    let open = input.flag()?;
    let opened_ns = if input.flag()? { Some(input.number()?) } else { None };
    let (last_met_ns, now_ns) = (input.number()?, input.number()?);
    let hit = if input.flag()? { Some(hit(input, subject.clone())?) } else { None };
    let state = State { rule: Some(rule), met, clear, since, open, opened_ns, last_met_ns, now_ns, hit, severities };
    Some((Key(rule.id, subject), state))
}

fn put_hit(out: &mut Out, hit: &Hit) {
    let Hit { subject: _, strength, severity, confidence, evidence, covers, would_hurt } = hit;
    out.number(u64::from(*would_hurt));
    out.number(u64::from(*strength == Strength::Stay));
    out.number(*severity as u64);
    out.float(*confidence);
    out.number(evidence.len() as u64);
    for evidence in evidence {
        evidence::put(out, evidence);
    }
    out.number(covers.len() as u64);
    for (rule, subject) in covers {
        out.text(rule);
        out.text(&subject.to_string());
    }
}

fn hit(input: &mut In<'_>, subject: Subject) -> Option<Hit> {
    let would_hurt = input.flag()?;
    let strength = if input.flag()? { Strength::Stay } else { Strength::Enter };
    let severity = match input.number()? {
        0 => Severity::Info,
        1 => Severity::Warning,
        2 => Severity::Critical,
        _ => return None,
    };
    let confidence = input.float()?;
    let mut evidence = Vec::new();
    for _ in 0..input.count()? {
        evidence.push(evidence::get(input)?);
    }
    let mut covers = Vec::new();
    for _ in 0..input.count()? {
        covers.push((rules::find(input.text()?)?.id, Subject::parse(input.text()?)?));
    }
    Some(Hit { subject, strength, severity, confidence, evidence, covers, would_hurt })
}

/// Steps of time, then values; those that are whole numbers as steps as well.
fn put_series(out: &mut Out, values: &VecDeque<(u64, f64)>) {
    let whole = values.iter().all(|(_, value)| value.fract() == 0.0 && value.abs() < 9e15);
    out.number(values.len() as u64);
    out.number(u64::from(whole));
    let (mut at, mut step, mut last) = (0i64, 0i64, 0i64);
    for (time, value) in values {
        let next = (*time as i64).wrapping_sub(at);
        out.signed(next.wrapping_sub(step));
        (at, step) = (*time as i64, next);
        if whole {
            out.signed(*value as i64 - last);
            last = *value as i64;
        } else {
            out.float(*value);
        }
    }
}

fn series(input: &mut In<'_>) -> Option<VecDeque<(u64, f64)>> {
    let count = input.count()?;
    let whole = input.flag()?;
    let mut values = VecDeque::new();
    let (mut at, mut step, mut last) = (0i64, 0i64, 0i64);
    for _ in 0..count {
        step = step.wrapping_add(input.signed()?);
        at = at.wrapping_add(step);
        let value = if whole {
            last = last.wrapping_add(input.signed()?);
            last as f64
        } else {
            input.float()?
        };
        values.push_back((at as u64, value));
    }
    Some(values)
}

#[cfg(test)]
mod tests;
