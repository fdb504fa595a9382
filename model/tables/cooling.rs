//! What cools CPUs at the cost of their speed.

use crate::table::table;

table! {
    /// Cooling devices that slow CPUs down or keep them idle; fans are none of them.
    CoolingDevices = 36 "cooling_devices" {
        /// Its name: `cooling_device3`.
        name: Text = 1 (Id, None, "sys/class/thermal/cooling_device*"),
        /// `Processor`, `intel_powerclamp`, `cpufreq-cpu0`, `idle-cpu0`, …
        kind: Text = 2 (Fact, None, "sys/class/thermal/cooling_device*/type"),
        /// How much it does; zero while it does nothing.
        state: Num = 3 (Gauge, None, "sys/class/thermal/cooling_device*/cur_state"),
        /// The most that it can do.
        max_state: Num = 4 (Fact, None, "sys/class/thermal/cooling_device*/max_state"),
        /// The CPU that it belongs to, where the machine tells: it slows that one down, and those that share its clock.
        cpu: Num = 5 (Fact, None, "sys/class/thermal/cooling_device*/device/physical_node"),
    }
}
