//! The machine that fixes change: read, written and distinguished from another one of the same name. The kernel's is the real one;
//! tests have one that fails.

mod affinity;
mod cpuset;
mod file;
#[cfg(test)]
mod groups;
mod hold;
mod interrupt;
mod ioprio;
mod limit;
mod line;
mod member;
mod nic;
mod pages;
mod process;
mod reclaim;
#[cfg(test)]
mod replaced;
mod rights;
mod service;
mod unit;
mod whose;

pub use hold::Hold;

use std::fmt;
use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use topotop_collectors::probe::{self, Unread};
use topotop_collectors::{Root, surroundings};
use topotop_model::fix::{Identity, Plan, Target};
use topotop_model::locale::fix::machine as text;

/// Writes a file that others cannot change, whatever the umask of whoever started this: systemd believes it.
fn own_file(path: &Path, text: &str) -> io::Result<()> {
    // A new one: who has the old one open may go on writing to that.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(0o644).open(path)?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    file.write_all(text.as_bytes())
}

/// A folder like that, with those above it.
fn own_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// What a fix reads and writes.
pub trait Machine {
    /// The values of a place, with the key of each item.
    fn values(&self, target: &Target) -> Result<Vec<(String, String)>, Unread>;

    /// The value of one item; none where it is not there any more.
    fn value(&self, target: &Target, key: &str) -> Result<Option<String>, Unread> {
        Ok(self.values(target)?.into_iter().find(|(known, _)| known == key).map(|(_, value)| value))
    }

    /// Whether something is what it was when the plan was made; what it is now otherwise.
    fn same(&self, identity: &Identity) -> Result<(), String>;

    /// True for a process that has exited.
    fn has_exited(&self, _identity: &Identity) -> bool {
        false
    }

    /// An identity with what frames do not carry.
    fn filled(&self, identity: &Identity) -> Identity;

    /// Why a plan may not be written here: a right that is not held.
    fn forbids(&self, _plan: &Plan) -> Option<String> {
        None
    }

    /// Keeps hold of something, so that a later one of the same name is not taken for it.
    fn hold(&self, _identity: &Identity) -> Hold {
        Hold::default()
    }

    /// From now on, writes are for these: what has one's name and is another one is not written to.
    fn stand_for(&mut self, _whose: &[Identity]) {}

    /// Writes a value to an item of a place. What takes long tells how far it is, and stops where that answers so.
    fn write(
        &mut self,
        target: &Target,
        key: &str,
        value: &str,
        tell: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(), Trouble>;
}

/// How far a write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// So much is done.
    pub done: u64,
    /// Of so much.
    pub of: u64,
    /// `pages`, `bytes`.
    pub unit: &'static str,
}

/// Why a write failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The kernel's number; none where it was not the kernel.
    pub errno: Option<i32>,
    /// Its words: what it said where it said something, else what the number means.
    pub message: String,
}

impl Trouble {
    /// What the kernel's number means.
    pub fn errno(errno: rustix::io::Errno) -> Self {
        let message = std::io::Error::from(errno).to_string();
        // "Invalid argument (os error 22)": the number has a place of its own.
        let message = message.split(" (os error").next().unwrap_or_default().to_owned();
        Self { errno: Some(errno.raw_os_error()), message }
    }

    /// True where there is nobody any more to write to.
    pub fn has_ended(&self) -> bool {
        self.errno == Some(rustix::io::Errno::SRCH.raw_os_error())
    }

    /// Of a process or a thread that has exited.
    pub fn ended(message: impl fmt::Display) -> Self {
        Self { errno: Some(rustix::io::Errno::SRCH.raw_os_error()), message: message.to_string() }
    }

    /// A value that cannot be written to its place.
    pub fn invalid(value: impl fmt::Display) -> Self {
        Self::because(text::Invalid { value: &value }.to_string())
    }

    /// Not of the kernel.
    pub fn because(message: impl Into<String>) -> Self {
        Self { errno: None, message: message.into() }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// This machine.
#[derive(Clone, Debug)]
pub struct Kernel {
    root: Arc<Root>,
    /// Those whose values are written.
    whose: Vec<Identity>,
}

impl Kernel {
    /// Reads below a root; it writes where that is this machine's own.
    pub fn new(root: Arc<Root>) -> Self {
        Self { root, whose: Vec::new() }
    }
}

impl Kernel {
    /// An interface that is about to be changed: by its name alone where the writes are not for one.
    fn interface<'a>(&self, name: &'a str) -> Result<nic::Interface<'a>, Trouble> {
        let is_it = |one: &&Identity| matches!(one, Identity::Nic { name: known, .. } if known == name);
        let Some(identity) = self.whose.iter().find(is_it) else { return Ok(nic::Interface { name, index: 0 }) };
        probe::same(&self.root, identity).map_err(Trouble::because)?;
        let index = if let Identity::Nic { ifindex, .. } = identity { *ifindex } else { 0 };
        Ok(nic::Interface { name, index })
    }
}

impl Machine for Kernel {
    fn values(&self, target: &Target) -> Result<Vec<(String, String)>, Unread> {
        probe::values(&self.root, target)
    }

    fn value(&self, target: &Target, key: &str) -> Result<Option<String>, Unread> {
        probe::value(&self.root, target, key)
    }

    fn same(&self, identity: &Identity) -> Result<(), String> {
        probe::same(&self.root, identity)
    }

    fn has_exited(&self, identity: &Identity) -> bool {
        probe::has_exited(&self.root, identity)
    }

    fn filled(&self, identity: &Identity) -> Identity {
        probe::filled(&self.root, identity)
    }

    fn forbids(&self, plan: &Plan) -> Option<String> {
        let held = || surroundings::capabilities(&self.root);
        if self.root.is_live() { rights::missing(plan, &held()) } else { None }
    }

    fn hold(&self, identity: &Identity) -> Hold {
        if self.root.is_live() { Hold::of(identity) } else { Hold::default() }
    }

    fn stand_for(&mut self, whose: &[Identity]) {
        whose.clone_into(&mut self.whose);
    }

    fn write(
        &mut self,
        target: &Target,
        key: &str,
        value: &str,
        tell: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(), Trouble> {
        if !self.root.is_live() {
            return Err(Trouble::because(text::CAPTURED));
        }
        let whose = self.whose.as_slice();
        match target {
            Target::File { path } if cpuset::is_inherited(path, value) => cpuset::inherit(&self.root, path, whose),
            Target::File { path } => {
                limit::check(&self.root, path, value)?;
                file::write(path, value, whose).map_err(|trouble| nic::why(path, trouble))
            }
            Target::DirtyLimit { background } => dirty(*background, value),
            Target::Reclaim { path } => reclaim::write(&self.root, path, value, whose, tell),
            Target::ForceEmpty { path } => file::write(path, value, whose),
            Target::Line { path, key } => line::write(path, key, value, whose),
            Target::Affinity { pid, .. } => affinity::write(&self.root, *pid, key, value),
            Target::Channels { nic } => nic::write_channels(&self.interface(nic)?, value),
            Target::Rings { nic } => nic::write_rings(&self.interface(nic)?, value),
            Target::RssTable { nic } => nic::write_rss_table(&self.interface(nic)?, value),
            Target::Interrupt { irq, actions } => interrupt::write(&self.root, *irq, actions, value),
            Target::Service { name } => service::write(&self.root, name, value),
            Target::Pages { pid, starttime } => pages::write(&self.root, *pid, *starttime, value, tell),
            Target::Nice { pid, .. } => process::write_nice(&self.root, *pid, key, value),
            Target::Member { pid, mount, .. } => member::write(&self.root, target, (*pid, mount), value, whose),
            Target::Thread { of, .. } => self.write(of, key, value, tell),
            Target::Stopped { pid, starttime } => process::write_state(&self.root, *pid, *starttime, value),
            Target::Signal { pid, starttime } => process::write_signal(&self.root, *pid, *starttime, value),
            Target::IoPriority { pid, .. } => ioprio::write(&self.root, *pid, key, value),
            Target::UnitProperty { unit, property } => unit::write(&self.root, unit, property, value),
            Target::UnitDropIn { unit, property } => unit::write_drop_in(Path::new("/"), unit, property, value),
        }
    }
}

/// `bytes 1073741824` to the one setting, `ratio 20` to the other: the kernel sets the one not written to zero.
fn dirty(background: bool, value: &str) -> Result<(), Trouble> {
    match value.split_once(' ') {
        Some((name @ ("bytes" | "ratio"), number)) => file::write(&probe::dirty::path(background, name), number, &[]),
        _ => Err(Trouble::invalid(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Kernel, Machine, own_file, own_folder};
    use std::ops::ControlFlow;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;
    use topotop_collectors::Root;
    use topotop_model::fix::Target;

    #[test]
    fn a_captured_machine_is_never_written_to() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(dir.path().join("proc/sys/vm")).expect("made");
        let file = dir.path().join("proc/sys/vm/swappiness");
        std::fs::write(&file, "60\n").expect("written");
        let mut machine = Kernel::new(Arc::new(Root::at(dir.path()).expect("a root")));
        for path in ["/proc/sys/vm/swappiness", file.to_str().expect("a text")] {
            let wrote = machine.write(&Target::file(path), "", "10", &mut |_| ControlFlow::Continue(()));
            assert!(wrote.is_err(), "{path}");
        }
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "60\n");
    }

    #[test]
    fn what_systemd_believes_is_nobody_elses_to_change() {
        let dir = tempfile::tempdir().expect("a directory");
        let (folder, file) = (dir.path().join("a/b"), dir.path().join("a/b/c"));
        own_folder(&folder).expect("made");
        // As an umask of others might have left it.
        std::fs::write(&file, "old").expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).expect("set");
        own_file(&file, "new").expect("written");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "new");
        let mode = |path| std::fs::metadata(path).expect("there").permissions().mode();
        assert_eq!((mode(&file) & 0o777, mode(&folder) & 0o022), (0o644, 0));
    }
}
