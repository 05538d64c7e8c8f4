//! Forces and accelerations of an instant: three formulations of one law agree wherever the motion
//! is unique, and what none of them can treat is refused with its name.

mod modes;

use stiction_dynamics::families::Generator;
use stiction_dynamics::reference::painleve_rod;
use stiction_dynamics::{
    ContactError, ContactId, ContactSolution, Directions, Instant, InstantContact, PhantomInertia,
    PhantomInertiaSettings, PlanarRelay, PyramidSettings, Row,
};

use crate::modes::{distance, only_motion};

/// Largest difference of two answers, relative to the largest acceleration and the largest force of
/// the instant. Entries of rows and masses are of the order of one, so that it is rounding times
/// the condition of a few contacts.
const SAME: f64 = 1e-12;

/// Contacts of a random instant.
struct Family {
    coordinates: usize,
    tangents: usize,
    resting: usize,
    sliding: usize,
    lines: usize,
}

impl Family {
    /// Random rows over all coordinates, more of them than rows: so motion and forces determine
    /// each other.
    fn instant(&self, random: &mut Generator) -> Instant {
        let n = self.coordinates;
        let masses: Vec<f64> = (0..n).map(|_| random.uniform(0.5, 2.0)).collect();
        let mut instant = Instant { force: (0..n).map(|_| random.uniform(-3.0, 3.0)).collect(), ..Default::default() };
        instant.inertia.set_diagonal(&masses);
        instant.inertia.factor().unwrap();
        let row =
            |random: &mut Generator| Row::from_dense(&(0..n).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<_>>());
        for (place, number) in random.permutation(self.resting + self.sliding).into_iter().enumerate() {
            let angle = random.uniform(0.0, std::f64::consts::TAU);
            let direction = match self.tangents {
                1 => [angle.cos().signum(), 0.0],
                _ => [angle.cos(), angle.sin()],
            };
            instant.contacts.push(InstantContact {
                id: ContactId::number(place as u32),
                normal: row(random),
                normal_bias: random.uniform(-1.5, 0.5),
                tangents: (0..self.tangents).map(|_| row(random)).collect(),
                tangent_bias: random.vector(1.0),
                mu: random.uniform(0.05, 0.8),
                sliding: (number < self.sliding).then_some(direction),
                ..Default::default()
            });
        }
        instant
    }

    fn phantom(&self) -> PhantomInertia {
        let settings = PhantomInertiaSettings { lines: self.lines, ..Default::default() };
        PhantomInertia::new(settings).unwrap()
    }

    /// The pyramid over the same polygon.
    fn pyramid(&self) -> PyramidSettings {
        let directions = Directions::Given(self.phantom().corners(2).to_vec());
        PyramidSettings { directions, ..Default::default() }
    }
}

/// What the contacts of unique motions do.
#[derive(Debug, Default)]
struct Seen {
    unique: usize,
    open: usize,
    sticking: usize,
    slipping: usize,
    pressed_while_sliding: usize,
    worst: f64,
}

impl Seen {
    fn count(&mut self, instant: &Instant, solution: &ContactSolution) {
        for (contact, force) in instant.contacts.iter().zip(&solution.contacts) {
            let slip =
                contact.tangents.iter().zip(contact.tangent_bias).map(|(row, bias)| row.dot(&solution.motion) + bias);
            let kind = match contact.sliding {
                _ if force.normal == 0.0 => &mut self.open,
                Some(_) => &mut self.pressed_while_sliding,
                None if slip.fold(0.0, f64::hypot) < 1e-9 => &mut self.sticking,
                None => &mut self.slipping,
            };
            *kind += 1;
        }
    }

    /// Compares the answers of the methods with the only motion, where there is only one.
    fn compare(&mut self, family: &Family, instant: &Instant, answers: &[(&str, ContactSolution)], name: &str) {
        let Some(only) = only_motion(instant, family.phantom().corners(2)) else { return };
        self.unique += 1;
        self.count(instant, &only);
        for (method, answer) in answers {
            assert!(answer.report.is_solved(), "{name}, {method}: {:?}", answer.report);
            let distance = distance(answer, &only);
            assert!(distance <= SAME, "{name}: {method} differs by {distance:e}");
            self.worst = self.worst.max(distance);
        }
    }

    fn assert_rich(&self) {
        println!("{self:?}");
        let Self { unique, open, sticking, slipping, pressed_while_sliding, .. } = *self;
        assert!(unique > 400, "{self:?}");
        assert!(open.min(sticking).min(slipping).min(pressed_while_sliding) > 100, "{self:?}");
    }
}

#[test]
fn pyramid_relay_and_phantom_inertia_agree_in_the_plane() {
    let mut random = Generator::new(21);
    let mut seen = Seen::default();
    // One method each for all instants, so that the relay and phantom inertia also start from where
    // the last one ended.
    let (mut relay, mut warm) = (PlanarRelay::default(), None);
    for number in 0..1000 {
        let family = Family { coordinates: 9, tangents: 1, resting: number % 4, sliding: (number / 4) % 4, lines: 2 };
        let instant = family.instant(&mut random);
        let answers = [
            ("pyramid", instant.solve_pyramid(&PyramidSettings::default()).unwrap()),
            ("relay", instant.solve_relay(&mut PlanarRelay::default()).unwrap()),
            ("relay, warm", instant.solve_relay(&mut relay).unwrap()),
            ("phantom inertia", instant.solve_phantom(&mut family.phantom()).unwrap()),
            ("phantom inertia, warm", instant.solve_phantom(warm.get_or_insert_with(|| family.phantom())).unwrap()),
        ];
        seen.compare(&family, &instant, &answers, &format!("instant {number}"));
    }
    seen.assert_rich();
}

#[test]
fn pyramid_and_phantom_inertia_agree_in_space() {
    let mut random = Generator::new(22);
    let mut seen = Seen::default();
    for number in 0..1000 {
        let (lines, resting, sliding) =
            [(2, 1, 1), (2, 2, 2), (2, 3, 0), (3, 1, 2), (3, 2, 1), (4, 1, 3), (4, 2, 0), (5, 1, 2)][number % 8];
        let family = Family { coordinates: 12, tangents: 2, resting, sliding, lines };
        let instant = family.instant(&mut random);
        let answers = [
            ("pyramid", instant.solve_pyramid(&family.pyramid()).unwrap()),
            ("phantom inertia", instant.solve_phantom(&mut family.phantom()).unwrap()),
        ];
        seen.compare(&family, &instant, &answers, &format!("instant {number}"));
    }
    seen.assert_rich();
}

#[test]
fn sliding_contacts_in_space_are_treated_by_the_relay_too() {
    // Their friction is known, so that only the normal forces are asked for.
    let mut random = Generator::new(23);
    let mut compared = 0;
    for number in 0..100 {
        let family = Family { coordinates: 9, tangents: 2, resting: 0, sliding: 3, lines: 2 };
        let instant = family.instant(&mut random);
        let motions = instant.motions(&family.phantom()).unwrap().unwrap();
        let relay = instant.solve_relay(&mut PlanarRelay::default()).unwrap();
        match &motions.solutions[..] {
            _ if motions.undecided > 0 => {}
            [] => assert!(!relay.report.is_solved(), "instant {number} has no solution"),
            [only] => {
                assert!(relay.report.is_solved() && distance(&relay, only) <= SAME, "instant {number}");
                compared += 1;
            }
            several => assert!(several.iter().any(|one| distance(&relay, one) <= SAME), "instant {number}"),
        }
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn the_relay_finds_a_motion_of_the_rod_or_says_that_there_is_none() {
    let steep = 2.0f64.atan();
    let left = Some([-1.0, 0.0]);
    for (instant, known) in [
        (painleve_rod(30f64.to_radians(), 0.5, 0.0, 0.0, left), &[3.772379109606][..]),
        (painleve_rod(steep, 2.0, 0.0, 0.0, left), &[]),
        (painleve_rod(steep, 2.0, 4.0, 0.0, left), &[0.0, 5.626043819998]),
        (painleve_rod(steep, 2.0, 3.5, -40.0, None), &[0.0, 1.433416362, 9.381766910]),
    ] {
        let solution = instant.solve_relay(&mut PlanarRelay::default()).unwrap();
        assert_eq!(solution.report.is_solved(), !known.is_empty(), "{:?}", solution.report);
        let normal = solution.contacts[0].normal;
        // The printed numbers have nine decimals or more.
        assert!(known.is_empty() || known.iter().any(|force| (force - normal).abs() < 1e-9), "{normal}, not {known:?}");
    }
}

/// What each method says about an instant.
fn errors(instant: &Instant) -> [(&'static str, Result<ContactSolution, ContactError>); 4] {
    let mut phantom = PhantomInertia::new(PhantomInertiaSettings::default()).unwrap();
    [
        ("pyramid", instant.solve_pyramid(&PyramidSettings::default())),
        ("relay", instant.solve_relay(&mut PlanarRelay::default())),
        ("phantom inertia", instant.solve_phantom(&mut phantom)),
        ("enumeration", instant.motions(&phantom).map(|_| ContactSolution::default())),
    ]
}

#[test]
fn malformed_instants_are_refused_by_every_method_with_the_value() {
    let rod = |sliding| painleve_rod(0.5, 0.5, 0.0, 0.0, sliding);
    let changed = |sliding: Option<[f64; 2]>, change: &dyn Fn(&mut Instant)| {
        let mut instant = rod(sliding);
        instant.contacts[0].id = ContactId::number(7);
        change(&mut instant);
        instant
    };
    let mut cases: Vec<(Instant, Vec<&str>)> = Vec::new();
    for sliding in [None, Some([-1.0, 0.0])] {
        for (mu, text) in [(-0.2, "is -0.2"), (f64::NAN, "is NaN"), (f64::INFINITY, "is inf")] {
            let instant = changed(sliding, &|instant| instant.contacts[0].mu = mu);
            cases.push((instant, vec!["feature: 7", "friction coefficient", text, "finite and not negative"]));
        }
        let instant = changed(sliding, &|instant| instant.contacts[0].normal.push(3, 1.0));
        cases.push((instant, vec!["feature: 7", "velocity coordinate 3, but there are only 3"]));
        let instant = changed(sliding, &|instant| instant.contacts[0].tangents[0].push(5, 1.0));
        cases.push((instant, vec!["feature: 7", "velocity coordinate 5, but there are only 3"]));
        let instant = changed(sliding, &|instant| instant.force.truncate(2));
        cases.push((instant, vec!["the mass matrix has 3 entries", "2 velocity coordinates"]));
        let instant = changed(sliding, &|instant| instant.force[1] = f64::NAN);
        cases.push((instant, vec!["NaN", "must be finite"]));
        let instant = changed(sliding, &|instant| instant.contacts[0].normal_bias = f64::INFINITY);
        cases.push((instant, vec!["inf", "must be finite"]));
        let instant = changed(sliding, &|instant| instant.contacts[0].tangents.clear());
        cases.push((instant, vec!["feature: 7", "0 tangent rows"]));
    }
    for s in [[0.5, 0.0], [0.0, 0.0], [1.1, 0.0], [f64::NAN, 0.0], [f64::INFINITY, 0.0]] {
        let instant = changed(Some(s), &|_| ());
        cases.push((instant, vec!["feature: 7", "which is not a unit vector"]));
    }
    for (instant, parts) in &cases {
        for (method, result) in errors(instant) {
            let text = result.expect_err(method).to_string();
            for part in parts {
                assert!(text.contains(part), "{method}: `{part}` is missing in {text}");
            }
        }
    }
}

#[test]
fn a_contact_in_space_that_rests_is_refused_by_the_relay_alone() {
    let mut instant = painleve_rod(0.5, 0.5, 0.0, 0.0, None);
    instant.contacts[0].id = ContactId::number(7);
    instant.contacts[0].tangents.push(Row::from_dense(&[0.0, 0.0, 1.0]));
    for (method, result) in errors(&instant) {
        match (method, result) {
            ("relay", Err(error)) => {
                let text = error.to_string();
                for part in
                    ["feature: 7", "friction along 2 tangent rows", "planar-relay", "the pyramid method one or two"]
                {
                    assert!(text.contains(part), "{text}");
                }
            }
            ("relay", Ok(_)) => panic!("the relay cannot treat it"),
            (_, result) => drop(result.expect(method)),
        }
    }
    // Sliding it is, and without friction.
    instant.contacts[0].sliding = Some([0.6, 0.8]);
    assert!(instant.solve_relay(&mut PlanarRelay::default()).is_ok());
    (instant.contacts[0].sliding, instant.contacts[0].mu) = (None, 0.0);
    assert!(instant.solve_relay(&mut PlanarRelay::default()).is_ok());
}

#[test]
fn a_negative_phantom_inertia_is_refused_before_any_instant() {
    for rho in [-1.0, f64::NAN, f64::INFINITY] {
        let settings = PhantomInertiaSettings { rho: Some(rho), ..Default::default() };
        let text = PhantomInertia::new(settings).unwrap_err().to_string();
        assert!(text.contains(&format!("rho is {rho} kg, and must be finite and not negative")), "{text}");
    }
}

#[test]
fn the_phantom_inertia_does_not_matter_to_an_instant_with_sliding_contacts() {
    let mut random = Generator::new(24);
    let family = Family { coordinates: 12, tangents: 2, resting: 2, sliding: 2, lines: 3 };
    let mut compared = 0;
    for number in 0..60 {
        let instant = family.instant(&mut random);
        let Some(only) = only_motion(&instant, family.phantom().corners(2)) else { continue };
        for rho in [1e-3, 0.1, 1.0, 10.0, 1e3] {
            let settings = PhantomInertiaSettings { lines: 3, rho: Some(rho), ..Default::default() };
            let solution = instant.solve_phantom(&mut PhantomInertia::new(settings).unwrap()).unwrap();
            let distance = distance(&solution, &only);
            assert!(solution.report.is_solved() && distance < 1e-10, "instant {number}, ρ = {rho}: {distance:e}");
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared}");
}
