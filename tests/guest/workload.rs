//! Programs that cause problems in a guest, and calls of the kernel as fixes make them: `tool NAME …`.

use crate::terminal::{self, Task};
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, thread};
use topotop::fix::machine::{Kernel, Machine as _};
use topotop_collectors::Root;
use topotop_model::fix::Target;

const MIB: usize = 1 << 20;

/// Runs a program, most of them until they are killed; none where there is none of this name.
pub(crate) fn run(words: &[String]) -> Option<ExitCode> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<usize>().expect("a number");
    match words[..] {
        ["burn", threads] => side_by_side(number(threads), || spin(None)),
        ["hold", mib] => walk(number(mib) * MIB),
        ["spread", mib, threads] => side_by_side(number(threads), || walk(number(mib) * MIB / number(threads))),
        ["serve", mib, ref ports @ ..] => {
            let listen = |port: &&str| TcpListener::bind(("127.0.0.1", number(port) as u16)).expect("a free port");
            let _listeners: Vec<TcpListener> = ports.iter().map(listen).collect();
            walk(number(mib) * MIB);
        }
        ["fill", mib] => fill(number(mib) * MIB),
        ["sync", path] => sync(path),
        ["keys", rule, fix, set, login] => terminal::apply_and_undo(&Task { rule, fix, set, login }),
        ["set", kind, nic, value] => set(kind, nic, value),
        ["place", irq, cpus] => place(number(irq) as u32, cpus),
        ["append", path, mib_per_second, most] => append(path, number(mib_per_second), number(most), true),
        ["rewrite", path, mib_per_second, most] => append(path, number(mib_per_second), number(most), false),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

fn side_by_side(threads: usize, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(&work);
        }
    });
}

fn spin(until: Option<Instant>) {
    while until.is_none_or(|until| Instant::now() < until) {
        for number in 0..100_000u64 {
            black_box(number);
        }
    }
}

/// Touches every page of its memory, over and over.
fn walk(bytes: usize) {
    let mut memory = vec![1u8; bytes];
    loop {
        for page in memory.iter_mut().step_by(4096) {
            *page = page.wrapping_add(1);
        }
        black_box(&mut memory);
        spin(Some(Instant::now() + Duration::from_millis(20)));
    }
}

/// Allocates memory and frees it, over and over.
fn fill(bytes: usize) {
    loop {
        black_box(&mut vec![1u8; bytes]);
    }
}

/// Small writes, each synchronous.
fn sync(path: &str) {
    let mut file = File::create(path).expect("a file");
    for round in 0u64.. {
        file.seek(SeekFrom::Start(round % 256 * 4096)).expect("a place");
        file.write_all(&[round as u8; 4096]).expect("room");
        file.sync_data().expect("a disk");
    }
}

/// Grows a file steadily up to a size, then starts again: with an empty file, or over its content.
fn append(path: &str, mib_per_second: usize, most: usize, from_empty: bool) {
    let chunk = vec![7u8; mib_per_second * MIB / 20];
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(path).expect("a file");
    let mut written = 0;
    let mut due = Instant::now();
    loop {
        if written + chunk.len() > most * MIB {
            written = 0;
            if from_empty {
                file.set_len(0).expect("a file");
            }
            file.seek(SeekFrom::Start(0)).expect("a place");
        }
        file.write_all(&chunk).expect("room");
        written += chunk.len();
        due += Duration::from_millis(50);
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

/// Sets the affinity of an interrupt as a fix does, and prints the outcome.
fn place(irq: u32, cpus: &str) {
    let actions = std::fs::read_to_string(format!("/sys/kernel/irq/{irq}/actions")).expect("an interrupt");
    let root = Arc::new(Root::live().expect("this machine"));
    let target = Target::Interrupt { irq, actions: actions.trim().to_owned() };
    match Kernel::new(root).write(&target, "", cpus, &mut |_| ControlFlow::Continue(())) {
        Ok(()) => println!("done"),
        Err(trouble) => println!("{:?}: {trouble}", trouble.errno),
    }
}

/// Sets something of an interface as a fix does and restores it; prints the value each time.
fn set(kind: &str, nic: &str, value: &str) {
    let nic = nic.to_owned();
    let target = match kind {
        "rings" => Target::Rings { nic },
        "table" => Target::RssTable { nic },
        _ => Target::Channels { nic },
    };
    let mut machine = Kernel::new(Arc::new(Root::live().expect("this machine")));
    let value_now = |machine: &Kernel| machine.value(&target, "").expect("readable").expect("a value");
    let old = value_now(&machine);
    println!("{kind}: was {old}");
    for (what, value) in [("set", value), ("restored", &old)] {
        let done = machine.write(&target, "", value, &mut |_| ControlFlow::Continue(()));
        println!(
            "{kind}: {what}: {}{}",
            value_now(&machine),
            done.err().map(|trouble| format!(" ({trouble})")).unwrap_or_default()
        );
    }
}

/// This program itself: guests get a copy.
pub(crate) fn own() -> std::path::PathBuf {
    env::current_exe().expect("an own path")
}
