//! GPUs and other accelerators.

use crate::table::table;

table! {
    /// GPUs and other accelerators.
    Accelerators = 34 "accelerators" {
        /// Its name: `card0`, `accel0`, `nvidia0`.
        name: Text = 1 (Id, None, "sys/class/drm"),
        /// PCI address.
        address: Text = 2 (Fact, None, "sys/class/drm/*/device"),
        /// Driver bound to it.
        driver: Text = 3 (Fact, None, "sys/class/drm/*/device/driver"),
        /// Vendor and device ids in hex.
        id: Text = 4 (Fact, None, "sys/class/drm/*/device/vendor"),
        /// Its node; none when the firmware does not say.
        node: Num = 5 (Fact, None, "sys/class/drm/*/device/numa_node"),
        /// How busy it is, in percent.
        busy_percent: Num = 6 (Gauge, None, "sys/class/drm/*/device/gpu_busy_percent"),
        /// Time that it was busy.
        busy_ns: Num = 7 (Counter, Nanoseconds, "sys/class/accel/*/device/npu_busy_time_us"),
        /// Memory of its own in use.
        memory_used_bytes: Num = 8 (Gauge, Bytes, "sys/class/drm/*/device/mem_info_vram_used"),
        /// Memory of its own.
        memory_total_bytes: Num = 9 (Fact, Bytes, "sys/class/drm/*/device/mem_info_vram_total"),
    }
}

table! {
    /// Who holds an accelerator open, by engine.
    AcceleratorClients = 35 "accelerator_clients" {
        /// The device.
        device: Text = 1 (Id, None, "proc/PID/fdinfo"),
        /// The process.
        pid: Num = 2 (Id, None, "proc/PID/fdinfo"),
        /// The client; the process where the driver does not say.
        client: Num = 3 (Id, None, "proc/PID/fdinfo"),
        /// The engine; empty where the driver names none.
        engine: Text = 4 (Id, None, "proc/PID/fdinfo"),
        /// Time that the engine worked for it.
        busy_ns: Num = 5 (Counter, Nanoseconds, "proc/PID/fdinfo"),
        /// Cycles that the engine worked for it.
        cycles: Num = 6 (Counter, None, "proc/PID/fdinfo"),
        /// Cycles of the engine.
        total_cycles: Num = 7 (Counter, None, "proc/PID/fdinfo"),
        /// Engines of the kind.
        capacity: Num = 8 (Fact, None, "proc/PID/fdinfo"),
        /// Memory of the device that it has.
        memory_bytes: Num = 9 (Gauge, Bytes, "proc/PID/fdinfo"),
    }
}
