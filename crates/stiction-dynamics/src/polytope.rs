//! Convex polytopes around the origin in up to three dimensions: friction sets with corners and facets.
//!
//! A [`Polytope`] $K$ is the hull of its corners and of the origin, because friction may always be zero. Friction with the bound $b$ is a point of
//! $b K$: in the weights of the corners, $c = \sum d_i \beta_i$ with $\beta \ge 0$ and $\sum \beta_i \le b$, which is what the complementarity problems of
//! \[ST96\] state; in the facets, $a_j \cdot c \le g_j b$, which is how \[TTP01\] §2 gives its example (b).
//!
//! The hull may be flat: a single direction is a segment, the directions of a tangent plane have no torsion. Everything is computed in the space that the corners
//! span.

use std::fmt;

/// Lengths below this share of the largest corner are rounding.
const ROUNDING: f64 = 1e-12;

/// A corner lies on a side when it is this near to it, as a share of the largest one.
const ON_SIDE: f64 = 1e-9;

/// Most steps of the search for the nearest point; each one moves to a smaller distance, and few corners are needed.
const STEP_LIMIT: usize = 200;

/// Most half-spaces from which a polytope is made: all triples of them are tried.
const MOST_HALF_SPACES: usize = 128;

/// The hull of some corners and of the origin; see the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct Polytope {
    /// The corners as they were given.
    corners: Vec<[f64; 3]>,
    /// An orthonormal basis of what they span; unused rows are zero.
    basis: [[f64; 3]; 3],
    rank: usize,
    facets: Vec<Facet>,
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

/// The nearest point of $b K$, and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection {
    /// The nearest point $P$.
    pub point: [f64; 3],
    /// $\partial P / \partial x$: the projection on the directions of the face on which it lies.
    pub by_point: [[f64; 3]; 3],
    /// $\partial P / \partial b$.
    pub by_bound: [f64; 3],
}

/// Why corners or half-spaces do not make a polytope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolytopeError(String);

impl fmt::Display for PolytopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PolytopeError {}

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
            let length = dot(corner, corner).sqrt();
            if !(length > 0.0 && length.is_finite()) {
                let reason = format!("direction {i} is {corner:?}; every direction needs a finite, positive length");
                return Err(PolytopeError(reason));
            }
        }
        let reach = corners.iter().fold(0.0f64, |reach, corner| reach.max(dot(corner, corner).sqrt()));
        let (basis, rank) = span(&corners, ROUNDING * reach);
        let facets = facets(&corners, &basis, rank, ROUNDING * reach);
        Ok(Self { corners, basis, rank, facets, reach })
    }

    /// The points with $a_j \cdot x \le 1$ for all $j$, in as many coordinates as `dimension` says: the others are zero.
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
        let largest = normals.iter().fold(0.0f64, |largest, a| largest.max(dot(a, a).sqrt()));
        let (_, rank) = span(normals, ROUNDING * largest);
        // A direction in which no half-space ends. If there is one, one of those along the lines in which planes meet is.
        let open = |d: &[f64; 3]| {
            let rounding = ROUNDING * largest * dot(d, d).sqrt();
            dot(d, d) > 0.0 && normals.iter().all(|a| dot(a, d) <= rounding)
        };
        let lines: Vec<[f64; 3]> = match dimension {
            1 => vec![[1.0, 0.0, 0.0]],
            2 => normals.iter().map(|a| [a[1], -a[0], 0.0]).collect(),
            _ => pairs(normals.len()).map(|(i, j)| cross(&normals[i], &normals[j])).collect(),
        };
        if rank < dimension || lines.iter().any(|d| open(d) || open(&d.map(|d| -d))) {
            let reason = "the half-spaces do not bound the friction: in some direction none of them ends it";
            return Err(PolytopeError(reason.into()));
        }
        // Corners: where as many planes meet as there are coordinates, inside of all the others.
        let mut corners: Vec<[f64; 3]> = Vec::new();
        let mut try_planes = |planes: &[usize]| {
            let mut matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
            let mut right = [0.0; 3];
            for (row, &plane) in planes.iter().enumerate() {
                matrix[row] = std::array::from_fn(|k| if k < dimension { normals[plane][k] } else { 0.0 });
                right[row] = 1.0;
            }
            let Some(x) = solve(&matrix, &right, dimension) else { return };
            let is_inside = |a: &[f64; 3]| dot(a, &x) <= 1.0 + 1e-9;
            let is_new = |other: &[f64; 3]| distance(other, &x) > 1e-9 * dot(&x, &x).sqrt();
            if normals.iter().all(is_inside) && corners.iter().all(is_new) {
                corners.push(x);
            }
        };
        let count = normals.len();
        match dimension {
            1 => (0..count).for_each(|i| try_planes(&[i])),
            2 => pairs(count).for_each(|(i, j)| try_planes(&[i, j])),
            _ => pairs(count).for_each(|(i, j)| (j + 1..count).for_each(|k| try_planes(&[i, j, k]))),
        }
        Self::from_corners(corners)
    }

    /// The corners as they were given.
    pub fn corners(&self) -> &[[f64; 3]] {
        &self.corners
    }

    /// The facets, within the space that the corners span.
    pub fn facets(&self) -> &[Facet] {
        &self.facets
    }

    /// $\max_{x \in K} -x \cdot s$: the largest friction power per unit of the bound against the sliding velocity $s$.
    pub fn support(&self, s: &[f64; 3]) -> f64 {
        self.corners.iter().fold(0.0, |largest, corner| largest.max(-dot(corner, s)))
    }

    /// How far a point is outside of $b K$; not positive inside.
    pub fn excess(&self, x: &[f64; 3], b: f64) -> f64 {
        let within = self.within(x);
        let off = distance(x, &within);
        self.facets.iter().fold(off, |excess, facet| excess.max(dot(&facet.normal, &within) - b * facet.offset))
    }

    /// The nearest point of $b K$, without its derivatives; of a polygon or a segment without allocation.
    pub fn nearest(&self, x: &[f64; 3], b: f64) -> [f64; 3] {
        if self.rank > 2 || b <= 0.0 {
            return self.project(x, b).point;
        }
        let within = self.within(x);
        let (mut nearest, mut shortest) = (within, f64::INFINITY);
        for Facet { normal, offset } in &self.facets {
            if dot(normal, &within) <= b * offset {
                continue;
            }
            // The side from one corner to the other: along the facet, between the corners that lie on it.
            let side = if self.rank == 2 { cross(&cross(&self.basis[0], &self.basis[1]), normal) } else { [0.0; 3] };
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            let origin = [0.0; 3];
            for corner in self.corners.iter().chain(std::iter::once(&origin)) {
                if dot(normal, corner) >= offset - ON_SIDE * self.reach {
                    (low, high) = (low.min(dot(&side, corner)), high.max(dot(&side, corner)));
                }
            }
            let along = dot(&side, &within).clamp(b * low.min(high), b * high);
            let point = std::array::from_fn(|k| b * offset * normal[k] + along * side[k]);
            let far = distance(&point, &within);
            if far < shortest {
                (nearest, shortest) = (point, far);
            }
        }
        nearest
    }

    /// The nearest point of $b K$.
    pub fn project(&self, x: &[f64; 3], b: f64) -> Projection {
        let within = self.within(x);
        if b > 0.0 && self.facets.iter().all(|facet| dot(&facet.normal, &within) <= b * facet.offset) {
            let mut by_point = [[0.0; 3]; 3];
            self.basis[..self.rank].iter().for_each(|e| add_outer(&mut by_point, e));
            return Projection { point: within, by_point, by_bound: [0.0; 3] };
        }
        if b <= 0.0 {
            return Projection { point: [0.0; 3], by_point: [[0.0; 3]; 3], by_bound: [0.0; 3] };
        }
        let target = within.map(|x| x / b);
        let face = self.nearest_face(&target);
        // The directions of the face: P = b p + D Dᵀ (x - b p).
        let p = face[0];
        let differences: Vec<[f64; 3]> = face[1..].iter().map(|corner| subtract(corner, &p)).collect();
        let (directions, count) = span(&differences, ROUNDING * self.reach);
        let mut by_point = [[0.0; 3]; 3];
        directions[..count].iter().for_each(|d| add_outer(&mut by_point, d));
        let away = subtract(&target, &p);
        let along = multiply(&by_point, &away);
        let point = std::array::from_fn(|k| b * (p[k] + along[k]));
        let along = multiply(&by_point, &p);
        Projection { point, by_point, by_bound: subtract(&p, &along) }
    }

    /// The part of a point in the space that the corners span.
    fn within(&self, x: &[f64; 3]) -> [f64; 3] {
        let mut within = [0.0; 3];
        for e in &self.basis[..self.rank] {
            let along = dot(e, x);
            (0..3).for_each(|k| within[k] += along * e[k]);
        }
        within
    }

    /// Corners of the face on which the nearest point to `x` lies, by Wolfe's algorithm: the nearest point of the hull of few corners is moved until no other corner is
    /// nearer along the line to `x`.
    fn nearest_face(&self, x: &[f64; 3]) -> Vec<[f64; 3]> {
        let origin = [0.0; 3];
        let points = || self.corners.iter().chain(std::iter::once(&origin));
        let first = points().min_by(|a, b| distance(a, x).total_cmp(&distance(b, x))).expect("there is the origin");
        let mut face = vec![*first];
        let mut weights = vec![1.0];
        let mut nearest = *first;
        for _ in 0..STEP_LIMIT {
            let away = subtract(&nearest, x);
            let farthest = |a: &&[f64; 3], b: &&[f64; 3]| dot(a, &away).total_cmp(&dot(b, &away));
            let next = points().min_by(farthest).expect("there is the origin");
            let gain = dot(&nearest, &away) - dot(next, &away);
            if gain <= ROUNDING * self.reach * dot(&away, &away).sqrt() || face.len() > self.rank {
                break;
            }
            face.push(*next);
            weights.push(0.0);
            while let Some(wanted) = nearest_weights(&face, x) {
                if wanted.iter().all(|&weight| weight > 0.0) {
                    weights = wanted;
                    break;
                }
                // As far towards them as the weights stay positive; the corner whose weight vanishes leaves.
                let reach = weights.iter().zip(&wanted).filter(|(_, wanted)| **wanted <= 0.0);
                let share = reach.map(|(has, wanted)| has / (has - wanted)).fold(1.0, f64::min);
                weights.iter_mut().zip(&wanted).for_each(|(has, wanted)| *has += share * (wanted - *has));
                let smallest = (0..face.len()).min_by(|&a, &b| weights[a].total_cmp(&weights[b])).expect("a corner");
                face.remove(smallest);
                weights.remove(smallest);
            }
            nearest = [0.0; 3];
            for (corner, weight) in face.iter().zip(&weights) {
                (0..3).for_each(|k| nearest[k] += weight * corner[k]);
            }
        }
        face
    }
}

/// Weights, which sum to one, of the point nearest to `x` in the plane through some points; none where these depend on each other.
fn nearest_weights(points: &[[f64; 3]], x: &[f64; 3]) -> Option<Vec<f64>> {
    let base = points[0];
    let edges: Vec<[f64; 3]> = points[1..].iter().map(|point| subtract(point, &base)).collect();
    if edges.len() > 3 {
        return None;
    }
    let away = subtract(x, &base);
    let mut gram = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut right = [0.0; 3];
    for (i, edge) in edges.iter().enumerate() {
        right[i] = dot(edge, &away);
        for (j, other) in edges.iter().enumerate() {
            gram[i][j] = dot(edge, other);
        }
    }
    let rest = solve(&gram, &right, edges.len())?;
    let rest = &rest[..edges.len()];
    Some(std::iter::once(1.0 - rest.iter().sum::<f64>()).chain(rest.iter().copied()).collect())
}

/// An orthonormal basis of the span of some vectors, and their rank: the longest remainder first.
fn span(vectors: &[[f64; 3]], rounding: f64) -> ([[f64; 3]; 3], usize) {
    let mut basis = [[0.0; 3]; 3];
    let mut rest = vectors.to_vec();
    for rank in 0..3 {
        let longest = rest.iter().copied().max_by(|a, b| dot(a, a).total_cmp(&dot(b, b)));
        let Some(longest) = longest.filter(|v| dot(v, v).sqrt() > rounding) else { return (basis, rank) };
        let length = dot(&longest, &longest).sqrt();
        basis[rank] = longest.map(|x| x / length);
        for vector in &mut rest {
            let along = dot(&basis[rank], vector);
            (0..3).for_each(|k| vector[k] -= along * basis[rank][k]);
        }
    }
    (basis, 3)
}

/// The facets of the hull of some corners and of the origin, each once.
fn facets(corners: &[[f64; 3]], basis: &[[f64; 3]; 3], rank: usize, rounding: f64) -> Vec<Facet> {
    let mut points: Vec<[f64; 3]> = corners.to_vec();
    points.push([0.0; 3]);
    let mut facets: Vec<Facet> = Vec::new();
    let mut try_normal = |normal: [f64; 3], through: &[f64; 3]| {
        let length = dot(&normal, &normal).sqrt();
        if length == 0.0 {
            return;
        }
        let normal = normal.map(|x| x / length);
        let offset = dot(&normal, through);
        let is_outward = points.iter().all(|point| dot(&normal, point) <= offset + rounding);
        let is_new = |facet: &Facet| distance(&facet.normal, &normal) > 1e-9;
        if is_outward && facets.iter().all(is_new) {
            facets.push(Facet { normal, offset: offset.max(0.0) });
        }
    };
    let mut both = |normal: [f64; 3], through: &[f64; 3]| {
        try_normal(normal, through);
        try_normal(normal.map(|x| -x), through);
    };
    let count = points.len();
    match rank {
        1 => points.iter().for_each(|point| both(basis[0], point)),
        2 => {
            let across = cross(&basis[0], &basis[1]);
            for (i, j) in pairs(count) {
                let edge = subtract(&points[j], &points[i]);
                if dot(&edge, &edge).sqrt() > rounding {
                    both(cross(&edge, &across), &points[i]);
                }
            }
        }
        _ => {
            for (i, j) in pairs(count) {
                let edge = subtract(&points[j], &points[i]);
                for k in j + 1..count {
                    let other = subtract(&points[k], &points[i]);
                    let normal = cross(&edge, &other);
                    let size = dot(&edge, &edge).sqrt() * dot(&other, &other).sqrt();
                    if dot(&normal, &normal).sqrt() > 1e-9 * size {
                        both(normal, &points[i]);
                    }
                }
            }
        }
    }
    facets
}

/// All pairs of numbers below a count, the smaller first.
fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |i| (i + 1..count).map(move |j| (i, j)))
}

/// The solution of the first `size` equations by elimination with exchanges of rows; the other unknowns are zero. None where they are singular.
fn solve(matrix: &[[f64; 3]; 3], right: &[f64; 3], size: usize) -> Option<[f64; 3]> {
    let (mut a, mut b) = (*matrix, *right);
    let largest = a.as_flattened().iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    for k in 0..size {
        let pivot = (k..size).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))?;
        if a[pivot][k].abs() <= ROUNDING * largest {
            return None;
        }
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..size {
            let factor = a[i][k] / a[k][k];
            (k..size).for_each(|j| a[i][j] -= factor * a[k][j]);
            b[i] -= factor * b[k];
        }
    }
    let mut x = [0.0; 3];
    for k in (0..size).rev() {
        x[k] = (b[k] - (k + 1..size).map(|j| a[k][j] * x[j]).sum::<f64>()) / a[k][k];
    }
    Some(x)
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn subtract(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] - b[k])
}

fn distance(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    let difference = subtract(a, b);
    dot(&difference, &difference).sqrt()
}

fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn multiply(matrix: &[[f64; 3]; 3], x: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| dot(&matrix[i], x))
}

/// Adds $d d^T$.
fn add_outer(matrix: &mut [[f64; 3]; 3], d: &[f64; 3]) {
    for i in 0..3 {
        (0..3).for_each(|j| matrix[i][j] += d[i] * d[j]);
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
    fn the_nearest_point_is_that_of_the_projection() {
        let octagon: Vec<[f64; 3]> = (0..8)
            .map(|i| (std::f64::consts::TAU * f64::from(i) / 8.0).sin_cos())
            .map(|(sine, cosine)| [cosine, sine, 0.0])
            .collect();
        let sets = [
            octagon,
            vec![[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]],
            vec![[1.0, 0.2, 0.0], [0.0, 1.0, 0.0]],
            vec![[0.0, 0.5, 0.5], [0.0, -1.0, 0.2], [0.0, 0.0, -1.0]],
            vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, -1.0, -1.0]],
        ];
        for corners in sets {
            let polytope = Polytope::from_corners(corners).unwrap();
            for seed in 0..200 {
                let coordinate = |k: u32| 4.0 * (f64::from(seed * 3 + k) * 0.618_033_988_749_895).fract() - 2.0;
                let (x, b) = ([coordinate(0), coordinate(1), coordinate(2)], 0.2 + coordinate(1).abs());
                let (expected, found) = (polytope.project(&x, b).point, polytope.nearest(&x, b));
                assert!(distance(&expected, &found) < 1e-12, "{polytope:?} {x:?} {b}: {expected:?} {found:?}");
            }
        }
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
        // A box of half edges 2, 3 and 4 by its corners, with corners that are none on a face and on an edge: six facets, at these distances.
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
        // A flat set has facets within its plane; what leaves the plane is outside by as much, whatever the bound.
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
            let found = octahedron.project(&[0.0; 3], b);
            assert_eq!(found, Projection { point: [0.0; 3], by_point: [[0.0; 3]; 3], by_bound: [0.0; 3] });
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
