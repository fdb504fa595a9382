//! F-CONFIRM: publisher confirms instead of transactions, with several messages in flight.

use super::advice::{plan as advice, snippet};
use super::processes::{named, subject};
use super::{Case, Fix, Plan, Refusal, Risk};
use crate::locale::fix::publisher_confirms as text;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-CONFIRM",
    name: text::NAME,
    answers: &[(rules::round_trips::ID, 0), (rules::flush_storm::ID, 8)],
    executable: false,
    parameters: &[],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let process = subject(case);
    // Flushes have many causes; transactions are one where a message broker writes.
    if case.finding.rule.id == rules::flush_storm::ID && !brokers_write(case) {
        return Err(Refusal::NotForThis);
    }
    let who = process.map_or_else(|| text::CLIENTS.to_string(), named);
    let mut plan = advice(case, FIX.id, text::Title { clients: &who }.to_string(), Risk::Dangerous);
    plan.commands = vec![
        "rabbitmqctl list_channels name transactional messages_uncommitted".to_owned(),
        "rabbitmqctl list_channels name confirm messages_unconfirmed".to_owned(),
    ];
    plan.snippets = vec![
        snippet(
            text::PLACE_SPRING.to_string(),
            &["spring.rabbitmq.publisher-confirm-type=correlated", "spring.rabbitmq.publisher-returns=true"],
        ),
        snippet(
            text::PLACE_TEMPLATE.to_string(),
            &[
                "rabbitTemplate.setChannelTransacted(false);",
                "rabbitTemplate.setMandatory(true);",
                "rabbitTemplate.setConfirmCallback((data, ack, cause) -> { if (!ack) resend(data); });",
            ],
        ),
        snippet(
            text::PLACE_JAVA.to_string(),
            &["channel.confirmSelect();", "// publish up to 100, then", "channel.waitForConfirmsOrDie(5_000);"],
        ),
        snippet(text::PLACE_KEEP.to_string(), &[text::SEPARATE.as_str()]),
    ];
    plan.breaks = vec![text::BREAKS_RESEND.to_string(), text::BREAKS_COMMIT.to_string()];
    plan.undo = text::UNDO.to_string();
    Ok(plan)
}

fn brokers_write(case: &Case<'_>) -> bool {
    let crate::rules::Subject::Disk(name) = &case.finding.subject else { return false };
    let disk = case.frame.disks.iter().find(|disk| *disk.name == **name);
    disk.into_iter().flat_map(|disk| &disk.writers).any(|writer| match &writer.who {
        crate::frame::WriterId::Cgroup(path) => path.contains("rabbit"),
        crate::frame::WriterId::Process(pid) => case.frame.process(*pid).is_some_and(|process| process.beam.is_some()),
    })
}
