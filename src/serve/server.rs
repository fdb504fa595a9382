//! The answering thread: a bounded number of connections in one loop.

use super::connection::{Connection, Next};
use super::door::Door;
use super::pages::Pages;
use super::request::Entry;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Maximum connections.
const CONNECTIONS: usize = 128;
/// Connections accepted per turn.
const AT_ONCE: usize = 16;
/// Interval between checks of deadlines.
const LOOK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// A reply that takes longer makes room for new connections; a page fits into the socket buffer.
const SLOW: Duration = Duration::from_millis(250);

/// Answers until something can be read from `ending`.
pub(super) fn serve(doors: &[Door], token: Option<String>, pages: Pages, ending: &UnixStream) {
    let mut server = Server { connections: Vec::new(), token, pages };
    loop {
        let now = Instant::now();
        server.connections.retain(|connection| !connection.is_late(now));
        let open = server.make_room(now);
        let mut polled: Vec<PollFd<'_>> = vec![PollFd::new(ending, PollFlags::IN)];
        polled
            .extend(doors.iter().map(|door| PollFd::new(door, if open { PollFlags::IN } else { PollFlags::empty() })));
        polled.extend(server.connections.iter().map(|one| PollFd::from_borrowed_fd(one.as_fd(), one.wants())));
        match poll(&mut polled, Some(&LOOK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
        let ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(polled);
        let mut ready = ready.into_iter();
        if ready.next() == Some(true) {
            return;
        }
        let at_doors: Vec<bool> = ready.by_ref().take(doors.len()).collect();
        server.advance(ready, Instant::now());
        for (door, _) in doors.iter().zip(at_doors).filter(|(_, ready)| *ready) {
            server.let_in(door);
        }
    }
}

struct Server {
    connections: Vec<Connection>,
    token: Option<String>,
    pages: Pages,
}

impl Server {
    /// Closes the longest-waiting connection when there are too many; false while each is sending a reply.
    fn make_room(&mut self, now: Instant) -> bool {
        while self.connections.len() + AT_ONCE > CONNECTIONS {
            let idle = |one: &Connection| one.is_waiting() || now.saturating_duration_since(one.since) >= SLOW;
            let all = self.connections.iter().enumerate().filter(|(_, one)| idle(one));
            // Those without a reply first.
            let Some((at, _)) = all.min_by_key(|(_, one)| (!one.is_waiting(), one.since)) else { return false };
            self.connections.swap_remove(at);
        }
        true
    }

    fn let_in(&mut self, door: &Door) {
        let now = Instant::now();
        for _ in 0..AT_ONCE {
            if self.connections.len() >= CONNECTIONS {
                return;
            }
            match door.accept() {
                Ok(fd) => self.connections.push(Connection::new(fd, matches!(door, Door::Unix { .. }), now)),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                // Closed before it was accepted, or no descriptor is left: others may close.
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(10));
                    return;
                }
            }
        }
    }

    fn advance(&mut self, mut ready: impl Iterator<Item = bool>, now: Instant) {
        let (token, pages) = (self.token.as_deref(), &mut self.pages);
        self.connections.retain_mut(|connection| {
            if ready.next() != Some(true) {
                return true;
            }
            let mut next = connection.advance(now);
            while let Next::Answer(request) = next {
                let entry = match token {
                    Some(token) if !carries(&request.authorization, token) => Entry::WithoutToken,
                    None if !connection.by_path && !request.is_local => Entry::ForeignName,
                    _ => Entry::LetIn,
                };
                connection.answer(&pages.reply(&request, entry), &request, now);
                next = connection.advance(now);
            }
            matches!(next, Next::Wait)
        });
    }
}

/// True if a header carries the token; compared in constant time.
fn carries(authorization: &str, token: &str) -> bool {
    let given = authorization.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let given = given.map_or("", |(_, given)| given.trim()).as_bytes();
    let differ = given.iter().zip(token.as_bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    given.len() == token.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::carries;

    #[test]
    fn a_token_is_carried_whole_or_not() {
        assert!(carries("Bearer abcdefgh", "abcdefgh"));
        assert!(carries("bearer  abcdefgh", "abcdefgh"));
        for wrong in ["", "Bearer", "Bearer ", "Bearer abcdefg", "Bearer abcdefghi", "Basic abcdefgh", "abcdefgh"] {
            assert!(!carries(wrong, "abcdefgh"), "{wrong:?}");
        }
    }
}
