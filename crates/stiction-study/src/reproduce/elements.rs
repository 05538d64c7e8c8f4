//! Elements that the papers describe in a sentence, each against a closed form, scheme by scheme.
//!
//! | element | paper | closed form |
//! |---|---|---|
//! | clutch | \[GS05\] (2) on velocity level | stops after $v^2 / 2a$, and holds with the force that drives it back |
//! | pre-stressed spring | \[GS05\] (3) on displacement level | holds what is below its preload; let go at 1 m it falls with its preload over its mass |
//! | spatial relay | \[GS05\] §6 | limit $\mu N$ along a corner of the polygon, $\mu N \cos(\pi / k)$ along the middle of a side |
//! | friction without a load | \[ST96\] §3.5, remark | acceleration $f + P_K(-f)$ from rest: friction is the point of the set nearest to $-f$, and stays it |
//! | set of a user | \[TTP01\] §2 (iii)′ | the same with $\mu N K$ |
//! | two coefficients | \[PKF\] | below $\mu_s N$ it rests; once it moves, $f - \mu_k N$ drives it |

use std::sync::Arc;

use stiction_dynamics::{
    Contact, ConvexSet, ExactConeSettings, FrictionElement, FrictionLaw, FrictionShape, Inertia, Row,
};

use super::*;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "elements",
    title: "clutches, pre-stressed springs, relays, friction sets, two coefficients: every scheme against closed forms",
    remarks: &[
        "Motions begin at rest or go straight, and forces are constant, so that velocities are exact in every scheme. Schemes that take the velocity at the end of a step for the \
         whole of it lag by half a step in position: the closed form is that of the steps, and is exact too.",
        "What a scheme or a method does not treat it refuses by name: `trapezoidal` and `event-driven` clutches and pre-stressed springs, `event-driven` all sets that are not round.",
    ],
    run: reproduce,
};

/// Schemes that treat clutches and pre-stressed springs.
const ONE_WAY: [&str; 3] = ["stewart-trinkle", "moreau-midpoint", "implicit-ncp"];

/// Those that step in time.
const STEPPING: [&str; 4] = ["stewart-trinkle", "moreau-midpoint", "implicit-ncp", "trapezoidal"];

/// All of them.
const ALL: [&str; 5] = ["stewart-trinkle", "moreau-midpoint", "implicit-ncp", "trapezoidal", "event-driven"];

/// Step of all runs, in seconds: a power of two, so that times are exact.
const H: f64 = 1.0 / 64.0;

/// By how much a scheme that takes velocities at the end of its steps lags where a constant force
/// takes `v` away or adds it.
fn lag(scheme: &str, v: f64) -> f64 {
    if ["stewart-trinkle", "implicit-ncp"].contains(&scheme) { 0.5 * v * H } else { 0.0 }
}

/// Runs a system of matrices, given without its head, to this time.
fn run(rows: &mut Rows, scheme: &str, end: f64, rest: &str) -> Result<Simulation, ReproduceError> {
    let head =
        format!("format = 1\nname = \"element\"\nrun = {{ step = {H:?}, end = {end:?} }}\nscheme.{scheme} = {{}}\n");
    let mut simulation = scene_of(&(head + rest))?;
    rows.run(&mut simulation, |_, _| {})?;
    Ok(simulation)
}

/// One coordinate with 1 kg.
fn one(force: f64, velocity: f64, position: f64) -> String {
    format!(
        "[system]\ncoordinates = [\"x\"]\nmass = [[1.0]]\nforce = [{force:?}]\n\
         start = {{ position = [{position:?}], velocity = [{velocity:?}] }}\n"
    )
}

fn add_clutch(rows: &mut Rows) -> Result<(), ReproduceError> {
    rows.paper = "GS05";
    for scheme in ONE_WAY {
        // 2 m/s against 4 N: after 0.5 s and 0.5 m it would turn around.
        let text = format!("{}[[system.clutch]]\nname = \"ratchet\"\nrow = [1.0]\n", one(-4.0, 2.0, 0.0));
        let simulation = run(rows, scheme, 2.0, &text)?;
        let force = simulation.last_step().solution.contacts[0].normal / H;
        let expected = 0.5 - lag(scheme, 2.0);
        rows.add(format!("clutch: stops at, m ({scheme})"), expected, simulation.state().q[0], Rounding);
        rows.add(format!("clutch: holds with, N ({scheme})"), 4.0, force, Rounding);
    }
    Ok(())
}

fn add_spring(rows: &mut Rows) -> Result<(), ReproduceError> {
    let spring = "[[system.pre-stressed-spring]]\nname = \"spring\"\nrow = [1.0]\npreload = 2.0\n";
    for scheme in ONE_WAY {
        let simulation = run(rows, scheme, 1.0, &format!("{}{spring}", one(1.5, 0.0, 0.0)))?;
        let force = simulation.last_step().solution.friction[0][0] / H;
        rows.add(format!("pre-stressed spring: holds 1.5 N with, N ({scheme})"), -1.5, force, Rounding);
        let simulation = run(rows, scheme, 0.5, &format!("{}{spring}", one(0.0, 0.0, 1.0)))?;
        let quantity = format!("pre-stressed spring: let go at 1 m, after 0.5 s at, m ({scheme})");
        rows.add(quantity, 0.75 - lag(scheme, 1.0), simulation.state().q[0], Rounding);
    }
    Ok(())
}

fn add_spatial_relay(rows: &mut Rows) -> Result<(), ReproduceError> {
    let (m, g, mu, push) = (2.0, 9.81, 0.4, 10.0);
    for scheme in STEPPING {
        for (name, angle, share) in
            [("a corner", 0.25, 1.0), ("the middle of a side", 0.125, (std::f64::consts::PI / 8.0).cos())]
        {
            let (sine, cosine) = (angle * std::f64::consts::PI).sin_cos();
            let text = format!(
                "method.spatial-relay = {{ directions = 8 }}\n[system]\ncoordinates = [\"x\", \"y\", \"z\"]\n\
                 mass = [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]\nforce = [{:?}, {:?}, {:?}]\n\
                 [[system.contact]]\nname = \"ground\"\ngap = 0.0\nnormal = [0.0, 0.0, 1.0]\n\
                 tangents = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]\nfriction = {mu:?}\n",
                push * cosine,
                push * sine,
                -m * g
            );
            let simulation = run(rows, scheme, 1.0, &text)?;
            let v = &simulation.state().v;
            let quantity = format!("spatial relay: pushed along {name} of the octagon, m/s after 1 s ({scheme})");
            rows.add(quantity, (push - mu * m * g * share) / m, cosine * v[0] + sine * v[1], Rounding);
        }
    }
    Ok(())
}

/// All points up to 0.7 from the segment between ± 0.5 along (0.8, 0.6): a stadium.
#[derive(Debug)]
struct Stadium;

impl Stadium {
    const AXIS: [f64; 2] = [0.8, 0.6];
    const HALF: f64 = 0.5;
    const RADIUS: f64 = 0.7;
}

impl ConvexSet for Stadium {
    fn farthest(&self, d: &[f64; 3]) -> [f64; 3] {
        let length = d[0].hypot(d[1]);
        if length == 0.0 {
            return [0.0; 3];
        }
        let side = Self::HALF * (d[0] * Self::AXIS[0] + d[1] * Self::AXIS[1]).signum();
        let point = |k: usize| side * Self::AXIS[k] + Self::RADIUS * d[k] / length;
        [point(0), point(1), 0.0]
    }
    fn nearest(&self, x: &[f64; 3]) -> [f64; 3] {
        let along = (x[0] * Self::AXIS[0] + x[1] * Self::AXIS[1]).clamp(-Self::HALF, Self::HALF);
        let away = [0, 1].map(|k| x[k] - along * Self::AXIS[k]);
        let distance = away[0].hypot(away[1]);
        let share = if distance > Self::RADIUS { Self::RADIUS / distance } else { 1.0 };
        [along * Self::AXIS[0] + share * away[0], along * Self::AXIS[1] + share * away[1], 0.0]
    }
}

/// A body of 1 kg that is pushed over a table: with friction by its weight, or by a bound of its
/// own.
struct Pushed {
    push: [f64; 2],
    friction: FrictionLaw,
    element: Option<(f64, FrictionShape)>,
}

const G: f64 = 9.81;

impl Pushed {
    fn tangents() -> [Row; 2] {
        [Row::from_dense(&[1.0, 0.0, 0.0]), Row::from_dense(&[0.0, 1.0, 0.0])]
    }
}

impl MechanicalSystem for Pushed {
    fn velocity_count(&self) -> usize {
        3
    }
    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        out.set_diagonal(&[1.0; 3]);
    }
    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], k: &mut [f64]) {
        k.copy_from_slice(&[self.push[0], self.push[1], -G]);
    }
    fn contacts(&self, _t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        if q[2] <= horizon {
            out.push(Contact {
                gap: q[2],
                normal: Row::from_dense(&[0.0, 0.0, 1.0]),
                tangents: Self::tangents().into_iter().collect(),
                friction: self.friction.clone(),
                ..Default::default()
            });
        }
    }
    fn friction_elements(&self, _t: f64, _q: &[f64], out: &mut Vec<FrictionElement>) {
        if let Some((bound, shape)) = self.element.clone() {
            out.push(FrictionElement {
                tangents: Self::tangents().into_iter().collect(),
                bound,
                shape,
                ..Default::default()
            });
        }
    }
}

/// A stadium as friction set: of a contact, [TTP01], and of friction without a load, [ST96].
fn add_user_set(rows: &mut Rows) -> Result<(), ReproduceError> {
    let (mu, push, bound) = (0.3, [5.0, -1.0], 3.0);
    let law = FrictionLaw::convex(mu, [1.0; 3], Arc::new(Stadium))
        .map_err(|error| ContactError::Directions(error.to_string()))?;
    for (paper, name, bound) in [("TTP01", "on a contact", mu * G), ("ST96", "without a load", bound)] {
        rows.paper = paper;
        let nearest = Stadium.nearest(&[-push[0] / bound, -push[1] / bound, 0.0]);
        for name_of_scheme in STEPPING {
            let system = match paper {
                "TTP01" => Pushed { push, friction: law.clone(), element: None },
                _ => Pushed { push, friction: FrictionLaw::None, element: Some((bound, law.shape())) },
            };
            let start = State::new(0.0, vec![0.0; 3], vec![0.0; 3]);
            // The method `cone` takes sets of users.
            let method = ContactMethod::Cone(ExactConeSettings::default());
            let mut simulation = simulation(system, &scheme(name_of_scheme), method, start, (H, 1.0))?;
            rows.run(&mut simulation, |_, _| {})?;
            let of = |axis: &str| format!("a user's stadium {name}: {axis} velocity after 1 s, m/s ({name_of_scheme})");
            let expected = [0, 1].map(|k| push[k] + bound * nearest[k]);
            rows.add_each(of, &["x", "y"], &expected, &simulation.state().v, Rounding);
        }
    }
    Ok(())
}

/// Friction without a load in a polygon that is not its own reflection.
fn add_polytope(rows: &mut Rows) -> Result<(), ReproduceError> {
    rows.paper = "ST96";
    // A triangle: to the left its corner (1, 0) holds, to the right the side x = -0.5; under (2, 5)
    // the side between (-0.5, 0.5) and (-0.5, -1) holds its lower corner.
    let triangle = "friction-directions = [[1, 0], [-0.5, 0.5], [-0.5, -1]]";
    for scheme in STEPPING {
        for (push, expected) in [([-3.0, 0.0], [-2.0, 0.0]), ([3.0, 0.0], [2.5, 0.0]), ([2.0, 5.0], [1.5, 4.0])] {
            let text = format!(
                "method.pyramid = {{}}\n[system]\ncoordinates = [\"x\", \"y\"]\nmass = [[1.0, 0.0], [0.0, 1.0]]\nforce = {push:?}\n\
                 [[system.dry-friction]]\nname = \"pad\"\ntangents = [[1.0, 0.0], [0.0, 1.0]]\nbound = 1.0\n{triangle}\n"
            );
            let simulation = run(rows, scheme, 1.0, &text)?;
            let v = &simulation.state().v;
            // The larger component, with the other one as its error.
            let k = usize::from(push[1] > push[0]);
            let off = (v[1 - k] - expected[1 - k]).abs();
            let quantity = format!("a triangle without a load: velocity under {push:?} N after 1 s, m/s ({scheme})");
            rows.add(quantity, expected[k], v[k] + off, Rounding);
        }
    }
    Ok(())
}

fn add_two_coefficients(rows: &mut Rows) -> Result<(), ReproduceError> {
    rows.paper = "PKF";
    let (m, g, mu, held) = (2.0, 9.81, 0.4, 0.6);
    // Between the two limits, 7.848 and 11.772 N.
    let push = 10.0;
    for scheme in ALL {
        for (name, start, expected) in [("rests", 0.0, 0.0), ("slides", 0.3, 0.3 + (push - mu * m * g) / m)] {
            let contact = format!(
                "[system]\ncoordinates = [\"x\", \"y\"]\nmass = [[2.0, 0.0], [0.0, 2.0]]\nforce = [{push:?}, {:?}]\n\
                 start = {{ velocity = [{start:?}, 0.0] }}\n[[system.contact]]\nname = \"ground\"\ngap = 0.0\n\
                 normal = [0.0, 1.0]\ntangents = [[1.0, 0.0]]\nfriction = {mu:?}\nstatic-friction = {held:?}\n",
                -m * g
            );
            let element = format!(
                "[system]\ncoordinates = [\"x\"]\nmass = [[2.0]]\nforce = [{push:?}]\nstart = {{ velocity = [{start:?}] }}\n\
                 [[system.dry-friction]]\nname = \"pad\"\ntangents = [[1.0]]\nbound = {:?}\nstatic-bound = {:?}\n",
                mu * m * g,
                held * m * g
            );
            for (what, text) in [("two coefficients", contact), ("two bounds without a load", element)] {
                let simulation = run(rows, scheme, 1.0, &text)?;
                let quantity = format!("{what}: what {name} goes after 1 s with, m/s ({scheme})");
                rows.add(quantity, expected, simulation.state().v[0], Rounding);
            }
        }
    }
    Ok(())
}

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    rows.progress("clutches and pre-stressed springs");
    add_clutch(rows)?;
    add_spring(rows)?;
    rows.progress("spatial relays");
    add_spatial_relay(rows)?;
    rows.progress("friction sets");
    add_polytope(rows)?;
    add_user_set(rows)?;
    rows.progress("two coefficients");
    add_two_coefficients(rows)
}
