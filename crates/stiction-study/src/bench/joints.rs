//! Chains of planar links with hinges and a contact at the end, solved by the pyramid method from a
//! cold start: the cost must grow with their length, and not with its cube.

use serde::Serialize;
use stiction_dynamics::families::Chain;
use stiction_dynamics::{ConstrainedMotion, ContactError, ContactSolution, Pyramid, PyramidSettings};

use super::timing::best_time;
use super::{Row, measure_each, micro};

/// Lengths of the chains.
const LINKS: [usize; 4] = [10, 30, 100, 300];

/// One chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JointRow {
    /// Number of links.
    pub links: usize,
    /// Joint rows.
    pub joint_rows: usize,
    /// Entries of the factor $L$ of inertia and joints, below its diagonal.
    pub factor_entries: usize,
    /// Whether the problem was solved.
    pub is_solved: bool,
    /// Residual of the answer.
    pub residual: f64,
    /// Seconds of the factorisation and the motion with the joints alone.
    pub joints: f64,
    /// Seconds of a whole solve, joints included, with the analysis of the last one.
    pub solve: f64,
    /// Seconds of a first solve, with the analysis of the pattern.
    pub first: f64,
}

impl Row for JointRow {
    const TITLE: &'static str = "Chains of planar links with hinges and one contact at the end, cold";
    const HEADINGS: &'static [&'static str] =
        &["links", "joint rows", "factor entries", "residual", "joints", "solve", "per link", "with analysis"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.links.to_string(),
            self.joint_rows.to_string(),
            self.factor_entries.to_string(),
            format!("{:.1e}", self.residual),
            micro(self.joints),
            micro(self.solve),
            format!("{:.2} µs", 1e6 * self.solve / self.links as f64),
            micro(self.first),
        ]
    }

    fn is_solved(&self) -> bool {
        self.is_solved
    }
}

/// Measures all lengths; `progress` is told how many of how many rows are done.
///
/// # Errors
/// [`ContactError`] if the family makes a malformed problem.
pub fn measure(progress: impl FnMut(usize, usize)) -> Result<Vec<JointRow>, ContactError> {
    measure_each(&LINKS, progress, |&links| {
        let problem = Chain { links, ..Default::default() }.problem(0);
        let cold = Pyramid::new(PyramidSettings { warm_start: false, ..Default::default() })?;
        let (mut pyramid, mut solution) = (cold.clone(), ContactSolution::default());
        pyramid.solve(&problem, &mut solution)?;
        let mut motion = ConstrainedMotion::default();
        motion.factor(&problem)?;
        Ok(JointRow {
            links,
            joint_rows: problem.joints.len(),
            factor_entries: motion.matrix().factor_entry_count(),
            is_solved: solution.report.is_solved(),
            residual: solution.report.residual,
            joints: best_time(|| drop(std::hint::black_box(motion.factor(&problem)))),
            solve: best_time(|| drop(std::hint::black_box(pyramid.solve(&problem, &mut solution)))),
            first: best_time(|| drop(std::hint::black_box(cold.clone().solve(&problem, &mut solution)))),
        })
    })
}
