//! Contact problems made around a solution: modes, impulses and rates are chosen first, and then
//! the offset $q = u - W r$ that makes them a solution.
//!
//! Whatever a method says of such a problem, it must not say that there is no solution; and it
//! should find one, though not necessarily that from which the problem was made.
//!
//! Bodies, arms and normals are those of the family `random`. Lengths, masses and times in other
//! units multiply $W$ and $q$ by numbers.

use stiction_solve::Lcp;
use stiction_solve::cone::{Cone, LocalConeProblem, SparseRows};

use super::{Random, box_inertia, cross, frame, unit};

/// What is made.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub contacts: usize,
    pub mu: f64,
    /// Factor on $W$, one over the unit of mass, and factor on all rates.
    pub matrix_unit: f64,
    pub rate_unit: f64,
}

impl Known {
    pub fn new(contacts: usize, mu: f64) -> Self {
        Self { contacts, mu, matrix_unit: 1.0, rate_unit: 1.0 }
    }

    /// $W$, rates $u$ and impulses $r$ of a solution, contact by contact. With `directions`,
    /// friction and sliding are along some of them, evenly spread.
    fn solution(&self, seed: u64, directions: Option<usize>) -> (Vec<f64>, Vec<[f64; 3]>, Vec<[f64; 3]>) {
        let mut random = Random(seed);
        let p = self.contacts;
        let bodies = (p as f64 / 2.3).ceil() as usize;
        let masses: Vec<[f64; 6]> = (0..bodies)
            .map(|_| {
                let mass = random.uniform(0.5, 2.0);
                let [a, b, c] = box_inertia(mass, [0.0; 3].map(|_: f64| random.uniform(0.3, 0.6)));
                [mass, mass, mass, a, b, c]
            })
            .collect();
        let mut h = vec![0.0; 3 * p * 6 * bodies];
        for number in 0..p {
            let body = number % bodies;
            let normal = unit([random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), 1.0]);
            let mut sides = vec![(body, [random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), -0.4], 1.0)];
            if body > 0 && random.uniform(0.0, 1.0) > 0.35 {
                let other = body - 1 - random.below(body.min(4));
                sides.push((other, [random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), 0.4], -1.0));
            }
            for (row, direction) in frame(normal).into_iter().enumerate() {
                for &(body, arm, sign) in &sides {
                    let moment = cross(arm, direction);
                    for k in 0..3 {
                        h[(3 * number + row) * 6 * bodies + 6 * body + k] += sign * direction[k];
                        h[(3 * number + row) * 6 * bodies + 6 * body + 3 + k] += sign * moment[k];
                    }
                }
            }
        }
        let columns = 6 * bodies;
        let mut w = vec![0.0; 9 * p * p];
        for i in 0..3 * p {
            for j in 0..3 * p {
                let terms = (0..columns).map(|k| h[i * columns + k] * h[j * columns + k] / masses[k / 6][k % 6]);
                w[i * 3 * p + j] = self.matrix_unit * terms.sum::<f64>();
            }
        }
        let impulse_unit = self.rate_unit / self.matrix_unit;
        let (mut u, mut r) = (Vec::new(), Vec::new());
        for _ in 0..p {
            let normal = impulse_unit * random.uniform(0.1, 1.0);
            let angle = match directions {
                Some(count) => random.below(count) as f64 / count as f64,
                None => random.uniform(0.0, 1.0),
            };
            let (sin, cos) = (std::f64::consts::TAU * angle).sin_cos();
            let sliding = self.rate_unit * random.uniform(0.01, 1.0);
            match random.below(4) {
                0 => {
                    u.push([self.rate_unit * random.uniform(0.0, 1.0), sliding * cos, sliding * sin]);
                    r.push([0.0; 3]);
                }
                1 => {
                    u.push([0.0; 3]);
                    let friction = random.uniform(0.0, 0.9) * self.mu * normal;
                    r.push([normal, friction * cos, friction * sin]);
                }
                _ => {
                    u.push([0.0, -sliding * cos, -sliding * sin]);
                    let friction = self.mu * normal;
                    r.push([normal, friction * cos, friction * sin]);
                }
            }
        }
        (w, u, r)
    }

    fn offset(w: &[f64], u: &[[f64; 3]], r: &[[f64; 3]]) -> Vec<f64> {
        let (u, r) = (u.as_flattened(), r.as_flattened());
        let rows = u.len();
        (0..rows).map(|i| u[i] - (0..rows).map(|j| w[i * rows + j] * r[j]).sum::<f64>()).collect()
    }

    /// The problem with exact cones.
    pub fn cones(&self, seed: u64) -> LocalConeProblem {
        let (w, u, r) = self.solution(seed, None);
        let rows = 3 * self.contacts;
        let triplets: Vec<(usize, usize, f64)> =
            (0..rows * rows).filter(|&k| w[k] != 0.0).map(|k| (k / rows, k % rows, w[k])).collect();
        let matrix = SparseRows::from_triplets(rows, rows, &triplets).expect("finite entries");
        let cones = vec![Cone::coulomb(self.mu); self.contacts];
        LocalConeProblem::new(cones, matrix, Self::offset(&w, &u, &r)).expect("a problem")
    }

    /// The problem with pyramids of eight sides as an LCP, and its solution: for each contact the
    /// weights of the directions, the normal impulse, the sliding velocity.
    pub fn lcp(&self, seed: u64) -> (Lcp, Vec<f64>) {
        const SIDES: usize = 8;
        let (w, u, r) = self.solution(seed, Some(SIDES));
        let q = Self::offset(&w, &u, &r);
        let (rows, n) = (3 * self.contacts, (SIDES + 2) * self.contacts);
        let direction = |k: usize| {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / SIDES as f64).sin_cos();
            [cos, sin]
        };
        // Every unknown but the sliding velocity is an impulse along some rows.
        let along = |unknown: usize| -> Vec<(usize, f64)> {
            let (contact, k) = (unknown / (SIDES + 2), unknown % (SIDES + 2));
            match k {
                SIDES => vec![(3 * contact, 1.0)],
                _ if k > SIDES => Vec::new(),
                _ => (0..2).map(|axis| (3 * contact + 1 + axis, direction(k)[axis])).collect(),
            }
        };
        let rows_of: Vec<Vec<(usize, f64)>> = (0..n).map(along).collect();
        let (mut matrix, mut offset) = (vec![0.0; n * n], vec![0.0; n]);
        for i in 0..n {
            offset[i] = rows_of[i].iter().map(|&(row, a)| a * q[row]).sum();
            for j in 0..n {
                let terms = rows_of[i]
                    .iter()
                    .flat_map(|&(row, a)| rows_of[j].iter().map(move |&(column, b)| (row, column, a * b)));
                matrix[j * n + i] = terms.map(|(row, column, factor)| factor * w[row * rows + column]).sum();
            }
        }
        let mut z = vec![0.0; n];
        for contact in 0..self.contacts {
            let first = (SIDES + 2) * contact;
            let (normal, slip) = (first + SIDES, first + SIDES + 1);
            for k in 0..SIDES {
                matrix[slip * n + first + k] = 1.0;
                matrix[(first + k) * n + slip] = -1.0;
            }
            matrix[normal * n + slip] = self.mu;
            z[normal] = r[contact][0];
            let sliding = (0..SIDES).map(|k| -(direction(k)[0] * u[contact][1] + direction(k)[1] * u[contact][2]));
            z[slip] = sliding.fold(0.0, f64::max);
            let friction = r[contact][1].hypot(r[contact][2]);
            let turn = r[contact][2].atan2(r[contact][1]) / std::f64::consts::TAU * SIDES as f64;
            z[first + (turn.round() as i64).rem_euclid(SIDES as i64) as usize] = friction;
        }
        (Lcp::from_columns(matrix, offset).expect("a problem"), z)
    }
}
