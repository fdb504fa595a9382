//! The program; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    topotop::run(&std::env::args_os().collect::<Vec<_>>())
}
