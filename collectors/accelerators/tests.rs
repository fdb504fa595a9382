use crate::testing::put;
use crate::{Options, Root, Sampler};
use std::os::unix::fs::symlink;
use std::path::Path;
use topotop_model::{Snapshot, State, Table as _};

fn sample(dir: &Path) -> Snapshot {
    Sampler::new(Root::at(dir).expect("a root"), &Options::default()).sample()
}

/// A card with a node to render at, at a PCI address.
fn card(dir: &Path, name: &str, address: &str, driver: &str, node: &str) {
    let device = format!("sys/devices/{address}");
    for file in [name, "renderD128"] {
        put(dir, format!("{device}/drm/{file}/dev"), "226:0\n");
    }
    put(dir, format!("{device}/numa_node"), node);
    put(dir, format!("sys/bus/pci/drivers/{driver}/bind"), "");
    put(dir, format!("sys/class/drm/{name}/dev"), "226:0\n");
    symlink(format!("../../bus/pci/drivers/{driver}"), dir.join(&device).join("driver")).expect("linked");
    let class = format!("sys/class/drm/{name}/device");
    symlink(format!("../../../devices/{address}"), dir.join(class)).expect("linked");
}

#[test]
fn devices_are_read_with_what_each_driver_says() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    card(dir, "card1", "0000:03:00.0", "amdgpu", "1\n");
    put(dir, "sys/devices/0000:03:00.0/gpu_busy_percent", "37\n");
    put(dir, "sys/devices/0000:03:00.0/mem_info_vram_used", "1024\n");
    put(dir, "sys/devices/0000:03:00.0/mem_info_vram_total", "4096\n");
    put(dir, "sys/class/accel/accel0/device/npu_busy_time_us", "25\n");
    put(dir, "sys/class/accel/accel0/device/numa_node", "-1\n");
    // What a management controller shows its console on.
    put(dir, "sys/class/drm/card0/device/drm/card0/dev", "226:0\n");
    put(dir, "proc/driver/nvidia/gpus/0000:81:00.0/information", "Model: \t A100\nDevice Minor: \t 0\n");
    put(dir, "sys/bus/pci/devices/0000:81:00.0/numa_node", "2\n");
    let snapshot = sample(dir);
    let table = snapshot.accelerators.data();
    let mut rows: Vec<_> = (table.rows().iter())
        .map(|slot| {
            let (name, driver) = (table.name.or_empty(slot).to_string(), table.driver.or_empty(slot).to_string());
            (name, driver, table.node.value(slot), table.busy_percent.value(slot), table.busy_ns.value(slot))
        })
        .collect();
    rows.sort();
    let row = |name: &str, driver: &str, node, busy, ns| (name.to_owned(), driver.to_owned(), node, busy, ns);
    let expected = [
        row("accel0", "", None, None, Some(25_000)),
        row("card1", "amdgpu", Some(1), Some(37), None),
        row("nvidia0", "nvidia", Some(2), None, None),
    ];
    assert_eq!(rows, expected);
    assert!(
        snapshot.accelerators.gaps.iter().any(|gap| gap.path.contains("nvidia") && gap.needs.contains("nvidia-smi"))
    );
}

#[test]
fn hostile_devices_have_gaps_or_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    assert_eq!(sample(dir).accelerators.state, State::Missing);
    put(dir, "sys/class/drm/card7/device/drm/renderD1/dev", "");
    put(dir, "sys/class/drm/card7/device/gpu_busy_percent", "99999999999999999999999\n");
    put(dir, "sys/class/drm/card7/device/mem_info_vram_used", "\u{1b}[2J\n");
    put(dir, "sys/class/drm/card99999999999/device/drm/renderD1/dev", "");
    std::fs::create_dir_all(dir.join("sys/class/drm/card8")).expect("made");
    symlink("device", dir.join("sys/class/drm/card8/device")).expect("linked");
    let snapshot = sample(dir);
    let table = snapshot.accelerators.data();
    let rows: Vec<_> =
        table.rows().iter().map(|slot| (table.name.or_empty(slot), table.busy_percent.value(slot))).collect();
    assert_eq!(rows, [("card7".into(), None)]);
    assert!(!snapshot.accelerators.gaps.is_empty());
}

#[test]
fn clients_are_counted_once_and_their_engines_derived() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    card(dir, "card1", "0000:03:00.0", "xe", "1\n");
    let stat =
        |pid: u32| format!("{pid} (train) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 100 0 0 {}\n", "0 ".repeat(28));
    for pid in [7, 8] {
        put(dir, format!("proc/{pid}/stat"), stat(pid));
        put(dir, format!("proc/{pid}/fd/keep"), "");
        symlink("/dev/dri/renderD128", dir.join(format!("proc/{pid}/fd/5"))).expect("linked");
        let memory = "drm-resident-vram0:\t2 KiB\ndrm-total-vram0:\t9 MiB\ndrm-resident-system:\t7 KiB\n";
        let engines =
            "drm-cycles-rcs:\t100\ndrm-total-cycles-rcs:\t1000\ndrm-engine-ccs:\t99999999999999999999999 ns\n";
        let text = format!("pos:\t0\ndrm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\n{memory}{engines}");
        put(dir, format!("proc/{pid}/fdinfo/5"), text);
    }
    symlink("/dev/null", dir.join("proc/8/fd/6")).expect("linked");
    let snapshot = sample(dir);
    let table = snapshot.accelerator_clients.data();
    let mut rows: Vec<_> = (table.rows().iter())
        .map(|slot| (table.engine.or_empty(slot).to_string(), table.pid.value(slot), table.cycles.value(slot)))
        .collect();
    rows.sort();
    assert_eq!(rows, [("ccs".to_owned(), Some(7), None), ("rcs".to_owned(), Some(7), Some(100))]);
    assert!(table.rows().iter().all(|slot| table.memory_bytes.value(slot) == Some(2048)));
}
