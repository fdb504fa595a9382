//! Names of containers that users run without root: from the files of podman and docker in their homes. A home belongs to
//! its user: no link in it is followed out of it, and nothing is read on a network file system or one in user space.

use super::runtime_names::{MOST_BYTES, docker_name, stored_names};
use crate::Root;
use crate::root::Local;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The most users whose homes are looked into at a time.
const MOST_USERS: usize = 64;
/// The most ids that are looked up in homes at a time: any user can call ten thousand groups like containers.
const MOST_IDS: usize = 256;
/// Where podman keeps its containers, by storage driver.
const STORED: [&str; 3] = ["overlay", "btrfs", "vfs"];

/// The names that users gave, as read in one look.
#[derive(Debug, Default)]
pub(super) struct UserNames<'a> {
    asked: usize,
    users: HashMap<u32, Option<Home<'a>>>,
}

#[derive(Debug)]
struct Home<'a> {
    directory: Local<'a>,
    /// Names by id.
    stored: HashMap<String, String>,
}

impl<'a> UserNames<'a> {
    /// The name that a user gave a container, by its id of hexadecimal digits.
    pub(super) fn of(&mut self, (root, top): (&Root, &Local<'a>), uid: u32, id: &str) -> Option<String> {
        self.asked += 1;
        if self.asked > MOST_IDS || self.users.len() >= MOST_USERS && !self.users.contains_key(&uid) {
            return None;
        }
        let home = self.users.entry(uid).or_insert_with(|| {
            let path = listed(&root.read_text("etc/passwd").ok()?, uid)?;
            top.inside(&path).ok().map(Home::read)
        });
        home.as_ref()?.name(id)
    }
}

impl<'a> Home<'a> {
    fn read(directory: Local<'a>) -> Self {
        let list = |driver: &&str| {
            let file = format!(".local/share/containers/storage/{driver}-containers/containers.json");
            text(&directory, &file).map_or_else(Vec::new, |text| stored_names(&text))
        };
        let stored = STORED.iter().flat_map(list).collect();
        Self { directory, stored }
    }

    fn name(&self, id: &str) -> Option<String> {
        if let Some(name) = self.stored.get(id) {
            return Some(name.clone());
        }
        let file = format!(".local/share/docker/containers/{id}/config.v2.json");
        docker_name(&text(&self.directory, &file)?)
    }
}

/// The beginning of a file in a home; one that is longer does not parse.
fn text(home: &Local<'_>, file: &str) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    home.read_start(file, &mut text, MOST_BYTES).ok()?;
    Some(text)
}

/// The home of a user in passwd(5).
fn listed(passwd: &str, uid: u32) -> Option<PathBuf> {
    let line = passwd.lines().find(|line| line.split(':').nth(2).and_then(|field| field.parse().ok()) == Some(uid))?;
    let path = Path::new(line.split(':').nth(5)?);
    let plain = path.components().all(|part| !matches!(part, std::path::Component::ParentDir));
    (path.is_absolute() && path.components().count() > 1 && plain).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Home, listed};
    use crate::Root;
    use crate::testing::put;
    use std::path::Path;

    const ID: &str = "1d3d308a7d48a27814a68bf33a44acf4441c9c02463ca0bc1cdfdc8c0b4a8496";

    #[test]
    fn podman_and_docker_keep_names_in_homes() {
        let dir = tempfile::tempdir().expect("a directory");
        let stored = "home/ann/.local/share/containers/storage/overlay-containers/containers.json";
        put(dir.path(), stored, format!(r#"[{{"id":"{ID}","names":["db"]}}]"#));
        let other = ID.replace('1', "2");
        let docker = format!("home/ann/.local/share/docker/containers/{other}/config.v2.json");
        put(dir.path(), docker, r#"{"Name":"/mq"}"#);
        put(dir.path(), "var/secret.json", format!(r#"[{{"id":"{ID}","names":["secret"]}}]"#));
        let root = Root::at(dir.path()).expect("a root");
        let read = || Home::read(root.local().expect("a root").inside(Path::new("/home/ann")).expect("a home"));
        let name = |home: &Home<'_>, id: &str| home.name(id);
        let home = read();
        assert_eq!((name(&home, ID).as_deref(), name(&home, &other).as_deref()), (Some("db"), Some("mq")));
        // A link out of the home leads nowhere.
        std::fs::remove_file(dir.path().join(stored)).expect("removed");
        std::os::unix::fs::symlink("/var/secret.json", dir.path().join(stored)).expect("linked");
        assert_eq!(name(&read(), ID), None);
    }

    #[test]
    fn homes_are_those_of_passwd() {
        let passwd = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000:Ann,,,:/home/ann:/bin/sh\nbad:x:7:7::/x/../etc:/\nlow:x:8:8::rel:/\ntop:x:9:9::/:/\ncut:x:10";
        assert_eq!(listed(passwd, 1000).as_deref(), Some(Path::new("/home/ann")));
        assert!([7, 8, 9, 10, 11].into_iter().all(|uid| listed(passwd, uid).is_none()));
    }
}
