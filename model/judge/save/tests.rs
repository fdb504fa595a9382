//! A judge goes on after it was saved as if it had not been.

use super::{MAX_STATE, fingerprint};
use crate::judge::state::{Key, State};
use crate::judge::{Judge, Settings};
use crate::rules::{self, Cell, Evidence, Figure, Grid, Hit, Severity, Strength, Subject};
use proptest::prelude::*;

/// A judge that knows as much as asked for, of values in any state.
fn judge(states: usize, series: usize, values: usize, seed: u64) -> Judge {
    let mut judge = Judge::new(Settings::default());
    let noise = |n: usize| (seed ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for at in 0..states {
        let subject = match at % 3 {
            0 => Subject::Cpu(at as u32),
            1 => Subject::Process(at as u32, noise(at)),
            _ => Subject::Cgroup(format!("/{}/ä{at}", noise(at)).into()),
        };
        let rule = rules::ALL[at % rules::ALL.len()];
        let number =
            Evidence { name: "busy", value: Figure::Number(0.1 * at as f64), unit: "fraction", source: "/proc/stat" };
        let text =
            Evidence { name: "who", value: Figure::Text(noise(at).to_string().into()), unit: "", source: "/proc" };
        let grid = Grid::new([("max", "cores"), ("now", "")])
            .row("n", [Cell::Number(0.5), Cell::text("ü")])
            .row("m", [Cell::None]);
        let table =
            Evidence { name: "table", value: Figure::Table(std::sync::Arc::new(grid)), unit: "", source: "/sys" };
        let hit = Hit {
            strength: if at % 2 == 0 { Strength::Enter } else { Strength::Stay },
            severity: [Severity::Info, Severity::Warning, Severity::Critical][at % 3],
            evidence: vec![number, text, table],
            covers: vec![(crate::rules::softirq_saturated::ID, Subject::Host)],
            ..Hit::new(subject.clone(), 0.7)
        };
        let state = State {
            rule: Some(rule),
            met: noise(at) as u32,
            clear: at as u32,
            since: (at % 2 == 0).then(|| crate::Stamp { seq: 7, wall_ns: -1, mono_ns: noise(at), boot_ns: 9 }),
            open: at % 2 == 0,
            opened_ns: (at % 3 == 0).then_some(noise(at)),
            last_met_ns: noise(at + 1),
            now_ns: 1,
            hit: (at % 5 != 4).then_some(hit),
            severities: [1, 2, u32::MAX],
        };
        judge.states.insert(Key(rule.id, subject), state);
    }
    for at in 0..series {
        let other = |n: usize| noise(n + 1000 * at);
        let value = |n: usize| if at % 2 == 0 { (other(n) >> 30) as f64 } else { 1.0 / (n + 1) as f64 };
        let values = (0..values).map(|n| (n as u64 * 1_000_000_000 + (other(n) >> 44), value(n))).collect();
        judge.memory.put(crate::rules::cgroup_time_to_limit::ID, Subject::Cgroup(format!("/{at}").into()), values);
    }
    judge.samples = seed % 1000;
    judge
}

#[test]
fn an_empty_one_takes_next_to_nothing() {
    let bytes = Judge::default().save();
    assert!(bytes.len() < 32, "{} bytes", bytes.len());
    assert!(Judge::restore(&Settings::default(), &bytes).is_some());
}

#[test]
fn other_rules_and_other_limits_are_not_believed() {
    let thresholds = [(("CPU-01".to_owned(), "busy".to_owned()), 0.6)].into_iter().collect();
    let others = Settings { thresholds };
    let bytes = judge(3, 1, 10, 5).save();
    assert!(Judge::restore(&Settings::default(), &bytes).is_some());
    assert!(Judge::restore(&others, &bytes).is_none());
    assert_ne!(fingerprint(&others), fingerprint(&Settings::default()));
}

#[test]
fn twenty_noisy_groups_of_ten_minutes_fit_and_a_thousand_are_left_out() {
    let judge = |states, series, values| judge(states, series, values, 3);
    let much = judge(40, 20, 600);
    let bytes = much.save();
    assert!(!bytes.is_empty() && bytes.len() <= MAX_STATE, "{} bytes", bytes.len());
    let back = Judge::restore(&Settings::default(), &bytes).expect("restored");
    assert_eq!(format!("{back:?}"), format!("{much:?}"));
    assert!(judge(0, 1000, 600).save().is_empty());
}

#[test]
fn numbers_that_json_does_not_have_come_back() {
    let mut judge = judge(1, 0, 0, 3);
    for state in judge.states.values_mut() {
        let hit = state.hit.as_mut().expect("a hit");
        hit.evidence[0].value = Figure::Number(f64::NEG_INFINITY);
        hit.confidence = f64::NAN;
    }
    let back = Judge::restore(&Settings::default(), &judge.save()).expect("restored");
    assert_eq!(format!("{back:?}"), format!("{judge:?}"));
}

proptest! {
    #[test]
    fn it_comes_back_as_it_was(states in 0usize..12, series in 0usize..3, values in 0usize..120, seed: u64) {
        let judge = judge(states, series, values, seed);
        let bytes = judge.save();
        prop_assert!(bytes.len() <= MAX_STATE);
        let back = Judge::restore(&Settings::default(), &bytes).ok_or_else(|| TestCaseError::fail("restored"))?;
        prop_assert_eq!(format!("{back:?}"), format!("{judge:?}"));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), at: usize, to: u8, cut: usize) {
        let settings = Settings::default();
        let _ = Judge::restore(&settings, &bytes);
        if let Some(mut judge) = Judge::unpack(&settings, &bytes) {
            judge.step(&crate::frame::Frame::default());
        }
        // With the right beginning they are looked at.
        let mut head = Judge::default().save();
        head.truncate(9);
        let packed = zstd::bulk::compress(&bytes, 1).unwrap_or_default();
        if let Some(mut restored) = Judge::restore(&settings, &[head, packed].concat()) {
            restored.step(&crate::frame::Frame::default());
        }
        let mut saved = judge(5, 2, 20, 1).save();
        let at = at % saved.len();
        saved[at] = to;
        saved.truncate(cut % (saved.len() * 2));
        if let Some(mut restored) = Judge::restore(&settings, &saved) {
            restored.step(&crate::frame::Frame::default());
        }
    }
}
