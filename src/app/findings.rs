//! From a finding to where it is, and back.

use super::{App, Effect};
use topotop_model::locale::chrome;
use topotop_widgets::Subject;
use topotop_widgets::parts::severity;

/// The screen that shows a subject; none for the machine as a whole.
fn screen(subject: &Subject) -> Option<&'static str> {
    Some(match subject {
        Subject::Host => return None,
        Subject::Cpu(_) | Subject::Accelerator(_) => "cores",
        Subject::Node(_) => "overview",
        Subject::Irq(_) | Subject::Nic(_) => "queues",
        Subject::Disk(_) => "disks",
        Subject::Cgroup(_) => "cgroups",
        Subject::Process(..) => "processes",
    })
}

impl App {
    /// Goes to the screen where a subject is, with it selected.
    pub(super) fn go_to(&mut self, subject: &Subject) -> Vec<Effect> {
        match screen(subject) {
            Some(screen) => {
                self.open_screen(screen);
                // What the filter leaves out could not be shown.
                self.filter.clear();
                self.selected = Some(subject.clone());
                if let Some((panel, cx)) = self.panel() {
                    panel.reveal(subject, &cx);
                }
            }
            None => self.say(chrome::WHOLE_MACHINE),
        }
        Vec::new()
    }

    /// Goes to what is found about the selected subject.
    pub(super) fn open_finding(&mut self) -> Vec<Effect> {
        let selected = self.selected.clone();
        let found = self
            .panel()
            .zip(selected.as_ref())
            .is_some_and(|((_, cx), subject)| severity::about(&cx, subject).next().is_some());
        match &self.selected {
            Some(_) if found => {
                self.filter.clear();
                self.open_screen("findings");
            }
            Some(_) => self.say(chrome::NO_FINDING_SELECTED),
            None => {
                self.open_screen("findings");
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{App, Look, Msg, Status};
    use crate::action::Command;
    use crate::keymap::Keymap;
    use crate::source::Sample;
    use ratatui::layout::Rect;
    use std::sync::Arc;
    use topotop_model::testkit as demo;
    use topotop_widgets::{Action, Charset, Role, Subject, Theme};

    fn app() -> App {
        let look = Look { theme: Theme::default_theme(), charset: Charset::Unicode, mouse: true };
        let mut app = App::new(Keymap::default(), look, Status::default());
        let (frame, judgement) = (Arc::new(demo::server()), Arc::new(demo::sick()));
        app.update(Msg::Sample(Sample { frame, judgement, ..Sample::default() }));
        app.area = Rect::new(0, 0, 120, 40);
        app
    }

    fn act(app: &mut App, action: Action) {
        crate::view::arrange(app);
        app.command(Command::Panel(action));
        crate::view::arrange(app);
    }

    fn screen(app: &App) -> &'static str {
        app.panels.get(app.screen).map_or("", |panel| panel.id())
    }

    fn text(app: &mut App) -> String {
        let picture = crate::export::picture(app, 120, 40);
        let rows = picture.buffer.content.chunks(120);
        rows.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>() + "\n").collect()
    }

    /// The rows that look selected, whatever mark stands before them.
    fn chosen(app: &mut App) -> String {
        let ground = app.look.theme.style(Role::Selected).bg;
        let picture = crate::export::picture(app, 120, 40);
        let rows = picture.buffer.content.chunks(120).take(39);
        let selected = rows.filter(|row| row.get(1).is_some_and(|cell| Some(cell.bg) == ground));
        selected.map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>() + "\n").collect()
    }

    #[test]
    fn one_goes_to_where_each_finding_is_and_back() {
        let mut app = app();
        let mut seen = Vec::new();
        for down in 1..=5 {
            app.open_screen("findings");
            app.selected = None;
            act(&mut app, Action::Home);
            for _ in 1..down {
                act(&mut app, Action::Down);
            }
            act(&mut app, Action::Where);
            seen.push((screen(&app), app.selected.clone().map(|subject| subject.to_string()).unwrap_or_default()));
            assert!(!chosen(&mut app).is_empty() || screen(&app) == "cores", "{}", text(&mut app));
            act(&mut app, Action::Where);
            assert_eq!(screen(&app), "findings");
            assert!(!chosen(&mut app).is_empty(), "{}", text(&mut app));
        }
        let screens: Vec<&str> = seen.iter().map(|seen| seen.0).collect();
        assert_eq!(screens, ["queues", "cores", "disks", "cgroups", "processes"], "{seen:?}");
    }

    #[test]
    fn what_is_folded_or_hidden_is_shown_to_whoever_goes_there() {
        let mut app = app();
        app.open_screen("cgroups");
        act(&mut app, Action::Tree);
        act(&mut app, Action::Fold);
        assert!(!text(&mut app).contains("cri-containerd") && !text(&mut app).contains("broker-0"));
        let group = "/kubepods.slice/pod8a1c0000/cri-containerd-000000000000.scope";
        app.filter = "nothing".to_owned();
        app.go_to(&Subject::Cgroup(group.into()));
        assert!(chosen(&mut app).contains("broker-0"), "{}", text(&mut app));
    }

    #[test]
    fn nothing_found_is_said() {
        let mut app = app();
        app.selected = Some(Subject::Cpu(3));
        act(&mut app, Action::Where);
        assert!(app.notice.as_ref().is_some_and(|notice| notice.text.contains("no finding for")));
        app.go_to(&Subject::Host);
        assert!(app.notice.as_ref().is_some_and(|notice| notice.text.contains("whole machine")));
    }
}
