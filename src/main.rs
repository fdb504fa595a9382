//! topotop.

fn main() {}
