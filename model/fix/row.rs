//! What is done to a process or one of its threads from its row, without a finding: CPUs, nice value, I/O class, signals.

use super::processes::{allowed, identity, named, needs, subject, watch};
use super::{Case, Fix, Parameter, Plan, Refusal, Restore, Risk, Step, Target, Verify};
use crate::IdSet;
use crate::diff::Watch;
use crate::frame::{Frame, Process, Thread};
use crate::locale::Text;
use crate::locale::fix as shared;
use crate::locale::fix::row as text;
use crate::rules::{Finding, Rule, RuleId, Severity, Subject};

/// Stands where the id of a rule stands in ids of fixes.
pub const ID: RuleId = RuleId::new("ROW");

static RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    judge: |_| (),
    title: |finding| text::Title { subject: &finding.subject.named() }.to_string(),
    ..Rule::BASE
};

/// What the fixes of a row answer in place of a finding.
pub fn chosen(subject: Subject) -> Finding {
    Finding {
        rule: &RULE,
        subject,
        severity: Severity::Info,
        confidence: 1.0,
        since: crate::Stamp::default(),
        evidence: Vec::new(),
        children: Vec::new(),
    }
}

/// What can be done to a process or to one of its threads, as the head of a list.
pub fn title(frame: &Frame, subject: &Subject, thread: Option<u32>) -> String {
    let process = if let Subject::Process(pid, _) = subject { frame.process(*pid) } else { None };
    let name = process.map_or_else(|| subject.named().to_string(), named);
    match thread {
        Some(tid) => text::TitleThread { tid: &tid, process: &name }.to_string(),
        None => text::Title { subject: &name }.to_string(),
    }
}

/// Why something is done to a whole process only; none for what one thread can have for itself.
pub fn of_whole_process(fix: &Fix) -> Option<Text> {
    let takes_thread = fix.parameters.iter().any(|parameter| parameter.name == TID.name);
    let why = if fix.id == super::cgroup_move::FIX.id { text::MOVES_ALL } else { text::SIGNALS_ALL };
    (!takes_thread).then_some(why)
}

/// True for a refusal that only asks for what to do it with.
pub fn asks(why: &str) -> bool {
    [text::SET_CPUS, text::SET_GROUP, text::SET_CONTROLLERS].iter().any(|asked| **asked == *why)
}

const TID: Parameter = Parameter { name: "tid", unit: "", about: text::ABOUT_TID };

pub(super) const PIN: Fix = Fix {
    id: "F-PIN",
    name: text::PIN,
    answers: &[(ID, 0)],
    executable: true,
    parameters: &[Parameter { name: "cpus", unit: "list", about: text::ABOUT_CPUS }, TID],
    plan: pin,
};

pub(super) const NICE: Fix = Fix {
    id: "F-NICE",
    name: text::NICE,
    answers: &[(ID, 1)],
    executable: true,
    parameters: &[Parameter { name: "nice", unit: "", about: text::ABOUT_NICE }, TID],
    plan: nice,
};

pub(super) const IO_CLASS: Fix = Fix {
    id: "F-IOCLASS",
    name: text::IO_CLASS,
    answers: &[(ID, 2)],
    executable: true,
    parameters: &[
        Parameter { name: "class", unit: "", about: text::ABOUT_CLASS },
        Parameter { name: "level", unit: "", about: text::ABOUT_LEVEL },
        TID,
    ],
    plan: io_class,
};

pub(super) const STOP: Fix =
    Fix { id: "F-STOP", name: text::STOP, answers: &[(ID, 4)], executable: true, parameters: &[], plan: stop };

pub(super) const SIGNAL: Fix = Fix {
    id: "F-SIGNAL",
    name: text::SIGNAL,
    answers: &[(ID, 5)],
    executable: true,
    parameters: &[Parameter { name: "signal", unit: "", about: text::ABOUT_SIGNAL }],
    plan: signal,
};

/// Signals that may be sent, by their names without SIG.
pub const SIGNALS: [&str; 8] = ["TERM", "KILL", "INT", "HUP", "QUIT", "USR1", "USR2", "CONT"];

/// Who is changed.
pub(super) struct Who<'a> {
    pub(super) process: &'a Process,
    thread: Option<&'a Thread>,
    pub(super) name: String,
}

impl<'a> Who<'a> {
    pub(super) fn of(case: &Case<'a>) -> Result<Self, Refusal> {
        let who = Self::or_kernel(case)?;
        if who.process.kernel { Err(Refusal::because(text::KERNEL.to_string())) } else { Ok(who) }
    }

    /// Who is changed, where the kernel lets its own threads be changed too.
    fn or_kernel(case: &Case<'a>) -> Result<Self, Refusal> {
        let process = subject(case).ok_or_else(|| Refusal::because(text::GONE.to_string()))?;
        let tid = case.number("tid", 1..=u64::from(u32::MAX))?;
        let thread = tid.map(|tid| {
            let found = case.frame.threads_of(process.pid).iter().find(|thread| u64::from(thread.tid) == tid);
            found.ok_or_else(|| Refusal::because(text::NoThread { tid: &tid, process: &named(process) }.to_string()))
        });
        let thread = thread.transpose()?;
        let name = match thread {
            Some(thread) => {
                text::OfThread { thread: &thread.comm, tid: &thread.tid, process: &named(process) }.to_string()
            }
            None => named(process),
        };
        Ok(Self { process, thread, name })
    }

    /// The place of each of its threads, or of the one.
    fn target(&self, whole: Target) -> Target {
        match self.thread {
            Some(thread) => Target::Thread { tid: thread.tid, of: Box::new(whole) },
            None => whole,
        }
    }

    /// A command once for the thread, or for each one.
    fn command(&self, one: &str) -> String {
        match self.thread {
            Some(thread) => format!("{one} -p {}", thread.tid),
            None => format!("for t in /proc/{}/task/*; do {one} -p ${{t##*/}}; done", self.process.pid),
        }
    }

    pub(super) fn measured(case: &Case<'_>, process: &Process) -> [Watch; 2] {
        ["process.cores", "process.wait"].map(|metric| watch(case.frame, process, metric))
    }

    pub(super) fn plan(&self, case: &Case<'_>, fix: &'static str, title: String, step: Step) -> Plan {
        let mut plan = case.plan(fix, title);
        plan.identity = vec![identity(self.process)];
        plan.steps = vec![step];
        if self.process.kernel {
            // What waits for it is not its own.
            plan.risk = Risk::Disruptive;
            plan.breaks = vec![text::BREAKS_KERNEL.to_string()];
        } else {
            plan.reverters = vec![shared::REVERTER_PROCESS.to_string()];
        }
        // Less CPU time may be what was wanted: shown, and judged where CPUs are chosen.
        plan.verify.shown = Self::measured(case, self.process).into();
        plan
    }
}

fn pin(case: &Case<'_>) -> Result<Plan, Refusal> {
    let who = Who::or_kernel(case)?;
    if who.process.kernel && who.process.is_bound() {
        return Err(Refusal::because(text::KERNEL_BOUND.to_string()));
    }
    let allowed = allowed(case.frame, who.process);
    let masks: Vec<&IdSet> = match who.thread {
        Some(thread) => thread.affinity.as_deref().into_iter().collect(),
        None if who.process.thread_affinities.is_empty() => who.process.affinity.as_deref().into_iter().collect(),
        None => who.process.thread_affinities.iter().map(|group| &*group.cpus).collect(),
    };
    let is_so = |cpus: &IdSet| !masks.is_empty() && masks.iter().all(|mask| mask.intersection(&allowed) == *cpus);
    // A name without a value, as the dialog offers it, is not given.
    let cpus = match case.set.get("cpus").filter(|list| !list.is_empty()) {
        Some(list) => {
            let set = IdSet::parse_list(list).filter(|set| !set.is_empty());
            set.ok_or_else(|| Refusal::because(shared::CpuList { name: &"cpus", text: &list }.to_string()))?
        }
        None => usual(case, &who, &allowed, &is_so).ok_or_else(|| Refusal::because(text::SET_CPUS.to_string()))?,
    };
    if !cpus.is_subset(&allowed) {
        return Err(Refusal::because(text::Outside { process: &who.name, allowed: &allowed, cpus: &cpus }.to_string()));
    }
    if is_so(&cpus) {
        return Err(Refusal::because(text::AlreadyPinned { process: &who.name, cpus: &cpus }.to_string()));
    }
    let (pid, starttime) = (who.process.pid, who.process.starttime);
    let step =
        Step::new(text::STEP_CPUS.to_string(), who.target(Target::Affinity { pid, starttime }), cpus.to_string());
    let mut plan = who.plan(case, PIN.id, text::TitlePin { process: &who.name, cpus: &cpus }.to_string(), step);
    plan.commands = vec![match who.thread {
        Some(thread) => format!("taskset -pc {cpus} {}", thread.tid),
        None => format!("taskset -apc {cpus} {pid}"),
    }];
    plan.breaks.push(text::BREAKS_PIN.to_string());
    plan.needs = needs(case, &[who.process], text::NEED_PIN);
    let [cores, wait] = Who::measured(case, who.process);
    plan.verify =
        Verify { load: Some(cores), cost: Some(wait.clone()), guards: vec![wait], shown: Vec::new(), ..plan.verify };
    plan.undo = text::UNDO_PIN.to_string();
    plan.lost = vec![shared::LOST_THREADS.to_string()];
    Ok(plan)
}

/// Without a list: all it may have where it has less, else the node where it runs most.
fn usual(case: &Case<'_>, who: &Who<'_>, allowed: &IdSet, is_so: &dyn Fn(&IdSet) -> bool) -> Option<IdSet> {
    if !is_so(allowed) && !allowed.is_empty() {
        return Some(allowed.clone());
    }
    let last = who.thread.and_then(|thread| thread.last_cpu.value());
    let nodes = &case.frame.topology.nodes;
    let most = || who.process.cpu_by_node.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|entry| entry.0);
    let node = match last {
        Some(cpu) => nodes.iter().find(|node| node.cpus.contains(cpu)).map(|node| node.id),
        None => most(),
    };
    let cpus = nodes.iter().find(|known| Some(known.id) == node)?.cpus.intersection(allowed);
    (!cpus.is_empty() && cpus != *allowed).then_some(cpus)
}

fn nice(case: &Case<'_>) -> Result<Plan, Refusal> {
    let who = Who::or_kernel(case)?;
    let wrong = |value: &str| Refusal::because(text::NiceRange { value: &value }.to_string());
    let nice: i32 = match case.set.get("nice").filter(|value| !value.is_empty()) {
        Some(value) => value.parse().ok().filter(|nice| (-20..=19).contains(nice)).ok_or_else(|| wrong(value))?,
        None => 10,
    };
    let (pid, starttime) = (who.process.pid, who.process.starttime);
    let step = Step::new(text::STEP_NICE.to_string(), who.target(Target::Nice { pid, starttime }), nice.to_string());
    let title = text::TitleNice { process: &who.name, nice: &nice }.to_string();
    let mut plan = who.plan(case, NICE.id, title, step);
    plan.commands = vec![who.command(&format!("renice -n {nice}"))];
    plan.breaks.push(text::BREAKS_NICE.to_string());
    // To go back, a user without the capability would have to raise a priority: that is said, not found out.
    plan.needs = needs(case, &[who.process], text::NEED_NICE);
    if !case.surroundings.holds("CAP_SYS_NICE") {
        plan.breaks.push(text::BREAKS_NICE_USER.to_string());
    }
    plan.undo = text::UNDO_NICE.to_string();
    Ok(plan)
}

fn io_class(case: &Case<'_>) -> Result<Plan, Refusal> {
    let who = Who::of(case)?;
    let class = case.set.get("class").filter(|class| !class.is_empty()).map_or("idle", String::as_str);
    let number = match class {
        "realtime" => 1,
        "best-effort" => 2,
        "idle" => 3,
        other => return Err(Refusal::because(text::ClassUnknown { class: &other }.to_string())),
    };
    let level = case.number("level", 0..=7)?.unwrap_or(if number == 3 { 0 } else { 4 });
    let value = if number == 3 { "idle 0".to_owned() } else { format!("{class} {level}") };
    let (pid, starttime) = (who.process.pid, who.process.starttime);
    let target = who.target(Target::IoPriority { pid, starttime });
    let title = text::TitleIo { process: &who.name, class: &value }.to_string();
    let mut plan = who.plan(case, IO_CLASS.id, title, Step::new(text::STEP_IO.to_string(), target, value));
    let options = if number == 3 { "ionice -c 3".to_owned() } else { format!("ionice -c {number} -n {level}") };
    plan.commands = vec![who.command(&options)];
    plan.breaks = vec![text::BREAKS_IO.to_string()];
    plan.needs = needs(case, &[who.process], text::NEED_IO);
    if number == 1 && plan.needs.is_empty() {
        let need = super::Need { capability: "CAP_SYS_NICE".to_owned(), what: text::NEED_IO.to_string() };
        plan.needs.push(need);
    }
    plan.undo = text::UNDO_IO.to_string();
    Ok(plan)
}

/// Stops a process, or lets a stopped one go on.
fn stop(case: &Case<'_>) -> Result<Plan, Refusal> {
    let who = Who::of(case)?;
    may_be_signalled(case, who.process)?;
    let (pid, starttime) = (who.process.pid, who.process.starttime);
    let stopped = who.process.state == 'T';
    let (value, name) = if stopped { ("running", "CONT") } else { ("stopped", "STOP") };
    let title = if stopped {
        text::TitleContinue { process: &who.name }.to_string()
    } else {
        text::TitleStop { process: &who.name }.to_string()
    };
    let step = Step::new(text::STEP_STATE.to_string(), Target::Stopped { pid, starttime }, value);
    let mut plan = who.plan(case, STOP.id, title, step);
    plan.commands = vec![format!("kill -{name} {pid}")];
    plan.risk = Risk::Disruptive;
    plan.breaks = vec![if stopped { text::BREAKS_CONTINUE.to_string() } else { text::BREAKS_STOP.to_string() }];
    plan.needs = sends(case, who.process);
    plan.undo = text::UNDO_STOP.to_string();
    Ok(plan)
}

fn signal(case: &Case<'_>) -> Result<Plan, Refusal> {
    let who = Who::of(case)?;
    may_be_signalled(case, who.process)?;
    let name = case.set.get("signal").map_or("TERM", |name| name.trim_start_matches("SIG"));
    let Some(name) = SIGNALS.into_iter().find(|known| *known == name) else {
        let known = SIGNALS.join(", ");
        return Err(Refusal::because(text::SignalUnknown { signal: &name, known: &known }.to_string()));
    };
    let (pid, starttime) = (who.process.pid, who.process.starttime);
    let mut step = Step::new(text::STEP_SIGNAL.to_string(), Target::Signal { pid, starttime }, name);
    step.restore = Restore::Never;
    let title = text::TitleSignal { process: &who.name, signal: &name }.to_string();
    let mut plan = who.plan(case, SIGNAL.id, title, step);
    plan.commands = vec![format!("kill -{name} {pid}")];
    plan.risk = Risk::Dangerous;
    plan.breaks = vec![text::BREAKS_SIGNAL.to_string()];
    plan.needs = sends(case, who.process);
    plan.undo = text::UNDO_SIGNAL.to_string();
    plan.lost = vec![text::LOST_SIGNAL.to_string()];
    plan.reverters.clear();
    Ok(plan)
}

/// The first process of the machine or of its container is not signalled from a list, nor is what would take it back.
fn may_be_signalled(case: &Case<'_>, process: &Process) -> Result<(), Refusal> {
    match process.pid {
        1 => Err(Refusal::because(text::INIT.to_string())),
        pid if case.surroundings.own.contains(&pid) => Err(Refusal::because(text::OWN.to_string())),
        _ => Ok(()),
    }
}

fn sends(case: &Case<'_>, process: &Process) -> Vec<super::Need> {
    let own = process.uid.value() == Some(case.surroundings.uid);
    let need = super::Need { capability: "CAP_KILL".to_owned(), what: text::NEED_SIGNAL.to_string() };
    if own { Vec::new() } else { vec![need] }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan_for, surroundings};
    use super::{IO_CLASS, NICE, PIN, SIGNAL, STOP, chosen, of_whole_process, title};
    use crate::fix::{Fix, Plan, Refusal, Restore, Risk, Surroundings, Target};
    use crate::frame::Frame;
    use crate::rules::{Subject, sick};
    use crate::{IdSet, Known};
    use std::sync::Arc;

    fn machine() -> (Frame, Subject) {
        let (mut frame, _) = sick("CPU-07", |_| ());
        let process = &mut frame.processes[0];
        process.uid = Known::Value(0);
        let subject = Subject::Process(process.pid, process.starttime);
        (frame, subject)
    }

    fn of(fix: &'static Fix, set: &[(&str, &str)]) -> Result<Plan, Refusal> {
        let (frame, subject) = machine();
        plan_for(fix, &frame, &chosen(subject), set, &surroundings())
    }

    #[test]
    fn cpus_of_a_process_or_of_a_thread() {
        let plan = of(&PIN, &[("cpus", "1")]).expect("a plan");
        assert!(matches!(plan.steps[0].target, Target::Affinity { .. }), "{plan:?}");
        assert!(plan.commands[0].starts_with("taskset -apc 1 "), "{:?}", plan.commands);
        let (frame, subject) = machine();
        let tid = frame.threads_of(frame.processes[0].pid)[0].tid.to_string();
        let of_thread = plan_for(&PIN, &frame, &chosen(subject), &[("cpus", "1"), ("tid", &tid)], &surroundings());
        let target = of_thread.expect("a plan").steps[0].target.clone();
        assert!(matches!(target, Target::Thread { of, .. } if matches!(*of, Target::Affinity { .. })));
        for set in [[("cpus", "x")], [("cpus", "8000")], [("tid", "1")]] {
            assert!(of(&PIN, &set).is_err(), "{set:?}");
        }
    }

    #[test]
    fn what_is_so_already_is_not_offered() {
        let (mut frame, subject) = machine();
        let one = Arc::new(IdSet::from_ids([1]));
        let process = &mut frame.processes[0];
        process.affinity = Some(Arc::clone(&one));
        process.thread_affinities = vec![crate::frame::AffinityGroup { cpus: one, count: 4 }];
        let again = plan_for(&PIN, &frame, &chosen(subject), &[("cpus", "1")], &surroundings());
        assert!(again.is_err(), "{again:?}");
    }

    #[test]
    fn a_stop_is_undone_and_a_signal_is_not() {
        let stop = of(&STOP, &[]).expect("a plan");
        assert_eq!((stop.steps[0].new.as_str(), stop.can_be_undone(), stop.risk), ("stopped", true, Risk::Disruptive));
        let signal = of(&SIGNAL, &[("signal", "SIGUSR1")]).expect("a plan");
        assert_eq!((signal.steps[0].restore, signal.risk), (Restore::Never, Risk::Dangerous));
        assert!(!signal.can_be_undone() && signal.commands[0].starts_with("kill -USR1 "));
        assert!(of(&SIGNAL, &[("signal", "SEGV")]).is_err());
    }

    #[test]
    fn topotop_itself_is_neither_stopped_nor_signalled() {
        let (frame, subject) = machine();
        let place = Surroundings { own: vec![frame.processes[0].pid], ..surroundings() };
        let planned = |fix| plan_for(fix, &frame, &chosen(subject.clone()), &[], &place);
        for fix in [&STOP, &SIGNAL] {
            let refused = planned(fix).expect_err("refused");
            assert!(format!("{refused:?}").contains("topotop itself"), "{refused:?}");
        }
        assert!(planned(&NICE).is_ok());
    }

    #[test]
    fn values_are_those_that_there_are() {
        assert_eq!(of(&NICE, &[("nice", "-5")]).expect("a plan").steps[0].new, "-5");
        assert!(of(&NICE, &[("nice", "20")]).is_err());
        assert_eq!(of(&IO_CLASS, &[]).expect("a plan").steps[0].new, "idle 0");
        assert_eq!(of(&IO_CLASS, &[("class", "best-effort")]).expect("a plan").steps[0].new, "best-effort 4");
        assert!(of(&IO_CLASS, &[("class", "fast")]).is_err());
    }

    #[test]
    fn what_has_ended_and_what_is_the_kernels_is_left_alone() {
        let (mut frame, subject) = machine();
        frame.processes[0].kernel = true;
        frame.processes[0].flags = crate::frame::PF_NO_SETAFFINITY;
        let planned = |frame: &Frame, fix: &'static Fix, set| {
            plan_for(fix, frame, &chosen(subject.clone()), set, &surroundings())
        };
        for fix in [&PIN, &IO_CLASS, &STOP, &SIGNAL] {
            assert!(planned(&frame, fix, &[]).is_err());
        }
        assert_eq!(planned(&frame, &NICE, &[]).expect("a plan").risk, Risk::Disruptive);
        frame.processes[0].flags = 0;
        let pinned = planned(&frame, &PIN, &[("cpus", "1")]).expect("one that belongs to no CPU");
        assert!(pinned.breaks.len() == 2 && pinned.risk == Risk::Disruptive, "{pinned:?}");
        for fix in [&PIN, &NICE, &IO_CLASS, &STOP, &SIGNAL] {
            assert!(plan_for(fix, &frame, &chosen(Subject::Process(1, 1)), &[], &surroundings()).is_err());
        }
    }

    #[test]
    fn a_thread_is_neither_moved_nor_signalled_alone() {
        let (frame, subject) = machine();
        assert!(title(&frame, &subject, Some(7)).contains("thread 7 of "));
        let whole = [&PIN, &NICE, &IO_CLASS, &STOP, &SIGNAL, &super::super::cgroup_move::FIX].map(of_whole_process);
        assert_eq!(whole.map(|why| why.is_some()), [false, false, false, true, true, true]);
    }
}
