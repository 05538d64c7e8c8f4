//! Where a system is and how it moves.

use crate::vector::refill;

/// Time, configuration and velocity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Time, in seconds.
    pub t: f64,
    /// Configuration; it may hold unit quaternions and so be longer than the velocity.
    pub q: Vec<f64>,
    /// Velocity, in the coordinates that the system chose.
    pub v: Vec<f64>,
}

impl State {
    /// A state from its parts.
    pub fn new(t: f64, q: Vec<f64>, v: Vec<f64>) -> Self {
        Self { t, q, v }
    }

    /// Takes over another state without new memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.set(other.t, &other.q, &other.v);
    }

    /// Takes over a time, a configuration and a velocity without new memory.
    pub fn set(&mut self, t: f64, q: &[f64], v: &[f64]) {
        self.t = t;
        refill(&mut self.q, q.iter().copied());
        refill(&mut self.v, v.iter().copied());
    }
}
