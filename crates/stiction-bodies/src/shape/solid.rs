//! Volume, centre and inertia of what triangles or segments enclose.
//!
//! Tetrahedra between a middle point and each triangle, with sign (in the plane: triangles between
//! a middle point and each segment). With the corners $a, b, c$ seen from that point, one of volume
//! $V = \det(a, b, c)/6$ has the moments
//!
//! $$ \int x = \tfrac V4 s, \qquad \int x x^T = \tfrac V{20} (s s^T + a a^T + b b^T + c c^T), \qquad s = a + b + c. $$
//!
//! The middle point is that of the corners, so that a body far from its origin loses no digits.

use glamx::{DMat3, DVec3};

use super::MassProperties;

/// Volume in m³, first and second moments about a point, of unit density.
struct Moments {
    volume: f64,
    first: DVec3,
    second: DMat3,
}

/// The matrix $x x^T$.
fn square(x: DVec3) -> DMat3 {
    DMat3::from_cols(x * x.x, x * x.y, x * x.z)
}

/// The mean of some points.
fn middle(points: &[DVec3]) -> DVec3 {
    points.iter().sum::<DVec3>() / points.len() as f64
}

/// Mass properties of unit density of what closed triangles enclose; the mass is the volume in m³,
/// negative where they are inside out.
pub(crate) fn enclosed_by_triangles(vertices: &[DVec3], triangles: impl Iterator<Item = [u32; 3]>) -> MassProperties {
    let origin = middle(vertices);
    let mut sum = Moments { volume: 0.0, first: DVec3::ZERO, second: DMat3::ZERO };
    for triangle in triangles {
        let [a, b, c] = triangle.map(|corner| vertices[corner as usize] - origin);
        let volume = a.dot(b.cross(c)) / 6.0;
        let s = a + b + c;
        sum.volume += volume;
        sum.first += s * (volume / 4.0);
        sum.second += (square(s) + square(a) + square(b) + square(c)) * (volume / 20.0);
    }
    let arm = sum.first / sum.volume;
    let second = sum.second - square(arm) * sum.volume;
    let trace = second.x_axis.x + second.y_axis.y + second.z_axis.z;
    let inertia = DMat3::from_diagonal(DVec3::splat(trace)) - second;
    MassProperties { mass: sum.volume, centre: origin + arm, inertia }
}

/// Mass properties of unit density of a polygon in the plane; the mass is the area in m², negative
/// where it is clockwise.
pub(crate) fn enclosed_by_polygon(vertices: &[DVec3]) -> MassProperties {
    let origin = middle(vertices);
    let (mut area, mut first, mut second) = (0.0, DVec3::ZERO, 0.0);
    for (i, &vertex) in vertices.iter().enumerate() {
        let (a, b) = (vertex - origin, vertices[(i + 1) % vertices.len()] - origin);
        let part = 0.5 * cross(a, b);
        area += part;
        first += (a + b) * (part / 3.0);
        second += part / 6.0 * (a.dot(a) + a.dot(b) + b.dot(b));
    }
    let arm = first / area;
    let inertia = second - area * arm.dot(arm);
    let inertia = DMat3::from_diagonal(DVec3::new(0.0, 0.0, inertia));
    MassProperties { mass: area, centre: origin + arm, inertia }
}

/// The same of a chain with its solid on the right: the mass is negative where that is outside.
pub(crate) fn enclosed_by_chain(vertices: &[DVec3]) -> MassProperties {
    let inside = enclosed_by_polygon(vertices);
    MassProperties { mass: -inside.mass, inertia: -inside.inertia, ..inside }
}

/// The z of a cross product.
fn cross(a: DVec3, b: DVec3) -> f64 {
    a.x * b.y - a.y * b.x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tetrahedron_and_a_box_by_hand() {
        // The corner of the unit cube: volume 1/6, centre 1/4, and about the centre
        // ∫x² = 1/60 - (1/6)/16 = 1/160, ∫xy = 1/120 - (1/6)/16 = -1/480.
        let far = DVec3::new(1e3, -2e3, 5e2);
        let vertices = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z].map(|x| x + far);
        let triangles = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let found = enclosed_by_triangles(&vertices, triangles.into_iter());
        assert!((found.mass - 1.0 / 6.0).abs() < 1e-15);
        assert!((found.centre - far - DVec3::splat(0.25)).length() < 1e-12);
        assert!((found.inertia.x_axis.x - 2.0 / 160.0).abs() < 1e-14);
        assert!((found.inertia.x_axis.y - 1.0 / 480.0).abs() < 1e-14);
        let inside_out = enclosed_by_triangles(&vertices, triangles.into_iter().map(|[a, b, c]| [a, c, b]));
        assert!((inside_out.mass + 1.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn a_triangle_by_hand() {
        // Legs 3 and 6 at a right angle: area 9, centre (1, 2), inertia 9 (3² + 6²)/18 = 22.5.
        let place = DVec3::new(100.0, 200.0, 0.0);
        let vertices = [DVec3::ZERO, 3.0 * DVec3::X, 6.0 * DVec3::Y].map(|x| x + place);
        let found = enclosed_by_polygon(&vertices);
        assert!((found.mass - 9.0).abs() < 1e-12);
        assert!((found.centre - place - DVec3::new(1.0, 2.0, 0.0)).length() < 1e-13);
        assert!((found.planar_inertia() - 22.5).abs() < 1e-11);
    }
}
