use crate::Window;
use crate::frame::Frame;

pub(super) fn derive(_window: &Window, _frame: &mut Frame) {}
