//! The block that a recording begins with.

use super::{Error, VERSION};
use serde::{Deserialize, Serialize};

/// Bytes of the header block.
pub const HEADER_BYTES: usize = 4096;
const MAGIC: &[u8; 8] = b"topotop\x1a";
/// Bytes before the text: magic, version, length of the text, segment size, checksum.
const FIXED: usize = 28;
/// The longest host name and other words of it, in bytes.
const MAX_WORD: usize = 256;

/// What was recorded, as far as it never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Program and version that wrote it.
    pub program: String,
    /// The machine's name, or a stand-in.
    pub host: String,
    /// The kernel's release.
    pub kernel: String,
    /// Its architecture.
    pub arch: String,
    /// `/proc/sys/kernel/random/boot_id`: recordings of one boot share a monotonic clock.
    pub boot_id: String,
    /// Configured time between samples in ns.
    pub interval_ns: u64,
    /// Wall time of the start in ns since 1970.
    pub started_wall_ns: i64,
    /// True if names are stand-ins.
    pub anonymised: bool,
    /// Configured capacity by interface in Mbit/s: part of what frames are derived from.
    pub nic_capacity_mbps: Vec<(String, u64)>,
}

impl About {
    /// With texts cut to what the header has room for.
    fn bounded(&self) -> Self {
        let cut = |text: &str| {
            let end = (0..=text.len().min(MAX_WORD)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
            text.get(..end).unwrap_or_default().to_owned()
        };
        let capacities = self.nic_capacity_mbps.iter().take(16).map(|(nic, mbps)| (cut(nic), *mbps));
        Self {
            program: cut(&self.program),
            host: cut(&self.host),
            kernel: cut(&self.kernel),
            arch: cut(&self.arch),
            boot_id: cut(&self.boot_id),
            nic_capacity_mbps: capacities.collect(),
            ..self.clone()
        }
    }
}

/// The header block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Bytes of a segment's slot; zero for a stream, which is one endless segment.
    pub segment_bytes: u64,
    /// What was recorded.
    pub about: About,
}

impl Header {
    /// The block. What does not fit into it is left out rather than cut in the middle.
    pub fn encode(&self) -> Vec<u8> {
        // Serialising numbers and texts cannot fail.
        let mut text = serde_json::to_vec(&self.about.bounded()).unwrap_or_default();
        if text.len() > HEADER_BYTES - FIXED {
            let about = About { nic_capacity_mbps: Vec::new(), ..self.about.bounded() };
            text = serde_json::to_vec(&about).unwrap_or_default();
        }
        text.truncate(HEADER_BYTES - FIXED);
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.segment_bytes.to_le_bytes());
        let mut crc = crc32fast::Hasher::new();
        crc.update(&out);
        crc.update(&text);
        out.extend_from_slice(&crc.finalize().to_le_bytes());
        out.extend_from_slice(&text);
        out.resize(HEADER_BYTES, 0);
        out
    }

    /// True for the first bytes of a recording, of whatever version.
    pub fn starts(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// The header of a block.
    pub fn parse(block: &[u8]) -> Result<Self, Error> {
        let word = |at: usize| Some(u32::from_le_bytes(block.get(at..at + 4)?.try_into().ok()?));
        if !block.starts_with(MAGIC) {
            return Err(Error::Foreign);
        }
        let version = word(8).ok_or(Error::Header)?;
        if !(1..=VERSION).contains(&version) {
            return Err(Error::Later(version));
        }
        let length = word(12).ok_or(Error::Header)? as usize;
        let segment = block.get(16..24).and_then(|part| part.try_into().ok()).ok_or(Error::Header)?;
        let text = block.get(FIXED..).and_then(|rest| rest.get(..length)).ok_or(Error::Header)?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(block.get(..FIXED - 4).ok_or(Error::Header)?);
        crc.update(text);
        if word(FIXED - 4) != Some(crc.finalize()) {
            return Err(Error::Header);
        }
        let about = serde_json::from_slice(text).map_err(|_| Error::Header)?;
        Ok(Self { segment_bytes: u64::from_le_bytes(segment), about })
    }
}

#[cfg(test)]
mod tests {
    use super::{About, HEADER_BYTES, Header};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_header_fits_and_comes_back(host: String, program: String, segment_bytes: u64, nics in 0u64..40) {
            let nic_capacity_mbps = (0..nics).map(|nic| (format!("{host}{nic}"), nic)).collect();
            let about = About { program, host, nic_capacity_mbps, ..About::default() };
            let block = Header { segment_bytes, about: about.clone() }.encode();
            prop_assert_eq!(block.len(), HEADER_BYTES);
            let back = Header::parse(&block)?;
            prop_assert_eq!(back.segment_bytes, segment_bytes);
            prop_assert!(about.host.starts_with(&back.about.host));
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, at in 0usize..40, to: u8) {
            let _ = Header::parse(&bytes);
            let mut block = Header::default().encode();
            block[at] = to;
            let _ = Header::parse(&block);
        }
    }
}
