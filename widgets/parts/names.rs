//! Short names of things whose real names are long.

use super::{Pen, units};
use crate::{Charset, Cx, Role};
use topotop_model::IdSet;
use topotop_model::frame::{Cgroup, Container};
use topotop_model::locale::screen::shared as text;
use topotop_model::text::{printable, short_ids};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A container's name: pod and container where known, else runtime and the start of its id.
pub fn container(container: &Container) -> String {
    let id: String = container.id.chars().take(12).collect();
    let pod = if container.pod_name.is_empty() { "" } else { &container.pod_name };
    match (pod, &*container.container_name) {
        ("", "") if container.runtime.is_empty() => id,
        ("", "") => format!("{} {id}", container.runtime),
        ("", name) => name.to_owned(),
        (pod, "") => pod.to_owned(),
        (pod, name) => format!("{pod}/{name}"),
    }
}

/// The last part of a group's path; `/` for the root.
pub fn leaf(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().filter(|leaf| !leaf.is_empty()).map_or("/", id)
}

/// Digits of an id that are enough to tell it apart, as container runtimes show it.
const ID_DIGITS: usize = 12;

/// The start of an id of many digits; any other name as it is.
fn id(name: &str) -> &str {
    let is_id = name.len() >= 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { name.get(..ID_DIGITS).unwrap_or(name) } else { name }
}

/// A group's short name: its container, or the last part of its path.
pub fn short(cgroup: &Cgroup) -> String {
    cgroup
        .container
        .as_ref()
        .map(container)
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| short_ids(leaf(&cgroup.path)).into_owned())
}

/// The short name of a group by path, whether or not it is known.
pub fn cgroup(cx: &Cx<'_>, path: &str) -> String {
    cx.frame.cgroup(path).map_or_else(|| short_ids(leaf(path)).into_owned(), short)
}

/// True if a path is another one or below it; nothing counts as below the root, where everything is.
pub fn is_below(path: &str, above: &str) -> bool {
    let above = above.trim_end_matches('/');
    !above.is_empty() && path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Pen<'_> {
    /// A name; of one that is too long both ends, since the end tells one of many from the others.
    pub fn named(&mut self, role: Role, name: &str) -> &mut Self {
        let left = usize::from(self.left());
        // What systemd appends tells groups apart least.
        let bare = [".scope", ".service", ".slice"].iter().find_map(|end| name.strip_suffix(end));
        let name = bare.filter(|_| usize::from(width(name)) > left).unwrap_or(name);
        if usize::from(width(name)) <= left || left < 5 || !name.is_ascii() {
            return self.text(role, name);
        }
        let tail = (left - 1) / 2;
        let (head, tail) = (name.get(..left - 1 - tail), name.get(name.len() - tail..));
        let mark = if self.cx().charset == Charset::Ascii { "~" } else { "…" };
        self.text(role, head.unwrap_or_default()).text(role, mark).text(role, tail.unwrap_or_default())
    }

    /// The name of a group: where there is no room for all of `pod/container`, the pod, which tells containers of one
    /// name apart.
    pub fn group(&mut self, role: Role, name: &str) -> &mut Self {
        let pod = name.split_once('/').filter(|(pod, _)| !pod.is_empty() && width(name) > self.left());
        match pod {
            Some((pod, _)) if width(pod) < self.left() => {
                let mark = if self.cx().charset == Charset::Ascii { "~" } else { "…" };
                self.text(role, pod).text(role, mark)
            }
            Some((pod, _)) => self.named(role, pod),
            None => self.named(role, name),
        }
    }
}

/// CPUs that something may use: `all`, or a list that fits.
pub fn cpus(cx: &Cx<'_>, cpus: &IdSet, room: usize) -> (String, Role) {
    let online = &cx.frame.topology.cpus_online;
    if !online.is_empty() && online.is_subset(cpus) {
        return (text::ALL.to_string(), Role::Dim);
    }
    if let Some(cpu) = cpus.single() {
        return (text::Cpu { id: &cpu }.to_string(), Role::Warn);
    }
    let node = cx.frame.topology.nodes.iter().find(|node| !node.cpus.is_empty() && node.cpus == *cpus);
    match node {
        Some(node) => (text::Node { id: &node.id }.to_string(), Role::node(node.id)),
        None => (units::id_list(cpus, room), Role::Info),
    }
}

/// A hostile text as a pen would write it, at most `most` columns wide.
pub fn clean(text: &str, most: usize) -> String {
    let mut room = most;
    let text = printable(text);
    let fits = |c: &char| {
        let width = c.width().unwrap_or(0);
        let fits = width <= room;
        room = room.saturating_sub(width);
        fits
    };
    text.chars().take_while(fits).collect()
}

/// A text with blanks behind it up to so many columns.
pub fn padded(text: &str, columns: u16) -> String {
    format!("{text}{}", " ".repeat(usize::from(columns.saturating_sub(width(text)))))
}

/// A text with blanks before it up to so many columns.
pub fn flush_right(text: &str, columns: u16) -> String {
    format!("{}{text}", " ".repeat(usize::from(columns.saturating_sub(width(text)))))
}

/// Columns that a text takes when a pen writes it.
pub fn width(text: &str) -> u16 {
    u16::try_from(printable(text).width()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::leaf;

    #[test]
    fn an_id_is_not_shown_whole() {
        let id = "198f9829e685bf3e51e0f4f5f0c0b7a1198f9829e685bf3e51e0f4f5f0c0b7a1";
        assert_eq!(leaf(&format!("/docker/{id}")), "198f9829e685");
        assert_eq!(leaf("/system.slice/postgres.service/"), "postgres.service");
        assert_eq!((leaf("/"), leaf("/cafe"), leaf("/a/deadbeef-0000")), ("/", "cafe", "deadbeef-0000"));
    }
}
