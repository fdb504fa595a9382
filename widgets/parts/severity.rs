//! Findings on the drawing: the sign of a severity, what is found about a subject, and how it all stands in a line.

use super::pane::Doc;
use super::{Pen, names};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::IdSet;
use topotop_model::frame::{Frame, Irq};
use topotop_model::judge::{Basis, Judgement, Standing};
use topotop_model::locale::Text;
use topotop_model::locale::screen::{overview, shared as text};
use topotop_model::rules::{Figure, Finding, Severity, Subject, unreadable_data};
use topotop_model::text::{printable, short_ids};

/// The sign of a severity: the worse, the fuller, so that it is readable without colour.
pub fn glyph(severity: Severity, charset: Charset) -> &'static str {
    match (severity, charset) {
        (Severity::Critical, Charset::Unicode) => "▲",
        (Severity::Warning, Charset::Unicode) => "△",
        (Severity::Info, Charset::Unicode) => "○",
        (Severity::Critical, Charset::Ascii) => "!",
        (Severity::Warning, Charset::Ascii) => "^",
        (Severity::Info, Charset::Ascii) => "o",
    }
}

/// The sign of what is not wrong, or no longer.
pub fn fine(charset: Charset) -> &'static str {
    if charset == Charset::Unicode { "✓" } else { "v" }
}

/// The style of a severity.
pub fn role(severity: Severity) -> Role {
    match severity {
        Severity::Critical => Role::Critical,
        Severity::Warning => Role::Warn,
        Severity::Info => Role::Info,
    }
}

/// Every finding with those that it causes, each after its cause.
pub fn all(judgement: &Judgement) -> impl Iterator<Item = &Finding> {
    let mut waiting: Vec<&Finding> = judgement.findings.iter().rev().collect();
    std::iter::from_fn(move || {
        let next = waiting.pop()?;
        waiting.extend(next.children.iter().rev());
        Some(next)
    })
}

/// What is found about a subject: of it, or naming it in its evidence.
pub fn about<'a>(cx: &Cx<'a>, subject: &'a Subject) -> impl Iterator<Item = &'a Finding> {
    let frame = cx.frame;
    all(cx.judgement).filter(move |finding| concerns(frame, finding, subject))
}

/// The worst that is found about a subject, causes and effects alike.
pub fn worst(cx: &Cx<'_>, subject: &Subject) -> Option<Severity> {
    if cx.judgement.findings.is_empty() {
        return None;
    }
    about(cx, subject).map(|finding| finding.severity).max()
}

/// The worst that is found about one of some CPUs.
pub fn worst_cpu(cx: &Cx<'_>, cpus: &[u32]) -> Option<Severity> {
    if cx.judgement.findings.is_empty() {
        return None;
    }
    cpus.iter().filter_map(|&id| worst(cx, &Subject::Cpu(id))).max()
}

/// True if a finding is of a subject, or names it in its evidence; an interrupt has those of its interface, and of the CPU
/// that it goes to.
pub fn concerns(frame: &Frame, finding: &Finding, subject: &Subject) -> bool {
    finding.subject == *subject
        || match subject {
            Subject::Cpu(id) => finding.evidence.iter().any(|evidence| match &evidence.value {
                Figure::Number(cpu) => {
                    evidence.name == "cpu" && evidence.unit.is_empty() && (*cpu - f64::from(*id)).abs() < 0.5
                }
                Figure::Text(cpus) => {
                    evidence.name == "shared" && IdSet::parse_list(cpus).is_some_and(|cpus| cpus.contains(*id))
                }
                Figure::Table(_) => false,
            }),
            // As rules name processes: `name (PID)`.
            Subject::Process(pid, _) => finding.evidence.iter().any(|evidence| match &evidence.value {
                Figure::Text(text) if matches!(evidence.name, "who" | "pinned" | "waiting") => {
                    text.contains(&format!("({pid})"))
                }
                _ => false,
            }),
            Subject::Irq(number) => frame.irqs.iter().find(|irq| irq.irq == *number).is_some_and(|irq| {
                finding.subject == Subject::Nic(Arc::clone(&irq.device)) || goes_to(frame, finding, irq)
            }),
            _ => false,
        }
}

/// True if a finding is about the one CPU that an interrupt goes to; one that does not fire does nothing there.
fn goes_to(frame: &Frame, finding: &Finding, irq: &Irq) -> bool {
    let cpus = irq.effective_affinity.as_ref().or(irq.affinity.as_ref());
    let cpu = cpus.and_then(|cpus| cpus.single()).filter(|_| irq.per_second.is_some_and(|rate| rate > 0.0));
    cpu.is_some_and(|cpu| concerns(frame, finding, &Subject::Cpu(cpu)))
}

/// A finding in one line, harmless, with its subject as people call it.
pub fn title(cx: &Cx<'_>, finding: &Finding) -> String {
    let title = finding.title();
    let title = match &finding.subject {
        Subject::Cgroup(path) => title.replacen(&**path, &called(cx, &finding.subject), 1),
        _ => title,
    };
    short_ids(&printable(&title)).into_owned()
}

/// What people call a subject; hostile as its name is.
pub fn called(cx: &Cx<'_>, subject: &Subject) -> String {
    match subject {
        Subject::Host => text::MACHINE.to_string(),
        Subject::Cpu(id) => text::Cpu { id }.to_string(),
        Subject::Node(id) => text::Node { id }.to_string(),
        Subject::Irq(irq) => text::Irq { id: irq }.to_string(),
        Subject::Nic(name) | Subject::Disk(name) | Subject::Accelerator(name) => name.to_string(),
        Subject::Cgroup(path) => names::cgroup(cx, path),
        Subject::Process(pid, _) => pid.to_string(),
    }
}

/// A text in lines of at most so many columns, broken between words where that is possible.
pub fn wrapped(text: &str, width: u16) -> Vec<String> {
    let options = textwrap::Options::new(usize::from(width.max(1)))
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .word_separator(textwrap::WordSeparator::Custom(words))
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    // One blank between words, and no line ends but those made here.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    textwrap::wrap(&text, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

/// What a line may be broken between: words, and Han characters with the punctuation that belongs to them.
fn words(line: &str) -> Box<dyn Iterator<Item = textwrap::core::Word<'_>> + '_> {
    let mut rest = line;
    Box::new(std::iter::from_fn(move || {
        let mut before = rest.chars().next()?;
        let breaks = |(at, c): (usize, char)| {
            let ends = (before == ' ' && c != ' ') || is_break(before, c);
            before = c;
            (ends && at > 0).then_some(at)
        };
        let (word, tail) = rest.split_at(rest.char_indices().find_map(breaks).unwrap_or(rest.len()));
        rest = tail;
        Some(textwrap::core::Word::from(word))
    }))
}

/// True where a line may end between two characters without a blank.
fn is_break(before: char, after: char) -> bool {
    let is_han = |c: char| matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff60}');
    let closes = |c: char| "，。；：、？！）》」』】,.;:)]%/".contains(c);
    let opens = |c: char| "（《「『【([".contains(c);
    after != ' ' && (is_han(before) || is_han(after)) && !closes(after) && !opens(before)
}

/// How many of what there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Findings by severity, the worst first; those under another one are not counted.
    pub findings: [usize; 3],
    /// Rules that looked and found nothing.
    pub quiet: usize,
    /// Rules that could not look.
    pub not_checked: usize,
}

impl Counts {
    /// The counts of a judgement.
    pub fn of(judgement: &Judgement) -> Self {
        let count = |severity| judgement.findings.iter().filter(|finding| finding.severity == severity).count();
        let rules = |is: fn(&Standing) -> bool| judgement.rules.iter().filter(|row| is(&row.1)).count();
        Self {
            findings: [Severity::Critical, Severity::Warning, Severity::Info].map(count),
            quiet: rules(|standing| *standing == Standing::Quiet),
            not_checked: rules(|standing| matches!(standing, Standing::NotChecked(_))),
        }
    }

    /// `3 findings`, `no findings`.
    pub fn findings(&self) -> String {
        match self.findings.iter().sum::<usize>() {
            0 => text::NO_FINDINGS.to_string(),
            count => text::Findings { count: count as u64 }.to_string(),
        }
    }

    /// `24 rules quiet · 4 not checked`: what no finding means.
    pub fn rules(&self) -> String {
        text::Rules { quiet: &self.quiet, unchecked: &self.not_checked }.to_string()
    }
}

/// The name of a severity on screens.
pub fn label(severity: Severity) -> Text {
    match severity {
        Severity::Critical => text::CRITICAL,
        Severity::Warning => text::WARNING,
        Severity::Info => text::INFO,
    }
}

/// True where a judge has looked, so that no finding means something.
pub fn is_judged(cx: &Cx<'_>) -> bool {
    cx.judgement.basis == Basis::Judged && !cx.judgement.rules.is_empty()
}

/// The text where [`is_judged`] is false.
pub fn pending(cx: &Cx<'_>) -> Text {
    match (cx.judgement.basis, cx.judgement.findings.is_empty()) {
        (Basis::Noted, false) => text::JUDGED_THEN,
        (Basis::Noted, true) => text::NONE_RECORDED,
        (Basis::Judged | Basis::Pending, _) => text::NOT_JUDGED,
    }
}

/// An area without its first column, which is for the signs of [`beside`].
pub fn gutter(area: Rect) -> Rect {
    if area.width < 3 { area } else { Rect { x: area.x + 1, width: area.width - 1, ..area } }
}

/// Draws the sign of a severity before a row of an area whose first column is kept for it.
pub fn beside(cx: &Cx<'_>, area: Rect, row: u16, severity: Option<Severity>, buf: &mut Buffer) {
    if let Some(severity) = severity.filter(|_| area.width >= 3) {
        Pen::new(cx, Rect { width: 1, ..area }, row, buf).severity(severity);
    }
}

impl Pen<'_> {
    /// The sign of a severity.
    pub fn severity(&mut self, severity: Severity) -> &mut Self {
        let cx = self.cx();
        self.glyph(cx.theme.style(role(severity)), glyph(severity, cx.charset))
    }

    /// The sign of a severity in a column that was passed, where that is blank.
    pub fn sign_at(&mut self, column: u16, severity: Severity) -> &mut Self {
        let cx = self.cx();
        self.fill_blank(column, cx.theme.style(role(severity)), glyph(severity, cx.charset))
    }

    /// That nothing is found, and what that means: which rules looked.
    pub fn all_clear(&mut self) -> &mut Self {
        let cx = self.cx();
        if !is_judged(cx) {
            return self.text(Role::Absent, &pending(cx));
        }
        let counts = Counts::of(cx.judgement);
        // Where most rules could not look, nothing is clear.
        let (role, sign) =
            if counts.not_checked > counts.quiet { (Role::Denied, "?") } else { (Role::Ok, fine(cx.charset)) };
        self.text(role, sign).text(Role::Text, " ").text(Role::Text, &text::NO_FINDINGS).text(Role::Dim, " · ");
        self.text(Role::Dim, &counts.rules());
        // That is a finding too, and no more of a line than this.
        if cx.judgement.findings.iter().any(|finding| finding.rule.id == unreadable_data::ID) {
            let said = format!(" · {}", overview::DENIED);
            if self.left() >= names::width(&said) {
                self.text(Role::Denied, &said);
            }
        }
        self
    }

    /// How many findings about the machine of each severity there are: `▲ 2  △ 1`.
    pub fn severities(&mut self) -> &mut Self {
        let mut first = true;
        for (severity, count) in counted(self.cx()) {
            if count > 0 {
                self.text(Role::Text, if std::mem::take(&mut first) { "" } else { " " });
                self.severity(severity).text(role(severity), &count.to_string());
            }
        }
        self
    }
}

/// Findings about the machine. What this program may not read is no news while it lasts: the title line, the list of gaps
/// and the list of findings show it.
pub fn of_machine<'a>(cx: &'a Cx<'_>) -> impl Iterator<Item = &'a Finding> {
    cx.judgement.findings.iter().filter(|finding| finding.rule.id != unreadable_data::ID)
}

/// How many of them there are of each severity.
fn counted(cx: &Cx<'_>) -> [(Severity, usize); 3] {
    let count = |severity| (severity, of_machine(cx).filter(|finding| finding.severity == severity).count());
    [Severity::Critical, Severity::Warning, Severity::Info].map(count)
}

/// The columns of [`Pen::severities`].
pub fn severities_width(cx: &Cx<'_>) -> u16 {
    let each = counted(cx).into_iter().filter(|row| row.1 > 0).map(|row| 2 + row.1.to_string().len());
    (each.sum::<usize>() as u16).saturating_sub(1)
}

/// What is found about a subject, at the head of its detail; nothing where nothing is.
pub fn lines(cx: &Cx<'_>, doc: &mut Doc, subject: &Subject, width: u16) {
    let before = doc.len();
    for finding in about(cx, subject) {
        let role = role(finding.severity);
        let mut first = true;
        for line in wrapped(&title(cx, finding), width.saturating_sub(11)) {
            let head = if std::mem::take(&mut first) {
                format!("{} {:<8} ", glyph(finding.severity, cx.charset), finding.rule.id)
            } else {
                " ".repeat(11)
            };
            doc.line(vec![(head, role), (line, Role::Text)]);
        }
    }
    if doc.len() > before {
        doc.gap();
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, about, all, severities_width, worst, worst_cpu, wrapped};
    use crate::parts::Pen;
    use crate::testing::{judged, row};
    use crate::{Charset, Subject, demo};
    use proptest::prelude::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use topotop_model::rules::Severity;

    #[test]
    fn what_is_wrong_is_found_where_it_is() {
        judged(&demo::server(), &demo::sick(), Charset::Unicode, |cx| {
            assert_eq!(worst(cx, &Subject::Nic("eth0".into())), Some(Severity::Critical));
            // Named in the evidence of the interface's, and having a finding of its own under it.
            assert_eq!(worst(cx, &Subject::Cpu(17)), Some(Severity::Critical));
            assert_eq!(worst_cpu(cx, &[16, 17]), Some(Severity::Critical));
            assert_eq!((worst(cx, &Subject::Cpu(16)), worst_cpu(cx, &[])), (None, None));
            assert_eq!(worst(cx, &Subject::Nic("eth1".into())), None);
            let (cpu, under) = (Subject::Cpu(17), all(cx.judgement).map(|finding| finding.rule.id).collect::<Vec<_>>());
            assert!(about(cx, &cpu).count() >= 2, "{under:?}");
            // An interrupt of the interface, on whichever CPU; one of another device has nothing to do with it.
            let of = |device: &str| cx.frame.irqs.iter().find(|irq| &*irq.device == device).map(|irq| irq.irq);
            let irq = of("eth0").expect("an interrupt of eth0");
            assert_eq!(worst(cx, &Subject::Irq(irq)), Some(Severity::Critical));
            assert_eq!(worst(cx, &Subject::Irq(u32::MAX)), None);
        });
        judged(&demo::server(), &demo::healthy(), Charset::Unicode, |cx| {
            assert_eq!(worst(cx, &Subject::Cpu(17)), None);
        });
    }

    #[test]
    fn the_counts_fit_their_columns() {
        for judgement in [demo::sick(), demo::healthy()] {
            judged(&demo::server(), &judgement, Charset::Unicode, |cx| {
                let area = Rect::new(0, 0, 40, 1);
                let mut buf = Buffer::empty(area);
                Pen::new(cx, area, 0, &mut buf).severities();
                assert_eq!(row(&buf, 0).chars().count(), usize::from(severities_width(cx)));
                assert_eq!(Counts::of(&judgement).findings.iter().sum::<usize>(), judgement.findings.len());
            });
        }
    }

    proptest! {
        #[test]
        fn lines_are_no_wider_than_they_may_be(text: String, width in 4u16..80) {
            let text = topotop_model::text::printable(&text).into_owned();
            for line in wrapped(&text, width) {
                prop_assert!(crate::parts::names::width(&line) <= width, "{line:?} in {width}");
            }
            let words = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(words(&wrapped(&text, width).concat()), words(&text));
        }
    }
}
