//! The layout of tables in the state folder: a file that is read at the start and written when a column is chosen.

use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
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
    let regular = opened.and_then(|file| Ok((file.metadata()?.is_file(), file)));
    let read =
        regular.and_then(|(is_file, file)| if is_file { file.take(LONGEST).read_to_end(&mut text) } else { Ok(0) });
    read.map(|_| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

/// Neither a link nor a FIFO that nobody reads holds the screen up.
fn flags() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32
}

#[cfg(test)]
mod tests {
    use crate::output::keep;
    #[test]
    fn a_layout_is_kept_and_no_link_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = super::file(&folder.path().join("new"));
        assert_eq!(super::read(&file), "");
        keep(&file, b"processes columns pid,cpu\n").expect("written");
        keep(&file, b"processes sort cpu asc\n").expect("written");
        assert_eq!(super::read(&file), "processes sort cpu asc\n");
        let link = folder.path().join("screens");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        assert!(keep(&link, b"x").is_err() && super::read(&link).is_empty());
    }

    #[test]
    fn a_layout_is_replaced_whole_and_only_where_it_is_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, other) = (folder.path().join("screens"), folder.path().join("other"));
        keep(&file, b"processes sort cpu asc\n").expect("written");
        // Whoever has the old one open, or its second name, keeps it.
        std::fs::hard_link(&file, &other).expect("linked");
        keep(&file, b"processes sort pid asc\n").expect("written");
        assert_eq!(super::read(&other), "processes sort cpu asc\n");
        assert_eq!(std::fs::read_dir(folder.path()).expect("read").count(), 2);
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .expect("made");
        let reader = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).expect("opened");
        assert!(keep(&fifo, b"x").is_err());
        assert_eq!((super::read(&fifo), super::read("/dev/zero".as_ref())), (String::new(), String::new()));
        drop(reader);
        std::fs::write(&file, vec![b'x'; 1 << 20]).expect("written");
        assert_eq!(super::read(&file).len() as u64, super::LONGEST);
    }
}
