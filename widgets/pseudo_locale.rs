//! Every panel in a made-up language: no English is left but agreed terms and names that come from the machine.

use crate::testing::{drawn, text, with_cx};
use crate::{Action, Charset, Cx, all, demo};
use std::collections::{BTreeMap, BTreeSet};
use topotop_model::frame::Frame;
use topotop_model::judge::{Judgement, Timeline};
use topotop_model::locale;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// What opens every part of a panel.
const STEPS: [&[Action]; 6] = [
    &[],
    &[Action::Open],
    &[Action::Open, Action::End],
    &[Action::Mode],
    &[Action::Mode, Action::Mode],
    &[Action::Down, Action::Down, Action::Open, Action::PageDown],
];

/// English words on the screens of a machine, with where they stand.
fn english(frame: &Frame, judgement: &Judgement) -> BTreeMap<String, String> {
    let history = demo::history();
    let timeline = if judgement.findings.is_empty() { Timeline::default() } else { demo::timeline() };
    // Summaries and notes of resources come from the model.
    let judgement = &crate::testing::settled(frame, judgement);
    let resources: Vec<String> = judgement
        .resources
        .iter()
        .map(|resource| format!("{:?}{:?}{:?}", resource.summary(), resource.note, resource.owner()))
        .chain([judgement.bottleneck.line()])
        .collect();
    let debug = format!("{frame:?}{judgement:?}{timeline:?}{}", resources.concat());
    let names: BTreeSet<&str> = demo::words_in_strings(&debug).collect();
    let mut words = BTreeMap::new();
    for steps in STEPS {
        for size in SIZES {
            // The pages of rules come from the model.
            for mut panel in all().into_iter().filter(|panel| panel.id() != "findings") {
                let picture = with_cx(frame, Charset::Unicode, |cx| {
                    let cx = Cx { history: &history, judgement, timeline: &timeline, ..*cx };
                    drawn(&mut *panel, &cx, size.0, size.1);
                    for &action in steps {
                        panel.act(action, &cx);
                        drawn(&mut *panel, &cx, size.0, size.1);
                    }
                    text(&drawn(&mut *panel, &cx, size.0, size.1))
                });
                for line in picture.lines() {
                    let known =
                        |word: &str| demo::AGREED.contains(&word) || names.iter().any(|name| name.contains(word));
                    for word in demo::english_words(line).filter(|word| !known(word)) {
                        words.entry(word.to_owned()).or_insert_with(|| format!("{}: {line}", panel.id()));
                    }
                }
            }
        }
    }
    words
}

#[test]
fn no_text_of_a_panel_bypasses_the_catalogue() {
    let found = locale::with(demo::pseudo_locale(), || {
        let machines = [
            (demo::server(), demo::sick()),
            (demo::tiny(), demo::healthy()),
            (demo::blind(), Judgement::default()),
            (Frame::default(), Judgement::default()),
        ];
        let mut words = BTreeMap::new();
        for (frame, judgement) in &machines {
            words.append(&mut english(frame, judgement));
        }
        words
    });
    let list: Vec<String> = found.iter().map(|(word, line)| format!("{word:<16} {line}")).collect();
    assert!(list.is_empty(), "{}", list.join("\n"));
}
