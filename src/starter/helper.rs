//! The helper's side: a thread for each program.

use super::{BADLY, DENIED, EXHAUSTED, NOT_FOUND, STARTED, WELL};
use super::{orphans, side_process};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{IoSliceMut, PipeWriter, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use topotop_collectors::metrics::{Metric, OwnChild, Source, Started as _, start};
use topotop_model::Reason;

/// The hidden verb.
pub(crate) const VERB: &str = "__start-programs";
/// How often a program is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Runs it: the number of a descriptor, then the command line that topotop was started with, which says what metrics are
/// asked for.
pub(crate) fn run(
    arguments: impl Iterator<Item = OsString>,
    asked: impl FnOnce(&mut dyn Iterator<Item = OsString>) -> Option<Vec<Metric>>,
) -> ExitCode {
    let Some((socket, mut words)) = side_process(c"topotop-starter", arguments) else { return ExitCode::from(2) };
    let Some(metrics) = asked(&mut words) else { return ExitCode::from(2) };
    let programs: BTreeMap<String, Vec<String>> = metrics
        .into_iter()
        .filter_map(|metric| match metric.source {
            Source::Command(words, _) => Some((metric.name, words)),
            _ => None,
        })
        .collect();
    guarded();
    orphans::adopt();
    serve(&UnixStream::from(socket), &programs);
    orphans::end();
    ExitCode::SUCCESS
}

/// Goes on in a process below this one, which stays to end what the programs started where that process is killed.
fn guarded() {
    orphans::adopt();
    match crate::sys::fork::twin() {
        // Without another process, a starter that is killed leaves what its programs started.
        Ok(true) | Err(_) => {}
        Ok(false) => {
            let _ = rustix::thread::set_name(c"topotop-guard");
            crate::sys::fork::close_from(3);
            orphans::wait_for_all();
            crate::sys::fork::leave();
        }
    }
}

/// Starts what is asked for until nobody asks any more, and waits until all of it has ended.
fn serve(socket: &UnixStream, programs: &BTreeMap<String, Vec<String>>) {
    let running = Arc::new(Mutex::new(BTreeSet::new()));
    let mut threads = Vec::new();
    while let Some((name, output, control)) = request(socket) {
        threads.retain(|thread: &std::thread::JoinHandle<()>| !thread.is_finished());
        if threads.is_empty() {
            orphans::reap();
        }
        let Some(words) = programs.get(&name).cloned() else { continue };
        let running = Arc::clone(&running);
        let thread = std::thread::Builder::new().name("program".to_owned());
        threads.extend(thread.spawn(move || watch(&words, output, control, &running)));
    }
    for thread in threads {
        // One that panicked has nothing left to end.
        let _ = thread.join();
    }
}

/// The name of a metric, where its program prints to, and who waits for it.
fn request(socket: &UnixStream) -> Option<(String, PipeWriter, UnixStream)> {
    let mut name = [0; 256];
    let (length, fds) = receive(socket, &mut name)?;
    let [output, control] = <[OwnedFd; 2]>::try_from(fds).ok()?;
    let name = name.get(1..length).filter(|rest| usize::from(name[0]) == rest.len())?;
    Some((std::str::from_utf8(name).ok()?.to_owned(), PipeWriter::from(output), UnixStream::from(control)))
}

fn receive(socket: &UnixStream, name: &mut [u8]) -> Option<(usize, Vec<OwnedFd>)> {
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        match recvmsg(socket, &mut [IoSliceMut::new(name)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
            Ok(received) if received.bytes == 0 => return None,
            Ok(received) => {
                let fds = ancillary.drain().filter_map(|message| match message {
                    RecvAncillaryMessage::ScmRights(fds) => Some(fds),
                    _ => None,
                });
                return Some((received.bytes, fds.flatten().collect()));
            }
        }
    }
}

/// Runs one program; ends it when nobody waits for it any more.
fn watch(words: &[String], output: PipeWriter, mut control: UnixStream, running: &Mutex<BTreeSet<u32>>) {
    let lock = || running.lock().unwrap_or_else(PoisonError::into_inner);
    let started = {
        let mut running = lock();
        let started = start(words, output);
        running.extend(started.as_ref().ok().map(OwnChild::id));
        started
    };
    let mut child: OwnChild = match started {
        Ok(child) => child,
        Err(reason) => {
            let answer = match reason {
                Reason::NotFound => NOT_FOUND,
                Reason::PermissionDenied => DENIED,
                _ => EXHAUSTED,
            };
            // Who asked may have gone.
            let _ = control.write_all(&[answer]);
            return;
        }
    };
    let _ = control.write_all(&[STARTED]);
    let id = child.id();
    let well = loop {
        match child.ended(Duration::ZERO) {
            None if !is_given_up(&control) => {}
            well => break well,
        }
    };
    // What hangs in a session of its own would be there twice once it is started again.
    let family = if well.is_none() { orphans::family(id) } else { Vec::new() };
    orphans::kill(&family);
    // Ended, and waited for, before the other side sees this one closed; so is what it left in other sessions, where that
    // cannot be another program's.
    drop(child);
    {
        let mut running = lock();
        running.remove(&id);
        if running.is_empty() {
            orphans::end_left();
        }
    }
    if let Some(well) = well {
        let _ = control.write_all(&[if well { WELL } else { BADLY }]);
    }
}

/// Waits a moment; true once nobody waits for the program.
fn is_given_up(control: &UnixStream) -> bool {
    let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
    let mut polled = [PollFd::new(control, PollFlags::IN)];
    // Nothing is ever sent to this side: what can be read is its end.
    !matches!(poll(&mut polled, Some(&wait)), Ok(0) | Err(rustix::io::Errno::INTR))
}
