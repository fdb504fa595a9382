//! One frame of a machine: one sample of a captured tree, two an interval apart of a running one.

use std::time::Duration;
use topotop_collectors::{Demand, Options, Root, Sampler};
use topotop_model::Window;
use topotop_model::derive::{Deriver, Settings};
use topotop_model::frame::Frame;

/// Reads the machine below `root` completely, and this one again after `interval`.
pub fn take(root: Root, interval: Duration, options: &Options, settings: Settings) -> Frame {
    let live = root.is_live();
    let mut sampler = Sampler::new(root, options);
    sampler.demand(Demand { complete: true, ..Demand::default() });
    let mut window = Window::default();
    window.push(sampler.sample());
    if live {
        std::thread::sleep(interval);
        window.push(sampler.sample());
    }
    Deriver::new(settings).frame(&window)
}
