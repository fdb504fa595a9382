//! The thread that waits for keys and signals.

use super::Event;
use crate::app::Msg;
use crossterm::event::Event as TerminalEvent;
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTRAP, SIGTSTP, SIGUSR1, SIGUSR2, SIGVTALRM,
    SIGWINCH, SIGXCPU, SIGXFSZ,
};
use std::fs::File;
use std::io::{IsTerminal as _, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{SendError, SyncSender};
use std::time::Duration;

/// Signals that are waited for: the others that would end the program as well, since the terminal is given back first.
const SIGNALS: [i32; 18] = [
    SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO,
    SIGTRAP, SIGXCPU, SIGXFSZ, SIGSTKFLT, SIGPWR,
];

/// Two that no terminal sends, by their numbers on Linux.
const SIGSTKFLT: i32 = 16;
const SIGPWR: i32 = 30;

/// Starts the thread. When it ends, however it ends, the loop ends.
pub(super) fn spawn(sender: SyncSender<Event>) -> std::io::Result<()> {
    let mut signals = Vec::new();
    for signal in SIGNALS {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(signal, theirs)?;
        signals.push((signal, ours));
    }
    let tty = tty()?;
    std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        let guard = Guard(sender);
        let _ = watch(&guard.0, &tty, &mut signals);
    })?;
    Ok(())
}

struct Guard(SyncSender<Event>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Leave);
    }
}

/// Where keys come from, as crossterm finds it.
fn tty() -> std::io::Result<OwnedFd> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return stdin.as_fd().try_clone_to_owned();
    }
    Ok(File::open("/dev/tty")?.into())
}

/// Passes on what comes until nobody listens or the terminal is gone.
fn watch(sender: &SyncSender<Event>, tty: &OwnedFd, signals: &mut [(i32, UnixStream)]) -> Result<(), SendError<Event>> {
    loop {
        let mut waiting = vec![PollFd::new(tty, PollFlags::IN)];
        waiting.extend(signals.iter().map(|(_, stream)| PollFd::new(stream, PollFlags::IN)));
        match poll(&mut waiting, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Ok(()),
        }
        let ready: Vec<PollFlags> = waiting.iter().map(PollFd::revents).collect();
        drop(waiting);
        for ((signal, stream), _) in signals.iter_mut().zip(ready.iter().skip(1)).filter(|(_, ready)| !ready.is_empty())
        {
            // Several signals of one kind are one.
            let _ = stream.read(&mut [0; 64]);
            sender.send(event_of(*signal))?;
        }
        let keys = ready.first().copied().unwrap_or(PollFlags::empty());
        // Before anything is read: at the end of a terminal that is gone crossterm reads for ever.
        if keys.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Ok(());
        }
        if keys.contains(PollFlags::IN) && !pass_on(sender)? {
            return Ok(());
        }
    }
}

fn event_of(signal: i32) -> Event {
    match signal {
        SIGWINCH => Event::Resized,
        SIGTSTP => Event::Suspend,
        SIGCONT => Event::Continued,
        _ => Event::Leave,
    }
}

/// Passes on every key and click that is there; false if the terminal cannot be read.
fn pass_on(sender: &SyncSender<Event>) -> Result<bool, SendError<Event>> {
    loop {
        match crossterm::event::poll(Duration::ZERO) {
            Ok(true) => {}
            Ok(false) => return Ok(true),
            Err(_) => return Ok(false),
        }
        let Ok(event) = crossterm::event::read() else { return Ok(false) };
        let event = match event {
            TerminalEvent::Key(key) => Event::Msg(Msg::Key(key)),
            TerminalEvent::Mouse(mouse) => Event::Msg(Msg::Mouse(mouse)),
            TerminalEvent::Paste(text) => Event::Msg(Msg::Paste(text)),
            TerminalEvent::Resize(..) => Event::Resized,
            TerminalEvent::FocusGained | TerminalEvent::FocusLost => continue,
        };
        sender.send(event)?;
    }
}
