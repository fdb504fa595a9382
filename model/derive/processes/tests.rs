//! Processes of a machine with two nodes.

use crate::derive::{Deriver, Settings};
use crate::frame::Frame;
use crate::tables::processes::{Processes, Threads};
use crate::{Draft, IdSet, Snapshot, Stamp, Table, Window};

const SECOND: u64 = 1_000_000_000;

fn topology(draft: &mut Draft) {
    draft.cpu_topology.begin(1);
    draft.node_topology.begin(1);
    for node in 0..2 {
        let table = draft.node_topology.data_mut();
        let slot = table.insert();
        table.node.set(slot, node);
        table.cpus.set(slot, IdSet::from_ids([node as u32 * 2, node as u32 * 2 + 1]));
        table.has_cpus.set(slot, 1);
        table.has_memory.set(slot, 1);
    }
    for cpu in 0..4 {
        let table = draft.cpu_topology.data_mut();
        let slot = table.insert();
        table.cpu.set(slot, cpu);
        table.node.set(slot, cpu / 2);
        table.online.set(slot, u64::from(cpu != 3));
    }
}

fn process(table: &mut Processes, slot: usize, at_ns: u64, ticks: u64) {
    table.pid.set(slot, 77);
    table.starttime.set(slot, 5);
    table.comm.set(slot, "beam.smp");
    table.beam_bind_type.set(slot, "db");
    table.state.set(slot, u64::from(b'S'));
    table.threads.set(slot, 2);
    table.read_at_ns.set(slot, at_ns);
    table.utime.set(slot, ticks);
    table.stime.set(slot, 10);
    table.last_cpu.set(slot, 0);
    table.affinity.set(slot, IdSet::from_ids(0..64));
}

fn thread(table: &mut Threads, slot: usize, tid: u64, at_ns: u64, (run, wait): (u64, u64)) {
    let scheduler = tid != 77;
    table.tid.set(slot, tid);
    table.pid.set(slot, 77);
    table.comm.set(slot, if scheduler { "1_scheduler" } else { "beam.smp" });
    table.read_at_ns.set(slot, at_ns);
    table.run_ns.set(slot, run);
    table.wait_ns.set(slot, wait);
    table.last_cpu.set(slot, if scheduler { 2 } else { 0 });
    // CPU 3 is offline: a mask of 2 and 3 is a pin to 2.
    table.affinity.set(slot, if scheduler { IdSet::from_ids([2, 3]) } else { IdSet::from_ids(0..64) });
}

fn frame(samples: u64) -> Frame {
    let mut draft = Draft::default();
    topology(&mut draft);
    let memory = draft.process_memory.data_mut();
    let slot = memory.insert();
    memory.pid.set(slot, 77);
    memory.starttime.set(slot, 5);
    memory.source.set(slot, "sampled");
    memory.error.set(slot, 290);
    memory.read_at_ns.set(slot, SECOND / 2);
    memory.anon_by_node.set(slot, [(0, 750), (1, 250)]);
    draft.process_memory.begin(1);
    let (slot, main) = (draft.processes.data_mut().insert(), draft.threads.data_mut().insert());
    let scheduler = draft.threads.data_mut().insert();
    let (mut window, mut last) = (Window::default(), Snapshot::default());
    for seq in 1..=samples {
        let at_ns = seq * SECOND;
        draft.processes.begin(at_ns);
        draft.threads.begin(at_ns);
        // Read twice over two seconds: 120 ticks are 0.6 cores.
        process(draft.processes.data_mut(), slot, seq * 2 * SECOND, 100 + seq * 120);
        let spent = seq * SECOND;
        thread(draft.threads.data_mut(), main, 77, at_ns, (spent / 10, 0));
        thread(draft.threads.data_mut(), scheduler, 78, at_ns, (spent / 10 * 3, spent / 2));
        let stamp = Stamp { seq, mono_ns: at_ns, ..Stamp::default() };
        let next = draft.publish(stamp, &last);
        last = next.clone();
        window.push(next);
    }
    Deriver::new(Settings::default()).frame(&window)
}

#[test]
fn one_sample_has_no_rates() {
    let frame = frame(1);
    let process = frame.process(77).expect("a process");
    assert_eq!((process.cpu_cores, process.wait_share), (None, None));
    assert!(process.cpu_by_node.is_empty());
    assert_eq!(process.memory.as_ref().and_then(|memory| memory.remote_ratio), None);
}

#[test]
fn rates_are_of_the_rows_own_interval_and_nodes_of_its_threads() {
    let frame = frame(3);
    let process = frame.process(77).expect("a process");
    assert_eq!(process.cpu_cores, Some(0.6));
    let nodes: Vec<_> = process.cpu_by_node.iter().map(|pair| (pair.0, (pair.1 * 1e6).round())).collect();
    assert_eq!(nodes, [(0, 150_000.0), (1, 450_000.0)], "a quarter ran on node 0, scaled to the whole");
    let wait = process.wait_share.expect("threads were looked at");
    assert!((wait - 0.5 / 0.9).abs() < 1e-9, "{wait}");
    let memory = process.memory.as_ref().expect("asked");
    let remote = memory.remote_ratio.expect("it ran");
    assert!((remote - (0.25 * 0.25 + 0.75 * 0.75)).abs() < 1e-9, "{remote}");
    assert!((memory.error - 0.029).abs() < 1e-9);
}

#[test]
fn pins_count_online_cpus_only() {
    let frame = frame(2);
    let process = frame.process(77).expect("a process");
    let groups: Vec<_> = process.thread_affinities.iter().map(|group| group.cpus.to_string()).collect();
    assert_eq!(groups, ["0-2", "2"]);
    let beam = process.beam.as_ref().expect("a BEAM");
    assert_eq!(beam.pinned, [(2, 1)]);
    assert_eq!(
        (beam.bound_now.value(), beam.schedulers.value(), beam.schedulers_active),
        (Some(true), Some(1), Some(1))
    );
    assert_eq!(beam.schedulers_online.value(), Some(1), "it ran for more than its start took");
    assert_eq!(beam.bind_type_configured.as_ref().value().map(|reported| &**reported), Some("db"));
    let scheduler = frame.threads_of(77).last().expect("threads");
    assert_eq!(scheduler.demand_cores.map(|cores| (cores * 1e6).round()), Some(800_000.0));
}
#[test]
fn what_stood_still_unread_used_nothing_and_what_it_uses_then_is_of_since_then() {
    let mut draft = Draft::default();
    let (slot, main) = (draft.processes.data_mut().insert(), draft.threads.data_mut().insert());
    let (mut window, mut last) = (Window::default(), Snapshot::default());
    let mut deriver = Deriver::new(Settings::default());
    let mut sample = |seq: u64, read: Option<u64>| {
        let at_ns = seq * SECOND;
        draft.processes.begin(at_ns);
        draft.threads.begin(at_ns);
        if let Some(tenths) = read {
            process(draft.processes.data_mut(), slot, at_ns, tenths * 10);
            thread(draft.threads.data_mut(), main, 77, at_ns, (tenths * SECOND / 10, 0));
        } else {
            draft.processes.data_mut().quiet_at_ns.set(slot, at_ns);
            draft.threads.data_mut().quiet_at_ns.set(main, at_ns);
        }
        let next = draft.publish(Stamp { seq, mono_ns: at_ns, ..Stamp::default() }, &last);
        last = next.clone();
        window.push(next);
        let frame = deriver.frame(&window);
        (frame.process(77).and_then(|process| process.cpu_cores), frame.threads_of(77)[0].cpu_cores)
    };
    assert_eq!(sample(1, Some(1)), (None, None));
    assert_eq!(sample(2, Some(3)), (Some(0.2), Some(0.2)));
    assert_eq!(sample(3, None), (Some(0.0), Some(0.0)));
    assert_eq!(sample(4, None), (Some(0.0), Some(0.0)));
    assert_eq!(sample(5, Some(8)), (Some(0.5), Some(0.5)), "in the last second, not in the last three");
    assert_eq!(sample(6, Some(9)), (Some(0.1), Some(0.1)));
}

#[test]
fn children_that_no_two_samples_saw_count_for_who_waited_for_them() {
    let mut draft = Draft::default();
    let (mut window, mut last) = (Window::default(), Snapshot::default());
    let mut deriver = Deriver::new(Settings::default());
    // Slot, pid, parent, ticks of its own and of children that it waited for.
    let mut sample = |seq: u64, rows: &[(usize, u64, u64, u64, u64)], gone: &[usize]| {
        draft.processes.begin(seq * SECOND);
        let table = draft.processes.data_mut();
        for slot in gone {
            table.remove(*slot);
        }
        for &(slot, pid, parent, own, waited) in rows {
            if table.pid.value(slot).is_none() {
                assert_eq!(table.insert(), slot);
            }
            process(table, slot, seq * SECOND, own);
            table.pid.set(slot, pid);
            table.ppid.set(slot, parent);
            table.stime.set(slot, 0);
            table.children_utime.set(slot, waited);
            table.children_stime.set(slot, 0);
        }
        let next = draft.publish(Stamp { seq, mono_ns: seq * SECOND, ..Stamp::default() }, &last);
        last = next.clone();
        window.push(next);
        let frame = deriver.frame(&window);
        frame.processes.iter().map(|process| process.children_cores).collect::<Vec<_>>()
    };
    let init = (0, 1, 0, 500, 90);
    assert_eq!(sample(1, &[init, (1, 20, 1, 10, 0)], &[]), [None, None], "one sample");
    // Programs of 0.9 cores came and went, and one has begun that has another one below it.
    let begun = [init, (1, 20, 1, 12, 90), (2, 30, 20, 2, 0), (3, 31, 30, 5, 0)];
    assert_eq!(sample(2, &begun, &[]), [Some(0.0), Some(0.97), None, None]);
    // Both stay: what they use is their own.
    let stay = [init, (1, 20, 1, 12, 90), (2, 30, 20, 2, 0), (3, 31, 30, 95, 0)];
    assert_eq!(sample(3, &stay, &[]), [Some(0.0); 4]);
    // Both end, after half a second more: not what they used before.
    let ended = [init, (1, 20, 1, 12, 90 + 2 + 95 + 50)];
    assert_eq!(sample(4, &ended, &[2, 3]), [Some(0.0), Some(0.5)]);
    // A service that ran for long ends: its time is not of now.
    assert_eq!(sample(5, &[(0, 1, 0, 500, 90 + 12 + 237 + 3)], &[1]), [Some(0.03)]);
}

#[test]
fn what_is_made_of_an_earlier_frame_is_as_if_made_anew() {
    let mut draft = Draft::default();
    topology(&mut draft);
    let (mut window, mut last, mut recycling) = (Window::default(), Snapshot::default(), Deriver::default());
    let mut slots: Vec<usize> = Vec::new();
    for seq in 1..=12 {
        let at_ns = seq * SECOND;
        draft.processes.begin(at_ns);
        draft.threads.begin(at_ns);
        let table = draft.processes.data_mut();
        // They come and go in the midst, stand still for a while, and have one node or two.
        if seq % 3 == 1 {
            slots.push(table.insert());
        }
        if seq == 8 {
            table.remove(slots.remove(1));
        }
        for (at, &slot) in slots.iter().enumerate() {
            let still = (at as u64 + seq) % 4 < 2;
            process(table, slot, if still { SECOND } else { at_ns }, if still { 100 } else { 100 + seq * 60 });
            table.pid.set(slot, 77 - 7 * slot as u64);
            table.threads.set(slot, 1 + seq / 6 % 2);
            table.rss_anon_bytes.set(slot, 4096 * (seq / 4));
            table.rss_shmem_bytes.set(slot, 0);
            table.rss_file_bytes.set(slot, 4096);
            table.details_at_ns.set(slot, at_ns);
            if seq % 5 == 0 {
                table.affinity.set(slot, IdSet::from_ids([seq as u32 % 3, 3]));
                table.comm.clear(slot);
            }
        }
        let threads = draft.threads.data_mut();
        let slot = if seq == 5 { threads.insert() } else { 0 };
        match seq {
            5..9 => thread(threads, slot, 77, at_ns, (at_ns / 10, 0)),
            9 => threads.remove(slot),
            _ => {}
        }
        if seq == 7 {
            draft.node_topology.begin(at_ns);
            draft.node_topology.data_mut().has_memory.set(1, 0);
        }
        let next = draft.publish(Stamp { seq, mono_ns: at_ns, ..Stamp::default() }, &last);
        last = next.clone();
        window.push(next);
        let frame = recycling.frame(&window);
        let anew = Deriver::default().frame(&window);
        assert_eq!(format!("{:?}", frame.processes), format!("{:?}", anew.processes), "sample {seq}");
        recycling.recycle(frame);
    }
}
