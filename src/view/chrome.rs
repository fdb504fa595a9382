//! The title line, the tabs and the footer.

mod replay;

use super::{layout, write};
use crate::action::{Command, TABLE};
use crate::app::{App, Modal};
use crate::units;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::frame::{Frame, Topology};
use topotop_model::locale::action;
use topotop_model::locale::screen::processes;
use topotop_model::locale::{chrome, join};
use topotop_widgets::{Charset, Role, parts};
use unicode_width::UnicodeWidthStr as _;

/// The title: who, what, when, and at what cost; on a narrow line the less important go.
pub(super) fn title(app: &App, area: Rect, buf: &mut Buffer) {
    let frame = &app.shown().frame;
    // Of a recording the cost would be the recorder's, at the time.
    let cost = if app.playback.is_some() { String::new() } else { own_cost(&app.newest.frame) };
    let (clock, clock_role) = clock(app);
    let (recording, recording_role) = recording(app);
    let mut items = vec![
        (" topotop ".to_owned(), Role::Title, 0u8),
        (replay::name(app).unwrap_or_else(|| frame.host.name.chars().take(32).collect()), Role::Focus, 1),
        (replay::other(app), Role::Dim, 2),
        (replay::short(app), Role::Critical, 3),
        (replay::clocks(app), Role::Info, 4),
        (app.status.about.introduction.clone().unwrap_or_default(), Role::Info, 0),
        (summary(&frame.topology), Role::Text, if app.playback.is_some() { 6 } else { 2 }),
        (kernel(frame), Role::Dim, 7),
        (clock, clock_role, 0),
        (recording, recording_role, 0),
        (replay::position(app), Role::Text, 5),
        (cost, Role::Dim, 3),
    ];
    items.retain(|(text, _, _)| !text.is_empty());
    let width = |items: &[(String, Role, u8)]| items.iter().map(|item| item.0.width() + 2).sum::<usize>();
    while width(&items) > usize::from(area.width) {
        let Some(least) = items.iter().map(|item| item.2).max().filter(|&rank| rank > 0) else { break };
        items.retain(|item| item.2 != least);
    }
    let last = if items.len() > 2 && app.playback.is_none() { items.pop() } else { None };
    let mut x = area.x;
    for (text, role, _) in &items {
        x = write(buf, (x, area.y), area.right(), text, app.look.theme.style(*role)) + 2;
    }
    if let Some((text, role, _)) = last {
        let start = area.right().saturating_sub(text.width() as u16 + 1).max(x);
        write(buf, (start, area.y), area.right(), &text, app.look.theme.style(role));
    }
}

fn summary(topology: &Topology) -> String {
    let packages = u64::from(topology.packages.unwrap_or(0));
    let (nodes, cpus) = (topology.nodes.len() as u64, topology.cpus_online.len());
    let parts = [
        (packages > 0).then(|| chrome::Packages { count: packages }.to_string()),
        (nodes > 0).then(|| chrome::Nodes { count: nodes }.to_string()),
        (cpus > 0).then(|| chrome::Cpus { count: cpus }.to_string()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(&join::ITEMS)
}

fn kernel(frame: &Frame) -> String {
    frame.host.kernel.chars().take(24).collect()
}

fn own_cost(frame: &Frame) -> String {
    let cpu = frame.cost.cpu_cores.map(|cores| parts::units::fine_percent(cores).to_string());
    let memory = frame.cost.rss_bytes.map(|bytes| parts::number::whole_bytes(bytes).to_string());
    let costs: Vec<String> = cpu.into_iter().chain(memory).collect();
    if costs.is_empty() { String::new() } else { chrome::OwnCost { cost: &costs.join(" ") }.to_string() }
}

/// Live, held or captured, and when.
fn clock(app: &App) -> (String, Role) {
    let unicode = app.look.charset == Charset::Unicode;
    let stamp = app.shown().frame.stamp;
    let interval = units::short(app.status.interval);
    if let Some(playback) = &app.playback {
        return replay::clock(playback, unicode);
    }
    if let Some(directory) = &app.status.about.captured {
        let mark = if unicode { "▪" } else { "=" };
        let short: String = directory.chars().rev().take(24).collect::<Vec<_>>().into_iter().rev().collect();
        let cut = if short.len() < directory.len() { ".." } else { "" };
        return (format!("{mark} {}", chrome::Captured { path: &format_args!("{cut}{short}") }), Role::Replay);
    }
    if app.status.about.still {
        let mark = if unicode { "▪" } else { "=" };
        return (format!("{mark} {} {}", units::date_time(stamp.wall_ns), units::zone_name(stamp.wall_ns)), Role::Info);
    }
    if app.held.is_some() {
        let mark = if unicode { "‖" } else { "||" };
        let behind = app.newest.frame.stamp.boot_ns.saturating_sub(stamp.boot_ns) / 1_000_000_000;
        let time = units::time_of_day(stamp.wall_ns);
        let behind = if behind > 0 { format!(" -{}", units::span(behind)) } else { String::new() };
        return (
            format!("{mark} {}{behind}", chrome::Paused { time: &time, zone: &units::zone_name(stamp.wall_ns) }),
            Role::Replay,
        );
    }
    let mark = if unicode { "●" } else { "*" };
    if let Some(age) = app.overdue() {
        return (format!("{mark} {}", chrome::Late { age: &units::span(age) }), Role::Stale);
    }
    // Where times on screen are not UTC, the title says so.
    let zone = Some(units::zone_name(stamp.wall_ns)).filter(|zone| zone != "UTC");
    let zone = zone.map_or_else(String::new, |zone| format!(" {zone}"));
    (format!("{mark} {}{zone}", chrome::Live { interval: &interval }), Role::Ok)
}

/// How long the recording is and how large, or what is wrong with it.
fn recording(app: &App) -> (String, Role) {
    let Some(recording) = &app.status.recording else { return (String::new(), Role::Text) };
    let mark = if app.look.charset == Charset::Unicode { "▮" } else { "*" };
    if recording.trouble.is_some() {
        return (format!("{mark}{}", chrome::RECORDING_STALLED), Role::Warn);
    }
    let seconds = app.status.now_ns.saturating_sub(recording.since_ns) / 1_000_000_000;
    let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    (format!("{mark}REC {time} {}", parts::number::whole_bytes(recording.bytes)), Role::Info)
}

/// Lower screens have no row to spare for the answer and for findings.
const FINDINGS_FROM: u16 = 12;

/// The rows of the line that names what limits the machine.
pub(super) fn answer_rows(app: &App) -> u16 {
    u16::from(app.area.height >= FINDINGS_FROM)
}

/// What limits the machine, as `check` reports it in its first line.
pub(super) fn answer(app: &App, area: Rect, buf: &mut Buffer) {
    if area.height > 0 && app.shown().is_there() {
        topotop_widgets::answer::line(&app.cx(), area, buf);
    }
}

/// The rows of the line that names the worst finding: none on screens that tell of findings themselves.
pub(super) fn findings_rows(app: &App) -> u16 {
    let own = app.panels.get(app.screen).is_some_and(|panel| matches!(panel.id(), "overview" | "findings"));
    u16::from(!own && app.area.height >= FINDINGS_FROM)
}

/// The worst finding and how many there are; or that there is none, and what that means.
pub(super) fn findings(app: &App, area: Rect, buf: &mut Buffer) {
    if area.height > 0 && app.shown().is_there() {
        topotop_widgets::findings::line(&app.cx(), area, buf);
    }
}

/// True where a row of the terminal is the line of findings.
pub fn is_findings(app: &App, row: u16) -> bool {
    layout(app).is_some_and(|layout| layout.findings.height > 0 && layout.findings.y == row)
}

/// Columns of a footer from which on a recording has room for the names of screens beside its keys, short or whole.
const NAMED_IN_REPLAY: u16 = 130;
const SHORT_IN_REPLAY: u16 = 110;
/// Columns that the most important hint needs.
const LAST_HINT: usize = 8;

/// The tabs as (screen, first column, column after, text): with whole names, short ones, those without blanks, or that of
/// the screen alone.
fn tabs(app: &App, area: Rect) -> Vec<(usize, u16, u16, String)> {
    let named = |name: &dyn Fn(&dyn topotop_widgets::Panel) -> String| -> Vec<String> {
        (1..).zip(&app.panels).map(|(n, panel)| format!(" {n} {}", name(&**panel))).collect()
    };
    let whole: Vec<String> = named(&|panel| format!("{} ", panel.title()));
    let dense: Vec<String> = (1..).zip(&app.panels).map(|(n, panel)| format!(" {n}{}", panel.tab_short())).collect();
    let short: Vec<String> = named(&|panel| panel.tab_short().to_string());
    let own = |(at, text): (usize, &String)| if at == app.screen { text.clone() } else { format!(" {} ", at + 1) };
    let numbers: Vec<String> = whole.iter().enumerate().map(own).collect();
    let fits = |texts: &&Vec<String>| {
        texts.iter().map(|text| text.width()).sum::<usize>() + LAST_HINT <= usize::from(area.width)
    };
    let all = [&whole, &short, &dense];
    // Keys that go through time need the room of names.
    let in_time = app.playback.is_some() || app.held.is_some();
    let named: &[_] = match area.width {
        ..SHORT_IN_REPLAY if in_time => &all[2..],
        ..NAMED_IN_REPLAY if in_time => &all[1..],
        _ => &all,
    };
    let texts = named.iter().copied().find(fits).unwrap_or(&numbers);
    let mut x = area.x;
    let mut placed = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let end = x.saturating_add(text.width() as u16).min(area.right());
        placed.push((at, x, end, text.clone()));
        x = end;
    }
    placed
}

/// The screen whose tab is at a place of the terminal.
pub fn tab_at(app: &App, column: u16, row: u16) -> Option<usize> {
    let footer = layout(app)?.footer;
    if row != footer.y || prompt(app).is_some() {
        return None;
    }
    tabs(app, footer).into_iter().find(|&(_, start, end, _)| (start..end).contains(&column)).map(|tab| tab.0)
}

/// What stands in the footer instead of tabs: a line that is typed, or a notice.
fn prompt(app: &App) -> Option<(String, Role)> {
    match (&app.modal, &app.notice) {
        (Modal::Filter, _) => {
            let prompt = chrome::PromptFilter { text: &app.filter };
            Some((format!(" {prompt}"), Role::Key))
        }
        (Modal::Mark(typed), _) => {
            let prompt = chrome::PromptMark { text: typed };
            Some((format!(" {prompt}"), Role::Key))
        }
        (Modal::Palette(palette), _) => Some((format!(" :{}_", palette.typed), Role::Key)),
        (Modal::Search(typed), _) => Some((format!(" {}", chrome::PromptSearch { text: typed }), Role::Key)),
        (Modal::Jump(typed), _) => {
            let prompt = if app.playback.is_some() {
                chrome::PromptJumpRecording { text: typed }.to_string()
            } else {
                chrome::PromptJump { text: typed }.to_string()
            };
            Some((format!(" {prompt}"), Role::Key))
        }
        (modal, _) if *modal != Modal::Fix && app.reverts_in().is_some() => {
            let left = app.reverts_in().unwrap_or_default();
            let key = app.keymap.keys(Command::Keep).first().map(ToString::to_string);
            let warning = chrome::Rollback { seconds: &left, key: &key.unwrap_or_default() };
            Some((format!(" {warning}"), Role::Critical))
        }
        (_, Some(notice)) => Some((format!(" {}", notice.shown()), Role::Info)),
        _ => None,
    }
}

/// Tabs and hints, or the line that is typed.
pub(super) fn footer(app: &App, area: Rect, buf: &mut Buffer) {
    let style = |role| app.look.theme.style(role);
    if let Some((text, role)) = prompt(app) {
        write(buf, (area.x, area.y), area.right(), &text, style(role));
        return;
    }
    for (at, start, end, text) in tabs(app, area) {
        let role = if at == app.screen { Role::Selected } else { Role::Text };
        write(buf, (start, area.y), end, &text, style(role));
    }
    for (x, hint) in placed_hints(app, area) {
        let x = write(buf, (x, area.y), area.right(), &hint.key, style(Role::Key)) + 1;
        write(buf, (x, area.y), area.right(), &hint.word, style(Role::Dim));
    }
}

/// A key in the footer.
struct Hint {
    command: Command,
    key: String,
    word: String,
}

impl Hint {
    fn width(&self) -> usize {
        self.key.width() + 1 + self.word.width()
    }
}

/// The hints that fit beside the tabs, each with its column.
fn placed_hints(app: &App, area: Rect) -> Vec<(u16, Hint)> {
    let hints = hints(app, area);
    let tabs = tabs(app, area).last().map_or(area.x, |tab| tab.2);
    // Two blanks before each; the last ones, quit and help, matter most.
    let mut space = usize::from(area.right().saturating_sub(tabs));
    let mut start = hints.len();
    while let Some(columns) = start.checked_sub(1).and_then(|at| hints.get(at)).map(|hint| hint.width() + 2)
        && columns <= space
    {
        space -= columns;
        start -= 1;
    }
    let mut x = usize::from(tabs) + space;
    let place = |hint: Hint| {
        let at = x + 2;
        x = at + hint.width();
        (at as u16, hint)
    };
    hints.into_iter().skip(start).map(place).collect()
}

/// The command whose key stands at a place of the footer.
pub fn hint_at(app: &App, column: u16, row: u16) -> Option<Command> {
    let footer = layout(app)?.footer;
    if row != footer.y || prompt(app).is_some() {
        return None;
    }
    let is_there = |(x, hint): &(u16, Hint)| (*x..x.saturating_add(hint.width() as u16)).contains(&column);
    placed_hints(app, footer).into_iter().find(is_there).map(|(_, hint)| hint.command)
}

/// What the key that pauses does now.
fn playing(app: &App) -> String {
    match &app.playback {
        Some(playback) if !playback.playing => chrome::PLAY.to_string(),
        None if app.held.is_some() => chrome::RESUME.to_string(),
        _ => action::HINT_PAUSE.to_string(),
    }
}

/// Keys for the footer, least important first.
fn hints(app: &App, area: Rect) -> Vec<Hint> {
    let hint = |command, word: String| {
        let key = super::overlay::label(*app.keymap.keys(command).first()?, app.look.charset);
        Some(Hint { command, key, word })
    };
    let mut hints = Vec::new();
    let own = app.panels.get(app.screen).map_or(&[][..], |panel| panel.hints());
    // A key that every screen has is named once, in the words of this screen.
    let everywhere = |command: Command| TABLE.iter().any(|row| row.command == command && !row.hint.is_empty());
    for &(action, word) in own.iter().filter(|(action, _)| !everywhere(Command::Panel(*action))) {
        hints.extend(hint(Command::Panel(action), word.to_string()));
    }
    let here = |command: Command| own.iter().find(|(action, _)| Command::Panel(*action) == command).map(|own| own.1);
    let on_processes = app.panels.get(app.screen).is_some_and(|panel| panel.id() == "processes");
    if on_processes {
        hints.extend(hint(Command::Actions, processes::HINT_ACTIONS.to_string()));
    }
    for row in TABLE.iter().filter(|row| !row.hint.is_empty()) {
        let word = match row.command {
            Command::Filter if !app.filter.is_empty() => app.filter.clone(),
            Command::Gaps => match app.shown().frame.gaps.len() {
                0 => continue,
                gaps => chrome::Gaps { count: gaps as u64 }.to_string(),
            },
            Command::Pause => playing(app),
            command => here(command).unwrap_or(row.hint).to_string(),
        };
        hints.extend(hint(row.command, word));
    }
    // What to do matters once there is something to do about.
    let fix = hint(Command::Fix, chrome::FIX.to_string());
    if let Some(fix) = fix.filter(|_| !app.shown().judgement.findings.is_empty()) {
        hints.insert(hints.len().saturating_sub(2), fix);
    }
    // Of a recording what plays it matters most, and what goes through time where the picture is held.
    let mut first: Vec<(Command, String)> = match (&app.playback, &app.held) {
        (Some(_), _) => vec![(Command::Faster, chrome::HINT_SPEED.to_string()), (Command::Pause, playing(app))],
        (None, Some(_)) => {
            vec![(Command::StepBack, action::HINT_STEP.to_string()), (Command::Pause, playing(app))]
        }
        (None, None) => return hints,
    };
    if app.playback.as_ref().is_some_and(|playback| !playback.bar.marks.is_empty()) {
        first.insert(0, (Command::NextMark, chrome::HINT_MARK.to_string()));
    }
    hints.retain(|hint| first.iter().all(|(command, _)| *command != hint.command));
    // Where there is little room, how to quit is found in the help.
    let quit = hints.iter().position(|hint| hint.command == Command::Quit).filter(|_| area.width < SHORT_IN_REPLAY);
    if let Some(quit) = quit.map(|at| hints.remove(at)) {
        hints.insert(0, quit);
    }
    let at = hints.len().saturating_sub(if quit.is_some() { 1 } else { 2 });
    hints.splice(at..at, first.into_iter().filter_map(|(command, word)| hint(command, word)));
    hints
}
