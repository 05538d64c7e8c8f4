//! Systems from the literature, written out by hand: what tests, benchmarks and readers compare with.

mod rod;
mod slider;
mod woodpecker;

pub use rod::Rod;
pub use slider::Slider;
pub use woodpecker::Woodpecker;
