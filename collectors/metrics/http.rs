//! One page of this machine by plain HTTP: no other host, no redirect, no longer than a moment.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use topotop_model::Reason;

/// The longest that a page may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// The largest page.
const MOST_BYTES: usize = 16 << 20;

/// Where a page is: an address of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    addresses: Vec<SocketAddr>,
    host: String,
    path: String,
}

impl Url {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("http://").ok_or_else(|| format!("{text}: only http:// is spoken"))?;
        let (host, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at_checked(at).unwrap_or_default(),
            None => (rest, ""),
        };
        if path.bytes().any(|byte| byte <= b' ' || byte >= 0x7f) {
            return Err(format!("{text}: write blanks and what is no ASCII as %20"));
        }
        // The colon of a port, not one of an address in brackets.
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => {
                let port = port.parse().ok().filter(|port| *port > 0);
                (name, port.ok_or_else(|| format!("{text}: a port is a number from 1 to 65535"))?)
            }
            _ => (host, 80),
        };
        let addresses = local(name)
            .ok_or_else(|| format!("{text}: only pages of this machine are read: 127.0.0.1, [::1], localhost"))?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        Ok(Self { addresses, host: host.to_owned(), path })
    }

    /// The page's text.
    pub(super) fn get(&self) -> Result<String, Reason> {
        let deadline = Instant::now() + PATIENCE;
        let mut stream = self.connect(deadline)?;
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: topotop\r\nAccept: text/plain\r\nConnection: close\r\n\r\n",
            self.path, self.host
        );
        stream.set_write_timeout(Some(PATIENCE)).map_err(|error| reason(&error))?;
        stream.write_all(request.as_bytes()).map_err(|error| reason(&error))?;
        let mut bytes = Vec::new();
        let mut buf = [0; 16 << 10];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Reason::TimedOut);
            }
            stream.set_read_timeout(Some(left)).map_err(|error| reason(&error))?;
            match stream.read(&mut buf) {
                Ok(0) => break,
                Ok(read) => bytes.extend_from_slice(buf.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(reason(&error)),
            }
            if bytes.len() > MOST_BYTES {
                return Err(Reason::Malformed);
            }
            // Some servers keep a connection open whatever they are asked.
            if is_complete(&bytes) {
                break;
            }
        }
        body(&bytes)
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

/// The addresses of a host that is this one; nobody else is asked what a name means.
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
        // Nobody listens there.
        ErrorKind::ConnectionRefused => Reason::NotFound,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Reason::TimedOut,
        ErrorKind::PermissionDenied => Reason::PermissionDenied,
        _ => Reason::Vanished,
    }
}

/// The head's lines and what follows it.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((bytes.get(..end)?, bytes.get(end + 4..)?))
}

/// The value of a field of the head.
fn field<'a>(head: &'a [u8], name: &str) -> Option<&'a str> {
    head.split(|&byte| byte == b'\n').skip(1).find_map(|line| {
        let (found, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
        found.trim().eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn is_complete(bytes: &[u8]) -> bool {
    let Some((head, rest)) = split(bytes) else { return false };
    if field(head, "transfer-encoding").is_some() {
        return rest.ends_with(b"0\r\n\r\n");
    }
    let length = field(head, "content-length").and_then(|length| length.parse::<usize>().ok());
    length.is_some_and(|length| rest.len() >= length)
}

/// The page in an answer; one that is not all right or is cut short is none.
fn body(bytes: &[u8]) -> Result<String, Reason> {
    let (head, rest) = split(bytes).ok_or(Reason::Malformed)?;
    let status = head.split(|&byte| byte == b' ').nth(1).ok_or(Reason::Malformed)?;
    match (head.starts_with(b"HTTP/1."), status) {
        (true, b"200") => {}
        (true, b"401" | b"403") => return Err(Reason::PermissionDenied),
        (true, b"404") => return Err(Reason::NotFound),
        (true, _) => return Err(Reason::NotSupported),
        (false, _) => return Err(Reason::Malformed),
    }
    let page = match (field(head, "transfer-encoding"), field(head, "content-length")) {
        (Some(coding), _) if coding.eq_ignore_ascii_case("chunked") => chunks(rest)?,
        (Some(_), _) => return Err(Reason::NotSupported),
        (None, Some(length)) => {
            let length = length.parse::<usize>().map_err(|_| Reason::Malformed)?;
            rest.get(..length).ok_or(Reason::Malformed)?.to_vec()
        }
        (None, None) => rest.to_vec(),
    };
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// What is in chunks, each with its length before it.
fn chunks(mut rest: &[u8]) -> Result<Vec<u8>, Reason> {
    let mut page = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n").ok_or(Reason::Malformed)?;
        let line = std::str::from_utf8(rest.get(..end).unwrap_or_default()).map_err(|_| Reason::Malformed)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).map_err(|_| Reason::Malformed)?;
        if length == 0 {
            return Ok(page);
        }
        let from = end + 2;
        let to = from.checked_add(length).ok_or(Reason::Malformed)?;
        page.extend_from_slice(rest.get(from..to).ok_or(Reason::Malformed)?);
        rest = rest.get(to..).and_then(|rest| rest.strip_prefix(b"\r\n")).ok_or(Reason::Malformed)?;
    }
}

#[cfg(test)]
mod tests {
    use super::{Url, body, is_complete};
    use proptest::prelude::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use topotop_model::Reason;

    #[test]
    fn pages_come_in_several_ways() {
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nx 1 more").as_deref(), Ok("x 1"));
        assert_eq!(body(b"HTTP/1.0 200 OK\r\n\r\nx 1").as_deref(), Ok("x 1"));
        let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nx \r\n2;a=b\r\n15\r\n0\r\n\r\n";
        assert_eq!(body(chunked).as_deref(), Ok("x 15"));
        assert!(is_complete(chunked));
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

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, head in 0usize..3) {
            let heads: [&[u8]; 3] = [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"];
            let whole = [heads[head], &bytes].concat();
            let _ = (body(&whole), is_complete(&whole));
        }

        #[test]
        fn no_host_but_this_one(host in "[a-z0-9.:\\[\\]@%-]{1,20}") {
            if let Ok(url) = Url::parse(&format!("http://{host}/")) {
                prop_assert!(url.addresses.iter().all(|address| address.ip().is_loopback()));
            }
        }
    }
}
