//! From lines to how each application stands.

use super::line::{MAX_NUMBER, checksum};
use super::{Application, Damage, End, Entry, Intent, ItemState, Judged, Line, Outcome, PutBack};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a journal says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    /// Every application, the oldest first.
    pub applications: Vec<Application>,
    /// Lines that say nothing: cut, changed, of something else.
    pub damaged: u64,
    /// Lines that are not there: later ones of their application count them.
    pub missing: u64,
    /// Lines that do not follow the one they were written after: others between them were taken out.
    pub unlinked: u64,
    /// Where it ended when it was last written, if that is no longer there: its end was cut off.
    pub cut: Option<End>,
    /// The checksum of the last whole line, which the next one is linked to; 0 without one.
    pub last: u32,
    /// Applications that lack lines: what is known of them is not all.
    pub incomplete: BTreeSet<u64>,
    /// The number of the next application.
    pub next: u64,
}

impl Journal {
    /// Lines that are unreadable or missing, at least: one that is both is counted once.
    pub fn lost(&self) -> u64 {
        self.damaged.max(self.missing).max(self.unlinked)
    }

    /// The application of a number, or the newest of a fix by `RULE/SUBJECT/FIX`.
    pub fn find(&self, name: &str) -> Option<&Application> {
        let is = |application: &&Application| match name.parse::<u64>() {
            Ok(number) => application.number == number,
            Err(_) => application.intent.fix.eq_ignore_ascii_case(name),
        };
        let all = || self.applications.iter().rev().filter(is);
        all().find(|application| application.is_in_force()).or_else(|| all().next())
    }
}

/// Reads a journal. Whatever is in it, whole lines are reported; the order of lines is believed, their clocks are not.
pub fn fold(bytes: &[u8]) -> Journal {
    let mut journal = Journal { next: 1, ..Journal::default() };
    let mut places = Places::default();
    for text in bytes.split(|&byte| byte == b'\n').filter(|text| !text.is_empty()) {
        match Line::decode(text) {
            Ok(line) => {
                journal.unlinked += u64::from(line.after.is_some_and(|after| after != journal.last));
                journal.last = checksum(text).unwrap_or_default();
                // The largest number has no next one.
                journal.next = journal.next.max(line.number.saturating_add(1)).min(MAX_NUMBER);
                take(&mut journal, &mut places, line);
            }
            Err(damage) => {
                journal.damaged += 1;
                // A later version wrote it, and linked the next one to it.
                if damage == Damage::Unknown {
                    journal.last = checksum(text).unwrap_or_default();
                }
            }
        }
    }
    journal
}

/// Where lines belong: a process may have a hundred thousand threads, and each is named in lines of its own.
#[derive(Default)]
struct Places {
    applications: BTreeMap<u64, usize>,
    /// Items by their keys, of each step of an application.
    items: HashMap<(u64, usize), HashMap<String, usize>>,
}

impl Places {
    /// The place of an item in its step.
    fn item(&mut self, application: &Application, step: usize, key: &str) -> Option<usize> {
        let keys = self.items.entry((application.number, step)).or_insert_with(|| {
            let items = application.items.get(step).map_or(&[][..], Vec::as_slice);
            items.iter().enumerate().rev().map(|(place, item)| (item.item.key.clone(), place)).collect()
        });
        keys.get(key).copied()
    }

    fn add(&mut self, number: u64, step: usize, key: &str, place: usize) {
        if let Some(keys) = self.items.get_mut(&(number, step)) {
            keys.insert(key.to_owned(), place);
        }
    }
}

/// Takes a line to its application, and counts what does not belong there and what is not there.
fn take(journal: &mut Journal, places: &mut Places, line: Line) {
    let Line { number, seq, .. } = line;
    if let Entry::Intent(intent) = line.entry {
        if places.applications.contains_key(&number) || seq.is_some_and(|seq| seq != 1) {
            journal.damaged += 1;
            return;
        }
        places.applications.insert(number, journal.applications.len());
        journal.applications.push(begun(number, line.at, (line.wall_ns, line.boot_ns), line.boot_id, *intent));
        return;
    }
    let Some(application) = places.applications.get(&number).and_then(|&place| journal.applications.get_mut(place))
    else {
        journal.damaged += 1;
        journal.incomplete.insert(number);
        return;
    };
    let next = application.lines.saturating_add(1);
    let seq = seq.unwrap_or(next);
    // One that is there already was copied, or moved.
    if seq < next {
        journal.damaged += 1;
        return;
    }
    application.lines = seq;
    if seq > next {
        journal.missing += u64::from(seq - next);
        journal.incomplete.insert(number);
    }
    if !follows(application, places, line) {
        journal.damaged += 1;
    }
}

/// False for a line that says of its application what cannot be.
fn follows(application: &mut Application, places: &mut Places, line: Line) -> bool {
    match line.entry {
        Entry::Intent(_) => return false,
        Entry::Added { step, item } => {
            if step >= application.intent.steps.len() || places.item(application, step, &item.key).is_some() {
                return false;
            }
            let Some(items) = application.items.get_mut(step) else { return false };
            places.add(application.number, step, &item.key, items.len());
            items.push(ItemState::new(item));
        }
        Entry::Wrote(outcome) => {
            let Some(item) = item(application, places, &outcome) else { return false };
            item.wrote = Some(outcome);
        }
        Entry::PutBack(outcome) => {
            let Some(item) = item(application, places, &outcome) else { return false };
            item.put_back = Some(outcome);
        }
        Entry::Ended { state } => {
            application.ended = Some(state);
            application.ended_boot_ns = Some(line.boot_ns);
        }
        Entry::Confirmed => application.confirmed = true,
        Entry::Verdict { verdict, why, table } => application.judged = Some(Judged { verdict, why, table }),
        Entry::Undo { why, forced } => {
            application.undo = Some(PutBack { at: line.at, why, forced, whole: None });
        }
        Entry::Undone { whole } => {
            let Some(undo) = &mut application.undo else { return false };
            undo.whole = Some(whole);
        }
    }
    true
}

fn begun(number: u64, at: String, (wall_ns, boot_ns): (i64, u64), boot_id: String, intent: Intent) -> Application {
    let places = intent.steps.iter().chain(&intent.kept);
    let items = places.map(|written| written.items.iter().cloned().map(ItemState::new).collect()).collect();
    Application {
        number,
        at,
        wall_ns,
        boot_ns,
        boot_id,
        intent,
        items,
        ended: None,
        ended_boot_ns: None,
        confirmed: false,
        judged: None,
        undo: None,
        lines: 1,
    }
}

fn item<'a>(application: &'a mut Application, places: &mut Places, outcome: &Outcome) -> Option<&'a mut ItemState> {
    let place = places.item(application, outcome.step, &outcome.key)?;
    application.items.get_mut(outcome.step)?.get_mut(place)
}

#[cfg(test)]
mod tests {
    use super::super::{Applied, Because, Damage, Entry, Intent, Line, Outcome, State, Written};
    use super::{checksum, fold};
    use crate::fix::{Identity, Item, Restore, Risk, Target};
    use proptest::prelude::*;

    fn line(number: u64, entry: Entry) -> Line {
        Line {
            at: "2026-11-21T18:00:00Z".to_owned(),
            wall_ns: 1,
            boot_ns: 2,
            boot_id: "b".to_owned(),
            number,
            seq: None,
            after: None,
            entry,
        }
    }

    fn written(path: &str, keys: &[&str], restore: Restore) -> Written {
        let item = |key: &&str| Item { key: (*key).to_owned(), old: Some("1".to_owned()), new: "2".to_owned() };
        Written { target: Target::file(path), restore, items: keys.iter().map(item).collect() }
    }

    fn intent(title: &str) -> Entry {
        Entry::Intent(Box::new(Intent {
            fix: "NIC-01/nic%3Aeth0/F-CHAN".to_owned(),
            title: title.to_owned(),
            who: "uid 0".to_owned(),
            commands: vec![title.to_owned()],
            risk: Risk::Safe,
            identity: vec![Identity::Host],
            steps: vec![written("/proc/sys/a", &["x", "y"], Restore::Old)],
            kept: vec![written("/proc/sys/b", &[""], Restore::Old)],
            revert_after_seconds: Some(60),
        }))
    }

    fn outcome(key: &str, value: &str, error: Option<&str>) -> Outcome {
        Outcome {
            step: 0,
            key: key.to_owned(),
            value: Some(value.to_owned()),
            error: error.map(str::to_owned),
            ended: false,
        }
    }

    fn text(entries: &[(u64, Entry)]) -> String {
        entries.iter().map(|(number, entry)| line(*number, entry.clone()).encode() + "\n").collect()
    }

    #[test]
    fn each_step_of_an_application_is_a_state() {
        let steps = [
            (intent("t"), State::Interrupted),
            (Entry::Wrote(outcome("x", "2", None)), State::Interrupted),
            (Entry::Wrote(outcome("y", "1", Some("Invalid argument"))), State::Interrupted),
            (Entry::Ended { state: Applied::Partial }, State::Partial),
            (Entry::Confirmed, State::Partial),
            (Entry::Undo { why: Because::Worse, forced: false }, State::Interrupted),
            (Entry::PutBack(outcome("x", "1", None)), State::Interrupted),
            (Entry::Undone { whole: true }, State::Reverted),
        ];
        let mut so_far = Vec::new();
        for (entry, state) in steps {
            so_far.push((7, entry));
            let journal = fold(text(&so_far).as_bytes());
            assert_eq!((journal.damaged, journal.next), (0, 8));
            let application = journal.find("7").expect("the application");
            assert_eq!(application.state(), state, "after {} lines", so_far.len());
            let in_force: Vec<_> = application.in_force().map(|(_, key, value)| (key, value)).collect();
            let there = (2..7).contains(&so_far.len());
            assert_eq!(in_force, if there { vec![("x", "2")] } else { vec![] }, "after {} lines", so_far.len());
            assert_eq!(application.waits_for_confirmation(), so_far.len() < 5, "after {} lines", so_far.len());
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "only a clock knows how long it takes")]
    fn a_hundred_thousand_threads_are_read_at_once() {
        let wrote = |tid: u32| (1, Entry::Wrote(outcome(&format!("{tid}@1"), "2", None)));
        let added = |tid: u32| {
            let item = Item { key: format!("{tid}@1"), old: Some("1".to_owned()), new: "2".to_owned() };
            (1, Entry::Added { step: 0, item })
        };
        let entries: Vec<_> = std::iter::once((1, intent("t")))
            .chain((0..100_000).flat_map(|tid| [added(tid), wrote(tid)]))
            .chain([added(7), wrote(100_000)])
            .collect();
        let text = text(&entries);
        let (begun, patience) = (std::time::Instant::now(), std::time::Duration::from_secs(20));
        let journal = fold(text.as_bytes());
        assert!(begun.elapsed() < patience, "{:?}", begun.elapsed());
        assert_eq!((journal.damaged, journal.applications[0].in_force().count()), (2, 100_000));
    }

    #[test]
    fn numbers_are_given_once_and_the_newest_in_force_is_found() {
        let done = |number| [(number, intent("t")), (number, Entry::Ended { state: Applied::Applied })];
        let mut entries: Vec<_> = (1..4).flat_map(done).collect();
        entries.push((3, Entry::Undo { why: Because::Asked, forced: false }));
        entries.push((3, Entry::Undone { whole: true }));
        entries.push((1, intent("again")));
        let journal = fold(text(&entries).as_bytes());
        assert_eq!((journal.applications.len(), journal.damaged, journal.next), (3, 1, 4));
        assert_eq!(journal.find("nic-01/nic%3aeth0/f-chan").map(|application| application.number), Some(2));
        assert_eq!(journal.find("3").map(super::Application::state), Some(State::Undone));
        assert_eq!(journal.find("1").map(|application| application.intent.title.as_str()), Some("t"));
        assert!(journal.find("9").is_none());
    }

    #[test]
    fn a_line_that_was_changed_says_nothing() {
        let text = line(1, intent("t")).encode();
        assert_eq!(Line::decode(text.replace("\"2\"", "\"3\"").as_bytes()), Err(Damage::Checksum));
        assert_eq!(Line::decode(text.replace("crc32", "crc64").as_bytes()), Err(Damage::Foreign));
        let later = text.replace("\"intent\"", "\"novelty\"");
        let body = format!("{}}}", later.rsplit_once(",\"crc32\"").expect("a checksum").0);
        let later = format!(
            "{},\"crc32\":\"{:08x}\"}}",
            body.strip_suffix('}').expect("an end"),
            crc32fast::hash(body.as_bytes())
        );
        assert_eq!(Line::decode(later.as_bytes()), Err(Damage::Unknown));
    }

    /// A journal whose lines count themselves.
    fn counted(entries: &[(u64, Entry)]) -> Vec<String> {
        let mut lines: Vec<Line> = entries.iter().map(|(number, entry)| line(*number, entry.clone())).collect();
        for at in 0..lines.len() {
            let before = lines[..at].iter().filter(|line| line.number == lines[at].number).count();
            lines[at].seq = Some(before as u32 + 1);
        }
        lines.iter().map(|line| line.encode() + "\n").collect()
    }

    #[test]
    fn a_line_that_was_taken_out_or_copied_is_missed() {
        let application = |number| {
            let wrote = |key| (number, Entry::Wrote(outcome(key, "2", None)));
            [(number, intent("t")), wrote("x"), wrote("y"), (number, Entry::Ended { state: Applied::Applied })]
        };
        let lines = counted(&[application(1), application(2)].concat());
        let whole = fold(lines.concat().as_bytes());
        assert_eq!((whole.lost(), whole.incomplete.len()), (0, 0));
        for taken in 0..lines.len() {
            let without = [&lines[..taken], &lines[taken + 1..]].concat().concat();
            let read = fold(without.as_bytes());
            let number = if taken < 4 { 1 } else { 2 };
            // The newest line of all may be one that was never written.
            let is_last = taken % 4 == 3;
            assert_eq!(read.incomplete.contains(&number), !is_last, "line {taken}");
            assert_eq!((read.lost() > 0, read.incomplete.len()), (!is_last, usize::from(!is_last)), "line {taken}");
            let others = |journal: &super::Journal| {
                journal.applications.iter().filter(|one| one.number != number).cloned().collect::<Vec<_>>()
            };
            assert_eq!(others(&read), others(&whole), "line {taken} is of the other one");
        }
        let copied = [lines.concat(), lines[1].clone()].concat();
        let read = fold(copied.as_bytes());
        assert_eq!((read.damaged, &read.applications), (1, &whole.applications));
    }

    #[test]
    fn whole_applications_that_were_taken_out_are_missed() {
        let end = |number| (number, Entry::Ended { state: Applied::Applied });
        let mut last = 0;
        let lines: Vec<String> = [(1, intent("t")), end(1), (2, intent("t")), end(2), (3, intent("t")), end(3)]
            .into_iter()
            .map(|(number, entry)| {
                let text = Line { after: Some(last), ..line(number, entry) }.encode();
                last = checksum(text.as_bytes()).expect("a checksum");
                text + "\n"
            })
            .collect();
        let whole = fold(lines.concat().as_bytes());
        assert_eq!((whole.lost(), whole.last, whole.applications.len()), (0, last, 3));
        for taken in 0..2 {
            let left = [&lines[..2 * taken], &lines[2 * taken + 2..]].concat().concat();
            let read = fold(left.as_bytes());
            assert_eq!((read.lost(), read.unlinked, read.applications.len()), (1, 1, 2), "application {}", taken + 1);
        }
        // A line cut by a kill is one that is lost; what goes on after it is linked to the last whole one.
        let cut = [&lines[0], &lines[1][..20], "\n", &lines[1]].concat();
        assert_eq!((fold(cut.as_bytes()).lost(), fold(cut.as_bytes()).unlinked), (1, 0));
    }

    #[test]
    fn a_line_is_for_people_and_for_terminals() {
        let text = line(1, intent("ev\u{1b}[2Jil\u{202e}\u{9b}\u{7f} näme \"q\"")).encode();
        insta::assert_snapshot!(text);
        let known = Line::decode(text.as_bytes()).expect("read back");
        assert_eq!(known, line(1, intent("ev\u{1b}[2Jil\u{202e}\u{9b}\u{7f} näme \"q\"")));
    }

    fn entries() -> impl Strategy<Value = Entry> {
        let outcome = (0_usize..3, "[xyz]?", proptest::option::of(".{0,5}"), proptest::option::of(".{0,5}"))
            .prop_map(|(step, key, value, error)| Outcome { step, key, value, ended: error.is_some(), error });
        prop_oneof![
            ".{0,10}".prop_map(|title| intent(&title)),
            (0_usize..3, "[xyz]?")
                .prop_map(|(step, key)| Entry::Added { step, item: Item { key, old: None, new: "2".into() } }),
            outcome.clone().prop_map(Entry::Wrote),
            outcome.prop_map(Entry::PutBack),
            Just(Entry::Ended { state: Applied::Applied }),
            Just(Entry::Confirmed),
            (".{0,9}", ".{0,9}").prop_map(|(verdict, why)| Entry::Verdict { verdict, why, table: Vec::new() }),
            any::<bool>().prop_map(|forced| Entry::Undo { why: Because::Asked, forced }),
            any::<bool>().prop_map(|whole| Entry::Undone { whole }),
        ]
    }

    proptest! {
        #[test]
        fn lines_are_read_back(number in 0_u64..1000, entry in entries()) {
            let line = line(number, entry);
            let text = line.encode();
            let steers = |c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
            prop_assert!(!text.contains(steers));
            prop_assert_eq!(Line::decode(text.as_bytes()), Ok(line));
        }

        #[test]
        fn garbage_costs_what_it_damaged(
            lines in proptest::collection::vec((1_u64..4, entries()), 0..12),
            garbage in proptest::collection::vec(any::<u8>(), 0..60),
            place: prop::sample::Index,
        ) {
            let all: Vec<(u64, Entry)> = lines;
            let good = fold(text(&all).as_bytes());
            // Garbage on lines of its own, between lines: every whole line is reported.
            let at = place.index(all.len() + 1);
            let (before, after) = all.split_at(at);
            let mut bytes = text(before).into_bytes();
            bytes.extend_from_slice(&garbage);
            bytes.push(b'\n');
            bytes.extend_from_slice(text(after).as_bytes());
            let read = fold(&bytes);
            prop_assert_eq!(&read.applications, &good.applications);
            prop_assert!(read.damaged >= good.damaged);
        }

        #[test]
        fn a_cut_journal_tells_its_whole_lines(
            lines in proptest::collection::vec((1_u64..4, entries()), 1..8),
            place: prop::sample::Index,
        ) {
            let text = text(&lines);
            let cut = place.index(text.len());
            prop_assume!(text.is_char_boundary(cut));
            let whole = text[..cut].matches('\n').count();
            let read = fold(&text.as_bytes()[..cut]);
            // The newline alone may be missing from a line that is whole.
            let less = fold(super::tests::text(&lines[..whole]).as_bytes());
            let more = fold(super::tests::text(&lines[..(whole + 1).min(lines.len())]).as_bytes());
            prop_assert!(read.applications == less.applications || read.applications == more.applications);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), flip: prop::sample::Index, to: u8) {
            let _ = fold(&bytes);
            let mut text = text(&[(1, intent("t")), (1, Entry::Wrote(outcome("x", "2", None)))]).into_bytes();
            let flip = flip.index(text.len());
            text[flip] = to;
            let read = fold(&text);
            prop_assert!(read.applications.len() <= 1);
        }
    }
}
