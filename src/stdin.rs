//! Standard input: a stream, or the terminal that keys come from.

use std::fs::File;
use std::io::IsTerminal as _;
use std::os::fd::{AsFd as _, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::OnceLock;

/// What standard input was before the terminal took its place.
static STREAM: OnceLock<OwnedFd> = OnceLock::new();

/// Keys are read from a terminal that standard input is not: opened now, since a confined process opens nothing for
/// writing later.
pub(crate) fn hold_terminal() {
    if std::io::stdin().is_terminal() {
        return;
    }
    let terminal = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty");
    // Without one the keys are missing, as they would be later.
    if let (Ok(terminal), Ok(stream)) = (terminal, std::io::stdin().as_fd().try_clone_to_owned()) {
        let _ = STREAM.set(stream);
        let _ = rustix::stdio::dup2_stdin(&terminal);
    }
}

/// The stream on standard input, and its name as a file.
pub(crate) fn stream() -> std::io::Result<(File, PathBuf)> {
    let fd = STREAM.get().map_or_else(|| std::io::stdin().as_fd().try_clone_to_owned(), OwnedFd::try_clone)?;
    let number = STREAM.get().map_or(0, AsRawFd::as_raw_fd);
    Ok((File::from(fd), PathBuf::from(format!("/proc/self/fd/{number}"))))
}
