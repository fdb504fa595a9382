//! Values that are not there: never a zero, never a blank.

use super::number::Short;
use super::{Pen, heat, names};
use crate::{Charset, Cx, Role};
use topotop_model::locale::screen::shared as text;
use topotop_model::{Known, Reason};

/// What stands for a value that is known to be none or not applicable.
pub fn dash(charset: Charset) -> &'static str {
    if charset == Charset::Unicode { "—" } else { "-" }
}

/// What stands before the error of an estimate.
pub fn error(charset: Charset) -> &'static str {
    if charset == Charset::Unicode { "±" } else { "+-" }
}

/// The mark for a value that was not read: the reason of the gap whose path ends in `file`, else `?`.
pub fn missing(cx: &Cx<'_>, file: &str) -> (&'static str, Role) {
    let gap = cx.frame.gaps.iter().filter(|_| !file.is_empty()).find(|gap| gap.path.ends_with(file));
    match gap.map(|gap| gap.reason) {
        Some(Reason::PermissionDenied) => (word(Reason::PermissionDenied), Role::Denied),
        Some(Reason::TimedOut) => (word(Reason::TimedOut), Role::Stale),
        Some(reason @ (Reason::Malformed | Reason::Exhausted)) => (word(reason), Role::Warn),
        Some(Reason::NotFound | Reason::NotSupported) => (text::NOT_APPLICABLE.as_str(), Role::Absent),
        Some(Reason::Vanished) | None => ("?", Role::Absent),
    }
}

/// A reason in a word, for a cell.
pub fn word(reason: Reason) -> &'static str {
    let word = match reason {
        Reason::PermissionDenied => text::DENIED,
        Reason::NotFound => text::ABSENT,
        Reason::NotSupported => text::NOT_APPLICABLE,
        Reason::Vanished => text::GONE,
        Reason::Malformed => text::MALFORMED,
        Reason::TimedOut => text::LATE,
        Reason::Exhausted => text::EXHAUSTED,
    };
    word.as_str()
}

impl Pen<'_> {
    /// Writes a value, or why there is none: `none` where it is known to be none, a mark where it was not read.
    pub fn value<T>(
        &mut self,
        value: Known<T>,
        none: &str,
        file: &str,
        show: impl FnOnce(T) -> (Short, Role),
    ) -> &mut Self {
        match value {
            Known::Value(value) => {
                let (text, role) = show(value);
                self.text(role, text.as_str())
            }
            Known::None => self.text(Role::Absent, none),
            Known::Missing => self.unread(file),
        }
    }

    /// Writes a value, or the mark of what was not read.
    pub fn some<T>(&mut self, value: Option<T>, file: &str, show: impl FnOnce(T) -> (Short, Role)) -> &mut Self {
        self.value(Known::or_missing(value), "", file, show)
    }

    /// A share as height in a role's colour, so many times; a dot where there is nothing.
    pub fn level(&mut self, role: Role, share: f64, times: u16) -> &mut Self {
        let charset = self.cx().charset;
        if share < 0.005 || !share.is_finite() {
            self.repeat(Role::Dim, if charset == Charset::Ascii { " " } else { "·" }, times)
        } else {
            self.repeat(role, heat::low_glyph(share, charset), times)
        }
    }

    /// Writes the mark of what was not read: a word where it fits, else its first letter's worth.
    pub fn unread(&mut self, file: &str) -> &mut Self {
        let (text, role) = missing(self.cx(), file);
        let fits = names::width(text) <= self.left();
        self.text(role, if fits { text } else { "?" })
    }
}
