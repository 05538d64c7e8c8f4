//! All motions of an instant by trying all modes of its contacts, each choice a linear system:
//! nothing here is shared with the formulations or their LCPs.

use stiction_dynamics::{ContactImpulse, ContactSolution, Instant, InstantContact, Row};
use stiction_solve::DenseLu;

/// What a contact may do.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Open,
    /// Pressed, its friction known by its sliding.
    Sliding,
    Sticking,
    /// Starting to slide, with the friction of a corner.
    Corner(usize),
    /// Starting to slide at right angles to a side, with a friction on it.
    Side(usize),
}

/// Violations of inequalities up to this are none, and answers closer than this are the same one.
const CLOSE: f64 = 1e-9;

/// The two corners, and sides, of friction in the plane.
const LINE: [[f64; 2]; 2] = [[1.0, 0.0], [-1.0, 0.0]];

fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

/// Largest difference of accelerations and of forces, each relative to the largest. Applied forces
/// and masses are of the order of one: where nothing acts, what is left is rounding.
pub fn distance(a: &ContactSolution, b: &ContactSolution) -> f64 {
    let forces = |s: &ContactSolution| -> Vec<f64> {
        s.contacts.iter().flat_map(|force| [force.normal].into_iter().chain(force.tangent)).collect()
    };
    let relative = |a: &[f64], b: &[f64]| {
        assert_eq!(a.len(), b.len());
        let largest = a.iter().chain(b).fold(1.0f64, |most, x| most.max(x.abs()));
        a.iter().zip(b).fold(0.0f64, |most, (a, b)| most.max((a - b).abs())) / largest
    };
    relative(&a.motion, &b.motion).max(relative(&forces(a), &forces(b)))
}

/// Accelerations and forces of an instant if there is exactly one motion; none if there are
/// several, or none, or a choice of modes is singular. The friction polygon in space is given by
/// its corners, in order.
pub fn only_motion(instant: &Instant, corners: &[[f64; 2]]) -> Option<ContactSolution> {
    let side = |i: usize| {
        let (d, e) = (corners[i], corners[(i + 1) % corners.len()]);
        let area = d[0] * e[1] - d[1] * e[0];
        [(e[1] - d[1]) / area, (d[0] - e[0]) / area]
    };
    let is_planar = instant.contacts.iter().all(|contact| contact.tangents.len() == 1);
    let sides: Vec<[f64; 2]> = if is_planar { LINE.to_vec() } else { (0..corners.len()).map(side).collect() };
    let corners = if is_planar { &LINE } else { corners };
    let modes = |contact: &InstantContact| -> Vec<Mode> {
        if contact.sliding.is_some() {
            return vec![Mode::Open, Mode::Sliding];
        }
        let mut modes = vec![Mode::Open, Mode::Sticking];
        modes.extend((0..corners.len()).map(Mode::Corner));
        modes.extend((0..if is_planar { 0 } else { sides.len() }).map(Mode::Side));
        modes
    };
    let modes: Vec<Vec<Mode>> = instant.contacts.iter().map(modes).collect();
    let problem = RatesByForces::of(instant);

    let mut found: Option<ContactSolution> = None;
    let mut choice = vec![0; modes.len()];
    loop {
        let chosen: Vec<Mode> = modes.iter().zip(&choice).map(|(modes, &i)| modes[i]).collect();
        let forces = problem.forces(instant, &chosen, corners, &sides)?;
        if problem.is_admissible(instant, &chosen, corners, &sides, &forces) {
            let solution = problem.solution(instant, &forces);
            match &found {
                Some(other) if distance(other, &solution) > CLOSE => return None,
                Some(_) => {}
                None => found = Some(solution),
            }
        }
        // The next choice of modes.
        let Some(next) = (0..choice.len()).find(|&c| choice[c] + 1 < modes[c].len()) else { return found };
        choice[..next].fill(0);
        choice[next] += 1;
    }
}

/// Rates and forces of an instant by contact: normal, first and second tangent, the second an empty
/// row in the plane.
struct RatesByForces {
    free_motion: Vec<f64>,
    /// M⁻¹ Jᵀ, row by row.
    responses: Vec<Vec<f64>>,
    /// rates = free rates + delassus · forces
    free_rates: Vec<f64>,
    delassus: Vec<Vec<f64>>,
}

impl RatesByForces {
    fn of(instant: &Instant) -> Self {
        let mut rows = Vec::new();
        for contact in &instant.contacts {
            rows.push(contact.normal.clone());
            rows.extend((0..2).map(|a| contact.tangents.get(a).cloned().unwrap_or_else(Row::new)));
        }
        let response = |row: &Row| {
            let mut dense = vec![0.0; instant.force.len()];
            row.add_to(1.0, &mut dense);
            instant.inertia.solve_in_place(&mut dense);
            dense
        };
        let responses: Vec<Vec<f64>> = rows.iter().map(response).collect();
        let mut free_motion = instant.force.clone();
        instant.inertia.solve_in_place(&mut free_motion);
        let biases = instant.contacts.iter().flat_map(|c| [c.normal_bias, c.tangent_bias[0], c.tangent_bias[1]]);
        Self {
            free_rates: rows.iter().zip(biases).map(|(row, bias)| row.dot(&free_motion) + bias).collect(),
            delassus: rows.iter().map(|row| responses.iter().map(|response| row.dot(response)).collect()).collect(),
            free_motion,
            responses,
        }
    }

    /// The forces of a choice of modes: three equations for each contact.
    fn forces(&self, instant: &Instant, modes: &[Mode], corners: &[[f64; 2]], sides: &[[f64; 2]]) -> Option<Vec<f64>> {
        let n = self.free_rates.len();
        let (mut coefficients, mut right) = (vec![vec![0.0; n]; n], vec![0.0; n]);
        // factors · rates = 0
        let no_rate = |equation: &mut Vec<f64>, right: &mut f64, factors: &[(usize, f64)]| {
            for &(row, factor) in factors {
                (0..n).for_each(|j| equation[j] += factor * self.delassus[row][j]);
                *right -= factor * self.free_rates[row];
            }
        };
        for (c, (contact, mode)) in instant.contacts.iter().zip(modes).enumerate() {
            let at = 3 * c;
            let friction = match *mode {
                Mode::Open => [0.0; 2],
                Mode::Sliding => contact.sliding?.map(|s| -contact.mu * s),
                Mode::Corner(i) => corners[i].map(|d| contact.mu * d),
                Mode::Sticking => {
                    for row in at + 1..=at + contact.tangents.len() {
                        no_rate(&mut coefficients[row], &mut right[row], &[(row, 1.0)]);
                    }
                    [0.0; 2]
                }
                Mode::Side(i) => {
                    let g = sides[i];
                    no_rate(&mut coefficients[at + 1], &mut right[at + 1], &[(at + 1, -g[1]), (at + 2, g[0])]);
                    coefficients[at + 2][at..at + 3].copy_from_slice(&[-contact.mu, g[0], g[1]]);
                    [0.0; 2]
                }
            };
            for a in 0..2 {
                let row = at + 1 + a;
                if a >= contact.tangents.len() {
                    coefficients[row][row] = 1.0;
                } else if !matches!(mode, Mode::Sticking | Mode::Side(_)) {
                    (coefficients[row][row], coefficients[row][at]) = (1.0, -friction[a]);
                }
            }
            match mode {
                Mode::Open => coefficients[at][at] = 1.0,
                _ => no_rate(&mut coefficients[at], &mut right[at], &[(at, 1.0)]),
            }
        }
        let mut lu = DenseLu::default();
        lu.factor(n, |j, column| (0..n).for_each(|i| column[i] = coefficients[i][j])).ok()?;
        lu.solve_in_place(&mut right);
        Some(right)
    }

    fn is_admissible(
        &self,
        instant: &Instant,
        modes: &[Mode],
        corners: &[[f64; 2]],
        sides: &[[f64; 2]],
        forces: &[f64],
    ) -> bool {
        let rate = |i: usize| self.free_rates[i] + self.delassus[i].iter().zip(forces).map(|(d, f)| d * f).sum::<f64>();
        modes.iter().enumerate().all(|(c, mode)| {
            let at = 3 * c;
            let bound = instant.contacts[c].mu * forces[at];
            let (friction, slip) = ([forces[at + 1], forces[at + 2]], [rate(at + 1), rate(at + 2)]);
            let is_pressed = forces[at] >= -CLOSE;
            let is_within = || sides.iter().all(|g| dot(*g, friction) <= bound + CLOSE);
            match *mode {
                Mode::Open => rate(at) >= -CLOSE,
                Mode::Sliding => is_pressed,
                Mode::Sticking => is_pressed && is_within(),
                Mode::Corner(i) => is_pressed && corners.iter().all(|d| dot(corners[i], slip) <= dot(*d, slip) + CLOSE),
                Mode::Side(i) => is_pressed && is_within() && dot(sides[i], slip) <= CLOSE,
            }
        })
    }

    fn solution(&self, instant: &Instant, forces: &[f64]) -> ContactSolution {
        let mut motion = self.free_motion.clone();
        for (response, force) in self.responses.iter().zip(forces) {
            motion.iter_mut().zip(response).for_each(|(u, w)| *u += force * w);
        }
        let contacts = instant.contacts.iter().zip(forces.chunks(3)).map(|(contact, force)| ContactImpulse {
            id: contact.id,
            normal: force[0],
            tangent: [force[1], force[2], 0.0],
        });
        ContactSolution { motion, contacts: contacts.collect(), ..Default::default() }
    }
}
