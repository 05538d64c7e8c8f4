//! Convex polytopes around the origin in up to three dimensions: friction sets with corners and
//! facets.
//!
//! A [`Polytope`] $K$ is the hull of its corners and of the origin, because friction may always be
//! zero. Friction with the bound $b$ is a point of $b K$: in the weights of the corners,
//! $c = \sum d_i \beta_i$ with $\beta \ge 0$ and $\sum \beta_i \le b$, which is what the
//! complementarity problems of \[ST96\] state; in the facets, $a_j \cdot c \le g_j b$, which is how
//! \[TTP01\] §2 gives its example (b).
//!
//! The hull may be flat: a single direction is a segment, the directions of a tangent plane have no
//! torsion. Everything is computed in the space that the corners span. The plane, line or point of
//! every face has the projection $x \mapsto \Pi x + b\thinspace o$. The nearest point of $b K$ is
//! the nearest of those of these images that lie in it.

use thiserror::Error;

use crate::friction::Projection;
use crate::vector::{dot, length, subtract};

/// Lengths below this share of the largest corner are rounding.
const ROUNDING: f64 = 1e-12;

/// A corner lies on a facet, and two facets are the same, when they are this near to each other, as
/// a share of the reach.
const SAME: f64 = 1e-9;

/// An image lies in the set when it is no farther outside: as a share of the largest corner, and of
/// the point itself. Too large: points a little outside count as nearest. Too small: a right face
/// is passed over for its rounding.
const INSIDE: [f64; 2] = [1e-13, 1e-14];

/// Most half-spaces from which a polytope is made: all triples of them are tried.
const MOST_HALF_SPACES: usize = 128;

/// The hull of some corners and of the origin; see the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct Polytope {
    /// The corners as they were given.
    corners: Vec<[f64; 3]>,
    facets: Vec<Facet>,
    /// The polytope itself, its facets, the edges of a solid, and from `first_corner` on its
    /// corners and the origin.
    faces: Vec<Face>,
    first_corner: usize,
    /// Length of the longest corner.
    reach: f64,
}

/// $a \cdot x \le g$ with a unit vector $a$ in the span of the corners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facet {
    /// Outward unit normal $a$.
    pub normal: [f64; 3],
    /// Distance $g \ge 0$ from the origin.
    pub offset: f64,
}

/// The projection $\Pi x + b\thinspace o$ on the plane, line or point of a face of $b K$.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Face {
    projector: [[f64; 3]; 3],
    foot: [f64; 3],
}

/// Why corners or half-spaces do not make a polytope.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PolytopeError(String);

impl Polytope {
    /// The hull of these corners and of the origin.
    ///
    /// # Errors
    /// When there is no corner, or one of them is zero or not finite.
    pub fn from_corners(corners: Vec<[f64; 3]>) -> Result<Self, PolytopeError> {
        if corners.is_empty() {
            return Err(PolytopeError("there is no direction; give at least one".into()));
        }
        for (i, corner) in corners.iter().enumerate() {
            if !(length(corner) > 0.0 && length(corner).is_finite()) {
                let reason = format!("direction {i} is {corner:?}; every direction needs a finite, positive length");
                return Err(PolytopeError(reason));
            }
        }
        let points: Vec<[f64; 3]> = corners.iter().copied().chain([[0.0; 3]]).collect();
        let reach = longest_of(&corners);
        let (basis, rank) = span(&corners, ROUNDING * reach);
        let facets = facets(&points, &basis, rank, ROUNDING * reach);
        let mut faces = faces(&points, &facets, &basis[..rank], SAME * reach);
        let first_corner = faces.len();
        faces.extend(points.iter().map(|&foot| Face { projector: [[0.0; 3]; 3], foot }));
        Ok(Self { corners, facets, faces, first_corner, reach })
    }

    /// The points with $a_j \cdot x \le 1$ for all $j$, in as many coordinates as `dimension` says:
    /// the others are zero.
    ///
    /// This is the polar set of the hull of the $a_j$: a facet $n \cdot a \le g$ of the hull stands
    /// for the corner $n / g$.
    ///
    /// # Errors
    /// When the half-spaces do not bound the set, or a number is not finite.
    pub fn from_half_spaces(normals: &[[f64; 3]], dimension: usize) -> Result<Self, PolytopeError> {
        if normals.len() > MOST_HALF_SPACES {
            let reason = format!("{} half-spaces are more than {MOST_HALF_SPACES}", normals.len());
            return Err(PolytopeError(reason));
        }
        if let Some((i, normal)) = normals.iter().enumerate().find(|(_, a)| a.iter().any(|a| !a.is_finite())) {
            return Err(PolytopeError(format!("half-space {i} is {normal:?}; its numbers must be finite")));
        }
        let own = |a: &[f64; 3]| std::array::from_fn(|k| if k < dimension { a[k] } else { 0.0 });
        let points: Vec<[f64; 3]> = normals.iter().map(own).chain([[0.0; 3]]).collect();
        let rounding = ROUNDING * longest_of(&points);
        let (basis, rank) = span(&points, rounding);
        let facets = facets(&points, &basis, rank, rounding);
        if rank < dimension || facets.iter().any(|facet| facet.offset <= rounding) {
            let reason = "the half-spaces do not bound the friction: in some direction none of them ends it";
            return Err(PolytopeError(reason.into()));
        }
        Self::from_corners(facets.iter().map(|facet| facet.normal.map(|n| n / facet.offset)).collect())
    }

    /// The corners as they were given.
    pub fn corners(&self) -> &[[f64; 3]] {
        &self.corners
    }

    /// The facets, within the space that the corners span.
    pub fn facets(&self) -> &[Facet] {
        &self.facets
    }

    /// $\max_{x \in K} -x \cdot s$: the largest friction power per unit of the bound against the
    /// sliding velocity $s$.
    pub fn support(&self, s: &[f64; 3]) -> f64 {
        self.corners.iter().fold(0.0, |largest, corner| largest.max(-dot(corner, s)))
    }

    /// How far a point is outside of $b K$; not positive inside.
    pub fn excess(&self, x: &[f64; 3], b: f64) -> f64 {
        let within = self.faces[0].image(x, b);
        let off = length(&subtract(x, &within));
        self.facets.iter().fold(off, |excess, facet| excess.max(dot(&facet.normal, &within) - b * facet.offset))
    }

    /// The nearest point of $b K$.
    pub fn project(&self, x: &[f64; 3], b: f64) -> Projection {
        if b <= 0.0 {
            return Projection::default();
        }
        let within = self.faces[0].image(x, b);
        let slack = INSIDE[0] * b * self.reach + INSIDE[1] * length(x);
        let is_inside =
            |point: &[f64; 3]| self.facets.iter().all(|facet| dot(&facet.normal, point) <= b * facet.offset + slack);
        let (mut nearest, mut shortest) = (&self.faces[0], f64::INFINITY);
        for (i, face) in self.faces.iter().enumerate() {
            let point = face.image(&within, b);
            let far = length(&subtract(&point, &within));
            if far < shortest && (i >= self.first_corner || is_inside(&point)) {
                (nearest, shortest) = (face, far);
            }
            if shortest == 0.0 {
                break;
            }
        }
        Projection { point: nearest.image(&within, b), by_point: nearest.projector, by_bound: nearest.foot }
    }
}

impl Face {
    fn image(&self, x: &[f64; 3], b: f64) -> [f64; 3] {
        std::array::from_fn(|i| dot(&self.projector[i], x) + b * self.foot[i])
    }
}

/// All faces but the corners: what the points span, the facets, and the edges of a solid, which lie
/// on two facets.
fn faces(points: &[[f64; 3]], facets: &[Facet], span: &[[f64; 3]], same: f64) -> Vec<Face> {
    let mut whole = [[0.0; 3]; 3];
    span.iter().for_each(|e| add_outer(&mut whole, 1.0, e));
    let mut faces = vec![Face { projector: whole, foot: [0.0; 3] }];
    for Facet { normal, offset } in facets {
        let mut projector = whole;
        add_outer(&mut projector, -1.0, normal);
        faces.push(Face { projector, foot: normal.map(|n| offset * n) });
    }
    let is_on = |facet: &Facet, point| dot(&facet.normal, point) >= facet.offset - same;
    for (i, p) in points.iter().enumerate().filter(|_| span.len() == 3) {
        for q in &points[i + 1..] {
            let edge = subtract(q, p);
            let size = length(&edge);
            if size > same && facets.iter().filter(|facet| is_on(facet, p) && is_on(facet, q)).count() > 1 {
                let direction = edge.map(|x| x / size);
                let mut projector = [[0.0; 3]; 3];
                add_outer(&mut projector, 1.0, &direction);
                let along = dot(&direction, p);
                faces.push(Face { projector, foot: std::array::from_fn(|k| p[k] - along * direction[k]) });
            }
        }
    }
    faces
}

/// The facets of the hull of some points, each once: the planes through as many points as the span
/// has dimensions that have all points on one side.
fn facets(points: &[[f64; 3]], basis: &[[f64; 3]; 3], rank: usize, rounding: f64) -> Vec<Facet> {
    let mut facets: Vec<Facet> = Vec::new();
    let mut try_normal = |normal: [f64; 3], through: &[f64; 3]| {
        let offset = dot(&normal, through);
        let is_outward = points.iter().all(|point| dot(&normal, point) <= offset + rounding);
        let is_new = |facet: &Facet| length(&subtract(&facet.normal, &normal)) > SAME;
        if is_outward && facets.iter().all(is_new) {
            facets.push(Facet { normal, offset: offset.max(0.0) });
        }
    };
    let later = |i: usize, is_free: bool| if is_free { i + 1..points.len() } else { i..i + 1 };
    for (i, point) in points.iter().enumerate() {
        for j in later(i, rank > 1) {
            for k in later(j, rank > 2) {
                // Two directions of the plane: from point to point, and across the span.
                let first = if rank > 1 { subtract(&points[j], point) } else { basis[1] };
                let second = if rank > 2 { subtract(&points[k], point) } else { basis[2] };
                let normal = cross(&first, &second);
                let size = length(&normal);
                if length(&first) > rounding
                    && length(&second) > rounding
                    && size > SAME * length(&first) * length(&second)
                {
                    try_normal(normal.map(|x| x / size), point);
                    try_normal(normal.map(|x| -x / size), point);
                }
            }
        }
    }
    facets
}

/// An orthonormal basis whose first vectors span some vectors, the longest remainder first, and how
/// many do.
fn span(vectors: &[[f64; 3]], rounding: f64) -> ([[f64; 3]; 3], usize) {
    let without = |v: &[f64; 3], e: &[f64; 3]| {
        let along = dot(e, v);
        std::array::from_fn(|k| v[k] - along * e[k])
    };
    let longest = |rest: &[[f64; 3]]| rest.iter().copied().max_by(|a, b| dot(a, a).total_cmp(&dot(b, b)));
    let (mut basis, mut rank, mut rest) = ([[0.0; 3]; 3], 3, vectors.to_vec());
    for k in 0..3 {
        if rank == 3 && longest(&rest).is_none_or(|v| length(&v) <= rounding) {
            rank = k;
            rest = vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
            basis[..k].iter().for_each(|e| rest.iter_mut().for_each(|v| *v = without(v, e)));
        }
        let next = longest(&rest).unwrap_or_default();
        basis[k] = next.map(|x| x / length(&next));
        rest.iter_mut().for_each(|v| *v = without(v, &basis[k]));
    }
    (basis, rank)
}

fn longest_of(vectors: &[[f64; 3]]) -> f64 {
    vectors.iter().map(|v| length(v)).fold(0.0, f64::max)
}

fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Adds $\sigma\thinspace d d^T$.
fn add_outer(matrix: &mut [[f64; 3]; 3], sigma: f64, d: &[f64; 3]) {
    for i in 0..3 {
        (0..3).for_each(|j| matrix[i][j] += sigma * d[i] * d[j]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::Generator;

    /// The octahedron with these semi-axes.
    fn octahedron(axes: [f64; 3]) -> Polytope {
        let corners = (0..3)
            .flat_map(|k| [1.0, -1.0].map(|sign| std::array::from_fn(|j| if j == k { sign * axes[k] } else { 0.0 })));
        Polytope::from_corners(corners.collect()).unwrap()
    }

    #[test]
    fn corners_and_half_spaces_describe_the_same_set() {
        let octahedron = octahedron([1.0, 2.0, 0.5]);
        assert_eq!(octahedron.facets().len(), 8);
        // The planes x ± y/2 ± 2 z = ±1.
        let signs = [1.0, -1.0];
        let planes: Vec<[f64; 3]> =
            signs.iter().flat_map(|a| signs.iter().flat_map(move |b| signs.map(|c| [*a, 0.5 * b, 2.0 * c]))).collect();
        let same = Polytope::from_half_spaces(&planes, 3).unwrap();
        assert_eq!(same.corners().len(), 6);
        let mut generator = Generator::new(3);
        for _ in 0..100 {
            let x = [0; 3].map(|_| generator.uniform(-2.0, 2.0));
            let (a, b) = (octahedron.excess(&x, 1.5), same.excess(&x, 1.5));
            assert!((a - b).abs() < 1e-12, "{x:?}: {a} {b}");
            assert!((octahedron.support(&x) - x[0].abs().max(2.0 * x[1].abs()).max(0.5 * x[2].abs())).abs() < 1e-12);
        }
        // A rectangle in the tangent plane, and an interval.
        let planes = [[2.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, -4.0, 0.0]];
        let rectangle = Polytope::from_half_spaces(&planes, 2).unwrap();
        assert_eq!(rectangle.corners().len(), 4);
        assert!((rectangle.support(&[-1.0, -1.0, 0.0]) - 0.75).abs() < 1e-14);
        let interval = Polytope::from_half_spaces(&[[2.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], 1).unwrap();
        assert!((interval.support(&[-1.0, 0.0, 0.0]) - 0.5).abs() < 1e-15);
        assert!((interval.support(&[1.0, 0.0, 0.0]) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn what_bounds_nothing_is_refused() {
        for (planes, dimension) in [
            (vec![[1.0, 0.0, 0.0]], 1),
            (vec![[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 2),
            (vec![[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]], 3),
        ] {
            let error = Polytope::from_half_spaces(&planes, dimension).unwrap_err();
            assert!(error.to_string().contains("do not bound"), "{error}");
        }
        assert!(Polytope::from_corners(vec![]).is_err());
        let error = Polytope::from_corners(vec![[1.0, 0.0, 0.0], [0.0; 3]]).unwrap_err();
        assert!(error.to_string().contains("direction 1 is [0.0, 0.0, 0.0]"), "{error}");
    }

    #[test]
    fn the_nearest_point_is_nearest_and_moves_as_its_derivatives_say() {
        let mut generator = Generator::new(11);
        let mut outside = 0;
        for trial in 0..400 {
            // Solids, plane sets and segments, all of them with some corners that are none.
            let flat = trial % 3;
            let corners: Vec<[f64; 3]> = (0..8)
                .map(|_| {
                    let p = [0; 3].map(|_| generator.uniform(-1.0, 1.0));
                    match flat {
                        0 => p,
                        1 => [p[0], p[1], 0.5 * p[0]],
                        _ => [p[0], -p[0], 2.0 * p[0]],
                    }
                })
                .collect();
            let polytope = Polytope::from_corners(corners).unwrap();
            let (x, b) = ([0; 3].map(|_| generator.uniform(-2.0, 2.0)), generator.uniform(0.1, 2.0));
            let found = polytope.project(&x, b);
            assert!(polytope.excess(&found.point, b) < 1e-9, "{trial}: {}", polytope.excess(&found.point, b));
            // Nearest in a convex set: (x - P)·(y - P) ≤ 0 for every corner y and for zero.
            let away = subtract(&x, &found.point);
            outside += usize::from(dot(&away, &away) > 1e-12);
            for corner in polytope.corners().iter().chain([&[0.0; 3]]) {
                let to = subtract(&corner.map(|c| b * c), &found.point);
                assert!(dot(&away, &to) < 1e-9, "{trial}");
            }
            let h = 1e-7;
            for k in 0..3 {
                let mut moved = x;
                moved[k] += h;
                let other = polytope.project(&moved, b).point;
                for i in 0..3 {
                    assert!(((other[i] - found.point[i]) / h - found.by_point[i][k]).abs() < 1e-5, "{trial}");
                }
            }
            let other = polytope.project(&x, b + h).point;
            assert!((0..3).all(|i| ((other[i] - found.point[i]) / h - found.by_bound[i]).abs() < 1e-5), "{trial}");
        }
        assert!(outside > 200);
    }

    #[test]
    fn a_single_direction_pushes_one_way() {
        let torsion = Polytope::from_corners(vec![[0.0, 0.0, -0.4]]).unwrap();
        assert_eq!(torsion.support(&[5.0, 5.0, 2.0]), 0.8);
        assert_eq!(torsion.support(&[5.0, 5.0, -2.0]), 0.0);
        assert_eq!(torsion.project(&[1.0, 0.0, -3.0], 2.0).point, [0.0, 0.0, -0.8]);
        assert_eq!(torsion.project(&[1.0, 0.0, 3.0], 2.0).point, [0.0; 3]);
    }

    #[test]
    fn facets_are_unit_vectors_and_each_is_there_once() {
        // A box of half edges 2, 3 and 4 by its corners, with corners that are none on a face and
        // on an edge: six facets, at these distances.
        let signs = [1.0, -1.0];
        let mut corners: Vec<[f64; 3]> = signs
            .iter()
            .flat_map(|a| signs.iter().flat_map(move |b| signs.map(|c| [2.0 * a, 3.0 * b, 4.0 * c])))
            .collect();
        corners.extend([[2.0, 0.5, 1.0], [2.0, 3.0, 1.0], [1.0, 1.0, 1.0]]);
        let solid = Polytope::from_corners(corners).unwrap();
        assert_eq!(solid.facets().len(), 6, "{:?}", solid.facets());
        for facet in solid.facets() {
            let axis = (0..3).find(|&k| facet.normal[k].abs() > 0.5).unwrap();
            assert!((dot(&facet.normal, &facet.normal) - 1.0).abs() < 1e-14);
            assert!((facet.offset - [2.0, 3.0, 4.0][axis]).abs() < 1e-14, "{facet:?}");
        }
        // Distances from a facet are true ones: 1 above the face at 4 b, with b = 1.5.
        assert!((solid.excess(&[0.3, 0.2, 7.0], 1.5) - 1.0).abs() < 1e-14);
        assert!(solid.excess(&[0.3, 0.2, 5.0], 1.5) < 1e-14);
        // A flat set has facets within its plane; what leaves the plane is outside by as much,
        // whatever the bound.
        let flat = Polytope::from_corners(vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, -1.0, 0.0]]).unwrap();
        assert_eq!(flat.facets().len(), 3);
        assert!((flat.excess(&[0.1, 0.1, -0.25], 10.0) - 0.25).abs() < 1e-14);
        let segment = Polytope::from_corners(vec![[0.0, 0.0, 2.0]]).unwrap();
        assert!((segment.excess(&[0.3, 0.4, 1.0], 1.0) - 0.5).abs() < 1e-14);
    }

    #[test]
    fn without_a_bound_there_is_no_friction() {
        let octahedron = octahedron([1.0, 2.0, 0.5]);
        for b in [0.0, -1e-9] {
            assert_eq!(octahedron.project(&[0.0; 3], b), Projection::default());
            assert_eq!(octahedron.project(&[0.3, -2.0, 1.0], b).point, [0.0; 3]);
        }
    }

    #[test]
    fn half_spaces_beyond_the_tangents_do_not_count_and_bad_ones_are_named() {
        // In one coordinate only the first number of each counts: -1 ≤ x ≤ 1/2.
        let planes = [[2.0, 5.0, 7.0], [-1.0, 3.0, 0.0]];
        let interval = Polytope::from_half_spaces(&planes, 1).unwrap();
        assert!((interval.support(&[-1.0, 0.0, 0.0]) - 0.5).abs() < 1e-15);
        assert!((interval.support(&[1.0, 0.0, 0.0]) - 1.0).abs() < 1e-15);
        assert!(interval.corners().iter().all(|corner| corner[1] == 0.0 && corner[2] == 0.0), "{interval:?}");
        // A slab, of which no two planes meet.
        for dimension in [2, 3] {
            let slab = Polytope::from_half_spaces(&[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], dimension).unwrap_err();
            assert!(slab.to_string().contains("do not bound"), "{slab}");
        }
        let broken = Polytope::from_half_spaces(&[[1.0, 0.0, 0.0], [f64::NAN, 0.0, 0.0]], 1).unwrap_err();
        assert!(broken.to_string().contains("half-space 1 is [NaN, 0.0, 0.0]"), "{broken}");
        let many = Polytope::from_half_spaces(&vec![[1.0, 0.0, 0.0]; MOST_HALF_SPACES + 1], 1).unwrap_err();
        assert!(many.to_string().contains("129 half-spaces are more than 128"), "{many}");
    }
}
