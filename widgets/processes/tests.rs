use super::Processes;
use crate::testing::{drawn, text, with_cx};
use crate::{Action, Charset, Panel, demo};

#[test]
fn show() {
    for (w, h) in [(80, 22), (120, 38), (200, 58)] {
        with_cx(&demo::server(), Charset::Unicode, |cx| {
            let mut panel = Processes::default();
            println!("{}", text(&drawn(&mut panel, cx, w, h)));
            panel.act(Action::Open, cx);
            println!("{}", text(&drawn(&mut panel, cx, w, h)));
        });
    }
}
