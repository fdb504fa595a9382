//! Shared by tests of fixes: the plan for a finding of the real rule, as text.

use super::{Case, Fix, Plan, Refusal, Snippet, Surroundings};
use crate::diff::Watch;
use crate::frame::Frame;
use crate::rules::{Finding, sick};
use std::collections::BTreeMap;

/// Root on the console of a host with systemd.
pub(super) fn surroundings() -> Surroundings {
    Surroundings { systemd: true, ..Surroundings::default() }
}

/// The plan of a fix for the finding of a rule on the rule's sick machine, changed further.
pub(super) fn plan(fix: &Fix, rule: &str, set: &[(&str, &str)], change: impl Fn(&mut Frame)) -> Result<Plan, Refusal> {
    let (frame, finding) = sick(rule, change);
    plan_for(fix, &frame, &finding, set, &surroundings())
}

/// The same for a given finding and surroundings.
pub(super) fn plan_for(
    fix: &Fix,
    frame: &Frame,
    finding: &Finding,
    set: &[(&str, &str)],
    surroundings: &Surroundings,
) -> Result<Plan, Refusal> {
    let set: BTreeMap<String, String> =
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    (fix.plan)(&Case { finding, frame, set: &set, surroundings, metric: None })
}

/// Every text of a plan, for snapshots.
pub(super) fn plan_text(plan: &Plan) -> String {
    let mut lines = vec![plan.id(), plan.title.clone(), format!("risk: {}", plan.risk.name())];
    lines.extend(plan.identity.iter().map(|who| format!("changes: {who}")));
    for step in &plan.steps {
        let essential = if step.essential { "" } else { ", not essential" };
        lines.push(format!("step: {}: {} <- {} ({:?}{essential})", step.what, step.target, step.new, step.restore));
    }
    lines.extend(plan.kept.iter().map(|target| format!("kept: {target}")));
    lines.extend(plan.commands.iter().map(|command| format!("$ {command}")));
    let snippet = |what: &str, snippet: &Snippet| format!("{what}: {}\n{}", snippet.place, indented(&snippet.text));
    lines.extend(plan.snippets.iter().map(|advice| snippet("advice", advice)));
    lines.extend(plan.breaks.iter().map(|line| format!("breaks: {line}")));
    lines.extend(plan.cuts_off.iter().map(|line| format!("cuts off: {line}")));
    lines.extend(plan.needs.iter().map(|need| format!("needs: {} {}", need.capability, need.what)));
    lines.push(format!("undo: {}", plan.undo));
    lines.extend(plan.lost.iter().map(|line| format!("lost: {line}")));
    lines.extend(plan.reverters.iter().map(|line| format!("reverted by: {line}")));
    let watch = |watch: &Watch| format!("{} of {}", watch.metric, watch.subject);
    let verify = &plan.verify;
    lines.extend(verify.load.iter().map(|load| format!("load: {}", watch(load))));
    lines.extend(verify.cost.iter().map(|cost| format!("cost: {}", watch(cost))));
    lines.extend(verify.guards.iter().map(|guard| format!("guard: {}", watch(guard))));
    lines.extend(verify.shown.iter().map(|shown| format!("shown: {}", watch(shown))));
    lines
        .push(format!("windows: {} s, {} s, {} s", verify.before_seconds, verify.settle_seconds, verify.after_seconds));
    lines.extend(plan.persistent.iter().map(|lasting| snippet("lasting", lasting)));
    lines.join("\n")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
