//! Starts from polyhedral cones: Lemke's method on pyramids that turn towards the sliding of the
//! last ones.
//!
//! A pyramid of a few sides in place of each cone makes the problem an LCP, and Lemke's method
//! follows its path where Newton's method and smoothed paths end: with much friction, and where
//! bodies are wedged. But it slides along the sides of its pyramids only. So each contact that
//! slides gets its pyramid turned, one side against its sliding, and the LCP is solved once more;
//! with each turn the sliding is nearer to that of the cone. Every answer is a start for Newton's
//! method.

use super::island::Island;
use super::law::LawKind;
use super::space::Space;
use crate::PortableMath as _;
use crate::{ContactLcp, ContactLcpData, FrictionGroup, LcpSolution, Lemke, LemkeSettings};

/// Contacts up to which the matrix is written out and pivoted on.
pub(crate) const CONTACT_LIMIT: usize = 100;

/// How a sequence of pyramids begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PyramidStart {
    /// Number of sides.
    pub sides: usize,
    /// The part of the angle between two sides by which all are turned.
    pub part: f64,
    /// The first covering vector of Lemke's method.
    pub covering: usize,
}

/// The sequence of pyramids of an island.
pub(crate) struct Pyramids {
    lemke: Lemke,
    data: ContactLcpData,
    solution: LcpSolution,
    covering: usize,
    basis: Vec<bool>,
    /// Contacts that slide, and the angle against their sliding.
    is_turned: Vec<bool>,
    angles: Vec<f64>,
}

impl Pyramids {
    /// The pyramids of an island; none where it is too large, or has joints or torsion.
    pub fn new<const D: usize>(space: &mut impl Space<D>, island: &mut Island<D>) -> Option<Self> {
        let count = space.laws().len();
        let is_plain = |kind: LawKind| kind == LawKind::Contact;
        if !(2..=3).contains(&D) || count > CONTACT_LIMIT || !space.laws().iter().all(|law| is_plain(law.kind)) {
            return None;
        }
        let mut data = ContactLcpData { delassus: island.write_out(space), ..Default::default() };
        data.free_rates.extend_from_slice(island.centre.as_flattened());
        for (contact, law) in space.laws().iter().enumerate() {
            let has_friction = law.mu > 0.0 || law.bound > 0.0;
            data.groups.push(FrictionGroup {
                normal: Some(contact * D),
                tangent: contact * D + 1,
                tangent_count: if has_friction { D - 1 } else { 0 },
                directions: 0..0,
                mu: law.mu,
                bound: law.bound,
            });
        }
        Some(Self {
            lemke: Lemke::default(),
            data,
            solution: LcpSolution::default(),
            covering: 0,
            basis: Vec::new(),
            is_turned: vec![false; count],
            angles: vec![0.0; count],
        })
    }

    /// Sets all pyramids anew: another start.
    pub fn begin(&mut self, start: &PyramidStart) {
        let PyramidStart { sides, part, covering } = *start;
        self.covering = covering;
        self.basis.clear();
        self.data.directions.clear();
        for group in &mut self.data.groups {
            let own = [0, 2, sides][group.tangent_count];
            let first = self.data.directions.len();
            let angle = part * std::f64::consts::TAU / sides as f64;
            self.data.directions.extend((0..own).map(|side| direction(side, own, angle)));
            group.directions = first..first + own;
        }
    }

    /// Solves the LCP and leaves its impulses in the island, then turns the pyramids. Returns the
    /// number of pivots and the residual; none where nothing came of it.
    pub fn next<const D: usize>(&mut self, space: &mut impl Space<D>, island: &mut Island<D>) -> Option<(usize, f64)> {
        let work_limit = island.work.left();
        let settings = LemkeSettings { paths: 2, pivots_per_unknown: 10, work_limit, ..Default::default() };
        let problem = ContactLcp::new(std::mem::take(&mut self.data)).ok()?;
        self.lemke.solve_from(self.covering, &problem, &settings, &self.basis, &mut self.solution);
        self.basis.clear();
        self.basis.extend_from_slice(self.lemke.basis());
        let pivots = self.solution.report.iterations;
        let rows = problem.data().free_rates.len() as u64;
        island.work.spend(pivots as u64 * rows * rows);
        problem.impulses(&self.solution.z, island.r.as_flattened_mut());
        let residual = island.measure(space);
        for (number, group) in problem.data().groups.iter().enumerate() {
            let unknowns = problem.unknowns_of(number);
            let (slip, u) = (unknowns.end - 1, &island.u[number]);
            // A contact that sticks or is open keeps its pyramid, and one that slides is at its
            // first side then.
            self.is_turned[number] = !group.directions.is_empty() && D == 3 && self.solution.z[slip] > 0.0;
            if self.is_turned[number] && self.solution.z[slip - 1] > 0.0 {
                self.angles[number] = (-u[2]).portable_atan2(-u[1]);
                self.basis[unknowns.clone()].fill(false);
                [unknowns.start, slip - 1, slip].into_iter().for_each(|unknown| self.basis[unknown] = true);
            } else {
                self.is_turned[number] = false;
            }
        }
        self.data = { problem }.take_data();
        for (number, group) in self.data.groups.iter().enumerate().filter(|(number, _)| self.is_turned[*number]) {
            let sides = group.directions.len();
            for (side, place) in group.directions.clone().enumerate() {
                self.data.directions[place] = direction(side, sides, self.angles[number]);
            }
        }
        Some((pivots, residual))
    }
}

/// Side number `side` of a pyramid whose first one is at this angle.
fn direction(side: usize, sides: usize, angle: f64) -> [f64; 3] {
    if sides == 2 {
        return [if side == 0 { 1.0 } else { -1.0 }, 0.0, 0.0];
    }
    let (sin, cos) = (angle + std::f64::consts::TAU * side as f64 / sides as f64).portable_sin_cos();
    [cos, sin, 0.0]
}
