//! A program in a terminal that does not exist: keys in, a screen out, and what state it leaves behind.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long anything may take: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// The program that is tested.
pub(crate) const TOPOTOP: &str = env!("CARGO_BIN_EXE_topotop");

/// A terminal beyond what it draws: the default answers nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terminal {
    /// What it answers to OSC 11: `rgb:0000/0000/0000`.
    pub(crate) background: Option<&'static str>,
    /// Columns that a character of ambiguous width takes; none leaves questions about the cursor open.
    pub(crate) width: Option<u16>,
    /// Whether it says that everything is drawn.
    pub(crate) reports: bool,
    /// How long it rests after at most 1,024 bytes.
    pub(crate) pause: Duration,
    /// Answers to be sent.
    pub(crate) said: Vec<u8>,
}

impl vt100::Callbacks for Terminal {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        _: Option<u8>,
        _: Option<u8>,
        numbers: &[&[u16]],
        last: char,
    ) {
        match (last, numbers) {
            ('n', [[5]]) if self.reports => self.said.extend_from_slice(b"\x1b[0n"),
            ('n', [[6]]) => {
                let (row, column) = screen.cursor_position();
                let answer = self.width.map(|width| format!("\x1b[{};{}R", row + 1, column * width + 1));
                self.said.extend(answer.unwrap_or_default().bytes());
            }
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, parts: &[&[u8]]) {
        if let (Some(background), [b"11", b"?"]) = (self.background, parts) {
            self.said.extend(format!("\x1b]11;{background}\x1b\\").bytes());
        }
    }
}

/// A program in a terminal.
pub(crate) struct Session {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    // Held so that the terminal's modes can be read after the program left.
    _slave: Box<dyn SlavePty + Send>,
    keyboard: Arc<Mutex<Box<dyn Write + Send>>>,
    screen: Arc<Mutex<vt100::Parser<Terminal>>>,
    raw: Arc<Mutex<Vec<u8>>>,
    modes: String,
    patience: Duration,
    _home: tempfile::TempDir,
}

impl Session {
    /// Starts `program` with its arguments in a terminal of a size.
    pub(crate) fn start(program: &str, arguments: &[&str], size: (u16, u16), environment: &[(&str, &str)]) -> Self {
        Self::start_in(Terminal::default(), program, arguments, size, environment)
    }

    /// The same in a terminal that answers, or is slow.
    pub(crate) fn start_in(
        terminal: Terminal,
        program: &str,
        arguments: &[&str],
        size: (u16, u16),
        environment: &[(&str, &str)],
    ) -> Self {
        let (cols, rows) = size;
        let pty = native_pty_system().openpty(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).expect("a pty");
        let home = tempfile::tempdir().expect("a directory");
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", home.path());
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        command.env("TZ", "UTC");
        for (name, value) in environment {
            command.env(name, value);
        }
        let modes = modes(pty.master.as_ref());
        let child = pty.slave.spawn_command(command).expect("the program starts");
        let pause = terminal.pause;
        let screen = Arc::new(Mutex::new(vt100::Parser::new_with_callbacks(rows, cols, 0, terminal)));
        let mut output = pty.master.try_clone_reader().expect("a reader");
        let shown = Arc::clone(&screen);
        let raw = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&raw);
        let keyboard = Arc::new(Mutex::new(pty.master.take_writer().expect("a writer")));
        let answers = Arc::clone(&keyboard);
        std::thread::spawn(move || {
            let mut bytes = [0; 1024];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let mut screen = shown.lock().expect("the screen");
                screen.process(&bytes[..count]);
                let answer = std::mem::take(&mut screen.callbacks_mut().said);
                // Who has left reads no answer.
                let _ = answers.lock().expect("the keyboard").write_all(&answer);
                drop(screen);
                written.lock().expect("the bytes").extend_from_slice(&bytes[..count]);
                std::thread::sleep(pause);
            }
        });
        Self {
            child,
            master: pty.master,
            _slave: pty.slave,
            keyboard,
            screen,
            raw,
            modes,
            patience: PATIENCE,
            _home: home,
        }
    }

    /// Waits for so long where something does not come at once.
    pub(crate) fn patient(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Starts topotop.
    pub(crate) fn topotop(arguments: &[&str], size: (u16, u16)) -> Self {
        Self::start(TOPOTOP, arguments, size, &[])
    }

    /// Its process.
    pub(crate) fn pid(&self) -> i32 {
        self.child.process_id().expect("a process") as i32
    }

    /// Types.
    pub(crate) fn keys(&mut self, keys: &str) {
        let mut keyboard = self.keyboard.lock().expect("the keyboard");
        keyboard.write_all(keys.as_bytes()).expect("the terminal takes keys");
        keyboard.flush().expect("the terminal takes keys");
    }

    /// Tells the program a size that the screen here does not follow.
    pub(crate) fn claim(&self, cols: u16, rows: u16) {
        self.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).expect("resized");
    }

    /// Another size.
    pub(crate) fn resize(&self, cols: u16, rows: u16) {
        self.screen.lock().expect("the screen").screen_mut().set_size(rows, cols);
        self.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).expect("a new size");
    }

    /// What the terminal shows.
    pub(crate) fn text(&self) -> String {
        self.parser().screen().contents()
    }

    /// Every byte that came.
    pub(crate) fn raw(&self) -> Vec<u8> {
        self.raw.lock().expect("the bytes").clone()
    }

    /// Columns and rows where a text begins, from 1, in the order of reading.
    fn places(&self, text: &str) -> Vec<(u16, u16)> {
        let parser = self.parser();
        let (rows, cols) = parser.screen().size();
        let cell = |row, col| parser.screen().cell(row, col).filter(|cell| !cell.is_wide_continuation());
        let shown = |row, col| cell(row, col).map(|cell| if cell.has_contents() { cell.contents() } else { " " });
        let begins = |row: u16, col: u16| {
            let after: String = (col..cols).filter_map(|col| shown(row, col)).collect();
            cell(row, col).is_some() && after.starts_with(text)
        };
        let places = (0..rows).flat_map(|row| (0..cols).map(move |col| (col, row)));
        places.filter(|&(col, row)| begins(row, col)).map(|(col, row)| (col + 1, row + 1)).collect()
    }

    /// Clicks on a text once it is there: the lowest one.
    pub(crate) fn click(&mut self, text: &str) {
        self.click_one(text, |places| places.last().copied());
    }

    /// Clicks on the first row with a text once it is there.
    pub(crate) fn click_row(&mut self, text: &str) {
        self.click_one(text, |places| places.first().copied());
    }

    fn click_one(&mut self, text: &str, one: impl Fn(&[(u16, u16)]) -> Option<(u16, u16)>) {
        let start = Instant::now();
        let (col, row) = loop {
            match one(&self.places(text)) {
                Some(place) => break place,
                None => assert!(start.elapsed() < self.patience, "no `{text}` to click on:\n{}", self.text()),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        self.keys(&format!("\x1b[<0;{col};{row}M\x1b[<0;{col};{row}m"));
    }

    /// Turns the wheel in the middle of the screen, down and up again, until a text is there: rows may change places.
    pub(crate) fn wheel_to(&mut self, text: &str) {
        let (rows, cols) = self.parser().screen().size();
        let (start, mut turns) = (Instant::now(), 0);
        while self.places(text).is_empty() {
            turns += 1;
            let button = if turns / 60 % 2 == 0 { 65 } else { 64 };
            assert!(start.elapsed() < self.patience, "no `{text}` anywhere; the screen:\n{}", self.text());
            self.keys(&format!("\x1b[<{button};{};{}M", cols / 2, rows / 2));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Colours and attributes of every cell, row by row.
    pub(crate) fn styles(&self) -> Vec<String> {
        let parser = self.parser();
        let (rows, cols) = parser.screen().size();
        let cells = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
        let style = |cell: &vt100::Cell| {
            let attributes = [
                (cell.bold(), "bold"),
                (cell.dim(), "dim"),
                (cell.underline(), "underlined"),
                (cell.inverse(), "reversed"),
            ];
            let attributes: Vec<&str> = attributes.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
            format!("{:?} on {:?} {}", cell.fgcolor(), cell.bgcolor(), attributes.join(" ")).trim_end().to_owned()
        };
        cells.filter_map(|(row, col)| parser.screen().cell(row, col).map(style)).collect()
    }

    fn parser(&self) -> MutexGuard<'_, vt100::Parser<Terminal>> {
        self.screen.lock().expect("the screen")
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !wanted(&self.text()) {
            assert!(start.elapsed() < self.patience, "{what} did not come; the screen:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the screen shows a text.
    pub(crate) fn shows(&self, text: &str) {
        self.until(&format!("`{text}`"), |screen| screen.contains(text));
    }

    /// Waits until the screen no longer shows a text.
    pub(crate) fn hides(&self, text: &str) {
        self.until(&format!("the end of `{text}`"), |screen| !screen.contains(text));
    }

    /// Waits until the program has the terminal.
    pub(crate) fn entered(&self) {
        let start = Instant::now();
        while !self.parser().screen().alternate_screen() {
            assert!(start.elapsed() < PATIENCE, "it did not take the terminal:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// True if the program has left after so long at most.
    pub(crate) fn ends_within(&mut self, time: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < time {
            if self.child.try_wait().expect("a status").is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    /// Waits for the end and gives the exit status.
    pub(crate) fn ends(&mut self) -> u32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status.exit_code();
            }
            assert!(start.elapsed() < PATIENCE, "it did not leave; the screen:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the terminal is as it was before the program; panics with what is not.
    pub(crate) fn restored(&self) {
        let start = Instant::now();
        loop {
            let left = self.left_behind();
            if left.is_empty() {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "left behind: {left:?}; the screen:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the terminal is fit for a shell, which sets the modes of the line and paste itself.
    pub(crate) fn restored_for_a_shell(&self) {
        let start = Instant::now();
        let shells = ["bracketed paste", "the modes of the line"];
        while self.left_behind().iter().any(|left| !shells.contains(left)) {
            assert!(start.elapsed() < PATIENCE, "left behind: {:?}", self.left_behind());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn left_behind(&self) -> Vec<&'static str> {
        let parser = self.parser();
        let screen = parser.screen();
        let left = [
            (screen.alternate_screen(), "the alternate screen"),
            (screen.hide_cursor(), "a hidden cursor"),
            (screen.bracketed_paste(), "bracketed paste"),
            (screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None, "the mouse"),
            (modes(self.master.as_ref()) != self.modes, "the modes of the line"),
        ];
        left.into_iter().filter(|(is_left, _)| *is_left).map(|(_, name)| name).collect()
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: &str) {
        kill(signal, self.pid());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal by its name, as a shell does.
pub(crate) fn kill(signal: &str, pid: i32) {
    let done = std::process::Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status();
    assert!(done.expect("kill runs").success(), "kill -{signal} {pid}");
}

/// Starts topotop in a terminal, takes the terminal away once it is drawn on, and gives the exit status.
pub(crate) fn hang_up() -> u32 {
    let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
    let pty = native_pty_system().openpty(size).expect("a pty");
    let mut command = CommandBuilder::new(TOPOTOP);
    command.env("TERM", "xterm-256color");
    let mut child = pty.slave.spawn_command(command).expect("the program starts");
    let mut output = pty.master.try_clone_reader().expect("a reader");
    let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&seen).contains("LIVE") {
        let count = output.read(&mut bytes).expect("output");
        seen.extend_from_slice(&bytes[..count]);
    }
    drop((output, pty));
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a status") {
            return status.exit_code();
        }
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The modes of the line, to be compared.
fn modes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios())
}
