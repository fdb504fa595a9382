//! Parameters of a fix, typed into its dialog: the plan is made anew with them.

use super::super::{App, Effect, edit};
use crossterm::event::{KeyCode, KeyEvent};
use std::collections::BTreeMap;
use topotop_model::fix::Plan;
use topotop_model::locale::chrome;
use topotop_model::locale::dialog::fix as text;
use topotop_widgets::fix::{Choice, Stage};

impl App {
    /// Begins to type them, with what was set so far.
    pub(super) fn set_parameters(&mut self) {
        let Some(dialog) = self.fixing.as_mut().filter(|dialog| !matches!(dialog.stage, Stage::Run(_))) else { return };
        if dialog.can_set() {
            let set = dialog.set();
            let mut pairs: Vec<String> =
                set.into_iter().flatten().map(|(name, value)| format!("{name}={value}")).collect();
            // Of a row only the thread is known: the value is what is missing.
            let of_thread = set.is_some_and(|set| set.keys().eq(["tid"]));
            let first = dialog.fix().and_then(|fix| fix.parameters.first());
            let first = first.filter(|_| of_thread || pairs.is_empty() && dialog.wants_value());
            pairs.extend(first.map(|first| format!("{}=", first.name)));
            dialog.editing = Some(pairs.join(" "));
        } else if let Some(fix) = dialog.fix() {
            dialog.note = Some(text::NoParameters { fix: &fix.id }.to_string());
        }
    }

    /// What a key does while they are typed.
    pub(super) fn parameter_key(&mut self, event: KeyEvent) -> Vec<Effect> {
        let Some(dialog) = &mut self.fixing else { return Vec::new() };
        dialog.note = None;
        match (event.code, &mut dialog.editing) {
            (KeyCode::Esc, editing) => *editing = None,
            (KeyCode::Enter, Some(typed)) => {
                let typed = typed.clone();
                return self.plan_anew(&typed);
            }
            (_, Some(typed)) => {
                edit::key(typed, event);
            }
            (_, None) => {}
        }
        Vec::new()
    }

    /// Plans what is chosen with what was typed; where that cannot be, says why, and one can go on typing.
    fn plan_anew(&mut self, typed: &str) -> Vec<Effect> {
        let planned = self.planned(typed);
        let Some(dialog) = &mut self.fixing else { return Vec::new() };
        let (set, plan) = match planned {
            Ok(planned) => planned,
            Err(why) => {
                dialog.note = Some(why);
                return Vec::new();
            }
        };
        let (fix, chosen) = (dialog.fix(), dialog.chosen);
        if let (Some(fix), Some(choice)) = (fix, dialog.choices.get_mut(chosen)) {
            *choice = Choice::Plan(fix, Box::new(plan));
            dialog.sets.insert(fix.id, set);
        }
        dialog.editing = None;
        self.choose_fix()
    }

    fn planned(&self, typed: &str) -> Result<(BTreeMap<String, String>, Plan), String> {
        let dialog = self.fixing.as_ref().ok_or_else(String::new)?;
        let fix = dialog.fix().ok_or_else(|| text::NOTHING_CHOSEN.to_string())?;
        let set = fix.parse_set(typed)?;
        let (rule, subject) = (dialog.rule, &dialog.subject);
        let finding = self.found(rule, subject).ok_or_else(|| chrome::FindingCleared { rule: &rule }.to_string())?;
        let metric = self.own_metric();
        let plan = (fix.plan)(&self.case(&finding, &set, metric.as_deref()));
        plan.map(|plan| (set, plan)).map_err(|refusal| refusal.text(fix, rule.as_str(), subject))
    }
}
