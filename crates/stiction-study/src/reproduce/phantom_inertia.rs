//! \[PKF\]: the full-rank problem with phantom inertia, on a particle and on an arm; the paper
//! itself prints no numbers.

use stiction_dynamics::reference::{TurningAxes, pushed_particle, touching_arm};
use stiction_dynamics::{
    ContactProblem, ExactCone, ExactConeSettings, PhantomContact, PhantomInertia, PhantomInertiaSettings,
};
use stiction_solve::LemkeSettings;

use super::*;
use crate::figure::Stroke;

/// The experiment.
pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "phantom-inertia",
    title: "[PKF] a particle and an arm by the full-rank problem",
    remarks: &[
        "The paper gives the formulation and no numbers; the reference is an independent implementation. σ₋ is paired with κ₊ and σ₊ with κ₋: the other pairing does not dissipate.",
        "The phantom inertia ρ does not change the motion: every case is solved for ρ from 1e-3 to 1e3.",
        "Without it (ρ = 0) the problem lacks a rank of one for every line, and not only for lines that depend on each other, as the paper has it: the columns of κ₊ and κ₋ are opposite. With two lines the motion is still the same; more are refused.",
        "The paper's μ is the static coefficient. With a smaller one for sliding, a motion exists wherever one with that coefficient alone does, but it is not unique: where a contact is held by more than kinetic friction, it could slide as well. Such steps are counted.",
        "Γ(t) turns the axes of the velocities; the motion is that of fixed axes, in the event-driven scheme to rounding and in others to their order.",
    ],
    run: reproduce,
};

/// Values of $\rho$: chosen by the method, and over six decades.
const RHO: [Option<f64>; 5] = [None, Some(1e-3), Some(1.0), Some(30.0), Some(1e3)];

/// Digits of the reference.
const DIGITS: i32 = 12;

/// An instant: its name, its problem, and the number of lines; and what an independent
/// implementation found for it: acceleration, normal force and friction. How well these are known,
/// where it is less than by all digits.
type Case = (&'static str, ContactProblem, usize, [f64; 3], f64, &'static [f64], Option<f64>);

fn cases() -> [Case; 4] {
    let slides = touching_arm([2.5, -6.93351193466, -4.4635185093]);
    let sticks = touching_arm([0.0, -6.93351193466, -1.4635185093]);
    let pushed = [0.53164123828, 0.53164123828, 0.0];
    let by_four = [0.501355341892, 1.40559476629, -3.88610006491];
    let by_eight = [0.801983156161, 1.35029665402, -3.73321531973];
    let rest = [0.0; 3];
    [
        ("A: particle, k = 4", particle(), 4, pushed, 19.62, &[-7.93671752344, -5.93671752344], None),
        (
            "B: arm slides, k = 4",
            slides.clone(),
            4,
            by_four,
            10.2557951064,
            &[6.15347706382, -1.47186474041],
            Some(1e-10),
        ),
        ("B: arm slides, k = 8", slides, 8, by_eight, 10.2203786659, &[], Some(1e-10)),
        ("C: arm sticks", sticks, 4, rest, 10.4761370884, &[-3.47982133478, -1.07643488101], None),
    ]
}

/// The particle of case A.
fn particle() -> ContactProblem {
    pushed_particle(2.0, [9.0, 7.0, -19.62])
}

/// The method with so many lines, and this phantom inertia or one of its choice.
fn method(lines: usize, rho: Option<f64>) -> Result<PhantomInertia, ReproduceError> {
    Ok(PhantomInertia::new(PhantomInertiaSettings { lines, rho, ..Default::default() })?)
}

/// Solves a problem, which feeds the rows that follow.
fn solve(
    rows: &mut Rows,
    mut method: PhantomInertia,
    problem: &ContactProblem,
) -> Result<ContactSolution, ReproduceError> {
    let mut solution = ContactSolution::default();
    method.solve(problem, &mut solution)?;
    rows.solved(&solution);
    Ok(solution)
}

/// The problem of the particle with four lines and this phantom inertia: its condition, and its
/// solution.
fn particle_lcp(rho: f64) -> Result<(f64, Vec<f64>), ReproduceError> {
    let lcp = method(4, Some(rho))?.lcp(&particle())?;
    let values = lcp.matrix().singular_values().unwrap_or_default();
    let condition = values.first().zip(values.last()).map_or(f64::NAN, |(largest, least)| largest / least);
    Ok((condition, lcp.solve(&LemkeSettings::default()).z))
}

/// All cases with every phantom inertia.
fn add_cases(rows: &mut Rows) -> Result<(), ReproduceError> {
    for (name, problem, lines, acceleration, normal, friction, accuracy) in cases() {
        rows.progress(name);
        for rho in RHO {
            let ContactSolution { motion, contacts, .. } = solve(rows, method(lines, rho)?, &problem)?;
            let rho = rho.map_or_else(|| "ρ chosen".to_owned(), |rho| format!("ρ = {rho}"));
            let names = ["acceleration 1", "acceleration 2", "acceleration 3", "normal force, N"];
            let names = names.into_iter().chain(["friction force 1, N", "friction force 2, N"]);
            let expected = acceleration.iter().chain([&normal]).chain(friction);
            let found = motion.iter().chain([&contacts[0].normal]).chain(&contacts[0].tangent);
            for ((quantity, expected), found) in names.zip(expected).zip(found) {
                let tolerance = accuracy.map_or(significant(DIGITS, *expected), Measured);
                rows.add(format!("{name}, {rho}: {quantity}"), *expected, *found, tolerance);
            }
        }
    }
    Ok(())
}

/// What the particle shows beside its motion: the sliding along the lines, the rank of the problem,
/// and the exact cone.
fn add_particle(rows: &mut Rows) -> Result<(), ReproduceError> {
    let (condition, z) = particle_lcp(1.0)?;
    // The normal force, then sliding along the lines forwards, then backwards.
    rows.add("A: sliding κ₂₊, ρ = 1", 0.751854249492, z[2], Printed(DIGITS));
    let others = (1..9).filter(|k| *k != 2).fold(0.0f64, |most, k| most.max(z[k]));
    rows.add("A: largest other κ, ρ = 1", 0.0, others, Rounding);
    // As far as the digits of the reference go: 25 and 2e7.
    rows.add_between("A: condition of the problem, ρ = 1", (24.5, 25.5), condition);
    rows.add_between("A: condition of the problem, ρ = 1e-6", (1.5e7, 2.5e7), particle_lcp(1e-6)?.0);
    let mut solution = ContactSolution::default();
    ExactCone::new(ExactConeSettings::default())?.solve(&particle(), &mut solution)?;
    rows.solved(&solution);
    let of = |number: &str| format!("A: particle, exact cone: acceleration {number}");
    let expected = [0.628227373769, 0.488621290709, 0.0];
    rows.add_each(of, &["1", "2", "3"], &expected, &solution.motion, Printed(DIGITS));
    Ok(())
}

/// The saturations of a line, and the force along it: (2) and (3), from the rows of the problem
/// itself.
struct Saturations {
    /// Friction force.
    force: [f64; 2],
    /// Sliding along the lines, forwards and backwards.
    kappa: [Vec<f64>; 2],
    sigma_plus: Vec<f64>,
    sigma_minus: Vec<f64>,
}

/// Number of lines, and of the one that Figure 1 shows: at 45 degrees.
const LINES: usize = 4;
const SHOWN: usize = 1;

/// The particle pushed along the floor with this force, by four lines and ρ = 1.
fn saturations(rows: &mut Rows, push: [f64; 2]) -> Result<Saturations, ReproduceError> {
    let problem = pushed_particle(2.0, [push[0], push[1], -19.62]);
    let lcp = method(LINES, Some(1.0))?.lcp(&problem)?;
    let z = lcp.solve(&LemkeSettings::default()).z;
    let row = |i: usize| lcp.offset()[i] + (0..z.len()).map(|j| lcp.matrix()[(i, j)] * z[j]).sum::<f64>();
    let [x, y, _] = solve(rows, method(LINES, Some(1.0))?, &problem)?.contacts[0].tangent;
    Ok(Saturations {
        force: [x, y],
        kappa: [z[1..=LINES].to_vec(), z[LINES + 1..].to_vec()],
        sigma_minus: (1..=LINES).map(row).collect(),
        sigma_plus: (LINES + 1..=2 * LINES).map(row).collect(),
    })
}

/// Pushes of Figure 1: the particle sticks, and it begins to slide along the line that is shown.
const PUSHES: [(&str, [f64; 2]); 2] = [("sticks", [5.0, 2.0]), ("begins to slide", [9.0, 7.0])];

/// The numbers of Figure 1 against (2), (3): μ λ_n = 9.81 N, and e is (1, 1)/√2.
fn add_saturations(rows: &mut Rows) -> Result<(), ReproduceError> {
    let along = 7.0 / std::f64::consts::SQRT_2;
    let kappa = (8.0 - 9.81 / std::f64::consts::SQRT_2) / std::f64::consts::SQRT_2;
    let expected = [[9.81 + along, 9.81 - along, 0.0, 0.0], [2.0 * 9.81 + kappa, 0.0, kappa, 0.0]];
    let names = ["saturation σ₊ (2), N", "saturation σ₋ (3), N", "sliding κ₊, m/s²", "largest κ₋, m/s²"];
    for ((name, push), expected) in PUSHES.into_iter().zip(expected) {
        let Saturations { kappa: [forwards, backwards], sigma_plus, sigma_minus, .. } = saturations(rows, push)?;
        let other = backwards.iter().fold(0.0f64, |most, kappa| most.max(*kappa));
        let found = [sigma_plus[SHOWN], sigma_minus[SHOWN], forwards[SHOWN], other];
        rows.add_each(|quantity| format!("Figure 1, {name}: {quantity}"), &names, &expected, &found, Rounding);
    }
    Ok(())
}

/// Without phantom inertia: what the rank loses, and that the motion of two lines is the same.
/// Lines and inertia by contact.
fn add_variants(rows: &mut Rows) -> Result<(), ReproduceError> {
    let mut motions = Vec::new();
    for (rho, expected) in [(0.0, 3.0), (1.0, 5.0)] {
        let values = method(2, Some(rho))?.lcp(&particle())?.matrix().singular_values().unwrap_or_default();
        let rank = values.iter().filter(|value| **value > 1e-12 * values[0]).count();
        let quantity = format!("A: rank of the 5 × 5 problem of two lines, ρ = {rho}");
        rows.add(quantity, expected, rank as f64, Exact);
        motions.push(solve(rows, method(2, Some(rho))?, &particle())?.motion);
    }
    // 9 and 7 N along the two lines, and 9.81 N is the bound of each: the square holds the
    // particle.
    for (i, motion) in motions.iter().enumerate() {
        rows.add(format!("A: particle, k = 2, ρ = {i}: acceleration 1"), 0.0, motion[0], Rounding);
    }
    let refused = method(4, Some(0.0))?.solve(&particle(), &mut ContactSolution::default()).is_err();
    rows.add("A: four lines with ρ = 0 are refused (1: yes)", 1.0, f64::from(u8::from(refused)), Exact);
    let mut own = particle();
    own.contacts[0].phantom = PhantomContact { lines: Some(4), rho: Some(0.5) };
    let acceleration = solve(rows, method(2, None)?, &own)?.motion[0];
    let quantity = "A: particle, k = 4 and ρ = 0.5 of the contact itself: acceleration 1";
    rows.add(quantity, 0.53164123828, acceleration, Measured(1e-12));
    Ok(())
}

/// The configuration map Γ(q, t) of the paper, where it depends on time: a particle with spring and
/// friction, its velocities along axes that turn.
fn add_turning_axes(rows: &mut Rows) -> Result<(), ReproduceError> {
    // Where it ends, along fixed axes.
    let end = |rows: &mut Rows, rate: f64, name: &str, step: f64| {
        let system = TurningAxes { mass: 2.0, gravity: 9.81, stiffness: 5.0, mu: 0.2, rate };
        let start = State::new(0.0, vec![0.5, 0.0, 0.0], vec![1.8, 2.4, 0.0]);
        let method = ContactMethod::Cone(ExactConeSettings::default());
        let mut simulation = simulation(system, &scheme(name), method, start, (step, 0.6))?;
        rows.run(&mut simulation, |_, _| {})?;
        Ok::<_, ReproduceError>(simulation.state().q.clone())
    };
    let fixed = end(rows, 0.0, "event-driven", 0.1)?;
    let turned = end(rows, 3.0, "event-driven", 0.1)?;
    let of = |number: &str| format!("Γ(t), axes turn by 3 rad/s, event-driven: position {number}, m");
    rows.add_each(of, &["1", "2"], &fixed, &turned, Rounding);
    let mut errors = Vec::new();
    for step in [8e-3, 4e-3, 2e-3] {
        let found = end(rows, 3.0, "trapezoidal", step)?;
        errors.push((step, (found[0] - fixed[0]).hypot(found[1] - fixed[1])));
    }
    rows.add_between("Γ(t), trapezoidal: order", (1.9, 2.1), fitted_order(&errors));
    Ok(())
}

/// Static friction is confined to its cone, kinetic friction is known: with a coefficient each,
/// stick and slip in closed form. A block of 2 kg on a belt, held by a spring of 50 N/m.
fn add_two_coefficients(rows: &mut Rows) -> Result<(), ReproduceError> {
    let (static_mu, mu, g, omega, speed) = (0.6, 0.4, 9.81, 5.0f64, 0.2);
    let first = static_mu * g / (omega * omega * speed);
    let amplitude = (static_mu - mu) * g / (omega * omega);
    let slide = (std::f64::consts::TAU - 2.0 * (amplitude * omega / speed).atan()) / omega;
    let period = slide + 2.0 * amplitude / speed;
    let end = first + 2.5 * period;
    let mut simulation = scene_of(&format!(
        "format = 1\nname = \"belt\"\nrun = {{ step = 0.05, end = {end:?} }}\nscheme = {{ event-driven = {{}} }}\n[system]\n\
         coordinates = [\"x\", \"y\"]\nmass = [[2.0, 0.0], [0.0, 2.0]]\nstiffness = [[50.0, 0.0], [0.0, 0.0]]\n\
         force = [0.0, -19.62]\nstart = {{ velocity = [{speed:?}, 0.0] }}\n[[system.contact]]\nname = \"belt\"\ngap = 0.0\n\
         normal = [0.0, 1.0]\ntangents = [[1.0, 0.0]]\ntangent-drift = [{:?}]\nfriction = {mu:?}\nstatic-friction = {static_mu:?}\n",
        -speed
    ))?;
    // When it breaks away.
    let (mut times, mut was_stuck) = (Vec::new(), true);
    let audit = rows.run(&mut simulation, |simulation, _| {
        let is_stuck = (simulation.state().v[0] - speed).abs() < 1e-9;
        if was_stuck && !is_stuck {
            times.push(simulation.before().t);
        }
        was_stuck = is_stuck;
    })?;
    let time = |i: usize| times.get(i).copied().unwrap_or(f64::NAN);
    let of = |what: &str| format!("static and kinetic friction: {what}");
    rows.add(of("breaks away at μ_s N, s"), first, time(0), Rounding);
    rows.add(of("period of stick and slip, s"), period, time(2) - time(1), Rounding);
    let several = f64::from(u8::from(audit.held_count > 0));
    rows.add(of("steps with a second solution are found (1: yes)"), 1.0, several, Exact);
    Ok(())
}

/// Figure 1 of the paper: the friction polygon, the line that is shown, and the saturations on it.
fn figure_one(rows: &mut Rows) -> Result<(), ReproduceError> {
    let bound = 9.81;
    let e = [std::f64::consts::FRAC_1_SQRT_2; 2];
    // A point at a distance along the line that is shown, and another one across it.
    let point = |along: f64, across: f64| (along * e[0] - across * e[1], along * e[1] + across * e[0]);
    let dashed = |outline: Outline| Outline {
        stroke: Some(Stroke { colour: Colour::GREY, width: 1.0, dashed: true }),
        ..outline
    };
    let mark =
        |at, text: &str, anchor, colour| Mark { at, text: text.to_owned(), anchor, colour, ..Default::default() };
    let mut panels = Vec::new();
    for (title, push) in PUSHES {
        let found = saturations(rows, push)?;
        let mut polygon: Curve = method(LINES, None)?.corners(2).iter().map(|c| (bound * c[0], bound * c[1])).collect();
        polygon.push(polygon[0]);
        let [x, y] = found.force;
        let (along, across) = (x * e[0] + y * e[1], -x * e[1] + y * e[0]);
        let (plus, minus, kappa) = (found.sigma_plus[SHOWN], found.sigma_minus[SHOWN], found.kappa[0][SHOWN]);
        // The saturations reach from the force to either bound, and ρ κ₊ beyond; drawn beside the
        // line.
        let beside =
            |from: f64, to: f64, across: f64, colour| line(vec![point(from, across), point(to, across)], colour, 2.5);
        let mut outlines = vec![
            dashed(Outline::disc((0.0, 0.0), bound)),
            line(vec![point(-1.4 * bound, 0.0), point(1.4 * bound, 0.0)], Colour::GREY, 1.0),
            dashed(line(vec![(x, y), point(along, 0.0)], Colour::GREY, 1.0)),
            beside(along, along + plus, 2.8, Colour::BLUE),
        ];
        let mut marks = vec![
            mark(point(along + 0.5 * plus, 2.8), "σ₊", Anchor::AboveLeft, Colour::BLUE),
            mark((x, y), "friction", Anchor::BelowRight, Colour::INK),
            mark(point(1.4 * bound, 0.0), "e", Anchor::BelowRight, Colour::GREY),
        ];
        if minus > 1e-9 {
            outlines.push(beside(along - minus, along, -1.6, Colour::VERMILLION));
            let at = point(along - 0.5 * minus, -1.6);
            marks.push(mark(at, "σ₋", Anchor::BelowRight, Colour::VERMILLION));
        } else {
            marks.push(mark(point(along, across - 1.6), "σ₋ = 0", Anchor::BelowLeft, Colour::VERMILLION));
        }
        if kappa > 0.0 {
            outlines.push(line(vec![(0.0, 0.0), point(6.0 * kappa, 0.0)], Colour::GREEN, 3.0));
            marks.push(mark(point(3.0 * kappa, 0.0), "6 κ₊", Anchor::BelowRight, Colour::GREEN));
        }
        let force = coloured("friction force", vec![(0.0, 0.0), (x, y)], Colour::INK);
        let series = vec![coloured("polygon", polygon, Colour::INK), Series { width: 3.0, ..force }];
        let title = format!("The particle {title}");
        panels.push(Panel {
            equal_aspect: true,
            x_range: Some((-1.5 * bound, 1.5 * bound)),
            outlines,
            marks,
            legend: Legend::Hidden,
            ..panel(title, "friction along the first tangent, N", "along the second, N", series)
        });
    }
    let subtitle = "Particle of 2 kg, four lines, ρ = 1 kg. Once it slides, σ₊ reaches ρ κ₊ beyond the bound";
    let title = "Figure 1: the discretised friction model";
    rows.figure("phantom-inertia-model", title, subtitle, (2, 960, 560), panels);
    Ok(())
}

/// What the paper claims, in a picture: the problem has full rank for almost every phantom inertia.
fn figure(rows: &mut Rows) -> Result<(), ReproduceError> {
    let mut conditions = Vec::new();
    let points = rows.full_or(1800, 180);
    for k in 0..=points {
        let rho = 10f64.powf(-6.0 + 9.0 * f64::from(k) / f64::from(points));
        conditions.push((rho, particle_lcp(rho)?.0));
    }
    let (x_label, y_label) = ("phantom inertia ρ, kg", "largest by smallest singular value");
    let condition = panel("Condition of the problem", x_label, y_label, vec![curve("", conditions)]);
    let panels = vec![Panel { log_x: true, log_y: true, ..condition }];
    let subtitle = "Particle of case A, four lines. The paper has no figure of this; at ρ = 8 kg the rank is lost, which it leaves out";
    let title = "Phantom inertia gives the problem full rank";
    rows.figure("phantom-inertia", title, subtitle, (1, 760, 430), panels);
    Ok(())
}

fn reproduce(rows: &mut Rows) -> Result<(), ReproduceError> {
    add_cases(rows)?;
    add_particle(rows)?;
    add_saturations(rows)?;
    add_variants(rows)?;
    rows.progress("axes that turn");
    add_turning_axes(rows)?;
    add_two_coefficients(rows)?;
    figure_one(rows)?;
    figure(rows)
}
