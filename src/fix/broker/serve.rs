//! The broker's side.

use super::super::session::MachineWriter as _;
use super::super::writer::LocalWriter;
use super::planner;
use super::wire::{self, Answer, Request};
use crate::fix::order::{Reply, Wanted};
use crate::source::live;
use crate::starter::side_process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::io::{BufReader, Write as _};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

/// Runs it: the number of a descriptor, then the command line that topotop was started with.
pub(crate) fn serve(
    arguments: impl Iterator<Item = OsString>,
    prepare: impl FnOnce(&mut dyn Iterator<Item = OsString>) -> Option<(LocalWriter, live::Plan)>,
) -> ExitCode {
    // It ends when the screen does, after it has put back what it was about to write.
    let Some((socket, mut words)) = side_process(c"topotop-fixes", arguments) else { return ExitCode::from(2) };
    let Some((writer, sampling)) = prepare(&mut words) else { return ExitCode::from(2) };
    let mut side = Side { socket: BufReader::new(UnixStream::from(socket)), writer, sampling };
    while let Some(request) = wire::read(&mut side.socket) {
        let Some(answer) = side.act(request) else { continue };
        if send(side.socket.get_mut(), &answer).is_break() {
            break;
        }
    }
    ExitCode::SUCCESS
}

struct Side {
    socket: BufReader<UnixStream>,
    writer: LocalWriter,
    sampling: live::Plan,
}

impl Side {
    fn act(&mut self, request: Request) -> Option<Answer> {
        let done = |done: Result<(), String>| Answer::Done(done.err());
        Some(match request {
            Request::Look => Answer::Surroundings(Box::new(self.writer.look())),
            Request::Resolve(wanted) => {
                let surroundings = self.writer.look();
                match planner::plan(&wanted, &self.sampling, &surroundings) {
                    Ok(plan) => Answer::of(self.writer.resolve(&Wanted::of(plan))),
                    Err(why) => {
                        self.writer.forget();
                        Answer::Refused(why)
                    }
                }
            }
            Request::Apply => self.apply(),
            // Of what is over already.
            Request::Abort => return None,
            Request::Confirm(number) => done(self.writer.confirm(number)),
            Request::Verdict { number, name, why, table } => match wire::verdict(&name, why, table) {
                Some(verdict) => done(self.writer.verdict(number, &verdict)),
                None => Answer::Done(Some(name)),
            },
            Request::Undo(number, why) => Answer::of(self.writer.undo(number, &why)),
            Request::Ask(number) => self.writer.ask(number).map_or(Answer::Done(None), Answer::of),
        })
    }

    fn apply(&mut self) -> Answer {
        let Self { socket, writer, .. } = self;
        let mut over = false;
        let mut tell = |reply: Reply| {
            over |= send(socket.get_mut(), &Answer::of(reply)).is_break() || is_aborted(socket);
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        Answer::of(writer.apply(&mut tell))
    }
}

fn send(socket: &mut UnixStream, answer: &Answer) -> ControlFlow<()> {
    match wire::line(answer).map(|line| socket.write_all(&line)) {
        Ok(Ok(())) => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    }
}

/// True once the screen wants no more of it, or has ended.
fn is_aborted(socket: &mut BufReader<UnixStream>) -> bool {
    let said = !socket.buffer().is_empty() || {
        let mut polled = [PollFd::new(socket.get_ref(), PollFlags::IN)];
        !matches!(poll(&mut polled, Some(&Timespec::default())), Ok(0) | Err(rustix::io::Errno::INTR))
    };
    // While it applies, nothing else is said.
    said && wire::read::<Request>(socket).is_none_or(|request| matches!(request, Request::Abort))
}
