//! What the program says for a while in its last row.

use super::{App, NOTICE_NS};

/// A line that goes away by itself.
#[derive(Clone, Debug)]
pub struct Notice {
    /// What it says.
    pub text: String,
    /// When it goes.
    pub until_ns: u64,
    /// How often it was said while it stood there.
    times: u32,
}

impl Notice {
    /// The text as it is shown: a key that does nothing once more is seen to be pressed.
    pub fn shown(&self) -> String {
        if self.times > 1 { format!("{} ({})", self.text, self.times) } else { self.text.clone() }
    }
}

impl App {
    /// Says something for a while.
    pub fn say(&mut self, text: impl Into<String>) {
        let text = text.into();
        let same = self.notice.as_ref().filter(|notice| notice.text == text);
        let times = same.map_or(1, |notice| notice.times.saturating_add(1));
        self.notice = Some(Notice { text, until_ns: self.status.now_ns + NOTICE_NS, times });
    }
}
