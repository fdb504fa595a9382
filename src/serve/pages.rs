//! Replies: encoded once per sample and format, however many requests come.

use super::feed::{Feed, Newest};
use super::request::{Entry, Request};
use crate::export::openmetrics::{self, Format, Page};
use crate::export::{Options, json};
use std::sync::Arc;
use topotop_model::fix::offered;

/// A reply without its head.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) media_type: &'static str,
    pub(super) body: Arc<[u8]>,
}

impl Reply {
    /// A reply of one line.
    pub(super) fn short(status: u16, text: &str) -> Self {
        Self { status, media_type: "text/plain; charset=utf-8", body: text.as_bytes().into() }
    }
}

/// A document made from a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Document {
    Metrics(Format),
    Snapshot,
    Findings,
}

const JSON: &str = "application/json; charset=utf-8";
const FOREIGN_NAME: &str =
    "without --token-file, the Host header must be localhost, an IP address or a name without a dot\n";
const WITHOUT_NAMES: &str = "/metrics\n/healthz\n";
const WITH_NAMES: &str = "/metrics\n/healthz\n/snapshot.json\n/findings.json\n";

/// All pages.
pub(super) struct Pages {
    feed: Feed,
    names: bool,
    newest: Option<Arc<Newest>>,
    encoded: Vec<(Document, Arc<[u8]>)>,
}

impl Pages {
    pub(super) fn new(feed: Feed, names: bool) -> Self {
        Self { feed, names, newest: None, encoded: Vec::new() }
    }

    /// Answers a request; whoever is not let in learns only whether there are samples.
    pub(super) fn reply(&mut self, request: &Request, entry: Entry) -> Reply {
        let document = match request.path.as_str() {
            "/healthz" => return self.health(),
            _ if entry == Entry::WithoutToken => {
                return Reply::short(401, "token required (Authorization: Bearer)\n");
            }
            _ if entry == Entry::ForeignName => return Reply::short(403, FOREIGN_NAME),
            "/" => return Reply::short(200, if self.names { WITH_NAMES } else { WITHOUT_NAMES }),
            "/metrics" => Document::Metrics(Format::accepted(&request.accept)),
            "/snapshot.json" if self.names => Document::Snapshot,
            "/findings.json" if self.names => Document::Findings,
            "/snapshot.json" | "/findings.json" => {
                return Reply::short(403, "this page requires --expose-names\n");
            }
            _ => return Reply::short(404, "no such page\n"),
        };
        // Stale numbers would look current.
        let newest = self.feed.newest().filter(|newest| !newest.is_stale());
        let Some(newest) = newest else { return self.health() };
        let media_type = match document {
            Document::Metrics(format) => format.media_type(),
            Document::Snapshot | Document::Findings => JSON,
        };
        Reply { status: 200, media_type, body: self.encoded(document, newest) }
    }

    fn health(&self) -> Reply {
        match self.feed.newest() {
            None => Reply::short(503, "no sample yet\n"),
            Some(newest) if newest.is_stale() => Reply::short(503, "the last sample is stale\n"),
            Some(_) => Reply::short(200, "ok\n"),
        }
    }

    fn encoded(&mut self, document: Document, newest: Arc<Newest>) -> Arc<[u8]> {
        if self.newest.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &newest)) {
            self.encoded.clear();
        }
        if let Some((_, bytes)) = self.encoded.iter().find(|(known, _)| *known == document) {
            return Arc::clone(bytes);
        }
        let bytes: Arc<[u8]> = encode(document, &newest, self.names).into();
        self.encoded.push((document, Arc::clone(&bytes)));
        self.newest = Some(newest);
        bytes
    }
}

fn encode(document: Document, newest: &Newest, names: bool) -> Vec<u8> {
    let Newest { frame, judgement, totals, surroundings, taken_ns, .. } = newest;
    match document {
        Document::Metrics(format) => {
            let mut out = String::with_capacity(48 << 10);
            openmetrics::write(&Page { frame, judgement, totals, taken_ns: *taken_ns, names }, format, &mut out);
            out.into_bytes()
        }
        Document::Snapshot => {
            let mut out = Vec::new();
            let options =
                Options { judgement: Some(judgement), surroundings: Some(surroundings), ..Options::default() };
            // Writing to memory cannot fail.
            let _ = json::write(frame, &options, &mut out);
            out
        }
        Document::Findings => topotop_model::locale::in_english(|| {
            let fixes: Vec<_> =
                judgement.findings.iter().map(|finding| offered(finding, frame, surroundings).0).collect();
            let found = judgement.findings.iter().zip(fixes.iter().map(Vec::as_slice));
            let findings = json::Findings::of(found, judgement, &judgement.resources);
            let mut out = serde_json::to_vec(&findings).unwrap_or_default();
            out.push(b'\n');
            out
        }),
    }
}
