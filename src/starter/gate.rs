//! The command of a recording, started before this process gives rights away and held until the recording has begun: it
//! has the rights, the streams and the terminal that topotop was started with.

use super::{OWN, inherited};
use std::ffi::OsString;
use std::io::{Error, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode};
use topotop_collectors::sys::child::with_own_limit;

/// The hidden verb.
pub(crate) const VERB: &str = "__hold-program";

/// A program that is held.
#[derive(Debug)]
pub(crate) struct Gate {
    child: Child,
    control: UnixStream,
}

impl Gate {
    /// Starts the holder; `streams` connects its streams.
    pub(crate) fn hold(words: &[String], streams: impl FnOnce(&mut Command)) -> std::io::Result<Self> {
        let (control, theirs) = UnixStream::pair()?;
        let mut command = Command::new(OWN);
        command.arg0("topotop").args([VERB, &theirs.as_raw_fd().to_string()]).args(words);
        streams(&mut command);
        let child = inherited(&theirs, || with_own_limit(&mut command).spawn())?;
        Ok(Self { child, control })
    }

    /// The number of the holder, and of the program later.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets the program run; the error of starting it otherwise.
    pub(crate) fn open(mut self) -> std::io::Result<Child> {
        let mut errno = [0; 4];
        let asked = self.control.write_all(b"g");
        // It closes its side by becoming the program.
        match asked.and_then(|()| self.control.read(&mut errno)) {
            Ok(0) => Ok(self.child),
            Ok(_) => {
                let _ = self.child.wait();
                Err(Error::from_raw_os_error(i32::from_ne_bytes(errno)))
            }
            Err(error) => {
                let _ = self.child.kill();
                let _ = self.child.wait();
                Err(error)
            }
        }
    }
}

/// Runs the holder: the number of a descriptor, the program and its arguments.
pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let number = arguments.next().and_then(|word| word.to_str()?.parse().ok());
    let socket: Option<OwnedFd> = number.and_then(topotop_collectors::sys::inherited::take);
    let (Some(socket), Some(program)) = (socket, arguments.next()) else { return ExitCode::from(2) };
    let mut control = UnixStream::from(socket);
    // Its end without a word: there is no recording.
    if control.read_exact(&mut [0]).is_err() {
        return ExitCode::from(125);
    }
    let error = Command::new(program).args(arguments).exec();
    let _ = control.write_all(&error.raw_os_error().unwrap_or(libc::EACCES).to_ne_bytes());
    ExitCode::from(127)
}
