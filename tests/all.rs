//! Integration tests: one binary, modules below.
#![expect(clippy::expect_used, reason = "helpers of tests fail as tests do")]

mod common;

mod architecture;
mod cli;
mod hostile;
mod live;
mod log;
mod machines;
mod pty;
mod schema;
mod screens;
mod time;
mod unprivileged;
mod wide;
