//! Staves over many samples: what they say of a whole test.

use super::{Kind, Stave, Staves, Verdict};
use std::collections::BTreeMap;

/// What was seen of one stave.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Samples by verdict: ruled out, unknown, guilty.
    counts: [u64; 3],
    /// The fullest of each verdict.
    most: [Option<Stave>; 3],
    /// The newest that could not be measured for want of a second sample.
    early: Option<Stave>,
}

/// Staves added up over samples.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    seen: BTreeMap<Kind, Seen>,
}

impl Tally {
    /// Takes in the staves of a sample; `rates` is false for one without rates.
    pub fn take(&mut self, staves: &Staves, rates: bool) {
        for stave in staves.iter() {
            let seen = self.seen.entry(stave.kind).or_default();
            if !rates && stave.verdict == Verdict::Unknown {
                seen.early = Some(stave.clone());
                continue;
            }
            let at = stave.verdict as usize;
            if let Some(count) = seen.counts.get_mut(at) {
                *count += 1;
            }
            let key = |stave: &Stave| (stave.rule.map(|(_, severity)| severity), stave.share.unwrap_or(0.0));
            if let Some(most) = seen.most.get_mut(at) {
                let beats = most.as_ref().is_none_or(|known| {
                    let (old, new) = (key(known), key(stave));
                    new.0.cmp(&old.0).then(new.1.total_cmp(&old.1)).is_ge()
                });
                if beats {
                    *most = Some(stave.clone());
                }
            }
        }
    }

    /// The staves of the whole time: guilty where a finding said so at any time or most samples did, else as in most
    /// samples; each as it was when it was fullest.
    pub fn staves(&self) -> Staves {
        Kind::ALL.iter().filter_map(|kind| self.seen.get(kind)).filter_map(Seen::stave).collect()
    }

    /// In how many samples a stave was guilty, and in how many it was looked at.
    pub fn guilty_in(&self, kind: Kind) -> (u64, u64) {
        let seen = self.seen.get(&kind);
        let [_, _, guilty] = seen.map_or([0; 3], |seen| seen.counts);
        (guilty, seen.map_or(0, |seen| seen.counts.iter().sum()))
    }
}

impl Seen {
    fn stave(&self) -> Option<Stave> {
        let [ruled_out, unknown, guilty] = self.counts;
        let blamed = self.most.get(2).and_then(Option::as_ref).is_some_and(|stave| stave.rule.is_some());
        let at = match () {
            () if blamed || (guilty > 0 && guilty >= ruled_out && guilty >= unknown) => 2,
            () if unknown > 0 && unknown >= ruled_out => 1,
            () if ruled_out > 0 => 0,
            () => return self.early.clone(),
        };
        self.most.get(at).cloned().flatten()
    }
}
