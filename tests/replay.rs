//! A recording on the screen: what is shown is what was recorded, wherever one goes.

use crate::common::recorded::{Samples, about, record};
use std::path::PathBuf;
use std::time::Duration;

/// Writes a recording to look at: `TOPOTOP_TEST_RECORDING=FILE cargo test --test all -- --ignored writes_a_recording`.
#[test]
#[ignore = "takes minutes; writes a recording for whoever wants to look at one"]
fn writes_a_recording() {
    let path = std::env::var_os("TOPOTOP_TEST_RECORDING").map(PathBuf::from).expect("TOPOTOP_TEST_RECORDING=FILE");
    let busy = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let workers: Vec<_> = (0..4)
        .map(|worker| {
            let busy = std::sync::Arc::clone(&busy);
            std::thread::spawn(move || {
                let mut sum = 0u64;
                loop {
                    match busy.load(std::sync::atomic::Ordering::Relaxed) {
                        u32::MAX => return sum,
                        wanted if wanted > worker => sum = sum.wrapping_mul(31).wrapping_add(1),
                        _ => std::thread::sleep(Duration::from_millis(5)),
                    }
                }
            })
        })
        .collect();
    let samples = Samples::take(900, Duration::from_millis(50), |at| {
        busy.store([0, 1, 2, 1, 0, 4, 1, 0, 0][at as usize / 100], std::sync::atomic::Ordering::Relaxed);
    });
    busy.store(u32::MAX, std::sync::atomic::Ordering::Relaxed);
    for worker in workers {
        worker.join().expect("a worker");
    }
    record(&path, &samples, about("db-17", "a"), |at| (600..640).contains(&at));
}
