//! What limits the machine, in the one line that stands on every screen.

use crate::parts::{Pen, names, units};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::bottleneck::{Bottleneck, Confidence, Outcome, Verdict};
use topotop_model::locale::join;
use topotop_model::locale::screen::overview as text;
use topotop_model::text::printable;

/// How a verdict looks.
pub(crate) fn mark(verdict: Verdict, charset: Charset) -> (Role, &'static str) {
    match (verdict, charset) {
        (Verdict::Limiting, Charset::Unicode) => (Role::Critical, "▲"),
        (Verdict::Limiting, Charset::Ascii) => (Role::Critical, "!"),
        (Verdict::Full, Charset::Unicode) => (Role::Warn, "●"),
        (Verdict::Full, Charset::Ascii) => (Role::Warn, "*"),
        (Verdict::LatencyBound, Charset::Unicode) => (Role::Info, "◦"),
        (Verdict::LatencyBound, Charset::Ascii) => (Role::Info, "L"),
        (Verdict::HasHeadroom, Charset::Unicode) => (Role::Ok, "✓"),
        (Verdict::HasHeadroom, Charset::Ascii) => (Role::Ok, "v"),
        (Verdict::Unknown, _) => (Role::Absent, "?"),
    }
}

/// The answer, and what would limit next where there is room for it.
pub fn line(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let mut pen = Pen::new(cx, area, 0, buf);
    pen.skip(1);
    let answer = &cx.judgement.bottleneck;
    if cx.judgement.resources.is_empty() {
        pen.text(Role::Absent, "? ").text(Role::Absent, &text::COLLECTING);
        return;
    }
    let (role, glyph) = sign(answer, cx.charset);
    let (whole, short) = (shown(&answer.headline(), cx.charset), shown(&answer.short_headline(), cx.charset));
    let clause = |next: Option<String>| {
        let next = next.filter(|_| !answer.is_collecting());
        next.map(|next| shown(&format!("{}{next}", join::CLAUSES), cx.charset)).unwrap_or_default()
    };
    let (next, brief, lasts) = (clause(answer.next_text()), clause(answer.next_brief()), lasts(cx));
    // Whole or not at all: half of it would be another number.
    let mut choices = vec![[&*whole, &*lasts, &*next], [&whole, &next, ""]];
    let some = !brief.is_empty();
    choices.extend(some.then_some([&*whole, &*brief, ""]));
    choices.extend([[&*whole, &*lasts, ""], [&whole, "", ""], [&short, &next, ""]]);
    choices.extend(some.then_some([&*short, &*brief, ""]));
    let room = u32::from(pen.left().saturating_sub(2));
    let fits = |texts: &&[&str; 3]| texts.iter().map(|text| u32::from(names::width(text))).sum::<u32>() <= room;
    let [headline, beside @ ..] = choices.iter().find(fits).copied().unwrap_or([&*short, "", ""]);
    pen.text(role, glyph).text(role, " ").text(role, headline);
    for text in beside {
        pen.text(Role::Text, text);
    }
}

/// How long a limit has stood, and how sure it is where that is less than it could be.
fn lasts(cx: &Cx<'_>) -> String {
    let answer = &cx.judgement.bottleneck;
    let Some(since) = answer.since.filter(|_| answer.is_limit() && !answer.is_collecting()) else {
        return String::new();
    };
    let seconds = cx.frame.stamp.mono_ns.saturating_sub(since.mono_ns) as f64 / 1e9;
    let time = (seconds >= 1.0).then(|| text::For { time: &units::lasted(seconds) }.to_string());
    let medium = answer.confidence == Confidence::Medium;
    let parts = [time, medium.then(|| text::MEDIUM_CONFIDENCE.to_string())];
    parts.into_iter().flatten().collect()
}

/// A text of the model in characters that the terminal can show.
pub(crate) fn shown(text: &str, charset: Charset) -> String {
    let text = printable(text);
    if charset == Charset::Ascii { text.replace('≤', "<=").replace('×', "x") } else { text.into_owned() }
}

/// True where something is at its capacity and does not limit.
fn is_full(answer: &Bottleneck) -> bool {
    answer.next.as_ref().is_some_and(|next| next.resource.verdict == Verdict::Full)
}

/// How an answer looks.
fn sign(answer: &Bottleneck, charset: Charset) -> (Role, &'static str) {
    let of = |verdict| mark(verdict, charset);
    match answer.verdict {
        Outcome::Limited | Outcome::Imbalance => of(Verdict::Limiting),
        Outcome::NotSaturated if is_full(answer) => of(Verdict::Full),
        Outcome::NotSaturated => of(Verdict::HasHeadroom),
        Outcome::Idle => (Role::Text, if charset == Charset::Ascii { "-" } else { "·" }),
        Outcome::Inconclusive => of(Verdict::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::line;
    use crate::testing::{judged, list, row};
    use crate::{Charset, demo};
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use topotop_model::frame::CpuShares;

    fn answer(charset: Charset, width: u16) -> String {
        let area = Rect::new(0, 0, width, 1);
        let mut buf = Buffer::empty(area);
        judged(&demo::server(), &demo::sick(), charset, |cx| line(cx, area, &mut buf));
        row(&buf, 0)
    }

    #[test]
    fn the_next_limit_is_shown_whole_or_not_at_all() {
        let whole = answer(Charset::Unicode, 200);
        assert!(whole.starts_with(" ▲ imbalance: softirq CPU 17 at 98%"), "{whole}");
        let (headline, next) = whole.split_once("; next").expect("what comes next");
        let room = headline.chars().count() as u16 + 4;
        assert_eq!(answer(Charset::Unicode, room), headline, "{next}");
        assert!(answer(Charset::Ascii, 200).is_ascii());
    }

    #[test]
    fn a_machine_without_load_is_neutral() {
        let mut calm = demo::tiny();
        calm.cpus.iter_mut().for_each(|cpu| cpu.shares = Some(CpuShares::default()));
        assert!(list(line, &calm, 80, 1).starts_with(" ✓ nothing at its limit"), "{}", list(line, &calm, 80, 1));
        for process in &mut calm.processes {
            (process.cpu_cores, process.run_wait_cores, process.wait_share) = (Some(0.0), Some(0.0), Some(0.0));
            (process.state, process.blocked_threads, process.io_delay_cores) = ('S', 0, None);
            process.children_cores = None;
        }
        calm.host.blocked = 0.into();
        for nic in &mut calm.nics {
            (nic.rx.packets_per_second, nic.tx.packets_per_second) = (Some(1.0), Some(1.0));
        }
        assert!(list(line, &calm, 80, 1).starts_with(" · idle, nothing at its limit"), "{}", list(line, &calm, 80, 1));
    }
}
