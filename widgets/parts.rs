//! Drawing that panels share: no panel logic in here.
