//! Systems from the literature, written out by hand: what tests, benchmarks and readers compare
//! with.

mod carts;
mod double_pendulum;
mod free_top;
mod instants;
mod rod;
mod slider;
mod smooth;
mod turning_axes;
mod woodpecker;

pub use carts::Carts;
pub use double_pendulum::{DoublePendulum, PendulumInAngles};
pub use free_top::FreeTop;
pub use instants::{painleve_rod, pushed_particle, touching_arm};
pub use rod::Rod;
pub use slider::Slider;
pub use smooth::{BentOscillator, SpringOrbit};
pub use turning_axes::TurningAxes;
pub use woodpecker::Woodpecker;
