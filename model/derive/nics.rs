use super::Settings;
use crate::Window;
use crate::frame::Frame;

pub(super) fn derive(_window: &Window, _settings: &Settings, _frame: &mut Frame) {}
