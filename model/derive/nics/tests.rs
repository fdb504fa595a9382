use crate::derive::{Deriver, Settings};
use crate::frame::{Frame, Nic};
use crate::{Draft, IdSet, Known, Snapshot, Stamp, Table, Window};

/// A machine under construction: interrupts as (number, chip, hwirq, name), interfaces, queues.
#[derive(Default)]
struct Machine {
    draft: Draft,
    last: Snapshot,
    window: Window,
    seq: u64,
}

impl Machine {
    fn irqs(&mut self, rows: &[(u64, &str, &str, &str)]) {
        let table = self.draft.irqs.data_mut();
        for &(irq, chip, hwirq, name) in rows {
            let slot = table.insert();
            table.irq.set(slot, irq);
            table.chip.set(slot, chip);
            table.hwirq.set(slot, hwirq);
            table.name.set(slot, name);
            table.total.set(slot, 1);
            table.per_cpu.set(slot, [(0, 1)]);
            table.effective_affinity.set(slot, IdSet::from_ids([irq as u32 % 4]));
        }
    }

    fn nic(&mut self, name: &str, pci: &str, queues: (u64, u64)) -> usize {
        let slot = self.draft.nics.data_mut().insert();
        let nics = self.draft.nics.data_mut();
        nics.name.set(slot, name);
        nics.ifindex.set(slot, slot as u64 + 1);
        if !pci.is_empty() {
            nics.pci.set(slot, pci);
            nics.kind.set(slot, "physical");
        }
        let table = self.draft.nic_queues.data_mut();
        for (direction, count) in [("rx", queues.0), ("tx", queues.1)] {
            for queue in 0..count {
                let slot = table.insert();
                table.nic.set(slot, name);
                table.direction.set(slot, direction);
                table.queue.set(slot, queue);
            }
        }
        slot
    }

    fn frame(&mut self, settings: Settings) -> Frame {
        self.seq += 1;
        let now = self.seq * 1_000_000_000;
        self.draft.irqs.begin(now);
        self.draft.nics.begin(now);
        self.draft.nic_queues.begin(now);
        let stamp = Stamp { seq: self.seq, mono_ns: now, ..Stamp::default() };
        let next = self.draft.publish(stamp, &self.last);
        self.last = next.clone();
        self.window.push(next);
        Deriver::new(settings).frame(&self.window)
    }
}

/// Names by index, receive and transmit queues, and the index behind each receive queue.
type Case<'a> = (&'a [&'a str], (u64, u64), [u32; 2]);

/// Direction, number, interrupt and evidence of each queue.
fn chain(nic: &Nic) -> Vec<(String, u32, Option<u32>, &'static str)> {
    nic.queues.iter().map(|q| (q.direction.to_string(), q.queue, q.irq.value(), q.irq_source)).collect()
}

fn row(direction: &str, queue: u32, irq: u32, source: &'static str) -> (String, u32, Option<u32>, &'static str) {
    (direction.to_owned(), queue, Some(irq), source)
}

#[test]
fn the_device_outweighs_names() {
    let mut machine = Machine::default();
    let chip = "PCI-MSIX-0000:c3:00.0";
    machine.irqs(&[
        (50, chip, "0-edge", "i40e-0000:c3:00.0:misc"),
        (51, chip, "1-edge", "i40e-eth0-TxRx-0"),
        (52, chip, "2-edge", "i40e-eth0-TxRx-1"),
        (53, chip, "3-edge", "i40e-0000:c3:00.0:fdir-TxRx-0"),
        (60, "PCI-MSIX-0000:c4:00.0", "1-edge", "enp195s0f0-TxRx-0"),
    ]);
    // Renamed since its interrupts were asked for; another device's interrupt carries the new name.
    let slot = machine.nic("enp195s0f0", "0000:c3:00.0", (2, 2));
    let frame = machine.frame(Settings::default());
    assert_eq!(chain(&frame.nics[0]), [row("rxtx", 0, 51, "chip"), row("rxtx", 1, 52, "chip")]);
    assert_eq!(frame.irq(50).map(|irq| irq.device.to_string()), Some("enp195s0f0".to_owned()));
    assert_eq!(frame.irq(60).map(|irq| irq.device.to_string()), Some("0000:c4:00.0".to_owned()));
    assert_eq!(frame.nics[0].queues[1].cpus.as_ref().map(ToString::to_string), Some("0".to_owned()));
    machine.draft.nics.data_mut().msi_irqs.set(slot, IdSet::from_ids(50..=53));
    let frame = machine.frame(Settings::default());
    assert_eq!(chain(&frame.nics[0]), [row("rxtx", 0, 51, "msi_irqs"), row("rxtx", 1, 52, "msi_irqs")]);
}

#[test]
fn numbers_within_the_chip_are_decoded() {
    let mut machine = Machine::default();
    machine.irqs(&[
        (70, "PCI-MSI", "34078720-edge", "eth0"),
        (71, "PCI-MSI", "34078721-edge", "eth0-rx-0"),
        (72, "PCI-MSI", "34078722-edge", "eth0-tx-0"),
    ]);
    machine.nic("eth0", "0000:41:00.0", (1, 1));
    let frame = machine.frame(Settings::default());
    assert_eq!(chain(&frame.nics[0]), [row("rx", 0, 71, "hwirq"), row("tx", 0, 72, "hwirq")]);
}

#[test]
fn names_alone_match_as_a_whole() {
    let mut machine = Machine::default();
    machine.irqs(&[
        (11, "IO-APIC-fasteoi", "", "uhci_hcd:usb1, eth2, eth3"),
        (30, "PCI-MSI-edge", "", "eth1"),
        (31, "PCI-MSI-edge", "", "eth1-TxRx-0"),
        (32, "PCI-MSI-edge", "", "eth1-TxRx-1"),
        (40, "PCI-MSI-edge", "", "eth10-TxRx-0"),
    ]);
    for name in ["eth1", "eth2", "eth3", "eth10"] {
        machine.nic(name, "", (0, 0));
    }
    let frame = machine.frame(Settings::default());
    let of = |name| frame.nic(name).map(chain).unwrap_or_default();
    assert_eq!(of("eth1"), [row("rxtx", 0, 31, "name"), row("rxtx", 1, 32, "name")]);
    assert_eq!(of("eth10"), [row("rxtx", 0, 40, "name")]);
    assert_eq!(of("eth2"), [row("rxtx", 0, 11, "name")]);
    assert_eq!(of("eth3"), of("eth2"));
    assert_eq!(frame.irq(11).map(|irq| irq.device.to_string()), Some(String::new()), "a shared line is nobody's");
}

#[test]
fn numbers_that_are_not_queues_become_ranks() {
    let chip = "PCI-MSIX-0000:02:00.0";
    let cases: [Case<'_>; 5] = [
        (&["eth0-tx-0", "eth0-rx-1", "eth0-rx-2"], (2, 1), [1, 2]),
        (&["hns3-0000:02:00.0-TxRx-0", "hns3-0000:02:00.0-TxRx-2"], (2, 2), [0, 1]),
        (&["mlx4-async@pci:0000:02:00.0", "mlx4-1@0000:02:00.0", "mlx4-2@0000:02:00.0"], (2, 2), [1, 2]),
        (&["eth0-TxRx-", "eth0-TxRx-"], (2, 2), [0, 1]),
        (&["", "", ""], (2, 2), [1, 2]),
    ];
    for (names, queues, expected) in cases {
        let mut machine = Machine::default();
        for (index, name) in names.iter().enumerate() {
            machine.irqs(&[(100 + index as u64, chip, &format!("{index}-edge"), name)]);
        }
        machine.nic("eth0", "0000:02:00.0", queues);
        let frame = machine.frame(Settings::default());
        let irqs: Vec<_> = frame.nics[0].queues.iter().filter(|q| *q.direction != *"tx").map(|q| q.irq).collect();
        assert_eq!(irqs, expected.map(|at| Known::Value(100 + at)), "{names:?}");
    }
}

#[test]
fn interfaces_of_one_function_share_what_names_neither() {
    let mut machine = Machine::default();
    let chip = "PCI-MSIX-0000:13:00.0";
    machine.irqs(&[
        (80, chip, "0-edge", "mlx4-async@pci:0000:13:00.0"),
        (81, chip, "1-edge", "mlx4-1@0000:13:00.0"),
        (82, chip, "2-edge", "ib1-0"),
    ]);
    machine.nic("ib0", "0000:13:00.0", (1, 1));
    machine.nic("ib1", "0000:13:00.0", (1, 1));
    let frame = machine.frame(Settings::default());
    assert_eq!(chain(&frame.nics[0]), [row("rxtx", 0, 81, "chip")]);
    assert_eq!(frame.irq(81).map(|irq| irq.device.to_string()), Some("0000:13:00.0".to_owned()));
}

#[test]
fn blocks_halve_and_channels_name_their_cpu() {
    let mut machine = Machine::default();
    let chip = "PCI-MSIX-0000:00:04.0";
    for block in 0..4u64 {
        machine.irqs(&[(90 + block, chip, &format!("{block}-edge"), &format!("gve-ntfy-blk{block}@pci:0000:00:04.0"))]);
    }
    machine.nic("eth0", "0000:00:04.0", (2, 2));
    machine.nic("eth1", "", (1, 0));
    let queues = machine.draft.nic_queues.data_mut();
    queues.channel_cpu.set(4, 3);
    let frame = machine.frame(Settings::default());
    let expected =
        [row("rx", 0, 92, "chip"), row("rx", 1, 93, "chip"), row("tx", 0, 90, "chip"), row("tx", 1, 91, "chip")];
    assert_eq!(chain(&frame.nics[0]), expected);
    let queue = &frame.nics[1].queues[0];
    assert_eq!((queue.irq, queue.irq_source), (Known::None, "channel"));
    assert_eq!(queue.cpus.as_ref().map(ToString::to_string), Some("3".to_owned()));
}

#[test]
fn rates_wrap_and_capacity_is_the_fuller_direction() {
    let mut machine = Machine::default();
    machine.irqs(&[(50, "PCI-MSI-edge", "", "eth0")]);
    let slot = machine.nic("eth0", "", (0, 0));
    let set = |machine: &mut Machine, count: u64, bytes: (u64, u64)| {
        let irqs = machine.draft.irqs.data_mut();
        irqs.per_cpu.set(0, [(1, count)]);
        irqs.total.set(0, count);
        let nics = machine.draft.nics.data_mut();
        nics.rx_bytes.set(slot, bytes.0);
        nics.tx_bytes.set(slot, bytes.1);
        nics.speed_mbps.set_none(slot);
    };
    set(&mut machine, 4_294_967_290, (1000, 1000));
    assert_eq!(machine.frame(Settings::default()).nics[0].utilisation, None);
    set(&mut machine, 4, (51_000, 101_000));
    let settings = Settings { nic_capacity_mbps: vec![("eth0".to_owned(), 1)] };
    let frame = machine.frame(settings);
    assert_eq!(frame.irqs[0].per_second, Some(10.0));
    assert_eq!(frame.irqs[0].per_cpu_per_second, [(1, 10.0)]);
    assert_eq!(frame.nics[0].utilisation, Some(0.8));
    assert_eq!((frame.nics[0].speed_mbps, frame.nics[0].capacity_mbps), (Known::None, Known::Value(1)));
    set(&mut machine, 5, (60_000, 90_000));
    let frame = machine.frame(Settings::default());
    assert_eq!(frame.nics[0].utilisation, None, "nobody knows its capacity");
    assert_eq!(frame.nics[0].tx.bytes_per_second, None, "a counter that stepped back has no rate");
}
