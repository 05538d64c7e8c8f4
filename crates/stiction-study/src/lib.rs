//! (being written)

pub mod figure;
