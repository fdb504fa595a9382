//! The judge's state as bytes: what a recording has at its key frames, so that a jump goes on judging from there.
//!
//! It cannot be judged again in the time that a jump may take: a finding may have been open for hours, a latched one
//! stays for half an hour, and rules compare with ten minutes of values. It is used only by the version that wrote it,
//! with the same limits.

mod form;
mod limits;

use super::{Judge, Settings};
pub(crate) use form::word;

/// The most bytes that a state takes in a recording: some hundred groups of which every sample is remembered.
pub const MAX_STATE: usize = 256 << 10;
/// The most that these bytes become.
const MAX_UNPACKED: usize = 8 << 20;
/// The most values of series: more take too long to write between two samples.
const MAX_VALUES: usize = 1 << 17;
/// The form of the bytes.
const VERSION: u8 = 3;

/// The version of the rules and the limits, in a number (FNV-1a).
pub fn fingerprint(settings: &Settings) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
    for ((rule, name), value) in &settings.thresholds {
        add(rule.as_bytes());
        add(name.as_bytes());
        add(&value.to_bits().to_le_bytes());
    }
    hash
}

impl Judge {
    /// The state; nothing where it takes too much.
    pub fn save(&self) -> Vec<u8> {
        let values: usize = self.memory.series().map(|(_, _, values)| values.len()).sum();
        let text = if values > MAX_VALUES { Vec::new() } else { form::write(self) };
        // Packing memory cannot fail.
        let packed = zstd::bulk::compress(&text, 1).unwrap_or_default();
        let bytes = [&[VERSION][..], &fingerprint(&self.settings).to_le_bytes(), &packed].concat();
        let fits = !text.is_empty() && text.len() <= MAX_UNPACKED && bytes.len() <= MAX_STATE;
        if fits { bytes } else { Vec::new() }
    }

    /// The judge of a state; none where another version or other limits wrote it, or it is damaged.
    pub fn restore(settings: &Settings, bytes: &[u8]) -> Option<Self> {
        let (&version, rest) = bytes.split_first()?;
        let (written_by, packed) = rest.split_first_chunk::<8>()?;
        if version != VERSION || u64::from_le_bytes(*written_by) != fingerprint(settings) {
            return None;
        }
        Self::unpack(settings, &zstd::bulk::decompress(packed, MAX_UNPACKED).ok()?)
    }

    /// The judge of a state that is no longer compressed.
    pub fn unpack(settings: &Settings, text: &[u8]) -> Option<Self> {
        form::read(settings, text)
    }
}

#[cfg(test)]
mod tests;
