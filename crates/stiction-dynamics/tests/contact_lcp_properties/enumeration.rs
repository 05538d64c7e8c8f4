//! Lemke's answers are among all answers, in both forms of the method.

use stiction_dynamics::families::{Generator, RandomContacts};
use stiction_dynamics::{ContactImpulse, ContactProblem, ContactSolution, StatedProblem};
use stiction_solve::{Lcp, LcpSolution, Lemke, LemkeSettings, LemkeTableau, enumerate};

use crate::cases::{Case, SAME_MOTION, TOLERANCE, family, solve_well, solver};
use crate::judge::{Scale, corners, judge, response};
use crate::modes::motions;

/// Largest LCP that is enumerated here: 4096 bases.
const LARGEST_SIZE: usize = 12;

/// Largest difference of a point from one that was enumerated, relative to the larger one of it and
/// one, in the scale of the LCP. Points are less exact than motions: their bases may be as stiff as
/// the pivot tolerance of 1e-9 allows.
const SAME_POINT: f64 = 1e-7;

/// Largest distance of the motion of an enumerated point, or of the tableau's, from the same motion
/// found otherwise, in the scale of the problem: these are not refined, and may have the residual
/// of 1e-10 that the settings admit.
const SAME_UNREFINED: f64 = 1e-8;

/// Impulses and motion of the unknowns of an LCP, which stand in the order of [ST96] (29): all β,
/// then all c_n, then all λ.
fn solution(problem: &ContactProblem, z: &[f64], directions: usize) -> ContactSolution {
    let mut solution = ContactSolution { motion: problem.free_motion.clone(), ..Default::default() };
    let mut weights = z.iter();
    for contact in &problem.contacts {
        let mut impulse = ContactImpulse { id: contact.id, ..Default::default() };
        if contact.mu > 0.0 {
            for corner in corners(contact.tangents.len(), directions) {
                let weight = weights.next().expect("a weight for every direction");
                impulse.tangent[0] += weight * corner[0];
                impulse.tangent[1] += weight * corner[1];
            }
        }
        solution.contacts.push(impulse);
    }
    for (contact, impulse) in problem.contacts.iter().zip(&mut solution.contacts) {
        impulse.normal = *weights.next().expect("a normal impulse for every contact");
        let rows = std::iter::once(&contact.normal).chain(&contact.tangents);
        for (row, size) in rows.zip(std::iter::once(impulse.normal).chain(impulse.tangent)) {
            solution.motion.iter_mut().zip(response(problem, row)).for_each(|(u, x)| *u += size * x);
        }
    }
    solution
}

/// Largest difference of two points of an LCP in its scale, relative to the size of the second.
fn difference(lcp: &Lcp, a: &[f64], b: &[f64]) -> f64 {
    let scaled = |i: usize, value: f64| value.abs() / (lcp.scaling().columns[i] * lcp.scaling().offset);
    let difference = (0..lcp.size()).map(|i| scaled(i, a[i] - b[i])).fold(0.0, f64::max);
    difference / (0..lcp.size()).map(|i| scaled(i, b[i])).fold(1.0, f64::max)
}

#[test]
fn lemke_finds_one_of_all_solutions() {
    let settings = LemkeSettings::default();
    let (mut lemke, mut tableau) = (Lemke::default(), LemkeTableau::default());
    let (mut count, mut complete_count, mut unique_count) = (0, 0, 0);
    for directions in [4, 8] {
        let mut solver = solver(directions, false);
        for (contact_count, seeds) in [(1, 400), (2, 400), (3, 300), (5, 200), (8, 200)] {
            for seed in 0..seeds {
                let frictionless_share = [0.0, 0.5, 1.0][Generator::new(seed).below(3)];
                let family = RandomContacts { frictionless_share, ..family(seed, contact_count) };
                let Case { name, problem } = &Case::new(family, seed, directions);
                let StatedProblem::Lcp(lcp) = solver.state(problem).unwrap() else { unreachable!("a pyramid") };
                if lcp.size() > LARGEST_SIZE {
                    continue;
                }
                count += 1;
                let scale = Scale::of(problem);
                let found = enumerate(&lcp, &settings).expect("it is small enough");
                let all: Vec<ContactSolution> =
                    found.solutions.iter().map(|z| solution(problem, z, directions)).collect();
                for one in &all {
                    let violations = judge(problem, one, directions);
                    assert!(violations.largest() <= TOLERANCE, "{name}: enumeration finds {violations:?}");
                }

                // Both end at a basis, and so at a point that enumeration visits, whether or not it
                // decides about all others.
                let mut revised = LcpSolution::default();
                lemke.solve(&lcp, &settings, &[], &mut revised);
                let tableau = tableau.solve(&lcp, &settings);
                let mut answers = vec![solve_well(&mut solver, problem, directions, name)];
                for (method, answer) in [("revised", &revised), ("tableau", &tableau)] {
                    assert!(answer.report.is_solved(), "{name}: {method}: {:?}", answer.report);
                    let own = solution(problem, &answer.z, directions);
                    let violations = judge(problem, &own, directions);
                    assert!(violations.largest() <= TOLERANCE, "{name}: {method}: {violations:?}");
                    let differences = found.solutions.iter().map(|z| difference(&lcp, z, &answer.z));
                    let nearest = differences.fold(f64::INFINITY, f64::min);
                    assert!(nearest <= SAME_POINT, "{name}: {method} is {nearest:e} from all {} solutions", all.len());
                    answers.push(own);
                }

                // The motion is unique where enumeration is complete and knows no other, or where
                // the modes of contact say so.
                let motions = motions(problem, directions);
                if let Some(motions) = motions.as_ref().filter(|motions| motions.is_complete) {
                    for one in all.iter().chain(&answers) {
                        let distance = motions.distance(problem, &one.motion);
                        assert!(distance <= SAME_UNREFINED, "{name}: {distance:e} from all motions");
                    }
                }
                let distance = |one: &ContactSolution| scale.distance(problem, &one.motion, &answers[0].motion);
                let is_complete = found.undecided == 0;
                complete_count += usize::from(is_complete);
                let is_unique = motions.is_some_and(|motions| motions.unique().is_some())
                    || is_complete && all.iter().all(|one| distance(one) <= SAME_UNREFINED);
                if is_unique {
                    unique_count += 1;
                    for answer in &answers[1..] {
                        let distance = distance(answer);
                        assert!(distance <= SAME_UNREFINED, "{name}: the methods differ by {distance:e}");
                    }
                }
            }
        }
    }
    println!("{count} LCPs, {complete_count} completely enumerated, {unique_count} with a unique motion");
    assert!(
        complete_count > 500 && unique_count > 1000,
        "{complete_count} complete and {unique_count} unique of {count}"
    );
}

#[test]
fn the_answer_is_among_all_motions() {
    let (mut complete_count, mut several_count) = (0, 0);
    for directions in [4, 8] {
        let mut solver = solver(directions, false);
        for (contact_count, seeds) in [(1, 400), (2, 400), (3, 80), (4, 300), (5, 300)] {
            for seed in 1000..1000 + seeds {
                let case = Case::new(family(seed, contact_count), seed, directions);
                let Some(motions) = motions(&case.problem, directions) else { continue };
                let solution = solve_well(&mut solver, &case.problem, directions, &case.name);
                if motions.is_complete {
                    let distance = motions.distance(&case.problem, &solution.motion);
                    assert!(distance <= SAME_MOTION, "{}: {distance:e} from all motions", case.name);
                    complete_count += 1;
                    several_count += usize::from(motions.found.len() > 1);
                }
            }
        }
    }
    println!("{complete_count} problems with all their motions, {several_count} with more than one");
    assert!(complete_count > 1000 && several_count > 50, "{complete_count} complete, {several_count} with several");
}
