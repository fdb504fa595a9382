//! Scripts, and who is none.

use super::answers::machine;
use super::*;
use crate::IdSet;

/// A script whose programs are gone before two samples see them, below the shell that started it.
fn script(own: f64, programs: f64) -> Vec<Process> {
    let child = |pid: u32, parent: u32, comm: &str, cores: f64| Process {
        ppid: Known::Value(parent),
        children_cores: Some(0.0),
        ..process(pid, comm, cores, 0.0)
    };
    let bash = Process { children_cores: Some(programs), ..child(20, 10, "bash", own) };
    vec![child(1, 0, "systemd", 0.0), child(10, 1, "sshd", 0.01), bash]
}

#[test]
fn programs_one_after_another_limit_as_a_thread_does() {
    let mut frame = machine(&[0.6, 0.4, 0.04, 0.03]);
    frame.processes = script(0.05, 0.92);
    let (resources, found) = settled(&frame, &[], &Settings::default());
    assert_eq!(found.headline(), "limited by bash 20 and its children, one after another: 97% of a core");
    assert_eq!((found.verdict, found.confidence), (Outcome::Limited, Confidence::Medium));
    let resource = resources.get(ResourceKind::Thread).expect("it is there");
    assert_eq!((resource.subject.clone(), resource.tid), (Some(Subject::Process(20, 0)), None));
    // Programs side by side use more than one core, or would if they were not confined to one.
    frame.processes = script(0.05, 1.6);
    assert_ne!(limit(&frame), Some(ResourceKind::Thread));
    frame.processes = script(0.02, 0.96);
    frame.processes[2].affinity = Some(Arc::new(IdSet::from_ids([0])));
    let runs = |pid| Process { state: 'R', ppid: Known::Value(20), cpu_cores: None, ..process(pid, "cc1", 0.0, 0.0) };
    frame.processes.extend([runs(30), runs(31)]);
    assert_ne!(limit(&frame), Some(ResourceKind::Thread));
    frame.processes.pop();
    assert_eq!(limit(&frame), Some(ResourceKind::Thread));
    // Where every CPU is full, a second script would not help.
    frame.cpus = machine(&[1.0, 1.0, 1.0, 1.0]).cpus;
    assert_ne!(limit(&frame), Some(ResourceKind::Thread));
}

#[test]
fn programs_that_often_run_side_by_side_are_no_script() {
    let said = |runnable: fn(u64) -> u32| {
        let mut state = Limits::default();
        let mut named = 0;
        for second in 0..60u64 {
            let mut frame = machine(&[0.6, 0.4, 0.04, 0.03]);
            frame.stamp = Stamp { seq: second, mono_ns: second * 1_000_000_000, ..Stamp::default() };
            frame.processes = script(0.05, 0.92);
            frame.processes.extend((0..runnable(second)).map(|at| Process {
                state: 'R',
                ppid: Known::Value(20),
                cpu_cores: None,
                ..process(1000 + second as u32 * 4 + at, "cgi", 0.0, 0.0)
            }));
            let answer = state.judge_frame(&frame, &[], &Settings::default()).1;
            named += u32::from(answer.resource.is_some_and(|resource| resource.kind == ResourceKind::Thread));
        }
        named
    };
    // A server whose programs start at random uses as much as one after another, two of them now and then together.
    assert_eq!(said(|second| [0, 1, 2, 1, 0, 2, 1, 0][second as usize % 8]), 0);
    assert!(said(|second| [1, 1, 1, 0, 1, 1, 1, 2][second as usize % 8]) > 40);
    assert!(said(|_| 0) > 40, "programs of a few ms are seldom seen");
}

#[test]
fn the_innermost_script_is_named() {
    let mut frame = machine(&[0.6, 0.4, 0.04, 0.03]);
    let make = |pid, parent, cores, programs| Process {
        ppid: Known::Value(parent),
        children_cores: Some(programs),
        ..process(pid, "make", cores, 0.0)
    };
    // A build below a script that starts one now and then; beside it two services that have programs of their own.
    frame.processes = script(0.0, 0.35);
    frame.processes[2].children_cores = Some(0.0);
    frame.processes.extend([make(30, 20, 0.03, 0.02), make(31, 30, 0.04, 0.9)]);
    assert_eq!(answer(&frame).resource.and_then(|resource| resource.subject), Some(Subject::Process(31, 0)));
    // Services side by side, whose children come and go as well, are no script of who started them.
    frame.processes = script(0.0, 0.48);
    frame.processes[0].children_cores = Some(0.1);
    frame.processes.push(make(30, 1, 0.02, 0.48));
    assert_eq!(limit(&frame), None);
}

#[test]
fn a_script_is_named_while_its_programs_take_seconds() {
    let mut state = Limits::default();
    let mut named = Vec::new();
    for second in 0..30u64 {
        let mut frame = machine(&[0.98, 0.02, 0.04, 0.03]);
        frame.stamp = Stamp { seq: second, mono_ns: second * 1_000_000_000, ..Stamp::default() };
        // Each takes two seconds: a sample that sees one end sees another one begin.
        let ends = second % 2 == 0;
        frame.processes = script(0.01, if ends { 0.95 } else { 0.0 });
        let cores = (!ends).then_some(0.97);
        let program = Process { ppid: Known::Value(20), cpu_cores: cores, ..process(0, "gzip", 0.0, 0.0) };
        frame.processes.push(Process { pid: 100 + second as u32 / 2, ..program });
        let answer = state.judge_frame(&frame, &[], &Settings::default()).1;
        named.extend(answer.resource.filter(|_| second >= 10).map(|resource| resource.subject));
    }
    assert_eq!(named.len(), 20);
    named.dedup();
    assert_eq!(named, [Some(Subject::Process(20, 0))]);
}
