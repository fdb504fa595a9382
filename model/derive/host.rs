use super::rates::Pair;
use crate::counter::per_second;
use crate::frame::{Applied, CollectorCost, Cost, Frame, Host, Pressure, PressureStall};
use crate::{Known, Table, Window, tables};

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    frame.host = host(window);
    frame.sysctls = sysctls(window);
    frame.pressure = pressure(window);
    frame.cost = cost(window);
    frame.applied = applied(window);
    frame.applied_gaps = window.now.applied.gaps.iter().cloned().collect();
}

fn host(window: &Window) -> Host {
    let mut host = Host::default();
    let section = &window.now.host;
    if let Some((table, row)) = section.value().and_then(|table| Some((table, table.first()?))) {
        // Read seldom, and the machine has run on since.
        let since = window.now.stamp.mono_ns.saturating_sub(section.read_at_ns) / 1_000_000_000;
        host = Host {
            name: table.name.or_empty(row),
            kernel: table.kernel.or_empty(row),
            arch: table.arch.or_empty(row),
            os: table.os.or_empty(row),
            cpu_model: table.cpu_model.or_empty(row),
            virtualization: table
                .virtualization
                .get(row)
                .filter(|name| ***name != *"none")
                .cloned()
                .unwrap_or_default(),
            boot_id: table.boot_id.or_empty(row),
            clock_source: table.clock_source.or_empty(row),
            clock_sources: table.clock_sources.or_empty(row),
            uptime_seconds: table.uptime_seconds.get(row).map(|seconds| seconds.saturating_add(since)),
            users: table.users.get(row),
            in_container: table.in_container.get(row).map(|flag| flag == 1),
            ..Host::default()
        };
    }
    load(window, &mut host);
    host
}

fn load(window: &Window, host: &mut Host) {
    let Some(pair) = Pair::new(&window.now.load, &window.before.load) else { return };
    let Some(row) = pair.now.first() else { return };
    let average = |column: &crate::Num| Some(column.value(row)? as f64 / 100.0);
    host.load = (|| Some([average(&pair.now.load1)?, average(&pair.now.load5)?, average(&pair.now.load15)?]))();
    host.running = pair.now.running.get(row);
    host.blocked = pair.now.blocked.get(row);
    host.tasks = pair.now.tasks.get(row);
    host.context_switches_per_second = pair.rate(row, |load| &load.context_switches);
    host.forks_per_second = pair.rate(row, |load| &load.forks);
    host.interrupts_per_second = pair.rate(row, |load| &load.interrupts);
}

fn sysctls(window: &Window) -> Vec<(std::sync::Arc<str>, std::sync::Arc<str>)> {
    let Some(table) = window.now.sysctls.value() else { return Vec::new() };
    let rows = table.rows().iter();
    let mut list: Vec<_> =
        rows.filter_map(|row| Some((table.name.get(row)?.clone(), table.value.get(row)?.clone()))).collect();
    list.sort_unstable();
    list
}

/// Pressure in the order in which people ask for it.
fn pressure(window: &Window) -> Vec<Pressure> {
    const ORDER: [&str; 4] = ["cpu", "memory", "io", "irq"];
    let Some(pair) = Pair::new(&window.now.pressure, &window.before.pressure) else { return Vec::new() };
    let mut list: Vec<Pressure> = pair
        .now
        .rows()
        .iter()
        .filter_map(|row| {
            let resource = pair.now.resource.get(row)?.clone();
            Some(Pressure { resource, stall: stall(&pair, row) })
        })
        .collect();
    list.sort_by_key(|row| ORDER.iter().position(|name| *name == &*row.resource).unwrap_or(ORDER.len()));
    list
}

fn stall(pair: &Pair<'_, tables::pressure::Pressure>, row: usize) -> PressureStall {
    // Totals are in µs; a little more than the interval comes of reading at slightly different moments.
    let ratio =
        |column: fn(&tables::pressure::Pressure) -> &crate::Num| Some((pair.rate(row, column)? / 1e6).clamp(0.0, 1.0));
    let percent = |value: Known<u64>| value.map(|hundredths| hundredths as f64 / 100.0);
    PressureStall {
        some_ratio: ratio(|table| &table.some_total_us),
        full_ratio: ratio(|table| &table.full_total_us),
        some_avg10_percent: percent(pair.now.some_avg10.get(row)),
        full_avg10_percent: percent(pair.now.full_avg10.get(row)),
    }
}

fn cost(window: &Window) -> Cost {
    let mut cost = Cost::default();
    let Some(pair) = Pair::new(&window.now.cost, &window.before.cost) else { return cost };
    let table = pair.now;
    for row in table.rows().iter() {
        let Some(name) = table.collector.get(row) else { continue };
        let took_ms = table.took_ns.value(row).map(|ns| ns as f64 / 1e6);
        if &**name == "total" {
            let gained = pair.gain(row, |table| &table.cpu_ns);
            cost.sample_ms = took_ms;
            cost.cpu_ms = gained.map(|ns| ns as f64 / 1e6);
            cost.cpu_cores = gained.and_then(|ns| per_second(ns, pair.elapsed_ns())).map(|rate| rate / 1e9);
            cost.rss_bytes = table.rss_bytes.value(row);
            cost.backend = table.backend.or_empty(row);
        } else if let Some(took_ms) = took_ms {
            cost.collectors.push(CollectorCost { name: name.clone(), took_ms });
        }
    }
    cost.collectors.sort_by(|a, b| a.name.cmp(&b.name));
    let memory = window.now.process_memory.value();
    let asked = memory.into_iter().flat_map(|table| table.rows().iter().filter_map(|row| table.cost_ns.value(row)));
    cost.memory_answer_ms = asked.max().map(|ns| ns as f64 / 1e6);
    cost
}

fn applied(window: &Window) -> Vec<Applied> {
    let Some(table) = window.now.applied.value() else { return Vec::new() };
    let now_ns = window.now.stamp.boot_ns;
    let mut list: Vec<Applied> = table
        .rows()
        .iter()
        .filter_map(|row| {
            let at_ns = table.applied_boot_ns.value(row).filter(|&at| now_ns >= at);
            Some(Applied {
                fix: table.fix.get(row)?.clone(),
                rule: table.rule.or_empty(row),
                subject: table.subject.or_empty(row),
                target: table.target.get(row)?.clone(),
                wanted: table.wanted.get(row)?.clone(),
                value: table.value.get(row).cloned(),
                age_seconds: at_ns.map(|at| (now_ns - at) as f64 / 1e9),
            })
        })
        .collect();
    list.sort_unstable_by(|a, b| (&a.fix, &a.target).cmp(&(&b.fix, &b.target)));
    list
}

#[cfg(test)]
mod tests {
    use super::derive;
    use crate::frame::Frame;
    use crate::{Draft, Snapshot, Stamp, Table, Window};

    fn sample(draft: &mut Draft, last: &Snapshot, seconds: u64, stalled_us: u64, cpu_ns: u64) -> Snapshot {
        let at = seconds * 1_000_000_000;
        draft.pressure.begin(at);
        let table = draft.pressure.data_mut();
        let row = table.only();
        table.resource.set(row, "io");
        table.some_total_us.set(row, stalled_us);
        table.some_avg10.set(row, 1234);
        table.full_avg10.set_none(row);
        draft.cost.begin(at);
        let table = draft.cost.data_mut();
        let row = table.only();
        table.collector.set(row, "total");
        table.took_ns.set(row, 2_000_000);
        table.cpu_ns.set(row, cpu_ns);
        draft.publish(Stamp { mono_ns: at, ..Stamp::default() }, last)
    }

    #[test]
    fn what_fixes_wrote_goes_through_a_recording_into_the_frame() {
        let mut draft = Draft::default();
        draft.applied.begin(1);
        let table = draft.applied.data_mut();
        for (target, value) in [("vm.zone_reclaim_mode", Some("1")), ("/proc/irq/141/smp_affinity_list", None)] {
            let slot = table.insert();
            table.fix.set(slot, "NUMA-07/host/F-SYSCTL");
            table.rule.set(slot, "NUMA-07");
            table.subject.set(slot, "host");
            table.target.set(slot, target);
            table.wanted.set(slot, "0");
            if let Some(value) = value {
                table.value.set(slot, value);
            }
            table.applied_boot_ns.set(slot, 5_000_000_000);
        }
        let stamp = Stamp { mono_ns: 1, boot_ns: 65_000_000_000, ..Stamp::default() };
        let snapshot = draft.publish(stamp, &Snapshot::default());
        let record = crate::codec::encode(None, &snapshot).expect("encoded");
        let decoded = crate::codec::decode(None, &record).expect("decoded");
        let (mut window, mut frame) = (Window::default(), Frame::default());
        window.push(decoded);
        derive(&window, &mut frame);
        let rows: Vec<_> =
            frame.applied.iter().map(|row| (&*row.target, row.value.as_deref(), row.age_seconds)).collect();
        let (irq, mode) = ("/proc/irq/141/smp_affinity_list", "vm.zone_reclaim_mode");
        assert_eq!(rows, [(irq, None, Some(60.0)), (mode, Some("1"), Some(60.0))]);
        assert_eq!((&*frame.applied[0].subject, &*frame.applied[0].wanted), ("host", "0"));
    }

    #[test]
    fn ratios_are_of_the_interval() {
        let (mut draft, mut window, mut frame) = (Draft::default(), Window::default(), Frame::default());
        draft.host.begin(1_000_000_000);
        let row = draft.host.data_mut().only();
        draft.host.data_mut().uptime_seconds.set(row, 100);
        let first = sample(&mut draft, &Snapshot::default(), 1, 1_000_000, 5_000_000);
        window.push(first.clone());
        derive(&window, &mut frame);
        assert_eq!(frame.pressure("io").and_then(|row| row.stall.some_ratio), None, "one sample has no ratio");
        assert_eq!(frame.cost.cpu_cores, None);
        let second = sample(&mut draft, &first, 3, 1_500_000, 25_000_000);
        window.push(second);
        derive(&window, &mut frame);
        let io = frame.pressure("io").expect("a row").stall;
        assert_eq!(io.some_ratio, Some(0.25));
        assert_eq!(io.full_ratio, None);
        assert_eq!(io.some_avg10_percent.value(), Some(12.34));
        assert_eq!(frame.cost.cpu_cores, Some(0.01));
        assert_eq!(frame.cost.cpu_ms, Some(20.0));
        assert_eq!(frame.cost.sample_ms, Some(2.0));
        assert_eq!(frame.host.uptime_seconds.value(), Some(102));
    }
}
