//! Gaps, normals and contact points between two shapes, in closed form.
//!
//! Here are round shapes among each other and in convex surroundings, and which file knows the
//! rest: boxes and hulls (`polytopes.rs`), balls and capsules on them (`round.rs`), cylinders and
//! cones (`turned.rs`, `turned_hull.rs`), meshes (`meshes.rs`, `patch.rs`), and the plane
//! (`planar.rs`).
//!
//! A capsule is a segment with a radius and a sphere is a point with a radius, so five distances do
//! almost everything: point to plane, point to point, point to line, point to segment, segment to
//! segment. Only an ellipsoid has its own: that of a plane along the normal of which it is
//! supported. Every [`Touch`] is one condition of non-penetration; a pair may give several, and
//! together they hold exactly when the shapes do not overlap. In a cavity or tube, as on a
//! half-space, the ends of a capsule and the corners of a box stand for the whole, because what is
//! free is convex.
//!
//! To first order a gap changes with `normal`·(velocity of the first at `point` - velocity of the
//! second at `point`). The two surface points differ only along the normal, so it does not matter
//! which of the three points is used.
//!
//! In the plane the shapes lie in z = 0 and turn about z. Components along z, which could only be
//! rounding, are dropped, so that normals and points have z = 0 exactly.

mod feature;
mod meshes;
mod patch;
mod planar;
mod polytopes;
mod round;
mod turned;
mod turned_hull;

use crate::pose::Pose;
use crate::shape::{Dimension, Shape};
use glamx::DVec3;
use polytopes::{collide_views, touch_of_views};
use smallvec::SmallVec;

pub use feature::{FeaturePair, MOST_FEATURES};
pub(crate) use patch::Region;

/// Two segments are parallel when the sine of their angle is at most this. Then they have no
/// closest pair of inner points; the ends stand for it, and for half-length L and distance d they
/// see a distance at most L² sin²/(2d) too large. Too large: that error shows. Too small: the place
/// of the inner contact is rounding noise.
const PARALLEL_SINE_TOLERANCE: f64 = 1e-6;

/// Two capsules lie along each other when the sine of their angle is at most this. Then they meet
/// along an overlap, and its two ends keep their features whichever capsule they are an end of. Too
/// large: a contact jumps when its feature passes from one capsule to the other. Too small: a
/// contact at rest loses its feature by rounding.
const ALONG_SINE: f64 = 1e-3;

/// One possible contact between two shapes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Distance between the two surface points along the normal, in metres: positive apart,
    /// negative in penetration.
    pub gap: f64,
    /// Unit normal in world axes, from the second shape towards the first. In the plane its z is
    /// exactly zero.
    pub normal: DVec3,
    /// The contact point, midway between the two surface points, in world coordinates, in metres.
    pub point: DVec3,
    /// The point of the first surface nearest to the second, in world coordinates, in metres.
    pub point_on_first: DVec3,
    /// The point of the second surface nearest to the first, in world coordinates, in metres.
    pub point_on_second: DVec3,
    /// Which part of the pair this is, the same from step to step: see [`collide`].
    pub feature: u64,
    /// What of each shape decides where the touch is.
    pub(crate) parts: [Part; 2],
    /// Radius of the ball around each of them; negative where the ball is a hole.
    pub(crate) radii: [f64; 2],
}

/// What of a shape decides where it touches another one. Directions are in world axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    /// A point that is fixed in the body.
    Point,
    /// A line that is fixed in the body, with its unit direction.
    Line(DVec3),
    /// A plane that is fixed in the body, with the normal of the touch.
    Plane,
    /// The same plane where it is crossed, by a line of the other shape, above one of its edges,
    /// with the unit vector in the plane across that edge.
    Brink(DVec3),
    /// The point of an ellipsoid that is farthest down.
    Lowest,
    /// The point of a circle around the axis with this direction that is farthest down, or nearest.
    Rim(DVec3),
    /// The nearest point of a cone around the axis with this direction.
    Slope(DVec3),
    /// One of two lines that cross in the plane, with its unit direction.
    Crossing(DVec3),
}

impl Touch {
    /// The same contact with the two shapes exchanged.
    pub fn mirrored(&self) -> Self {
        Self {
            normal: -self.normal,
            point_on_first: self.point_on_second,
            point_on_second: self.point_on_first,
            parts: [self.parts[1], self.parts[0]],
            radii: [self.radii[1], self.radii[0]],
            feature: FeaturePair::of(self.feature).mirrored().code(),
            ..*self
        }
    }
}

/// Whether [`collide`] knows this pair, in whichever order.
pub fn is_supported(dimension: Dimension, first: &Shape, second: &Shape) -> bool {
    use Shape::{Capsule, Sphere};
    let has_no_inside = |shape: &Shape| matches!(shape, Sphere { radius: 0.0 } | Capsule { radius: 0.0, .. });
    if has_no_inside(first) && has_no_inside(second) {
        return false; // the distance of two points or segments is never negative: they would pass through each other
    }
    never_meet(first, second) || is_known(dimension, first, second) || is_known(dimension, second, first)
}

/// Whether there is a formula for this pair, in this order.
fn is_known(dimension: Dimension, first: &Shape, second: &Shape) -> bool {
    let mut none = Output { horizon: f64::NEG_INFINITY, wanted: None, touches: &mut Vec::new() };
    none.collide(dimension, (first, &Pose::IDENTITY), (second, &Pose::IDENTITY))
}

/// Whether two shapes have nothing to do with each other: a hole matters only to what can be in it,
/// which neither another hole nor a half-space can; and of half-spaces and cylinders none moves
/// freely.
pub fn never_meet(first: &Shape, second: &Shape) -> bool {
    let is_wall = |shape: &Shape| shape.is_infinite() && !shape.is_hole();
    let is_plane = |shape: &Shape| matches!(shape, Shape::HalfSpace { .. });
    (first.is_hole() && (second.is_hole() || is_plane(second)))
        || (second.is_hole() && is_plane(first))
        || (is_wall(first) && is_wall(second))
}

/// Whether two shapes meet at corners, edges and faces of which contacts come and go as the bodies
/// slide and turn, without an impact.
pub fn meet_at_corners(first: &Shape, second: &Shape) -> bool {
    use Shape::{Cavity, Cone, Cuboid, Cylinder, HalfSpace, Mesh, Polygon, Polyline, Polytope, Tube};
    let is_convex_room = |shape: &Shape| matches!(shape, HalfSpace { .. } | Cavity { .. } | Tube { .. });
    let has_corners = |shape: &Shape| match shape {
        Cuboid { .. } | Polytope(_) | Mesh(_) | Polygon(_) | Polyline(_) | Cone { .. } => true,
        Cylinder { half_length, .. } => half_length.is_finite(),
        _ => false,
    };
    // Among convex surroundings all corners are contacts, always; but the rims of round bodies are
    // not corners.
    let is_round = |shape: &Shape| matches!(shape, Cone { .. } | Cylinder { .. } | Mesh(_));
    [(first, second), (second, first)].into_iter().any(|(shape, other)| {
        has_corners(shape) && (!is_convex_room(other) || is_round(shape) && !never_meet(shape, other))
    })
}

/// Appends to `touches` the contacts between two shapes whose gap is at most `horizon`, in metres.
///
/// `pose_first` and `pose_second` are the poses of the shapes themselves in the world (see
/// [`PlacedShape::world_pose`](crate::shape::PlacedShape::world_pose)); the shapes must have passed
/// [`Shape::check`].
///
/// | pair | contacts | feature |
/// |---|---|---|
/// | two of cavity, tube, half-space; two of cylinder, half-space | none, see [`never_meet`] | |
/// | tube, cylinder | two, at the ends of a bush, see below | 0: +x end, 1: -x end |
/// | sphere with sphere, capsule, half-space, cavity, tube or cylinder | one | 0 |
/// | capsule with half-space, cavity or tube | one per end | 0: +x end, 1: -x end |
/// | box with half-space, cavity or tube | one per corner: 8, or 4 in the plane | bits 0, 1, 2 are set where x, y, z is negative |
/// | hull with half-space, cavity or tube | one per corner | the number of the corner |
/// | box or hull with box or hull, in space | the corners of the common face, or the nearest features | a [`FeaturePair`] |
/// | ellipsoid, half-space | one, at the lowest point | 0 |
/// | sphere or capsule with box or hull, in space | the nearest features, and those of a capsule that lies on a face or edge | a [`FeaturePair`] |
/// | cylinder with ends or cone with half-space | the lowest points of the rims, the tip, and 16 fixed points of a rim that stands nearly flat | 0 and 1: rim or tip at +x and -x; 2 to 33: points of the rims |
/// | sphere with cylinder with ends or cone | one | a [`FeaturePair`], see below |
/// | capsule of positive radius with cylinder with ends or cone | ends, inside along the mantle and across the rims | a [`FeaturePair`] |
/// | box or hull with cylinder with ends or cone | corners, edges, and rims above faces | a [`FeaturePair`] |
/// | mesh with sphere, capsule, box, hull, half-space, mesh | all that carry, see below | a [`FeaturePair`] |
/// | capsule, capsule | up to five, see below | 0 to 4 |
/// | in the plane: polygon, polyline with half-space or cavity | one per corner | its number |
/// | in the plane: box, polygon with each other, a sphere or a capsule | one, or two at the ends of a common segment | a [`FeaturePair`]; corners and sides of a box go anticlockwise from (+x, +y) |
/// | in the plane: polyline with sphere, capsule, box, polygon | by segments and convex corners | a [`FeaturePair`] |
///
/// **Two capsules.** Features 0 and 1 are the +x and -x ends of the first, 2 and 3 those of the
/// second, each against the inside of the other's segment where it projects there. Two ends that
/// are each the nearest point to the other make one contact, under the feature of the first's end.
/// So capsules that lie along each other rest on the two ends of their overlap. There the feature
/// is that of the first's end on that side, whichever capsule ends there. Feature 4 is the pair of
/// closest inner points of two segments that are not parallel.
///
/// **Meshes.** Triangles of one plane are one face, and only edges and corners that bend outwards
/// carry in directions of their own. A closed mesh is a body, an open one is terrain, solid below;
/// one of two meshes must be closed. An overlap is believed while the line between the two feet is
/// inside both bodies, and where the surfaces cross: what has passed a surface as a whole is not
/// drawn back. Of a sphere or capsule the centre line may be below the surface by the radius.
///
/// **A tube on a cylinder** is a bush around a shaft, of which neither has an end: to lie within
/// each other along all their length they would have to be parallel exactly. The tube is therefore
/// held by two of its cross-sections, one radius to each side of its origin, by the distance of
/// their centres from the axis of the cylinder. While the axes are parallel the gap is exact
/// everywhere.
///
/// **Features of cylinders and cones.** Faces 0 and 1 are the discs at +x and -x, face 2 is the
/// mantle; edges 0 and 1 are the rims, but of a pair with the inside of another edge 0 and 1 are the
/// two places of the rim at +x and 2 and 3 those of the rim at -x; vertex 0 is the tip of a cone and
/// vertices 2 to 33 are fixed points of the rims.
///
/// In the plane, feature 4 means that the segments cross. That is penetration beyond what a
/// distance can measure: the gap is then minus the sum of the radii whatever the depth, and the
/// normal points from the centre of the second to the centre of the first, or across the axis of
/// the second when the centres coincide. Its gap has no gradient; the normal only says which way is
/// out.
///
/// **Where there is no direction.** Two points that coincide (centres of spheres, ends of capsules)
/// get the normal +z in space and +y in the plane, and so does the centre of a cavity. A point on
/// the axis of a capsule, cylinder or tube gets that direction made perpendicular to the axis, and
/// +x made perpendicular when the axis is nearer to z than to x and y (in the plane: when it is
/// exactly y). The result is never NaN.
///
/// **Exchanging the shapes** gives the [mirrored](Touch::mirrored) contacts, with the features of
/// two capsules counted from the other one; except that the fixed normal of two coinciding points,
/// or of crossing planar capsules with one centre, is chosen without regard to the order.
///
/// # Panics
///
/// When the pair is not [supported](is_supported).
pub fn collide(
    dimension: Dimension,
    first: &Shape,
    pose_first: &Pose,
    second: &Shape,
    pose_second: &Pose,
    horizon: f64,
    touches: &mut Vec<Touch>,
) {
    search(dimension, [(first, pose_first), (second, pose_second)], (horizon, None), touches);
}

/// Appends the contacts of a pair with these features, in ascending order, however far apart: each is
/// evaluated with its features held, so that its gap is smooth wherever the shapes are. Those that
/// do not exist there are left out.
pub fn touches_of(
    dimension: Dimension,
    [first, second]: [(&Shape, &Pose); 2],
    features: &[u64],
    touches: &mut Vec<Touch>,
) {
    if dimension == Dimension::Plane && planar::touches_of([first, second], features, touches) {
        return;
    }
    let is_solid = |shape: &Shape| matches!(shape, Shape::Cuboid { .. } | Shape::Polytope(_));
    if dimension == Dimension::Space && is_solid(first.0) && is_solid(second.0) {
        first.0.with_view(|a| {
            second.0.with_view(|b| {
                let found = features.iter().filter_map(|&f| touch_of_views((a, first.1), (b, second.1), f));
                touches.extend(found);
            })
        });
        return;
    }
    let start = touches.len();
    if meshes::touches_of([first, second], features, touches) {
        return;
    }
    search(dimension, [first, second], (f64::INFINITY, Some(features)), touches);
    let mut number = 0;
    touches.retain(|touch| {
        number += 1;
        number <= start || features.binary_search(&touch.feature).is_ok()
    });
}

/// Appends the touches that are near or wanted, in ascending order of their features.
fn search(
    dimension: Dimension,
    [first, second]: [(&Shape, &Pose); 2],
    (horizon, wanted): (f64, Option<&[u64]>),
    touches: &mut Vec<Touch>,
) {
    if never_meet(first.0, second.0) {
        return;
    }
    let start = touches.len();
    if !(Output { horizon, wanted, touches }).collide(dimension, first, second) {
        let mirror = |code: &u64| FeaturePair::of(*code).mirrored().code();
        let mirrored: Option<SmallVec<[u64; 16]>> = wanted.map(|codes| codes.iter().map(mirror).collect());
        let mut out = Output { horizon, wanted: mirrored.as_deref(), touches };
        if !out.collide(dimension, second, first) {
            panic!(
                "contacts between a {} and a {} are not supported; such a pair must be refused before",
                first.0.name(dimension),
                second.0.name(dimension)
            );
        }
        touches[start..].iter_mut().for_each(|touch| *touch = touch.mirrored());
    }
    touches[start..].sort_unstable_by_key(|touch| touch.feature);
}

/// The capsule of the tables above, in the world: centre in metres, unit axis.
struct Segment {
    centre: DVec3,
    axis: DVec3,
    half_length: f64,
    radius: f64,
}

fn capsule_capsule(dimension: Dimension, first: &Segment, second: &Segment, out: &mut Output) {
    const SIDES: [f64; 2] = [1.0, -1.0];
    let (u1, u2) = (first.axis, second.axis);
    let (a1, a2) = (first.half_length, second.half_length);
    let (r1, r2) = (first.radius, second.radius);
    let w = first.centre - second.centre;

    // Ends of the first seen from the centre of the second, and the reverse; then where they
    // project.
    let e1 = SIDES.map(|side| w + side * a1 * u1);
    let e2 = SIDES.map(|side| side * a2 * u2 - w);
    let t = e1.map(|e| e.dot(u2));
    let s = e2.map(|e| e.dot(u1));

    let cross = u1.cross(u2);
    let sine = cross.length();
    let mut is_taken = [false; 2];
    for i in 0..2 {
        let x1 = first.centre + SIDES[i] * a1 * u1;
        if t[i].abs() < a2 {
            is_taken[i] = true;
            let (normal, distance) = point_to_line(dimension, e1[i], u2);
            let x2 = second.centre + t[i] * u2;
            out.push([Part::Point, Part::Line(u2)], [(x1, r1), (x2, r2)], (normal, distance), i as u64);
            continue;
        }
        // The end projects beyond end j of the second. If end j projects beyond end i as well, the
        // two are nearest to each other. If not, end j is nearer to another point of the first and
        // makes its own contact there.
        let j = if t[i] > 0.0 { 0 } else { 1 };
        if SIDES[i] * s[j] >= a1 {
            is_taken[i] = true;
            let x2 = second.centre + SIDES[j] * a2 * u2;
            // Bracketed so that exchanging the shapes flips the sign of every bit of it.
            let (normal, distance) = point_to_point(dimension, w + (SIDES[i] * a1 * u1 - SIDES[j] * a2 * u2));
            out.push([Part::Point; 2], [(x1, r1), (x2, r2)], (normal, distance), i as u64);
        }
    }

    for j in 0..2 {
        if s[j].abs() < a1 {
            let x2 = second.centre + SIDES[j] * a2 * u2;
            let (normal, distance) = point_to_line(dimension, e2[j], u1);
            // The end of the first on the same side, where the two lie along each other and it has
            // no contact of its own.
            let i = if u1.dot(u2) > 0.0 { j } else { 1 - j };
            let feature = if sine <= ALONG_SINE && !is_taken[i] { i } else { 2 + j };
            let x1 = first.centre + s[j] * u1;
            out.push([Part::Line(u1), Part::Point], [(x1, r1), (x2, r2)], (-normal, distance), feature as u64);
        }
    }

    // The closest pair of the two lines, at parameters s and t: |w + s u1 - t u2| least. The triple
    // products are those of Lagrange's identity, and lose less to cancellation than the dot
    // products when the lines are almost parallel.
    if sine <= PARALLEL_SINE_TOLERANCE {
        return;
    }
    let s = -w.cross(u2).dot(cross) / (sine * sine);
    let t = -w.cross(u1).dot(cross) / (sine * sine);
    if s.abs() < a1 && t.abs() < a2 {
        let x1 = first.centre + s * u1;
        let x2 = second.centre + t * u2;
        match dimension {
            Dimension::Space => {
                // The common perpendicular is known from the axes even when the segments touch.
                let across = cross / sine;
                let side = w.dot(across);
                let normal = if side < 0.0 { -across } else { across };
                out.push([Part::Line(u1), Part::Line(u2)], [(x1, r1), (x2, r2)], (normal, side.abs()), 4);
            }
            Dimension::Plane => {
                let crossing = 0.5 * (x1 + x2);
                let normal = direction_of(w).map_or_else(|| perpendicular(dimension, u2), |(normal, _)| normal);
                let parts = [Part::Crossing(u1), Part::Crossing(u2)];
                out.push(parts, [(crossing, r1), (crossing, r2)], (normal, 0.0), 4);
            }
        }
    }
}

/// Where the touches go, if they are near enough.
struct Output<'a> {
    horizon: f64,
    /// The features that are asked for, however far; pairs with few contacts give all.
    wanted: Option<&'a [u64]>,
    touches: &'a mut Vec<Touch>,
}

impl Output<'_> {
    /// Balls around two points, each with its radius; normal and distance of their centres.
    fn push(
        &mut self,
        parts: [Part; 2],
        [(x1, r1), (x2, r2)]: [(DVec3, f64); 2],
        (normal, distance): (DVec3, f64),
        feature: u64,
    ) {
        let gap = distance - (r1 + r2);
        if gap <= self.horizon {
            let point_on_first = x1 - r1 * normal;
            let point_on_second = x2 + r2 * normal;
            let point = 0.5 * (point_on_first + point_on_second);
            let radii = [r1, r2];
            self.touches.push(Touch { gap, normal, point, point_on_first, point_on_second, feature, parts, radii });
        }
    }

    /// The contacts of a pair for which there is a formula in this order; else false.
    fn collide(&mut self, dimension: Dimension, first: (&Shape, &Pose), second: (&Shape, &Pose)) -> bool {
        use Shape::{
            Capsule, Cavity, Cuboid, Cylinder, Ellipsoid, HalfSpace, Polygon, Polyline, Polytope, Sphere, Tube,
        };
        if dimension == Dimension::Plane && planar::collide(first, second, self) {
            return true;
        }
        let [c1, c2] = [first, second].map(|(_, pose)| in_dimension(dimension, pose.position));
        let axes = || [first, second].map(|(_, pose)| axis(dimension, pose));
        match (first.0, second.0) {
            (Shape::Mesh(_), HalfSpace { .. }) => return meshes::collide(first, second, self),
            (HalfSpace { .. }, Shape::Mesh(_)) => return false,
            (_, Shape::Mesh(_)) => return meshes::collide(first, second, self),

            (
                Sphere { .. } | Capsule { .. } | Cuboid { .. } | Polytope(_) | Polygon(_) | Polyline(_),
                HalfSpace { .. } | Cavity { .. } | Tube { .. },
            ) => self.within(dimension, first, second),

            (Cuboid { .. } | Polytope(_), Cuboid { .. } | Polytope(_)) if dimension == Dimension::Space => {
                let (horizon, touches) = (self.horizon, &mut *self.touches);
                first.0.with_view(|a| {
                    second.0.with_view(|b| collide_views((a, first.1), (b, second.1), horizon, touches))
                });
            }

            (&Ellipsoid { semi_axes }, &HalfSpace { normal, offset }) => {
                let pose = first.1;
                let normal = plane_normal(dimension, second.1, normal);
                // The lowest point x of Σ (x_i/a_i)² = 1 has the gradient x_i/a_i² along -n: x_i =
                // -a_i² n_i / |(a_i n_i)|. The gap changes with the velocity of that point, as the
                // point itself stays lowest to first order.
                let local = pose.inverse_transform_vector(normal);
                let scaled = in_dimension(dimension, semi_axes * local);
                let depth = scaled.length();
                let arm = pose.transform_vector(in_dimension(dimension, semi_axes * scaled) / -depth);
                let distance = normal.dot(c1 - c2) - offset - depth;
                let lowest = c1 + in_dimension(dimension, arm);
                let points = [(lowest, 0.0), (lowest - distance * normal, 0.0)];
                self.push([Part::Lowest, Part::Plane], points, (normal, distance), 0);
            }

            (&Tube { radius: bore }, &Cylinder { radius, half_length: f64::INFINITY }) => {
                // A hole is a ball of negative radius at a negative distance, as in `within`, here
                // around the shaft.
                let [bush, shaft] = axes();
                let half_axis = bore * bush;
                for (feature, x) in [c1 + half_axis, c1 - half_axis].into_iter().enumerate() {
                    let e = x - c2;
                    let (away, distance) = point_to_line(dimension, e, shaft);
                    let points = [(x, -bore), (c2 + e.dot(shaft) * shaft, radius)];
                    self.push([Part::Point, Part::Line(shaft)], points, (-away, -distance), feature as u64);
                }
            }

            (&Sphere { radius: r1 }, &Cylinder { radius: r2, half_length: f64::INFINITY }) => {
                let ([_, u], e) = (axes(), c1 - c2);
                let points = [(c1, r1), (c2 + e.dot(u) * u, r2)];
                self.push([Part::Point, Part::Line(u)], points, point_to_line(dimension, e, u), 0);
            }

            (&Sphere { radius: r1 }, &Sphere { radius: r2 }) => {
                let apart = point_to_point(dimension, c1 - c2);
                self.push([Part::Point; 2], [(c1, r1), (c2, r2)], apart, 0);
            }

            (&Sphere { radius: r1 }, &Capsule { half_length, radius: r2 }) => {
                let ([_, u], e) = (axes(), c1 - c2);
                let t = e.dot(u).clamp(-half_length, half_length);
                let (part, apart) = if t.abs() < half_length {
                    (Part::Line(u), point_to_line(dimension, e, u))
                } else {
                    (Part::Point, direction_of(e - t * u).unwrap_or_else(|| (perpendicular(dimension, u), 0.0)))
                };
                self.push([Part::Point, part], [(c1, r1), (c2 + t * u, r2)], apart, 0);
            }

            (&Capsule { half_length: a1, radius: r1 }, &Capsule { half_length: a2, radius: r2 }) => {
                let [u1, u2] = axes();
                let first = Segment { centre: c1, axis: u1, half_length: a1, radius: r1 };
                let second = Segment { centre: c2, axis: u2, half_length: a2, radius: r2 };
                capsule_capsule(dimension, &first, &second, self);
            }

            (Sphere { .. } | Capsule { .. }, _) if dimension == Dimension::Space => {
                return round::round_and_hull(first, second, self) || turned::round_and_turned(first, second, self);
            }

            (Cuboid { .. } | Polytope(_), _) if dimension == Dimension::Space => {
                return turned_hull::hull_and_turned(first, second, self);
            }

            (_, HalfSpace { .. }) if dimension == Dimension::Space => {
                return turned::turned_on_plane(first, second, self);
            }

            _ => return false,
        }
        true
    }

    /// What is within convex surroundings: balls that stand for the whole are.
    fn within(&mut self, dimension: Dimension, (shape, pose): (&Shape, &Pose), outside: (&Shape, &Pose)) {
        let centre = in_dimension(dimension, pose.position);
        let radius = shape.radius().unwrap_or(0.0);
        // The normal of a plane, the axis of a tube.
        let direction = match *outside.0 {
            Shape::HalfSpace { normal, .. } => plane_normal(dimension, outside.1, normal),
            _ => axis(dimension, outside.1),
        };
        let mut ball = |x, feature| self.ball_within(dimension, (x, radius), outside, direction, feature);
        let corners = |vertices: &[DVec3], ball: &mut dyn FnMut(DVec3, u64)| {
            for (feature, &local) in vertices.iter().enumerate() {
                ball(centre + in_dimension(dimension, pose.transform_vector(local)), feature as u64);
            }
        };
        match *shape {
            Shape::Capsule { half_length, .. } => {
                let half_axis = half_length * axis(dimension, pose);
                ball(centre + half_axis, 0);
                ball(centre - half_axis, 1);
            }
            Shape::Cuboid { half_extents } => {
                let half_extents = in_dimension(dimension, half_extents);
                for corner in 0..1u64 << dimension.axes() {
                    let side = |bit: u32| if corner >> bit & 1 == 0 { 1.0 } else { -1.0 };
                    let local = DVec3::new(side(0), side(1), side(2)) * half_extents;
                    ball(centre + in_dimension(dimension, pose.transform_vector(local)), corner);
                }
            }
            Shape::Polygon(ref polygon) => corners(&polygon.vertices, &mut ball),
            Shape::Polyline(ref chain) => corners(&chain.vertices, &mut ball),
            Shape::Polytope(ref polytope) => corners(polytope.vertices(), &mut ball),
            _ => ball(centre, 0),
        }
    }

    /// A ball around x within what is free. Normals of holes point inwards, and their points lie at
    /// the radius on the other side of the centre or axis: as if the hole were a ball of negative
    /// radius at a negative distance.
    fn ball_within(
        &mut self,
        dimension: Dimension,
        (x, r): (DVec3, f64),
        (shape, pose): (&Shape, &Pose),
        direction: DVec3,
        feature: u64,
    ) {
        let centre = in_dimension(dimension, pose.position);
        let radius = -shape.radius().unwrap_or(0.0);
        let (part, x2, apart) = match *shape {
            Shape::HalfSpace { offset, .. } => {
                let distance = direction.dot(x - centre) - offset;
                (Part::Plane, x - distance * direction, (direction, distance))
            }
            Shape::Tube { .. } => {
                let along = (x - centre).dot(direction);
                let (inwards, distance) = point_to_line(dimension, centre - x, direction);
                (Part::Line(direction), centre + along * direction, (inwards, -distance))
            }
            _ => {
                let (inwards, distance) = point_to_point(dimension, centre - x);
                (Part::Point, centre, (inwards, -distance))
            }
        };
        self.push([Part::Point, part], [(x, r), (x2, radius)], apart, feature);
    }
}

/// Normal of a half-space in the world.
fn plane_normal(dimension: Dimension, pose: &Pose, normal: DVec3) -> DVec3 {
    in_dimension(dimension, pose.transform_vector(normal)).normalize()
}

/// The same vector, without its z in the plane.
pub(crate) fn in_dimension(dimension: Dimension, v: DVec3) -> DVec3 {
    match dimension {
        Dimension::Plane => DVec3::new(v.x, v.y, 0.0),
        Dimension::Space => v,
    }
}

/// The axis of a capsule, cylinder or tube in the world.
pub(crate) fn axis(dimension: Dimension, pose: &Pose) -> DVec3 {
    in_dimension(dimension, pose.transform_vector(DVec3::X)).normalize()
}

/// Unit vector and length of d; nothing when d is zero or so small that it has no digits left.
fn direction_of(d: DVec3) -> Option<(DVec3, f64)> {
    let largest = d.abs().max_element();
    if largest < f64::MIN_POSITIVE {
        return None;
    }
    // Scaled first, so that squares do not underflow.
    let scaled = d / largest;
    let length = scaled.length();
    Some((scaled / length, largest * length))
}

/// Normal towards, and distance of, the point at d from the origin.
fn point_to_point(dimension: Dimension, d: DVec3) -> (DVec3, f64) {
    direction_of(d).unwrap_or_else(|| {
        let normal = match dimension {
            Dimension::Plane => DVec3::Y,
            Dimension::Space => DVec3::Z,
        };
        (normal, 0.0)
    })
}

/// Normal towards, and distance of, the point at e from the line through the origin along u.
fn point_to_line(dimension: Dimension, e: DVec3, u: DVec3) -> (DVec3, f64) {
    match dimension {
        // The normal follows from the line alone, so it is sharp even when the point is on the
        // line.
        Dimension::Plane => {
            let across = perpendicular(dimension, u);
            let side = across.dot(e);
            (if side < 0.0 { -across } else { across }, side.abs())
        }
        Dimension::Space => direction_of(e - e.dot(u) * u).unwrap_or_else(|| (perpendicular(dimension, u), 0.0)),
    }
}

/// A unit vector perpendicular to u: +z (in the plane +y) turned as little as possible, or +x when
/// u is in the way.
fn perpendicular(dimension: Dimension, u: DVec3) -> DVec3 {
    match dimension {
        Dimension::Plane => {
            if u.x > 0.0 || (u.x == 0.0 && u.y < 0.0) {
                DVec3::new(-u.y, u.x, 0.0)
            } else {
                DVec3::new(u.y, -u.x, 0.0)
            }
        }
        Dimension::Space => {
            let z_is_largest = u.z.abs() > u.x.abs() && u.z.abs() > u.y.abs();
            let seed = if z_is_largest { DVec3::X } else { DVec3::Z };
            (seed - seed.dot(u) * u).normalize()
        }
    }
}

#[cfg(test)]
mod tests;
