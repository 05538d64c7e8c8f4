//! The problems of the folder `problems/` that follow from a formula or a seed.
//!
//! `cargo run --example problems problems` writes them; `problem_set.rs` compares the files with
//! what is made here.

use stiction_solve::Lcp;
use stiction_solve::cone::GlobalConeProblem;

use super::known::Known;

/// What is true of an LCP.
pub enum Answer {
    /// All its solutions.
    All(Vec<Vec<f64>>),
    /// A solution; there may be others.
    One(Vec<f64>),
    /// None: weights $y \ge 0$ of its rows with $y^T M \le 0$ and $y^T q < 0$.
    None(Vec<f64>),
}

pub struct LcpEntry {
    pub name: &'static str,
    pub lcp: Lcp,
    pub answer: Answer,
}

fn by_hand(name: &'static str, columns: &[f64], offset: &[f64], answer: Answer) -> LcpEntry {
    LcpEntry { name, lcp: Lcp::from_columns(columns.to_vec(), offset.to_vec()).expect("a problem"), answer }
}

fn known(name: &'static str, contacts: usize, mu: f64, seed: u64) -> LcpEntry {
    let (lcp, z) = Known::new(contacts, mu).lcp(seed);
    LcpEntry { name, lcp, answer: Answer::One(z) }
}

/// The LCPs. Matrices by columns.
pub fn lcps() -> Vec<LcpEntry> {
    // A rod of mass 1 and length 2 slides on one end with its angle at 1 rad. The normal
    // acceleration of the end is a c_n - b with a = 1 + 3 cos θ (cos θ - μ sin θ); a < 0 from μ =
    // 1.38 on: the paradox of Painlevé. Here μ = 2.5.
    let (sin, cos) = (1.0f64.sin(), 1.0f64.cos());
    let a = 1.0 + 3.0 * cos * (cos - 2.5 * sin);
    vec![
        // z = (4, 7)/3, w = 0; positive definite.
        by_hand("by-hand-2", &[2.0, 1.0, 1.0, 2.0], &[-5.0, -6.0], Answer::All(vec![vec![4.0 / 3.0, 7.0 / 3.0]])),
        // Copositive, not a P-matrix: its principal minors are 1, 1, -3.
        by_hand(
            "three-solutions-2",
            &[1.0, 2.0, 2.0, 1.0],
            &[-1.0, -1.0],
            Answer::All(vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![1.0 / 3.0, 1.0 / 3.0]]),
        ),
        // A disc between two jaws that close on it: w_1 + w_2 = -2 whatever the impulses are.
        by_hand("squeezed-2", &[1.0, -1.0, -1.0, 1.0], &[-1.0, -1.0], Answer::None(vec![1.0, 1.0])),
        by_hand("painleve-two-1", &[a], &[2.0], Answer::All(vec![vec![0.0], vec![-2.0 / a]])),
        by_hand("painleve-none-1", &[a], &[-2.0], Answer::None(vec![1.0])),
        known("known-3-contacts", 3, 0.7, 11),
        known("known-8-contacts", 8, 2.0, 12),
        known("known-8-contacts-mu10", 8, 10.0, 13),
    ]
}

/// The friction problems with bodies.
pub fn global_cones() -> Vec<(&'static str, GlobalConeProblem)> {
    vec![
        ("random-7", super::random(7, 21)),
        ("tower-10", super::tower(10, 1.0, 22)),
        ("tower-10-heavy", super::tower(10, 1e3, 23)),
        ("chain-10", super::chain(10, 24)),
    ]
}
