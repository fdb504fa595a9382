//! Integration tests: one binary, modules below.

mod common;

mod architecture;
mod hostile;
mod live;
mod log;
mod machines;
mod unprivileged;
mod wide;
