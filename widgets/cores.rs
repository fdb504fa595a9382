//! The whole machine, CPU by CPU: as heat, by kind of time, or over time.

mod detail;
mod map;
mod pins;
mod strip;
mod tiles;

use crate::parts::chart;
use crate::parts::grid::{Grid, Size, Tile};
use crate::parts::legend;
use crate::parts::machine::{Grouping, Machine};
use crate::parts::{Pen, names, panel, split};
use crate::{Action, Cx, Outcome, Panel, Role, Subject};
use pins::Pins;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::screen::cores as text;
use topotop_model::locale::screen::shared;
use topotop_model::locale::{Text, join};

/// What the tiles show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// How busy.
    #[default]
    Heat,
    /// Busy with what.
    Split,
    /// How busy over time.
    Time,
    /// Nodes with their devices.
    Map,
}

impl Mode {
    fn name(self) -> Text {
        match self {
            Self::Heat => text::HEAT,
            Self::Split => text::SPLIT,
            Self::Time => text::TIME_MODE,
            Self::Map => text::MAP,
        }
    }
}

/// The cores.
#[derive(Clone, Debug, Default)]
pub struct Cores {
    mode: Mode,
    grouping: Grouping,
    machine: Machine,
    grid: Option<Grid>,
    pins: Pins,
    /// The CPU that keys move from; kept when something else is selected meanwhile.
    cpu: Option<u32>,
    area: Rect,
}

/// The narrowest line of a CPU that has one of its own.
const LINE: u16 = 36;

/// The rows below the map that are enough for a CPU.
const MAP_DETAIL: u16 = 8;

/// Below cores there is room for all of them over time from so many rows on.
const WITH_STRIP: u16 = 40;

/// Machines of so few CPUs have a line for each in every mode.
const FEW_CPUS: usize = 16;

impl Cores {
    /// The cores as heat.
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows that the detail shall have at least.
    fn detail_rows(&self, height: u16) -> u16 {
        match (height, self.mode) {
            // Rows are what it lives on.
            (_, Mode::Map) => 0,
            (30.., Mode::Time) => 4,
            (30.., _) => 10,
            (20.., _) => 7,
            (14.., _) => 4,
            _ => 0,
        }
    }

    fn grid_area(&self, area: Rect) -> Rect {
        let inner = panel::inset(panel::below(area, 1));
        Rect { height: inner.height.saturating_sub(self.detail_rows(area.height)), ..inner }
    }

    fn layout(&self, area: Rect) -> Grid {
        let place = self.grid_area(area);
        let lines = || Grid::lines(&self.machine, place, LINE);
        let few = self.machine.cpus.len() <= FEW_CPUS;
        match self.mode {
            // The last row is for times of day.
            Mode::Time => {
                Grid::rows(&self.machine, Rect { height: place.height - u16::from(place.height > 4), ..place })
            }
            Mode::Split => lines().unwrap_or_else(|| Grid::new(&self.machine, place)),
            Mode::Heat if few => lines().unwrap_or_else(|| Grid::new(&self.machine, place)),
            Mode::Heat | Mode::Map => Grid::new(&self.machine, place),
        }
    }

    /// The CPU that the detail is about: the selected one, or the hottest.
    fn shown(&self, cx: &Cx<'_>) -> Option<u32> {
        match cx.selected {
            Some(Subject::Cpu(id)) if self.machine.cpus.contains(id) => return Some(*id),
            _ => {}
        }
        let busy = cx.frame.cpus.iter().filter_map(|cpu| Some((cpu.busy()?, cpu.id)));
        busy.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, id)| id).or_else(|| self.machine.cpus.first().copied())
    }

    fn select(&mut self, cpu: Option<u32>) -> Outcome {
        let Some(cpu) = cpu else { return Outcome::Ignored };
        self.cpu = Some(cpu);
        Outcome::Selected(Subject::Cpu(cpu))
    }

    /// The CPU so many places on in drawing order.
    fn along(&self, cpu: u32, by: isize) -> Option<u32> {
        let at = self.machine.cpus.iter().position(|&id| id == cpu)?;
        let last = self.machine.cpus.len().checked_sub(1)?;
        self.machine.cpus.get(at.saturating_add_signed(by).min(last)).copied()
    }

    /// The CPU of the nearest tile above or below.
    fn vertical(&self, cpu: u32, down: bool) -> Option<u32> {
        let grid = self.grid.as_ref()?;
        let from = grid.tile_of(&self.machine, cpu)?;
        let beyond = |tile: &&Tile| if down { tile.y > from.y } else { tile.y < from.y };
        let nearest = |tile: &&Tile| (tile.y.abs_diff(from.y), tile.x.abs_diff(from.x));
        let tile = grid.tiles.iter().filter(beyond).min_by_key(nearest).unwrap_or(from);
        self.machine.cpus.get(tile.cpus.start).copied()
    }

    /// Selects a node or a device of the map.
    fn on_map(&self, action: Action, cx: &Cx<'_>) -> Outcome {
        let subjects: Vec<Option<Subject>> = map::rows(cx, &self.machine).iter().map(map::Row::subject).collect();
        let at = subjects.iter().position(|subject| subject.is_some() && subject.as_ref() == cx.selected);
        let last = subjects.len().saturating_sub(1);
        let by = |rows: isize| at.map_or(0, |at| at.saturating_add_signed(rows).min(last));
        let to = match action {
            Action::Up => by(-1),
            Action::Down => by(1),
            Action::Wheel { rows, .. } => by(rows.into()),
            Action::End => last,
            Action::Click { row, .. } => usize::from(row.saturating_sub(self.grid_area(self.area).y)),
            _ => 0,
        };
        subjects.into_iter().nth(to).flatten().map_or(Outcome::Ignored, Outcome::Selected)
    }

    /// The first CPU of the section before or after.
    fn section(&self, cpu: u32, by: isize) -> Option<u32> {
        let at = self.machine.cpus.iter().position(|&id| id == cpu)?;
        let section = self.machine.sections.iter().position(|section| self.machine.range_of(section).contains(&at))?;
        let next = section.saturating_add_signed(by).min(self.machine.sections.len() - 1);
        self.machine
            .sections
            .get(next)
            .and_then(|section| self.machine.cpus.get(self.machine.range_of(section).start))
            .copied()
    }
}

impl Panel for Cores {
    fn id(&self) -> &'static str {
        "cores"
    }

    fn title(&self) -> Text {
        text::TAB
    }

    fn tab_short(&self) -> Text {
        text::TAB_SHORT
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        let same = self.machine.fits(cx.frame, self.grouping);
        if !same {
            self.machine = Machine::new(cx.frame, self.grouping);
        }
        if !same || self.area != area || self.grid.is_none() {
            self.area = area;
            self.grid = Some(self.layout(area));
        }
        self.pins.count(cx.frame);
        if let Some(Subject::Cpu(id)) = cx.selected {
            self.cpu = Some(*id);
        }
    }

    fn reveal(&mut self, subject: &Subject, _: &Cx<'_>) {
        // Only the map has rows for devices.
        if matches!(subject, Subject::Accelerator(_)) {
            self.mode = Mode::Map;
            self.grid = None;
        }
    }

    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        let from = self.cpu.filter(|id| self.machine.cpus.contains(id)).or_else(|| self.shown(cx));
        let Some(from) = from else { return Outcome::Ignored };
        match action {
            Action::Up | Action::Down | Action::Home | Action::End | Action::Click { .. } | Action::Wheel { .. }
                if self.mode == Mode::Map =>
            {
                self.on_map(action, cx)
            }
            Action::Up => self.select(self.vertical(from, false)),
            Action::Down => self.select(self.vertical(from, true)),
            Action::SortPrevious => self.select(self.along(from, -1)),
            Action::SortNext => self.select(self.along(from, 1)),
            Action::PageUp => self.select(self.section(from, -1)),
            Action::PageDown => self.select(self.section(from, 1)),
            Action::Home => self.select(self.machine.cpus.first().copied()),
            Action::End => self.select(self.machine.cpus.last().copied()),
            Action::Open => self.select(self.shown(cx)),
            Action::Wheel { rows, .. } => self.select(self.along(from, rows.into())),
            Action::Click { column, row } => {
                let tile = self.grid.as_ref().and_then(|grid| grid.tile_at(column, row));
                let cpus = tile.and_then(|tile| self.machine.cpus.get(tile.cpus.clone())).unwrap_or_default();
                let busy = |id: &u32| cx.frame.cpu(*id).and_then(topotop_model::frame::Cpu::busy).unwrap_or(0.0);
                self.select(cpus.iter().max_by(|a, b| busy(a).total_cmp(&busy(b))).copied())
            }
            Action::Fold => {
                self.grouping = self.grouping.next();
                self.grid = None;
                Outcome::Changed
            }
            Action::Mode => {
                self.mode = match self.mode {
                    Mode::Heat => Mode::Split,
                    Mode::Split => Mode::Time,
                    Mode::Time => Mode::Map,
                    Mode::Map => Mode::Heat,
                };
                self.grid = None;
                Outcome::Changed
            }
            _ => Outcome::Ignored,
        }
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        match &self.grid {
            Some(grid) if self.area == area && self.machine.fits(cx.frame, self.grouping) => {
                self.paint(cx, grid, area, buf);
            }
            _ => {
                let mut fresh = self.clone();
                fresh.arrange(cx, area);
                if let Some(grid) = &fresh.grid {
                    fresh.paint(cx, grid, area, buf);
                }
            }
        }
    }

    fn legend(&self) -> Vec<crate::parts::panel::Sign> {
        legend::of(&[legend::HEAT, legend::PINS, legend::BAR, legend::CHART], true)
    }

    fn hints(&self) -> &'static [(Action, Text)] {
        &[
            (Action::Mode, text::HINT_MODE),
            (Action::Fold, text::HINT_GROUP),
            (Action::SortPrevious, text::HINT_LEFT),
            (Action::SortNext, text::HINT_RIGHT),
        ]
    }
}

impl Cores {
    fn paint(&self, cx: &Cx<'_>, grid: &Grid, area: Rect, buf: &mut Buffer) {
        let inner = panel::titled(cx, area, &text::TITLE, "", false, buf);
        let used = self.head(cx, grid, area, buf);
        panel::note(cx, area, used, &self.grouping.name(), buf);
        if self.machine.cpus.is_empty() {
            Pen::new(cx, panel::inset(inner), 0, buf).text(Role::Absent, &shared::NO_CPU);
            return;
        }
        let place = self.grid_area(area);
        match self.mode {
            Mode::Time => strip::draw(cx, &self.machine, grid, place, buf),
            Mode::Map => {
                // What the drawing leaves is for the CPU.
                let rest = panel::below(inner, map::draw(cx, &self.machine, place, buf) + 1);
                if let Some(cpu) = self.shown(cx).filter(|_| rest.height >= MAP_DETAIL) {
                    detail::draw(cx, &self.pins, cpu, rest, buf);
                }
                return;
            }
            mode => tiles::draw(cx, &self.machine, grid, &self.pins, mode == Mode::Split, buf),
        }
        let used = grid.height + u16::from(self.mode == Mode::Time);
        let rest = panel::below(inner, used + u16::from(used + 14 < inner.height));
        let rest = if self.mode == Mode::Time { rest } else { self.over_time(cx, rest, buf) };
        if let Some(cpu) = self.shown(cx).filter(|_| rest.height >= 3) {
            detail::draw(cx, &self.pins, cpu, rest, buf);
        }
    }

    /// Draws all CPUs over time at the bottom of an area where there is room for that; gives what is above.
    fn over_time(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) -> Rect {
        if area.height < WITH_STRIP || !chart::has_shape(cx) {
            return area;
        }
        // Its title and its times take a row each.
        let rows = |place: Rect| Grid::rows(&self.machine, Rect { height: place.height.saturating_sub(1), ..place });
        let height = rows(Rect { height: area.height / 2 - 1, ..area }).height + 2;
        let place = Rect { y: area.bottom() - height, height, ..area };
        let inner = panel::inset(panel::titled(cx, place, &text::ALL_OVER_TIME, "", false, buf));
        strip::draw(cx, &self.machine, &rows(inner), inner, buf);
        Rect { height: area.height - height, ..area }
    }

    /// Mode and meaning of colours on the panel's rule; gives the columns that the title and they take.
    fn head(&self, cx: &Cx<'_>, grid: &Grid, area: Rect, buf: &mut Buffer) -> u16 {
        let mut pen = Pen::new(cx, area, 0, buf);
        pen.skip(names::width(&text::TITLE) + 2);
        if self.mode == Mode::Split && area.width >= 90 {
            panel::legend_on_rule(pen.skip(1), &split::SIGNS);
        } else {
            pen.text(Role::Dim, &join::LABEL).text(Role::Dim, &self.mode.name()).text(Role::Dim, " ");
        }
        match grid.size {
            _ if self.mode == Mode::Map => {}
            Size::Packed(cores) if cores > 1 => {
                pen.text(Role::Dim, &text::HottestOfCores { count: &cores }.to_string());
                pen.text(Role::Dim, " ");
            }
            Size::Packed(_) if self.machine.threads() > 1 => {
                pen.text(Role::Dim, &text::HOTTEST_OF_CORE).text(Role::Dim, " ");
            }
            _ => {}
        }
        if cx.frame.interval_seconds.is_none() {
            pen.text(Role::Absent, &shared::NO_RATES).text(Role::Absent, " ");
        }
        pen.x() - area.x
    }
}

#[cfg(test)]
mod tests;
