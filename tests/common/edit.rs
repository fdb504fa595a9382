//! Changes to a sample of a machine, by what would be read then: rows by their keys, counters by what they gain a second.
//!
//! Nothing is remembered from one sample to the next: what is inserted into equal tables gets equal slots.

use std::sync::Arc;
use topotop_model::{Column, ColumnMut, IdSet, Section, Snapshot, State, Table};

/// What is in a cell.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    /// A number.
    Number(u64),
    /// Known to be none.
    None,
    /// A text, or a list of ids where the column has sets.
    Text(String),
    /// Numbers by id.
    Pairs(Vec<(u32, u64)>),
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Number(u64::from(number))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<(u32, u64)>> for Cell {
    fn from(pairs: Vec<(u32, u64)>) -> Self {
        Self::Pairs(pairs)
    }
}

/// Names of columns and what is in them.
pub(crate) type Cells<'a> = [(&'a str, Cell)];

/// Where every counter that is set begins.
const BEGIN: u64 = 1_000_000;

/// A sample so many seconds after the first.
pub(crate) struct Edit<'a> {
    pub(crate) now: &'a mut Snapshot,
    pub(crate) second: u64,
}

/// Sets cells of the row with these keys; it is added where there is none.
pub(crate) fn put<T: Table>(section: &mut Arc<Section<T>>, at_ns: u64, keys: &Cells<'_>, cells: &Cells<'_>) {
    let section = Arc::make_mut(section);
    (section.state, section.read_at_ns) = (State::Read, at_ns);
    let table = section.data_mut();
    let found = table.rows().iter().find(|&slot| keys.iter().all(|(name, cell)| holds(table, name, slot, cell)));
    let slot = found.unwrap_or_else(|| table.insert());
    for (name, cell) in keys.iter().chain(cells) {
        match (table.column_mut(index::<T>(name)), cell) {
            (Some(ColumnMut::Num(column)), Cell::Number(value)) => column.set(slot, *value),
            (Some(ColumnMut::Num(column)), Cell::None) => column.set_none(slot),
            (Some(ColumnMut::Text(column)), Cell::Text(text)) => column.set(slot, text),
            (Some(ColumnMut::Sets(column)), Cell::Text(text)) => {
                column.set(slot, IdSet::parse_list(text).expect("a list of ids"));
            }
            (Some(ColumnMut::Sparse(column)), Cell::Pairs(pairs)) => column.set(slot, pairs.clone()),
            _ => panic!("{}.{name} does not hold {cell:?}", T::NAME),
        }
    }
}

fn index<T: Table>(name: &str) -> usize {
    T::COLUMNS.iter().position(|column| column.name == name).unwrap_or_else(|| panic!("{}.{name}", T::NAME))
}

fn holds<T: Table>(table: &T, name: &str, slot: usize, cell: &Cell) -> bool {
    match (table.column(index::<T>(name)), cell) {
        (Some(Column::Num(column)), Cell::Number(value)) => column.value(slot) == Some(*value),
        (Some(Column::Text(column)), Cell::Text(text)) => column.get(slot).is_some_and(|here| **here == **text),
        _ => false,
    }
}

impl Edit<'_> {
    /// What a counter is now that gains so much a second.
    pub(crate) fn grown(&self, rate: f64) -> Cell {
        Cell::Number(BEGIN + (rate * self.second as f64) as u64)
    }

    fn all_grown<'a>(&self, rates: &[(&'a str, f64)]) -> Vec<(&'a str, Cell)> {
        rates.iter().map(|(name, rate)| (*name, self.grown(*rate))).collect()
    }

    /// The clock of the sample.
    pub(crate) fn clock(&self) -> u64 {
        self.now.stamp.mono_ns
    }

    /// CPUs that are online, by what is known of the machine; eight where nothing is.
    pub(crate) fn cpus(&self) -> Vec<u32> {
        let places = self.now.cpu_topology.data();
        let online = |slot: &usize| places.online.value(*slot) == Some(1);
        let times = self.now.cpu_times.data();
        let mut cpus: Vec<u32> =
            places.rows().iter().filter(online).filter_map(|at| places.cpu.id(at).value()).collect();
        if cpus.is_empty() {
            cpus = times.rows().iter().filter_map(|slot| times.cpu.id(slot).value()).collect();
        }
        cpus.sort_unstable();
        if cpus.is_empty() { (0..8).collect() } else { cpus }
    }

    /// Nodes with CPUs and memory, by id, with their CPUs.
    pub(crate) fn nodes(&self) -> Vec<(u32, IdSet)> {
        let nodes = self.now.node_topology.data();
        let whole = |slot: &usize| nodes.has_memory.value(*slot) == Some(1);
        let online = IdSet::from_ids(self.cpus());
        let cpus = |slot| Some((nodes.node.id(slot).value()?, nodes.cpus.get(slot)?.intersection(&online)));
        let mut found: Vec<(u32, IdSet)> = nodes.rows().iter().filter(whole).filter_map(cpus).collect();
        found.retain(|(_, cpus)| !cpus.is_empty());
        found.sort_unstable_by_key(|pair| pair.0);
        found
    }

    /// Gives a CPU ticks a second; it idles for the rest of a hundred.
    pub(crate) fn cpu(&mut self, cpu: u32, ticks: &[(&str, f64)]) {
        let idle = 100.0 - ticks.iter().map(|pair| pair.1).sum::<f64>();
        let mut cells = self.all_grown(&[
            ("user", 0.0),
            ("nice", 0.0),
            ("system", 0.0),
            ("iowait", 0.0),
            ("irq", 0.0),
            ("softirq", 0.0),
            ("steal", 0.0),
            ("idle", idle.max(0.0)),
        ]);
        cells.extend(self.all_grown(ticks));
        put(&mut self.now.cpu_times, self.now.stamp.mono_ns, &[("cpu", cpu.into())], &cells);
    }

    /// Gives every CPU the same.
    pub(crate) fn every_cpu(&mut self, ticks: &[(&str, f64)]) {
        self.cpus().into_iter().for_each(|cpu| self.cpu(cpu, ticks));
    }

    /// A process that has so many cores and waits for so many more.
    pub(crate) fn process(&mut self, pid: u32, comm: &str, load: (f64, f64), cells: &Cells<'_>) {
        let clock = self.clock();
        let (ran, waited) = load;
        let (ran_ns, waited_ns, ticks) = (self.grown(ran * 1e9), self.grown(waited * 1e9), self.grown(ran * 100.0));
        let mut all: Vec<(&str, Cell)> = vec![
            ("comm", comm.into()),
            ("flags", 0u64.into()),
            ("threads", 1u64.into()),
            ("utime", ticks),
            ("stime", 0u64.into()),
            ("run_ns", ran_ns),
            ("wait_ns", waited_ns),
            ("rss_bytes", (64u64 << 20).into()),
            ("read_at_ns", clock.into()),
            ("counters_at_ns", clock.into()),
            ("details_at_ns", clock.into()),
            ("last_cpu", 0u64.into()),
            ("cgroup", "/".into()),
        ];
        all.extend_from_slice(cells);
        let keys = [("pid", pid.into()), ("starttime", 77u64.into())];
        put(&mut self.now.processes, clock, &keys, &all);
    }

    /// A thread that has so much of a core and waits for so much more.
    pub(crate) fn thread(&mut self, of: (u32, u32), comm: &str, cpu: u32, load: (f64, f64), cells: &Cells<'_>) {
        let clock = self.clock();
        let mut all: Vec<(&str, Cell)> = vec![
            ("comm", comm.into()),
            ("flags", 0u64.into()),
            ("policy", 0u64.into()),
            ("last_cpu", cpu.into()),
            ("utime", self.grown(load.0 * 100.0)),
            ("stime", 0u64.into()),
            ("run_ns", self.grown(load.0 * 1e9)),
            ("wait_ns", self.grown(load.1 * 1e9)),
            ("read_at_ns", clock.into()),
        ];
        all.extend_from_slice(cells);
        let keys = [("pid", of.0.into()), ("tid", of.1.into()), ("starttime", 77u64.into())];
        put(&mut self.now.threads, clock, &keys, &all);
    }

    /// A control group of version 2.
    pub(crate) fn group(&mut self, path: &str, cells: &Cells<'_>, rates: &[(&str, f64)]) {
        let mut all: Vec<(&str, Cell)> = vec![("version", 2u64.into()), ("inode", 99u64.into())];
        all.extend_from_slice(cells);
        all.extend(self.all_grown(rates));
        put(&mut self.now.cgroups, self.now.stamp.mono_ns, &[("path", path.into())], &all);
    }

    /// What a group writes to a device.
    pub(crate) fn writes(&mut self, path: &str, dev: u64, bytes: f64, count: f64) {
        let cells = self.all_grown(&[("read_bytes", 0.0), ("write_bytes", bytes), ("reads", 0.0), ("writes", count)]);
        put(&mut self.now.cgroup_io, self.now.stamp.mono_ns, &[("path", path.into()), ("dev", dev.into())], &cells);
    }

    /// A disk.
    pub(crate) fn disk(&mut self, name: &str, dev: u64, rates: &[(&str, f64)]) {
        let mut cells: Vec<(&str, Cell)> = vec![
            ("name", name.into()),
            ("kind", "disk".into()),
            ("lower", "".into()),
            ("rotational", 0u64.into()),
            ("size_bytes", (1u64 << 40).into()),
        ];
        let all = [
            "reads",
            "read_bytes",
            "read_ms",
            "writes",
            "write_bytes",
            "write_ms",
            "io_ms",
            "weighted_io_ms",
            "flushes",
        ];
        cells.extend(self.all_grown(&all.map(|name| (name, 0.0))));
        cells.extend(self.all_grown(rates));
        put(&mut self.now.disks, self.now.stamp.mono_ns, &[("dev", dev.into())], &cells);
    }

    /// Pressure on the whole machine, as shares of the time.
    pub(crate) fn pressure(&mut self, resource: &str, some: f64, full: f64) {
        let cells = self.all_grown(&[("some_total_us", some * 1e6), ("full_total_us", full * 1e6)]);
        put(&mut self.now.pressure, self.now.stamp.mono_ns, &[("resource", resource.into())], &cells);
    }

    /// A machine without swap: nothing anonymous can leave its memory.
    pub(crate) fn no_swap(&mut self) {
        let cells = [("swap_total_bytes", 0u64.into()), ("swap_free_bytes", 0u64.into())];
        put(&mut self.now.memory, self.now.stamp.mono_ns, &[], &cells);
    }

    /// A setting of the kernel.
    pub(crate) fn sysctl(&mut self, name: &str, value: &str) {
        put(&mut self.now.sysctls, self.now.stamp.mono_ns, &[("name", name.into())], &[("value", value.into())]);
    }

    /// What time is read from, and could be.
    pub(crate) fn clock_sources(&mut self, current: &str, available: &str) {
        let section = Arc::make_mut(&mut self.now.host);
        (section.state, section.read_at_ns) = (State::Read, self.now.stamp.mono_ns);
        let table = section.data_mut();
        let row = table.only();
        table.clock_source.set(row, current);
        table.clock_sources.set(row, available);
    }

    /// Whether irqbalance runs.
    pub(crate) fn irqbalance(&mut self, state: &str) {
        let section = Arc::make_mut(&mut self.now.irqbalance);
        (section.state, section.read_at_ns) = (State::Read, self.now.stamp.mono_ns);
        let table = section.data_mut();
        let row = table.only();
        table.state.set(row, state);
    }

    /// An interface with an interrupt for each queue on a CPU of its own list: so many packets a second in all.
    pub(crate) fn nic(&mut self, nic: &Nic<'_>) {
        let clock = self.clock();
        let (index, first) = (nic.index, nic.index * 1000);
        let irqs: Vec<u32> = (0..nic.cpus.len() as u32).map(|queue| first + queue).collect();
        let list = IdSet::from_ids(irqs.iter().copied()).to_string();
        let mut cells: Vec<(&str, Cell)> = vec![
            ("ifindex", index.into()),
            ("kind", "physical".into()),
            ("carrier", 1u64.into()),
            ("speed_mbps", nic.speed.into()),
            ("combined", (nic.cpus.len() as u64).into()),
            ("combined_max", nic.most.into()),
            ("msi_irqs", list.as_str().into()),
            ("node", nic.node.map_or(Cell::None, Cell::from)),
        ];
        cells.extend(self.all_grown(&[
            ("rx_packets", nic.packets),
            ("rx_bytes", nic.bytes),
            ("tx_packets", nic.packets / 10.0),
            ("tx_bytes", nic.bytes / 10.0),
        ]));
        put(&mut self.now.nics, clock, &[("name", nic.name.into())], &cells);
        for (queue, (irq, cpu)) in irqs.iter().zip(nic.cpus).enumerate() {
            let each = self.grown(nic.packets / irqs.len() as f64);
            for direction in ["rx", "tx"] {
                let keys =
                    [("nic", nic.name.into()), ("direction", direction.into()), ("queue", (queue as u64).into())];
                let mut row: Vec<(&str, Cell)> = vec![("ifindex", index.into()), ("packets", each.clone())];
                if direction == "rx" {
                    row.push(("rps_cpus", "".into()));
                }
                put(&mut self.now.nic_queues, clock, &keys, &row);
            }
            // Interrupts are few where a queue polls.
            let count = BEGIN + self.second * 30;
            let row = [
                ("name", format!("{}-TxRx-{queue}", nic.name).into()),
                ("chip", "PCI-MSI".into()),
                ("total", count.into()),
                ("per_cpu", vec![(*cpu, count)].into()),
                ("effective_affinity", cpu.to_string().into()),
                ("affinity", cpu.to_string().into()),
            ];
            put(&mut self.now.irqs, clock, &[("irq", (*irq).into())], &row);
        }
    }

    /// What a CPU takes from its backlog.
    pub(crate) fn softnet(&mut self, cpu: u32, rates: &[(&str, f64)]) {
        let mut cells = self.all_grown(&[("processed", 0.0), ("dropped", 0.0), ("time_squeeze", 0.0)]);
        cells.extend(self.all_grown(rates));
        put(&mut self.now.softnet, self.now.stamp.mono_ns, &[("cpu", cpu.into())], &cells);
    }
}

/// An interface to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nic<'a> {
    pub(crate) name: &'a str,
    /// Its index; its interrupts are counted from a thousand times that.
    pub(crate) index: u32,
    /// Mbit/s.
    pub(crate) speed: u64,
    /// Combined channels that it could have.
    pub(crate) most: u64,
    /// The CPU of each channel.
    pub(crate) cpus: &'a [u32],
    pub(crate) node: Option<u32>,
    pub(crate) packets: f64,
    pub(crate) bytes: f64,
}

impl Nic<'_> {
    /// One that carries little.
    pub(crate) const QUIET: Self =
        Self { name: "net7", index: 7, speed: 10_000, most: 4, cpus: &[], node: None, packets: 900.0, bytes: 90_000.0 };
}
