//! Where a system is and how it moves.

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
        self.t = other.t;
        self.q.clear();
        self.q.extend_from_slice(&other.q);
        self.v.clear();
        self.v.extend_from_slice(&other.v);
    }
}
