//! Reads one page of this machine over plain HTTP: no other host, no redirect, bounded in time and size.
//!
//! httparse parses replies. The socket stays ours: small clients (minreq) start a thread per request, take a reply that is
//! cut short for a whole one and do not know IPv6 addresses; ureq brings ten crates for one GET.

use httparse::Status;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use topotop_model::Reason;
use topotop_model::locale::metric::source as texts;

/// The time limit of a page, from connecting to its last byte.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// The size limit of a reply.
const MAX_BYTES: usize = 16 << 20;
/// Bytes that are searched for the end of a reply.
const MAX_LOOKED: usize = 4 * MAX_BYTES;
/// The size limit of the head of a reply.
const MAX_HEAD: usize = 64 << 10;
/// Header fields of a reply at most.
const MAX_FIELDS: usize = 64;

/// The URL of a page on a loopback address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    addresses: Vec<SocketAddr>,
    host: String,
    path: String,
}

impl Url {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("http://").ok_or_else(|| texts::NoScheme { text: &text }.to_string())?;
        let (host, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at_checked(at).unwrap_or_default(),
            None => (rest, ""),
        };
        if path.bytes().any(|byte| byte <= b' ' || byte >= 0x7f) {
            return Err(texts::NotEncoded { text: &text }.to_string());
        }
        // The colon of a port, not one of an address in brackets.
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => {
                let port = port.parse().ok().filter(|port| *port > 0);
                (name, port.ok_or_else(|| texts::InvalidPort { text: &text }.to_string())?)
            }
            _ => (host, 80),
        };
        let addresses = local(name).ok_or_else(|| texts::NotLoopback { text: &text }.to_string())?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        Ok(Self { addresses, host: host.to_owned(), path })
    }

    /// The port of the page.
    pub(super) fn port(&self) -> u16 {
        self.addresses.first().map_or(0, SocketAddr::port)
    }

    /// Reads the page.
    pub(super) fn get(&self) -> Result<String, Reason> {
        let deadline = Instant::now() + TIME_LIMIT;
        let mut stream = self.connect(deadline)?;
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: topotop\r\nAccept: text/plain\r\nConnection: close\r\n\r\n",
            self.path, self.host
        );
        stream.set_write_timeout(Some(TIME_LIMIT)).map_err(|error| reason(&error))?;
        stream.write_all(request.as_bytes()).map_err(|error| reason(&error))?;
        let (mut bytes, mut looked) = (Vec::new(), 0);
        let mut buf = [0; 16 << 10];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Reason::TimedOut);
            }
            stream.set_read_timeout(Some(left)).map_err(|error| reason(&error))?;
            let read = match stream.read(&mut buf) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.map_err(|error| reason(&error))?,
            };
            bytes.extend_from_slice(buf.get(..read).unwrap_or_default());
            if bytes.len() > MAX_BYTES {
                return Err(Reason::Malformed);
            }
            // What looks like the end again and again is not searched for it each time.
            looked += if bytes.ends_with(b"\r\n\r\n") { bytes.len() } else { 0 };
            if looked > MAX_LOOKED {
                return Err(Reason::Exhausted);
            }
            // Some servers keep the connection open in spite of "Connection: close".
            if let Some(page) = page(&bytes, read == 0)? {
                return Ok(page);
            }
        }
    }

    fn connect(&self, deadline: Instant) -> Result<TcpStream, Reason> {
        let mut last = Reason::NotFound;
        for address in &self.addresses {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            match TcpStream::connect_timeout(address, left) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = reason(&error),
            }
        }
        Err(last)
    }
}

/// The loopback addresses of a host; no resolver is asked.
fn local(name: &str) -> Option<Vec<IpAddr>> {
    if name.eq_ignore_ascii_case("localhost") {
        return Some(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
    }
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let address: IpAddr = bare.parse().ok()?;
    address.is_loopback().then(|| vec![address])
}

fn reason(error: &std::io::Error) -> Reason {
    match error.kind() {
        // No process listens on the port.
        ErrorKind::ConnectionRefused => Reason::NotFound,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Reason::TimedOut,
        ErrorKind::PermissionDenied => Reason::PermissionDenied,
        _ => Reason::Vanished,
    }
}

/// The page of a reply; none while more has to come. A reply that is cut short has none either.
fn page(bytes: &[u8], closed: bool) -> Result<Option<String>, Reason> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    let Status::Complete(length) = head.parse(bytes).map_err(|_| Reason::Malformed)? else {
        // A head without end is not parsed again and again.
        return if closed || bytes.len() > MAX_HEAD { Err(Reason::Malformed) } else { Ok(None) };
    };
    match head.code {
        Some(200) => {}
        Some(401 | 403) => return Err(Reason::PermissionDenied),
        Some(404) => return Err(Reason::NotFound),
        _ => return Err(Reason::NotSupported),
    }
    let field = |name: &str| {
        let field = head.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(field.value).ok().map(str::trim)
    };
    let body = bytes.get(length..).unwrap_or_default();
    let page = match (field("transfer-encoding"), field("content-length")) {
        (Some(coding), _) if !coding.eq_ignore_ascii_case("chunked") => return Err(Reason::NotSupported),
        (Some(_), _) if closed || body.ends_with(b"\r\n\r\n") => chunks(body)?,
        (None, Some(length)) => {
            let length: usize = length.parse().map_err(|_| Reason::Malformed)?;
            body.get(..length).map(<[u8]>::to_vec)
        }
        (None, None) if closed => Some(body.to_vec()),
        _ => None,
    };
    match page {
        None if closed => Err(Reason::Malformed),
        page => Ok(page.map(|page| String::from_utf8_lossy(&page).into_owned())),
    }
}

/// What the chunks hold; none where the last one is missing.
fn chunks(mut rest: &[u8]) -> Result<Option<Vec<u8>>, Reason> {
    let mut page = Vec::new();
    loop {
        let Status::Complete((from, length)) = httparse::parse_chunk_size(rest).map_err(|_| Reason::Malformed)? else {
            return Ok(None);
        };
        if length == 0 {
            return Ok(Some(page));
        }
        let to = usize::try_from(length).ok().and_then(|length| from.checked_add(length)).ok_or(Reason::Malformed)?;
        let Some(chunk) = rest.get(from..to) else { return Ok(None) };
        page.extend_from_slice(chunk);
        rest = match rest.get(to..).and_then(|rest| rest.split_at_checked(2)) {
            Some((b"\r\n", rest)) => rest,
            Some(_) => return Err(Reason::Malformed),
            None => return Ok(None),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{Url, page};
    use proptest::prelude::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use topotop_model::Reason;

    #[test]
    fn pages_come_in_several_ways() {
        let body = |bytes: &[u8]| page(bytes, true).map(Option::unwrap_or_default);
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nx 1 more").as_deref(), Ok("x 1"));
        assert_eq!(body(b"HTTP/1.0 200 OK\r\n\r\nx 1").as_deref(), Ok("x 1"));
        let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nx \r\n2;a=b\r\n15\r\n0\r\n\r\n";
        assert_eq!(body(chunked).as_deref(), Ok("x 15"));
        assert_eq!(page(chunked, false).map(|page| page.is_some()), Ok(true), "complete before the server closes");
        assert_eq!(page(&chunked[..chunked.len() - 1], false), Ok(None));
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx 1"), Err(Reason::Malformed), "cut short");
        assert_eq!(body(b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\n\r\n"), Err(Reason::NotSupported));
        assert_eq!(body(b"HTTP/1.1 404 No\r\n\r\n"), Err(Reason::NotFound));
        assert_eq!(body(b"SSH-2.0 200 x\r\n\r\n"), Err(Reason::Malformed));
    }

    #[test]
    fn asks_a_server_and_waits_for_none() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let port = listener.local_addr().expect("an address").port();
        let url = Url::parse(&format!("http://localhost:{port}/metrics?a=b")).expect("a url");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepted");
            let mut buf = [0; 1024];
            let read = stream.read(&mut buf).expect("read");
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nx 7\n").expect("written");
            // It is kept open: the answer has to be known as complete.
            let _ = stream.read(&mut buf);
            String::from_utf8_lossy(&buf[..read]).into_owned()
        });
        assert_eq!(url.get().as_deref(), Ok("x 7\n"));
        assert!(server.join().expect("served").starts_with("GET /metrics?a=b HTTP/1.1\r\nHost: localhost:"));
        let gone = Url::parse(&format!("http://127.0.0.1:{port}")).expect("a url");
        assert_eq!(gone.get(), Err(Reason::NotFound));
    }

    #[test]
    fn a_head_without_end_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepted");
            let line = b"X-Field: 0123456789012345678901234567890123456789012345678901\r\n".repeat(256);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
            while stream.write_all(&line).is_ok() {}
        });
        let url = Url::parse(&format!("http://127.0.0.1:{port}/")).expect("a url");
        assert_eq!(url.get(), Err(Reason::Malformed));
    }

    #[test]
    fn a_reply_that_seems_to_end_all_the_time_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepted");
            let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: 012345678abc\r\n\r\n";
            assert_eq!(head.len() % 16, 0);
            let _ = stream.write_all(head);
            while stream.write_all(&b"b\r\n123456789\r\n\r\n".repeat(1024)).is_ok() {}
        });
        let url = Url::parse(&format!("http://127.0.0.1:{port}/")).expect("a url");
        assert_eq!(url.get(), Err(Reason::Exhausted));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, head in 0usize..3) {
            let heads: [&[u8]; 3] = [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"];
            let whole = [heads[head], &bytes].concat();
            let _ = (page(&whole, true), page(&whole, false));
        }

        #[test]
        fn no_host_but_this_one(host in "[a-z0-9.:\\[\\]@%-]{1,20}") {
            if let Ok(url) = Url::parse(&format!("http://{host}/")) {
                prop_assert!(url.addresses.iter().all(|address| address.ip().is_loopback()));
            }
        }
    }
}
