//! The command palette: actions, rows of every screen and rules by some of their letters, in the language of the screen, in
//! English, and by the names of keys.

use super::{App, Effect, Modal, edit};
use crate::action::{Command, TABLE};
use crossterm::event::{KeyCode, KeyEvent};
use topotop_model::fix::{self, row};
use topotop_model::locale::palette as text;
use topotop_model::rules;
use topotop_widgets::Subject;
use topotop_widgets::parts::names;

/// Entries that are listed.
const MOST: usize = 50;
/// A match in one piece comes before every other.
const WHOLE: i64 = 10_000;

/// What people type for an action on a row besides its title: the names of the commands that do the same.
const PROGRAMS: &[(&str, &str)] = &[
    ("F-PIN", "taskset affinity"),
    ("F-NICE", "renice priority"),
    ("F-IOCLASS", "ionice"),
    ("F-CGMOVE", "cgroup.procs"),
    ("F-STOP", "kill -STOP"),
    ("F-SIGNAL", "kill"),
];

/// The palette while it is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    /// What is typed.
    pub typed: String,
    /// The entry that is selected.
    pub at: usize,
}

/// Something to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name; hostile.
    pub title: String,
    /// Its keys, or what kind of thing it is.
    pub about: String,
    goal: Goal,
}

/// What an entry leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Goal {
    Command(Command),
    /// Of the selected row, by the id of its fix.
    RowAction(&'static str),
    Subject(Subject),
    Rule(&'static str),
}

/// How well some letters match a text; none where they are not in it in this order.
fn score(typed: &str, text: &str) -> Option<i64> {
    let text = text.to_lowercase();
    let length = text.chars().count() as i64;
    if let Some(at) = text.find(typed) {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let begins = before.is_none_or(|c| !c.is_alphanumeric());
        return Some(WHOLE + if begins { 1000 } else { 0 } - length);
    }
    let (mut score, mut last, mut before) = (0, None, ' ');
    let mut wanted = typed.chars().peekable();
    for (at, c) in text.chars().enumerate() {
        if wanted.peek() == Some(&c) {
            wanted.next();
            let follows = at > 0 && last == Some(at - 1);
            score += if !before.is_alphanumeric() {
                30
            } else if follows {
                20
            } else {
                0
            };
            last = Some(at);
        }
        before = c;
    }
    wanted.peek().is_none().then_some(score - length)
}

/// True for the score of a text that has the letters in one piece.
fn is_whole(score: i64) -> bool {
    score > WHOLE / 2
}

/// Takes a title, other names of the same, the words behind it and where it leads.
type Add<'a> = dyn FnMut(&str, &[&str], &dyn Fn() -> String, Goal) + 'a;

impl App {
    /// What matches, the best first; all actions where nothing is typed.
    pub fn entries(&self, typed: &str) -> Vec<Entry> {
        let typed = typed.trim().to_lowercase();
        let mut found: Vec<(i64, Entry)> = Vec::new();
        let mut add = |title: &str, names: &[&str], about: &dyn Fn() -> String, goal: Goal| {
            let scores = std::iter::once(title).chain(names.iter().copied()).filter_map(|name| score(&typed, name));
            if let Some(score) = scores.max() {
                found.push((score, Entry { title: title.to_owned(), about: about(), goal }));
            }
        };
        self.actions(&mut add);
        if !typed.is_empty() {
            self.things(&mut add);
            // Scattered letters are in many names: they count only where nothing has them in one piece.
            if found.iter().any(|entry| is_whole(entry.0)) {
                found.retain(|entry| is_whole(entry.0));
            }
            found.sort_by_key(|entry| std::cmp::Reverse(entry.0));
        }
        found.into_iter().take(MOST).map(|entry| entry.1).collect()
    }

    /// What keys do, and what can be done to the selected row.
    fn actions(&self, add: &mut Add<'_>) {
        for row in TABLE {
            let skipped = match row.command {
                Command::Panel(action) => Self::moves(action),
                command => command == Command::Palette,
            };
            let title = match row.command {
                Command::Screen(number) => self.panels.get(usize::from(number) - 1).map(|panel| panel.title()),
                _ => Some(row.help),
            };
            let keys = || {
                let keys = self.keymap.keys_now(row.command, self.in_time());
                keys.iter().map(ToString::to_string).collect::<Vec<_>>().join("  ")
            };
            if let Some(title) = title.filter(|_| !skipped) {
                add(&title, &[title.english(), row.name], &keys, Goal::Command(row.command));
            }
        }
        let mut fixes: Vec<_> = fix::of_rule(row::ID.as_str()).collect();
        fixes.sort_by_key(|fix| fix.answers.iter().find(|answer| answer.0 == row::ID).map(|answer| answer.1));
        for fix in fixes {
            let program = PROGRAMS.iter().find(|program| program.0 == fix.id).map_or("", |program| program.1);
            let names = [fix.name.english(), fix.id, program];
            add(&fix.name, &names, &|| text::ROW_ACTION.to_string(), Goal::RowAction(fix.id));
        }
    }

    /// Everything that has a row of its own.
    fn things(&self, add: &mut Add<'_>) {
        let frame = &self.shown().frame;
        for rule in rules::ALL {
            let name = format!("{} {}", rule.id, rule.name);
            add(&name, &[rule.name.english()], &|| text::RULE.to_string(), Goal::Rule(rule.id.as_str()));
        }
        for cpu in &frame.cpus {
            let title = text::Cpu { id: &cpu.id }.to_string();
            add(&title, &[], &|| text::CPU_KIND.to_string(), Goal::Subject(Subject::Cpu(cpu.id)));
        }
        for node in &frame.topology.nodes {
            let (title, english) = (text::Node { id: &node.id }.to_string(), format!("node {}", node.id));
            add(&title, &[&english], &|| text::NODE_KIND.to_string(), Goal::Subject(Subject::Node(node.id)));
        }
        for nic in &frame.nics {
            add(&nic.name, &[], &|| text::NIC.to_string(), Goal::Subject(Subject::Nic(nic.name.clone())));
        }
        for irq in &frame.irqs {
            let title = text::Irq { id: &irq.irq, name: &irq.name }.to_string();
            add(&title, &[], &|| text::IRQ_KIND.to_string(), Goal::Subject(Subject::Irq(irq.irq)));
        }
        for disk in &frame.disks {
            add(&disk.name, &[], &|| text::DISK.to_string(), Goal::Subject(Subject::Disk(disk.name.clone())));
        }
        for row in &frame.accelerators {
            let goal = Goal::Subject(Subject::Accelerator(row.name.clone()));
            add(&row.name, &[], &|| text::ACCELERATOR.to_string(), goal);
        }
        for group in &frame.cgroups {
            let goal = Goal::Subject(Subject::Cgroup(group.path.clone()));
            add(&names::short(group), &[], &|| text::CGROUP.to_string(), goal);
        }
        for process in &frame.processes {
            let goal = Goal::Subject(Subject::Process(process.pid, process.starttime));
            add(&format!("{} {}", process.comm, process.pid), &[], &|| text::PROCESS.to_string(), goal);
        }
    }

    /// What a key does while the palette is open.
    pub(super) fn palette_key(&mut self, event: KeyEvent) -> Vec<Effect> {
        let Modal::Palette(mut palette) = std::mem::take(&mut self.modal) else { return Vec::new() };
        let entries = self.entries(&palette.typed);
        let last = entries.len().saturating_sub(1);
        palette.at = palette.at.min(last);
        match event.code {
            KeyCode::Esc => return Vec::new(),
            KeyCode::Enter => {
                let chosen = entries.into_iter().nth(palette.at);
                return chosen.map_or_else(Vec::new, |entry| self.reach(entry.goal));
            }
            KeyCode::Up => palette.at = palette.at.saturating_sub(1),
            KeyCode::Down => palette.at = (palette.at + 1).min(last),
            KeyCode::PageUp => palette.at = palette.at.saturating_sub(10),
            KeyCode::PageDown => palette.at = (palette.at + 10).min(last),
            _ if edit::key(&mut palette.typed, event) => palette.at = 0,
            _ => {}
        }
        self.modal = Modal::Palette(palette);
        Vec::new()
    }

    fn reach(&mut self, goal: Goal) -> Vec<Effect> {
        match goal {
            Goal::Command(command) => self.command(command),
            Goal::RowAction(id) => self.row_action(id),
            Goal::Subject(subject) => self.go_to(&subject),
            Goal::Rule(id) => {
                self.open_screen("findings");
                id.clone_into(&mut self.filter);
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::score;

    #[test]
    fn letters_in_order_match_and_whole_words_come_first() {
        assert_eq!((score("xz", "go to a time"), score("", "anything").is_some()), (None, true));
        let best = |typed: &str, one: &str, other: &str| score(typed, one) > score(typed, other);
        assert!(best("fix", "undo the fix", "prefix of it"), "a word before its inside");
        assert!(best("beam", "beam.smp 4121", "b e a m"), "in one piece");
        assert!(best("gtt", "go to time", "getting out"), "first letters");
        assert!(best("net", "net", "network of it all"), "the shorter text");
    }
}
