//! Cylinders with ends and cones against half-spaces, spheres and capsules.
//!
//! Both are solids of revolution whose meridian has four corners: two discs with the radii $r_0$ at
//! $x = +h$ and $r_1$ at $x = -h$ along the axis $w$, and the mantle between their rims. A cone has
//! $r_0 = 0$: its tip is a rim without radius. With $\alpha$ for the slope of the mantle, its normal
//! at the azimuth of the unit vector $\hat\rho$ is $n = \sin\alpha w + \cos\alpha \hat\rho$, and its
//! generatrix has the direction $g = \cos\alpha w - \sin\alpha \hat\rho$.
//!
//! **On a half-space** with normal $n$ a rim of radius $r$ has one lowest point, along $-(n - (n
//! \cdot w) w)$, at $r \sin\theta$ below its centre, with $\theta$ between axis and normal. The two
//! lowest points of a cylinder on its side are the ends of a line of contact. On a disc that stands
//! nearly flat the lowest point runs around the rim faster the flatter it stands, and alone it would
//! let the disc rock. So [`RIM_POINTS`] points that are fixed in the body are listed as well
//! ([`NEARLY_FLAT`]), and they alone below [`FLAT`]. The polygon of these points has the arm $r \cos
//! (\pi/16)$ where the disc has $r$: what tips a body that stands exactly flat needs up to 1.9 % less
//! moment than on a disc.
//!
//! **Against a point** all happens in the half-plane of the meridian: the nearest of two discs,
//! mantle and rims; inside, the nearest of discs and mantle.
//!
//! **Against the inside of a segment** $c + s u$ the mantle has the normal with $n \cdot u = 0$: a
//! plane through a generatrix and along $u$. For a rim, let $s$ count from where the line is nearest
//! to the axis, at the distance $p$, where it is at the height $z$ above the rim. With $k = u \cdot
//! w$ and $q^2 = 1 - k^2$ the square of the distance has half the derivative
//!
//! $$ f(s) = s + k z - r q^2 s / \sqrt{p^2 + q^2 s^2}, $$
//!
//! convex for $s > 0$ and concave for $s < 0$. So on each side there is at most one minimum of the
//! distance, its outermost root, and Newton's method from beyond it cannot miss it. A line across a
//! disc has both. Where $p > r q^2$ the function rises everywhere and has one root, as for a line
//! outside or along the axis.
//!
//! Where a capsule is so deep that its segment reaches into the solid, the gap is negative and at
//! most minus the radius, but it may ask for a longer way out than the shortest: of the directions
//! across a rim only those are known at which the segment passes it.

use std::f64::consts::FRAC_1_SQRT_2;

use glamx::DVec3;
use smallvec::SmallVec;
use stiction_solve::PortableMath as _;

use super::feature::FeaturePair;
use super::round::{BORDER, LEAN, OVERHANG};
use super::{Output, PARALLEL_SINE_TOLERANCE, Part, axis, direction_of, perpendicular, plane_normal};
use crate::pose::Pose;
use crate::shape::{Dimension, Shape};

/// Points of a rim that are listed of a disc that stands nearly flat.
pub(super) const RIM_POINTS: u64 = 16;

/// A disc stands nearly flat while the sine of its tilt is at most this. Too large: contacts that
/// carry nothing. Too small: a disc that falls flat finds them only when it has reached them.
pub(super) const NEARLY_FLAT: f64 = 0.1;

/// A disc stands flat while the sine of its tilt is at most this: its lowest point is not listed
/// then. Too large: the gap is too large by a fiftieth of this, times the radius. Too small: a point
/// at a place that is rounding.
pub(super) const FLAT: f64 = 5e-11;

/// More steps of Newton's method than rounding leaves.
const MOST_STEPS: usize = 60;

/// The mantle, where the two discs are 0 and 1.
pub(super) const MANTLE: u32 = 2;

/// A cylinder or cone, around the x axis of its own coordinates.
#[derive(Clone, Copy)]
pub(super) struct Turned {
    half: f64,
    radii: [f64; 2],
    /// Sine and cosine of the slope of the mantle, and the length of a generatrix.
    sine: f64,
    cosine: f64,
    length: f64,
}

impl Turned {
    /// None of other shapes.
    pub(super) fn of(shape: &Shape) -> Option<Self> {
        let (half, radii) = match *shape {
            Shape::Cylinder { radius, half_length } if half_length.is_finite() => (half_length, [radius; 2]),
            Shape::Cone { radius, half_height } => (half_height, [0.0, radius]),
            _ => return None,
        };
        let length = (radii[1] - radii[0]).portable_hypot(2.0 * half);
        Some(Self { half, radii, sine: (radii[1] - radii[0]) / length, cosine: 2.0 * half / length, length })
    }

    pub(super) fn side(rim: u32) -> f64 {
        if rim == 0 { 1.0 } else { -1.0 }
    }

    pub(super) fn centre(&self, rim: u32) -> DVec3 {
        Self::side(rim) * self.half * DVec3::X
    }

    pub(super) fn radius(&self, rim: u32) -> f64 {
        self.radii[rim as usize]
    }

    /// A length of its size.
    pub(super) fn reach(&self) -> f64 {
        self.half + self.radii[1]
    }

    /// Away from the axis, and the distance from it.
    fn outwards(x: DVec3) -> (DVec3, f64) {
        direction_of(x.with_x(0.0)).unwrap_or((DVec3::Z, 0.0))
    }

    /// Height above a disc or the mantle.
    pub(super) fn height(&self, face: u32, x: DVec3) -> f64 {
        match face {
            MANTLE => self.sine * (x.x + self.half) + self.cosine * (Self::outwards(x).1 - self.radii[1]),
            disc => Self::side(disc) * x.x - self.half,
        }
    }

    /// Place along the generatrix of a point, from the rim at $-h$.
    fn along(&self, x: DVec3) -> f64 {
        self.cosine * (x.x + self.half) - self.sine * (Self::outwards(x).1 - self.radii[1])
    }

    /// Whether a point is inside, or on the surface.
    fn holds(&self, x: DVec3) -> bool {
        (0..=MANTLE).all(|face| self.height(face, x) <= 0.0)
    }

    /// What is nearest to a point, as seen by vertex `end` of the other shape.
    pub(super) fn nearest(&self, end: u32, x: DVec3) -> FeaturePair {
        let faces = [0, 1, MANTLE].into_iter().filter(|face| *face == MANTLE || self.radius(*face) > 0.0);
        let (highest, height) = faces
            .map(|face| (face, self.height(face, x)))
            .reduce(|best, other| if other.1 > best.1 { other } else { best })
            .unwrap_or((MANTLE, 0.0));
        if height <= 0.0 {
            return FeaturePair::VertexFace(end, highest);
        }
        let (_, across) = Self::outwards(x);
        for disc in 0..2 {
            let radius = self.radius(disc);
            if radius > 0.0 && self.height(disc, x) > 0.0 && across <= (1.0 + BORDER) * radius {
                return FeaturePair::VertexFace(end, disc);
            }
        }
        let place = self.along(x);
        let border = BORDER * self.length;
        let rim = if place < -border {
            1
        } else if place > self.length + border {
            0
        } else {
            return FeaturePair::VertexFace(end, MANTLE);
        };
        if self.radius(rim) > 0.0 { FeaturePair::VertexEdge(end, rim) } else { FeaturePair::VertexVertex(end, rim) }
    }
}

/// A point or a segment, in the coordinates of what is turned.
pub(super) struct Core {
    pub(super) centre: DVec3,
    pub(super) axis: DVec3,
    pub(super) half_length: f64,
}

/// Where a core and a cylinder or cone meet: what of the latter decides, its point or the point of
/// its axis, and the radius around that.
#[derive(Clone, Copy)]
pub(super) struct Meeting {
    pub(super) parts: [Part; 2],
    pub(super) points: [DVec3; 2],
    pub(super) normal: DVec3,
    pub(super) distance: f64,
    pub(super) radius: f64,
}

impl Meeting {
    /// Lists it, in the world, with a radius around the first.
    pub(super) fn push(&self, pose: &Pose, radius: f64, pair: FeaturePair, out: &mut Output) {
        let turn = |v: DVec3| pose.transform_vector(v).normalize();
        let parts = self.parts.map(|part| match part {
            Part::Line(along) => Part::Line(turn(along)),
            Part::Rim(along) => Part::Rim(turn(along)),
            Part::Slope(along) => Part::Slope(turn(along)),
            part => part,
        });
        let [x1, x2] = self.points.map(|x| pose.transform_point(x));
        out.push(parts, [(x1, radius), (x2, self.radius)], (turn(self.normal), self.distance), pair.code());
    }

    /// Distance of the core from the surface.
    pub(super) fn height(&self) -> f64 {
        self.distance - self.radius
    }
}

impl Core {
    fn ends(&self) -> u32 {
        if self.half_length > 0.0 { 2 } else { 1 }
    }

    fn end(&self, end: u32) -> DVec3 {
        self.centre + Turned::side(end) * self.half_length * self.axis
    }

    /// Two features held; none where they do not meet.
    pub(super) fn meeting(&self, solid: &Turned, features: FeaturePair) -> Option<Meeting> {
        match features {
            FeaturePair::VertexFace(end, face) => Some(self.above_face(solid, self.end(end), face)),
            FeaturePair::VertexEdge(end, rim) => {
                let x = self.end(end);
                let (out, _) = Turned::outwards(x);
                let foot = solid.centre(rim) + solid.radius(rim) * out;
                let (normal, distance) = direction_of(x - foot).unwrap_or((out, 0.0));
                let parts = [Part::Point, Part::Rim(DVec3::X)];
                Some(Meeting { parts, points: [x, foot], normal, distance, radius: 0.0 })
            }
            FeaturePair::VertexVertex(end, tip) => {
                let (x, foot) = (self.end(end), solid.centre(tip));
                let (normal, distance) = direction_of(x - foot).unwrap_or((Turned::side(tip) * DVec3::X, 0.0));
                Some(Meeting { parts: [Part::Point; 2], points: [x, foot], normal, distance, radius: 0.0 })
            }
            FeaturePair::EdgeFace(..) => self.along_mantle(solid),
            FeaturePair::EdgeEdge(_, branch) => self.across_rim(solid, branch),
            FeaturePair::EdgeVertex(_, tip) => {
                let corner = solid.centre(tip);
                let foot = self.centre + (corner - self.centre).dot(self.axis) * self.axis;
                let out = || (perpendicular(Dimension::Space, self.axis), 0.0);
                let (normal, distance) = direction_of(foot - corner).unwrap_or_else(out);
                let parts = [Part::Line(self.axis), Part::Point];
                Some(Meeting { parts, points: [foot, corner], normal, distance, radius: 0.0 })
            }
            _ => None,
        }
    }

    fn above_face(&self, solid: &Turned, x: DVec3, face: u32) -> Meeting {
        let height = solid.height(face, x);
        if face != MANTLE {
            let normal = Turned::side(face) * DVec3::X;
            let (parts, points) = ([Part::Point, Part::Plane], [x, x - height * normal]);
            return Meeting { parts, points, normal, distance: height, radius: 0.0 };
        }
        let (out, across) = Turned::outwards(x);
        if solid.sine == 0.0 {
            let (parts, points) = ([Part::Point, Part::Line(DVec3::X)], [x, x.x * DVec3::X]);
            return Meeting { parts, points, normal: out, distance: across, radius: solid.radii[0] };
        }
        let normal = solid.sine * DVec3::X + solid.cosine * out;
        let (parts, points) = ([Part::Point, Part::Slope(DVec3::X)], [x, x - height * normal]);
        Meeting { parts, points, normal, distance: height, radius: 0.0 }
    }

    /// The line along a plane that touches the mantle.
    fn along_mantle(&self, solid: &Turned) -> Option<Meeting> {
        let across = self.axis.with_x(0.0);
        let q = across.length();
        if q <= PARALLEL_SINE_TOLERANCE {
            return None;
        }
        // Of the two azimuths on the mantle that on the side of the line.
        let turn = -solid.sine * self.axis.x / (solid.cosine * q);
        let beside = DVec3::X.cross(across) / q;
        let beside = if beside.dot(self.centre) < 0.0 { -beside } else { beside };
        let rest = 1.0 - turn * turn;
        if rest <= PARALLEL_SINE_TOLERANCE * PARALLEL_SINE_TOLERANCE {
            return None;
        }
        let out = turn * across / q + rest.sqrt() * beside;
        let normal = solid.sine * DVec3::X + solid.cosine * out;
        let generatrix = solid.cosine * DVec3::X - solid.sine * out;
        // From the axis of a cylinder, from the tip of a cone: the smaller numbers.
        let (origin, radius) = if solid.sine == 0.0 { (DVec3::ZERO, solid.radii[0]) } else { (solid.centre(0), 0.0) };
        let (w, cross) = (self.centre - origin, self.axis.cross(generatrix));
        let square = cross.length_squared();
        let x1 = self.centre - w.cross(generatrix).dot(cross) / square * self.axis;
        let x2 = origin - w.cross(self.axis).dot(cross) / square * generatrix;
        let part = if solid.sine == 0.0 { Part::Line(DVec3::X) } else { Part::Slope(DVec3::X) };
        let parts = [Part::Line(self.axis), part];
        Some(Meeting { parts, points: [x1, x2], normal, distance: normal.dot(w), radius })
    }

    /// The line past a rim: branch 0 and 1 on the far and on the near side of rim 0, 2 and 3 of
    /// rim 1. A line that has one place only has it as its far side.
    fn across_rim(&self, solid: &Turned, branch: u32) -> Option<Meeting> {
        let (rim, side) = (branch / 2, Turned::side(branch % 2));
        let radius = *solid.radii.get(rim as usize).filter(|radius| **radius > 0.0)?;
        let (across, k) = (self.axis.with_x(0.0), self.axis.x);
        let q = across.length();
        let from_rim = self.centre - solid.centre(rim);
        let s = if q <= PARALLEL_SINE_TOLERANCE {
            if side < 0.0 {
                return None;
            }
            let out = Turned::outwards(self.centre).0;
            -(from_rim - radius * out).dot(self.axis)
        } else {
            // In the mirror image the near side is the far one.
            let start = -from_rim.dot(across) / (q * q);
            let square = (from_rim + start * self.axis).with_x(0.0).length_squared();
            let (lift, bend) = (k * (from_rim.x + start * k), radius * q * q);
            let side = match (square > bend * bend, side > 0.0) {
                (true, true) => -lift.signum(),
                (true, false) => return None,
                (false, _) => side,
            };
            let far = start + side * outermost_root(side * lift, bend, square, q * q)?;
            // Of a line nearly along the axis the start is far off and has lost digits.
            let (out, distance) = Turned::outwards(self.centre + far * self.axis);
            let rise = from_rim.dot(self.axis) + far - radius * out.dot(self.axis);
            let slope = 1.0 - radius * (q * q - out.dot(self.axis).powi(2)) / distance;
            if slope > LEAN { far - rise / slope } else { far }
        };
        let x = self.centre + s * self.axis;
        let (out, _) = Turned::outwards(x);
        let foot = solid.centre(rim) + radius * out;
        // Across both, or from one to the other, whichever has more digits; away from the two surfaces
        // that meet at the rim, and negative where the line has passed it.
        let away = (Turned::side(rim) + solid.sine) * DVec3::X + solid.cosine * out;
        let cross = DVec3::X.cross(out).cross(self.axis);
        let normal = match direction_of(x - foot) {
            Some((normal, distance)) if distance >= cross.length() * radius => normal,
            _ => direction_of(cross)?.0,
        };
        let normal = if normal.dot(away) < 0.0 { -normal } else { normal };
        let distance = normal.dot(x - foot);
        let parts = [Part::Line(self.axis), Part::Rim(DVec3::X)];
        Some(Meeting { parts, points: [x, foot], normal, distance, radius: 0.0 })
    }

    fn has_inside(&self, x: DVec3) -> bool {
        (x - self.centre).dot(self.axis).abs() < (1.0 - BORDER) * self.half_length
    }

    /// The lower end above the face that separates best, for a core that overlaps.
    fn shortest_way_out(&self, solid: &Turned) -> FeaturePair {
        let lowest = |face: u32| {
            let pairs = (0..self.ends()).map(|end| (solid.height(face, self.end(end)), end));
            pairs.reduce(|a, b| if b.0 < a.0 { b } else { a }).map_or((0.0, 0), |lower| lower)
        };
        let discs = (0..2).filter(|disc| solid.radius(*disc) > 0.0).map(|disc| (lowest(disc), disc));
        let best = discs.reduce(|a, b| if b.0.0 > a.0.0 { b } else { a });
        best.map_or(FeaturePair::VertexFace(0, MANTLE), |((_, end), disc)| FeaturePair::VertexFace(end, disc))
    }

    /// Features whose distance is that of two points of the bodies, and which may be the nearest.
    fn list(&self, solid: &Turned, out: &mut SmallVec<[FeaturePair; 16]>) {
        for end in 0..self.ends() {
            let pair = solid.nearest(end, self.end(end));
            let Some(meeting) = self.meeting(solid, pair) else { continue };
            let rise = Turned::side(end) * meeting.normal.dot(self.axis);
            let allowed = match pair {
                FeaturePair::VertexFace(_, face) if face != MANTLE => f64::INFINITY,
                FeaturePair::VertexFace(..) => LEAN,
                _ => OVERHANG,
            };
            if self.half_length == 0.0 || rise <= allowed || meeting.height() <= 0.0 {
                out.push(pair);
            }
        }
        if self.half_length == 0.0 {
            return;
        }
        self.list_inside(solid, false, |pair, _| out.push(pair));
        let heights = out.iter().filter_map(|pair| self.meeting(solid, *pair)).map(|meeting| meeting.height());
        if heights.fold(f64::INFINITY, f64::min) > 0.0 && self.overlaps(solid) {
            let pair = self.shortest_way_out(solid);
            if !out.contains(&pair) {
                out.push(pair);
            }
        }
    }

    /// What the inside of the segment meets; also where the line has passed the solid on its other
    /// side, if it is the edge of a body.
    pub(super) fn list_inside(&self, solid: &Turned, is_of_body: bool, mut out: impl FnMut(FeaturePair, &Meeting)) {
        if let Some(meeting) = self.along_mantle(solid) {
            // From the rim at -h: the distance from the axis would not know the cone beyond its tip.
            let generatrix = (DVec3::X - solid.sine * meeting.normal) / solid.cosine;
            let place = solid.length + (meeting.points[1] - solid.centre(0)).dot(generatrix);
            let border = BORDER * solid.length;
            let x = meeting.points[0];
            // Below the mantle and beyond a disc the line passes on the other side of the solid.
            let is_beyond = !is_of_body && meeting.height() < -border && (0..2).any(|disc| solid.height(disc, x) > 0.0);
            if !is_beyond && self.has_inside(x) && place >= -border && place <= solid.length + border {
                out(FeaturePair::EdgeFace(0, MANTLE), &meeting);
            }
        }
        for branch in 0..4 {
            let Some(meeting) = self.across_rim(solid, branch) else { continue };
            let (out_of_axis, _) = Turned::outwards(meeting.points[1]);
            let side = Turned::side(branch / 2);
            let generatrix = solid.cosine * DVec3::X - solid.sine * out_of_axis;
            let leans = [-out_of_axis, -side * generatrix].iter().any(|inwards| meeting.normal.dot(*inwards) > LEAN);
            let x = meeting.points[0];
            let is_beyond = !is_of_body && meeting.distance < -BORDER * solid.length && !solid.holds(x);
            if !leans && !is_beyond && self.has_inside(x) {
                out(FeaturePair::EdgeEdge(0, branch), &meeting);
            }
        }
        let tip = FeaturePair::EdgeVertex(0, 0);
        if solid.radii[0] == 0.0
            && let Some(meeting) = self.meeting(solid, tip)
            && self.has_inside(meeting.points[0])
            && meeting.normal.x >= solid.sine - LEAN
        {
            out(tip, &meeting);
        }
    }

    /// Whether the segment reaches into the solid: the part of it between the discs, and there the
    /// part within the mantle, which is a quadratic.
    fn overlaps(&self, solid: &Turned) -> bool {
        let clip = |(low, high): (f64, f64), rate: f64, value: f64| {
            // Where value + rate s <= 0.
            let zero = -value / rate;
            match rate {
                rate if rate > 0.0 => (low, high.min(zero)),
                rate if rate < 0.0 => (low.max(zero), high),
                _ if value <= 0.0 => (low, high),
                _ => (1.0, -1.0),
            }
        };
        let mut part = (-self.half_length, self.half_length);
        for disc in 0..2 {
            let side = Turned::side(disc);
            part = clip(part, side * self.axis.x, side * self.centre.x - solid.half);
        }
        if part.0 > part.1 {
            return false;
        }
        // Distance from the axis within the radius there, which is not negative between the discs.
        let slope = (solid.radii[0] - solid.radii[1]) / (2.0 * solid.half);
        let radius = solid.radii[1] + slope * (self.centre.x + solid.half);
        let [across, away] = [self.axis, self.centre].map(|v| v.with_x(0.0));
        let turn = slope * self.axis.x;
        let [a, b] = [across.length_squared() - turn * turn, across.dot(away) - turn * radius];
        let c = away.length_squared() - radius * radius;
        let value = |s: f64| (a * s + 2.0 * b) * s + c;
        let middle = if a > 0.0 { (-b / a).clamp(part.0, part.1) } else { part.0 };
        [part.0, middle, part.1].into_iter().any(|s| value(s) < 0.0)
    }
}

/// The outermost root $s > 0$ of $s + b - a s / \sqrt{p^2 + q^2 s^2}$, if there is one: the function
/// is convex there and positive beyond. Where it rises everywhere its root may be zero.
fn outermost_root(b: f64, a: f64, p_square: f64, q_square: f64) -> Option<f64> {
    let mut s = b.abs() + a / q_square.sqrt();
    for _ in 0..MOST_STEPS {
        let square = p_square + q_square * s * s;
        let root = square.sqrt();
        let value = s + b - a * s / root;
        let slope = 1.0 - a * p_square / (square * root);
        if slope <= 0.0 {
            return None;
        }
        let next = s - value / slope;
        if next <= 0.0 {
            return (p_square > a * a).then_some(0.0);
        }
        // From the right all steps go down, until rounding.
        if next >= s {
            return Some(s);
        }
        s = next;
    }
    Some(s)
}

/// A sphere or capsule against a cylinder or cone. False for other shapes, and for a capsule without
/// a radius, which has no inside where it crosses a rim.
pub(super) fn round_and_turned(
    (round, pose_first): (&Shape, &Pose),
    (shape, pose_second): (&Shape, &Pose),
    out: &mut Output,
) -> bool {
    let (half_length, radius) = match *round {
        Shape::Sphere { radius } => (0.0, radius),
        Shape::Capsule { half_length, radius } if radius > 0.0 => (half_length, radius),
        _ => return false,
    };
    let Some(solid) = Turned::of(shape) else { return false };
    let centre = pose_second.inverse_transform_point(pose_first.position);
    let axis = pose_second.inverse_transform_vector(axis(Dimension::Space, pose_first)).normalize();
    let core = Core { centre, axis, half_length };
    let mut features = SmallVec::new();
    match out.wanted {
        Some(wanted) => features.extend(wanted.iter().map(|code| FeaturePair::of(*code))),
        None => core.list(&solid, &mut features),
    }
    for pair in features {
        if let Some(meeting) = core.meeting(&solid, pair) {
            meeting.push(pose_second, radius, pair, out);
        }
    }
    true
}

/// A cylinder or cone on a half-space: features 0 and 1 are the lowest points of the rims at +x and
/// -x, the others the fixed points of both. False for other shapes.
pub(super) fn turned_on_plane(
    (shape, pose): (&Shape, &Pose),
    (plane, pose_plane): (&Shape, &Pose),
    out: &mut Output,
) -> bool {
    let (Some(solid), &Shape::HalfSpace { normal, offset }) = (Turned::of(shape), plane) else { return false };
    let normal = plane_normal(Dimension::Space, pose_plane, normal);
    let along = axis(Dimension::Space, pose);
    // Twice, because the rest of the first time is large beside what is left of a small tilt.
    let across = normal - normal.dot(along) * along;
    let across = across - across.dot(along) * along;
    let sine = across.length();
    let wanted = out.wanted;
    let is_wanted = |feature: u64| wanted.is_none_or(|features| features.binary_search(&feature).is_ok());
    let mut push = |part: Part, x: DVec3, feature: u64| {
        let height = normal.dot(x - pose_plane.position) - offset;
        out.push([part, Part::Plane], [(x, 0.0), (x - height * normal, 0.0)], (normal, height), feature);
    };
    for rim in 0..2u32 {
        let centre = pose.position + Turned::side(rim) * solid.half * along;
        let radius = solid.radius(rim);
        if radius == 0.0 {
            push(Part::Point, centre, u64::from(rim));
            continue;
        }
        if is_wanted(u64::from(rim))
            && (sine > FLAT || wanted.is_some())
            && let Some((up, _)) = direction_of(across)
        {
            push(Part::Rim(along), centre - radius * up, u64::from(rim));
        }
        let stands = sine <= NEARLY_FLAT && Turned::side(rim) * along.dot(normal) < 0.0;
        for point in 0..RIM_POINTS {
            let feature = 2 + RIM_POINTS * u64::from(rim) + point;
            if is_wanted(feature) && (stands || wanted.is_some()) {
                push(Part::Point, centre + radius * pose.transform_vector(rim_point(point)), feature);
            }
        }
    }
    true
}

/// A fixed point of a rim of radius one, around x from +y.
pub(super) fn rim_point(point: u64) -> DVec3 {
    // Cosines of 0, π/8, π/4, 3π/8 and π/2.
    const COSINES: [f64; 5] = [1.0, 0.923_879_532_511_286_7, FRAC_1_SQRT_2, 0.382_683_432_365_089_8, 0.0];
    let step = (point % 4) as usize;
    let (c, s) = (COSINES[step], COSINES[4 - step]);
    match point / 4 {
        0 => DVec3::new(0.0, c, s),
        1 => DVec3::new(0.0, -s, c),
        2 => DVec3::new(0.0, -c, -s),
        _ => DVec3::new(0.0, s, -c),
    }
}
