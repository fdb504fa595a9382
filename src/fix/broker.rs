//! Fixes are written by a process of their own, started before this one gives its rights away. It is asked by a fix's id and
//! parameters, plans from its own look at the machine, and takes no command, path or old value from this side: what draws,
//! parses and records never holds the right to write.

mod planner;
mod serve;
mod wire;

pub(crate) use serve::serve;

use super::order::{Reply, Wanted};
use super::session::MachineWriter;
use crate::starter::{OWN, inherited};
use std::io::{BufReader, Write as _};
use std::ops::ControlFlow;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use topotop_model::fix::{Resolved, Surroundings, Verdict};
use topotop_model::journal::Because;
use topotop_model::locale::fix::apply as text;
use wire::{Answer, Request, Resolve};

/// The hidden verb.
pub(crate) const VERB: &str = "__apply-fixes";

/// The process that writes, as this one knows it.
#[derive(Debug)]
pub(crate) struct Broker {
    socket: BufReader<UnixStream>,
}

impl Broker {
    /// Starts it; before this process gives rights away.
    pub(crate) fn spawn() -> Result<Self, String> {
        let wrong = |error: std::io::Error| text::NoBroker { error: &error }.to_string();
        let (own, theirs) = UnixStream::pair().map_err(wrong)?;
        let mut command = Command::new(OWN);
        command.arg0("topotop").args([VERB, &theirs.as_raw_fd().to_string()]).args(std::env::args_os().skip(1));
        // Keys of the terminal are for the screen. Its standard input names the terminal in the journal.
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        inherited(&theirs, || command.spawn()).map_err(wrong)?;
        Ok(Self { socket: BufReader::new(own) })
    }

    fn send(&mut self, request: &Request) -> Result<(), String> {
        let line = wire::line(request)?;
        self.socket.get_mut().write_all(&line).map_err(|_| text::BROKER_ENDED.to_string())
    }

    fn answer(&mut self) -> Result<Answer, String> {
        wire::read(&mut self.socket).ok_or_else(|| text::BROKER_ENDED.to_string())
    }

    fn ask_for(&mut self, request: &Request) -> Result<Answer, String> {
        self.send(request)?;
        self.answer()
    }

    fn done(&mut self, request: &Request) -> Result<(), String> {
        match self.ask_for(request)? {
            Answer::Done(None) => Ok(()),
            Answer::Done(Some(why)) => Err(why),
            _ => Err(text::BROKER_ENDED.to_string()),
        }
    }

    fn applied(&mut self, tell: &mut dyn FnMut(Reply) -> ControlFlow<()>) -> Result<Reply, String> {
        self.send(&Request::Apply)?;
        let mut aborted = false;
        loop {
            let reply = self.answer()?.reply();
            if !matches!(reply, Reply::Far(_) | Reply::Armed(_) | Reply::Wrote(_) | Reply::PutBack(_)) {
                return Ok(reply);
            }
            if tell(reply).is_break() && !aborted {
                aborted = true;
                self.send(&Request::Abort)?;
            }
        }
    }
}

impl MachineWriter for Broker {
    fn look(&mut self) -> Surroundings {
        match self.ask_for(&Request::Look) {
            Ok(Answer::Surroundings(surroundings)) => *surroundings,
            _ => Surroundings::default(),
        }
    }

    fn resolve(&mut self, wanted: &Wanted) -> Reply {
        let request = Resolve { id: wanted.plan.id(), set: wanted.set.clone(), findings: wanted.findings.clone() };
        let plan = wanted.plan.clone();
        let empty = Resolved { plan: plan.clone(), items: Vec::new(), kept: Vec::new(), unread: Vec::new() };
        let (resolved, refused) = match self.ask_for(&Request::Resolve(request)) {
            Ok(Answer::Resolved(planned, refused)) => (planned.onto(plan), refused),
            Ok(Answer::Refused(why)) | Err(why) => (empty, Some(why)),
            Ok(_) => (empty, Some(text::BROKER_ENDED.to_string())),
        };
        Reply::Resolved(Box::new(resolved), refused, wanted.plan.commands.clone())
    }

    fn apply(&mut self, tell: &mut dyn FnMut(Reply) -> ControlFlow<()>) -> Reply {
        self.applied(tell).unwrap_or_else(Reply::Refused)
    }

    fn confirm(&mut self, number: u64) -> Result<(), String> {
        self.done(&Request::Confirm(number))
    }

    fn verdict(&mut self, number: u64, verdict: &Verdict) -> Result<(), String> {
        let (name, why, table) = (verdict.name.to_owned(), verdict.why.clone(), verdict.table.clone());
        self.done(&Request::Verdict { number, name, why, table })
    }

    fn undo(&mut self, number: u64, why: &Because) -> Reply {
        self.ask_for(&Request::Undo(number, why.clone())).map_or_else(Reply::Trouble, Answer::reply)
    }

    fn ask(&mut self, number: u64) -> Option<Reply> {
        match self.ask_for(&Request::Ask(number)) {
            Ok(Answer::Done(_)) | Err(_) => None,
            Ok(answer) => Some(answer.reply()),
        }
    }
}
