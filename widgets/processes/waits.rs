//! Where the time of a process goes, by samples of its threads.

use crate::parts::pane::Doc;
use crate::parts::{names, units};
use crate::{Cx, Role};
use topotop_model::frame::{OffCpu, Process, WaitClass};
use topotop_model::locale::screen::processes as text;
use topotop_model::waiting;

/// The most shares that are listed.
const MOST: usize = 8;
/// Smaller ones are noise of the samples.
const LEAST: f64 = 0.01;

/// A line per class, the largest share first.
pub(super) fn lines(cx: &Cx<'_>, doc: &mut Doc, process: &Process, room: usize) {
    let Some(off_cpu) = &process.off_cpu else { return };
    doc.gap();
    doc.head(text::TimeGoes { samples: &off_cpu.samples, threads: &off_cpu.threads }.to_string());
    for share in off_cpu.shares.iter().filter(|share| share.share >= LEAST).take(MOST) {
        let role = match share.class {
            WaitClass::Running => Role::Ok,
            WaitClass::Unread => Role::Absent,
            WaitClass::Lock | WaitClass::Quota | WaitClass::RunQueue if share.share >= 0.3 => Role::Warn,
            _ => Role::Text,
        };
        doc.line(vec![
            (format!("  {:>4} ", units::percent(share.share)), role),
            (names::padded(&waiting::label(share.class), 28), Role::Text),
            (names::clean(&share.what, room.clamp(8, 64)), Role::Dim),
        ]);
    }
    if unread(off_cpu) {
        doc.unread(cx, &text::CALLS, "/syscall");
    }
}

/// True where much of it is not known.
fn unread(off_cpu: &OffCpu) -> bool {
    off_cpu.share(WaitClass::Unread) >= 0.2
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::parts::pane::Doc;
    use crate::testing::with_cx;
    use crate::{Charset, demo};
    use topotop_model::frame::{OffCpu, Process, WaitClass, WaitShare};

    #[test]
    fn shares_have_a_line_each() {
        let share = |class, share, what: &str| WaitShare { class, share, what: what.into() };
        let shares = vec![
            share(WaitClass::Peer, 0.71, "10.0.0.5:5432\u{1b}[2J"),
            share(WaitClass::Running, 0.2, ""),
            share(WaitClass::Other, 0.001, "nothing"),
        ];
        let process =
            Process { off_cpu: Some(OffCpu { samples: 50, threads: 3, seconds: 10.0, shares }), ..Process::default() };
        with_cx(&demo::server(), Charset::Unicode, |cx| {
            let mut doc = Doc::default();
            lines(cx, &mut doc, &process, 60);
            let text = doc.text();
            for part in ["71%", "10.0.0.5:5432", "20%"] {
                assert!(text.contains(part), "{part}: {text}");
            }
            assert!(!text.contains('\u{1b}') && !text.contains("nothing"), "{text}");
        });
    }
}
