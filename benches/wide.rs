//! One sample and one frame of a machine wider than any: 1,024 CPUs, 16 nodes, 2,000 interrupts, 2,000 control groups,
//! 5,000 processes. Prints times and, since times mean little on a shared machine, their ratios within this run: a
//! sample against reading the same files and doing nothing with them, a frame against a sample.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints its figures and fails as tests do")]

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use topotop_collectors::{Options, Root, Sampler, root::Use};
use topotop_model::derive::Deriver;
use topotop_model::fix::Surroundings;
use topotop_model::history::History;
use topotop_model::judge::{Judgement, Settings, Timeline};
use topotop_model::{Snapshot, Window, codec};
use topotop_widgets::{Charset, Cx, Theme, themes};

#[path = "../tests/common/synthetic.rs"]
#[expect(dead_code, reason = "the tests use other machines too")]
mod synthetic;

const ROUNDS: u32 = 7;

/// The fastest of some rounds: what the work costs when nothing else is in the way.
fn best(mut work: impl FnMut()) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn main() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    synthetic::Machine::WIDE.write(dir.path(), 0);
    let root = Root::at(dir.path()).expect("the synthetic root").traced();
    let mut sampler = Sampler::new(root, &Options::default());
    sampler.sample();
    let files: Vec<PathBuf> =
        sampler.root().trace().into_iter().filter(|(_, used)| *used == Use::File).map(|(path, _)| path).collect();
    let floor = best(|| {
        for path in &files {
            let _ = std::fs::read(dir.path().join(path));
        }
    });
    let steady = Root::at(dir.path()).expect("the synthetic root");
    let mut sampler = Sampler::new(steady, &Options::default());
    let first = {
        let start = Instant::now();
        sampler.sample();
        start.elapsed()
    };
    synthetic::Machine::WIDE.write(dir.path(), 1);
    let mut last = Snapshot::default();
    let sample = best(|| last = sampler.sample());
    let next = sampler.sample();
    let mut window = Window::default();
    window.push(last.clone());
    window.push(next.clone());
    let mut deriver = Deriver::default();
    let derive = best(|| drop(deriver.frame(&window)));
    let encode = best(|| drop(codec::encode(Some(&last), &next)));
    let frame = deriver.frame(&window);
    let mut history = History::default();
    history.push(&frame);
    let row = |name: &str, time: Duration, base: Duration| {
        println!(
            "{name:<28} {:>9.2} ms   {:>7.3} x",
            time.as_secs_f64() * 1e3,
            time.as_secs_f64() / base.as_secs_f64()
        );
    };
    println!("{} files; ratios are to reading them all once\n", files.len());
    row("reading the files", floor, floor);
    row("first sample", first, floor);
    row("further sample", sample, floor);
    row("derive", derive, floor);
    row("encode", encode, floor);
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        for (id, time) in draw(&frame, &history, Rect::new(0, 0, width, height)) {
            row(&format!("draw {id} {width}x{height}"), time, floor);
        }
    }
}

fn draw(frame: &topotop_model::frame::Frame, history: &History, area: Rect) -> Vec<(&'static str, Duration)> {
    let (_, text) = themes::ALL.first().expect("a theme");
    let theme = Theme::parse(text).expect("a valid theme");
    let (judgement, timeline, settings) = (Judgement::default(), Timeline::default(), Settings::default());
    let cx = Cx {
        frame,
        history,
        judgement: &judgement,
        timeline: &timeline,
        marks: &[],
        settings: &settings,
        surroundings: &Surroundings::default(),
        theme: &theme,
        charset: Charset::Unicode,
        zone: topotop::units::zone(),
        selected: None,
        filter: "",
    };
    let measure = |mut panel: Box<dyn topotop_widgets::Panel>| {
        let mut buffer = Buffer::empty(area);
        let time = best(|| {
            buffer.reset();
            panel.arrange(&cx, area);
            panel.draw(&cx, area, &mut buffer);
        });
        (panel.id(), time)
    };
    topotop_widgets::all().into_iter().map(measure).collect()
}
