//! Fixes at work: what reads old values, writes new ones, keeps the journal and takes things back. Plans are made by the
//! model; nothing else in the program writes to the machine.

pub mod applier;
pub mod args;
pub(crate) mod broker;
pub(crate) mod command;
pub mod deadman;
pub mod journal;
pub mod machine;
mod observer;
pub mod order;
pub mod session;
mod show;
pub(crate) mod writer;
