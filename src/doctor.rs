//! `topotop doctor`: what this machine lets topotop read, what it does not, and which rules that costs.

use crate::check::watch;
use crate::output::Output;
use crate::source::live::Plan;
use crate::theme;
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;
use topotop_collectors::{Root, rights};
use topotop_model::Window;
use topotop_model::derive::Deriver;
use topotop_model::frame::Frame;
use topotop_model::locale::Text;
use topotop_model::locale::{check, doctor as text, in_english, join, pair};
use topotop_model::rules::ALL;
use topotop_model::text::{columns, padded, printable};
use topotop_widgets::Charset;
use topotop_widgets::parts::severity::wrapped;

/// What `doctor` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct DoctorArgs {
    /// Wait up to TIME for data that is slow to read.
    #[arg(long = "for", value_name = "TIME", value_parser = crate::units::duration, default_value = "3s")]
    pub watch: Duration,
    /// text or json.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    pub format: String,
}

/// Whether there is a facility.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// There, with what is to be said of it.
    Available(String),
    /// Not there.
    Missing,
    /// This machine has no use for it.
    Unneeded,
}

/// A part of the kernel or of the system that topotop reads.
struct Facility {
    name: Text,
    state: fn(&Frame) -> State,
    /// What would provide it.
    needs: Text,
    /// What is not known without it.
    costs: Text,
    /// Sources of rules that come from it, as their pages name them.
    sources: &'static [&'static str],
}

fn known(there: bool) -> State {
    if there { State::Available(String::new()) } else { State::Missing }
}

fn unread(frame: &Frame, path: &str) -> bool {
    frame.gaps.iter().any(|gap| gap.path.starts_with(path))
}

const FACILITIES: &[Facility] = &[
    Facility {
        name: text::CGROUPS,
        state: |frame| {
            let mut mounts: Vec<String> =
                frame.cgroup_mounts.iter().map(|mount| format!("v{}", mount.version)).collect();
            mounts.sort_unstable();
            mounts.dedup();
            if mounts.is_empty() { State::Missing } else { State::Available(mounts.join(", ")) }
        },
        needs: text::CGROUPS_NEEDS,
        costs: text::CGROUPS_COSTS,
        sources: &["memory.", "cpu.", "cpuset.", "io."],
    },
    Facility {
        name: text::PSI,
        state: |frame| known(!frame.pressure.is_empty()),
        needs: text::PSI_NEEDS,
        costs: text::PSI_COSTS,
        sources: &["/proc/pressure"],
    },
    Facility {
        name: text::GROUP_PSI,
        state: |frame| match frame.cgroups.as_slice() {
            [] => State::Unneeded,
            // The root's is the machine's.
            groups => known(groups.iter().any(|group| &*group.path != "/" && group.pressure.memory.is_some())),
        },
        needs: text::GROUP_PSI_NEEDS,
        costs: text::GROUP_PSI_COSTS,
        sources: &["memory.pressure", "io.pressure", "cpu.pressure"],
    },
    Facility {
        name: text::SCHEDSTAT,
        state: |frame| known(frame.processes.iter().any(|process| process.has_schedstat)),
        needs: text::SCHEDSTAT_NEEDS,
        costs: text::SCHEDSTAT_COSTS,
        sources: &["schedstat"],
    },
    Facility {
        name: text::DELAYS,
        state: |frame| {
            let setting = frame.sysctls.iter().find(|(name, _)| &**name == "kernel.task_delayacct");
            known(setting.is_some_and(|(_, value)| &**value == "1"))
        },
        needs: text::DELAYS_NEEDS,
        costs: text::DELAYS_COSTS,
        sources: &[],
    },
    Facility {
        name: text::PROCESS_IO,
        state: |frame| {
            let (mut read, mut all) = (0, 0);
            for process in frame.processes.iter().filter(|process| !process.kernel) {
                all += 1;
                read += usize::from(process.has_io);
            }
            // Some processes are closed to everybody; without the right it is all of other users.
            if read * 2 > all {
                State::Available(text::ReadOf { read: &read, all: &all }.to_string())
            } else {
                State::Missing
            }
        },
        needs: text::PTRACE_NEEDS,
        costs: text::PROCESS_IO_COSTS,
        sources: &["/proc/PID/io"],
    },
    Facility {
        name: text::PROCESS_MEMORY,
        state: |frame| match frame.topology.nodes.len() {
            0 | 1 => State::Unneeded,
            _ => known(!unread(frame, "proc/*/numa_maps")),
        },
        needs: text::PTRACE_NEEDS,
        costs: text::PROCESS_MEMORY_COSTS,
        sources: &["numa_maps"],
    },
    Facility {
        name: text::ETHTOOL,
        state: |frame| {
            let cards: Vec<_> = frame.nics.iter().filter(|nic| !nic.driver.is_empty()).collect();
            if cards.is_empty() {
                State::Unneeded
            } else {
                known(
                    cards
                        .iter()
                        .any(|nic| !nic.channels.combined.max.is_missing() || !nic.channels.rx.max.is_missing()),
                )
            }
        },
        needs: text::ETHTOOL_NEEDS,
        costs: text::ETHTOOL_COSTS,
        sources: &["ethtool"],
    },
    Facility {
        name: text::INTERRUPTS,
        state: |frame| known(!frame.irqs.is_empty()),
        needs: text::INTERRUPTS_NEEDS,
        costs: text::INTERRUPTS_COSTS,
        sources: &["proc/interrupts"],
    },
    Facility {
        name: text::IRQ_TARGETS,
        state: |frame| {
            let device = |irq: &&topotop_model::frame::Irq| irq.affinity.is_some();
            let mut irqs = frame.irqs.iter().filter(device).peekable();
            // Without any the line before says why.
            if irqs.peek().is_none() {
                State::Unneeded
            } else {
                known(irqs.any(|irq| irq.effective_affinity.is_some()))
            }
        },
        needs: text::IRQ_TARGETS_NEEDS,
        costs: text::IRQ_TARGETS_COSTS,
        sources: &["effective_affinity_list"],
    },
    Facility {
        name: text::IRQ_DEBUG,
        state: |frame| known(!unread(frame, "sys/kernel/debug/irq")),
        needs: text::IRQ_DEBUG_NEEDS,
        costs: text::IRQ_DEBUG_COSTS,
        sources: &[],
    },
    Facility {
        name: text::ACCELERATORS,
        state: |frame| match frame.accelerators.as_slice() {
            [] => State::Unneeded,
            all => known(all.iter().any(|row| row.utilisation.is_some())),
        },
        needs: text::ACCELERATORS_NEEDS,
        costs: text::ACCELERATORS_COSTS,
        sources: &[],
    },
];

/// Looks, writes and gives the exit status: 0, whatever is missing.
pub(crate) fn run(
    args: &DoctorArgs,
    charset: crate::config::CharsetChoice,
    root: Root,
    plan: &Plan,
) -> Result<u8, String> {
    let live = root.is_live();
    let rights = live.then(|| rights::holder(&root));
    let mut window = Window::default();
    watch::sample(root, plan, args.watch, |snapshot| {
        window.push(snapshot);
        true
    })?;
    let frame = Deriver::new(plan.settings.clone()).frame(&window);
    let width = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col).filter(|width| *width > 0);
    let report = Report { frame: &frame, rights, width };
    let mut out = Output::stdout();
    let written = match &*args.format {
        "text" => report.text(theme::charset(charset), &mut out),
        _ => in_english(|| report.json(&mut out)),
    };
    out.finish(written).map(|()| 0)
}

/// What was found.
struct Report<'a> {
    frame: &'a Frame,
    /// Capabilities and user of this process; none for a captured machine.
    rights: Option<(Vec<String>, u32)>,
    /// Columns of the terminal; none where lines are not to be broken.
    width: Option<u16>,
}

/// Columns before what is said of a facility, of a gap.
const FACILITY: usize = 35;
const GAP: usize = 52;

#[derive(Serialize)]
struct Row {
    name: &'static str,
    state: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<&'static str>,
}

/// The rules that read a facility.
fn rules(facility: &Facility) -> Vec<&'static str> {
    let reads = |source: &&str| facility.sources.iter().any(|part| source.contains(part));
    ALL.iter().filter(|rule| rule.sources.iter().any(reads)).map(|rule| rule.id.as_str()).collect()
}

impl Report<'_> {
    /// A line; on a terminal too narrow for it, its text goes on below where it begins.
    fn line(&self, start: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
        let indent = columns(start);
        let Some(width) = self.width.filter(|width| indent + 1 + columns(text) > usize::from(*width)) else {
            // A full-width colon has its own space.
            let gap = if start.ends_with('：') { "" } else { " " };
            return writeln!(out, "{}", format!("{start}{gap}{text}").trim_end());
        };
        // Beside a long path there may be no room.
        let indent = if indent + 20 > usize::from(width) { 8 } else { indent + 1 };
        let lines = wrapped(text, width.saturating_sub(indent as u16));
        let mut lines = lines.iter().map(String::as_str);
        let first = if indent > columns(start) { lines.next().unwrap_or_default() } else { "" };
        writeln!(out, "{}", format!("{start} {first}").trim_end())?;
        lines.try_for_each(|line| writeln!(out, "{:indent$}{line}", ""))
    }

    fn text(&self, charset: Charset, out: &mut impl Write) -> io::Result<()> {
        let host = &self.frame.host;
        let machine = [&host.kernel, &host.arch, &host.os, &host.virtualization];
        let machine: Vec<_> = machine.iter().filter(|part| !part.is_empty()).map(|part| printable(part)).collect();
        self.line(pair(printable(&host.name), "").trim_end(), &machine.join(&join::ITEMS), out)?;
        if let Some((held, uid)) = &self.rights {
            let held = if held.is_empty() { "–".to_owned() } else { held.join(" ") };
            writeln!(out, "{}", text::Rights { uid, held: &held })?;
        }
        writeln!(out)?;
        let (good, bad) = if charset == Charset::Unicode { ("✓", "✗") } else { ("+", "x") };
        for facility in FACILITIES {
            let start = |sign: &str| padded(&format!("{sign} {}", &*facility.name), FACILITY - 1);
            match (facility.state)(self.frame) {
                State::Available(detail) => self.line(&start(good), &detail, out)?,
                State::Unneeded => self.line(&start("-"), &text::UNNEEDED, out)?,
                State::Missing => {
                    self.line(&start(bad), &text::Needs { needs: &facility.needs }.to_string(), out)?;
                    let (costs, rules) = (facility.costs, rules(facility));
                    let costs = match rules.as_slice() {
                        [] => costs.to_string(),
                        rules => text::Costs { costs: &costs, rules: &rules.join(" ") }.to_string(),
                    };
                    self.line(&padded("", FACILITY - 1), &costs, out)?;
                }
            }
        }
        self.gaps(out)
    }

    /// Every file that was not read, with its reason.
    fn gaps(&self, out: &mut impl Write) -> io::Result<()> {
        if self.frame.gaps.is_empty() {
            return writeln!(out, "\n{}", text::NO_GAPS);
        }
        writeln!(out, "\n{}", text::GAPS)?;
        for gap in &self.frame.gaps {
            let (path, count) = (gap.shown_path(), gap.count);
            let path = printable(&path);
            let reason = gap.reason.text();
            let line = match &*gap.shown_needs() {
                "" => reason.to_string(),
                needs => check::Unchecked { reason: &reason, needs: &printable(needs) }.to_string(),
            };
            let start = padded(&format!("  {count:>5}  {path}"), GAP - 1);
            self.line(&start, &line, out)?;
        }
        Ok(())
    }

    fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let rows: Vec<Row> = FACILITIES.iter().map(|facility| self.row(facility)).collect();
        let rights = self.rights.as_ref().map(|(held, uid)| serde_json::json!({ "uid": uid, "capabilities": held }));
        let document = serde_json::json!({
            "host": self.frame.host, "rights": rights, "facilities": rows, "gaps": self.frame.gaps,
        });
        serde_json::to_writer(&mut *out, &document)?;
        out.write_all(b"\n")
    }

    fn row(&self, facility: &Facility) -> Row {
        let (state, detail) = match (facility.state)(self.frame) {
            State::Available(detail) => ("available", detail),
            State::Missing => ("missing", String::new()),
            State::Unneeded => ("unneeded", String::new()),
        };
        let missing = state == "missing";
        Row {
            name: facility.name.english(),
            state,
            detail,
            needs: missing.then(|| facility.needs.english()),
            costs: missing.then(|| facility.costs.english()),
            rules: if missing { rules(facility) } else { Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FACILITIES, Report, State, rules};
    use topotop_model::testkit;
    use topotop_model::text::columns;
    use topotop_widgets::Charset;

    #[test]
    fn what_rules_read_is_found_by_their_sources() {
        let of = |name: &str| rules(FACILITIES.iter().find(|facility| facility.name.english() == name).unwrap());
        assert!(!of("host pressure (PSI)").is_empty());
        assert!(of("run-queue wait (schedstat)").contains(&"CPU-03"), "{:?}", of("run-queue wait (schedstat)"));
        assert!(of("ethtool").contains(&"NIC-01"));
    }

    #[test]
    fn an_empty_frame_lacks_everything_that_is_needed() {
        let frame = topotop_model::frame::Frame::default();
        let states: Vec<State> = FACILITIES.iter().map(|facility| (facility.state)(&frame)).collect();
        assert!(states.iter().filter(|state| **state == State::Missing).count() >= 4);
        let server = testkit::server();
        assert!(FACILITIES.iter().any(|facility| matches!((facility.state)(&server), State::Available(_))));
    }

    #[test]
    fn lines_fit_the_terminal_and_lose_nothing() {
        let mut frame = testkit::blind();
        let mut gap = frame.gaps[0].clone();
        gap.path = "sys/fs/cgroup/blkio/*/a.path.that.is.longer.than.its.column".into();
        frame.gaps.push(gap);
        let text = |width| {
            let mut out = Vec::new();
            Report { frame: &frame, rights: None, width }.text(Charset::Unicode, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let whole = text(None);
        assert!(whole.lines().any(|line| columns(line) > 80), "{whole}");
        assert_eq!(text(Some(300)), whole);
        for width in [80, 60] {
            let narrow = text(Some(width));
            assert_eq!(words(&narrow), words(&whole));
            // A path is not broken.
            let long = narrow.lines().find(|line| columns(line) > usize::from(width) && !line.contains("a.path"));
            assert_eq!(long, None, "{narrow}");
        }
    }
}
