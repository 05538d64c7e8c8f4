//! The problem of contacts with exact cones, in its two shapes.
//!
//! [`LocalConeProblem`] has an explicit matrix, which may be unsymmetric:
//!
//! $$ u = W r + q, \qquad (u_i, r_i) \text{ obey the law of their cone.} $$
//!
//! [`GlobalConeProblem`] keeps bodies, joints and contacts apart:
//!
//! $$ M v = f + H^T r + G^T \lambda, \qquad u = H v + w, \qquad G v + b = 0, $$
//!
//! with the same laws between $u_i$ and $r_i$. $M$ is sparse; it may couple bodies and be
//! unsymmetric. It is the local problem with $W = H M^{-1} H^T$ and $q = H M^{-1} f + w$, where
//! there are no joints. The names are those of FCLIB, the collection of problems of this field,
//! which writes $H$ for our $H^T$ (\[ABH18\]).

use super::law::Cone;
use super::sparse_rows::SparseRows;
use crate::ProblemError;
use crate::lcp::check_finite_vector;

/// $u = W r + q$ with a law for each cone; see the [module](self).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalConeProblem {
    cones: Vec<Cone>,
    matrix: SparseRows,
    offset: Vec<f64>,
    mean_diagonal: f64,
}

impl LocalConeProblem {
    /// The problem with these cones, whose rows follow one another in `matrix` and `offset`.
    ///
    /// # Errors
    /// [`ProblemError`] when sizes do not fit, or a number is not finite or not possible.
    pub fn new(cones: Vec<Cone>, matrix: SparseRows, offset: Vec<f64>) -> Result<Self, ProblemError> {
        cones.iter().enumerate().try_for_each(|(number, cone)| cone.check(number))?;
        let rows = cones.iter().map(Cone::row_count).sum();
        check_length("the offset q", offset.len(), rows)?;
        if (matrix.row_count(), matrix.column_count()) != (rows, rows) {
            return Err(ProblemError::Size {
                what: "the matrix W",
                found: format!("{} x {}", matrix.row_count(), matrix.column_count()),
                expected: format!("{rows} x {rows}"),
            });
        }
        matrix.check("the matrix W")?;
        check_finite_vector("the offset q", &offset)?;
        let mean_diagonal = (0..rows).map(|row| matrix.entry(row, row).abs() / rows as f64).sum();
        Ok(Self { cones, matrix, offset, mean_diagonal })
    }

    /// Its parts, so that their memory can be filled anew.
    pub fn into_parts(self) -> (Vec<Cone>, SparseRows, Vec<f64>) {
        (self.cones, self.matrix, self.offset)
    }

    /// The cones, in the order of their rows.
    pub fn cones(&self) -> &[Cone] {
        &self.cones
    }

    /// $W$.
    pub fn matrix(&self) -> &SparseRows {
        &self.matrix
    }

    /// $q$.
    pub fn offset(&self) -> &[f64] {
        &self.offset
    }

    /// Mean of the absolute values of the diagonal of $W$, by which impulses and rates are
    /// compared. With their signs they may cancel.
    pub fn mean_diagonal(&self) -> f64 {
        self.mean_diagonal
    }
}

/// $M v = f + H^T r + G^T \lambda$, $u = H v + w$, $G v + b = 0$; see the [module](self).
///
/// Filled piece by piece, and [cleared](Self::clear) and filled again in the same memory:
///
/// ```
/// use stiction_solve::cone::{Cone, GlobalConeProblem};
///
/// // A mass of 2 kg falls at 3 m/s along the first coordinate and meets the ground.
/// let mut problem = GlobalConeProblem::default();
/// problem.clear(3);
/// (0..3).for_each(|i| problem.push_mass(i, i, 2.0));
/// problem.force_mut().copy_from_slice(&[-6.0, 0.0, 0.0]);
/// problem.push_contact(Cone::coulomb(0.5), [[(0, 1.0)], [(1, 1.0)], [(2, 1.0)]], [0.0; 3]);
/// problem.check()?;
/// # Ok::<(), stiction_solve::ProblemError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlobalConeProblem {
    mass: Vec<(usize, usize, f64)>,
    force: Vec<f64>,
    joints: SparseRows,
    joint_bias: Vec<f64>,
    cones: Vec<Cone>,
    contacts: SparseRows,
    contact_bias: Vec<f64>,
}

impl GlobalConeProblem {
    /// Starts anew with this number of velocity coordinates, $M = 0$, $f = 0$ and no rows, and
    /// keeps the memory.
    pub fn clear(&mut self, coordinate_count: usize) {
        self.mass.clear();
        self.force.clear();
        self.force.resize(coordinate_count, 0.0);
        self.joints.clear(coordinate_count);
        self.joint_bias.clear();
        self.cones.clear();
        self.contacts.clear(coordinate_count);
        self.contact_bias.clear();
    }

    /// Adds to the entry of $M$ at a row and a column.
    pub fn push_mass(&mut self, row: usize, column: usize, value: f64) {
        self.mass.push((row, column, value));
    }

    /// $f$, to be written.
    pub fn force_mut(&mut self) -> &mut [f64] {
        &mut self.force
    }

    /// Adds a row of $G$ as (coordinate, value), with its $b$.
    pub fn push_joint(&mut self, row: impl IntoIterator<Item = (usize, f64)>, bias: f64) {
        self.joints.push_row(row);
        self.joint_bias.push(bias);
    }

    /// Adds a contact: its rows of $H$ as (coordinate, value), and its part of $w$.
    ///
    /// # Panics
    /// When rows and biases are not as many as the cone has rows.
    pub fn push_contact<R: IntoIterator<Item = (usize, f64)>>(
        &mut self,
        cone: Cone,
        rows: impl IntoIterator<Item = R>,
        bias: impl IntoIterator<Item = f64>,
    ) {
        self.cones.push(cone);
        rows.into_iter().for_each(|row| self.contacts.push_row(row));
        self.contact_bias.extend(bias);
        let (rows, biases) = (self.contacts.row_count(), self.contact_bias.len());
        assert!(rows == biases, "contact {} has another number of rows than biases", self.cones.len() - 1);
    }

    /// Checks sizes, indices and numbers; a solver asks for a problem that passed.
    ///
    /// # Errors
    /// [`ProblemError`] with what is wrong and where.
    pub fn check(&self) -> Result<(), ProblemError> {
        self.cones.iter().enumerate().try_for_each(|(number, cone)| cone.check(number))?;
        let rows: usize = self.cones.iter().map(Cone::row_count).sum();
        check_length("the contact rows H", self.contacts.row_count(), rows)?;
        let n = self.coordinate_count();
        for &(row, column, value) in &self.mass {
            if row >= n || column >= n {
                return Err(ProblemError::Size {
                    what: "the mass matrix M",
                    found: format!("an entry at ({row}, {column})"),
                    expected: format!("{n} x {n}"),
                });
            }
            if !value.is_finite() {
                return Err(ProblemError::NotFinite { what: "the mass matrix M", row, column, value });
            }
        }
        check_finite_vector("the force f", &self.force)?;
        self.joints.check("the joint rows G")?;
        check_finite_vector("the joint bias b", &self.joint_bias)?;
        self.contacts.check("the contact rows H")?;
        check_finite_vector("the contact bias w", &self.contact_bias)
    }

    /// Number of velocity coordinates.
    pub fn coordinate_count(&self) -> usize {
        self.force.len()
    }

    /// The entries of $M$ as (row, column, value); those of the same place add up.
    pub fn mass(&self) -> &[(usize, usize, f64)] {
        &self.mass
    }

    /// $f$.
    pub fn force(&self) -> &[f64] {
        &self.force
    }

    /// $G$.
    pub fn joints(&self) -> &SparseRows {
        &self.joints
    }

    /// $b$.
    pub fn joint_bias(&self) -> &[f64] {
        &self.joint_bias
    }

    /// The cones, in the order of their rows.
    pub fn cones(&self) -> &[Cone] {
        &self.cones
    }

    /// $H$, the rows of the contacts one after another.
    pub fn contacts(&self) -> &SparseRows {
        &self.contacts
    }

    /// $w$.
    pub fn contact_bias(&self) -> &[f64] {
        &self.contact_bias
    }
}

fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), ProblemError> {
    if found == expected {
        return Ok(());
    }
    Err(ProblemError::Size { what, found: found.to_string(), expected: expected.to_string() })
}
