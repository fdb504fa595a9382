//! Interfaces, their queues and the chain down to the CPU that serves each.

mod evidence;

pub(super) use evidence::function_of;

use super::Settings;
use crate::Window;
use crate::frame::Frame;

pub(super) fn derive(_window: &Window, _settings: &Settings, _frame: &mut Frame) {}
