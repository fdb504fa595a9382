//! Answers over many samples: the summary of a whole test.

use super::{Bottleneck, Confidence, Outcome, ResourceKind, Resources};
use crate::rules::Subject;

/// Different answers that are counted.
const MOST: usize = 64;

/// The answers of a test, and the resources at its end.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    answers: Vec<(Bottleneck, u64)>,
    last: Bottleneck,
    resources: Resources,
}

impl Tally {
    /// Adds the answer of a sample.
    pub fn take(&mut self, bottleneck: &Bottleneck, resources: &Resources) {
        self.last = bottleneck.clone();
        self.resources = resources.clone();
        if bottleneck.is_collecting() {
            return;
        }
        if let Some((known, count)) = self.answers.iter_mut().find(|(known, _)| known.is_same(bottleneck)) {
            // An answer stands for some samples longer than its resource is full: the figures are those of the fullest.
            if share(bottleneck) >= share(known) {
                *known = bottleneck.clone();
            }
            *count += 1;
        } else if self.answers.len() < MOST {
            self.answers.push((bottleneck.clone(), 1));
        }
    }

    /// The answer at the end.
    pub fn last(&self) -> &Bottleneck {
        &self.last
    }

    /// The resources at the end.
    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// Every answer with the number of samples that it stood for, in the order of their first.
    pub fn answers(&self) -> &[(Bottleneck, u64)] {
        &self.answers
    }

    /// True if something limited at any time, and not only by elimination.
    pub fn was_limited(&self) -> bool {
        self.answers.iter().any(|(answer, _)| answer.is_limit() && answer.confidence > Confidence::Low)
    }
}

fn share(answer: &Bottleneck) -> Option<f64> {
    answer.resource.as_ref().and_then(|resource| resource.share)
}

impl Bottleneck {
    /// True if both name the same resource of the same subject, whatever their figures.
    pub fn is_same(&self, other: &Self) -> bool {
        key(self) == key(other)
    }
}

/// What makes two answers the same; threads of one name are one after the other.
fn key(answer: &Bottleneck) -> (Outcome, Option<ResourceKind>, Option<&Subject>, Option<&str>) {
    let resource = answer.resource.as_ref();
    let kind = resource.map(|resource| resource.kind);
    let subject = resource.and_then(|resource| resource.subject.as_ref());
    let name = resource.map(|resource| &*resource.name);
    (answer.verdict, kind, subject.filter(|_| kind != Some(ResourceKind::Thread)), name)
}
