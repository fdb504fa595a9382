//! What a frame can be written as: one table of formats, each a function.

pub mod json;

use std::io::{self, Write};
use topotop_model::frame::Frame;

/// What a writer may be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep only so many processes and control groups, the biggest; all of them when none.
    pub top: Option<usize>,
    /// Break lines and indent, for people.
    pub pretty: bool,
}

/// A format that a frame can be written in.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// The file name extension that chooses it.
    pub extension: &'static str,
    /// Writes a frame.
    pub write: fn(&Frame, &Options, &mut dyn Write) -> io::Result<()>,
}

/// Formats that need the frame alone; those that are drawn screens are made where the screens are.
pub const FORMATS: &[Format] = &[Format { name: "json", extension: "json", write: json::write }];

/// The format of a name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
