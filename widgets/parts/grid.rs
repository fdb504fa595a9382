//! Every CPU as a tile: the largest tiles with which all of them fit; when there are too many, several share one.

use super::machine::{Machine, Section};
use ratatui::layout::Rect;
use std::ops::Range;

/// The columns of a tile with its number.
const FULL: u16 = 13;

/// The narrowest and the widest tile with a bar.
const WIDE: (u16, u16) = (18, 24);

/// How large tiles are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Number, a bar, percentage and mark, in so many columns.
    Wide(u16),
    /// Number, glyph, percentage and mark.
    Full,
    /// Glyph, percentage and mark.
    Percent,
    /// Glyph and mark.
    Marked,
    /// Glyph.
    Glyph,
    /// One glyph for so many cores: the hottest of their CPUs.
    Packed(u16),
    /// A row of so many columns.
    Line(u16),
}

impl Size {
    /// The columns of a tile, with what sets it apart from the next one.
    pub fn width(self) -> u16 {
        match self {
            Self::Full => FULL,
            Self::Percent => 7,
            Self::Marked => 2,
            Self::Glyph | Self::Packed(_) => 1,
            Self::Line(width) | Self::Wide(width) => width,
        }
    }

    fn cores(self) -> usize {
        if let Self::Packed(cores) = self { usize::from(cores) } else { 1 }
    }
}

/// One tile: its place, and its CPUs as a range of [`Machine::cpus`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Column on the terminal.
    pub x: u16,
    /// Row on the terminal.
    pub y: u16,
    /// CPUs.
    pub cpus: Range<usize>,
}

/// Where a section's label stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Index into [`Machine::sections`].
    pub section: usize,
    /// Its place; one row, or as many as a core has threads.
    pub area: Rect,
}

/// The number of a CPU before a row of tiles that have none of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Column on the terminal.
    pub x: u16,
    /// Row on the terminal.
    pub y: u16,
    /// Index into [`Machine::cpus`].
    pub cpu: usize,
}

/// A layout of all tiles.
#[derive(Clone, Debug)]
pub struct Grid {
    /// How large its tiles are.
    pub size: Size,
    /// Tiles, section by section.
    pub tiles: Vec<Tile>,
    /// Labels.
    pub labels: Vec<Label>,
    /// The first CPU of each row of tiles, where there is room for that.
    pub starts: Vec<Start>,
    /// Rows that it takes.
    pub height: u16,
}

/// The columns of a label, and of shorter ones.
const LABELS: [u16; 3] = [11, 4, 3];
/// Columns between sections that stand side by side.
const GUTTER: u16 = 2;

/// A way to lay tiles out.
#[derive(Clone, Copy)]
struct Plan {
    size: Size,
    label: u16,
    /// Columns for the first CPU of a row.
    start: u16,
    /// Rows of a core: one for each thread.
    threads: u16,
    /// Sections side by side.
    columns: u16,
    /// Columns of one section.
    width: u16,
    /// Empty rows between sections.
    space: u16,
}

impl Grid {
    /// The largest tiles with which every CPU is inside the area.
    pub fn new(machine: &Machine, area: Rect) -> Self {
        let sizes = [Size::Full, Size::Percent, Size::Marked, Size::Glyph].into_iter();
        let packed = (0..16).map(|power| Size::Packed(1 << power));

        for size in sizes.chain(packed) {
            let least = machine.sections.iter().map(short_label).max().unwrap_or(1) + 1;
            let starts = if size == Size::Full { [0].as_slice() } else { &[start_width(machine), 0] };
            for &start in starts {
                for label in LABELS.into_iter().filter(|&label| label >= least) {
                    let plan = Plan::new(machine, size, (label, start), area.width);
                    let grid = Self::build(machine, plan, area);
                    if grid.height <= area.height {
                        let (plan, grid) = grid.widened(machine, plan, area);
                        return grid.spaced(machine, plan, area);
                    }
                }
            }
        }
        Self::unlabelled(machine, area)
    }

    /// The same with a bar in each tile, where tiles with numbers leave columns blank.
    fn widened(self, machine: &Machine, plan: Plan, area: Rect) -> (Plan, Self) {
        let right = self.tiles.iter().map(|tile| tile.x + FULL).max().unwrap_or(area.x);
        let in_row = |tile: &Tile| self.tiles.iter().filter(|other| other.y == tile.y).count();
        let in_row = self.tiles.iter().map(in_row).max().unwrap_or(1).clamp(1, 1024) as u16;
        let spare = area.right().saturating_sub(right) / in_row;
        let width = (FULL + spare).min(WIDE.1);
        if plan.size != Size::Full || plan.columns > 1 || width < WIDE.0 {
            return (plan, self);
        }
        let wide = Plan { size: Size::Wide(width), width: area.width, ..plan };
        let grid = Self::build(machine, wide, area);
        if grid.height == self.height { (wide, grid) } else { (plan, self) }
    }

    /// The same with an empty row between sections, if there is room for that.
    fn spaced(self, machine: &Machine, plan: Plan, area: Rect) -> Self {
        let spaced = Self::build(machine, Plan { space: 1, ..plan }, area);
        if spaced.height <= area.height { spaced } else { self }
    }

    /// No labels and no gaps, as many cores in a tile as it takes: for areas too small for anything else.
    fn unlabelled(machine: &Machine, area: Rect) -> Self {
        let places = usize::from(area.width.max(1)) * usize::from(area.height.max(1));
        let cores = machine.cores.len().div_ceil(places).max(1);
        let size = Size::Packed(cores.min(usize::from(u16::MAX)) as u16);
        let tile = |(at, run): (usize, &[Range<usize>])| {
            let (row, column) = (at / usize::from(area.width.max(1)), at % usize::from(area.width.max(1)));
            let cpus = run.first()?.start..run.last()?.end;
            Some(Tile { x: area.x + column as u16, y: area.y + row as u16, cpus })
        };
        let tiles: Vec<Tile> = machine.cores.chunks(cores).enumerate().filter_map(tile).collect();
        let height = tiles.last().map_or(0, |tile| tile.y + 1 - area.y);
        Self { size, tiles, labels: Vec::new(), starts: Vec::new(), height }
    }

    /// A row for every CPU, in as few columns as it takes; none where they would be narrower than a width.
    pub fn lines(machine: &Machine, area: Rect, width: u16) -> Option<Self> {
        let most = (area.width / width.max(1)).clamp(1, 4);
        let rows_in = |columns: u16| machine.cpus.len().div_ceil(usize::from(columns));
        // As few columns as possible, so that lines are long.
        let columns = (1..=most).find(|&columns| rows_in(columns) <= usize::from(area.height))?;
        let rows = rows_in(columns).max(1);
        let width = area.width / columns;
        let tile = |at: usize| Tile {
            x: area.x + (at / rows) as u16 * width,
            y: area.y + (at % rows) as u16,
            cpus: at..at + 1,
        };
        let tiles = (0..machine.cpus.len()).map(tile).collect();
        Some(Self { size: Size::Line(width), tiles, labels: Vec::new(), starts: Vec::new(), height: rows as u16 })
    }

    /// A row for every CPU, or for every few of a section where there are too many.
    pub fn rows(machine: &Machine, area: Rect) -> Self {
        let height = usize::from(area.height.max(1));
        let taken = |cpus: usize| -> usize {
            machine.sections.iter().map(|section| machine.range_of(section).len().div_ceil(cpus)).sum()
        };
        let most = machine.cpus.len().max(1);
        let cpus = (0..32).map(|power| 1 << power).find(|&cpus| taken(cpus) <= height || cpus > most).unwrap_or(most);
        let mut grid =
            Self { size: Size::Line(area.width), tiles: Vec::new(), labels: Vec::new(), starts: Vec::new(), height: 0 };
        let mut y = area.y;
        for (at, section) in machine.sections.iter().enumerate() {
            let range = machine.range_of(section);
            grid.labels.push(Label { section: at, area: Rect { y, height: 1, ..area } });
            for first in range.clone().step_by(cpus) {
                grid.tiles.push(Tile { x: area.x, y, cpus: first..(first + cpus).min(range.end) });
                y = y.saturating_add(1);
            }
        }
        grid.tiles.retain(|tile| tile.y < area.bottom());
        grid.height = y.min(area.bottom()) - area.y;
        grid
    }

    /// The tile of a CPU.
    pub fn tile_of(&self, machine: &Machine, cpu: u32) -> Option<&Tile> {
        let at = machine.cpus.iter().position(|&id| id == cpu)?;
        self.tiles.iter().find(|tile| tile.cpus.contains(&at))
    }

    /// The tile at a place.
    pub fn tile_at(&self, column: u16, row: u16) -> Option<&Tile> {
        let width = self.size.width();
        self.tiles.iter().find(|tile| tile.y == row && (tile.x..tile.x + width).contains(&column))
    }

    fn build(machine: &Machine, plan: Plan, area: Rect) -> Self {
        let mut grid = Self { size: plan.size, tiles: Vec::new(), labels: Vec::new(), starts: Vec::new(), height: 0 };
        let (mut y, mut column, mut tallest) = (area.y, 0, 0);
        let mut package = None;
        // Packages of one node each need no row of their own: the labels tell them apart.
        let parted = machine.is_parted();
        for (at, section) in machine.sections.iter().enumerate() {
            // A package starts on a row of its own where its nodes stand side by side.
            let new_package = parted && package.is_some_and(|before| before != section.package);
            package = Some(section.package);
            if column == plan.columns || (new_package && column > 0) {
                (y, column, tallest) = (y.saturating_add(tallest + plan.space), 0, 0);
            }
            let x = area.x + column * (plan.width + GUTTER);
            let rows = grid.section(machine, section, plan, (x, y));
            let label = Rect::new(x, y, plan.label.saturating_sub(1), rows.min(plan.threads));
            grid.labels.push(Label { section: at, area: label });
            tallest = tallest.max(rows);
            column += 1;
        }
        grid.height = y.saturating_add(tallest).saturating_sub(area.y);
        grid
    }

    /// Places a section's tiles; returns the rows that they take.
    fn section(&mut self, machine: &Machine, section: &Section, plan: Plan, at: (u16, u16)) -> u16 {
        let tile = plan.size.width();
        let (start, end) = (at.0 + plan.label + plan.start, at.0 + plan.width);
        let (mut x, mut y) = (start, at.1);
        let end = evenly(machine, section, plan, end - start).map_or(end, |width| start + width);
        for (index, group) in machine.groups_of(section).iter().enumerate() {
            let tiles = group.cores.len().div_ceil(plan.size.cores()) as u16;
            // A group that does not fit into the rest of the row, but into a whole one, starts a new row.
            let room = end.saturating_sub(x);
            let wraps = tiles.saturating_mul(tile) > room && x > start && tiles.saturating_mul(tile) <= end - start;
            if wraps {
                (x, y) = (start, y.saturating_add(plan.threads));
            } else if index > 0 && x > start {
                x += 1;
            }
            let cores = machine.cores.get(group.cores.clone()).unwrap_or_default();
            for run in cores.chunks(plan.size.cores()) {
                if x + tile > end && x > start {
                    (x, y) = (start, y.saturating_add(plan.threads));
                }
                if x == start && plan.start > 0 {
                    run.first().into_iter().for_each(|core| self.begin(core, plan, (x, y)));
                }
                self.core(run, plan, (x, y));
                x += tile;
            }
        }
        (y - at.1).saturating_add(plan.threads)
    }

    /// Says before the first core of a row which CPU that is, thread by thread.
    fn begin(&mut self, core: &Range<usize>, plan: Plan, at: (u16, u16)) {
        let threads = core.clone().take(if plan.size.cores() > 1 { 1 } else { usize::from(plan.threads) });
        let x = at.0.saturating_sub(plan.start);
        self.starts.extend(threads.zip(at.1..).map(|(cpu, y)| Start { x, y, cpu }));
    }

    fn core(&mut self, run: &[Range<usize>], plan: Plan, at: (u16, u16)) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
        if plan.size.cores() > 1 || plan.threads == 1 {
            self.tiles.push(Tile { x: at.0, y: at.1, cpus: first.start..last.end });
            return;
        }
        for (row, cpu) in first.clone().enumerate() {
            self.tiles.push(Tile { x: at.0, y: at.1.saturating_add(row as u16), cpus: cpu..cpu + 1 });
        }
    }
}

/// The columns of a section's shortest label: `12`, or `p12` of a package.
fn short_label(section: &Section) -> u16 {
    let digits = |id: u32| id.max(1).ilog10() as u16 + 1;
    section.node.map(digits).or(section.package.map(|package| digits(package) + 1)).unwrap_or(1)
}

/// The columns of the number of a CPU before a row: `c127` and a blank.
fn start_width(machine: &Machine) -> u16 {
    machine.cpus.iter().max().map_or(1, |id| id.max(&1).ilog10() as u16 + 1) + 2
}

/// The columns that give one group that needs several rows rows of equal length: 8 and 8 instead of 14 and 2.
fn evenly(machine: &Machine, section: &Section, plan: Plan, room: u16) -> Option<u16> {
    let [group] = machine.groups_of(section) else { return None };
    let tiles = group.cores.len().div_ceil(plan.size.cores());
    let in_row = usize::from(room / plan.size.width()).max(1);
    let rows = tiles.div_ceil(in_row);
    (rows > 1).then(|| tiles.div_ceil(rows) as u16 * plan.size.width())
}

impl Plan {
    fn new(machine: &Machine, size: Size, (label, start): (u16, u16), width: u16) -> Self {
        let packed = matches!(size, Size::Packed(_));
        let threads = if packed { 1 } else { machine.threads().clamp(1, 8) as u16 };
        let natural = machine
            .sections
            .iter()
            .map(|section| {
                let groups = machine.groups_of(section);
                let tiles: usize = groups.iter().map(|group| group.cores.len().div_ceil(size.cores())).sum();
                usize::from(label + start) + tiles * usize::from(size.width()) + groups.len().saturating_sub(1)
            })
            .max()
            .unwrap_or(1)
            .clamp(1, usize::from(width.max(label + start + size.width()))) as u16;
        let columns = ((width + GUTTER) / (natural + GUTTER)).clamp(1, machine.sections.len().clamp(1, 64) as u16);
        Self { size, label, start, threads, columns, width: natural, space: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo;
    use crate::parts::machine::Grouping;
    use std::collections::BTreeSet;

    #[test]
    fn every_cpu_has_one_tile_inside_the_area() {
        for frame in [demo::server(), demo::wide(), demo::tiny(), demo::blind()] {
            for grouping in [Grouping::L3, Grouping::Node, Grouping::Package, Grouping::Flat] {
                let machine = Machine::new(&frame, grouping);
                for (width, height) in [(200, 50), (120, 30), (80, 16), (60, 8), (30, 4)] {
                    let area = Rect::new(3, 2, width, height);
                    let grid = Grid::new(&machine, area);
                    let mut seen = vec![0; machine.cpus.len()];
                    let mut places = BTreeSet::new();
                    for tile in &grid.tiles {
                        tile.cpus.clone().for_each(|at| seen[at] += 1);
                        assert!(area.contains((tile.x, tile.y).into()), "{grouping:?} {width}x{height} {tile:?}");
                        assert!(tile.x + grid.size.width() <= area.right() + 1, "{grouping:?} {width} {tile:?}");
                        assert!(places.insert((tile.x, tile.y)), "{tile:?}");
                    }
                    assert!(seen.iter().all(|&count| count == 1), "{grouping:?} {width}x{height} {:?}", grid.size);
                }
            }
        }
    }

    #[test]
    fn tiles_are_as_large_as_fits() {
        let size = |frame: &topotop_model::frame::Frame, width, height| {
            Grid::new(&Machine::new(frame, Grouping::L3), Rect::new(0, 0, width, height)).size
        };
        assert_eq!(size(&demo::server(), 120, 30), Size::Full);
        assert_eq!(size(&demo::server(), 80, 12), Size::Percent);
        assert_eq!(size(&demo::wide(), 200, 50), Size::Marked);
        assert_eq!(size(&demo::wide(), 69, 34), Size::Glyph);
        assert_eq!(size(&demo::wide(), 80, 16), Size::Glyph);
        assert_eq!(size(&demo::wide(), 80, 14), Size::Packed(1));
    }
}
