//! What must hold for any contact problem. Those about its complementarity problem are in
//! `contact_lcp_properties`.

use stiction_dynamics::families::{GRAVITY, STEP, Tower};
use stiction_dynamics::{ContactMethod, ContactSolution, ContactSolver};

#[test]
fn a_tower_of_boxes_stands() {
    // Without a kick: W has a large null space, and every ratio test is a tie.
    let mut solver = ContactSolver::new(ContactMethod::default()).unwrap();
    for levels in [1, 2, 3, 5] {
        let problem = Tower { levels, kick: 0.0, ..Default::default() }.problem(0);
        let mut solution = ContactSolution::default();
        solver.solve(&problem, &mut solution).unwrap();
        assert!(solution.report.is_solved(), "{levels} levels: {:?}", solution.report);
        assert!(solution.motion.iter().all(|u| u.abs() < 1e-12), "{levels} levels stand: {:?}", solution.motion);
        for contact in &solution.contacts {
            let friction = contact.tangent[0].hypot(contact.tangent[1]);
            assert!(contact.normal >= 0.0 && friction <= 0.5 * contact.normal + 1e-12, "{levels} levels: {contact:?}");
        }
        for level in 0..levels {
            let carried: f64 = solution.contacts[4 * level..4 * level + 4].iter().map(|contact| contact.normal).sum();
            let weight = GRAVITY * STEP * (levels - level) as f64;
            assert!((carried - weight).abs() < 1e-12, "level {level} of {levels} carries {carried}, not {weight}");
        }
    }
}
