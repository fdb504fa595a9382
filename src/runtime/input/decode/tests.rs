use super::{Answer, Decoder, Input, key};
use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;

const NONE: KeyModifiers = KeyModifiers::NONE;

fn char(c: char) -> Input {
    key(KeyCode::Char(c), if c.is_uppercase() { KeyModifiers::SHIFT } else { NONE })
}

fn mouse(kind: MouseEventKind, column: u16, row: u16) -> Input {
    Input::Mouse(MouseEvent { kind, column, row, modifiers: NONE })
}

/// What terminals send and what it is.
fn known() -> Vec<(&'static str, Vec<Input>)> {
    let answer = |answer| vec![Input::Answer(answer)];
    vec![
        ("q", vec![char('q')]),
        ("Gé名", vec![char('G'), char('é'), char('名')]),
        ("\r", vec![key(KeyCode::Enter, NONE)]),
        ("\x03", vec![key(KeyCode::Char('c'), KeyModifiers::CONTROL)]),
        ("\x1bx", vec![key(KeyCode::Char('x'), KeyModifiers::ALT)]),
        ("\x1b[A\x1bOB", vec![key(KeyCode::Up, NONE), key(KeyCode::Down, NONE)]),
        ("\x1b[Z", vec![key(KeyCode::BackTab, KeyModifiers::SHIFT)]),
        ("\x1b[5~", vec![key(KeyCode::PageUp, NONE)]),
        ("\x1b[6;2~", vec![key(KeyCode::PageDown, KeyModifiers::SHIFT)]),
        ("\x1b[1;5C", vec![key(KeyCode::Right, KeyModifiers::CONTROL)]),
        ("\x1bOP\x1b[[B\x1b[15~\x1b[24~", [1, 2, 5, 12].map(|n| key(KeyCode::F(n), NONE)).to_vec()),
        ("\x1b[<0;3;40M", vec![mouse(MouseEventKind::Down(MouseButton::Left), 2, 39)]),
        ("\x1b[<0;3;40m", vec![mouse(MouseEventKind::Up(MouseButton::Left), 2, 39)]),
        ("\x1b[<32;3;40M", vec![mouse(MouseEventKind::Drag(MouseButton::Left), 2, 39)]),
        ("\x1b[<65;30;10M", vec![mouse(MouseEventKind::ScrollDown, 29, 9)]),
        ("\x1b[M !!", vec![mouse(MouseEventKind::Down(MouseButton::Left), 0, 0)]),
        ("\x1b[200~a\x1b[Aq\x1b[201~", vec![Input::Paste("a\x1b[Aq".into())]),
        ("\x1b]11;rgb:ffff/ffff/eeee\x1b\\", answer(Answer::Background(true))),
        ("\x1b]11;rgb:12/14/1a\x07", answer(Answer::Background(false))),
        ("\x1b[24;80R", answer(Answer::Cursor(24, 80))),
        ("\x1b[0n", answer(Answer::Done)),
        // Answers to what was not asked.
        ("\x1b[?62;22c\x1b[>1;10;0c\x1b[?2026;2$y\x1b[I\x1b]4;1;rgb:0/0/0\x07", vec![]),
    ]
}

#[test]
fn what_terminals_send_is_known_wherever_it_is_split() {
    for (bytes, wanted) in known() {
        assert_eq!(Decoder::default().feed(bytes.as_bytes()), wanted, "{bytes:?}");
        for at in 1..bytes.len() {
            let mut decoder = Decoder::default();
            let (one, two) = bytes.as_bytes().split_at(at);
            let found = [decoder.feed(one), decoder.feed(two)].concat();
            assert_eq!(found, wanted, "{bytes:?} split at {at}");
        }
        let mut decoder = Decoder::default();
        let found: Vec<Input> = bytes.bytes().flat_map(|byte| decoder.feed(&[byte])).collect();
        assert_eq!(found, wanted, "{bytes:?} byte by byte");
    }
}

#[test]
fn an_escape_alone_is_a_key_after_a_while() {
    let mut decoder = Decoder::default();
    assert_eq!(decoder.feed(b"\x1b"), []);
    assert!(decoder.holds_escape());
    assert_eq!(decoder.escape(), Some(key(KeyCode::Esc, NONE)));
    assert_eq!(decoder.escape(), None);
    assert_eq!(decoder.feed(b"\x1b\x1b[0n"), [key(KeyCode::Esc, NONE), Input::Answer(Answer::Done)]);
    assert_eq!(decoder.feed(b"\x1b["), []);
    assert_eq!(decoder.escape(), None, "what has begun is no key");
}

#[test]
fn a_string_without_an_end_gives_way_to_a_control_key() {
    let mut decoder = Decoder::default();
    assert_eq!(decoder.feed(b"\x1b]11;rgb:ff"), []);
    assert_eq!(decoder.feed(&[b'q'; 5000]), []);
    assert_eq!(decoder.feed(b"\x03q"), [key(KeyCode::Char('c'), KeyModifiers::CONTROL), char('q')]);
    assert_eq!(decoder.feed(b"\x1b]11;rgb:ff\x1b[A"), [key(KeyCode::Up, NONE)]);
}

proptest! {
    #[test]
    fn bytes_mean_the_same_however_they_come(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
        let at = at.min(bytes.len());
        let (mut whole, mut split) = (Decoder::default(), Decoder::default());
        let wanted = whole.feed(&bytes);
        let found = [split.feed(&bytes[..at]), split.feed(&bytes[at..])].concat();
        prop_assert_eq!(found, wanted);
    }
}
