//! Every fix that writes, asked for where nothing may be written: no call that changes anything is made.

use super::made::{self, Made, On};
use crate::common::synthetic::Machine;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs `topotop fix`. It finds an irqbalance that can be started, wherever there is none.
pub(crate) fn fix(arguments: &[&str], state: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_topotop"));
    command.arg("fix").args(arguments).arg("--state-dir").arg(state).stdin(Stdio::null());
    command.env("PATH", path(state)).output().expect("the program runs")
}

/// Where programs are, with an irqbalance beside `state` that is never started.
pub(crate) fn path(state: &Path) -> String {
    let place = state.with_extension("bin");
    let program = place.join("irqbalance");
    if !program.exists() {
        std::fs::create_dir_all(&place).expect("a directory");
        std::fs::write(&program, "#!/bin/sh\nexit 1\n").expect("written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a program");
    }
    format!("{}:{}", std::env::var("PATH").unwrap_or_default(), place.display())
}

/// What is typed to confirm a fix: the name of its subject.
pub(crate) fn subject(id: &str) -> String {
    let subject = topotop_model::fix::parse_id(id).map(|(_, subject, _)| subject.to_string()).expect("an id");
    subject.split_once(':').map_or(subject.clone(), |(_, name)| name.to_owned())
}

/// The id of a fix on a recording.
pub(crate) fn offered(made: &Made, recording: &str, state: &Path) -> Result<String, String> {
    let listed = fix(&["list", "--from", recording, "--format", "json"], state);
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let list: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let ids = list.as_array().into_iter().flatten().filter_map(|fix| fix["id"].as_str());
    let mut own = ids.filter(|id| id.ends_with(&format!("/{}", made.fix)));
    let reported = || String::from_utf8_lossy(&fix(&["list", "--from", recording], state).stdout).into_owned();
    own.next().map(str::to_owned).ok_or_else(|| format!("{} is not offered:\n{}", made.fix, reported()))
}

#[test]
fn every_fix_that_writes_has_a_finding() {
    let there: BTreeSet<_> = made::ALL.iter().map(|made| made.fix).collect();
    // Actions on a row answer no finding.
    let answers =
        |fix: &&&topotop_model::fix::Fix| fix.answers.iter().any(|rule| rule.0 != topotop_model::fix::row::ID);
    let all = topotop_model::fix::ALL.iter().filter(|fix| fix.executable);
    let wanted: BTreeSet<_> = all.filter(answers).map(|fix| fix.id).collect();
    assert_eq!(there, wanted);
    let dir = tempfile::tempdir().expect("a directory");
    let mut wrong = Vec::new();
    for made in made::ALL {
        let recording = dir.path().join(format!("{}.ttr", made.fix));
        made.record(&On::default(), &recording);
        if let Err(why) = offered(made, &recording.display().to_string(), &dir.path().join("state")) {
            wrong.push(why);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Calls that change something, or may.
const CALLS: &str = "open,openat,openat2,creat,truncate,ftruncate,fallocate,rename,renameat,renameat2,unlink,unlinkat,\
mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,mknod,mknodat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,\
utime,utimes,futimesat,utimensat,setxattr,lsetxattr,fsetxattr,removexattr,mount,umount2,swapon,swapoff,reboot,\
sethostname,setdomainname,settimeofday,clock_settime,clock_adjtime,adjtimex,init_module,finit_module,delete_module,bpf,\
sched_setaffinity,sched_setscheduler,sched_setattr,sched_setparam,setpriority,ioprio_set,move_pages,migrate_pages,mbind,\
set_mempolicy,prlimit64,setrlimit,kill,tkill,tgkill,pidfd_send_signal,rt_sigqueueinfo,ptrace,process_vm_writev,\
process_madvise,ioctl,sendto,sendmsg,sendmmsg,execve,execveat,setns,unshare";

/// What a program changed, by its calls: every line that is not known to change nothing.
fn changes(trace: &str) -> Vec<String> {
    // A thread that ends before its call is known is printed as `???()`.
    let calls = trace.lines().filter(|line| !["+++ ", "--- ", " ???("].iter().any(|mark| line.contains(mark)));
    let own: BTreeSet<&str> = trace.lines().filter_map(|line| line.split_whitespace().next()).collect();
    calls.filter(|line| !is_harmless(line, &own)).map(str::to_owned).collect()
}

/// Whether a line of a trace changes nothing but what these threads are themselves.
fn is_harmless(line: &str, own: &BTreeSet<&str>) -> bool {
    let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let (name, arguments) = call.split_once('(').unwrap_or((call, ""));
    let has = |words: &[&str]| words.iter().any(|word| arguments.contains(word));
    match name {
        "open" | "openat" | "openat2" => {
            !has(&["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"]) || has(&["\"/dev/null\"", "\"/dev/tty\""])
        }
        // Whoever asks where pages are names no nodes to move them to.
        "move_pages" => arguments.split(", ").nth(3) == Some("NULL"),
        // What was asked is in the line before.
        _ if call.starts_with("<... ") => true,
        // Sockets are asked for, also in the namespaces of others.
        "sendto" => has(&[
            "nlmsg_type=SOCK_DIAG_BY_FAMILY",
            "nlmsg_type=0x14 ",
            "nlmsg_type=RTM_GETQDISC",
            "nlmsg_type=0x26 ",
            "nlmsg_type=RTM_GETLINK",
            "nlmsg_type=0x12 ",
        ]),
        // The output broker says that it is ready.
        "sendmsg" => {
            has(&["<socket:["]) && has(&["msg_iov=[{iov_base=\"\\0\", iov_len=1}]"]) && has(&["msg_controllen=0"])
        }
        "setns" => has(&["CLONE_NEWNET"]),
        // Its own threads, so that they are not left out: 0 is the caller.
        "sched_setscheduler" => arguments.split(',').next().is_some_and(|tid| tid == "0" || own.contains(tid)),
        // Without the right to change interfaces every question but those that only ask is refused.
        "ioctl" => has(&["SIOCETHTOOL", "TIOCGWINSZ"]) && !has(&["EPERM"]),
        "prlimit64" => arguments.split(", ").nth(2) == Some("NULL") || arguments.starts_with("0, "),
        _ => false,
    }
}

/// Whether calls can be looked at; says so where not.
pub(crate) fn can_trace() -> bool {
    let status = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    let can = status.is_ok_and(|status| status.success());
    if !can {
        crate::common::not_tested("no strace, or it may not trace");
    }
    can
}

/// Runs `topotop fix` and gives what it said and what it changed.
pub(crate) fn traced(arguments: &[&str], state: &Path) -> (Output, Vec<String>) {
    let log = state.with_extension("trace");
    // Of the questions to an interface strace tells no more than that they are some.
    let (program, first): (_, &[&str]) = if rustix::process::geteuid().is_root() {
        ("setpriv", &["--bounding-set=-net_admin", "--inh-caps=-net_admin", "strace"])
    } else {
        ("strace", &[])
    };
    let mut command = Command::new(program);
    command.args(first).args(["-f", "-y", "-qq", "-s", "200", "-e", &format!("trace={CALLS}"), "-o"]).arg(&log);
    command.arg(env!("CARGO_BIN_EXE_topotop")).arg("fix").args(arguments).arg("--state-dir").arg(state);
    let output = command.env("PATH", path(state)).stdin(Stdio::null()).output().expect("strace runs");
    let trace = std::fs::read_to_string(&log).unwrap_or_default();
    // The program itself is the first that is executed.
    assert!(trace.contains("execve(") && trace.contains("openat("), "no trace: {output:?}");
    (output, changes(trace.split_once('\n').map_or("", |(_, rest)| rest)))
}

#[test]
fn read_only_and_a_captured_machine_change_nothing_whatever_the_fix() {
    if !can_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (state, root) = (dir.path().join("state"), dir.path().join("root"));
    Machine::SMALL.write(&root, 0);
    let root = root.display().to_string();
    let mut wrong = Vec::new();
    // An interface that there is, so that it is asked as it would be for a yes.
    let on = On { nic: ("lo".to_owned(), 1), ..On::default() };
    for made in made::ALL {
        let recording = dir.path().join(format!("{}.ttr", made.fix));
        made.record(&on, &recording);
        let recording = recording.display().to_string();
        let id = offered(made, &recording, &state).expect("an offer");
        let name = subject(&id);
        let apply = ["apply", &id, "--from", &recording, "--yes", "--confirm-subject", &name, "--no-wait"];
        let ways: [(&[&str], &str); 3] = [
            (&["--read-only"], "--read-only: nothing is applied"),
            (&["--root", &root], "--root: fixes cannot be applied to a captured machine"),
            (&["--dry-run"], ""),
        ];
        for (more, why) in ways {
            let (output, changed) = traced(&[&apply[..], more].concat(), &state);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // What a captured machine could start is not known.
            let is_why = said.contains(why) || (made.fix == "F-IRQBAL" && said.contains("not installed"));
            if output.status.success() == why.is_empty() && is_why && changed.is_empty() {
                continue;
            }
            wrong.push(format!("{id} {more:?}: {:?} {said}{}", output.status.code(), changed.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(!state.exists(), "a journal was made");
}
