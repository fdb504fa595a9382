//! Raw columns as comma-separated values: one row per reading and entity, as they were read.

use std::io::{self, Write};
use topotop_model::text::printable;
use topotop_model::{Column, ColumnDef, Known, Meaning, Num, Section, Table, Unit};

/// Text of a cell known to be none or unlimited; a cell that was not read is empty.
const NONE: &str = "none";

/// The suffix of the unit, unless the name has it already.
fn suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::None | Unit::Count | Unit::Float => "",
        Unit::Bytes => "_bytes",
        Unit::Pages => "_pages",
        Unit::Ticks => "_ticks",
        Unit::Nanoseconds => "_ns",
        Unit::Microseconds => "_us",
        Unit::Milliseconds => "_ms",
        Unit::Seconds => "_seconds",
        Unit::MegabitsPerSecond => "_mbps",
        Unit::Kilohertz => "_khz",
        Unit::Permyriad => "_permyriad",
    }
}

/// A column's name with its unit.
pub(crate) fn name(column: &ColumnDef) -> String {
    let suffix = suffix(column.unit);
    let stem = column.name;
    let short = suffix.trim_start_matches('_');
    if stem == short || stem.split('_').any(|word| word == short) { stem.to_owned() } else { format!("{stem}{suffix}") }
}

/// What a column's numbers count, in one word.
pub(crate) fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::None => "none",
        Unit::Count => "count",
        Unit::Float => "float",
        unit => suffix(unit).trim_start_matches('_'),
    }
}

/// What a column's values are, in a word.
pub(crate) fn meaning(meaning: Meaning) -> &'static str {
    match meaning {
        Meaning::Id => "id",
        Meaning::Counter => "counter",
        Meaning::Counter32 => "counter32",
        Meaning::Gauge => "gauge",
        Meaning::Fact => "fact",
        Meaning::Clock => "clock",
    }
}

/// The line of names.
pub(crate) fn header<T: Table>(out: &mut dyn Write) -> io::Result<()> {
    write!(out, "host,boot,taken_at,read_at_mono_ns,row")?;
    for column in T::COLUMNS {
        write!(out, ",{}", name(column))?;
    }
    writeln!(out)
}

/// The rows of a reading, with the cells of host, boot and time in front; none where nothing was read.
pub(crate) fn rows<T: Table>(section: &Section<T>, beginning: &str, out: &mut dyn Write) -> io::Result<u64> {
    let Some(table) = section.value() else { return Ok(0) };
    let mut count = 0;
    for slot in table.rows().iter() {
        // The serial identifies the row: the kernel reuses PIDs, serials are unique.
        write!(out, "{beginning},{},{}", section.read_at_ns, table.rows().serial(slot))?;
        for index in 0..T::COLUMNS.len() {
            write!(out, ",")?;
            if let Some(column) = table.column(index) {
                match column {
                    Column::Num(numbers) if T::COLUMNS.get(index).is_some_and(|def| def.unit == Unit::Float) => {
                        float(numbers, slot, out)?;
                    }
                    column => cell(column, slot, out)?,
                }
            }
        }
        writeln!(out)?;
        count += 1;
    }
    Ok(count)
}

fn float(numbers: &Num, slot: usize, out: &mut dyn Write) -> io::Result<()> {
    match (numbers.float(slot), numbers.get(slot)) {
        (Some(value), _) => write!(out, "{value}"),
        (None, Known::None) => write!(out, "{NONE}"),
        (None, _) => Ok(()),
    }
}

fn cell(column: Column<'_>, slot: usize, out: &mut dyn Write) -> io::Result<()> {
    match column {
        Column::Num(numbers) => match numbers.get(slot) {
            Known::Missing => Ok(()),
            Known::None => write!(out, "{NONE}"),
            Known::Value(value) => write!(out, "{value}"),
        },
        Column::Text(texts) => texts.get(slot).map_or(Ok(()), |value| text(value, out)),
        Column::Sets(sets) => match sets.get(slot) {
            None => Ok(()),
            Some(set) if set.is_empty() => write!(out, "{NONE}"),
            Some(set) => write!(out, "\"{set}\""),
        },
        Column::Sparse(pairs) => match pairs.get(slot) {
            None => Ok(()),
            // Omitted ids are zero.
            Some([]) => write!(out, "0"),
            Some(pairs) => {
                for (at, (id, value)) in pairs.iter().enumerate() {
                    write!(out, "{}{id}:{value}", if at > 0 { " " } else { "" })?;
                }
                Ok(())
            }
        },
    }
}

/// What a formula begins with; spreadsheets of East Asia take the wide forms as well.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Text without terminal control characters and without a leading formula character of spreadsheets.
pub(crate) fn text(value: &str, out: &mut dyn Write) -> io::Result<()> {
    if value.is_empty() {
        return write!(out, "{NONE}");
    }
    let value = printable(value);
    let guard = if value.starts_with(FORMULA) { "'" } else { "" };
    if guard.is_empty() && !value.contains([',', '"', ' ', ';']) {
        return write!(out, "{value}");
    }
    write!(out, "\"{guard}{}\"", value.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::{FORMULA, header, name, rows, text};
    use proptest::prelude::*;
    use topotop_model::tables::cgroups::Cgroups;
    use topotop_model::tables::cpu::CpuTimes;
    use topotop_model::tables::irqs::Irqs;
    use topotop_model::{IdSet, Section, Table};

    fn written<T: Table>(section: &Section<T>) -> String {
        let mut out = Vec::new();
        header::<T>(&mut out).unwrap();
        rows(section, "db-17,b1,2026-01-02T10:00:00.000Z", &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_have_their_units_once() {
        let of = |names: &[topotop_model::ColumnDef], column: &str| {
            name(names.iter().find(|def| def.name == column).unwrap())
        };
        assert_eq!(of(CpuTimes::COLUMNS, "user"), "user_ticks");
        assert_eq!(of(CpuTimes::COLUMNS, "khz"), "khz");
        assert_eq!(of(Cgroups::COLUMNS, "memory_limit_bytes"), "memory_limit_bytes");
        assert_eq!(of(Cgroups::COLUMNS, "memory_some_us"), "memory_some_us");
        assert_eq!(of(Irqs::COLUMNS, "total"), "total");
    }

    #[test]
    fn gaps_are_empty_and_none_is_none() {
        let mut section = Section::<Irqs>::default();
        section.begin(7);
        let table = section.data_mut();
        let slot = table.insert();
        table.irq.set(slot, 24);
        table.name.set(slot, "eth0, rx");
        table.node.set_none(slot);
        table.per_cpu.set(slot, [(0, 5), (3, 9)]);
        table.affinity.set(slot, IdSet::from_ids([0, 1, 3]));
        let text = written(&section);
        let mut lines = text.lines();
        assert!(
            lines
                .next()
                .unwrap()
                .starts_with("host,boot,taken_at,read_at_mono_ns,row,irq,name,chip,hwirq,total,per_cpu,affinity,")
        );
        let row = "db-17,b1,2026-01-02T10:00:00.000Z,7,1,24,\"eth0, rx\",,,,0:5 3:9,\"0-1,3\",,none,,,";
        assert_eq!((lines.next(), lines.next()), (Some(row), None));
    }

    #[test]
    fn what_was_not_read_has_no_rows() {
        let section = Section::<CpuTimes>::default();
        assert_eq!(written(&section).lines().count(), 1);
    }

    #[test]
    fn no_cell_begins_as_a_formula() {
        for value in ["=1+1", "+1", "-1", "@SUM(1)", "\u{ff1d}1+1", "\u{ff0b}1", "\u{ff0d}1", "\u{ff20}SUM(1)"] {
            let mut out = Vec::new();
            text(value, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("\"'{value}\""));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_one_cell(value: String) {
            let mut out = Vec::new();
            text(&value, &mut out).unwrap();
            let cell = String::from_utf8(out).unwrap();
            prop_assert!(!cell.is_empty() && !cell.contains('\n') && !cell.starts_with(FORMULA));
            let inner = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
            match inner {
                Some(inner) => prop_assert!(!inner.replace("\"\"", "").contains('"')),
                None => prop_assert!(!cell.contains([',', '"'])),
            }
        }
    }
}
