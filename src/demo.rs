//! `topotop demo`: the recording of a sick server that is part of the program, for people without one.

use crate::args::Global;
use crate::config::Config;
use crate::output::Output;
use crate::replay::{self, ReplayArgs};
use clap::Args;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use topotop_model::locale::{demo as text, error};

/// The recording; `make demo` writes it again.
const RECORDING: &[u8] = include_bytes!("demo/server.rec");

/// Arguments of `demo`.
#[derive(Clone, Debug, Default, Args)]
pub struct DemoArgs {
    /// Write the recording to FILE instead, for `check --from`, `diff` and `export`.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Plays it, or writes it to a file.
pub(crate) fn run(global: &Global, config: &Config, args: &DemoArgs) -> Result<(), String> {
    if let Some(path) = &args.output {
        let mut out = Output::create(Some(path))?;
        let written = out.write_all(RECORDING);
        return out.finish(written);
    }
    // A file of its own without a name: a replay opens its recording once for every thread that reads it.
    let wrong = |what: &dyn std::fmt::Display| error::NoDemo { error: what }.to_string();
    let mut file =
        File::from(memfd_create("demo", MemfdFlags::CLOEXEC).map_err(|errno| wrong(&std::io::Error::from(errno)))?);
    file.write_all(RECORDING).map_err(|error| wrong(&error))?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let played = ReplayArgs { files: vec![path], ..ReplayArgs::default() };
    replay::show(global, config, &played, "`topotop demo -o FILE`", Some(text::TITLE.to_string()))
}
