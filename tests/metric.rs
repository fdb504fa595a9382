//! The application's own number: from a running program's output to documents, and to whether there is load.

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Output};

fn topotop(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_topotop")).args(args).output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The numbers of each document.
fn numbers(lines: &[u8]) -> Vec<Value> {
    let documents =
        text(lines).lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")).collect::<Vec<_>>();
    documents.into_iter().filter_map(|mut document| Some(document.get_mut("metrics")?[0].take())).collect()
}

/// Works, rests, and says so.
const STAND_IN: &str = "for n in 0 900 950 1000 980 0 0 0; do echo \"tps = $n (a test)\"; sleep 0.2; done; exit 3";

#[test]
fn a_running_programs_output_tells_of_load_and_is_passed_on_untouched() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.rec");
    let shown = path.to_str().expect("a path");
    let metric = "tps=/tps = ([0-9.]+)/";
    let record =
        topotop(&["record", "-o", shown, "--interval", "100ms", "--metric", metric, "--", "sh", "-c", STAND_IN]);
    assert_eq!(record.status.code(), Some(3), "{}", text(&record.stderr));
    let plain = Command::new("sh").args(["-c", STAND_IN]).output().expect("sh runs");
    assert_eq!(text(&record.stdout), text(&plain.stdout));
    let played = topotop(&["replay", shown, "--format", "jsonl"]);
    let seen = numbers(&played.stdout);
    let loads: Vec<Option<bool>> = seen.iter().map(|number| number["shows_load"].as_bool()).collect();
    assert!(loads.contains(&Some(true)) && loads.last() == Some(&Some(false)), "{loads:?}");
    let peak = seen.last().and_then(|number| number["peak"].as_f64());
    assert_eq!(peak, Some(1000.0), "{seen:?}");
    let at_work = seen.iter().find(|number| number["shows_load"] == true).expect("some");
    assert!(at_work["value"].as_f64() >= Some(900.0) && at_work["source"] == "/tps = ([0-9.]+)/", "{at_work}");
    let csv = topotop(&["export", shown, "-s", "metrics"]);
    assert!(text(&csv.stdout).contains(",tps,") && text(&csv.stdout).contains(",1000,"), "{}", text(&csv.stdout));
}

#[test]
fn standard_error_is_read_where_it_is_asked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.rec");
    let shown = path.to_str().expect("a path");
    let script = "echo out; echo 'progress: 1.0 s, 77.5 tps' >&2; sleep 0.3";
    let metric = "tps=stderr:/, ([0-9.]+) tps/";
    let record = topotop(&["record", "-o", shown, "--interval", "100ms", "--metric", metric, "--", "sh", "-c", script]);
    assert_eq!((text(&record.stdout).as_str(), record.status.code()), ("out\n", Some(0)));
    assert!(text(&record.stderr).contains("progress: 1.0 s, 77.5 tps\n"));
    let snapshot = topotop(&["snapshot", "--from", shown, "--format", "json"]);
    assert_eq!(numbers(&snapshot.stdout)[0]["value"], 77.5);
}

#[test]
fn a_page_of_this_machine_is_read_while_checking() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for (count, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            let page = format!("# TYPE jobs counter\njobs_total{{q=\"a\"}} {}\n# EOF\n", 100 + count * 50);
            // Whoever asked may be gone; what was not read would take the answer back.
            let _ = stream.read(&mut [0; 1024]);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{page}", page.len());
        }
    });
    let metric = format!("jobs=http://127.0.0.1:{port}/metrics#jobs_total{{q=\"a\"}}");
    let check = topotop(&["check", "--for", "2s", "--interval", "300ms", "--format", "jsonl", "--metric", &metric]);
    let seen = numbers(&check.stdout);
    assert!(seen.iter().any(|number| number["value"].as_f64().is_some_and(|rate| rate > 1.0)), "{seen:?}");
    assert!(seen.iter().all(|number| number["source"].as_str() == Some(metric.split_once('=').expect("a source").1)));
}

#[test]
fn what_cannot_be_read_is_one_line_or_a_gap() {
    for wrong in ["tps", "tps=nothing", "tps=/(/", "tps=http://192.0.2.1/", "tps=/a/", "=file:/x"] {
        let check = topotop(&["check", "--for", "1s", "--metric", wrong]);
        let said = text(&check.stderr);
        assert_eq!((check.status.code(), said.lines().count()), (Some(2), 1), "{wrong}: {said}");
    }
    let snapshot =
        topotop(&["snapshot", "--format", "json", "--interval", "100ms", "--metric", "n=file:/nothing/here"]);
    let document: Value = serde_json::from_slice(&snapshot.stdout).expect("JSON");
    assert_eq!(document["metrics"][0].get("value"), None, "no number is no zero");
    let gaps = document["gaps"].as_array().expect("a list");
    assert!(gaps.iter().any(|gap| gap["path"] == "metric:n" && gap["reason"] == "not_found"), "{gaps:?}");
}
