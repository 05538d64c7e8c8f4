//! The relay method of [GS05] and the pyramid with its two directions are the same law in the
//! plane.

use stiction_dynamics::PlanarRelay;
use stiction_dynamics::families::RandomContacts;

use crate::cases::{Case, TOLERANCE, family, solve_well, solver};
use crate::judge::{Scale, judge};
use crate::modes::motions;

/// Largest distance of two answers where the motion is unique, in the scale of the problem:
/// rounding, and the condition of the active contacts, with masses within a factor of four of each
/// other. The relay loses a factor of the friction coefficient, by which the difference Λ_T = Λ_R -
/// μ Λ_N is smaller than its terms.
const SAME: f64 = 1e-12;

#[test]
fn relay_and_pyramid_agree_where_the_motion_is_unique() {
    let (mut relay, mut pyramid) = (PlanarRelay::default(), solver(8, false));
    let (mut unique_count, mut several_count, mut worst) = (0, 0, 0.0f64);
    for (contact_count, seeds) in [(1, 300), (2, 500), (3, 400), (4, 300), (5, 100)] {
        for seed in 0..seeds {
            let family = RandomContacts {
                is_planar: true,
                redundant_share: 0.0,
                mass_ratio: 1.0,
                ..family(seed, contact_count)
            };
            let Case { name, problem } = &Case::new(family, seed, 2);
            let mut ours = Default::default();
            relay.solve(problem, &mut ours).unwrap();
            let violations = judge(problem, &ours, 2);
            assert!(ours.report.is_solved(), "{name}: {:?}, {violations:?}", ours.report);
            assert!(violations.largest() <= TOLERANCE, "{name}: {violations:?}");
            let theirs = solve_well(&mut pyramid, problem, 2, name);

            let Some(motions) = motions(problem, 2) else { continue };
            several_count += usize::from(motions.found.len() > 1);
            if motions.unique().is_some() {
                unique_count += 1;
                let distance = Scale::of(problem).distance(problem, &ours.motion, &theirs.motion);
                let largest_mu = problem.contacts.iter().fold(1.0f64, |largest, contact| largest.max(contact.mu));
                worst = worst.max(distance / largest_mu);
                assert!(distance <= SAME * largest_mu, "{name}: the methods differ by {distance:e}");
            }
        }
    }
    println!("{unique_count} unique motions, {several_count} problems with several; differences {worst:e}");
    assert!(unique_count > 1000 && several_count > 20, "{unique_count} unique, {several_count} with several motions");
}
