//! NIC-08: datagrams are dropped because sockets are full.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::frame::{Frame, NetNamespace};
use crate::locale::evidence;
use crate::locale::rule::udp_buffer_drops as text;

/// Its id.
pub const ID: RuleId = RuleId::new("NIC-08");
pub(crate) const DROPS: Threshold = ID.threshold(text::threshold::DROPS, 10.0, "1/s");
pub(crate) const SHARE: Threshold = ID.threshold(text::threshold::SHARE, 0.001, "fraction");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 0.1, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    reads: &[Input::NetStats],
    sources: &["/proc/net/snmp, /proc/PID/net/snmp"],
    thresholds: &[DROPS, SHARE, CRITICAL],
    references: &["Documentation/networking/snmp_counter.rst", "socket(7)"],
    pace: Pace { enter: 3, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    for namespace in &frame.net_namespaces {
        let Some(drops) = namespace.udp_rcvbuf_errors_per_second.filter(|drops| *drops > 0.0) else { continue };
        let share = namespace.udp_in_per_second.map(|received| drops / (received + drops));
        let enters = drops >= context.limit(&DROPS) && share.is_none_or(|share| share >= context.limit(&SHARE));
        if !enters && drops < 0.5 * context.limit(&DROPS) {
            continue;
        }
        let critical = share.is_some_and(|share| share >= context.limit(&CRITICAL));
        let hit = Hit::new(subject(frame, namespace), 0.9)
            .enters(enters)
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .number(evidence::DROPS_UDP, drops, "1/s", "/proc/net/snmp Udp RcvbufErrors")
            .known(evidence::SHARE, share, "fraction", "/proc/net/snmp Udp InDatagrams, RcvbufErrors")
            .known(evidence::DATAGRAMS, namespace.udp_in_per_second, "1/s", "/proc/net/snmp Udp InDatagrams");
        context.hit(hit);
    }
}

/// The namespace by the process that it was read through.
fn subject(frame: &Frame, namespace: &NetNamespace) -> Subject {
    let process = namespace.pid.value().and_then(|pid| frame.process(pid));
    process.map_or(Subject::Host, |process| Subject::Process(process.pid, process.starttime))
}

fn title(finding: &Finding) -> String {
    let drops = &parts::count(finding.number(evidence::DROPS_UDP).map(f64::round));
    let share = &parts::percent(finding.number(evidence::SHARE));
    match &finding.subject {
        Subject::Process(..) => text::TitleNamespace { subject: &finding.subject.named(), drops, share }.to_string(),
        _ => text::Title { drops, share }.to_string(),
    }
}
