//! The loop: messages in, one picture out, effects done. The only place that blocks.

mod input;
mod screen;
mod terminal;

use crate::app::{App, Effect, Msg, Recording};
use crate::fix::order::Order;
use crate::fix::session::{FixSession, MachineWriter};
use crate::output::keep;
use crate::source::{Sample, Source};
use crate::{theme, view};
use input::Answer;
use rustix::time::{ClockId, clock_gettime};
use screen::Screen;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use topotop_model::locale::{chrome, error as errors, recording as text};
use topotop_widgets::Charset;

/// What threads tell the loop.
#[derive(Debug)]
pub(crate) enum Event {
    /// A message for the program.
    Msg(Msg),
    /// An answer of the terminal.
    Answer(Answer),
    /// There may be a sample to take.
    Wake,
    /// The window has another size.
    Resized,
    /// Stop, as a shell's Ctrl-Z would.
    Suspend,
    /// Going on after a stop.
    Continued,
    /// Leave: asked to, or the terminal is gone.
    Leave,
}

/// Messages that may wait.
const QUEUE: usize = 256;
/// How long the first picture waits for the first sample.
const FIRST: Duration = Duration::from_millis(60);
/// The theme for a light background.
const LIGHT: &str = "light";
/// How long a terminal may owe an answer that is left: a slow one is drawing meanwhile.
const SETTLE_NS: u64 = 10_000_000_000;

/// Wakes the loop.
#[derive(Clone, Debug)]
pub struct Waker(SyncSender<Event>);

impl Waker {
    /// There may be a sample to take. A full queue is as good: the loop looks after each batch.
    pub fn wake(&self) {
        let _ = self.0.try_send(Event::Wake);
    }
}

/// Runs the program on the terminal until the user leaves; gives the newest sample.
/// `hands` does what the dialog about a fix orders, where something can be done.
pub fn run<S: Source>(
    mut app: App,
    hands: Option<Box<dyn MachineWriter>>,
    start: impl FnOnce(Waker) -> Result<S, String>,
) -> Result<Sample, String> {
    terminal::install_panic_hook();
    let (sender, events) = sync_channel(QUEUE);
    let source = start(Waker(sender.clone()))?;
    app.status.about = source.about();
    app.status.now_ns = now_ns();
    let screen = Screen::enter(app.look.mouse, app.asks, now_ns());
    let screen = screen.map_err(|error| errors::TerminalFailed { error: &error }.to_string())?;
    let desk = hands.map(|hands| desk(hands, sender.clone())).transpose()?;
    input::spawn(sender, screen.asked()).map_err(|error| errors::NoThread { error: &error }.to_string())?;
    let mut running = Loop { app, screen, source, desk, events, leaving: false, dirty: true };
    running.order(Order::Look);
    let ended = running.run().and_then(|()| running.settle());
    let newest = running.app.newest.clone();
    if let Some(desk) = &running.desk {
        desk.finish();
    }
    let recorded = running.source.end_recording();
    drop(running);
    if let Some(recorded) = recorded {
        terminal::tell(&recorded);
    }
    ended.map(|()| newest).map_err(|error| errors::TerminalFailed { error: &error }.to_string())
}

struct Loop<S> {
    app: App,
    screen: Screen,
    source: S,
    /// Who does what the dialog about a fix orders.
    desk: Option<FixSession>,
    events: Receiver<Event>,
    leaving: bool,
    dirty: bool,
}

impl<S: Source> Loop<S> {
    fn run(&mut self) -> std::io::Result<()> {
        self.resize();
        let mut wait = Some(FIRST);
        while !self.leaving {
            match receive(&self.events, wait) {
                Ok(event) => self.event(event)?,
                Err(RecvTimeoutError::Timeout) => self.dirty = true,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            // What comes after the key that leaves stays: it may be the answer that is waited for at the end.
            while !self.leaving {
                let Ok(event) = self.events.try_recv() else { break };
                self.event(event)?;
            }
            self.message(Msg::Tick(now_ns()))?;
            if let Some(trouble) = self.source.trouble() {
                self.app.say(trouble);
                self.dirty = true;
            }
            self.look_at_recording();
            if let Some(sample) = self.source.take() {
                self.message(Msg::Sample(sample))?;
                // The past that is held does not change by what is new; its distance in the title does.
                self.dirty = true;
            }
            if let Some(playback) = self.source.playback().filter(|now| self.app.playback.as_ref() != Some(now)) {
                self.message(Msg::Playback(Box::new(playback)))?;
                self.dirty = true;
            }
            self.draw()?;
            let wakes = self.app.wakes_at();
            wait = wakes.map(|at| Duration::from_nanos(at.saturating_sub(now_ns()).max(1_000_000)));
            wait = [wait, self.screen.retry(self.dirty)].into_iter().flatten().min();
        }
        Ok(())
    }

    /// Draws what changed, once the terminal has drawn the last picture.
    fn draw(&mut self) -> std::io::Result<()> {
        let now_ns = now_ns();
        if self.leaving || !self.screen.is_ready(now_ns)? || !self.dirty {
            return Ok(());
        }
        view::arrange(&mut self.app);
        let (charset, blank) = (self.app.look.charset, view::blank(&self.app));
        self.dirty = false;
        self.screen.draw((charset, blank), now_ns, |buffer| view::draw_over(&self.app, buffer))
    }

    /// Before the terminal is given back: what it owes is read here, or the shell would take it for what is typed.
    fn settle(&mut self) -> std::io::Result<()> {
        let until_ns = now_ns() + SETTLE_NS;
        while self.screen.owes_an_answer(now_ns()) && now_ns() < until_ns {
            match self.events.recv_timeout(Duration::from_millis(10)) {
                Ok(Event::Answer(answer)) => self.answer(answer),
                Ok(Event::Msg(msg @ Msg::Fix(_))) => self.message(msg)?,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        Ok(())
    }

    fn answer(&mut self, answer: Answer) {
        match answer {
            Answer::Done => return self.screen.answered(now_ns()),
            Answer::Background(light) => {
                let asked = std::mem::take(&mut self.app.asks.background);
                let theme = (asked && light).then(|| theme::load(Some(LIGHT), theme::depth()).ok());
                self.app.look.theme = theme.flatten().unwrap_or_else(|| self.app.look.theme.clone());
            }
            // Characters of ambiguous width take two columns here.
            Answer::Cursor(row, column) if row == screen::NARROW.0 && std::mem::take(&mut self.app.asks.width) => {
                if column > screen::NARROW.1 {
                    self.app.look.charset = Charset::Ascii;
                }
            }
            Answer::Cursor(..) => {}
        }
        self.dirty = true;
    }

    fn event(&mut self, event: Event) -> std::io::Result<()> {
        match event {
            Event::Msg(msg) => {
                // A key acts on the rows that the keys before it left, drawn or not.
                if self.dirty && matches!(msg, Msg::Key(_)) {
                    view::arrange(&mut self.app);
                }
                self.dirty = true;
                return self.message(msg);
            }
            Event::Answer(answer) => self.answer(answer),
            Event::Wake => {}
            Event::Resized => self.resize(),
            Event::Suspend => return self.effect(Effect::Suspend),
            Event::Continued => {
                self.screen.reenter(self.app.look.mouse)?;
                self.resize();
            }
            Event::Leave => self.leaving = true,
        }
        Ok(())
    }

    fn resize(&mut self) {
        let (width, height) = self.screen.measure();
        self.app.update(Msg::Resize(width, height));
        self.dirty = true;
    }

    fn message(&mut self, msg: Msg) -> std::io::Result<()> {
        let noticed = self.app.notice.is_some();
        for effect in self.app.update(msg) {
            self.effect(effect)?;
        }
        self.dirty |= noticed && self.app.notice.is_none();
        Ok(())
    }

    fn effect(&mut self, effect: Effect) -> std::io::Result<()> {
        match effect {
            Effect::Quit => self.leaving = true,
            Effect::Suspend => self.suspend()?,
            Effect::Redraw => {
                // For the test of what a panic leaves behind; debug builds only.
                debug_assert!(std::env::var_os("TOPOTOP_TEST_PANIC").is_none(), "TOPOTOP_TEST_PANIC is set");
                self.screen.forget();
            }
            Effect::Seek(from, target) => {
                let found = self.source.seek(from, target);
                self.app.update(Msg::Sought(found));
            }
            Effect::Play(order) => self.source.order(order),
            Effect::Interval(interval) => self.source.set_interval(interval),
            Effect::Watch(pid) => self.source.watch(pid),
            Effect::Mouse(on) => self.screen.mouse(on)?,
            Effect::Record(Some(name)) => self.record(&name),
            Effect::Record(None) => {
                let ended = self.source.end_recording().unwrap_or_else(|| text::NOT_RECORDING.to_string());
                self.app.say(ended);
            }
            Effect::Mark(text) => {
                self.source.mark(text);
                self.app.say(text::MARKED.to_string());
            }
            Effect::Tell(what) => self.source.tell(what),
            Effect::Remember(lines) => self.remember(&lines),
            Effect::Copy(text) => self.copy(&text)?,
            Effect::Export(format, name) => self.export(format, &name),
            Effect::Fix(order) => self.order(order),
            Effect::NextTheme(name) => {
                self.app.asks.background = false;
                self.app.update(Msg::Theme(theme::next(&name, theme::depth())));
            }
        }
        self.dirty = true;
        Ok(())
    }

    /// Takes over how the recording is doing; says so when it gets into trouble or out of it.
    fn look_at_recording(&mut self) {
        let now = self.source.recording();
        let was = std::mem::replace(&mut self.app.status.recording, now);
        let trouble = |recording: Option<&Recording>| recording.and_then(|recording| recording.trouble.clone());
        let (before, after) = (trouble(was.as_ref()), trouble(self.app.status.recording.as_ref()));
        self.dirty |= was.is_some() != self.app.status.recording.is_some() || before != after;
        match (before, after) {
            (None, Some(trouble)) => self.app.say(text::Trouble { error: &trouble }.to_string()),
            (Some(_), None) if self.app.status.recording.is_some() => self.app.say(text::RESUMED_HERE.to_string()),
            _ => {}
        }
    }

    fn remember(&mut self, lines: &str) {
        let Some(path) = &self.app.layout else { return };
        if let Err(error) = keep(path, lines.as_bytes()) {
            let failed = errors::LayoutNotKept { path: &path.display(), error: &error };
            self.app.say(failed.to_string());
        }
    }

    /// No terminal says whether it takes text, so a file has it too; not where nothing is written unasked.
    fn copy(&mut self, copied: &str) -> std::io::Result<()> {
        self.screen.copy(copied)?;
        if matches!(self.app.status.reach, crate::fix::order::Reach::Read(_)) {
            self.app.say(chrome::COPIED);
        } else {
            let kept = self.put("copied.txt", copied.as_bytes());
            if let Some(path) = kept {
                self.app.say(chrome::CopiedBoth { path: &path.display() }.to_string());
            }
        }
        Ok(())
    }

    fn export(&mut self, format: &str, name: &str) {
        let Some(format) = crate::export::named(format) else { return };
        let (mut bytes, size) = (Vec::new(), (self.app.area.width, self.app.area.height));
        let notice = self.app.notice.take();
        // Writing to memory cannot fail.
        let _ = crate::export::write(&mut self.app, format, (None, true), size, &mut bytes);
        self.app.notice = notice;
        self.put(name, &bytes);
    }

    /// Writes a file for the user and says where it is; its path if it is there.
    fn put(&mut self, name: &str, bytes: &[u8]) -> Option<PathBuf> {
        let Some(path) = self.app.exports.as_ref().map(|folder| folder.join(name)) else {
            self.app.say(chrome::NO_EXPORTS);
            return None;
        };
        let kept = keep(&path, bytes);
        self.app.say(match &kept {
            Ok(()) => chrome::Exported { path: &path.display() }.to_string(),
            Err(error) => chrome::NotExported { path: &path.display(), error: &crate::trust::said(error) }.to_string(),
        });
        kept.is_ok().then_some(path)
    }

    fn record(&mut self, name: &str) {
        let path = self.app.recordings.join(name);
        match self.source.record(&path) {
            Ok(()) => self.app.say(text::RecordingTo { path: &path.display() }.to_string()),
            Err(error) => self.app.say(error),
        }
    }

    fn order(&mut self, order: Order) {
        let Some(desk) = &self.desk else { return };
        let past = match &order {
            // A little more, since the first frame of a history has no rates.
            Order::Measure(verify, _) => self.source.past(verify.before_seconds + 2),
            _ => None,
        };
        desk.order(order, past);
    }

    fn suspend(&mut self) -> std::io::Result<()> {
        if !terminal::can_suspend() {
            self.app.say(text::NO_SHELL.to_string());
            self.dirty = true;
            return Ok(());
        }
        self.settle()?;
        self.screen.leave();
        if let Some(recording) = &self.app.status.recording {
            terminal::tell(&text::StandsStill { path: &recording.path }.to_string());
        }
        terminal::stop();
        self.screen.reenter(self.app.look.mouse)?;
        self.message(Msg::Tick(now_ns()))?;
        if self.app.status.recording.is_some() {
            self.app.say(text::SUSPENDED_GAP.to_string());
        }
        self.resize();
        Ok(())
    }
}

fn desk(hands: Box<dyn MachineWriter>, sender: SyncSender<Event>) -> Result<FixSession, String> {
    // Whoever does not listen any more has left.
    let reply = move |reply| drop(sender.send(Event::Msg(Msg::Fix(reply))));
    FixSession::start(hands, reply).map_err(|error| errors::NoThread { error: &error }.to_string())
}

fn receive(events: &Receiver<Event>, wait: Option<Duration>) -> Result<Event, RecvTimeoutError> {
    match wait {
        Some(wait) => events.recv_timeout(wait),
        None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}

fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
