//! Problems made from a seed together with what is true of them: a solution that is known, or a
//! proof that there is none.
//!
//! A known solution comes first: a mode is drawn for each contact (it sticks, slides, is open, or
//! sits on the border between them), impulses $r$ and rates $u$ are drawn that obey the law in this
//! mode, and $q = u - W r$. All numbers have few digits, so that $q$ is mostly exact; where it is
//! not, that is known too. Sliding has directions of Pythagoras, (3, 4)/5 and the like, so that
//! norms are exact.

use stiction_dynamics::families::Generator;

use crate::double_double::DoubleDouble;
use crate::layout::{Arrangement, Layout, dyadic, power_of_two};

/// What is true of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It has a solution, to the last bit.
    Solvable,
    /// It has a solution up to the rounding of its data.
    NearlySolvable,
    /// It has none: there are weights $y \ge 0$ of rows with $y^T W = 0$ and $y^T q < 0$.
    Unsolvable,
}

/// A problem as it is handed to a solver.
#[derive(Clone, Debug)]
pub enum Statement {
    /// $u = W r + q$ with Coulomb's cone for each three rows.
    Cones { mu: Vec<f64>, delassus: Vec<f64>, offset: Vec<f64>, bodies: Option<Bodies> },
    /// The same with polygons for cones.
    Polygons { mu: Vec<f64>, delassus: Vec<f64>, offset: Vec<f64>, directions: Vec<[f64; 2]> },
    /// $0 \le z \perp M z + q \ge 0$; the matrix row after row.
    Lcp { matrix: Vec<f64>, offset: Vec<f64> },
}

/// Where $W$ and $q$ come from: $W = H M^{-1} H^T$, $q = H v + w$.
#[derive(Clone, Debug)]
pub struct Bodies {
    pub layout: Layout,
    /// $v$, without contacts.
    pub velocity: Vec<f64>,
    /// $w$.
    pub bias: Vec<f64>,
}

impl Statement {
    /// Number of contacts, or unknowns of an LCP without them.
    pub fn size(&self) -> usize {
        match self {
            Self::Cones { mu, .. } | Self::Polygons { mu, .. } => mu.len(),
            Self::Lcp { offset, .. } => offset.len(),
        }
    }
}

/// A problem and what is known of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Kind and family, for the table.
    pub family: String,
    /// Class of friction, for the table; empty without friction.
    pub friction: &'static str,
    /// Whether it is one of those that a share of which must be found: structure of contacts,
    /// ordinary scale.
    pub is_target: bool,
    /// Which quantity was multiplied, and by what power of ten; nothing for the case itself.
    pub rescaled: Option<(&'static str, i32)>,
    pub statement: Statement,
    pub truth: Truth,
    /// The known solution; tests of the soak itself look at it.
    #[cfg_attr(not(test), expect(dead_code))]
    pub known: Option<Vec<f64>>,
    /// Largest error that counts as solved.
    pub tolerance: f64,
}

impl Case {
    /// A case that is no target, without a known solution. Contacts are asked for to 1e-8, an LCP
    /// without friction to 1e-10.
    fn new(family: impl Into<String>, friction: &'static str, statement: Statement, truth: Truth) -> Self {
        let tolerance = if friction.is_empty() { 1e-10 } else { 1e-8 };
        let family = family.into();
        Self { family, friction, is_target: false, rescaled: None, statement, truth, known: None, tolerance }
    }
}

/// Most contacts of a target.
const TARGET_CONTACTS: usize = 60;

/// Classes of friction with their share of the cases.
const FRICTION: [(&str, f64); 6] =
    [("mu 0", 0.05), ("mu <= 1", 0.25), ("mu <= 2", 0.25), ("mu 5", 0.1), ("mu 10", 0.25), ("mu 1000", 0.1)];

/// Two legs of a right triangle and its hypotenuse.
const TRIANGLES: [[f64; 3]; 6] =
    [[3.0, 4.0, 5.0], [5.0, 12.0, 13.0], [8.0, 15.0, 17.0], [20.0, 21.0, 29.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]];

/// The case of a seed, and the same in other units where it is a target.
pub fn cases(seed: u64) -> Vec<Case> {
    let mut random = Generator::new(seed);
    match random.below(20) {
        0..=7 => contact_cases(true, &mut random),
        8..=11 => contact_cases(false, &mut random),
        12 => vec![squeezed(true, &mut random)],
        13 => vec![squeezed(false, &mut random)],
        14 => vec![strange_cones(&mut random)],
        15..=18 => vec![lcp(&mut random)],
        _ => vec![lcp_without_solution(&mut random)],
    }
}

fn contact_cases(is_cones: bool, random: &mut Generator) -> Vec<Case> {
    let (arrangement, name) = Arrangement::ALL[random.below(Arrangement::ALL.len())];
    let is_large = random.chance(0.03);
    let count = if is_large { 61 + random.below(60) } else { random.logarithmic(1.0, 61.0) as usize };
    let layout = arrangement.layout(count, random);
    let (friction, mu) = frictions(layout.contacts.len(), random);
    let degenerate_share = if random.chance(0.2) { 0.7 } else { 0.05 };
    let tolerance = if is_cones { [1e-8, 1e-8, 1e-8, 1e-6, 1e-4][random.below(5)] } else { 1e-8 };
    let octagon = random.chance(0.3);
    let directions = if octagon { &OCTAGON[..] } else { &OCTAGON[..4] };
    let (r, u, z) = known(is_cones, &mu, directions, degenerate_share, random);
    let velocity: Vec<f64> = layout.inverse_masses.iter().map(|_| dyadic(random, 5)).collect();
    let kind = if is_cones { "cones" } else { "polygons" };
    let family = format!("{kind} {name}{}", if is_large { " > 60" } else { "" });
    let is_target = layout.contacts.len() <= TARGET_CONTACTS;

    let make = |mass: f64, length: f64, time: f64| {
        let (speed, impulse) = (length / time, mass * length / time);
        let mut layout = layout.clone();
        layout.rescale(mass, length);
        let delassus = layout.delassus();
        let r: Vec<f64> = r.iter().map(|r| r * impulse).collect();
        let u: Vec<f64> = u.iter().map(|u| u * speed).collect();
        let (offset, mut is_exact) = offset_of(&delassus, &r, &u);
        let statement = if is_cones {
            let turn = |k: usize| if k % 6 < 3 { speed } else { speed / length };
            let velocity: Vec<f64> = velocity.iter().enumerate().map(|(k, v)| v * turn(k)).collect();
            let bias: Vec<DoubleDouble> = layout
                .contacts
                .iter()
                .flatten()
                .zip(&offset)
                .map(|(row, &q)| {
                    row.iter().fold(q.into(), |sum, &(k, value)| sum - DoubleDouble::product(value, velocity[k]))
                })
                .collect();
            is_exact &= bias.iter().all(|bias| bias.is_f64());
            let bias = bias.into_iter().map(DoubleDouble::to_f64).collect();
            Statement::Cones { mu: mu.clone(), delassus, offset, bodies: Some(Bodies { layout, velocity, bias }) }
        } else {
            Statement::Polygons { mu: mu.clone(), delassus, offset, directions: directions.to_vec() }
        };
        let known = if is_cones {
            r
        } else {
            let unknowns = directions.len() + 2;
            z.iter().enumerate().map(|(i, z)| z * if i % unknowns == unknowns - 1 { speed } else { impulse }).collect()
        };
        let truth = if is_exact { Truth::Solvable } else { Truth::NearlySolvable };
        let case = Case::new(family.clone(), friction, statement, truth);
        Case { is_target, known: Some(known), tolerance, ..case }
    };

    let mut cases = vec![make(1.0, 1.0, 1.0)];
    if is_target && random.chance(0.5) {
        let exponent = [-6, -4, -3, -2, 2, 3, 4, 6][random.below(8)];
        // The nearest power of two keeps the numbers exact.
        let factor = power_near_ten(exponent);
        let (name, case) = match random.below(3) {
            0 => ("mass", make(factor, 1.0, 1.0)),
            1 => ("length", make(1.0, factor, 1.0)),
            _ => ("time", make(1.0, 1.0, factor)),
        };
        cases.push(Case { rescaled: Some((name, exponent)), ..case });
    } else if random.chance(0.1) {
        // Far beyond ordinary units, where only the word counts.
        let exponent = [-12, -10, -8, 8, 10, 12][random.below(6)];
        let case = make(power_near_ten(exponent), 1.0, 1.0);
        cases.push(Case { family: format!("{kind} far scales"), is_target: false, ..case });
    }
    cases
}

/// The power of two next to a power of ten.
fn power_near_ten(exponent: i32) -> f64 {
    f64::exp2((f64::from(exponent) * std::f64::consts::LOG2_10).round())
}

/// Corners of a square, and those of an octagon after them.
const OCTAGON: [[f64; 2]; 8] =
    [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [0.75, 0.75], [-0.75, 0.75], [-0.75, -0.75], [0.75, -0.75]];

fn frictions(count: usize, random: &mut Generator) -> (&'static str, Vec<f64>) {
    let mut draw = random.uniform(0.0, 1.0);
    let is_drawn = |(_, share): &(&str, f64)| {
        draw -= share;
        draw < 0.0
    };
    let class = FRICTION.iter().position(is_drawn).unwrap_or(FRICTION.len() - 1);
    let mut mu = || match class {
        0 => 0.0,
        1 => dyadic(random, 6).abs(),
        2 => 2.0 * dyadic(random, 6).abs(),
        3 => 5.0,
        4 => 10.0,
        _ => 1000.0,
    };
    (FRICTION[class].0, (0..count).map(|_| mu()).collect())
}

/// Impulses and rates that obey the law, row by row, and the unknowns of the polygons: weights,
/// normal impulse and slip of each contact.
fn known(
    is_cones: bool,
    mu: &[f64],
    directions: &[[f64; 2]],
    degenerate_share: f64,
    random: &mut Generator,
) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let (mut impulses, mut rates, mut unknowns) = (Vec::new(), Vec::new(), Vec::new());
    for &mu in mu {
        let mut triangle = TRIANGLES[random.below(TRIANGLES.len())];
        (0..2).for_each(|k| triangle[k] *= if random.chance(0.5) { 1.0 } else { -1.0 });
        if random.chance(0.5) {
            triangle.swap(0, 1);
        }
        let [a, b, hypotenuse] = triangle;
        // The norm of the direction (a, b)/16 is hypotenuse/16.
        let speed = (1 + random.below(16)) as f64 / 16.0;
        let slide = [a * speed / 16.0, b * speed / 16.0];
        let normal = hypotenuse * (1 + random.below(32)) as f64 / 128.0;
        let against = mu * normal / hypotenuse;
        let at_the_bound = [-a * against, -b * against];
        let share = dyadic(random, 4);
        let rise = (1 + random.below(16)) as f64 / 16.0;
        let (r, u) = if random.chance(degenerate_share) {
            match random.below(3) {
                0 => ([0.0; 3], [0.0; 3]),                                   // touches, and that is all
                1 => ([normal, at_the_bound[0], at_the_bound[1]], [0.0; 3]), // about to slide
                _ => ([0.0; 3], [0.0, slide[0], slide[1]]),                  // slides without load
            }
        } else {
            match random.below(5) {
                0 | 1 => ([normal, share * at_the_bound[0], share * at_the_bound[1]], [0.0; 3]),
                2 | 3 => ([normal, at_the_bound[0], at_the_bound[1]], [0.0, slide[0], slide[1]]),
                _ => ([0.0; 3], [rise, slide[0], slide[1]]),
            }
        };
        if is_cones {
            impulses.extend(r);
            rates.extend(u);
            continue;
        }
        // Of a polygon: friction from one corner, that against the sliding where there is some.
        let along = |d: &[f64; 2]| -(d[0] * u[1] + d[1] * u[2]);
        let slip = directions.iter().map(along).fold(0.0, f64::max);
        let corner = if slip > 0.0 {
            directions.iter().position(|d| along(d) == slip).expect("the largest is one of them")
        } else {
            random.below(directions.len())
        };
        let is_inside = u == [0.0; 3] && r[0] > 0.0 && random.chance(0.8);
        let weight = if is_inside { share.abs() * mu * r[0] } else { mu * r[0] };
        impulses.extend([r[0], weight * directions[corner][0], weight * directions[corner][1]]);
        rates.extend(u);
        unknowns.extend((0..directions.len()).map(|d| if d == corner { weight } else { 0.0 }));
        unknowns.extend([r[0], slip]);
    }
    (impulses, rates, unknowns)
}

/// $q = u - W r$, and whether it is exact.
fn offset_of(matrix: &[f64], r: &[f64], u: &[f64]) -> (Vec<f64>, bool) {
    let n = u.len();
    let mut is_exact = true;
    let offset = (0..n).map(|i| {
        let row = &matrix[i * n..(i + 1) * n];
        let q = row.iter().zip(r).fold(DoubleDouble::from(u[i]), |sum, (&w, &r)| sum - DoubleDouble::product(w, r));
        is_exact &= q.is_f64();
        q.to_f64()
    });
    (offset.collect(), is_exact)
}

/// The same where numbers may overflow on the way, with what is true then and the solution, if it
/// is known to be one.
fn offset_in_range(matrix: &[f64], r: Vec<f64>, u: &[f64]) -> (Vec<f64>, Truth, Option<Vec<f64>>) {
    let (offset, is_exact) = offset_of(matrix, &r, u);
    let is_finite = offset.iter().chain(&r).all(|x| x.is_finite());
    let offset = if is_finite { offset } else { offset.iter().map(|q| q.clamp(-1e300, 1e300)).collect() };
    let truth = if is_exact && is_finite { Truth::Solvable } else { Truth::NearlySolvable };
    (offset, truth, is_finite.then_some(r))
}

/// Takes a problem near the ends of the range of numbers.
fn stretch(matrix: &mut [f64], r: &mut [f64], u: &mut [f64], random: &mut Generator) {
    let [w, rate] = [0; 2].map(|_| power_of_two(random, -300, 300));
    matrix.iter_mut().for_each(|value| *value *= w);
    u.iter_mut().for_each(|u| *u *= rate);
    r.iter_mut().for_each(|r| *r *= rate / w);
}

/// Adds numbers below the diagonal of a matrix, times a share, and takes them away above it.
fn add_skew(matrix: &mut [f64], n: usize, share: f64, random: &mut Generator) {
    for i in 0..n {
        for j in 0..i {
            let skew = dyadic(random, 5) * share;
            matrix[i * n + j] += skew;
            matrix[j * n + i] -= skew;
        }
    }
}

/// Contacts that press one body from all sides while they close in on it.
fn squeezed(is_cones: bool, random: &mut Generator) -> Case {
    let count = 2 + random.below(16);
    let mut layout = Arrangement::Loose.layout(count, random);
    let (friction, mut mu) = frictions(layout.contacts.len(), random);
    let pressing = 2 + random.below(3);
    let first = layout.contacts.len();
    let body = random.below(layout.inverse_masses.len() / 6);
    let mut weights = Vec::new();
    for _ in 0..pressing {
        let rows = [0; 3].map(|_| (0..6).map(|k| (6 * body + k, dyadic(random, 5))).collect::<Vec<_>>());
        layout.contacts.push(rows);
        mu.push(mu[0]);
        weights.push(power_of_two(random, -1, 1));
    }
    // The last normal balances the others: the weights y have yᵀ W = 0.
    let last = weights[pressing - 1];
    let balance = (0..6).map(|k| {
        let sum: f64 = (0..pressing - 1).map(|i| weights[i] * layout.contacts[first + i][0][k].1).sum();
        (6 * body + k, -sum / last)
    });
    layout.contacts[first + pressing - 1][0] = balance.collect();
    let delassus = layout.delassus();
    let mut offset: Vec<f64> = (0..3 * layout.contacts.len()).map(|_| dyadic(random, 5)).collect();
    // And yᵀ q = -closing.
    let closing = f64::exp2(-(random.below(10) as f64));
    let sum: f64 = (0..pressing - 1).map(|i| weights[i] * offset[3 * (first + i)]).sum();
    offset[3 * (first + pressing - 1)] = -(closing + sum) / last;
    let (kind, statement) = if is_cones {
        let velocity = vec![0.0; layout.inverse_masses.len()];
        let bodies = Some(Bodies { layout, velocity, bias: offset.clone() });
        ("cones", Statement::Cones { mu, delassus, offset, bodies })
    } else {
        ("polygons", Statement::Polygons { mu, delassus, offset, directions: OCTAGON[..4].to_vec() })
    };
    Case::new(format!("{kind} squeezed"), friction, statement, Truth::Unsolvable)
}

/// Cones over matrices that no bodies have: indefinite, not symmetric, of rank one, of any size.
fn strange_cones(random: &mut Generator) -> Case {
    let count = 1 + random.below(20);
    let (friction, mu) = frictions(count, random);
    let n = 3 * count;
    let (name, mut delassus) = match random.below(4) {
        0 => {
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..=i {
                    let value = dyadic(random, 5);
                    (matrix[i * n + j], matrix[j * n + i]) = (value, value);
                }
            }
            ("indefinite", matrix)
        }
        1 => {
            let mut matrix = Arrangement::Loose.layout(count, random).delassus();
            add_skew(&mut matrix, n, 0.25, random);
            ("not symmetric", matrix)
        }
        2 => {
            let x: Vec<f64> = (0..n).map(|_| dyadic(random, 5)).collect();
            ("rank one", (0..n * n).map(|k| x[k / n] * x[k % n]).collect())
        }
        _ => {
            let mut matrix = vec![0.0; n * n];
            (0..n).for_each(|i| matrix[i * n + i] = if random.chance(0.6) { 0.0 } else { power_of_two(random, -8, 8) });
            ("diagonal", matrix)
        }
    };
    let (mut r, mut u, _) = known(true, &mu, &OCTAGON, 0.2, random);
    let mut family = format!("cones {name}");
    if random.chance(0.15) {
        stretch(&mut delassus, &mut r, &mut u, random);
        family = "cones end of range".into();
    }
    let (offset, truth, known) = offset_in_range(&delassus, r, &u);
    Case { known, ..Case::new(family, friction, Statement::Cones { mu, delassus, offset, bodies: None }, truth) }
}

/// An LCP without structure of contacts.
fn lcp(random: &mut Generator) -> Case {
    let n = if random.chance(0.6) { 1 + random.below(10) } else { 1 + random.below(40) };
    let mut tolerance = 1e-10;
    let square = |random: &mut Generator, spread: i32| {
        let (rows, bits) = (n, if spread > 0 { 3 } else { 5 });
        let factors: Vec<f64> = (0..rows * n).map(|_| dyadic(random, bits)).collect();
        let weights: Vec<f64> = (0..rows).map(|_| power_of_two(random, -spread, 0)).collect();
        let entry = |i: usize, j: usize| (0..rows).map(|k| factors[k * n + i] * weights[k] * factors[k * n + j]).sum();
        (0..n * n).map(|k| entry(k / n, k % n)).collect::<Vec<f64>>()
    };
    let (name, mut matrix) = match random.below(6) {
        0 => ("definite", square(random, 0)),
        1 => ("ill-conditioned", square(random, 24)),
        2 => {
            let mut matrix = square(random, 0);
            add_skew(&mut matrix, n, 1.0, random);
            ("not symmetric", matrix)
        }
        3 => ("indefinite", (0..n * n).map(|_| dyadic(random, 5)).collect()),
        4 => ("nonnegative", (0..n * n).map(|_| dyadic(random, 5).abs()).collect()),
        _ => {
            tolerance = [1e-14, 1e-17][random.below(2)];
            ("tight tolerance", square(random, 0))
        }
    };
    let mut family = format!("lcp {name}");
    let degenerate_share = if random.chance(0.3) { 0.4 } else { 0.05 };
    let (mut z, mut w) = (vec![0.0; n], vec![0.0; n]);
    for i in 0..n {
        let value = (1 + random.below(32)) as f64 / 16.0;
        if !random.chance(degenerate_share) {
            if random.chance(0.5) { z[i] = value } else { w[i] = value }
        }
    }
    if random.chance(0.1) {
        stretch(&mut matrix, &mut z, &mut w, random);
        family = "lcp end of range".into();
    }
    let (offset, truth, known) = offset_in_range(&matrix, z, &w);
    Case { known, tolerance, ..Case::new(family, "", Statement::Lcp { matrix, offset }, truth) }
}

/// An LCP with weights $y \ge 0$, $M^T y \le 0$, $q^T y < 0$.
fn lcp_without_solution(random: &mut Generator) -> Case {
    let n = 1 + random.below(16);
    let mut matrix: Vec<f64> = (0..n * n).map(|_| dyadic(random, 5)).collect();
    let mut offset: Vec<f64> = (0..n).map(|_| dyadic(random, 5)).collect();
    let weights: Vec<f64> =
        (0..n).map(|_| if random.chance(0.3) { 0.0 } else { power_of_two(random, -2, 2) }).collect();
    let last = n - 1;
    for j in 0..n {
        let slack = if random.chance(0.5) { 0.0 } else { dyadic(random, 5).abs() };
        let sum: f64 = (0..last).map(|i| weights[i] * matrix[i * n + j]).sum();
        matrix[last * n + j] = -(sum + slack);
    }
    let sum: f64 = (0..last).map(|i| weights[i] * offset[i]).sum();
    offset[last] = -(sum + f64::exp2(-(random.below(16) as f64)));
    Case::new("lcp without solution", "", Statement::Lcp { matrix, offset }, Truth::Unsolvable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::judge;

    #[test]
    fn known_solutions_are_solutions_to_the_last_bit_or_to_rounding() {
        let (mut exact, mut rounded) = (0, 0);
        for seed in 0..400 {
            for case in cases(seed) {
                let Some(known) = &case.known else { continue };
                let errors = judge(&case.statement, known);
                if case.truth == Truth::Solvable {
                    exact += 1;
                    // Nothing but the rounding of the judge itself, which has twice the digits.
                    assert!(errors.unscaled <= 1e-10 * errors.rounding, "seed {seed}: {} {errors:?}", case.family);
                } else {
                    rounded += 1;
                    assert!(errors.unscaled <= errors.rounding, "seed {seed}: {} {errors:?}", case.family);
                }
            }
        }
        assert!(exact > 10 * rounded, "{exact} exact, {rounded} rounded");
    }
}
