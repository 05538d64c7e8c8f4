//! Mass and inertia, given or from the shapes.

use stiction_bodies::glamx::{DMat3, DVec3};
use stiction_bodies::{BodyShape, Dimension, MassProperties, PlacedShape, ShapeError, combined_mass_properties};
use stiction_solve::PortableMath as _;

use super::Reader;
use super::shapes::extent;
use super::values::{list, positive};
use crate::place::{Fault, Place};
use crate::scene::{BodyEntry, InertiaEntry, KindName};

/// How far the centre of mass of shapes may be from the origin of their body, relative to the size
/// of the body.
const CENTRE_TOLERANCE: f64 = 1e-9;

/// How far an inertia may be from symmetric, and its moments from a flat body, relative to its
/// largest entry.
const INERTIA_TOLERANCE: f64 = 1e-9;

impl Reader<'_> {
    /// Mass, and the inertia if the body is rigid.
    pub(super) fn mass_and_inertia(
        &self,
        place: &Place,
        entry: &BodyEntry,
        shapes: &[BodyShape],
    ) -> Result<(f64, Option<DMat3>), Fault> {
        let is_rigid = entry.kind == KindName::Rigid;
        let name = &entry.name;
        match (entry.mass, entry.density, &entry.inertia) {
            (Some(_), Some(_), _) => {
                let message = format!("body `{name}` has both `mass` and `density`");
                Err(place.key("density").key_fault(message, "keep one of them"))
            }
            (None, Some(_), Some(_)) => {
                let message = format!("body `{name}` has both `density` and `inertia`");
                let help =
                    "remove `inertia`, which follows from shapes and density, or give `mass` in place of `density`";
                Err(place.key("inertia").key_fault(message, help))
            }
            (None, None, _) => {
                let message = format!("body `{name}` of kind `{}` has no mass", entry.kind.word());
                let help = "give `mass`, or `density` if the mass is to follow from the shapes; a body that does not move \
                            is `kind = \"static\"`";
                Err(place.fault(message, help))
            }
            (None, Some(density), None) => {
                positive(place.key("density"), "the density", density, self.density_unit())?;
                let properties = self.properties_of_shapes(place.key("density"), entry, shapes, density, "mass")?;
                Ok((properties.mass, is_rigid.then_some(properties.inertia)))
            }
            (Some(mass), None, inertia) => {
                positive(place.key("mass"), "the mass", mass, "kg")?;
                match inertia {
                    _ if !is_rigid => Ok((mass, None)),
                    Some(inertia) => Ok((mass, Some(self.inertia(place.key("inertia"), inertia)?))),
                    None => {
                        let properties = self.properties_of_shapes(place.key("mass"), entry, shapes, 1.0, "inertia")?;
                        Ok((mass, Some(properties.with_mass(mass).inertia)))
                    }
                }
            }
        }
    }

    fn density_unit(&self) -> &'static str {
        if self.is_plane() { "kg/m²" } else { "kg/m³" }
    }

    /// Mass, centre and inertia of all shapes, evenly filled; the centre must be the origin.
    fn properties_of_shapes(
        &self,
        place: Place,
        entry: &BodyEntry,
        shapes: &[BodyShape],
        density: f64,
        wanted: &str,
    ) -> Result<MassProperties, Fault> {
        let name = &entry.name;
        let parts: Vec<(PlacedShape, f64)> = shapes.iter().map(|shape| (shape.placed.clone(), density)).collect();
        let instead = if wanted == "inertia" {
            "give `inertia`, or make the body `kind = \"point\"`"
        } else {
            "give `mass` and `inertia` in place of `density`"
        };
        let properties = combined_mass_properties(&parts, self.dimension).map_err(|error| {
            let reason = match error {
                ShapeError::NoShapes => "it has no shapes".to_owned(),
                ShapeError::NoMass { shape, value, .. } if value.is_infinite() => {
                    format!("a {shape} of its shapes is infinite, without a mass of its own")
                }
                ShapeError::NoMass { shape, extent, .. } => format!("a {shape} of its shapes has no {extent}"),
                other => other.to_string(),
            };
            place.fault(format!("the {wanted} of body `{name}` cannot follow from its shapes: {reason}"), instead)
        })?;
        let size = parts.iter().map(|(placed, _)| placed.position.length() + extent(&placed.shape)).fold(0.0, f64::max);
        let centre = properties.centre;
        if centre.length() > CENTRE_TOLERANCE * size {
            let numbers = |vector: DVec3| list(&vector.to_array()[..if self.is_plane() { 2 } else { 3 }]);
            let message = format!(
                "the shapes of body `{name}` have their centre of mass at {}, but the origin of a body is its centre of mass",
                numbers(centre)
            );
            let first = shapes[0].placed.position - centre;
            let help = format!(
                "add {} to the `position` of every shape (the first is then at {}), and move the body to where its centre \
                 of mass is; or give both `mass` and `inertia`",
                numbers(-centre),
                numbers(first)
            );
            return Err(place.fault(message, help));
        }
        Ok(properties)
    }

    fn inertia(&self, place: Place, inertia: &InertiaEntry) -> Result<DMat3, Fault> {
        let tensor = match (self.dimension, inertia) {
            (Dimension::Plane, &InertiaEntry::Plane(moment)) => {
                positive(place, "the inertia", moment, "kg m²")?;
                return Ok(DMat3::from_diagonal(DVec3::new(0.0, 0.0, moment)));
            }
            (Dimension::Space, InertiaEntry::Diagonal(diagonal)) if diagonal.len() == 3 => {
                DMat3::from_diagonal(DVec3::from_slice(diagonal))
            }
            (Dimension::Space, InertiaEntry::Full(rows))
                if rows.len() == 3 && rows.iter().all(|row| row.len() == 3) =>
            {
                DMat3::from_cols_array_2d(&std::array::from_fn(|row| std::array::from_fn(|k| rows[row][k]))).transpose()
            }
            (dimension, inertia) => {
                let found = match inertia {
                    InertiaEntry::Plane(_) => "one number".to_owned(),
                    InertiaEntry::Diagonal(diagonal) => format!("a list of {}", diagonal.len()),
                    InertiaEntry::Full(_) => "a list of lists".to_owned(),
                };
                let wanted = match dimension {
                    Dimension::Plane => "in the plane it is one number",
                    Dimension::Space => "in space it is [Ixx, Iyy, Izz] or three rows of three",
                };
                return Err(place.fault(format!("inertia is {found}, but {wanted}"), "write it in that form"));
            }
        };
        let largest = tensor.to_cols_array().into_iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
        for (row, column) in [(0, 1), (0, 2), (1, 2)] {
            let (above, below) = (tensor.col(column)[row], tensor.col(row)[column]);
            if (above - below).abs() > INERTIA_TOLERANCE * largest {
                let message =
                    format!("the inertia is not symmetric: {above:?} and {below:?} stand across the diagonal");
                return Err(place.index(column).index(row).fault(message, "make the two entries equal"));
            }
        }
        let symmetric = (tensor + tensor.transpose()) * 0.5;
        let moments = eigenvalues(&symmetric);
        let show = list(&moments);
        if moments[0] <= 0.0 {
            let message = format!("the inertia is not positive definite: its principal moments are {show} kg m²");
            return Err(place.fault(message, "give an inertia whose principal moments are positive"));
        }
        if moments[2] > (moments[0] + moments[1]) * (1.0 + INERTIA_TOLERANCE) {
            let message = format!(
                "no body has this inertia: of its principal moments {show} kg m² the largest is more than the sum of the others"
            );
            let help = "check the numbers; only a flat body reaches the sum, and none goes beyond it";
            return Err(place.fault(message, help));
        }
        Ok(symmetric)
    }
}

/// Eigenvalues of a symmetric matrix in ascending order, by Jacobi rotations.
pub(crate) fn eigenvalues(matrix: &DMat3) -> [f64; 3] {
    let mut a = [[0.0; 3]; 3];
    for row in 0..3 {
        for column in 0..3 {
            a[row][column] = matrix.col(column)[row];
        }
    }
    // Convergence is quadratic; a sweep without effect leaves the matrix as it is.
    const SWEEPS: usize = 20;
    for _ in 0..SWEEPS {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            // The smaller rotation that makes entry (p, q) zero.
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + theta.portable_hypot(1.0));
            let c = 1.0 / t.portable_hypot(1.0);
            let s = t * c;
            for k in 0..3 {
                (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
            }
            for k in 0..3 {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
            }
            (a[p][q], a[q][p]) = (0.0, 0.0);
        }
    }
    let mut values = [a[0][0], a[1][1], a[2][2]];
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use stiction_bodies::glamx::DQuat;

    use super::*;

    #[test]
    fn eigenvalues_by_hand() {
        assert_eq!(eigenvalues(&DMat3::from_diagonal(DVec3::new(3.0, 1.0, 2.0))), [1.0, 2.0, 3.0]);
        // [[2, 1], [1, 2]] has 1 and 3; turned by any rotation the values stay.
        let block = DMat3::from_cols(DVec3::new(2.0, 1.0, 0.0), DVec3::new(1.0, 2.0, 0.0), DVec3::new(0.0, 0.0, 5.0));
        let turn = DMat3::from_quat(DQuat::from_xyzw(0.5, -0.1, 0.7, 0.3).normalize());
        for matrix in [block, turn * block * turn.transpose()] {
            for (value, expected) in eigenvalues(&matrix).into_iter().zip([1.0, 3.0, 5.0]) {
                assert!((value - expected).abs() < 1e-14, "{value} is not {expected}");
            }
        }
    }
}
