use super::{Chart, LEAST, Times, Unit, grid, kinds, layout};
use crate::testing::{harmless, row, style_of, text, with_cx};
use crate::{Charset, Cx, Mark, Role, Theme, demo};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::history::{Headline, History};

fn charts<'a>() -> Vec<Chart<'a>> {
    vec![
        Chart::new("disk busy", Unit::Share, |headline| headline.disk),
        Chart::new("received", Unit::ByteRate, |headline| Some(headline.nic_bytes?.0)),
        Chart::new("memory", Unit::Bytes, |headline| Some(headline.memory? * 4e9)).limited(Some(4e9)),
        Chart::new("unknown", Unit::Millis, |_| None),
        Chart::new("core", Unit::Share, |headline| Some(headline.hottest_cpu?.1)),
    ]
}

fn picture(width: u16, height: u16, charset: Charset) -> String {
    let history = demo::history();
    with_cx(&demo::server(), charset, |cx| {
        let cx = Cx { history: &history, ..*cx };
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        grid(&cx, charts(), |_| Vec::new(), area, &mut buf);
        harmless(&buf, charset);
        text(&buf)
    })
}

#[test]
fn scales_and_times_at_several_sizes() {
    for (width, height) in [(34, 5), (76, 12), (120, 8), (200, 30)] {
        insta::assert_snapshot!(format!("chart_{width}x{height}"), picture(width, height, Charset::Unicode));
    }
    insta::assert_snapshot!("chart_ascii_76x12", picture(76, 12, Charset::Ascii));
}

#[test]
fn kinds_of_time_stand_one_above_the_other() {
    let history = demo::history();
    let drawn = |charset| {
        with_cx(&demo::server(), charset, |cx| {
            let cx = Cx { history: &history, ..*cx };
            let area = Rect::new(0, 0, 60, 10);
            let mut buf = Buffer::empty(area);
            kinds(
                &cx,
                |headline| headline.points.modes(17, 63).map(|modes| modes.map(|part| f64::from(part) / 255.0)),
                area,
                &mut buf,
            );
            harmless(&buf, charset);
            text(&buf)
        })
    };
    insta::assert_snapshot!("chart_kinds", drawn(Charset::Unicode));
    insta::assert_snapshot!("chart_kinds_ascii", drawn(Charset::Ascii));
}

#[test]
fn a_moment_stands_below_its_sample() {
    let history = demo::history();
    with_cx(&demo::server(), Charset::Unicode, |cx| {
        let cx = Cx { history: &history, ..*cx };
        for width in [20, 100, 240, 300] {
            let times = Times::new(&cx, width);
            let (first, last) = times.span();
            let columns: Vec<u16> = history.iter().filter_map(|headline| times.column(headline.mono_ns)).collect();
            assert!(columns.is_sorted() && columns.last() == Some(&(width - 1)), "{width}: {columns:?}");
            assert_eq!((times.column(last), times.column(last + 1)), (Some(width - 1), None));
            assert_eq!(times.column(first), columns.first().copied());
            // Times of day do not touch each other.
            let labels = times.labels();
            assert!(labels.windows(2).all(|pair| pair[0].0 + pair[0].1.width() + 2 < pair[1].0), "{width}: {labels:?}");
            assert!(width < 60 || labels.len() > 1, "{width}: {labels:?}");
        }
    });
}

/// A history of these values, a second apart.
fn history_of(values: impl IntoIterator<Item = Option<f64>>) -> History {
    let headline = |(at, value)| {
        let at: u64 = at;
        let wall_ns = (1_777_890_600 + at as i64) * 1_000_000_000;
        Arc::new(Headline { mono_ns: at * 1_000_000_000, wall_ns, disk: value, ..Headline::default() })
    };
    (0..).zip(values).map(headline).collect()
}

/// A chart of these values in so many columns and rows.
fn drawn_of(chart: Chart<'_>, history: &History, size: (u16, u16)) -> Buffer {
    let area = Rect::new(0, 0, size.0, size.1);
    let mut buf = Buffer::empty(area);
    with_cx(&demo::tiny(), Charset::Unicode, |cx| {
        grid(&Cx { history, ..*cx }, vec![chart], |_| Vec::new(), area, &mut buf);
    });
    buf
}

#[test]
fn a_metric_below_one_has_a_shape() {
    let history = history_of((0..30).map(|at| Some(if at < 15 { 0.002 } else { 0.019 })));
    let chart = Chart::new("p99 seconds", Unit::Count, |headline| headline.disk);
    let picture = text(&drawn_of(chart, &history, (50, 9)));
    assert!(picture.contains("p99 seconds 0.019") && picture.contains(" 0.020┤"), "{picture}");
    let tall = picture.lines().filter(|line| line.contains('█')).count();
    assert!(tall >= 5, "{picture}");
}

#[test]
fn what_exceeds_its_limit_a_little_is_hot_and_as_high_as_the_chart() {
    let history = history_of((0..30).map(|_| Some(104.0)));
    let chart = Chart::new("cores", Unit::Cores, |headline| headline.disk).limited(Some(100.0));
    let buf = drawn_of(chart, &history, (50, 9));
    let (newest, hot) = (&buf[(49, 1)], Theme::default_theme().style(Role::heat(1.0)).fg);
    assert_eq!((newest.symbol(), newest.style().fg), ("█", hot), "{}", text(&buf));
    assert_eq!(style_of(&buf, "104").and_then(|style| style.fg), hot, "{}", text(&buf));
}

/// The line below a chart of ten minutes in 100 columns, with what was done at these seconds.
fn axis_with(seconds: &[u64]) -> String {
    let history = history_of((0..600).map(|_| Some(0.5)));
    let mark = |second: &u64| Mark { mono_ns: second * 1_000_000_000, well: true, ..Mark::default() };
    let marks: Vec<Mark> = seconds.iter().map(mark).collect();
    let area = Rect::new(0, 0, 107, 5);
    let mut buf = Buffer::empty(area);
    with_cx(&demo::tiny(), Charset::Unicode, |cx| {
        let cx = Cx { history: &history, marks: &marks, ..*cx };
        let chart = Chart::new("disk", Unit::Share, |headline| headline.disk);
        grid(&cx, vec![chart], |_| Vec::new(), area, &mut buf);
    });
    row(&buf, 4)
}

#[test]
fn signs_leave_times_of_day_readable() {
    let times = |axis: &str| -> Vec<String> {
        let words = axis.split(['─', '┴', '✓', '└', ' ']);
        words.filter(|word| word.contains(':')).map(str::to_owned).collect()
    };
    let all = times(&axis_with(&[]));
    assert!(all.len() > 3 && all.iter().all(|time| time.len() == 5), "{all:?}");
    for second in 0..600 {
        let axis = axis_with(&[second]);
        assert!(times(&axis).len() + 1 >= all.len(), "{axis}");
        assert!(times(&axis).iter().all(|time| all.contains(time)), "{axis}");
        assert_eq!(axis.matches('✓').count(), 1, "{axis}");
    }
    // However much happened, the first and the last time stay.
    let crowded = axis_with(&(0..600).collect::<Vec<u64>>());
    assert_eq!(times(&crowded), [all[0].clone(), all[all.len() - 1].clone()], "{crowded}");
}

proptest! {
    #[test]
    fn charts_stay_inside_their_area(width in 0u16..260, height in 0u16..70, ascii: bool) {
        picture(width, height, if ascii { Charset::Ascii } else { Charset::Unicode });
    }

    #[test]
    fn no_chart_is_too_low(count in 0usize..12, width in 0u16..400, height in 0u16..120) {
        let (columns, rows) = layout(count, Rect::new(0, 0, width, height));
        prop_assert!(rows == 0 || height / rows >= LEAST);
        prop_assert!(usize::from(columns) * usize::from(rows) < count + usize::from(columns.max(1)));
    }

    #[test]
    fn any_values_can_be_drawn(values in prop::collection::vec(prop::option::of(any::<f64>()), 0..80), width in 0u16..90) {
        let history = history_of(values);
        with_cx(&demo::tiny(), Charset::Unicode, |cx| {
            let cx = Cx { history: &history, ..*cx };
            let area = Rect::new(0, 0, width, 9);
            let mut buf = Buffer::empty(area);
            for unit in [Unit::Share, Unit::Rate, Unit::Count, Unit::Bytes, Unit::Millis, Unit::Cores] {
                let chart = Chart::new("any", unit, |headline| headline.disk).limited(Some(3.0));
                grid(&cx, vec![chart], |_| Vec::new(), area, &mut buf);
            }
        });
    }
}

#[test]
fn what_may_be_full_is_not_hot_at_its_limit() {
    let history = history_of((0..30).map(|_| Some(99.0)));
    let chart = Chart::new("memory", Unit::Bytes, |headline| headline.disk).limited(Some(100.0)).calm(true);
    let buf = drawn_of(chart, &history, (50, 9));
    assert_eq!(buf[(49, 1)].style().fg, Theme::default_theme().style(Role::Focus).fg, "{}", text(&buf));
}
