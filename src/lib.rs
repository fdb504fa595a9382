//! topotop: `top` for a machine's topology.
