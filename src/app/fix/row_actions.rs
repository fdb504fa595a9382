//! What can be done to the selected process, or to the selected thread of one.

use super::super::{App, Effect};
use std::collections::BTreeMap;
use topotop_model::fix::{Refused, row};
use topotop_model::locale::chrome;
use topotop_widgets::Subject;
use topotop_widgets::fix::Choice;

impl App {
    /// Opens the dialog of actions.
    pub(in super::super) fn row_actions(&mut self) -> Vec<Effect> {
        if self.is_fixing() {
            return Vec::new();
        }
        let thread = self.panel().and_then(|(panel, _)| panel.thread());
        let subject = self.panel().and_then(|(panel, _)| panel.table()?.chosen());
        let Some(subject @ Subject::Process(..)) = subject else {
            self.say(chrome::NO_ROW);
            return Vec::new();
        };
        let effects = self.fix_finding(row::ID, &subject);
        if let Some(tid) = thread {
            self.narrow(&subject, tid);
        }
        effects
    }

    /// Opens it with one action chosen, and with the field for its value where it needs one.
    pub(in super::super) fn row_action(&mut self, id: &str) -> Vec<Effect> {
        let mut effects = self.row_actions();
        let Some(dialog) = self.fixing.as_mut().filter(|dialog| dialog.rule == row::ID) else { return effects };
        let is = |choice: &Choice| choice.fix().is_some_and(|fix| fix.id == id);
        let Some(at) = dialog.choices.iter().position(is) else { return effects };
        dialog.chosen = at;
        if dialog.wants_value() {
            self.set_parameters();
        } else {
            effects.extend(self.choose_fix());
        }
        effects
    }

    /// The actions on one thread: what the whole process has to take is refused, with the reason.
    fn narrow(&mut self, subject: &Subject, tid: u32) {
        let set = BTreeMap::from([("tid".to_owned(), tid.to_string())]);
        let of_thread = |choice: Choice| {
            let fix = choice.fix()?;
            Some(match row::of_whole_process(fix) {
                Some(why) => {
                    Choice::Refused(Refused { fix: fix.id, name: fix.name, why: why.to_string(), needs: String::new() })
                }
                None => choice,
            })
        };
        let mut choices: Vec<Choice> =
            self.choices(&row::chosen(subject.clone()), &set).into_iter().filter_map(of_thread).collect();
        // What can be done comes first.
        choices.sort_by_key(|choice| matches!(choice, Choice::Refused(refused) if !row::asks(&refused.why)));
        let title = row::title(&self.newest.frame, subject, Some(tid));
        let Some(dialog) = &mut self.fixing else { return };
        let takes_thread = |choice: &Choice| choice.fix().filter(|fix| row::of_whole_process(fix).is_none());
        dialog.sets = choices.iter().filter_map(|choice| Some((takes_thread(choice)?.id, set.clone()))).collect();
        (dialog.choices, dialog.title) = (choices, title);
    }
}
