//! Signals as messages, so that a recording is closed well and a command that is bracketed gets its share.

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use std::io::Read as _;
use std::os::unix::net::UnixStream;

/// What ends a recording, or goes to the command.
const ENDING: [i32; 4] = [SIGTERM, SIGHUP, SIGINT, SIGQUIT];
/// What goes to the command only.
const USERS: [i32; 2] = [SIGUSR1, SIGUSR2];

/// Starts a thread that hands each signal to `tell` until that says false. Those for users are taken only where there
/// is a command to have them.
pub(super) fn watch(command: bool, tell: impl Fn(i32) -> bool + Send + 'static) -> std::io::Result<()> {
    let mut streams = Vec::new();
    let users = if command { USERS.as_slice() } else { &[] };
    for &signal in ENDING.iter().chain(users) {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(signal, theirs)?;
        streams.push((signal, ours));
    }
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        loop {
            let mut waiting: Vec<_> = streams.iter().map(|(_, stream)| PollFd::new(stream, PollFlags::IN)).collect();
            match poll(&mut waiting, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            let ready: Vec<bool> = waiting.iter().map(|fd| !fd.revents().is_empty()).collect();
            drop(waiting);
            for ((signal, stream), _) in streams.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
                // Several signals of one kind are one.
                let _ = stream.read(&mut [0; 64]);
                if !tell(*signal) {
                    return;
                }
            }
        }
    })?;
    Ok(())
}

/// True for a signal that asks to end.
pub(super) fn ends(signal: i32) -> bool {
    ENDING.contains(&signal)
}

/// True if the command has the signal already: the terminal sends its keys' signals to every process of the job.
pub(super) fn is_of_the_terminal(signal: i32) -> bool {
    matches!(signal, SIGINT | SIGQUIT) && in_the_foreground()
}

/// True while this job has a terminal and is the one that its keys go to.
fn in_the_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}
