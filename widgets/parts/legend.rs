//! What marks and glyphs stand for, as the help lists it: those of every screen, and those that several share.

use super::panel::Sign;
use super::split;
use crate::Role;
use topotop_model::locale::Text;
use topotop_model::locale::legend as text;

const fn sign(role: Role, glyph: &'static str, ascii: &'static str, label: Text) -> Sign {
    Sign { role, glyph, ascii, label }
}

/// On every screen.
pub const COMMON: &[Sign] = &[
    sign(Role::Critical, "▲", "!", text::CRITICAL),
    sign(Role::Warn, "△", "^", text::WARNING),
    sign(Role::Info, "○", "o", text::INFO),
    sign(Role::Ok, "✓", "v", text::FINE),
    sign(Role::Absent, "?", "?", text::NOT_READ),
    sign(Role::Absent, "—", "-", text::NONE),
    sign(Role::Dim, "…", "~", text::CUT),
];

/// Lists.
pub(crate) const TABLE: &[Sign] = &[
    sign(Role::Focus, "▶", ">", text::SELECTED),
    sign(Role::Related, "•", "*", text::RELATED),
    sign(Role::Key, "▼ ▲", "\\ /", text::SORTED),
    sign(Role::Focus, "┃", "]", text::SCROLL),
];

/// Bars of one value.
pub(crate) const BAR: &[Sign] = &[sign(Role::Heat2, "━╸", "#=", text::BAR), sign(Role::Free, "┈", ".", text::TRACK)];

/// Charts over time.
pub(crate) const CHART: &[Sign] = &[
    sign(Role::Focus, "▁▂▃▄▅▆▇█", ".:-=+*#%@", text::CHART),
    sign(Role::Border, "┤ └ ┴", "|+-", text::CHART_SCALE),
    sign(Role::Ok, "✓", "v", text::CHART_DONE),
    sign(Role::Critical, "✗", "X", text::CHART_FAILED),
];

/// Heat.
pub(crate) const HEAT: &[Sign] = &[
    sign(Role::Heat2, "▁▂▃▄▅▆▇█", ".:-=+*#%@", text::HEAT),
    sign(Role::Absent, "×", "x", text::OFFLINE),
    sign(Role::Dim, "c17 n1 p0", "c17 n1 p0", text::IDS),
];

/// Drawings of the machine.
pub(crate) const PINS: &[Sign] = &[
    sign(Role::Info, "•", "p", text::PINNED_ONE),
    sign(Role::Warn, "2 +", "2 +", text::PINNED_MORE),
    sign(Role::Info, "i", "i", text::ISOLATED),
    sign(Role::Related, " ", " ", text::GROUND),
    sign(Role::Warn, "┐│┘", "+|+", text::TRIANGLE),
];

/// Parts of the overview that no list has.
pub(crate) const OVERVIEW: &[Sign] = &[
    sign(Role::Warn, "●", "*", text::FULL),
    sign(Role::Info, "◦", "L", text::LATENCY),
    sign(Role::Text, "━╸", "#=", text::METER),
    sign(Role::Anon, "▇", "#", text::NODE_ANON),
    sign(Role::Pinned, "▆", "%", text::NODE_REST),
    sign(Role::Cache, "▂", ":", text::NODE_FILE),
];

/// Processes.
pub(crate) const PROCESSES: &[Sign] = &[
    sign(Role::Text, "▁▂▃▄▅▆▇█", ".:-=+*#%@", text::BY_NODE),
    sign(Role::Dim, "·", " ", text::NOTHING_THERE),
    sign(Role::Dim, "±", "+-", text::ERROR),
    sign(Role::Dim, "3.9c", "3.9c", text::CORES),
];

/// Queues.
pub(crate) const QUEUES: &[Sign] = &[
    sign(Role::Text, "1/8", "1/8", text::CHANNELS),
    sign(Role::Text, "rx tx", "rx tx", text::DIRECTIONS),
    sign(Role::Softirq, "▁▂▃▄▅▆▇█", ".:-=+*#%@", text::BY_CPU),
    sign(Role::Dim, "·", " ", text::ALLOWED),
];

/// The tree of groups.
pub(crate) const TREE: &[Sign] =
    &[sign(Role::Dim, "▾", "_", text::OPEN_GROUP), sign(Role::Dim, "▸", "+", text::FOLDED_GROUP)];

/// Several lists of signs as one, the kinds of CPU time last where they are drawn.
pub(crate) fn of(lists: &[&[Sign]], kinds: bool) -> Vec<Sign> {
    lists.iter().copied().chain(kinds.then_some(split::SIGNS.as_slice())).flatten().copied().collect()
}
