//! One connection: reads a request head, writes a reply, buffers a few kilobytes at most.

use super::pages::Reply;
use super::request::{MAX_HEAD, Parsed, Request, parse};
use rustix::event::PollFlags;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit from the first byte of a request, or from the connection, to the end of the head.
const REQUEST: Duration = Duration::from_secs(5);
/// Time limit between two requests.
const IDLE: Duration = Duration::from_secs(90);
/// Time limit for the client to read the reply.
const REPLY: Duration = Duration::from_secs(10);
/// Time limit for the client to close after a refusal, and the bytes that it may send meanwhile.
const DRAIN: (Duration, usize) = (Duration::from_secs(1), 256 << 10);

enum State {
    Reading,
    Writing {
        head: Vec<u8>,
        body: Arc<[u8]>,
        at: usize,
        then: Then,
    },
    /// Input is discarded, so that a reset does not lose the reply.
    Draining(usize),
}

#[derive(Clone, Copy)]
enum Then {
    Next,
    Close,
}

/// A connection.
pub(super) struct Connection {
    fd: OwnedFd,
    /// True where it came through a file, which no browser opens.
    pub(super) by_path: bool,
    state: State,
    input: Vec<u8>,
    /// Start of its state.
    pub(super) since: Instant,
    deadline: Instant,
}

/// The next step of a connection.
pub(super) enum Next {
    /// Wait.
    Wait,
    /// Answer a request.
    Answer(Request),
    /// Close.
    Close,
}

impl Connection {
    pub(super) fn new(fd: OwnedFd, by_path: bool, now: Instant) -> Self {
        Self { fd, by_path, state: State::Reading, input: Vec::new(), since: now, deadline: now + REQUEST }
    }

    /// True if it exceeded its time limit.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        now >= self.deadline
    }

    /// True while no reply is being sent.
    pub(super) fn is_waiting(&self) -> bool {
        !matches!(self.state, State::Writing { .. })
    }

    pub(super) fn wants(&self) -> PollFlags {
        if self.is_waiting() { PollFlags::IN } else { PollFlags::OUT }
    }

    /// Reads and writes as far as the socket allows.
    pub(super) fn advance(&mut self, now: Instant) -> Next {
        match self.state {
            State::Reading => self.read(now),
            State::Writing { .. } => self.write(now),
            State::Draining(left) => self.drain(left),
        }
    }

    fn enter(&mut self, state: State, time: Duration, now: Instant) {
        self.state = state;
        self.since = now;
        self.deadline = now + time;
    }

    fn read(&mut self, now: Instant) -> Next {
        let mut bytes = [0; 2048];
        let room = (MAX_HEAD + 1).saturating_sub(self.input.len()).min(bytes.len());
        let Some(space) = bytes.get_mut(..room) else { return Next::Close };
        match rustix::io::read(&self.fd, &mut *space) {
            Ok(0) => return Next::Close,
            Ok(length) => {
                if self.input.is_empty() {
                    self.deadline = now + REQUEST;
                    self.since = now;
                }
                self.input.extend_from_slice(space.get(..length).unwrap_or_default());
            }
            Err(Errno::AGAIN | Errno::INTR) => return Next::Wait,
            Err(_) => return Next::Close,
        }
        self.parsed(now)
    }

    /// The next request, once it is complete.
    fn parsed(&mut self, now: Instant) -> Next {
        match parse(&self.input) {
            Parsed::Partial => Next::Wait,
            Parsed::Whole(request) => {
                self.input.drain(..request.length.min(self.input.len()));
                Next::Answer(request)
            }
            Parsed::Refused(status) => {
                self.answer(&Reply::short(status, "refused\n"), &Request::default(), now);
                self.write(now)
            }
        }
    }

    /// Starts to send a reply.
    pub(super) fn answer(&mut self, reply: &Reply, request: &Request, now: Instant) {
        let length = reply.body.len();
        let connection = if request.keep { "keep-alive" } else { "close" };
        let more = match reply.status {
            401 => "WWW-Authenticate: Bearer\r\n",
            405 => "Allow: GET, HEAD\r\n",
            _ => "",
        };
        let head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\n{more}Connection: {connection}\r\n\r\n",
            reply.status,
            reason(reply.status),
            reply.media_type,
        );
        let body = if request.head_only { Arc::default() } else { Arc::clone(&reply.body) };
        let then = if request.keep { Then::Next } else { Then::Close };
        self.enter(State::Writing { head: head.into_bytes(), body, at: 0, then }, REPLY, now);
    }

    fn write(&mut self, now: Instant) -> Next {
        let State::Writing { head, body, at, then } = &mut self.state else { return Next::Wait };
        loop {
            let rest = if *at < head.len() { head.get(*at..) } else { body.get(*at - head.len()..) };
            let Some(rest) = rest.filter(|rest| !rest.is_empty()) else { break };
            // No SIGPIPE when the client has closed.
            match rustix::net::send(&self.fd, rest, rustix::net::SendFlags::NOSIGNAL) {
                Ok(written) => *at += written,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Next::Wait,
                Err(_) => return Next::Close,
            }
        }
        match then {
            Then::Next => {
                self.enter(State::Reading, IDLE, now);
                // The next request may already be buffered.
                if self.input.is_empty() { Next::Wait } else { self.parsed(now) }
            }
            Then::Close => {
                self.input = Vec::new();
                if rustix::net::shutdown(&self.fd, rustix::net::Shutdown::Write).is_err() {
                    return Next::Close;
                }
                self.enter(State::Draining(DRAIN.1), DRAIN.0, now);
                Next::Wait
            }
        }
    }

    fn drain(&mut self, left: usize) -> Next {
        match rustix::io::read(&self.fd, &mut [0; 4096]) {
            Ok(length) if length > 0 && length < left => {
                self.state = State::Draining(left - length);
                Next::Wait
            }
            Err(Errno::AGAIN | Errno::INTR) => Next::Wait,
            _ => Next::Close,
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    }
}
