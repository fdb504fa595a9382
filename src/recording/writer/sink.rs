//! A file that is written at places, or standard output that is written in order.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use topotop_model::locale::{output as text, pair};
use topotop_model::recording::Chunk;
use topotop_model::text::printable;

/// Bytes that a pipe may hold: what waits in it is old by the time it is read.
const PIPE_BYTES: usize = 16 << 10;

/// How a chunk was written.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It was; so many bytes there are.
    Written(u64),
    /// It was not, for a reason that may pass.
    Failed(String),
    /// Nobody reads any more.
    Gone,
    /// Nothing more can follow, for a reason.
    Broken(String),
}

/// Where bytes go.
#[derive(Debug)]
pub(super) enum Sink {
    File { file: File, end: u64 },
    Stdout { sent: u64 },
}

impl Sink {
    /// A new file that its owner alone can read.
    pub(super) fn create(path: &Path) -> Result<Self, String> {
        let name = printable(&path.display().to_string()).into_owned();
        let file = crate::folder::new_file(path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => pair(&name, text::EXISTS),
            _ => pair(&name, crate::trust::said(&error)),
        })?;
        Ok(Self::File { file, end: 0 })
    }

    pub(super) fn stdout() -> Self {
        // Where it is no pipe its size stays what it is.
        let _ = rustix::pipe::fcntl_setpipe_size(std::io::stdout(), PIPE_BYTES);
        Self::Stdout { sent: 0 }
    }

    pub(super) fn write(&mut self, chunk: &Chunk) -> Outcome {
        match self {
            Self::File { file, end } => {
                for (offset, bytes) in &chunk.writes {
                    if let Err(error) = file.write_all_at(bytes, *offset) {
                        // What was written of it must not look like a record that was cut.
                        let _ = file.set_len(*end);
                        // Without the file's name: the reason goes into the recording, which may be anonymised.
                        return Outcome::Failed(error.to_string());
                    }
                    *end = (*end).max(offset + bytes.len() as u64);
                }
                Outcome::Written(*end)
            }
            Self::Stdout { sent } => {
                for (_, bytes) in &chunk.writes {
                    match write_all(bytes) {
                        Ok(()) => *sent += bytes.len() as u64,
                        Err(rustix::io::Errno::PIPE) => return Outcome::Gone,
                        // Half a chunk may be out: what follows would be no record.
                        Err(errno) => return Outcome::Broken(topotop_collectors::state::words(errno)),
                    }
                }
                Outcome::Written(*sent)
            }
        }
    }

    /// Puts what was written on the disk.
    pub(super) fn sync(&self) {
        if let Self::File { file, .. } = self {
            // A failing disk reports it at the next write.
            let _ = file.sync_data();
        }
    }
}

/// Writes to standard output past all buffers; waits where it was made non-blocking by whoever shares it.
fn write_all(mut bytes: &[u8]) -> rustix::io::Result<()> {
    let stdout = std::io::stdout();
    while !bytes.is_empty() {
        match rustix::io::write(&stdout, bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                let mut ready = [rustix::event::PollFd::new(&stdout, rustix::event::PollFlags::OUT)];
                rustix::event::poll(&mut ready, None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
