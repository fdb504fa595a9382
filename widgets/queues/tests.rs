use super::Queues;
use crate::testing::survives;

#[test]
fn every_machine_size_and_action() {
    survives(|| Box::new(Queues::default()));
}
