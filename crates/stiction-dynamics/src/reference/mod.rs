//! Systems from the literature, written out by hand: what tests, benchmarks and readers compare with.

mod instants;
mod rod;
mod slider;
mod woodpecker;

pub use instants::{painleve_rod, pushed_particle, touching_arm};
pub use rod::Rod;
pub use slider::Slider;
pub use woodpecker::Woodpecker;
