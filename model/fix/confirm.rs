//! F-CONFIRM: confirms instead of transactions, and several messages under way.

use super::advice::{plan as advice, snippet};
use super::processes::{named, subject};
use super::{Case, Fix, Plan, Refusal, Risk};
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-CONFIRM",
    name: "confirms instead of transactions",
    answers: &[(rules::round_trips::ID, 0), (rules::flush_storm::ID, 8)],
    executable: false,
    parameters: &[],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let process = subject(case);
    // Flushes are of many causes: transactions are one where a message broker writes.
    if case.finding.rule.id == rules::flush_storm::ID && !brokers_write(case) {
        return Err(Refusal::NotForThis);
    }
    let who = process.map_or_else(|| "the message broker's clients".to_owned(), named);
    let mut plan = advice(case, FIX.id, format!("{who}: publisher confirms instead of transactions"), Risk::Dangerous);
    plan.commands = vec![
        "rabbitmqctl list_channels name transactional messages_uncommitted".to_owned(),
        "rabbitmqctl list_channels name confirm messages_unconfirmed".to_owned(),
    ];
    plan.snippets = vec![
        snippet(
            "Spring: application.properties",
            &["spring.rabbitmq.publisher-confirm-type=correlated", "spring.rabbitmq.publisher-returns=true"],
        ),
        snippet(
            "Spring: the template, and what is done with a message that was not confirmed",
            &[
                "rabbitTemplate.setChannelTransacted(false);",
                "rabbitTemplate.setMandatory(true);",
                "rabbitTemplate.setConfirmCallback((data, ack, cause) -> { if (!ack) resend(data); });",
            ],
        ),
        snippet(
            "the Java client: a window of messages under way instead of one",
            &["channel.confirmSelect();", "// publish up to 100, then", "channel.waitForConfirmsOrDie(5_000);"],
        ),
        snippet(
            "what keeps its transaction: events that are read back once they arrive (a change log), since the producer's database commit must be seen first; commands do with confirms",
            &["# one exchange and template for each of the two"],
        ),
    ];
    plan.breaks = vec![
        "it is a change of the application: a message that is not confirmed has to be sent again, and may arrive twice"
            .to_owned(),
        "a send inside a database transaction is no longer put off until its commit".to_owned(),
    ];
    "channelTransacted=true again".clone_into(&mut plan.undo);
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
