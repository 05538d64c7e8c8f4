//! Bodies and the rows of their contacts, in numbers with so few digits that sums of their products
//! are exact in `f64`.
//!
//! Masses are powers of two. Directions have [`DIRECTION_BITS`] bits and places [`PLACE_BITS`], so
//! frames are orthonormal to about a hundredth: the laws need no more. With exact numbers a known
//! solution is one to the last bit, and who says that there is none is wrong.

use stiction_dynamics::families::Generator;

/// Bits of the entries of normals and tangents.
const DIRECTION_BITS: u32 = 6;

/// Bits of the coordinates of a contact on its body.
const PLACE_BITS: u32 = 4;

/// A number of this many bits between -1 and 1.
pub fn dyadic(random: &mut Generator, bits: u32) -> f64 {
    rounded(random.uniform(-1.0, 1.0), bits)
}

/// A number between two powers of two, its exponent uniform.
pub fn power_of_two(random: &mut Generator, lowest: i32, highest: i32) -> f64 {
    f64::exp2(f64::from(lowest + random.below((highest - lowest + 1) as usize) as i32))
}

fn rounded(value: f64, bits: u32) -> f64 {
    let unit = f64::from(1u32 << bits);
    (value * unit).round() / unit
}

/// Entries of a row as (coordinate, value).
pub type Row = Vec<(usize, f64)>;

/// Bodies with six coordinates each, and three rows for each contact: normal and two tangents.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// $M^{-1}$, which is diagonal.
    pub inverse_masses: Vec<f64>,
    /// Rows of the contacts.
    pub contacts: Vec<[Row; 3]>,
}

/// How bodies and contacts lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Bodies here and there, about two contacts for each.
    Loose,
    /// The same with masses up to a million apart.
    MassRatios,
    /// Blocks on top of each other, four contacts a face.
    Tower,
    /// Blocks side by side in a slot whose walls lean.
    Wedge,
    /// Many more contacts than the bodies have freedoms, some of them repeated.
    Crowded,
    /// Thin rods that lean: pushing harder makes the contact approach.
    Rods,
}

impl Arrangement {
    /// All of them with their names.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Loose, "loose"),
        (Self::MassRatios, "mass-ratios"),
        (Self::Tower, "tower"),
        (Self::Wedge, "wedge"),
        (Self::Crowded, "crowded"),
        (Self::Rods, "rods"),
    ];

    /// About this many contacts in this arrangement.
    pub fn layout(self, contact_count: usize, random: &mut Generator) -> Layout {
        let mut layout = Layout::default();
        match self {
            Self::Loose | Self::MassRatios | Self::Rods => {
                let body_count = contact_count.div_ceil(2);
                for _ in 0..body_count {
                    let spread = if self == Self::MassRatios { 10 } else { 1 };
                    let inverse_mass = power_of_two(random, -spread, spread);
                    // An inverse radius of gyration of 4 /m in a block, 1 /m to 2 /m across a rod
                    // and 32 /m along it.
                    let gyration = if self == Self::Rods { [1.0, 2.0, 32.0] } else { [4.0, 8.0, 4.0] };
                    layout.push_body(inverse_mass, gyration.map(|g| g * inverse_mass));
                }
                for _ in 0..contact_count {
                    let first = random.below(body_count);
                    let second = (first > 0 && random.chance(0.6)).then(|| first - 1 - random.below(first.min(4)));
                    layout.push_random_contact(first, second, random);
                }
            }
            Self::Tower => {
                let levels = contact_count.div_ceil(4);
                for level in 0..levels {
                    let inverse_mass = power_of_two(random, -2, 2);
                    layout.push_body(inverse_mass, [8.0 * inverse_mass; 3]);
                    for [x, y] in CORNERS {
                        let below = level.checked_sub(1).map(|below| (below, [x, y, 0.5]));
                        layout.push_contact([0.0, 0.0, 1.0], (level, [x, y, -0.5]), below);
                    }
                }
            }
            Self::Wedge => {
                let blocks = contact_count.div_ceil(4).max(2) - 1;
                let lean = random.uniform(0.05, 0.6);
                for _ in 0..blocks {
                    layout.push_body(1.0, [8.0; 3]);
                }
                for face in 0..=blocks {
                    let (first, second, normal) = match face {
                        0 => (0, None, [lean.cos(), 0.0, lean.sin()]),
                        last if last == blocks => (last - 1, None, [-lean.cos(), 0.0, lean.sin()]),
                        face => (face, Some(face - 1), [1.0, 0.0, 0.0]),
                    };
                    let side = if face == blocks { 0.5 } else { -0.5 };
                    for [y, z] in CORNERS {
                        layout.push_contact(
                            normal,
                            (first, [side, y, z]),
                            second.map(|second| (second, [-side, y, z])),
                        );
                    }
                }
            }
            Self::Crowded => {
                let body_count = 1 + contact_count / 12;
                for _ in 0..body_count {
                    let inverse_mass = power_of_two(random, -1, 1);
                    layout.push_body(inverse_mass, [4.0 * inverse_mass; 3]);
                }
                for _ in 0..contact_count {
                    let first = random.below(body_count);
                    let second = (first > 0 && random.chance(0.5)).then(|| random.below(first));
                    layout.push_random_contact(first, second, random);
                    if random.chance(0.3) {
                        let earlier = layout.contacts[random.below(layout.contacts.len())].clone();
                        *layout.contacts.last_mut().expect("a contact was added") = earlier;
                    }
                }
            }
        }
        layout.contacts.truncate(contact_count);
        layout
    }
}

const CORNERS: [[f64; 2]; 4] = [[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5], [-0.5, -0.5]];

fn random_place(random: &mut Generator) -> [f64; 3] {
    [0; 3].map(|_| rounded(random.uniform(-0.6, 0.6), PLACE_BITS))
}

fn unit(x: [f64; 3]) -> [f64; 3] {
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.map(|x| x / norm)
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

impl Layout {
    fn push_body(&mut self, inverse_mass: f64, inverse_inertia: [f64; 3]) {
        self.inverse_masses.extend([inverse_mass; 3]);
        self.inverse_masses.extend(inverse_inertia);
    }

    fn push_random_contact(&mut self, first: usize, second: Option<usize>, random: &mut Generator) {
        let normal = [random.uniform(-0.6, 0.6), random.uniform(-0.6, 0.6), 1.0];
        let mut placed = |body: usize| (body, random_place(random));
        let first = placed(first);
        self.push_contact(normal, first, second.map(placed));
    }

    /// A contact that pushes the first body along the normal and the second one, or the ground,
    /// back: the bodies with its place on each.
    fn push_contact(&mut self, normal: [f64; 3], first: (usize, [f64; 3]), second: Option<(usize, [f64; 3])>) {
        let normal = unit(normal);
        let axis = if normal[0].abs() < 0.7 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
        let tangent = unit(cross(normal, axis));
        let frame = [normal, tangent, cross(normal, tangent)].map(|axis| axis.map(|x| rounded(x, DIRECTION_BITS)));
        let mut rows: [Row; 3] = Default::default();
        for ((body, arm), sign) in [(first, 1.0)].into_iter().chain(second.map(|second| (second, -1.0))) {
            for (row, direction) in rows.iter_mut().zip(frame) {
                let turn = cross(arm, direction);
                let entries = direction.into_iter().chain(turn).enumerate();
                row.extend(entries.filter(|(_, x)| *x != 0.0).map(|(k, x)| (6 * body + k, sign * x)));
            }
        }
        self.contacts.push(rows);
    }

    /// The same with masses and lengths in other units.
    pub fn rescale(&mut self, mass: f64, length: f64) {
        for (coordinate, inverse_mass) in self.inverse_masses.iter_mut().enumerate() {
            *inverse_mass /= if coordinate % 6 < 3 { mass } else { mass * length * length };
        }
        for entry in self.contacts.iter_mut().flatten().flatten().filter(|entry| entry.0 % 6 >= 3) {
            entry.1 *= length;
        }
    }

    /// $W = H M^{-1} H^T$, row after row.
    pub fn delassus(&self) -> Vec<f64> {
        let rows: Vec<&Row> = self.contacts.iter().flatten().collect();
        let n = rows.len();
        let mut matrix = vec![0.0; n * n];
        let mut response = vec![0.0; self.inverse_masses.len()];
        for (i, row) in rows.iter().enumerate() {
            response.fill(0.0);
            row.iter().for_each(|&(k, value)| response[k] = value * self.inverse_masses[k]);
            for (j, other) in rows.iter().enumerate() {
                matrix[i * n + j] = other.iter().map(|&(k, value)| value * response[k]).sum();
            }
        }
        matrix
    }
}
