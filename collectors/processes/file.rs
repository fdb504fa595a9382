//! One file of a process or thread: kept open while it is needed and the budget allows, reopened otherwise.

use crate::Root;
use crate::descriptors::{Reserved, reserve};
use crate::root::Kept;
use std::fmt::Arguments;
use topotop_model::Reason;

/// A file that is read again and again.
#[derive(Debug, Default)]
pub(super) struct ProcFile {
    kept: Option<(Kept, Reserved)>,
}

/// Files of one line, printed in one piece.
const LINE: usize = 2048;

impl ProcFile {
    /// Reads a short file. A kept descriptor whose process is gone is closed and the path opened anew: by now the pid
    /// may be another process's.
    pub(super) fn read(
        &mut self,
        root: &Root,
        path: Arguments<'_>,
        keep: bool,
        buf: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        if let Some((kept, _)) = &self.kept {
            if kept.read_once(buf, LINE).is_ok() && !buf.is_empty() {
                return Ok(());
            }
            self.kept = None;
        }
        let file = root.open(path.to_string())?;
        file.read_once(buf, LINE)?;
        if buf.is_empty() {
            return Err(Reason::Vanished);
        }
        if keep {
            self.kept = reserve().map(|reserved| (file, reserved));
        }
        Ok(())
    }

    /// True if it is kept open.
    pub(super) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Closes it.
    pub(super) fn close(&mut self) {
        self.kept = None;
    }
}

/// Reads a file of unknown length once; nothing in it means that its process is gone.
pub(super) fn read_once(root: &Root, path: Arguments<'_>, buf: &mut Vec<u8>) -> Result<(), Reason> {
    const USUAL: usize = 8 << 10;
    const MOST: usize = 1 << 20;
    let file = root.open(path.to_string())?;
    file.read_once(buf, USUAL)?;
    if buf.len() == USUAL {
        file.read_start(buf, MOST)?;
    }
    if buf.is_empty() { Err(Reason::Vanished) } else { Ok(()) }
}
