//! What the decision about the bottleneck remembers, as JSON arrays.

use super::form::Number;
use crate::Stamp;
use crate::bottleneck::{Held, Outcome, ResourceKind, State, Turns, Window};
use crate::rules::Subject;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Entries of each list: more were never written.
const MOST: usize = 4096;

type StampForm = (u64, i64, u64, u64);
/// Bits, limiting, since.
type WindowForm = (u16, bool, StampForm);
/// Verdict, kind and subject of the resource, since, last change.
type HeldForm = (String, Option<(String, String)>, StampForm, Option<u64>);

#[derive(Serialize, Deserialize)]
pub(super) struct LimitsForm {
    samples: u64,
    windows: Vec<(String, String, WindowForm)>,
    blocked: Vec<(u32, u64, Number)>,
    blocked_host: Number,
    quiet_ms: Vec<(String, Number)>,
    #[serde(default)]
    interrupts: Vec<(u32, Number)>,
    #[serde(default)]
    refaults: Vec<(String, Number)>,
    #[serde(default)]
    turns: Vec<(u32, u64, Number)>,
    /// Of the same processes, in this order: moments with one runnable process below them, with several, samples.
    #[serde(default)]
    moments: Vec<(Number, Number, u32)>,
    #[serde(default)]
    hot: Vec<(u32, u64)>,
    busy: WindowForm,
    suspects: Vec<(String, WindowForm)>,
    held: Option<HeldForm>,
}

impl LimitsForm {
    /// None where nothing was seen yet.
    pub(super) fn of(state: &State) -> Option<Self> {
        if *state == State::default() {
            return None;
        }
        let State {
            samples,
            windows,
            blocked,
            blocked_host,
            quiet_ms,
            interrupts,
            refaults,
            turns,
            hot,
            busy,
            suspects,
            held,
        } = state;
        let windows = windows.iter();
        Some(Self {
            samples: *samples,
            windows: windows
                .map(|((kind, subject), window)| (kind.name().to_owned(), subject.to_string(), window_form(window)))
                .collect(),
            blocked: blocked.iter().map(|((pid, start), share)| (*pid, *start, (*share).into())).collect(),
            blocked_host: (*blocked_host).into(),
            quiet_ms: quiet_ms.iter().map(|(name, ms)| (name.to_string(), (*ms).into())).collect(),
            interrupts: interrupts.iter().map(|(cpu, share)| (*cpu, (*share).into())).collect(),
            refaults: refaults.iter().map(|(path, rate)| (path.to_string(), (*rate).into())).collect(),
            turns: turns.iter().map(|((pid, start), own)| (*pid, *start, own.cores.into())).collect(),
            moments: turns.values().map(|own| (own.one.into(), own.several.into(), own.samples)).collect(),
            hot: hot.iter().map(|(cpu, last)| (*cpu, *last)).collect(),
            busy: window_form(busy),
            suspects: suspects.iter().map(|(kind, window)| (kind.name().to_owned(), window_form(window))).collect(),
            held: held.as_ref().map(held_form),
        })
    }

    pub(super) fn state(self) -> Option<State> {
        let mut state = State { samples: self.samples.min(u64::MAX / 2), ..State::default() };
        for (kind, subject, form) in self.windows.into_iter().take(MOST) {
            state.windows.insert((ResourceKind::find(&kind)?, Subject::parse(&subject)?), window(form));
        }
        let blocked = self.blocked.into_iter().take(MOST);
        state.blocked = blocked.map(|(pid, start, share)| ((pid, start), share.into())).collect();
        state.blocked_host = self.blocked_host.into();
        let named = |list: Vec<(String, Number)>| -> BTreeMap<Arc<str>, f64> {
            list.into_iter().take(MOST).map(|(name, value)| (name.into(), value.into())).collect()
        };
        (state.quiet_ms, state.refaults) = (named(self.quiet_ms), named(self.refaults));
        state.interrupts = self.interrupts.into_iter().take(MOST).map(|(cpu, share)| (cpu, share.into())).collect();
        let moments = self.moments.into_iter().map(Some).chain(std::iter::repeat(None));
        let turns = self.turns.into_iter().take(MOST).zip(moments);
        state.turns = turns
            .map(|((pid, start, cores), moments)| {
                let turns = Turns { cores: cores.into(), ..Turns::default() };
                let seen = moments.map(|(one, several, samples)| (one.into(), several.into(), samples));
                let (one, several, samples) = seen.unwrap_or_default();
                ((pid, start), Turns { one, several, samples, ..turns })
            })
            .collect();
        state.hot = self.hot.into_iter().take(MOST).collect();
        state.busy = window(self.busy);
        for (kind, form) in self.suspects {
            state.suspects.insert(ResourceKind::find(&kind)?, window(form));
        }
        state.held = match self.held {
            Some(form) => Some(held(form)?),
            None => None,
        };
        Some(state)
    }
}

fn window_form(Window { bits, limiting, since }: &Window) -> WindowForm {
    (*bits, *limiting, stamp_form(since))
}

fn window((bits, limiting, since): WindowForm) -> Window {
    Window { bits, limiting, since: stamp(since) }
}

fn held_form(Held { outcome, resource, since, changed_ns }: &Held) -> HeldForm {
    let resource = resource.as_ref().map(|(kind, subject)| (kind.name().to_owned(), subject.to_string()));
    (outcome.name().to_owned(), resource, stamp_form(since), *changed_ns)
}

fn held((outcome, resource, since, changed_ns): HeldForm) -> Option<Held> {
    let outcome = Outcome::ALL.into_iter().find(|known| known.name() == outcome)?;
    let resource = match resource {
        Some((kind, subject)) => Some((ResourceKind::find(&kind)?, Subject::parse(&subject)?)),
        None => None,
    };
    Some(Held { outcome, resource, since: stamp(since), changed_ns })
}

fn stamp_form(Stamp { seq, wall_ns, mono_ns, boot_ns }: &Stamp) -> StampForm {
    (*seq, *wall_ns, *mono_ns, *boot_ns)
}

fn stamp((seq, wall_ns, mono_ns, boot_ns): StampForm) -> Stamp {
    Stamp { seq, wall_ns, mono_ns, boot_ns }
}
