//! Fixes as `fix show` has them of a moving machine: what they write, what may break and how dangerous they are.

use super::{Machine, misses, run, tree};

/// A fix of a machine, and what is said of it.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    pub(super) name: &'static str,
    pub(super) machine: fn() -> Machine,
    /// Its id, as findings have it.
    pub(super) fix: &'static str,
    /// Parameters that are changed.
    pub(super) set: &'static [&'static str],
    /// JSON pointers into the plan, and a part of what is there.
    pub(super) says: &'static [(&'static str, &'static str)],
}

/// Shows each fix; says all that is wrong.
pub(super) fn show(fixes: &[Shown]) {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let started: Vec<_> = fixes.iter().map(|fix| scope.spawn(move || wrong(fix))).collect();
        started.into_iter().flat_map(|fix| fix.join().expect("a fix is shown")).collect()
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn wrong(shown: &Shown) -> Vec<String> {
    let dir = tree(shown.name, (shown.machine)(), 30);
    let mut arguments = vec!["fix", "show", shown.fix, "--format", "json"];
    arguments.extend(shown.set.iter().flat_map(|set| ["--set", set]));
    let output = run(&arguments, dir.path());
    let Ok(plan) = serde_json::from_slice(&output.stdout) else {
        return vec![format!("{}: {}", shown.name, String::from_utf8_lossy(&output.stderr))];
    };
    misses(&plan, shown.says, &[]).into_iter().map(|text| format!("{}: {text}", shown.name)).collect()
}
