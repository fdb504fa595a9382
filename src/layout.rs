//! The layout of tables in the state folder: a file that is read at the start and written when a column is chosen.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The longest layout that is read.
const LONGEST: u64 = 64 << 10;

/// The file in a state folder.
pub(crate) fn file(state: &Path) -> PathBuf {
    state.join("screens")
}

/// What was kept; empty where nothing was or it cannot be read: the usual layout is as good.
pub(crate) fn read(path: &Path) -> String {
    let mut text = Vec::new();
    let opened = OpenOptions::new().read(true).custom_flags(flags()).open(path);
    let read = opened.and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    read.map(|_| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

/// Keeps it; no link is followed.
pub(crate) fn write(path: &Path, lines: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).custom_flags(flags()).open(path)?;
    file.write_all(lines.as_bytes())
}

/// Neither a link nor a FIFO that nobody reads holds the screen up.
fn flags() -> i32 {
    (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_layout_is_kept_and_no_link_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = super::file(&folder.path().join("new"));
        assert_eq!(super::read(&file), "");
        super::write(&file, "processes columns pid,cpu\n").expect("written");
        super::write(&file, "processes sort cpu asc\n").expect("written");
        assert_eq!(super::read(&file), "processes sort cpu asc\n");
        let link = folder.path().join("screens");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        assert!(super::write(&link, "x").is_err() && super::read(&link).is_empty());
    }
}
