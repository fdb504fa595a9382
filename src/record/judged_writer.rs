//! Judges samples as they go into the recording: anonymised where they are, so that findings are, too.

use crate::recording::Writer;
use std::panic::{AssertUnwindSafe, catch_unwind};
use topotop_model::derive::{Deriver, Settings};
use topotop_model::frame::Applied;
use topotop_model::judge::{self, Judge, Judgement};
use topotop_model::recording::{Event, What, finding_events, fix_changes};
use topotop_model::{Snapshot, Stamp, Window};

/// A judge with what it needs to see.
#[derive(Debug)]
pub(super) struct JudgedWriter {
    window: Window,
    deriver: Deriver,
    judge: Judge,
    last: Judgement,
    /// What fixes had in force at the last sample; none before the first.
    applied: Option<Vec<Applied>>,
}

impl JudgedWriter {
    pub(super) fn new(derived: Settings, judged: judge::Settings) -> Self {
        let (window, last) = (Window::default(), Judgement::default());
        Self { window, deriver: Deriver::new(derived), judge: Judge::new(judged), last, applied: None }
    }

    /// Judges the next sample and writes it, after findings that appeared and cleared with it.
    pub(super) fn put(&mut self, snapshot: &Snapshot, writer: &mut Writer) {
        let state = writer.key_is_due().then(|| self.judge.save());
        self.window.push(snapshot.clone());
        // A defect costs the judgement, not the sample.
        let judged = catch_unwind(AssertUnwindSafe(|| {
            let frame = self.deriver.frame(&self.window);
            let judgement = self.judge.step(&frame);
            // What was in force before the recording began was not done in it.
            let before = self.applied.replace(frame.applied.clone());
            let fixes = before.map(|before| fix_changes(&before, &frame.applied)).unwrap_or_default();
            self.deriver.recycle(frame);
            (judgement, fixes)
        }));
        if let Ok((judgement, fixes)) = judged {
            let Stamp { wall_ns, mono_ns, .. } = snapshot.stamp;
            for fix in fixes {
                writer.event(Event { wall_ns, mono_ns, what: What::Fix(Box::new(fix)) });
            }
            for event in finding_events(&self.last, &judgement, snapshot.stamp) {
                writer.event(event);
            }
            self.last = judgement;
        }
        writer.append_judged(snapshot, state.as_deref());
    }
}
