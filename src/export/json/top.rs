//! Keeps the biggest processes and control groups, in their order.

use topotop_model::frame::{Cgroup, Frame, Process};

/// The processes with the most CPU time, then memory.
pub(super) fn processes(frame: &Frame, top: Option<usize>) -> Vec<&Process> {
    biggest(&frame.processes, top, |process| {
        (process.cpu_cores.unwrap_or(0.0), process.rss_bytes.value().unwrap_or(0) as f64)
    })
}

/// The control groups with the most memory, then CPU time.
pub(super) fn cgroups(frame: &Frame, top: Option<usize>) -> Vec<&Cgroup> {
    biggest(&frame.cgroups, top, |group| {
        let memory = group.memory.as_ref().and_then(|memory| memory.current_bytes.value());
        (memory.unwrap_or(0) as f64, group.cpu.usage_cores.unwrap_or(0.0))
    })
}

fn biggest<T>(rows: &[T], top: Option<usize>, size: impl Fn(&T) -> (f64, f64)) -> Vec<&T> {
    let Some(top) = top.filter(|&top| top < rows.len()) else { return rows.iter().collect() };
    let mut order: Vec<(usize, (f64, f64))> = rows.iter().map(size).enumerate().collect();
    order.sort_by(|(_, a), (_, b)| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    order.truncate(top);
    order.sort_by_key(|&(index, _)| index);
    order.into_iter().filter_map(|(index, _)| rows.get(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::biggest;

    #[test]
    fn keeps_the_biggest_in_their_order() {
        let rows = [3.0, 9.0, 1.0, 9.0, 4.0];
        let kept = |top| biggest(&rows, top, |&row| (row, 0.0)).into_iter().copied().collect::<Vec<_>>();
        assert_eq!(kept(Some(3)), [9.0, 9.0, 4.0]);
        assert_eq!(kept(Some(9)), rows);
        assert_eq!(kept(None), rows);
        assert!(kept(Some(0)).is_empty());
    }
}
