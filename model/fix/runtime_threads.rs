//! F-THREADS: sizes a runtime for its CPU quota.

use super::advice::{plan as advice, snippet};
use super::processes::{container, named, subject};
use super::{Case, Fix, Plan, Refusal, Risk, Snippet};
use crate::frame::Process;
use crate::locale::evidence;
use crate::locale::fix as shared;
use crate::locale::fix::runtime_threads as text;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-THREADS",
    name: text::NAME,
    answers: &[(rules::threads_over_quota::ID, 0), (rules::cpu_throttled::ID, 5)],
    executable: false,
    parameters: &[],
    plan,
};

/// Runtimes with a setting for the number of CPUs.
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
    let mut plan =
        advice(case, FIX.id, text::Title { process: &named(process), count: &count }.to_string(), Risk::Dangerous);
    plan.snippets = match runtime(case, process) {
        Runtime::Java => vec![java(count)],
        Runtime::DotNet => vec![dotnet(count)],
        Runtime::Erlang => vec![erlang(count)],
        Runtime::Unknown => vec![go(count), java(count), dotnet(count), others(count)],
    };
    if container(case.frame, process).is_some() {
        plan.snippets.push(snippet(
            text::PLACE_CONTAINER.to_string(),
            &["env:", "  - name: NAME", &format!("    value: \"{count}\"")],
        ));
    }
    plan.breaks = vec![text::BREAKS.to_string()];
    plan.undo = shared::UNDO_SETTING.to_string();
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
    snippet(text::PLACE_JAVA.to_string(), &[&flag])
}

fn go(count: u32) -> Snippet {
    snippet(text::PLACE_GO.to_string(), &[&format!("GOMAXPROCS={count}")])
}

fn dotnet(count: u32) -> Snippet {
    snippet(
        text::PLACE_DOTNET.to_string(),
        &[
            &format!("DOTNET_PROCESSOR_COUNT={count}"),
            &format!("DOTNET_GCHeapCount={count:x}   # {}", text::COMMENT_DOTNET),
        ],
    )
}

fn erlang(count: u32) -> Snippet {
    snippet(text::PLACE_ERLANG.to_string(), &[&format!("+S {count}:{count} +sbwt none +sbwtdcpu none +sbwtdio none")])
}

fn others(count: u32) -> Snippet {
    let lines = [
        format!("OMP_NUM_THREADS={count}          # OpenMP, BLAS"),
        format!("UV_THREADPOOL_SIZE={count}       # Node.js"),
        format!("worker_processes {count};        # nginx"),
    ];
    snippet(text::PLACE_OTHERS.to_string(), &lines.each_ref().map(String::as_str))
}
