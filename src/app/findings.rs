//! From a finding to where it is, and back.

use super::{App, Effect};
use topotop_widgets::Subject;
use topotop_widgets::parts::severity;

/// The screen that shows a subject; none for the machine as a whole.
fn screen(subject: &Subject) -> Option<&'static str> {
    Some(match subject {
        Subject::Host => return None,
        Subject::Cpu(_) => "cores",
        Subject::Node(_) => "overview",
        Subject::Irq(_) | Subject::Nic(_) => "queues",
        Subject::Disk(_) => "disks",
        Subject::Cgroup(_) => "cgroups",
        Subject::Process(..) => "processes",
    })
}

impl App {
    /// Goes to the screen where a subject is, with it selected.
    pub(super) fn go_to(&mut self, subject: Subject) -> Vec<Effect> {
        match screen(&subject) {
            Some(screen) => {
                self.open_screen(screen);
                // What the filter leaves out could not be shown.
                self.filter.clear();
                self.selected = Some(subject);
            }
            None => self.say("it is about the machine as a whole"),
        }
        Vec::new()
    }

    /// Goes to what is found about the selected subject.
    pub(super) fn to_finding(&mut self) -> Vec<Effect> {
        let sample = self.shown();
        let found = |subject: &Subject| severity::about(&sample.judgement, subject).next().is_some();
        match &self.selected {
            Some(subject) if found(subject) => {
                self.filter.clear();
                self.open_screen("findings");
            }
            Some(_) => self.say("nothing is found about what is selected"),
            None => {
                self.open_screen("findings");
            }
        }
        Vec::new()
    }
}
