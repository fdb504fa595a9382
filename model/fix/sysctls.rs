//! What fixes of settings below /proc/sys share.

use super::{Case, Identity, Need, Snippet, Step, Target};
use crate::frame::Frame;
use crate::locale::fix as shared;

/// A setting's value in the last sample.
pub(super) fn value<'a>(frame: &'a Frame, name: &str) -> Option<&'a str> {
    frame.sysctls.iter().find(|(known, _)| &**known == name).map(|(_, value)| &**value)
}

/// The same as a number.
pub(super) fn number(frame: &Frame, name: &str) -> Option<u64> {
    value(frame, name)?.parse().ok()
}

/// The settings that fixes change.
pub const SYSCTLS: &[&str] = &[
    "kernel.numa_balancing",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.rps_sock_flow_entries",
    "vm.cache_reclaim_enable",
    "vm.cache_reclaim_s",
    "vm.cache_reclaim_weight",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_ratio",
    "vm.swappiness",
    "vm.watermark_scale_factor",
    "vm.zone_reclaim_mode",
];

/// The file of a setting: `vm.swappiness` is /proc/sys/vm/swappiness.
pub fn file(name: &str) -> String {
    debug_assert!(SYSCTLS.contains(&name), "nothing else is written: {name}");
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// A step that writes one.
pub(super) fn step(what: &str, name: &str, new: impl Into<String>) -> Step {
    Step::new(what, Target::file(file(name)), new)
}

/// A command that writes several.
pub(super) fn command(settings: &[(&str, String)]) -> String {
    let words: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("sysctl -w {}", words.join(" "))
}

/// The configuration that makes settings permanent.
pub(super) fn lasting(settings: &[(&str, String)]) -> Snippet {
    let lines: Vec<String> = settings.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
    Snippet { place: "/etc/sysctl.d/90-topotop.conf".to_owned(), text: lines.concat() }
}

/// The privilege they require.
pub(super) fn need() -> Need {
    Need { capability: String::new(), what: shared::NEED_SYSCTL.to_string() }
}

/// A plan about the whole machine.
pub(super) fn plan(case: &Case<'_>, fix: &'static str, title: String) -> super::Plan {
    let mut plan = case.plan(fix, title);
    plan.identity = vec![Identity::Host];
    plan.needs = vec![need()];
    plan.reverters = vec![shared::REVERTER_SYSCTL.to_string()];
    plan
}
