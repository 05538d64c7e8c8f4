//! Convex polygons in the plane, and chains of segments.
//!
//! Both are made of points in the plane z = 0. A point on the line between its neighbours is
//! dropped when a shape is built, because it is no feature: contacts number corners and sides, and
//! a side that is divided must act as a whole one. Of what is left every turn is a real one.

use glamx::DVec3;

use super::ShapeError;

/// A corner is dropped when it is nearer to the line through its neighbours than this share of the
/// size of the shape. Too large: blunt corners are cut off, and gaps there are off by this share.
/// Too small: rounding of coordinates on a straight side makes corners.
const SAME_LINE: f64 = 1e-13;

/// A convex polygon in the plane z = 0: corners anticlockwise, no three of them on a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Polygon {
    pub(crate) vertices: Vec<DVec3>,
    /// Unit vectors out of the sides, each of which begins at the vertex of its number.
    pub(crate) normals: Vec<DVec3>,
}

/// A chain of segments in the plane z = 0, solid on its right: the surface of terrain from left to
/// right has the air on its left, above it. A chain whose ends meet, clockwise, is a body that need
/// not be convex; anticlockwise, it is the inside of a room.
#[derive(Clone, Debug, PartialEq)]
pub struct Polyline {
    pub(crate) vertices: Vec<DVec3>,
    /// Unit vectors from the solid into the air across the segments, each of which begins at the
    /// vertex of its number.
    pub(crate) normals: Vec<DVec3>,
    pub(crate) is_closed: bool,
}

impl Polygon {
    /// The polygon with these corners in order, in metres; their z is ignored. Corners in clockwise
    /// order are turned round, and those on a straight side dropped.
    pub fn new(points: Vec<DVec3>) -> Result<Self, ShapeError> {
        let fault = |number: usize, at: DVec3, what: &'static str| Err(corner("polygon", number, at, what));
        let mut kept = distinct("polygon", points, true)?;
        drop_straight(&mut kept, true);
        if kept.len() < 3 {
            return Err(ShapeError::NoArea { shape: "polygon" });
        }
        let area: f64 = (1..kept.len() - 1).map(|i| turn(kept[0].1, kept[i].1, kept[i + 1].1)).sum();
        if area < 0.0 {
            kept.reverse();
        }
        let count = kept.len();
        // Every turn to the left, and once round: a star turns to the left as well.
        let mut directions_back = 0;
        for i in 0..count {
            let [(_, a), (number, b), (_, c)] = [i + count - 1, i, i + 1].map(|j| kept[j % count]);
            if turn(a, b, c) <= 0.0 {
                return fault(number, b, "makes the polygon concave; divide it into convex ones, or use a polyline");
            }
            let goes_up = |d: DVec3| d.y > 0.0 || (d.y == 0.0 && d.x > 0.0);
            if goes_up(c - b) && !goes_up(b - a) {
                directions_back += 1;
                if directions_back > 1 {
                    return fault(number, b, "is on a second turn round; the sides of a polygon must not cross");
                }
            }
        }
        let vertices: Vec<DVec3> = kept.into_iter().map(|(_, x)| x).collect();
        let normals = left_normals(&vertices).map(|normal| -normal).collect();
        Ok(Self { vertices, normals })
    }

    /// The corners, anticlockwise, in metres.
    pub fn vertices(&self) -> &[DVec3] {
        &self.vertices
    }

    /// The least width between two parallel lines that hold the polygon, in metres.
    pub(crate) fn width(&self) -> f64 {
        let depth =
            |(a, normal): (&DVec3, &DVec3)| self.vertices.iter().map(|x| normal.dot(*a - *x)).fold(0.0, f64::max);
        self.vertices.iter().zip(&self.normals).map(depth).fold(f64::INFINITY, f64::min)
    }
}

impl Polyline {
    /// The chain through these points in order, in metres, and back to the first when it is closed;
    /// their z is ignored. Inner points of a straight line are dropped.
    pub fn new(points: Vec<DVec3>, is_closed: bool) -> Result<Self, ShapeError> {
        let mut kept = distinct("polyline", points, is_closed)?;
        if kept.len() < 2 || (is_closed && kept.len() < 3) {
            return Err(ShapeError::NoArea { shape: "polyline" });
        }
        let count = kept.len();
        let sides = if is_closed { count } else { count - 1 };
        for i in 0..sides {
            for j in i + 1..sides {
                let [a, b, c, d] = [i, i + 1, j, j + 1].map(|k| kept[k % count].1);
                let (number, at) = kept[j];
                let meet = match (i + 1 == j, is_closed && i == 0 && j + 1 == sides) {
                    // Neighbours meet where they must, and again only when one goes back.
                    (true, _) => goes_back(a, b, d),
                    (_, true) => goes_back(c, d, b),
                    _ => cross_each_other([a, b], [c, d]),
                };
                if meet {
                    return Err(corner("polyline", number, at, "begins a segment that meets another one"));
                }
            }
        }
        drop_straight(&mut kept, is_closed);
        let vertices: Vec<DVec3> = kept.into_iter().map(|(_, x)| x).collect();
        let mut normals: Vec<DVec3> = left_normals(&vertices).collect();
        if !is_closed {
            normals.pop();
        }
        Ok(Self { vertices, normals, is_closed })
    }

    /// The points of the chain, in metres.
    pub fn vertices(&self) -> &[DVec3] {
        &self.vertices
    }

    /// Whether the last point is joined to the first.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The length of the shortest segment, in metres.
    pub(crate) fn shortest(&self) -> f64 {
        let next = |i: usize| self.vertices[(i + 1) % self.vertices.len()];
        let lengths = (0..self.normals.len()).map(|i| self.vertices[i].distance(next(i)));
        lengths.fold(f64::INFINITY, f64::min)
    }
}

/// A fault at a point; points are counted from zero.
fn corner(shape: &'static str, number: usize, at: DVec3, what: &'static str) -> ShapeError {
    ShapeError::Corner { shape, number, x: at.x, y: at.y, what }
}

/// The points with their numbers, in the plane; refuses what is not finite, and two at one place in
/// a row.
fn distinct(shape: &'static str, points: Vec<DVec3>, is_closed: bool) -> Result<Vec<(usize, DVec3)>, ShapeError> {
    let count = points.len();
    for (number, &at) in points.iter().enumerate() {
        if !(at.x.is_finite() && at.y.is_finite()) {
            return Err(corner(shape, number, at, "is not finite"));
        }
        let is_last = number + 1 == count;
        if (!is_last || (is_closed && count > 1)) && points[(number + 1) % count].truncate() == at.truncate() {
            return Err(corner(shape, number, at, "is where the next point is; leave one of them out"));
        }
    }
    Ok(points.into_iter().map(|x| x.with_z(0.0)).enumerate().collect())
}

/// Drops the points on the line between their neighbours.
fn drop_straight(points: &mut Vec<(usize, DVec3)>, is_closed: bool) {
    let size = points.iter().map(|(_, x)| x.distance(points[0].1)).fold(0.0, f64::max);
    let is_straight = |a: DVec3, b: DVec3, c: DVec3| {
        let length = a.distance(c);
        length > 0.0 && turn(a, b, c).abs() <= SAME_LINE * size * length && (b - a).dot(c - b) > 0.0
    };
    let mut i = if is_closed { 0 } else { 1 };
    while points.len() > 2 && i + usize::from(!is_closed) < points.len() {
        let count = points.len();
        let [a, b, c] = [i + count - 1, i, i + 1].map(|j| points[j % count].1);
        if is_straight(a, b, c) {
            points.remove(i);
        } else {
            i += 1;
        }
    }
}

/// Unit vectors to the left of the sides of a closed chain.
fn left_normals(vertices: &[DVec3]) -> impl Iterator<Item = DVec3> {
    vertices.iter().zip(vertices.iter().cycle().skip(1)).map(|(a, b)| {
        let along = (b - a).normalize();
        DVec3::new(-along.y, along.x, 0.0)
    })
}

/// Twice the area of a triangle, positive anticlockwise.
fn turn(a: DVec3, b: DVec3, c: DVec3) -> f64 {
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
}

/// Whether a chain through three points runs back along itself.
fn goes_back(a: DVec3, b: DVec3, c: DVec3) -> bool {
    turn(a, b, c) == 0.0 && (b - a).dot(c - b) < 0.0
}

/// Whether two segments have a point in common.
fn cross_each_other([a, b]: [DVec3; 2], [c, d]: [DVec3; 2]) -> bool {
    let sides = |a, b, c, d| turn(a, b, c) * turn(a, b, d);
    let apart = |pick: fn(DVec3) -> f64| {
        let [a, b, c, d] = [a, b, c, d].map(pick);
        a.max(b) < c.min(d) || c.max(d) < a.min(b)
    };
    !apart(|x| x.x) && !apart(|x| x.y) && sides(a, b, c, d) <= 0.0 && sides(c, d, a, b) <= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(points: &[[f64; 2]]) -> Vec<DVec3> {
        points.iter().map(|&[x, y]| DVec3::new(x, y, 0.0)).collect()
    }

    #[test]
    fn polygons_are_turned_round_and_lose_straight_corners() {
        let square = points(&[[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]);
        let polygon = Polygon::new(square.clone()).unwrap();
        assert_eq!(polygon.vertices, square);
        assert_eq!(polygon.normals, [-DVec3::Y, DVec3::X, DVec3::Y, -DVec3::X]);
        assert_eq!(polygon.width(), 1.0);
        let clockwise = Polygon::new(square.iter().rev().copied().collect()).unwrap();
        assert_eq!(clockwise.vertices[0], square[0].with_y(0.0));
        assert_eq!(clockwise.normals.len(), 4);
        let straight = points(&[[1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.3, 1.0], [0.1, 1.0], [0.0, 1.0], [0.0, 0.0]]);
        assert_eq!(Polygon::new(straight).unwrap().vertices.len(), 4);
    }

    #[test]
    fn faults_of_polygons_are_named() {
        let message = |corners: &[[f64; 2]]| Polygon::new(points(corners)).unwrap_err().to_string();
        assert!(message(&[[0.0, 0.0], [2.0, 0.0], [0.5, 0.5], [0.0, 2.0]]).contains("point 2 at (0.5, 0.5)"));
        assert!(message(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]).contains("no area"));
        assert!(message(&[]).contains("no area"));
        assert!(message(&[[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).contains("point 1 at (1, 0)"));
        assert!(message(&[[0.0, 0.0], [f64::NAN, 0.0], [0.0, 1.0]]).contains("point 1"));
        // A star of five points turns to the left everywhere.
        let star: Vec<[f64; 2]> = (0..5).map(|i| (4.0 * i as f64 * 0.628_318_530_717_958_7).sin_cos().into()).collect();
        assert!(message(&star).contains("second turn"), "{}", message(&star));
    }

    #[test]
    fn chains_lose_straight_points_and_refuse_crossings() {
        let chain =
            Polyline::new(points(&[[0.0, 0.0], [0.1, 0.0], [0.3, 0.0], [1.0, 0.0], [1.0, 1.0]]), false).unwrap();
        assert_eq!(chain.vertices, points(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]));
        assert_eq!(chain.normals, [DVec3::Y, -DVec3::X]);
        assert_eq!(chain.shortest(), 1.0);
        let message =
            |corners: &[[f64; 2]], is_closed| Polyline::new(points(corners), is_closed).unwrap_err().to_string();
        let eight = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
        assert!(message(&eight, false).contains("point 2 at (1, 0)"));
        assert!(message(&[[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]], false).contains("point 1"));
        assert!(message(&[[0.0, 0.0], [0.0, 0.0]], false).contains("point 0"));
        assert!(message(&[[0.0, 0.0], [1.0, 0.0]], true).contains("no area"));
        let cup =
            points(&[[0.0, 1.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.9, 1.0], [0.9, 0.1], [0.1, 0.1], [0.1, 1.0]]);
        assert_eq!(Polyline::new(cup, true).unwrap().normals.len(), 8);
    }
}
