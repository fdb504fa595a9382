//! MEM-08: the machine swaps under load.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::locale::evidence;
use crate::locale::rule::swapping as text;

/// Its id.
pub const ID: RuleId = RuleId::new("MEM-08");
pub(crate) const IN: Threshold = ID.threshold(text::threshold::IN, 100.0, "1/s");
pub(crate) const OUT: Threshold = ID.threshold(text::threshold::OUT, 100.0, "1/s");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 30.0, "1/s");
pub(crate) const PRESSURE: Threshold = ID.threshold(text::threshold::PRESSURE, 0.05, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Memory],
    reads: &[Input::Memory],
    sources: &["/proc/vmstat", "memory.swap.current", "/proc/pressure/memory"],
    thresholds: &[IN, OUT, EXIT, PRESSURE],
    references: &["Documentation/admin-guide/sysctl/vm.rst", "Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace { enter: 5, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let memory = &frame.memory;
    if memory.swap_total_bytes.value() == Some(0) {
        return;
    }
    let (Some(pages_in), Some(pages_out)) = (memory.pswpin_per_second, memory.pswpout_per_second) else {
        context.unchecked(Subject::Host, &text::UNREAD, "/proc/vmstat pswpin, pswpout");
        return;
    };
    if pages_in.max(pages_out) < context.limit(&EXIT) {
        return;
    }
    let pressure = frame.pressure("memory").and_then(|row| row.stall.some_ratio);
    let waits = pressure.is_some_and(|ratio| ratio >= context.limit(&PRESSURE))
        || memory.allocstall_per_second.is_some_and(|stalls| stalls >= 1.0);
    let (comes, goes) = (pages_in >= context.limit(&IN), pages_out >= context.limit(&OUT));
    let in_memory = parts::swaps_to_memory(frame);
    let mut growing: Vec<_> = frame
        .cgroups
        .iter()
        .filter(|cgroup| &*cgroup.path != "/")
        .filter_map(|cgroup| Some((cgroup.memory.as_ref()?.swap_growth_bytes_per_second?, &cgroup.path)))
        .filter(|(growth, _)| *growth > 0.0)
        .collect();
    growing.sort_by(|a, b| b.0.total_cmp(&a.0));
    let groups = growing.iter().map(|(growth, path)| format!("{path} {}/s", parts::bytes(Some(*growth))));
    let bytes = |known: crate::Known<u64>| known.value().map(|bytes| bytes as f64);
    let mut hit = Hit::new(Subject::Host, if in_memory { 0.6 } else { 0.8 })
        .enters(comes || goes)
        // Pages come back from compressed memory faster than from a disk: that hurts where tasks wait.
        .severity(if (comes && !in_memory) || ((comes || goes) && waits) { Severity::Warning } else { Severity::Info })
        .number(evidence::IN, pages_in, "1/s", "/proc/vmstat pswpin")
        .number(evidence::OUT, pages_out, "1/s", "/proc/vmstat pswpout")
        .known(evidence::SWAP_TOTAL, bytes(memory.swap_total_bytes), "bytes", "/proc/meminfo")
        .known(evidence::SWAP_FREE, bytes(memory.swap_free_bytes), "bytes", "/proc/meminfo")
        .known(evidence::PRESSURE, pressure, "fraction", "/proc/pressure/memory");
    if !growing.is_empty() {
        hit = hit.text(evidence::GROUPS, parts::list(groups, 4), "memory.swap.current");
    }
    context.hit(hit);
}

fn title(finding: &Finding) -> String {
    let rate = |name| parts::count(finding.number(name).map(f64::round));
    let (pages_in, pages_out) = (&rate(evidence::IN), &rate(evidence::OUT));
    match &finding.text(evidence::GROUPS) {
        &"" => text::Title { pages_in, pages_out }.to_string(),
        groups => text::TitleGroups { pages_in, pages_out, groups }.to_string(),
    }
}
