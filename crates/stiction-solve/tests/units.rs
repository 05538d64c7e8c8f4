//! A problem in other units is the same problem. Where the ratios of the units are powers of two,
//! its data are so to the last bit, and then methods must take the same way: the same number of
//! steps, and the same answer to the last bit. So a solution that is found in one system of units
//! is found in all of them.

use stiction_solve::cone::{Cone, ConeSettings, ConeSolver, GlobalConeProblem, LocalConeProblem, SparseRows};
use stiction_solve::{ContactLcp, ContactLcpData, FrictionGroup, LcpSolution, Lemke, LemkeProblem, LemkeSettings};

/// What masses, lengths and times are multiplied by. Odd powers of two have no root among powers of
/// two.
#[derive(Clone, Copy, Debug)]
struct Units {
    mass: f64,
    length: f64,
    time: f64,
}

const BASE: Units = Units { mass: 1.0, length: 1.0, time: 1.0 };

const OTHERS: [Units; 7] = [
    Units { mass: 0.5, ..BASE },
    Units { mass: 1.0 / 1048576.0, ..BASE },
    Units { mass: 8192.0, ..BASE },
    Units { length: 1.0 / 1024.0, ..BASE },
    Units { length: 524288.0, ..BASE },
    Units { time: 1.0 / 128.0, ..BASE },
    Units { mass: 2048.0, length: 1.0 / 128.0, time: 32768.0 },
];

impl Units {
    fn speed(self) -> f64 {
        self.length / self.time
    }

    fn impulse(self) -> f64 {
        self.mass * self.speed()
    }
}

/// Bodies with six coordinates each and contacts between them, in meters, kilograms and seconds.
struct Scene {
    masses: Vec<f64>,
    velocities: Vec<f64>,
    /// Three rows with the entries of one body or two.
    contacts: Vec<[Vec<(usize, f64)>; 3]>,
    mu: f64,
}

impl Scene {
    fn new(seed: u64, body_count: usize, contact_count: usize, mu: f64) -> Self {
        let mut state = seed;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        let mut scene = Self { masses: Vec::new(), velocities: Vec::new(), contacts: Vec::new(), mu };
        for _ in 0..body_count {
            let mass = 1.5 + random();
            scene.masses.extend([1.0, 1.0, 1.0, 0.1, 0.2, 0.15].map(|factor| factor * mass));
            scene.velocities.extend([random(), random(), random() - 1.5, random(), random(), random()]);
        }
        for number in 0..contact_count {
            let first = number % body_count;
            let second = if number % 3 == 0 { None } else { first.checked_sub(1) };
            let (lean, turn) = (0.4 * random(), 0.4 * random());
            let frame = [[lean, turn, 1.0], [1.0, 0.0, -lean], [0.0, 1.0, -turn]];
            let mut rows: [Vec<(usize, f64)>; 3] = Default::default();
            for (body, sign) in [(Some(first), 1.0), (second, -1.0)] {
                let Some(body) = body else { continue };
                let arm = [0.5 * random(), 0.5 * random(), 0.5 * random()];
                for (row, axis) in rows.iter_mut().zip(frame) {
                    let turn: [f64; 3] = std::array::from_fn(|k| {
                        arm[(k + 1) % 3] * axis[(k + 2) % 3] - arm[(k + 2) % 3] * axis[(k + 1) % 3]
                    });
                    row.extend(axis.into_iter().chain(turn).enumerate().map(|(k, x)| (6 * body + k, sign * x)));
                }
            }
            scene.contacts.push(rows);
        }
        scene
    }

    fn row_count(&self) -> usize {
        3 * self.contacts.len()
    }

    fn global(&self, units: Units) -> GlobalConeProblem {
        let is_turn = |k: usize| k % 6 >= 3;
        let mut problem = GlobalConeProblem::default();
        problem.clear(self.masses.len());
        for (k, (mass, velocity)) in self.masses.iter().zip(&self.velocities).enumerate() {
            let arm = if is_turn(k) { units.length } else { 1.0 };
            problem.push_mass(k, k, mass * units.mass * arm * arm);
            problem.force_mut()[k] = mass * velocity * units.impulse() * arm;
        }
        for rows in &self.contacts {
            let entry = |&(k, value): &(usize, f64)| (k, if is_turn(k) { value * units.length } else { value });
            problem.push_contact(Cone::coulomb(self.mu), rows.iter().map(|row| row.iter().map(entry)), [0.0; 3]);
        }
        problem
    }

    /// $W$, row after row, and $q$.
    fn delassus(&self, units: Units) -> (Vec<f64>, Vec<f64>) {
        let rows: Vec<&Vec<(usize, f64)>> = self.contacts.iter().flatten().collect();
        let entry = |a: &[(usize, f64)], b: &[(usize, f64)]| -> f64 {
            let products = a.iter().flat_map(|x| b.iter().filter(|y| y.0 == x.0).map(move |y| (x.0, x.1 * y.1)));
            products.map(|(k, product)| product / self.masses[k]).sum()
        };
        let matrix = rows.iter().flat_map(|a| rows.iter().map(move |b| entry(a, b) / units.mass)).collect();
        let rate = |row: &&Vec<(usize, f64)>| row.iter().map(|&(k, x)| x * self.velocities[k]).sum::<f64>();
        (matrix, rows.iter().map(|row| rate(row) * units.speed()).collect())
    }

    fn local(&self, units: Units) -> LocalConeProblem {
        let (matrix, offset) = self.delassus(units);
        let mut rows = SparseRows::new(offset.len());
        for row in matrix.chunks_exact(offset.len()) {
            rows.push_row(row.iter().copied().enumerate().filter(|(_, value)| *value != 0.0));
        }
        LocalConeProblem::new(vec![Cone::coulomb(self.mu); self.contacts.len()], rows, offset).unwrap()
    }

    fn polygons(&self, units: Units) -> ContactLcp {
        let (delassus, free_rates) = self.delassus(units);
        let group = |i: usize| FrictionGroup {
            normal: Some(3 * i),
            tangent: 3 * i + 1,
            tangent_count: 2,
            directions: 0..4,
            mu: self.mu,
            bound: 0.0,
        };
        let directions = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]];
        let groups = (0..self.contacts.len()).map(group).collect();
        ContactLcp::new(ContactLcpData { delassus, free_rates, groups, directions }).unwrap()
    }
}

fn scenes() -> impl Iterator<Item = Scene> {
    (0..6).flat_map(|seed| [0.5, 2.0, 10.0].map(|mu| Scene::new(seed, 4, 10 + 2 * seed as usize, mu)))
}

#[test]
fn cones_in_other_units_are_solved_by_the_same_steps() {
    let settings = ConeSettings::default();
    let mut methods = Vec::new();
    for scene in scenes() {
        let solve_global =
            |units| ConeSolver::default().solve_global(&scene.global(units), &settings, None).unwrap().clone();
        let solve_local = |units| ConeSolver::default().solve_local(&scene.local(units), &settings, None).clone();
        for solve in [&solve_global as &dyn Fn(Units) -> _, &solve_local] {
            let own = solve(BASE);
            assert!(own.impulses.len() == scene.row_count() && own.report.is_solved(), "{:?}", own.report);
            methods.extend(own.report.stages.iter().map(|stage| stage.method));
            for units in OTHERS {
                let other = solve(units);
                let impulses: Vec<f64> = own.impulses.iter().map(|r| r * units.impulse()).collect();
                assert_eq!(other.impulses, impulses, "{units:?}");
                // The other error depends on units by its definition.
                assert_eq!(other.report.errors.scaled, own.report.errors.scaled, "{units:?}");
                assert_eq!(other.report.stages, own.report.stages, "{units:?}");
            }
        }
    }
    methods.dedup();
    assert!(methods.len() > 20, "the problems are not all easy: {methods:?}");
}

#[test]
fn polygons_in_other_units_are_solved_by_the_same_pivots() {
    let settings = LemkeSettings::default();
    for scene in scenes() {
        let solve = |units| {
            let problem = scene.polygons(units);
            let mut solution = LcpSolution::default();
            Lemke::default().solve(&problem.to_lcp().unwrap(), &settings, &[], &mut solution);
            let mut impulses = vec![0.0; scene.row_count()];
            problem.impulses(&solution.z, &mut impulses);
            (impulses, solution.report)
        };
        let (own, report) = solve(BASE);
        assert!(report.is_solved(), "{report:?}");
        for units in OTHERS {
            let (impulses, other) = solve(units);
            assert_eq!(impulses, own.iter().map(|r| r * units.impulse()).collect::<Vec<f64>>(), "{units:?}");
            assert_eq!(other, report, "{units:?}");
        }
    }
}
