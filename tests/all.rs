//! Integration tests: one binary, modules below.
