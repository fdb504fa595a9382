//! Memory bandwidth through resctrl: what is used is known, its capacity is not, so it never limits.

use super::resource::Member;
use super::{Inputs, ResourceKind};
use crate::locale::resource::note;
use crate::rules::Subject;
use std::sync::Arc;

const KIND: ResourceKind = ResourceKind::Bandwidth;

pub(super) fn bandwidth(inputs: &Inputs<'_>) -> Vec<Member> {
    let rows = &inputs.frame.memory_bandwidth;
    let used = rows.iter().filter_map(|row| Some((row.bytes_per_second.filter(|rate| rate.is_finite())?, row.l3)));
    match used.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((rate, l3)) => {
            let member = Member::unknown(KIND, note::CAPACITY_UNMEASURED, false);
            let member = member.about(Subject::Host, &Arc::from(format!("L3 {l3}").as_str()));
            vec![member.of(Some(rate), None, "bytes/s")]
        }
        None if rows.is_empty() => vec![Member::unknown(KIND, note::NO_RESCTRL, false)],
        None => vec![inputs.unmeasured(KIND, true, false)],
    }
}
