//! Resources over many samples: the summary of a whole test.

use super::{Resource, ResourceKind, Resources, Verdict};
use std::collections::BTreeMap;

/// The samples of one resource.
#[derive(Clone, Debug, Default)]
struct ResourceTally {
    /// Samples by verdict: has headroom, unknown, limiting.
    counts: [u64; 3],
    /// The fullest sample of each verdict.
    most: [Option<Resource>; 3],
    /// The newest sample without rates.
    early: Option<Resource>,
}

/// Resources summed up over samples.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    resources: BTreeMap<ResourceKind, ResourceTally>,
}

impl Tally {
    /// Adds the resources of a sample; `rates` is false for one without rates.
    pub fn take(&mut self, resources: &Resources, rates: bool) {
        for resource in resources.iter() {
            let tally = self.resources.entry(resource.kind).or_default();
            if !rates && resource.verdict == Verdict::Unknown {
                tally.early = Some(resource.clone());
                continue;
            }
            let at = resource.verdict as usize;
            if let Some(count) = tally.counts.get_mut(at) {
                *count += 1;
            }
            let key =
                |resource: &Resource| (resource.rule.map(|(_, severity)| severity), resource.share.unwrap_or(0.0));
            if let Some(most) = tally.most.get_mut(at) {
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

    /// The resources of the whole time: limiting if a finding made them so at any time or in most samples, else as in most
    /// samples; each as in its fullest sample.
    pub fn resources(&self) -> Resources {
        ResourceKind::ALL
            .iter()
            .filter_map(|kind| self.resources.get(kind))
            .filter_map(ResourceTally::resource)
            .collect()
    }

    /// Samples in which a resource was limiting, and all samples of it.
    pub fn limiting_in(&self, kind: ResourceKind) -> (u64, u64) {
        let counts = self.resources.get(&kind).map_or([0; 3], |tally| tally.counts);
        let [_, _, limiting] = counts;
        (limiting, counts.iter().sum())
    }
}

impl ResourceTally {
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
