//! A friction set of a user for tests: a stadium, or a capsule.

use stiction_dynamics::ConvexSet;

/// All points up to `radius` from the segment between ± `half` along a unit vector: a stadium in
/// the plane, a capsule in space.
#[derive(Debug)]
pub struct Capsule {
    pub axis: [f64; 3],
    pub half: f64,
    pub radius: f64,
    /// Whether it is flat: no torsion.
    pub is_flat: bool,
}

pub fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Capsule {
    fn flat(&self, x: &[f64; 3]) -> [f64; 3] {
        if self.is_flat { [x[0], x[1], 0.0] } else { *x }
    }
}

impl ConvexSet for Capsule {
    fn farthest(&self, d: &[f64; 3]) -> [f64; 3] {
        let d = self.flat(d);
        let (length, along) = (dot(&d, &d).sqrt(), dot(&d, &self.axis).signum());
        if length == 0.0 {
            return [0.0; 3];
        }
        std::array::from_fn(|k| along * self.half * self.axis[k] + self.radius * d[k] / length)
    }
    fn nearest(&self, x: &[f64; 3]) -> [f64; 3] {
        let x = self.flat(x);
        let along = dot(&x, &self.axis).clamp(-self.half, self.half);
        let away: [f64; 3] = std::array::from_fn(|k| x[k] - along * self.axis[k]);
        let distance = dot(&away, &away).sqrt();
        let share = if distance > self.radius { self.radius / distance } else { 1.0 };
        std::array::from_fn(|k| along * self.axis[k] + share * away[k])
    }
}
