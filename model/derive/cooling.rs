//! Cooling devices of CPUs.

use crate::frame::{Cooling, Frame};
use crate::{Table, Window};

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    let Some(table) = window.now.cooling_devices.value() else { return };
    let of = |slot| Cooling {
        name: table.name.or_empty(slot),
        kind: table.kind.or_empty(slot),
        state: table.state.get(slot),
        max_state: table.max_state.get(slot),
        cpu: table.cpu.id(slot),
    };
    frame.cooling = table.rows().iter().map(of).collect();
    frame.cooling.sort_unstable_by(|a, b| a.name.cmp(&b.name));
}
