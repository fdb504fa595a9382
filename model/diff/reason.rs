//! Why a verdict is not decided, and what is said of a window that was not used whole.

use crate::locale::diff::reason as text;
use crate::text::printable;
use std::sync::Arc;

/// Why something is not decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// A side has too few valid samples.
    TooFew {
        /// The fewer of both.
        samples: u64,
    },
    /// The noise is larger than what is worth a word.
    Noise {
        /// Half the width of the 95 % interval, in the metric's own unit.
        half: f64,
        /// Samples per side that would decide; the largest number where no advice makes sense.
        samples: u64,
    },
    /// A slope that both windows have leads from one to the other.
    Trend,
    /// The level changed inside of a window by as much.
    LevelShift,
    /// The load ended in the window, and too little of it is left.
    LoadEnded {
        /// True in the window after.
        after: bool,
    },
    /// Hardly anything is left of the load at the end of a window.
    LoadGone {
        /// True in the window after.
        after: bool,
    },
    /// The load ended before enough was measured after the undo.
    EndedUndone,
    /// Nothing measures the load.
    NoLoad,
    /// Nothing measured the load on one side.
    NoLoadOn {
        /// True in the window after.
        after: bool,
    },
    /// The load was zero before.
    Idle,
    /// Processes that are not the load's use more or less CPU than before.
    Foreign {
        /// The one that differs most; hostile.
        name: Arc<str>,
        /// Cores, after − before.
        cores: f64,
    },
    /// Processes that are not the load's read or write.
    ForeignBytes {
        /// The one that differs most; hostile.
        name: Arc<str>,
        /// Bytes per second, after − before.
        bytes: f64,
    },
    /// An interface that the other side does not use carries packets.
    ForeignPackets {
        /// The interface; hostile.
        name: Arc<str>,
        /// Packets per second, after − before.
        rate: f64,
    },
    /// Cores were slowed down for heat on one side only.
    Throttled {
        /// True in the window after.
        more: bool,
    },
    /// The hypervisor takes more or less CPU time than before.
    Steal {
        /// Share of time, after − before.
        points: f64,
    },
    /// Requests are larger or smaller than before.
    Mix {
        /// Bytes per unit of work, after as a multiple of before.
        ratio: f64,
    },
    /// Nothing waited before, and a unit of work costs the same: more load was offered.
    Offered,
    /// A cost per unit of work where the work differs by so much.
    Work {
        /// After as a multiple of before.
        ratio: f64,
    },
}

impl Reason {
    /// Its name in documents.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TooFew { .. } => "too_few_samples",
            Self::Noise { .. } => "noise",
            Self::Trend => "trend",
            Self::LevelShift => "level_shift",
            Self::LoadEnded { .. } | Self::LoadGone { .. } | Self::EndedUndone => "load_ended",
            Self::NoLoad => "no_load_metric",
            Self::NoLoadOn { .. } => "no_load_measured",
            Self::Idle => "no_load_before",
            Self::Foreign { .. } => "foreign_cpu",
            Self::ForeignBytes { .. } => "foreign_io",
            Self::ForeignPackets { .. } => "foreign_packets",
            Self::Throttled { .. } => "thermal_throttling",
            Self::Steal { .. } => "steal",
            Self::Mix { .. } => "mix_changed",
            Self::Offered => "more_load_offered",
            Self::Work { .. } => "work_differs",
        }
    }

    /// The reason in words; `value` writes a number of the metric with its unit.
    pub fn text(&self, value: impl Fn(f64) -> String) -> String {
        match self {
            Self::TooFew { samples } => text::TooFew { count: *samples }.to_string(),
            Self::Noise { half, samples: u64::MAX } => text::Noise { half: &value(*half) }.to_string(),
            Self::Noise { half, samples } => text::NoiseSamples { half: &value(*half), samples: &samples }.to_string(),
            Self::Trend => text::TREND.to_string(),
            Self::LevelShift => text::LEVEL_SHIFT.to_string(),
            Self::LoadEnded { after: false } => text::LOAD_ENDED_BEFORE.to_string(),
            Self::LoadEnded { after: true } => text::LOAD_ENDED_AFTER.to_string(),
            Self::LoadGone { after: false } => text::LOAD_GONE_BEFORE.to_string(),
            Self::LoadGone { after: true } => text::LOAD_GONE_AFTER.to_string(),
            Self::EndedUndone => text::LOAD_ENDED_UNDONE.to_string(),
            Self::NoLoad => text::NO_LOAD.to_string(),
            Self::NoLoadOn { after: false } => text::NO_LOAD_BEFORE.to_string(),
            Self::NoLoadOn { after: true } => text::NO_LOAD_AFTER.to_string(),
            Self::Idle => text::IDLE.to_string(),
            Self::Foreign { name, cores } if *cores > 0.0 => {
                text::ForeignCame { name: &printable(name), cores: &format!("{cores:.1}") }.to_string()
            }
            Self::Foreign { name, cores } => {
                text::ForeignLeft { name: &printable(name), cores: &format!("{:.1}", -cores) }.to_string()
            }
            Self::ForeignBytes { name, bytes } => {
                text::ForeignBytes { name: &printable(name), rate: &format!("{:+.0}", bytes / f64::from(1 << 20)) }
                    .to_string()
            }
            Self::ForeignPackets { name, rate } => {
                text::ForeignPackets { name: &printable(name), rate: &format!("{rate:+.0}") }.to_string()
            }
            Self::Throttled { more: true } => text::THROTTLED_AFTER.to_string(),
            Self::Throttled { more: false } => text::THROTTLED_BEFORE.to_string(),
            Self::Steal { points } => text::Steal { points: &format!("{:+.0}", points * 100.0) }.to_string(),
            Self::Mix { ratio } => text::Mix { change: &percent(*ratio) }.to_string(),
            Self::Offered => text::OFFERED.to_string(),
            Self::Work { ratio } => text::Work { change: &percent(*ratio) }.to_string(),
        }
    }
}

/// A multiple as a change: `+40%`.
fn percent(ratio: f64) -> String {
    format!("{:+.0}%", (ratio - 1.0) * 100.0)
}
