//! Integration tests: one binary, modules below.
#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![expect(clippy::print_stderr, reason = "a skipped test says why")]

mod common;

mod architecture;
mod bottleneck;
mod bound;
mod check;
mod chinese;
mod cli;
mod demo;
mod diff;
mod dist;
mod edit;
mod export;
mod fixes;
mod fuzzed;
mod hostile;
mod kept;
mod live;
mod log;
mod machines;
mod matrix;
mod metric;
mod moving;
mod negatives;
mod plan;
mod preflight;
mod pseudo_locale;
mod pty;
mod record;
mod replay;
mod report;
mod safety;
mod schema;
mod screens;
mod serve;
mod terminal;
mod time;
mod trouble;
mod unprivileged;
mod wide;
