//! Accept queues of listening sockets, by network namespace.

use super::member_names::process_name;
use super::resource::{Member, Waits};
use super::{Inputs, ResourceKind};
use crate::frame::NetNamespace;
use crate::locale::resource::note;
use crate::rules::Subject;
use std::sync::Arc;

/// Connections per second that find a full queue.
const OVERFLOWS: f64 = 1.0;

pub(super) fn tcp(inputs: &Inputs<'_>) -> Vec<Member> {
    let namespaces = &inputs.frame.net_namespaces;
    let members: Vec<Member> = namespaces.iter().filter_map(|namespace| one(inputs, namespace)).collect();
    if !members.is_empty() {
        return members;
    }
    vec![Member::unknown(ResourceKind::Tcp, inputs.no_rates().unwrap_or(note::NOT_READABLE), false)]
}

fn one(inputs: &Inputs<'_>, namespace: &NetNamespace) -> Option<Member> {
    let overflows = namespace.listen_overflows_per_second?;
    let mut member = Member::absent(ResourceKind::Tcp, crate::locale::Text::EMPTY);
    (member.enters, member.stays) = (overflows >= OVERFLOWS, overflows > 0.0);
    // A full queue turns connections away: that is a wait that no task here has.
    (member.alone, member.proxy) = (true, true);
    let accepted = namespace.passive_opens_per_second.unwrap_or(0.0);
    let turned_away = overflows / (overflows + accepted).max(f64::MIN_POSITIVE);
    let process = namespace.pid.value().and_then(|pid| inputs.frame.process(pid));
    let (subject, name) = match process {
        Some(process) => (Subject::Process(process.pid, process.starttime), process_name(inputs.frame, process.pid)),
        None => (Subject::Host, Arc::from(note::HOST.as_str())),
    };
    let member = if member.enters { member.note(note::ACCEPT_QUEUE) } else { member };
    let member = member.about(subject, &name);
    let waits = Waits { what: "listen_overflows", value: overflows, unit: "1/s" };
    Some(member.waits(Some(if overflows > 0.0 { turned_away } else { 0.0 }), 1.0, waits))
}
