//! Recordings made of numbers: a few CPUs, an interface and its interrupt, a second apart.

use std::path::Path;
use std::sync::Arc;
use topotop_model::derive::Deriver;
use topotop_model::judge::{Judge, Judgement, Settings};
use topotop_model::recording::{About, Chunk, Composer, Event, Limits, What, finding_events};
use topotop_model::{Snapshot, Stamp, Table, Window};

/// 2026-01-02 10:00:00 UTC.
pub(crate) const START_NS: i64 = 1_767_348_000_000_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// What a recording is made from.
pub(crate) struct SyntheticRecording {
    /// Name of the machine.
    pub(crate) host: &'static str,
    /// Its boot.
    pub(crate) boot_id: &'static str,
    /// Samples.
    pub(crate) seconds: u64,
    /// When it begins, after [`START_NS`].
    pub(crate) from: u64,
    /// Ticks of a hundred that a CPU was busy for in a second.
    pub(crate) busy: fn(u64, u32) -> u64,
    /// Ticks of those that were soft interrupts.
    pub(crate) softirq: fn(u64, u32) -> u64,
    /// The judge's limits, where it is judged while it is written.
    pub(crate) judged: Option<Settings>,
    /// Combined channels of eth0.
    pub(crate) channels: u64,
    /// Events before the sample of a second.
    pub(crate) events: Vec<(u64, What)>,
}

/// CPUs of every reel.
pub(crate) const CPUS: u32 = 4;

impl Default for SyntheticRecording {
    fn default() -> Self {
        let boot_id = "11111111-2222-4333-8444-555555555555";
        Self {
            host: "db-17",
            boot_id,
            seconds: 61,
            from: 0,
            busy: quiet,
            softirq: |_, _| 0,
            judged: None,
            channels: 1,
            events: Vec::new(),
        }
    }
}

/// A third, give or take two points.
pub(crate) fn quiet(second: u64, cpu: u32) -> u64 {
    let mixed = (second * 4 + u64::from(cpu) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    30 + (mixed ^ (mixed >> 29)) % 5
}

impl SyntheticRecording {
    /// Writes the recording.
    pub(crate) fn write(&self, path: &Path) {
        let about = About {
            host: self.host.into(),
            kernel: "Linux 6.6.0".into(),
            boot_id: self.boot_id.into(),
            interval_ns: SECOND_NS as u64,
            started_wall_ns: START_NS,
            ..About::default()
        };
        let mut composer = Composer::new(about, Some(Limits::default()));
        let mut file = Vec::new();
        let mut put = |chunk: Chunk| {
            for (offset, bytes) in chunk.writes {
                let end = offset as usize + bytes.len();
                file.resize(end.max(file.len()), 0);
                file[offset as usize..end].copy_from_slice(&bytes);
            }
        };
        let mut snapshot = Snapshot::default();
        let mut clerk =
            self.judged.clone().map(|settings| (Judge::new(settings), Window::default(), Deriver::default()));
        let mut last = Judgement::default();
        for second in self.from..self.from + self.seconds {
            self.advance(&mut snapshot, second);
            for (_, what) in self.events.iter().filter(|event| event.0 == second) {
                let event =
                    Event { wall_ns: snapshot.stamp.wall_ns - 1, mono_ns: snapshot.stamp.mono_ns, what: what.clone() };
                composer.event(event).into_iter().for_each(&mut put);
            }
            let mut state = None;
            if let Some((judge, window, deriver)) = &mut clerk {
                state = composer.key_is_due().then(|| judge.save());
                window.push(snapshot.clone());
                let judgement = judge.step(&deriver.frame(window));
                for event in finding_events(&last, &judgement, snapshot.stamp) {
                    composer.event(event).into_iter().for_each(&mut put);
                }
                last = judgement;
            }
            put(composer.judged(&snapshot, state.as_deref()).expect("encoded"));
        }
        composer.finish().into_iter().for_each(&mut put);
        std::fs::write(path, file).expect("a file");
    }

    fn advance(&self, snapshot: &mut Snapshot, second: u64) {
        let mono_ns = (1000 + second) * SECOND_NS as u64;
        let wall_ns = START_NS + second as i64 * SECOND_NS;
        snapshot.stamp = Stamp { seq: 0, wall_ns, mono_ns, boot_ns: mono_ns };
        let host = Arc::make_mut(&mut snapshot.host);
        host.begin(mono_ns);
        let row = host.data_mut().only();
        host.data_mut().name.set(row, self.host);
        host.data_mut().boot_id.set(row, self.boot_id);
        let cpus = Arc::make_mut(&mut snapshot.cpu_times);
        cpus.begin(mono_ns);
        let table = cpus.data_mut();
        for cpu in 0..CPUS {
            let slot = if table.rows().len() > cpu as usize { cpu as usize } else { table.insert() };
            table.cpu.set(slot, u64::from(cpu));
            let busy = (self.busy)(second, cpu);
            let was = |column: &topotop_model::Num| column.value(slot).unwrap_or(1000);
            let soft = (self.softirq)(second, cpu).min(busy);
            let (user, idle) = (was(&table.user) + busy - soft, was(&table.idle) + 100 - busy);
            let soft = table.softirq.value(slot).unwrap_or(0) + soft;
            table.user.set(slot, user);
            table.idle.set(slot, idle);
            for column in [&mut table.nice, &mut table.system, &mut table.iowait] {
                column.set(slot, 0);
            }
            table.softirq.set(slot, soft);
            for column in [&mut table.irq, &mut table.steal] {
                column.set(slot, 0);
            }
        }
        let nics = Arc::make_mut(&mut snapshot.nics);
        nics.begin(mono_ns);
        let table = nics.data_mut();
        let slot = table.only();
        table.ifindex.set(slot, 2);
        table.name.set(slot, "eth0");
        table.kind.set(slot, "physical");
        table.combined.set(slot, self.channels);
        table.rx_packets.set(slot, second * 20_000);
        table.rx_bytes.set(slot, second * 2_000_000);
    }
}
