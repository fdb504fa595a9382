//! Programs that are started get the descriptor limit that topotop was given, not the one that it raised for itself; those of
//! the system get an environment of their own.
#![expect(unsafe_code, reason = "a limit of the child alone can only be set between fork and exec")]

use rustix::process::{Resource, setrlimit};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Gives the limit back when `command` is started.
pub fn with_own_limit(command: &mut Command) -> &mut Command {
    let original = crate::descriptors::original();
    let restore = move || setrlimit(Resource::Nofile, original).map_err(std::io::Error::from);
    // SAFETY: between fork and exec this makes one system call and touches no memory but its own copy of two numbers.
    unsafe { command.pre_exec(restore) }
}

/// What programs of the system are started with: the caller's variables could have them load, look up or say something else.
const ENVIRONMENT: [(&str, &str); 3] =
    [("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C"), ("SYSTEMD_COLORS", "0")];

/// Gives a program of the system an environment of its own.
pub fn with_own_environment(command: &mut Command) -> &mut Command {
    command.env_clear().envs(ENVIRONMENT)
}

/// Ends what `command` starts when the thread that starts it ends, whatever ends that.
pub fn dies_with_parent(command: &mut Command) -> &mut Command {
    let parent = rustix::process::getpid();
    let tie = move || {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        // It may have ended since the fork: nobody would say so any more.
        if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec this makes two system calls and touches no memory but its own copy of a number.
    unsafe { command.pre_exec(tie) }
}

#[cfg(test)]
mod tests {
    use super::{ENVIRONMENT, with_own_environment, with_own_limit};
    use std::process::Command;

    #[test]
    fn a_program_of_the_system_has_no_variable_of_the_caller() {
        let mut command = Command::new("/usr/bin/env");
        let output = with_own_environment(command.env("LD_AUDIT", "/x")).output().expect("env runs");
        let said = String::from_utf8(output.stdout).expect("text");
        let mut said: Vec<_> = said.lines().filter_map(|line| line.split_once('=')).collect();
        said.sort_unstable();
        let mut own = ENVIRONMENT;
        own.sort_unstable();
        assert_eq!(said, own);
    }

    #[test]
    fn a_child_has_the_limit_that_was_given() {
        let before = crate::descriptors::original().current;
        drop(crate::descriptors::reserve());
        let output = with_own_limit(Command::new("sh").args(["-c", "ulimit -n"])).output().expect("sh runs");
        let said = String::from_utf8(output.stdout).expect("text");
        assert_eq!(said.trim(), before.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string()));
    }
}
