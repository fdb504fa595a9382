//! Heads of requests: bounded, parsed by httparse.

use httparse::{EMPTY_HEADER, Request as Head, Status};
use std::net::IpAddr;

/// Maximum bytes of a head.
pub(super) const MAX_HEAD: usize = 8 << 10;
/// Maximum fields of a head.
const MAX_FIELDS: usize = 64;

/// The parts of a request that are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) head_only: bool,
    pub(super) path: String,
    pub(super) accept: String,
    pub(super) authorization: String,
    /// True if it names the machine as nobody elsewhere can: a page in a browser that has its own name lead here may not
    /// read what is served.
    pub(super) is_local: bool,
    /// True if the connection stays open for the next one.
    pub(super) keep: bool,
    /// Bytes of the head.
    pub(super) length: usize,
}

/// Whether a request is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// It is.
    LetIn,
    /// It lacks the token.
    WithoutToken,
    /// It names a machine that may be somebody else's.
    ForeignName,
}

/// Result of parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// Incomplete.
    Partial,
    /// Complete.
    Whole(Request),
    /// Refused with a status.
    Refused(u16),
}

/// Parses a head.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let mut fields = [EMPTY_HEADER; MAX_FIELDS];
    let mut head = Head::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if bytes.len() >= MAX_HEAD => return Parsed::Refused(431),
        Ok(Status::Partial) => return Parsed::Partial,
        Err(httparse::Error::TooManyHeaders) => return Parsed::Refused(431),
        Err(_) => return Parsed::Refused(400),
    };
    if length > MAX_HEAD {
        return Parsed::Refused(431);
    }
    let head_only = match head.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Parsed::Refused(405),
    };
    let all = |name: &'static str| {
        let found = head.headers.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
        found.filter_map(|field| std::str::from_utf8(field.value).ok()).map(str::trim)
    };
    let field = |name| all(name).next().unwrap_or_default();
    // A body would be parsed as the next request.
    let has_body = head.headers.iter().any(|field| {
        field.name.eq_ignore_ascii_case("transfer-encoding")
            || field.name.eq_ignore_ascii_case("content-length") && field.value.trim_ascii() != b"0"
    });
    if has_body {
        return Parsed::Refused(413);
    }
    let connection = field("connection").to_ascii_lowercase();
    let accept: Vec<&str> = all("accept").collect();
    let path = head.path.unwrap_or_default().split('?').next().unwrap_or_default();
    Parsed::Whole(Request {
        head_only,
        path: path.to_owned(),
        accept: accept.join(","),
        authorization: field("authorization").to_owned(),
        is_local: head.headers.iter().filter(|field| field.name.eq_ignore_ascii_case("host")).all(is_local_field),
        keep: head.version == Some(1) && !connection.split(',').any(|word| word.trim() == "close"),
        length,
    })
}

/// The same of a header field; what is no text is nobody's name.
fn is_local_field(field: &httparse::Header<'_>) -> bool {
    std::str::from_utf8(field.value).is_ok_and(|host| is_local(host.trim()))
}

/// True for an address, `localhost`, a name without a dot, or none: names of the domain name system have dots.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    !bare.contains('.') || bare.parse::<IpAddr>().is_ok() || bare.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::{MAX_HEAD, Parsed, parse};

    fn whole(text: &str) -> super::Request {
        match parse(text.as_bytes()) {
            Parsed::Whole(request) => request,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn names_that_others_may_own_are_not_of_this_machine() {
        let local = |host: &str| whole(&format!("GET / HTTP/1.1\r\n{host}\r\n\r\n")).is_local;
        for host in
            ["X: y", "Host: localhost:9977", "Host: 127.0.0.1:9977", "Host: [::1]:9977", "Host: ::1", "Host: node-7"]
        {
            assert!(local(host), "{host}");
        }
        assert!(local("Host: localhost\r\nHost: 127.0.0.1"));
        assert!(!local("Host: localhost\r\nHost: evil.example"), "each of several");
        let Parsed::Whole(raw) = parse(b"GET / HTTP/1.1\r\nHost: \xff.evil\r\n\r\n") else { panic!("refused") };
        assert!(!raw.is_local, "no text");
        for host in ["Host: evil.example", "host: evil.example:9977", "Host: 127.0.0.1.evil.example", "Host: a.b:x"] {
            assert!(!local(host), "{host}");
        }
    }

    #[test]
    fn requests_are_read_and_what_does_not_belong_here_is_refused() {
        let get = whole("GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\nACCEPT: text/plain\r\n\r\nGET /");
        assert_eq!((get.path.as_str(), get.accept.as_str(), get.keep), ("/metrics", "text/plain", true));
        assert_eq!(get.length, 58);
        assert_eq!(whole("GET / HTTP/1.1\r\nAccept: a;q=0.1\r\nX: y\r\naccept: b\r\n\r\n").accept, "a;q=0.1,b");
        assert!(whole("HEAD / HTTP/1.0\r\n\r\n").head_only);
        assert!(!whole("GET / HTTP/1.0\r\n\r\n").keep);
        assert!(!whole("GET / HTTP/1.1\r\nConnection: TE, Close\r\n\r\n").keep);
        assert_eq!(parse(b"GET / HTTP/1.1\r\nHost"), Parsed::Partial);
        assert_eq!(parse(b"POST / HTTP/1.1\r\n\r\n"), Parsed::Refused(405));
        assert_eq!(parse(b"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"), Parsed::Refused(413));
        assert_eq!(parse(b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), Parsed::Refused(413));
        assert_eq!(parse(b"\x16\x03\x01\x02"), Parsed::Refused(400));
        for body in ["Content-Length: 0\r\nContent-Length: 9", "Transfer-Encoding:\r\nTransfer-Encoding: chunked"] {
            assert_eq!(parse(format!("GET / HTTP/1.1\r\n{body}\r\n\r\n").as_bytes()), Parsed::Refused(413), "{body}");
        }
        assert_eq!(parse(b"GET / HTTP/1.1\r\nContent-Length: \xff9\r\n\r\n"), Parsed::Refused(413));
        let long = format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(MAX_HEAD));
        assert_eq!(parse(long.as_bytes()), Parsed::Refused(431));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: a\r\n".repeat(100));
        assert_eq!(parse(many.as_bytes()), Parsed::Refused(431));
    }
}
