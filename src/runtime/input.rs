//! The thread that waits for keys, answers of the terminal and signals.

mod decode;

pub(super) use decode::Answer;

use super::Event;
use crate::app::Msg;
use decode::{Decoder, Input};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTRAP, SIGTSTP, SIGUSR1, SIGUSR2, SIGVTALRM,
    SIGWINCH, SIGXCPU, SIGXFSZ,
};
use std::fs::File;
use std::io::{IsTerminal as _, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SendError, SyncSender};

/// Signals that are waited for: the others that would end the program as well, since the terminal is given back first.
const SIGNALS: [i32; 18] = [
    SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO,
    SIGTRAP, SIGXCPU, SIGXFSZ, SIGSTKFLT, SIGPWR,
];

/// Two that no terminal sends, by their numbers on Linux.
const SIGSTKFLT: i32 = 16;
const SIGPWR: i32 = 30;

/// How long an Esc may be the beginning of something: of a key, and of an answer that is awaited.
const ESCAPE: [Timespec; 2] =
    [Timespec { tv_sec: 0, tv_nsec: 50_000_000 }, Timespec { tv_sec: 0, tv_nsec: 500_000_000 }];

/// Starts the thread. When it ends, however it ends, the loop ends. `asked` says whether the terminal owes an answer.
pub(super) fn spawn(sender: SyncSender<Event>, asked: Arc<AtomicBool>) -> std::io::Result<()> {
    let mut signals = Vec::new();
    for signal in SIGNALS {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(signal, theirs)?;
        signals.push((signal, ours));
    }
    // Real-time signals, as far as the C library leaves them to programs, each end one that does not handle it. Nothing
    // sends them on purpose: one pair of sockets is enough for all.
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    for signal in libc::SIGRTMIN()..=libc::SIGRTMAX() {
        signal_hook::low_level::pipe::register(signal, theirs.try_clone()?)?;
    }
    signals.push((libc::SIGRTMIN(), ours));
    let tty = tty()?;
    std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        let guard = Guard(sender);
        let _ = watch(&guard.0, &tty, &mut signals, &asked);
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
fn watch(
    sender: &SyncSender<Event>,
    tty: &OwnedFd,
    signals: &mut [(i32, UnixStream)],
    asked: &AtomicBool,
) -> Result<(), SendError<Event>> {
    let mut decoder = Decoder::default();
    loop {
        let mut waiting = vec![PollFd::new(tty, PollFlags::IN)];
        waiting.extend(signals.iter().map(|(_, stream)| PollFd::new(stream, PollFlags::IN)));
        let [key, answer] = &ESCAPE;
        let patience = if asked.load(Ordering::Relaxed) { answer } else { key };
        match poll(&mut waiting, decoder.holds_escape().then_some(patience)) {
            Ok(0) => pass_on(sender, decoder.escape())?,
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
        if keys.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Ok(());
        }
        if keys.contains(PollFlags::IN) {
            let mut bytes = [0; 4096];
            match rustix::io::read(tty, &mut bytes) {
                Ok(count @ 1..) => pass_on(sender, decoder.feed(bytes.get(..count).unwrap_or_default()))?,
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Ok(_) | Err(_) => return Ok(()),
            }
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

fn pass_on(sender: &SyncSender<Event>, inputs: impl IntoIterator<Item = Input>) -> Result<(), SendError<Event>> {
    for input in inputs {
        sender.send(match input {
            Input::Key(key) => Event::Msg(Msg::Key(key)),
            Input::Mouse(mouse) => Event::Msg(Msg::Mouse(mouse)),
            Input::Paste(text) => Event::Msg(Msg::Paste(text)),
            Input::Answer(answer) => Event::Answer(answer),
        })?;
    }
    Ok(())
}
