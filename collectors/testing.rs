//! What tests of several collectors share.

use std::path::Path;

/// A file below a directory that is to be read as a machine, with the directories above it.
pub(crate) fn put(dir: &Path, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    std::fs::write(path, bytes).expect("written");
}
