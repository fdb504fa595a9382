//! What a report says about each side of a comparison.

use super::Report;
use crate::span::Span;
use std::path::Path;
use topotop_model::judge;
use topotop_model::locale::diff as text;

/// What a page says about one side.
pub(crate) struct Part {
    pub(crate) headline: String,
    pub(crate) html: Vec<u8>,
}

/// Reads a span of a recording for the page; the name says which side it is.
pub(crate) type ReadSide = dyn Fn(&Path, Span, &str, &judge::Settings) -> Result<Part, String>;

impl Report {
    /// Reads what a report says about each side.
    pub(super) fn read_sides(
        &mut self,
        paths: [&Path; 2],
        read: impl Fn(&Path, Span, &str) -> Result<Part, String>,
    ) -> Result<(), String> {
        let sides = [(&self.before, text::SIDE_A), (&self.after, text::SIDE_B)].into_iter().zip(paths);
        let parts = sides.filter_map(|((about, name), path)| Some(read(path, about.part.clone()?, &name)));
        self.sides = parts.collect::<Result<_, _>>()?;
        Ok(())
    }
}
