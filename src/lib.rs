//! topotop: `top` for a machine's topology.
//!
//! ```text
//! /proc /sys → collectors → Snapshot ─┬→ log (ring) ──→ step back, jump
//!                                     └→ Window → derive → Frame ─┬→ App → view → terminal
//!                                                                 └→ export → writer
//! key → Command → App::update → Effect → runtime (seek, interval, suspend, quit)
//! ```
//!
//! Samples flow one way; only effects flow back. [`app`] knows no I/O and no clock, [`view`] draws it into a buffer,
//! [`runtime`] is the only place that blocks, [`source`] feeds it.

pub mod action;
pub mod app;
pub mod args;
pub mod capture;
pub mod check;
pub mod cli;
pub mod config;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod dump;
pub mod edit;
pub mod export;
pub mod fix;
pub mod keymap;
pub mod mark;
pub mod metrics;
pub mod moment;
pub mod plan;
pub mod preflight;
pub mod record;
pub mod recording;
pub mod runtime;
pub mod source;
pub mod span;
pub mod theme;
pub mod units;
pub mod view;

mod catalogue;
mod folder;
mod help;
mod language;
mod layout;
mod manual;
mod output;
mod page;
mod privilege;
mod replay;
mod report;
mod run;
mod serve;
mod snapshot;
mod starter;
mod startup;
mod starvation;
mod stderr;
mod stdin;
mod sys;
mod trust;

pub use run::run;
