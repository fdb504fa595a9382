//! topotop's panels. A panel knows a frame, an area and a buffer; it knows no collector, no file, no clock, no terminal.
//!
//! One file per panel, listed once in [`all`]; shared drawing is in [`parts`]; colours are roles of a [`Theme`].

mod action;
pub mod answer;
pub mod cgroups;
#[cfg(test)]
mod contrast;
pub mod cores;
mod cx;
pub mod disks;
#[cfg(test)]
mod every_panel;
pub mod findings;
pub mod fix;
pub mod gaps;
pub mod overview;
pub mod parts;
pub mod processes;
#[cfg(test)]
mod pseudo_locale;
pub mod queues;
pub mod sockets;
#[cfg(test)]
mod testing;
mod theme;
pub mod themes;

pub use action::{Action, Outcome};
pub use cx::{Charset, Cx, Mark};
pub use theme::{Role, Theme, ThemeError};
pub use topotop_model::rules::Subject;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::Text;
#[cfg(test)]
use topotop_model::testkit as demo;

/// A screen: what it shows comes from the [`Cx`]; scroll, sort, fold and selection by identity live in it.
pub trait Panel: Send {
    /// Its name for `--screen` and configuration.
    fn id(&self) -> &'static str;

    /// Its name in the tab bar.
    fn title(&self) -> Text;

    /// The same where the bar is narrow.
    fn tab_short(&self) -> Text;

    /// Prepares a frame for an area: clamps scroll, settles the selection. Draw never changes anything.
    fn arrange(&mut self, cx: &Cx<'_>, area: Rect);

    /// Reacts to a key or a click inside its last area.
    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome;

    /// Draws.
    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer);

    /// Shows a subject that somebody goes to, whatever is folded or hidden.
    fn reveal(&mut self, _subject: &Subject, _cx: &Cx<'_>) {}

    /// The selected thread, where a thread is selected.
    fn thread(&self) -> Option<u32> {
        None
    }

    /// What is switched on in it and kept for the next time.
    fn modes(&self) -> Vec<Action> {
        Vec::new()
    }

    /// Its table, for pickers of columns and searches.
    fn table(&mut self) -> Option<&mut dyn parts::table::Listed> {
        None
    }

    /// What is selected, as text to copy.
    fn copied(&mut self, cx: &Cx<'_>) -> Option<String> {
        self.table()?.copied(cx)
    }

    /// What its marks and glyphs stand for, beside those of [`parts::legend::COMMON`].
    fn legend(&self) -> Vec<parts::panel::Sign> {
        Vec::new()
    }

    /// Its own keys as (action, help); for the footer and the help.
    fn hints(&self) -> &'static [(Action, Text)] {
        &[]
    }
}

/// Every screen, in the order of the tab bar.
pub fn all() -> Vec<Box<dyn Panel>> {
    vec![
        Box::new(overview::Overview::new()),
        Box::new(cores::Cores::new()),
        Box::new(queues::Queues::default()),
        Box::new(cgroups::Cgroups::default()),
        Box::new(processes::Processes::default()),
        Box::new(disks::Disks::default()),
        Box::new(findings::Findings::default()),
        Box::new(gaps::Gaps::default()),
        Box::new(sockets::Sockets::default()),
    ]
}
