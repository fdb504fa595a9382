//! MEM-08: the machine swaps under load.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::frame::Frame;
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
    sources: &["/proc/vmstat", "memory.swap.current", "/proc/pressure/memory", "/sys/module/zswap/parameters"],
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
    // Not among the others: what zswap takes reaches no device.
    let zswap = [memory.zswpin_per_second, memory.zswpout_per_second].map(|pages| pages.unwrap_or(0.0));
    if pages_in.max(pages_out).max(zswap[0]).max(zswap[1]) < context.limit(&EXIT) {
        return;
    }
    let pressure = frame.pressure("memory").and_then(|row| row.stall.some_ratio);
    let waits = pressure.is_some_and(|ratio| ratio >= context.limit(&PRESSURE))
        || memory.allocstall_per_second.is_some_and(|stalls| stalls >= 1.0);
    let (comes, goes) = (pages_in >= context.limit(&IN), pages_out >= context.limit(&OUT));
    let compresses = zswap[0] >= context.limit(&IN) || zswap[1] >= context.limit(&OUT);
    let in_memory = parts::swaps_to_memory(frame) || parts::swaps_to_zswap(frame);
    let hit = Hit::new(Subject::Host, if in_memory { 0.6 } else { 0.8 })
        .enters(comes || goes || compresses)
        // Pages come back from compressed memory faster than from a disk: that hurts where tasks wait.
        .severity(if (comes && !in_memory) || ((comes || goes || compresses) && waits) {
            Severity::Warning
        } else {
            Severity::Info
        })
        .number(evidence::IN, pages_in, "1/s", "/proc/vmstat pswpin")
        .number(evidence::OUT, pages_out, "1/s", "/proc/vmstat pswpout")
        .known(evidence::SWAP_TOTAL, bytes(memory.swap_total_bytes), "bytes", "/proc/meminfo")
        .known(evidence::SWAP_FREE, bytes(memory.swap_free_bytes), "bytes", "/proc/meminfo")
        .known(evidence::PRESSURE, pressure, "fraction", "/proc/pressure/memory");
    context.hit(groups(frame, of_zswap(frame, zswap, hit)));
}

fn bytes(known: crate::Known<u64>) -> Option<f64> {
    known.value().map(|bytes| bytes as f64)
}

/// What zswap takes and how it is set, where it takes anything.
fn of_zswap(frame: &Frame, [pages_in, pages_out]: [f64; 2], hit: Hit) -> Hit {
    if pages_in + pages_out <= 0.0 {
        return hit;
    }
    let memory = &frame.memory;
    let settings = frame.sysctls.iter().filter(|(name, _)| name.starts_with("zswap."));
    let settings = settings.map(|(name, value)| format!("{name}={value}"));
    hit.number(evidence::ZSWAP_IN, pages_in, "1/s", "/proc/vmstat zswpin")
        .number(evidence::ZSWAP_OUT, pages_out, "1/s", "/proc/vmstat zswpout")
        .known(evidence::ZSWAP_WRITTEN, memory.zswpwb_per_second, "1/s", "/proc/vmstat zswpwb")
        .known(evidence::ZSWAP_TAKES, bytes(memory.zswap_bytes), "bytes", "/proc/meminfo")
        .known(evidence::ZSWAPPED, bytes(memory.zswapped_bytes), "bytes", "/proc/meminfo")
        .some_text(evidence::SETTINGS, parts::list(settings, 4), "/sys/module/zswap/parameters")
}

/// The groups whose swap grows.
fn groups(frame: &Frame, hit: Hit) -> Hit {
    let mut growing: Vec<_> = frame
        .cgroups
        .iter()
        .filter(|cgroup| &*cgroup.path != "/")
        .filter_map(|cgroup| Some((cgroup.memory.as_ref()?.swap_growth_bytes_per_second?, &cgroup.path)))
        .filter(|(growth, _)| *growth > 0.0)
        .collect();
    if growing.is_empty() {
        return hit;
    }
    growing.sort_by(|a, b| b.0.total_cmp(&a.0));
    let groups = growing.iter().map(|(growth, path)| format!("{path} {}/s", parts::bytes(Some(*growth))));
    hit.text(evidence::GROUPS, parts::list(groups, 4), "memory.swap.current")
}

fn title(finding: &Finding) -> String {
    let rate = |name| parts::count(finding.number(name).map(f64::round));
    let (pages_in, pages_out) = (&rate(evidence::IN), &rate(evidence::OUT));
    let compressed = [evidence::ZSWAP_IN, evidence::ZSWAP_OUT].map(|name| finding.number(name).unwrap_or(0.0));
    if compressed[0] + compressed[1] >= 1.0 {
        let (zswap_in, zswap_out) = (&rate(evidence::ZSWAP_IN), &rate(evidence::ZSWAP_OUT));
        return text::TitleZswap { zswap_in, zswap_out, pages_in, pages_out }.to_string();
    }
    match &finding.text(evidence::GROUPS) {
        &"" => text::Title { pages_in, pages_out }.to_string(),
        groups => text::TitleGroups { pages_in, pages_out, groups }.to_string(),
    }
}
