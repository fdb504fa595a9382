//! Resources over many samples: what they say of a whole test.

use super::{Resource, ResourceKind, Resources, Verdict};
use std::collections::BTreeMap;

/// What was seen of one resource.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Samples by verdict: has headroom, unknown, limiting.
    counts: [u64; 3],
    /// The fullest of each verdict.
    most: [Option<Resource>; 3],
    /// The newest that could not be measured for want of a second sample.
    early: Option<Resource>,
}

/// Resources added up over samples.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    seen: BTreeMap<ResourceKind, Seen>,
}

impl Tally {
    /// Takes in the resources of a sample; `rates` is false for one without rates.
    pub fn take(&mut self, resources: &Resources, rates: bool) {
        for resource in resources.iter() {
            let seen = self.seen.entry(resource.kind).or_default();
            if !rates && resource.verdict == Verdict::Unknown {
                seen.early = Some(resource.clone());
                continue;
            }
            let at = resource.verdict as usize;
            if let Some(count) = seen.counts.get_mut(at) {
                *count += 1;
            }
            let key =
                |resource: &Resource| (resource.rule.map(|(_, severity)| severity), resource.share.unwrap_or(0.0));
            if let Some(most) = seen.most.get_mut(at) {
                let beats = most.as_ref().is_none_or(|known| {
                    let (old, new) = (key(known), key(resource));
                    new.0.cmp(&old.0).then(new.1.total_cmp(&old.1)).is_ge()
                });
                if beats {
                    *most = Some(resource.clone());
                }
            }
        }
    }

    /// The resources of the whole time: limiting where a finding said so at any time or most samples did, else as in most
    /// samples; each as it was when it was fullest.
    pub fn resources(&self) -> Resources {
        ResourceKind::ALL.iter().filter_map(|kind| self.seen.get(kind)).filter_map(Seen::resource).collect()
    }

    /// In how many samples a resource was limiting, and in how many it was looked at.
    pub fn limiting_in(&self, kind: ResourceKind) -> (u64, u64) {
        let seen = self.seen.get(&kind);
        let [_, _, limiting] = seen.map_or([0; 3], |seen| seen.counts);
        (limiting, seen.map_or(0, |seen| seen.counts.iter().sum()))
    }
}

impl Seen {
    fn resource(&self) -> Option<Resource> {
        let [headroom, unknown, limiting] = self.counts;
        let blamed = self.most.get(2).and_then(Option::as_ref).is_some_and(|resource| resource.rule.is_some());
        let at = match () {
            () if blamed || (limiting > 0 && limiting >= headroom && limiting >= unknown) => 2,
            () if unknown > 0 && unknown >= headroom => 1,
            () if headroom > 0 => 0,
            () => return self.early.clone(),
        };
        self.most.get(at).cloned().flatten()
    }
}
