//! Writes first inputs for the fuzz targets into `corpus/`: `cargo +nightly run --bin seeds`.

use std::path::Path;
use std::sync::Arc;
use topotop_model::codec::encode;
use topotop_model::{ColumnMut, IdSet, Reason, Section, Snapshot, Stamp, Table, VisitMut};

/// Puts values of every kind into one of `every` tables.
struct Fill {
    state: u64,
    every: u64,
}

impl Fill {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.state >> 40
    }
}

impl VisitMut for Fill {
    fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
        if self.next() % self.every != 0 {
            return;
        }
        let section = Arc::make_mut(section);
        section.begin(self.next());
        section.gaps.add("proc/*/io", Reason::PermissionDenied, "root");
        let table = section.data_mut();
        let rows: Vec<usize> = table.rows().iter().collect();
        let born = if rows.is_empty() { 9 } else { self.next() % 3 };
        let mut rows: Vec<usize> = rows.into_iter().filter(|_| self.next() % 3 == 0).collect();
        if let Some(slot) = rows.pop().filter(|_| self.next() % 3 == 0) {
            table.remove(slot);
        }
        rows.extend((0..born).map(|_| table.insert()));
        for (index, slot) in (0..T::COLUMNS.len()).flat_map(|index| rows.iter().map(move |&slot| (index, slot))) {
            let value = self.next();
            match (table.column_mut(index), value % 5) {
                (Some(mut column), 0) => column.clear(slot),
                (Some(ColumnMut::Num(column)), 1) => column.set_none(slot),
                (Some(ColumnMut::Num(column)), 2) => column.set(slot, value << 12),
                (Some(ColumnMut::Num(column)), _) => column.set(slot, value),
                (Some(ColumnMut::Text(column)), _) => column.set(slot, &format!("text {}", value % 7)),
                (Some(ColumnMut::Sets(column)), _) => column.set(slot, IdSet::from_ids([value as u32 % 9, 12, 13])),
                (Some(ColumnMut::Sparse(column)), _) => column.set(slot, [(0, value), (value as u32 % 5 + 1, 7)]),
                _ => {}
            }
        }
    }
}

/// A record with its content as it is: what is packed cannot be changed byte by byte.
fn plain(record: &[u8]) -> std::io::Result<Vec<u8>> {
    let [version, 2, rest @ ..] = record else { return Ok(record.to_vec()) };
    let length = rest.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let content = zstd::bulk::decompress(rest.get(length..).unwrap_or_default(), 1 << 20)?;
    let mut out = vec![*version, 1];
    let mut length = content.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(content);
    Ok(out)
}

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in ["record", "recording", "parts"] {
        std::fs::create_dir_all(root.join(target))?;
    }
    for seed in 0..12u64 {
        let (mut records, mut pieces) = (Vec::new(), vec![2 | seed as u8 & 1]);
        let (mut base, mut fill) = (None::<Snapshot>, Fill { state: seed, every: seed + 1 });
        for seq in 1..5u64 {
            let mut next = base.clone().unwrap_or_default();
            next.visit_mut(&mut fill);
            next.stamp = Stamp { seq, wall_ns: 7, mono_ns: seq * 1_000_000_000, boot_ns: 9 };
            let bytes = plain(&encode(base.as_ref(), &next).map_err(std::io::Error::other)?.bytes)?;
            let length = (bytes.len() as u16).to_le_bytes();
            records.extend(length);
            records.extend(&bytes);
            let mut body = if base.is_none() { vec![0, 0, 0, 0, 0] } else { Vec::new() };
            body.extend(&bytes);
            pieces.extend([if base.is_none() { 8 } else { 9 }, 0]);
            pieces.extend((body.len() as u16).to_le_bytes());
            pieces.extend(&body);
            base = Some(next);
        }
        let event = br#"{"kind":"mark","text":"here"}"#;
        pieces.extend([10, 0, event.len() as u8, 0]);
        pieces.extend(event);
        std::fs::write(root.join(format!("record/seed{seed}")), &records)?;
        std::fs::write(root.join(format!("recording/seed{seed}")), &pieces)?;
        std::fs::write(root.join(format!("parts/seed{seed}")), [&[seed as u8][..], event].concat())?;
        let finding = br#"{"kind":"finding_came","rule":"IO-01","subject":"disk:sda","severity":"warning","title":"sda",
            "since_ns":5,"confidence":0.9,"evidence":[{"name":"await","value":12.5,"unit":"ms","source":"/proc"}]}"#;
        let state = br#"[9,[["IRQ-01","cpu:3",{"met":7,"clear":0,"severities":[0,7,0],"since":[7,-1,5,9],"open":true,
            "opened":5,"last_met":6,"now":6},{"would_hurt":false,"stays":false,"severity":1,"confidence":0.7,
            "evidence":[["busy","fraction","/proc/stat",{"Number":0.5}],["table","","/sys",{"Table":[[["max","cores"]],
            [["n",[{"Number":[9218868437227405312]},"None"]]]]}]],"covers":[["NIC-01","nic:eth0"]]}]],
            [["MEM-03","cgroup:/a",[[1000000000,1.5],[0,2.0],[-5,3]]]]]"#;
        std::fs::write(root.join(format!("parts/state{seed}")), [&[5][..], state].concat())?;
        std::fs::write(root.join(format!("parts/finding{seed}")), [&[2][..], finding].concat())?;
    }
    Ok(())
}
