//! Columns of the list of findings.

use super::detail;
use super::list::{Row, get};
use crate::parts::severity;
use crate::parts::table::{Column, Key, Width};
use crate::parts::units;
use crate::{Charset, Role};
use topotop_model::locale::screen::findings as text;

pub(super) static COLUMNS: &[Column<Row>] = &[
    Column::left(
        text::RULE_HEAD,
        0,
        |_| Width::fixed(11),
        |cx, row, pen| {
            let Some(finding) = get(cx, row) else { return };
            let joint = if cx.charset == Charset::Unicode { "└ " } else { "` " };
            pen.skip(row.depth.saturating_sub(1) * 2).text(Role::Border, if row.depth > 0 { joint } else { "" });
            pen.severity(finding.severity).skip(1).text(severity::role(finding.severity), finding.rule.id.as_str());
        },
    )
    .lowest(|cx, row| get(cx, row).map_or(Key::None, |finding| Key::Text(finding.rule.id.as_str()))),
    Column::left(
        text::SEVERITY_HEAD,
        4,
        |_| Width::fixed(8),
        |cx, row, pen| {
            let Some(finding) = get(cx, row) else { return };
            pen.text(severity::role(finding.severity), &severity::label(finding.severity));
        },
    )
    .highest(|cx, row| get(cx, row).map_or(Key::None, |finding| Key::Number(f64::from(finding.severity as u8)))),
    Column::left(
        text::FINDING_HEAD,
        0,
        |_| Width::flex(30, 60, 3),
        |cx, row, pen| {
            let Some(finding) = get(cx, row) else { return };
            pen.text(if row.depth > 0 { Role::Dim } else { Role::Text }, &severity::title(cx, finding));
        },
    ),
    Column::left(
        text::SINCE_HEAD,
        1,
        |_| Width::fixed(9),
        |cx, row, pen| {
            let Some(finding) = get(cx, row) else { return };
            match detail::since(cx, finding) {
                Some(since) => pen.text(Role::Text, since.as_str()),
                None => pen.text(Role::Absent, "?"),
            };
        },
    )
    .highest(|cx, row| get(cx, row).map_or(Key::None, |finding| Key::Number(finding.since.wall_ns as f64))),
    Column::right(
        text::DURATION_HEAD,
        1,
        |_| Width::fixed(8),
        |cx, row, pen| {
            let Some(finding) = get(cx, row) else { return };
            match detail::lasted(cx, finding) {
                Some(seconds) => pen.text(Role::Text, units::lasted(seconds).as_str()),
                None => pen.text(Role::Absent, "?"),
            };
        },
    )
    .highest(|cx, row| get(cx, row).map_or(Key::None, |finding| Key::some(detail::lasted(cx, finding)))),
    Column::right(
        text::CONFIDENCE_HEAD,
        2,
        |_| Width::fixed(10),
        |cx, row, pen| {
            let Some(finding) = get(cx, row) else { return };
            pen.text(Role::Dim, units::percent(finding.confidence).as_str());
        },
    )
    .highest(|cx, row| get(cx, row).map_or(Key::None, |finding| Key::Number(finding.confidence))),
];
