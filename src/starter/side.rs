//! The start of a process beside the screen: its socket, its command line, and signals that are for the screen.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::ffi::{CStr, OsString};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The socket of its first argument, and the command line that topotop was started with. Keys and signals of the terminal
/// end the screen; this process ends after it. Programs that it starts have the usual actions again.
pub(crate) fn side_process(
    name: &CStr,
    mut arguments: impl Iterator<Item = OsString>,
) -> Option<(OwnedFd, impl Iterator<Item = OsString>)> {
    // Otherwise it has the name of the file that it was started from: `exe`.
    let _ = rustix::thread::set_name(name);
    let number = arguments.next().and_then(|word| word.to_str()?.parse().ok());
    let socket = topotop_collectors::sys::inherited::take(number?)?;
    let ignored = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ignored)).ok()?;
    }
    Some((socket, std::iter::once(OsString::from("topotop")).chain(arguments)))
}
