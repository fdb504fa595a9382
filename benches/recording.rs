//! What a recording of this machine costs: bytes of a sample, CPU time of watching with recording against watching
//! without (sampling, deriving, judging: what `check` does), and how long seeking takes. With nothing else going on, with 2,000 sleeping processes and with 200 busy ones.
//!
//! `cargo bench --bench recording -- 60` takes 60 samples of each (65 by default), one a second.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints its figures and fails as tests do")]

use rustix::time::{ClockId, clock_gettime};
use std::any::Any;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use topotop_collectors::{Options, Root, Sampler};
use topotop_model::codec::{self, Record};
use topotop_model::derive::Deriver;
use topotop_model::judge::Judge;
use topotop_model::recording::HEAD_BYTES;
use topotop_model::ring::KEY_EVERY;
use topotop_model::{Section, Snapshot, Table, Visit, VisitMut, Window};

/// What this program does instead when it is started as a load: to wake every 10 ms and spin for one.
const BUSY: &str = "--be-busy";
/// Samples until everything was read once.
const WARM: usize = 9;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.iter().any(|word| word == BUSY) {
        be_busy();
    }
    let count = words.iter().find_map(|word| word.parse().ok()).unwrap_or(KEY_EVERY + 5).max(WARM + 6);
    println!("{count} samples a load, 1 s apart; bytes with the {HEAD_BYTES} of each record's head\n");
    println!(
        "{:<18} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8} {:>9} {:>9}",
        "load", "difference", "key frame", "a sample", "sample", "encode", "derive", "judge", "recorded/", "seek over"
    );
    println!(
        "{:<18} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8} {:>9} {:>9}",
        "", "B", "B", "B", "ms CPU", "ms CPU", "ms CPU", "ms CPU", "not", "119, ms"
    );
    let mut details = Vec::new();
    details.push(measure("nothing else", count, Vec::new()));
    let sleeper = || Command::new("sleep").arg("3600").spawn().expect("a sleeping process");
    details.push(measure("2,000 sleeping", count, (0..2000).map(|_| sleeper()).collect()));
    let me = std::env::current_exe().expect("this program");
    let busy = || Command::new(&me).arg(BUSY).stdin(Stdio::piped()).spawn().expect("a busy process");
    details.push(measure("200 busy", count, (0..200).map(|_| busy()).collect()));
    println!("\nbytes of a difference by section, each as if nothing else had changed");
    for (load, sections) in details {
        let sections: Vec<String> = sections.iter().map(|(name, bytes)| format!("{name} {bytes:.0}")).collect();
        println!("{load:<18} {}", sections.join(", "));
    }
}

/// Ends with the program that started it, by end of input.
fn be_busy() -> ! {
    std::thread::spawn(|| {
        let _ = std::io::read_to_string(std::io::stdin());
        std::process::exit(0);
    });
    loop {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(1) {}
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Processes that are ended with this.
struct Load(Vec<Child>);

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

type Sections = Vec<(&'static str, f64)>;

fn measure(name: &'static str, count: usize, load: Vec<Child>) -> (&'static str, Sections) {
    let load = Load(load);
    std::thread::sleep(Duration::from_secs(2));
    let mut sampler = Sampler::new(Root::live().expect("this machine"), &Options::default());
    let (mut sampled, mut encoded, mut derived, mut judged) = (0.0, 0.0, 0.0, 0.0);
    let (mut window, mut deriver, mut judge) = (Window::default(), Deriver::default(), Judge::default());
    let mut samples: Vec<Snapshot> = Vec::new();
    let mut bytes = 0;
    for at in 0..count {
        let start = Instant::now();
        let before = cpu_ms();
        let sample = sampler.sample();
        let between = cpu_ms();
        let record = codec::encode(samples.last(), &sample).expect("encoded");
        let after = cpu_ms();
        window.push(sample.clone());
        let frame = deriver.frame(&window);
        let framed = cpu_ms();
        drop(judge.step(&frame));
        deriver.recycle(frame);
        if at >= WARM {
            sampled += between - before;
            encoded += after - between;
            derived += framed - after;
            judged += cpu_ms() - framed;
            bytes += record.bytes.len();
        }
        samples.push(sample);
        std::thread::sleep(Duration::from_secs(1).saturating_sub(start.elapsed()));
    }
    drop(load);
    let steady = (count - WARM) as f64;
    let key = codec::encode(None, samples.last().expect("samples")).expect("encoded");
    let key_ms = key_frame_ms(&samples);
    let head = HEAD_BYTES as f64;
    let (difference, key_bytes) = (bytes as f64 / steady + head, key.bytes.len() as f64 + head);
    let shares = |difference: f64, key: f64| (difference * (KEY_EVERY - 1) as f64 + key) / KEY_EVERY as f64;
    let encode = shares(encoded / steady, key_ms);
    println!(
        "{name:<18} {difference:>10.0} {key_bytes:>10.0} {:>10.0} {:>10.2} {encode:>8.3} {:>8.3} {:>8.3} {:>9.3} {:>9.1}",
        shares(difference, key_bytes),
        sampled / steady,
        derived / steady,
        judged / steady,
        // What samples also derives and judges, recorded or not.
        1.0 + encode * steady / (sampled + derived + judged),
        seek(&samples),
    );
    (name, by_section(&samples))
}

/// CPU time of a key frame in ms.
fn key_frame_ms(samples: &[Snapshot]) -> f64 {
    let start = cpu_ms();
    for sample in samples.iter().rev().take(5) {
        drop(codec::encode(None, sample));
    }
    (cpu_ms() - start) / 5.0
}

/// CPU time of this thread in ms.
fn cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// CPU time of decoding the longest way that a seek may have: two key frames and what follows them.
fn seek(samples: &[Snapshot]) -> f64 {
    let mut ring: Vec<Record> = Vec::new();
    let mut last: Option<&Snapshot> = None;
    // There and back again, where there are fewer samples than that.
    for (at, sample) in samples.iter().chain(samples.iter().rev().skip(1)).cycle().take(KEY_EVERY * 2).enumerate() {
        ring.push(codec::encode(last.filter(|_| at % KEY_EVERY != 0), sample).expect("encoded"));
        last = Some(sample);
    }
    let start = cpu_ms();
    codec::window(&ring).expect("decoded");
    cpu_ms() - start
}

/// Puts every section but one back to what it was.
struct Only<'a> {
    name: &'static str,
    base: &'a Snapshot,
}

impl VisitMut for Only<'_> {
    fn section<T: Table>(&mut self, name: &'static str, section: &mut Arc<Section<T>>) {
        let mut found = Found::<T>(None);
        self.base.visit(&mut found);
        if let Some(base) = found.0.filter(|_| name != self.name) {
            *section = base;
        }
    }
}

struct Found<T>(Option<Arc<Section<T>>>);

impl<T: Table> Visit for Found<T> {
    fn section<U: Table>(&mut self, _: &'static str, section: &Arc<Section<U>>) {
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(section) as _;
        self.0 = self.0.take().or_else(|| any.downcast().ok());
    }
}

struct Names(Vec<&'static str>);

impl Visit for Names {
    fn section<T: Table>(&mut self, name: &'static str, _: &Arc<Section<T>>) {
        self.0.push(name);
    }
}

/// The sections that take most.
fn by_section(samples: &[Snapshot]) -> Sections {
    let mut names = Names(Vec::new());
    Snapshot::default().visit(&mut names);
    let size =
        |base: &Snapshot, next: &Snapshot| codec::encode(Some(base), next).map_or(0, |record| record.bytes.len());
    let pairs: Vec<&[Snapshot]> = samples.windows(2).skip(WARM).step_by(4).collect();
    let mut sections: Sections = Vec::new();
    for name in names.0 {
        let mut sum = 0;
        for pair in &pairs {
            let [base, next] = pair else { continue };
            let (mut one, mut none) = (next.clone(), next.clone());
            one.visit_mut(&mut Only { name, base });
            none.visit_mut(&mut Only { name: "", base });
            sum += size(base, &one).saturating_sub(size(base, &none));
        }
        sections.push((name, sum as f64 / pairs.len() as f64));
    }
    sections.sort_by(|a, b| b.1.total_cmp(&a.1));
    sections.truncate(9);
    sections
}
