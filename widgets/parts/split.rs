//! Where a CPU's time went, as parts of a bar and as numbers in the same colours.

use super::bar::Part;
use super::panel::Sign;
use super::{Pen, names, number};
use crate::Role;
use topotop_model::frame::CpuShares;
use topotop_model::locale::Text;
use topotop_model::locale::screen::shared as text;

/// The signs of the kinds of time. Heights, not shades: a shade has the contrast of the part of the cell that it covers.
pub const SIGNS: [Sign; 5] = [
    Sign { role: Role::User, glyph: "▇", ascii: "U", label: text::USER },
    Sign { role: Role::System, glyph: "▆", ascii: "S", label: text::SYSTEM },
    Sign { role: Role::Softirq, glyph: "▄", ascii: "I", label: text::INTERRUPTS },
    Sign { role: Role::Iowait, glyph: "▂", ascii: "w", label: text::IOWAIT },
    Sign { role: Role::Steal, glyph: "▚", ascii: "t", label: text::STEAL },
];

/// The shares in the order of [`SIGNS`]; interrupts hard and soft together.
pub fn values(shares: &CpuShares) -> [f64; 5] {
    [shares.user, shares.system, shares.softirq + shares.irq, shares.iowait, shares.steal]
}

/// The parts of a bar.
pub fn parts(shares: &CpuShares) -> [Part; 5] {
    let values = values(shares);
    std::array::from_fn(|at| {
        let (sign, share) = (SIGNS.get(at), values.get(at));
        let sign = sign.copied().unwrap_or(Sign { role: Role::Text, glyph: "█", ascii: "#", label: Text::EMPTY });
        Part::new(share.copied().unwrap_or(0.0), sign.role, sign.glyph, sign.ascii)
    })
}

/// The kind of time that a CPU spends most on, and how busy or held up it is altogether.
pub fn dominant(shares: &CpuShares) -> (Sign, f64) {
    let values = values(shares);
    let all = values.iter().sum::<f64>().min(1.0);
    let most = SIGNS.iter().zip(values).max_by(|a, b| a.1.total_cmp(&b.1));
    (most.map_or(Sign { role: Role::Text, glyph: "", ascii: "", label: Text::EMPTY }, |(sign, _)| *sign), all)
}

/// The shares in words, as far as the row goes.
pub fn numbers(pen: &mut Pen<'_>, shares: &CpuShares) {
    for (sign, value) in SIGNS.iter().zip(values(shares)) {
        if pen.left() < names::width(&sign.label) + 5 {
            return;
        }
        let role = if value >= 0.005 { sign.role } else { Role::Absent };
        pen.text(role, &sign.label).number(
            if value >= 0.005 { Role::Text } else { Role::Absent },
            5,
            &number::percent(value),
        );
        pen.skip(2);
    }
}
