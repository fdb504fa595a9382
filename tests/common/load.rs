//! Something going on for a machine's counters: CPUs, packets, control groups, processes.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Ends with it: what runs, what was made.
pub(crate) struct Load {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    children: Vec<Child>,
    groups: Vec<PathBuf>,
    step: usize,
}

impl Load {
    /// A thread that computes now and then and one that sends packets to itself.
    pub(crate) fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let run = |work: fn(&AtomicBool)| {
            let over = Arc::clone(&over);
            std::thread::spawn(move || work(&over))
        };
        let threads = vec![run(compute), run(send)];
        Self { over, threads, children: Vec::new(), groups: Vec::new(), step: 0 }
    }

    /// What changes from one sample to the next: processes are born and die, control groups come and go.
    pub(crate) fn step(&mut self) {
        self.step += 1;
        if self.step.is_multiple_of(3) {
            let _ = Command::new("true").status();
        }
        if self.step.is_multiple_of(5) {
            self.children.extend(Command::new("sleep").arg("60").spawn());
        }
        if self.children.len() > 4 {
            end(&mut self.children.remove(0));
        }
        if self.step.is_multiple_of(8) {
            self.group();
        }
        if self.groups.len() > 2 {
            // One with a process in it goes when that has ended.
            self.groups.retain(|group| std::fs::remove_dir(group).is_err());
        }
    }

    /// A control group with a process in it, where one may be made.
    fn group(&mut self) {
        let name = format!("topotop-test-{}-{}", std::process::id(), self.step);
        let root = Path::new("/sys/fs/cgroup");
        let places = [root.to_owned(), root.join("memory"), root.join("cpu"), root.join("unified")];
        for place in places.into_iter().filter(|place| place.join("cgroup.procs").exists()) {
            let group = place.join(&name);
            if std::fs::create_dir(&group).is_ok() {
                if let Some(child) = self.children.last() {
                    let _ = std::fs::write(group.join("cgroup.procs"), child.id().to_string());
                }
                self.groups.push(group);
            }
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.children.iter_mut().for_each(end);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        for _ in 0..100 {
            self.groups.retain(|group| std::fs::remove_dir(group).is_err());
            if self.groups.is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("control groups could not be removed: {:?}", self.groups);
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn compute(over: &AtomicBool) {
    let mut value = 1u64;
    while !over.load(Ordering::Relaxed) {
        for _ in 0..200_000 {
            value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Soft interrupts without a device: packets over the loopback interface.
fn send(over: &AtomicBool) {
    let Ok(socket) = UdpSocket::bind("127.0.0.1:0") else { return };
    let Ok(to) = socket.local_addr() else { return };
    let _ = socket.set_read_timeout(Some(Duration::from_millis(10)));
    let mut buffer = [0; 512];
    while !over.load(Ordering::Relaxed) {
        for _ in 0..16 {
            let _ = socket.send_to(&buffer, to);
        }
        for _ in 0..16 {
            let _ = socket.recv_from(&mut buffer);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A CPU that is taken away and given back, also when a test fails.
pub(crate) struct Unplugged(PathBuf);

impl Unplugged {
    /// Takes a CPU away, where the machine allows it.
    pub(crate) fn cpu(id: u32) -> Option<Self> {
        let path = PathBuf::from(format!("/sys/devices/system/cpu/cpu{id}/online"));
        std::fs::write(&path, "0").ok().map(|()| Self(path))
    }
}

impl Drop for Unplugged {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.0, "1");
    }
}
