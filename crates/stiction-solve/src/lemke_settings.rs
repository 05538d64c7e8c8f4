//! Settings of Lemke's method, for the revised form and the tableau alike.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::PortableMath as _;
use crate::work::DEFAULT_WORK_LIMIT;

/// Settings of Lemke's method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LemkeSettings {
    /// Largest residual, in the problem's scale, of an answer that counts as solved. Too large:
    /// inaccurate impulses pass. Too small: good answers are refused for their rounding, which
    /// leaves about $10^{-16}$ times the largest impulse in that scale; with mass ratios of 1e4
    /// that is $10^{-12}$ and more.
    pub residual_tolerance: f64,
    /// Entries smaller than this, relative to the largest of their column, are zero to the ratio
    /// test. Too large: false rays. Too small: pivots on rounding noise.
    pub pivot_tolerance: f64,
    /// Slack of the ratio test, relative to the largest value of a basic unknown and to the offset:
    /// rows within it leave together. Too large: slightly infeasible bases. Too small: ties are
    /// decided by rounding.
    pub tie_tolerance: f64,
    /// Among tied rows, pivots below this fraction of the largest are passed over.
    /// Too large: the lexicographic order is ignored. Too small: unstable pivots.
    pub weak_pivot: f64,
    /// Most pivots per unknown of the problem on one path; the method leaves the path beyond it.
    pub pivots_per_unknown: usize,
    /// Paths that are tried, at most; all but the first have other covering vectors or stricter
    /// pivots.
    pub paths: usize,
    /// Multiplications on all paths and in the enumeration after them, roughly. Too small: hard
    /// problems are given up. Too large: hopeless ones keep their user waiting.
    pub work_limit: u64,
}

impl Default for LemkeSettings {
    fn default() -> Self {
        Self {
            residual_tolerance: 1e-10,
            pivot_tolerance: 1e-8,
            tie_tolerance: 1e-12,
            weak_pivot: 0.05,
            pivots_per_unknown: 20,
            paths: 40,
            work_limit: DEFAULT_WORK_LIMIT,
        }
    }
}

impl LemkeSettings {
    /// The first number that cannot be used, by its key: a tolerance that is negative or not
    /// finite, or a limit of pivots of zero.
    pub fn first_unusable(&self) -> Option<(&'static str, f64)> {
        let tolerances = [
            ("residual-tolerance", self.residual_tolerance),
            ("pivot-tolerance", self.pivot_tolerance),
            ("tie-tolerance", self.tie_tolerance),
            ("weak-pivot", self.weak_pivot),
        ];
        let is_unusable = |value: f64| !(value >= 0.0 && value.is_finite());
        let limit = (self.pivots_per_unknown == 0).then_some(("pivots-per-unknown", 0.0));
        tolerances.into_iter().find(|&(_, value)| is_unusable(value)).or(limit)
    }
}

/// Factors of the pivot tolerance, path by path, over and over. A stricter one does not tell rows
/// apart that depend on each other up to rounding; a looser one sees the small pivots of problems
/// with large mass ratios.
const PIVOT_TOLERANCES: [f64; 3] = [1.0, 1e3, 1e-3];

/// The pivot tolerance of a path.
pub(crate) fn pivot_tolerance(settings: &LemkeSettings, path: usize) -> f64 {
    settings.pivot_tolerance * PIVOT_TOLERANCES[path % PIVOT_TOLERANCES.len()]
}

/// An answer with a residual above this share of the tolerance is computed again from its basis.
pub(crate) const POLISH_ABOVE: f64 = 0.01;

const GOLDEN_RATIO: f64 = 1.618_033_988_749_895;

/// The first covering vector whose entries are far apart, and the largest of them, which is one
/// over the least.
pub(crate) const FIRST_UNEVEN: usize = 12;
const UNEVENNESS: f64 = 30.0;

/// Entry `i` of covering vector number `covering`. Number 0 is all ones; the others are spread by
/// multiples of the golden ratio: evenly over (0.5, 1.5), and from [`FIRST_UNEVEN`] on their
/// logarithms over a wide range, so that the path begins at another place altogether.
pub(crate) fn covering_entry(covering: usize, i: usize) -> f64 {
    if covering == 0 {
        return 1.0;
    }
    let part = ((covering * (i + 1)) as f64 * GOLDEN_RATIO).fract();
    if covering < FIRST_UNEVEN { 0.5 + part } else { UNEVENNESS.portable_powf(2.0 * part - 1.0) }
}
