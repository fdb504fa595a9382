//! What libhwloc adds to sysfs: groups of CPUs, the place of devices without a node, kinds of memory.
//!
//! It is asked in a short child of the program itself: libhwloc takes its root from the environment, may abort on a
//! hostile tree, and is not needed for the first frame. This file and its parts are the only ones that use it.

mod answer;
mod ask;
#[cfg(feature = "hwloc")]
mod child;

pub(crate) use answer::{Answer, Device};
pub(crate) use ask::Asker;
#[cfg(feature = "hwloc")]
pub use child::child;

/// The verb, not shown in any help, with which the program runs as that child: `PROGRAM __hwloc [ROOT]`.
pub const VERB: &str = "__hwloc";

/// What the child prints; without the library it has nothing to say.
#[cfg(not(feature = "hwloc"))]
pub fn child(_root: Option<&std::path::Path>) -> String {
    String::new()
}
