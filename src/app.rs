//! The state of the program on the screen and how messages change it: no I/O, no clock.

mod edit;
mod export;
mod findings;
mod fix;
mod list;
mod look;
mod modal;
mod mouse;
mod notice;
mod palette;
mod picker;
mod recording;
mod replay;
mod time;
pub mod transport;

pub use look::{Asks, Look};
pub use modal::{List, Modal};
pub use notice::Notice;
pub use palette::{Entry, Palette};
pub use picker::{Measure, Picker};
pub use recording::Recording;

use crate::action::Command;
use crate::keymap::Keymap;
use crate::source::playback::Playback;
use crate::source::{About, Sample, Target};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, MouseEvent};
use ratatui::layout::Rect;
use std::time::Duration;
use topotop_model::Stamp;
use topotop_model::locale::chrome;
use topotop_widgets::{Cx, Mark, Panel, Subject, Theme};

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Msg {
    /// A key.
    Key(KeyEvent),
    /// The mouse.
    Mouse(MouseEvent),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size.
    Resize(u16, u16),
    /// A new sample.
    Sample(Sample),
    /// Playing goes on, or otherwise.
    Playback(Box<Playback>),
    /// The answer to [`Effect::Seek`]; none when there is no past.
    Sought(Option<Sample>),
    /// The theme after this one; none when there is no other.
    Theme(Option<Theme>),
    /// Time passed: CLOCK_MONOTONIC in ns.
    Tick(u64),
    /// Something to say.
    Notice(String),
    /// What became of an order about a fix.
    Fix(crate::fix::order::Reply),
}

/// Something to be done outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Leave.
    Quit,
    /// Hand the terminal back until continued.
    Suspend,
    /// Draw everything, whatever the terminal is thought to show.
    Redraw,
    /// Find the sample at a target.
    Seek(Stamp, Target),
    /// Play otherwise.
    Play(transport::Order),
    /// Sample at this interval.
    Interval(Duration),
    /// Look closer at a process.
    Watch(Option<u32>),
    /// Mouse on or off.
    Mouse(bool),
    /// Load the theme after the named one.
    NextTheme(String),
    /// Begin a recording in a file of this name, or end it.
    Record(Option<String>),
    /// Write a mark into the recording.
    Mark(String),
    /// Something about a fix.
    Fix(crate::fix::order::Order),
    /// Tell the recording of a fix.
    Tell(topotop_model::recording::What),
    /// Text for the terminal's clipboard and a file.
    Copy(String),
    /// The view in the format of this name, to a file of this name.
    Export(&'static str, String),
    /// Columns and orders for the state folder.
    Remember(String),
}

/// What the title line tells besides the frame.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// What is sampled.
    pub about: About,
    /// Time between samples.
    pub interval: Duration,
    /// CLOCK_MONOTONIC in ns as far as it is known here.
    pub now_ns: u64,
    /// What is being recorded.
    pub recording: Option<Recording>,
    /// Settings of the judge.
    pub judging: topotop_model::judge::Settings,
    /// What is known of the place that fixes would be applied from.
    pub surroundings: topotop_model::fix::Surroundings,
    /// What can be done about findings from here.
    pub reach: crate::fix::order::Reach,
}

/// How long a notice stays, in ns.
const NOTICE_NS: u64 = 4_000_000_000;

/// The program on the screen.
pub struct App {
    /// Every screen.
    pub panels: Vec<Box<dyn Panel>>,
    /// The one that is shown.
    pub screen: usize,
    /// The terminal.
    pub area: Rect,
    /// The newest sample; one with `seq` 0 before there is any.
    pub newest: Sample,
    /// The sample that is held, while the picture is held.
    pub held: Option<Sample>,
    /// Where a recording is played; none for what is not played.
    pub playback: Option<Playback>,
    /// True while the cursor of the recording is dragged.
    dragging: bool,
    /// What lies over the screen.
    pub modal: Modal,
    /// Rows without this are left out.
    pub filter: String,
    /// What rows were searched for last.
    pub searched: String,
    /// What the picker lists.
    pub columns: Vec<topotop_widgets::parts::table::ColumnInfo>,
    /// What is selected.
    pub selected: Option<Subject>,
    /// Something to say.
    pub notice: Option<Notice>,
    /// What keys do.
    pub keymap: Keymap,
    /// How it looks.
    pub look: Look,
    /// What the terminal is asked about that.
    pub asks: Asks,
    /// What the title tells.
    pub status: Status,
    /// Where recordings go that are begun here.
    pub recordings: std::path::PathBuf,
    /// Where the layout of tables is kept; none where it is not.
    pub layout: Option<std::path::PathBuf>,
    /// Where views and copied text are written; none where they are not.
    pub exports: Option<std::path::PathBuf>,
    /// The dialog about a fix; kept while an application goes on, whether it is open or not.
    pub fixing: Option<Box<topotop_widgets::fix::Dialog>>,
    /// What was done to the machine from here.
    pub marks: Vec<Mark>,
    /// The window before of what may be applied.
    measuring: Option<topotop_model::fix::Verification>,
}

fn cx<'a>(
    sample: &'a Sample,
    look: &'a Look,
    status: &'a Status,
    marks: &'a [Mark],
    selected: Option<&'a Subject>,
    filter: &'a str,
) -> Cx<'a> {
    Cx {
        frame: &sample.frame,
        history: &sample.history,
        judgement: &sample.judgement,
        timeline: &sample.timeline,
        marks,
        settings: &status.judging,
        surroundings: &status.surroundings,
        theme: &look.theme,
        charset: look.charset,
        zone: crate::units::zone(),
        selected,
        filter,
    }
}

impl App {
    /// The program before its first sample.
    pub fn new(keymap: Keymap, look: Look, status: Status) -> Self {
        Self {
            panels: topotop_widgets::all(),
            screen: 0,
            area: Rect::new(0, 0, 80, 24),
            newest: Sample::default(),
            held: None,
            playback: None,
            dragging: false,
            modal: Modal::None,
            filter: String::new(),
            searched: String::new(),
            columns: Vec::new(),
            selected: None,
            notice: None,
            keymap,
            look,
            asks: Asks::default(),
            status,
            recordings: std::path::PathBuf::new(),
            layout: None,
            exports: None,
            fixing: None,
            marks: Vec::new(),
            measuring: None,
        }
    }

    /// Goes to the screen of a name; false if there is none.
    pub fn open_screen(&mut self, id: &str) -> bool {
        let found = self.panels.iter().position(|panel| panel.id() == id);
        self.enter(found.unwrap_or(self.screen));
        found.is_some()
    }

    /// Shows a screen; what was said on the one before goes with that.
    fn enter(&mut self, screen: usize) {
        if screen != self.screen {
            self.notice = None;
        }
        self.screen = screen;
    }

    /// The names of all screens, for an error.
    pub fn screens(&self) -> String {
        self.panels.iter().map(|panel| panel.id()).collect::<Vec<_>>().join(", ")
    }

    /// The sample on the screen.
    pub fn shown(&self) -> &Sample {
        self.held.as_ref().unwrap_or(&self.newest)
    }

    /// What panels draw from.
    pub fn cx(&self) -> Cx<'_> {
        cx(self.shown(), &self.look, &self.status, &self.marks, self.selected.as_ref(), &self.filter)
    }

    /// The panel on the screen, and what it draws from.
    pub fn panel(&mut self) -> Option<(&mut Box<dyn Panel>, Cx<'_>)> {
        let sample = self.held.as_ref().unwrap_or(&self.newest);
        let cx = cx(sample, &self.look, &self.status, &self.marks, self.selected.as_ref(), &self.filter);
        self.panels.get_mut(self.screen).map(|panel| (panel, cx))
    }

    /// True for a machine that is sampled now.
    fn is_live(&self) -> bool {
        self.status.about.captured.is_none() && self.playback.is_none()
    }

    /// True where keys go through time: the picture is held, or a recording is shown.
    pub fn in_time(&self) -> bool {
        self.held.is_some() || self.playback.is_some()
    }

    /// Takes a message in and says what is to be done.
    pub fn update(&mut self, msg: Msg) -> Vec<Effect> {
        match msg {
            Msg::Key(event) if event.kind != KeyEventKind::Release => return self.key(event),
            Msg::Key(_) => {}
            Msg::Mouse(event) => return self.mouse(event),
            Msg::Paste(text) => self.paste(&text),
            Msg::Resize(width, height) => self.area = Rect::new(0, 0, width, height),
            Msg::Sample(sample) => {
                self.newest = sample;
                return self.fix_sample();
            }
            Msg::Playback(playback) => self.playback = Some(*playback),
            Msg::Sought(sample) => self.sought(sample),
            Msg::Theme(Some(theme)) => {
                self.say(chrome::Theme { name: &theme.name }.to_string());
                self.look.theme = theme;
            }
            Msg::Theme(None) => self.say(chrome::ONE_THEME),
            Msg::Tick(now_ns) => {
                self.tick(now_ns);
                return self.fix_tick(now_ns);
            }
            Msg::Notice(text) => self.say(text),
            Msg::Fix(reply) => return self.fix_reply(reply),
        }
        Vec::new()
    }

    fn tick(&mut self, now_ns: u64) {
        self.status.now_ns = now_ns;
        if self.notice.as_ref().is_some_and(|notice| notice.until_ns <= now_ns) {
            self.notice = None;
        }
    }

    fn key(&mut self, event: KeyEvent) -> Vec<Effect> {
        if let Some(effects) = self.modal_key(event) {
            return effects;
        }
        if let Some(command) = self.keymap.command(event.into(), self.in_time()) {
            return self.command(command);
        }
        if matches!(event.code, KeyCode::Char(_) | KeyCode::F(_)) {
            self.say(chrome::NO_SUCH_KEY);
        }
        Vec::new()
    }

    /// Does what a command says.
    pub fn command(&mut self, command: Command) -> Vec<Effect> {
        if let Some(effects) = self.replay_command(command) {
            return effects;
        }
        match command {
            Command::Quit => return vec![Effect::Quit],
            Command::Suspend => return vec![Effect::Suspend],
            Command::Redraw => return vec![Effect::Redraw],
            Command::Pause => self.pause(),
            Command::StepBack => return self.seek(Target::Samples(-1)),
            Command::StepForward => return self.seek(Target::Samples(1)),
            Command::MinuteBack => return self.seek(Target::Nanoseconds(-60_000_000_000)),
            Command::MinuteForward => return self.seek(Target::Nanoseconds(60_000_000_000)),
            Command::Start => return self.seek(Target::Samples(i64::MIN)),
            Command::End => self.held = None,
            Command::PreviousFinding => return self.go_to_finding(false),
            Command::NextFinding => return self.go_to_finding(true),
            Command::PreviousMark => return self.go_to_mark(false),
            Command::NextMark => return self.go_to_mark(true),
            Command::LoopStart | Command::LoopEnd | Command::LoopOff => self.say(chrome::NO_LOOP_LIVE),
            Command::Machine => self.say(chrome::ONE_MACHINE),
            Command::Jump => self.modal = Modal::Jump(String::new()),
            Command::Back => return self.back(),
            Command::NextScreen => self.turn(1),
            Command::PreviousScreen => self.turn(self.panels.len().saturating_sub(1)),
            Command::Screen(number) => self.go(usize::from(number)),
            Command::Filter => self.modal = Modal::Filter,
            Command::Mouse => return self.switch_mouse(),
            Command::Theme => return vec![Effect::NextTheme(self.look.theme.name.clone())],
            Command::Help => self.modal = Modal::Help(List::default()),
            Command::Palette => self.modal = Modal::Palette(Palette::default()),
            Command::Gaps => {
                self.open_screen("gaps");
            }
            Command::Faster => return self.change_interval(false),
            Command::Slower => return self.change_interval(true),
            Command::Record => return self.record(),
            Command::Mark => self.mark(),
            other => return self.list_command(other),
        }
        Vec::new()
    }

    fn switch_mouse(&mut self) -> Vec<Effect> {
        self.look.mouse = !self.look.mouse;
        self.say(if self.look.mouse { chrome::MOUSE_ON } else { chrome::MOUSE_OFF });
        vec![Effect::Mouse(self.look.mouse)]
    }

    fn turn(&mut self, by: usize) {
        self.screen = (self.screen + by) % self.panels.len().max(1);
    }

    fn go(&mut self, number: usize) {
        if (1..=self.panels.len()).contains(&number) {
            self.enter(number - 1);
        }
    }
}

#[cfg(test)]
mod tests;
