//! Accept queues of listening sockets, by network namespace.

use super::member_names::process_name;
use super::resource::{Member, Waits};
use super::{Inputs, ResourceKind};
use crate::frame::NetNamespace;
use crate::locale::resource::note;
use crate::rules::Subject;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Connections per second that find a full queue.
const OVERFLOWS: f64 = 1.0;
/// Share of its backlog at which a queue is near it.
pub const NEAR: f64 = 0.9;
/// Processes with such a queue that are looked at.
const MOST: usize = 64;

pub(super) fn tcp(inputs: &Inputs<'_>) -> Vec<Member> {
    let namespaces = &inputs.frame.net_namespaces;
    let mut members: Vec<Member> = namespaces.iter().filter_map(|namespace| one(inputs, namespace)).collect();
    for near in near(inputs) {
        // Overflows of the same listener say more than what stands in it.
        match members.iter_mut().find(|member| member.resource.subject == near.resource.subject) {
            Some(member) if member.stays => {}
            Some(member) => *member = near,
            None => members.push(near),
        }
    }
    if !members.is_empty() {
        return members;
    }
    vec![Member::unknown(ResourceKind::Tcp, inputs.no_rates().unwrap_or(note::NOT_READABLE), false)]
}

/// Listening sockets whose queue is near their backlog without an overflow so far, one of each process.
fn near(inputs: &Inputs<'_>) -> Vec<Member> {
    let mut sockets = BTreeSet::new();
    // systemd hands its sockets on.
    let (activators, others): (Vec<_>, Vec<_>) = inputs.frame.processes.iter().partition(|process| process.activates());
    let nearest = others.into_iter().chain(activators).filter_map(|process| {
        let own = process.listen.iter().flatten();
        // Of those who share a socket the first one has it.
        let own = own.filter(|socket| sockets.insert((socket.netns, &socket.address, socket.port, &socket.protocol)));
        let near = own.filter_map(|socket| Some((socket.queued?, socket.backlog.filter(|backlog| *backlog > 0)?)));
        let share = |(queued, backlog): (u64, u64)| queued as f64 / backlog as f64;
        let (queued, backlog) = near.max_by(|a, b| share(*a).total_cmp(&share(*b)))?;
        let mut member = Member::between(ResourceKind::Tcp, share((queued, backlog)), NEAR, NEAR);
        (member.lasts, member.scales) = (true, false);
        let subject = Subject::Process(process.pid, process.starttime);
        let waits = Waits { what: "connections", value: queued as f64, unit: "connections" };
        let member = member.about(subject, &process.comm).note(note::CONNECTIONS_WAIT).waits(Some(0.0), 0.0, waits);
        member.enters.then(|| member.of(Some(queued as f64), Some(backlog as f64), "connections"))
    });
    nearest.take(MOST).collect()
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
