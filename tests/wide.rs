//! A machine wider than any: right numbers, every screen at three sizes.

use crate::common::synthetic::Machine;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::process::Command;
use topotop_collectors::{Options, Root, Sampler};
use topotop_model::Window;
use topotop_model::derive::Deriver;
use topotop_model::history::History;
use topotop_model::judge::{Judgement, Settings, Timeline};
use topotop_widgets::{Charset, Cx, Theme, themes};

const WIDE: Machine = Machine::WIDE;

#[test]
fn a_wide_machine_is_read_right_and_fits_every_screen() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    WIDE.write(dir.path(), 0);
    json(dir.path());
    let mut sampler = Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default());
    sampler.demand(topotop_collectors::Demand { complete: true, ..Default::default() });
    let mut window = Window::default();
    window.push(sampler.sample());
    WIDE.write(dir.path(), 1);
    std::thread::sleep(std::time::Duration::from_millis(20));
    window.push(sampler.sample());
    let frame = Deriver::default().frame(&window);
    let mut history = History::default();
    history.push(&frame);
    let (_, text) = themes::ALL.first().expect("a theme");
    let theme = Theme::parse(text).expect("a valid theme");
    let (judgement, timeline, settings) = (Judgement::default(), Timeline::default(), Settings::default());
    let cx = Cx {
        frame: &frame,
        history: &history,
        judgement: &judgement,
        timeline: &timeline,
        marks: &[],
        settings: &settings,
        surroundings: &topotop_model::fix::Surroundings::default(),
        theme: &theme,
        charset: Charset::Unicode,
        zone: topotop::units::zone(),
        selected: None,
        filter: "",
    };
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        for mut panel in topotop_widgets::all() {
            let area = Rect::new(0, 0, width, height);
            let mut buffer = Buffer::empty(area);
            panel.arrange(&cx, area);
            panel.draw(&cx, area, &mut buffer);
            let filled = buffer.content.iter().filter(|cell| !cell.symbol().trim().is_empty()).count();
            assert!(filled > 100, "{} at {width}x{height} shows {filled} characters", panel.id());
        }
    }
}

fn json(root: &std::path::Path) {
    let output = Command::new(env!("CARGO_BIN_EXE_topotop"))
        .args(["snapshot", "--format", "json", "--root"])
        .arg(root)
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["topology"]["cpus_online"], "0-1023");
    assert_eq!(json["topology"]["cores"], 512);
    assert_eq!(json["topology"]["packages"], 8);
    assert_eq!(json["topology"]["nodes"].as_array().map(Vec::len), Some(16));
    let list = |name: &str| json[name].as_array().cloned().unwrap_or_default();
    assert_eq!(list("cpus").len(), 1024);
    assert_eq!(list("irqs").len(), 2000);
    assert_eq!(list("processes").len(), 5000);
    assert_eq!(list("softnet").len(), 1024);
    // The root, the slice and its scopes.
    assert_eq!(list("cgroups").len(), 2002);
    let expected: u64 = (0..WIDE.irqs).map(|irq| WIDE.irq_count(irq, irq % WIDE.cpus, 0)).sum();
    let total: u64 = list("irqs").iter().filter_map(|irq| irq["total"].as_u64()).sum();
    assert_eq!(total, expected);
    let eth0 = list("nics").into_iter().find(|nic| nic["name"] == "eth0").expect("eth0");
    let queues = eth0["queues"].as_array().cloned().unwrap_or_default();
    let irqs: std::collections::BTreeSet<u64> = queues.iter().filter_map(|queue| queue["irq"].as_u64()).collect();
    assert_eq!(irqs, (0..64).collect());
    for queue in &queues {
        assert_eq!(queue["cpus"].as_str(), Some(queue["irq"].to_string().as_str()), "one effective CPU each: {queue}");
    }
    assert!(json["cpus"][0].get("busy").is_none(), "one sample has no rates");
}
