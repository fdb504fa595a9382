//! F-THREADS: a runtime is told how many CPUs it has.

use super::advice::{plan as advice, snippet};
use super::processes::{container, named, subject};
use super::{Case, Fix, Plan, Refusal, Risk, Snippet};
use crate::frame::Process;
use crate::locale::evidence;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-THREADS",
    name: "tell a runtime its CPUs",
    answers: &[(rules::threads_over_quota::ID, 0), (rules::cpu_throttled::ID, 5)],
    executable: false,
    parameters: &[],
    plan,
};

/// Runtimes, by what tells of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runtime {
    Java,
    DotNet,
    Erlang,
    Unknown,
}

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let process = subject(case).ok_or(Refusal::NotForThis)?;
    let quota = case.finding.number(evidence::QUOTA).filter(|quota| *quota > 0.0).ok_or(Refusal::NotForThis)?;
    let count = quota.ceil().clamp(1.0, 4096.0) as u32;
    let mut plan = advice(
        case,
        FIX.id,
        format!("{}: sized for {count} CPUs instead of the machine's", named(process)),
        Risk::Dangerous,
    );
    plan.snippets = match runtime(case, process) {
        Runtime::Java => vec![java(count)],
        Runtime::DotNet => vec![dotnet(count)],
        Runtime::Erlang => vec![erlang(count)],
        Runtime::Unknown => vec![go(count), java(count), dotnet(count), others(count)],
    };
    if container(case.frame, process).is_some() {
        plan.snippets.push(snippet(
            "a container: as its environment",
            &["env:", "  - name: NAME", &format!("    value: \"{count}\"")],
        ));
    }
    plan.breaks =
        vec!["it takes a restart; fewer threads do less where they wait for something other than CPUs".to_owned()];
    "the setting taken out, and another restart".clone_into(&mut plan.undo);
    Ok(plan)
}

fn runtime(case: &Case<'_>, process: &Process) -> Runtime {
    let threads = case.frame.threads_of(process.pid);
    let has =
        |prefixes: &[&str]| threads.iter().any(|thread| prefixes.iter().any(|prefix| thread.comm.starts_with(prefix)));
    let program = process.cmdline.split(' ').next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    match () {
        () if process.beam.is_some() => Runtime::Erlang,
        () if process.jvm.is_some() || program == "java" || has(&["GC Thread#", "G1 ", "C2 Compiler", "VM Thread"]) => {
            Runtime::Java
        }
        () if program == "dotnet" || has(&[".NET "]) => Runtime::DotNet,
        () => Runtime::Unknown,
    }
}

fn java(count: u32) -> Snippet {
    let flag = format!("-XX:ActiveProcessorCount={count}");
    snippet("Java: its arguments, or JAVA_TOOL_OPTIONS; -XX:ParallelGCThreads and ConcGCThreads follow it", &[&flag])
}

fn go(count: u32) -> Snippet {
    snippet("Go: its environment; since 1.25 it reads the quota by itself", &[&format!("GOMAXPROCS={count}")])
}

fn dotnet(count: u32) -> Snippet {
    snippet(
        ".NET: its environment",
        &[
            &format!("DOTNET_PROCESSOR_COUNT={count}"),
            &format!("DOTNET_GCHeapCount={count:x}   # hexadecimal; server GC"),
        ],
    )
}

fn erlang(count: u32) -> Snippet {
    snippet("Erlang: ERL_FLAGS or vm.args", &[&format!("+S {count}:{count} +sbwt none +sbwtdcpu none +sbwtdio none")])
}

fn others(count: u32) -> Snippet {
    let lines = [
        format!("OMP_NUM_THREADS={count}          # OpenMP, BLAS"),
        format!("UV_THREADPOOL_SIZE={count}       # Node.js"),
        format!("worker_processes {count};        # nginx"),
    ];
    snippet("others", &lines.each_ref().map(String::as_str))
}
