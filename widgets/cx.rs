//! What a panel draws from.

use crate::Theme;
use std::sync::Arc;
use topotop_model::frame::Frame;
use topotop_model::history::History;

/// What is selected: the same forms that findings and fixes name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A CPU.
    Cpu(u32),
    /// A node.
    Node(u32),
    /// An interrupt.
    Irq(u32),
    /// An interface.
    Nic(Arc<str>),
    /// A control group by path.
    Cgroup(Arc<str>),
    /// A process: pid and start time.
    Process(u32, u64),
    /// A block device.
    Disk(Arc<str>),
}

/// Which characters the terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// Block and line drawing characters.
    #[default]
    Unicode,
    /// ASCII only.
    Ascii,
}

/// Everything a panel may know.
#[derive(Clone, Copy, Debug)]
pub struct Cx<'a> {
    /// The frame that is shown: the newest, or the one stepped back to.
    pub frame: &'a Frame,
    /// Headlines up to that frame.
    pub history: &'a History,
    /// Styles.
    pub theme: &'a Theme,
    /// Characters.
    pub charset: Charset,
    /// What is selected, on whatever screen.
    pub selected: Option<&'a Subject>,
    /// The filter: rows whose name does not hold it (case ignored) are left out; empty for none.
    pub filter: &'a str,
}
