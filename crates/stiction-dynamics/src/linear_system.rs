//! Systems given by matrices: constant inertia, linear damping and springs, affine gaps.
//!
//! $$ M \dot v = f - C v - K q + \text{contact, friction and joint forces}, \qquad \dot q = v, $$
//!
//! with gaps $g_i = g_{0i} + n_i q + \hat g_i t \ge 0$ and joints
//! $\Theta_j = \Theta_{0j} + \nu_j q + \hat \Theta_j t = 0$.
//!
//! Small motions of mechanisms with clearance are such systems: the woodpecker toy of \[GS05\],
//! carts between stops.

use faer::{Mat, Side};

use crate::inertia::cholesky;
use crate::vector::dot;
use crate::{
    Contact, ContactId, ForceCause, ForceJacobians, FrictionElement, FrictionLaw, FrictionShape, Inertia,
    JacobianEntry, JacobianKind, Joint, MechanicalSystem, PhantomContact, Restitution, Restraint, Row, RowRates,
};

/// Entries of $K - K^T$ up to this, relative to the largest of $K$, are rounding.
const SYMMETRY_TOLERANCE: f64 = 1e-12;

/// Pivots of Cholesky's factorisation up to this, relative to their entry on the diagonal, are
/// zero. Too large: light bodies on heavy ones are refused. Too small: a singular matrix passes by
/// its rounding.
const PIVOT_TOLERANCE: f64 = 1e-14;

/// A system given by matrices. One that exists is well formed.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearSystem {
    data: LinearSystemData,
    /// The mass matrix, row by row.
    mass: Vec<f64>,
    damping: Mat<f64>,
    stiffness: Mat<f64>,
    has_potential: bool,
    /// Damping and stiffness without what is negative definite in their symmetric parts.
    definite: [Mat<f64>; 2],
    /// The biases of all friction elements.
    bias: Vec<f64>,
}

/// What a [`LinearSystem`] is made of. Sizes are checked when the system is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinearSystemData {
    /// Names of the coordinates; the names of the velocities begin with `v_`.
    pub coordinates: Vec<String>,
    /// Mass matrix $M$, row by row; symmetric and positive definite.
    pub mass: Vec<Vec<f64>>,
    /// Damping matrix $C$, row by row; empty for none.
    pub damping: Vec<Vec<f64>>,
    /// Stiffness matrix $K$, row by row; empty for none.
    pub stiffness: Vec<Vec<f64>>,
    /// Constant force $f$; empty for none.
    pub force: Vec<f64>,
    /// The possible contacts.
    pub contacts: Vec<LinearContact>,
    /// Friction elements without a normal row.
    pub friction: Vec<LinearFriction>,
    /// Bilateral constraints; their rows are linearly independent.
    pub joints: Vec<LinearJoint>,
}

/// A contact with an affine gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinearContact {
    /// Name, for recordings.
    pub name: String,
    /// Gap at $q = 0$, $t = 0$.
    pub gap: f64,
    /// The row $n$.
    pub normal: Vec<f64>,
    /// Rate $\hat g$ of the gap that does not come from $v$.
    pub normal_drift: f64,
    /// The rows of the sliding velocity, none to two.
    pub tangents: Vec<Vec<f64>>,
    /// Part of the sliding velocity that does not come from $v$, one per row; empty for none.
    pub tangent_drift: Vec<f64>,
    /// Coefficient of friction; of two the kinetic one.
    pub mu: f64,
    /// Coefficient of friction while it sticks, not below the other one; none where it is the same.
    pub static_mu: Option<f64>,
    /// What an impact gives back.
    pub restitution: Restitution,
    /// Whether the gap is restrained or, as by a clutch, its rate alone; the gap has then no
    /// meaning.
    pub restraint: Restraint,
    /// What the method `phantom-inertia` does differently for this contact.
    pub phantom: PhantomContact,
}

/// Friction that does not depend on a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinearFriction {
    /// Name, for recordings.
    pub name: String,
    /// The rows of the sliding velocity, one or two.
    pub tangents: Vec<Vec<f64>>,
    /// Part of the sliding velocity that does not come from $v$, one per row; empty for none.
    pub tangent_drift: Vec<f64>,
    /// Largest friction force; of two bounds that of sliding.
    pub bound: f64,
    /// The bound while it sticks, not below the other one; none where it is the same.
    pub static_bound: Option<f64>,
    /// What friction along the rows may be for a bound of one.
    pub shape: FrictionShape,
    /// A constant force along the one row, on top of friction: with it, friction against the two
    /// directions has different bounds.
    pub bias: f64,
    /// Displacement at $q = 0$ of a pre-stressed spring, whose rate is the row; none for friction.
    pub displacement: Option<f64>,
}

impl LinearFriction {
    fn displacement(&self, q: &[f64]) -> Option<f64> {
        self.displacement.map(|x| x + dot(&self.tangents[0], q))
    }
}

/// A bilateral constraint with an affine value, one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinearJoint {
    /// Name, for messages.
    pub name: String,
    /// Value $\Theta$ at $q = 0$, $t = 0$.
    pub value: f64,
    /// The row $\nu$.
    pub row: Vec<f64>,
    /// Rate $\hat \Theta$ that does not come from $v$: a drive.
    pub drift: f64,
}

/// What is wrong with the data of a linear system.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LinearSystemError {
    /// A matrix or row has a size that does not fit, or a number is outside of its range.
    #[error("{0}")]
    Entry(String),
    /// The mass matrix is not symmetric.
    #[error(
        "the mass matrix is not symmetric: entries ({0}, {1}) and ({1}, {0}) differ, {lower:?} and {upper:?}",
        row + 1, column + 1
    )]
    Asymmetric {
        /// Row of the entry below the diagonal, from 0.
        row: usize,
        /// Its column, from 0.
        column: usize,
        /// The entry below the diagonal.
        lower: f64,
        /// The one above it.
        upper: f64,
    },
    /// The mass matrix is singular or has a negative direction.
    #[error("the mass matrix is not positive definite: the pivot of coordinate `{coordinate}` is {pivot:.1e}")]
    Indefinite {
        /// The first coordinate that has no inertia of its own.
        coordinate: String,
        /// What Cholesky's factorisation leaves of its entry on the diagonal.
        pivot: f64,
    },
    /// A joint repeats what others say.
    #[error("the row of joint `{name}` is zero, or a combination of the rows of the joints before it")]
    Redundant {
        /// The joint.
        name: String,
        /// Its number, from 0.
        index: usize,
    },
}

impl LinearSystem {
    /// The system with these data.
    ///
    /// # Errors
    /// [`LinearSystemError`] that names what is wrong.
    pub fn new(mut data: LinearSystemData) -> Result<Self, LinearSystemError> {
        let n = data.coordinates.len();
        matrix("the mass matrix", &data.mass, n)?;
        check_mass(&data)?;
        let [damping, stiffness] = [("the damping matrix", &data.damping), ("the stiffness matrix", &data.stiffness)]
            .map(|(what, rows)| if rows.is_empty() { Ok(Mat::zeros(n, n)) } else { matrix(what, rows, n) });
        let (damping, stiffness) = (damping?, stiffness?);
        if data.force.is_empty() {
            data.force = vec![0.0; n];
        }
        check_row("the force", &data.force, n)?;
        data.contacts.iter().try_for_each(|contact| check_contact(contact, n))?;
        data.friction.iter().try_for_each(|element| check_friction(element, n))?;
        for joint in &data.joints {
            check_row(&format!("the row of joint `{}`", joint.name), &joint.row, n)?;
            check_finite(&format!("the value of joint `{}`", joint.name), joint.value)?;
            check_finite(&format!("the drift of joint `{}`", joint.name), joint.drift)?;
        }
        check_joints(&data)?;
        let size = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let (largest, asymmetry) = size.fold((0.0f64, 0.0f64), |(largest, asymmetry), (i, j)| {
            (largest.max(stiffness[(i, j)].abs()), asymmetry.max((stiffness[(i, j)] - stiffness[(j, i)]).abs()))
        });
        let mut bias = vec![0.0; n];
        for element in &data.friction {
            bias.iter_mut().zip(&element.tangents[0]).for_each(|(sum, entry)| *sum += element.bias * entry);
        }
        Ok(Self {
            definite: [definite_part(&damping), definite_part(&stiffness)],
            mass: data.mass.concat(),
            damping,
            stiffness,
            has_potential: asymmetry <= SYMMETRY_TOLERANCE * largest,
            bias,
            data,
        })
    }

    /// What the system is made of.
    pub fn data(&self) -> &LinearSystemData {
        &self.data
    }

    /// Gap of a contact.
    pub fn gap(&self, contact: usize, t: f64, q: &[f64]) -> f64 {
        let contact = &self.data.contacts[contact];
        match contact.restraint {
            Restraint::Gap => contact.gap + contact.normal_drift * t + dot(&contact.normal, q),
            Restraint::Rate => 0.0,
        }
    }
}

/// Subtracts a matrix times a vector.
fn subtract_product(matrix: &Mat<f64>, x: &[f64], out: &mut [f64]) {
    for (j, &value) in x.iter().enumerate() {
        for (out, entry) in out.iter_mut().zip(matrix.col_as_slice(j)) {
            *out -= entry * value;
        }
    }
}

impl MechanicalSystem for LinearSystem {
    fn velocity_count(&self) -> usize {
        self.data.coordinates.len()
    }

    fn mass_matrix(&self, _t: f64, _q: &[f64], out: &mut Inertia) {
        // One block: factored by Cholesky without allocation.
        out.push_block(self.data.coordinates.len(), &self.mass);
    }

    fn force(&self, _t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        for (k, (force, bias)) in k.iter_mut().zip(self.data.force.iter().zip(&self.bias)) {
            *k = force + bias;
        }
        subtract_product(&self.stiffness, q, k);
        subtract_product(&self.damping, v, k);
    }

    fn force_by_cause(&self, cause: ForceCause, _t: f64, q: &[f64], v: &[f64], k: &mut [f64]) {
        k.fill(0.0);
        match cause {
            ForceCause::Potential => {
                k.copy_from_slice(&self.data.force);
                if self.has_potential {
                    subtract_product(&self.stiffness, q, k);
                }
            }
            ForceCause::Applied => {
                k.copy_from_slice(&self.bias);
                subtract_product(&self.damping, v, k);
                if !self.has_potential {
                    subtract_product(&self.stiffness, q, k);
                }
            }
            ForceCause::Gyroscopic => {}
        }
    }

    fn force_jacobians(&self, kind: JacobianKind, _t: f64, _q: &[f64], _v: &[f64], out: &mut ForceJacobians) {
        let [damping, stiffness] = match kind {
            JacobianKind::Exact => [&self.damping, &self.stiffness],
            JacobianKind::Definite => self.definite.each_ref(),
        };
        let spring = if self.has_potential { ForceCause::Potential } else { ForceCause::Applied };
        push_negative(stiffness, spring, &mut out.by_configuration);
        push_negative(damping, ForceCause::Applied, &mut out.by_velocity);
    }

    fn contacts(&self, t: f64, q: &[f64], horizon: f64, out: &mut Vec<Contact>) {
        for (number, contact) in self.data.contacts.iter().enumerate() {
            let gap = self.gap(number, t, q);
            if gap > horizon {
                continue;
            }
            let is_rough = contact.mu > 0.0 && !contact.tangents.is_empty();
            out.push(Contact {
                id: ContactId::number(number as u32),
                gap,
                normal: Row::from_dense(&contact.normal),
                normal_drift: contact.normal_drift,
                tangents: contact.tangents.iter().filter(|_| is_rough).map(|row| Row::from_dense(row)).collect(),
                tangent_drift: drift(&contact.tangent_drift),
                friction: if is_rough { FrictionLaw::Coulomb { mu: contact.mu } } else { FrictionLaw::None },
                static_mu: contact.static_mu.filter(|_| is_rough),
                sticks: false,
                restitution: contact.restitution,
                restraint: contact.restraint,
                phantom: contact.phantom,
                frame: None,
            });
        }
    }

    fn has_static_friction(&self) -> bool {
        self.data.contacts.iter().any(|contact| contact.static_mu.is_some())
            || self.data.friction.iter().any(|element| element.static_bound.is_some())
    }

    fn friction_elements(&self, _t: f64, q: &[f64], out: &mut Vec<FrictionElement>) {
        out.extend(self.data.friction.iter().enumerate().map(|(id, element)| FrictionElement {
            id: id as u32,
            tangents: element.tangents.iter().map(|row| Row::from_dense(row)).collect(),
            tangent_drift: drift(&element.tangent_drift),
            bound: element.bound,
            static_bound: element.static_bound,
            sticks: false,
            shape: element.shape.clone(),
            displacement: element.displacement(q),
        }));
    }

    fn joints(&self, t: f64, q: &[f64], out: &mut Vec<Joint>) {
        out.extend(self.data.joints.iter().map(|joint| Joint {
            value: joint.value + joint.drift * t + dot(&joint.row, q),
            row: Row::from_dense(&joint.row),
            drift: joint.drift,
        }));
    }

    fn configuration_rate(&self, _t: f64, _q: &[f64], v: &[f64], out: &mut [f64]) {
        out.copy_from_slice(v);
    }

    // Rows and drifts are constant.
    fn row_rates(
        &self,
        _t: f64,
        _q: &[f64],
        _v: &[f64],
        (contacts, friction, joints): (&[Contact], &[FrictionElement], &[Joint]),
        out: &mut RowRates,
    ) {
        out.reset(contacts.len(), friction.len(), joints.len());
    }

    fn potential_energy(&self, _t: f64, q: &[f64]) -> Option<f64> {
        if !self.has_potential {
            return None;
        }
        let n = q.len();
        let spring: f64 = (0..n).map(|j| q[j] * dot(self.stiffness.col_as_slice(j), q)).sum();
        let preload = |element: &LinearFriction| element.displacement(q).map_or(0.0, |x| element.bound * x.abs());
        Some(0.5 * spring - dot(&self.data.force, q) + self.data.friction.iter().map(preload).sum::<f64>())
    }

    fn column_names(&self) -> Vec<String> {
        let velocities = self.data.coordinates.iter().map(|name| format!("v_{name}"));
        self.data.coordinates.iter().cloned().chain(velocities).collect()
    }

    fn contact_name(&self, id: ContactId) -> String {
        self.data.contacts[id.feature as usize].name.clone()
    }

    fn friction_name(&self, id: u32) -> String {
        self.data.friction[id as usize].name.clone()
    }

    /// Empty: there are coordinates and contacts, and no bodies.
    fn body_names(&self, _id: ContactId) -> (String, String) {
        (String::new(), String::new())
    }
}

/// Appends the entries of the negative of a matrix.
fn push_negative(matrix: &Mat<f64>, cause: ForceCause, list: &mut Vec<JacobianEntry>) {
    for column in 0..matrix.ncols() {
        for (row, &entry) in matrix.col_as_slice(column).iter().enumerate().filter(|(_, entry)| **entry != 0.0) {
            list.push(JacobianEntry { row, column, value: -entry, cause });
        }
    }
}

/// The matrix without the part of its symmetric part that belongs to negative eigenvalues: what is
/// left has no negative value $x^T A x$. A positive semidefinite matrix stays as it is, bit for
/// bit; one that has no eigenvalues counts as zero.
fn definite_part(matrix: &Mat<f64>) -> Mat<f64> {
    let n = matrix.nrows();
    let symmetric = Mat::from_fn(n, n, |i, j| 0.5 * (matrix[(i, j)] + matrix[(j, i)]));
    let Ok(eigen) = symmetric.self_adjoint_eigen(Side::Lower) else { return Mat::zeros(n, n) };
    let (vectors, values) = (eigen.U(), eigen.S().column_vector());
    let largest = (0..n).fold(0.0f64, |largest, i| largest.max(values[i].abs()));
    let mut part = matrix.clone();
    for k in (0..n).filter(|&k| values[k] < -SYMMETRY_TOLERANCE * largest) {
        for i in 0..n {
            for j in 0..n {
                part[(i, j)] -= values[k] * vectors[(i, k)] * vectors[(j, k)];
            }
        }
    }
    part
}

fn drift(values: &[f64]) -> [f64; 3] {
    let mut drift = [0.0; 3];
    drift[..values.len()].copy_from_slice(values);
    drift
}

fn wrong<T>(message: String) -> Result<T, LinearSystemError> {
    Err(LinearSystemError::Entry(message))
}

fn matrix(what: &str, rows: &[Vec<f64>], n: usize) -> Result<Mat<f64>, LinearSystemError> {
    check_length(&format!("{what}, by rows,"), rows.len(), n)?;
    for (i, row) in rows.iter().enumerate() {
        check_row(&format!("row {} of {what}", i + 1), row, n)?;
    }
    Ok(Mat::from_fn(n, n, |i, j| rows[i][j]))
}

fn check_length(what: &str, found: usize, n: usize) -> Result<(), LinearSystemError> {
    if found == n { Ok(()) } else { wrong(format!("{what} has {found} entries, but there are {n} coordinates")) }
}

fn check_row(what: &str, row: &[f64], n: usize) -> Result<(), LinearSystemError> {
    check_length(what, row.len(), n)?;
    row.iter().try_for_each(|&value| check_finite(&format!("an entry of {what}"), value))
}

fn check_finite(what: &str, value: f64) -> Result<(), LinearSystemError> {
    if value.is_finite() { Ok(()) } else { wrong(format!("{what} is {value}: give a finite number")) }
}

fn check_range(what: &str, value: f64, largest: f64) -> Result<(), LinearSystemError> {
    if value >= 0.0 && value <= largest && value.is_finite() {
        return Ok(());
    }
    let range = if largest == 1.0 { "from 0 to 1" } else { "that is not negative" };
    wrong(format!("{what} is {value}: give a number {range}"))
}

/// Checks the rows of sliding velocity of a contact or friction element; `possible` says how many
/// there may be.
fn check_tangents(
    what: &str,
    (rows, drift): (&[Vec<f64>], &[f64]),
    (least, possible): (usize, &str),
    n: usize,
) -> Result<(), LinearSystemError> {
    let count = |what: &str, found: usize, possible: &str| {
        wrong(format!("{what} has {found} rows of sliding velocity, but {possible} are possible"))
    };
    if !(least..=2).contains(&rows.len()) {
        return count(what, rows.len(), possible);
    }
    let what = format!("the rows of sliding velocity of {what}");
    rows.iter().try_for_each(|row| check_row(&what, row, n))?;
    let what = format!("the drift of {what}");
    drift.iter().try_for_each(|&value| check_finite(&what, value))?;
    if drift.is_empty() || drift.len() == rows.len() { Ok(()) } else { count(&what, drift.len(), "one number per row") }
}

fn check_contact(contact: &LinearContact, n: usize) -> Result<(), LinearSystemError> {
    let LinearContact { mu, restitution, .. } = *contact;
    let what = |part: &str| format!("{part} of contact `{}`", contact.name);
    check_row(&what("the normal row"), &contact.normal, n)?;
    check_finite(&what("the gap"), contact.gap)?;
    check_finite(&what("the drift of the gap"), contact.normal_drift)?;
    let rows = (&contact.tangents[..], &contact.tangent_drift[..]);
    check_tangents(&format!("contact `{}`", contact.name), rows, (0, "none to two"), n)?;
    check_range(&what("the coefficient of friction"), mu, f64::INFINITY)?;
    if let Some(value) = contact.static_mu {
        let what = what("the coefficient of static friction");
        check_range(&what, value, f64::INFINITY)?;
        if value < mu {
            let remedy = "give at least the coefficient of friction, which is that of sliding";
            return wrong(format!("{what} is {value}: {remedy}"));
        }
    }
    check_range(&what("the restitution"), restitution.normal, 1.0)?;
    check_range(&what("the tangential restitution"), restitution.tangential, 1.0)
}

fn check_friction(element: &LinearFriction, n: usize) -> Result<(), LinearSystemError> {
    let what = |part: &str| format!("{part} of friction element `{}`", element.name);
    let rows = (&element.tangents[..], &element.tangent_drift[..]);
    check_tangents(&format!("friction element `{}`", element.name), rows, (1, "one or two"), n)?;
    check_range(&what("the bound"), element.bound, f64::INFINITY)?;
    check_finite(&what("the bias"), element.bias)?;
    check_finite(&what("the displacement"), element.displacement.unwrap_or(0.0))?;
    if let Some(value) = element.static_bound {
        let what = what("the static bound");
        check_range(&what, value, f64::INFINITY)?;
        if value < element.bound || element.bound == 0.0 {
            let remedy = "give at least the bound, which is that of sliding and positive";
            return wrong(format!("{what} is {value}: {remedy}"));
        }
    }
    let is_sided = element.bias != 0.0 || element.displacement.is_some();
    let is_plain = element.tangents.len() == 1 && element.tangent_drift.iter().all(|drift| *drift == 0.0);
    if is_sided && !is_plain {
        let (name, found) = (&element.name, element.tangents.len());
        return wrong(format!(
            "friction element `{name}` has {found} rows of sliding velocity, but with a bias or a displacement one, without drift, are possible"
        ));
    }
    Ok(())
}

/// Symmetric, and positive definite by the pivots of Cholesky's factorisation.
fn check_mass(LinearSystemData { mass, coordinates, .. }: &LinearSystemData) -> Result<(), LinearSystemError> {
    for row in 0..mass.len() {
        for column in 0..row {
            let (lower, upper) = (mass[row][column], mass[column][row]);
            let scale = mass[row][row].abs().max(mass[column][column].abs());
            if (lower - upper).abs() > SYMMETRY_TOLERANCE * scale {
                return Err(LinearSystemError::Asymmetric { row, column, lower, upper });
            }
        }
    }
    cholesky(&mut mass.concat(), mass.len(), PIVOT_TOLERANCE).map_err(|(index, pivot)| {
        let coordinate = coordinates[index].clone();
        LinearSystemError::Indefinite { coordinate, pivot }
    })
}

/// Joints are independent when $\nu M^{-1} \nu^T$ is positive definite.
fn check_joints(data: &LinearSystemData) -> Result<(), LinearSystemError> {
    let joints = &data.joints;
    let mut inertia = Inertia::default();
    inertia.push_block(data.mass.len(), &data.mass.concat());
    inertia.factor().expect("the mass matrix is positive definite");
    let mut solved: Vec<Vec<f64>> = joints.iter().map(|joint| joint.row.clone()).collect();
    solved.iter_mut().for_each(|row| inertia.solve_in_place(row));
    let delassus = joints.iter().flat_map(|joint| solved.iter().map(|solved| dot(&joint.row, solved)));
    let mut delassus: Vec<f64> = delassus.collect();
    cholesky(&mut delassus, joints.len(), PIVOT_TOLERANCE)
        .map_err(|(index, _)| LinearSystemError::Redundant { name: joints[index].name.clone(), index })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_carts() -> LinearSystemData {
        LinearSystemData {
            coordinates: ["a", "b"].map(str::to_owned).to_vec(),
            mass: vec![vec![1.0, 0.0], vec![0.0, 3.0]],
            ..Default::default()
        }
    }

    fn joint(name: &str, row: [f64; 2]) -> LinearJoint {
        LinearJoint { name: name.to_owned(), row: row.to_vec(), ..Default::default() }
    }

    #[test]
    fn the_value_of_a_joint_is_affine_in_place_and_time() {
        let rod = LinearJoint { value: -0.5, drift: 0.25, ..joint("rod", [-1.0, 1.0]) };
        let system = LinearSystem::new(LinearSystemData { joints: vec![rod], ..two_carts() }).unwrap();
        let mut joints = Vec::new();
        system.joints(2.0, &[1.0, 3.0], &mut joints);
        // -0.5 - 1 + 3 + 2 · 0.25.
        assert_eq!(joints, [Joint { value: 2.0, row: Row::from_dense(&[-1.0, 1.0]), drift: 0.25 }]);
    }

    #[test]
    fn joints_that_repeat_others_are_refused() {
        let make = |joints: Vec<LinearJoint>| LinearSystem::new(LinearSystemData { joints, ..two_carts() });
        assert!(make(vec![joint("one", [1.0, 0.0]), joint("two", [1.0, 1.0])]).is_ok());
        for joints in [vec![joint("one", [0.1, 0.3]), joint("two", [0.2, 0.6])], vec![joint("two", [0.0, 0.0])]] {
            let index = joints.len() - 1;
            let expected = LinearSystemError::Redundant { name: "two".to_owned(), index };
            assert_eq!(make(joints).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_mass_matrix_that_only_rounding_keeps_regular_is_refused() {
        // The second row is three times the first: without rounding the second pivot is zero.
        let mass = vec![vec![0.1, 0.3], vec![0.3, 0.9]];
        let error = LinearSystem::new(LinearSystemData { mass, ..two_carts() }).unwrap_err();
        assert!(matches!(&error, LinearSystemError::Indefinite { coordinate, .. } if coordinate == "b"), "{error}");
        let mass = vec![vec![1e-6, 0.0], vec![0.0, 1e9]];
        assert!(LinearSystem::new(LinearSystemData { mass, ..two_carts() }).is_ok());
    }

    fn system(damping: [[f64; 2]; 2], stiffness: [[f64; 2]; 2]) -> LinearSystem {
        LinearSystem::new(LinearSystemData {
            coordinates: vec!["x".into(), "y".into()],
            mass: vec![vec![1.0, 0.0], vec![0.0, 2.0]],
            damping: damping.map(|row| row.to_vec()).to_vec(),
            stiffness: stiffness.map(|row| row.to_vec()).to_vec(),
            ..Default::default()
        })
        .unwrap()
    }

    fn jacobians(system: &LinearSystem, kind: JacobianKind) -> [[[f64; 2]; 2]; 2] {
        let mut out = ForceJacobians::default();
        system.force_jacobians(kind, 0.0, &[0.3, 0.1], &[1.0, 2.0], &mut out);
        [out.by_configuration, out.by_velocity].map(|list| {
            let mut matrix = [[0.0; 2]; 2];
            list.iter().for_each(|entry| matrix[entry.row][entry.column] += entry.value);
            matrix
        })
    }

    #[test]
    fn jacobians_are_the_matrices_and_their_definite_parts() {
        let (damping, stiffness) = ([[2.0, -2.0], [-2.0, 2.0]], [[5.0, 1.0], [1.0, 3.0]]);
        let system_of_springs = system(damping, stiffness);
        let negative = |matrix: [[f64; 2]; 2]| matrix.map(|row| row.map(|entry| 0.0 - entry));
        for kind in [JacobianKind::Exact, JacobianKind::Definite] {
            assert_eq!(jacobians(&system_of_springs, kind), [negative(stiffness), negative(damping)]);
        }
        let mut differences = ForceJacobians::default();
        differences.append_differences(&system_of_springs, 0.0, &[0.3, 0.1], &[1.0, 2.0]);
        for entry in differences.by_configuration {
            assert!((entry.value + stiffness[entry.row][entry.column]).abs() < 1e-9);
            assert_eq!(entry.cause, ForceCause::Potential);
        }
        // [[1, 2], [2, 1]] has the eigenvalues 3 and -1 along (1, 1) and (1, -1): 3/2 in all places
        // is left. An antisymmetric matrix does no work and stays.
        let gyroscopic = [[0.0, 4.0], [-4.0, 0.0]];
        let [by_configuration, by_velocity] =
            jacobians(&system(gyroscopic, [[1.0, 2.0], [2.0, 1.0]]), JacobianKind::Definite);
        assert!(
            by_configuration.as_flattened().iter().all(|entry| (entry + 1.5).abs() < 1e-14),
            "{by_configuration:?}"
        );
        assert_eq!(by_velocity, negative(gyroscopic));
    }
}
