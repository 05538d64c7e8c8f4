//! How bodies look: their shapes, the links between their joints, inertia without a shape.

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{Body, BodyKind, JointKind, Multibody, Pose, Shape};

use crate::figure::{Colour, Outline, Stroke};

/// Sine of the angle by which a plane may miss the direction of view and still be drawn as a line.
pub(super) const EDGE_ON: f64 = 1e-6;
/// Points of a body closer than this share of its size are one.
const SAME_POINT: f64 = 1e-6;
/// Distance between points of an outline tried for a label, relative to the radius of the body.
const RIM_SPACING: f64 = 0.1;
/// Corners of round outlines.
const CORNERS: usize = 72;
/// Width of links relative to other lines.
const LINK_WIDTH: f64 = 1.8;

/// A direction from which one looks: the axes of the picture, and what points at the eye.
#[derive(Clone, Copy)]
pub(super) struct View {
    pub(super) axes: (usize, usize),
    pub(super) towards_eye: DVec3,
}

impl View {
    /// Right-handed: with x to the right and y up, z comes out of the picture.
    pub(super) fn new(right: usize, up: usize) -> Self {
        View { axes: (right, up), towards_eye: DVec3::AXES[right].cross(DVec3::AXES[up]) }
    }

    pub(super) fn project(&self, point: DVec3) -> (f64, f64) {
        (point[self.axes.0], point[self.axes.1])
    }
}

/// A body as it is drawn.
pub(super) struct Look<'a> {
    pub(super) body: &'a Body,
    /// Points that a link of a mechanism connects, in its coordinates; none when it is no link.
    link: Vec<DVec3>,
    /// Semi-axes of the solid ellipsoid of the same inertia, when nothing else of the body is seen.
    inertia: Option<DVec3>,
}

impl<'a> Look<'a> {
    /// The body of that number.
    pub(super) fn new(system: &'a Multibody, number: usize) -> Self {
        let model = system.model();
        let body = &model.bodies[number];
        let mut link: Vec<DVec3> = Vec::new();
        let rods = |kind: JointKind| matches!(kind, JointKind::Distance { .. });
        for joint in model.joints.iter().filter(|joint| !rods(joint.kind)) {
            let ends = [(Some(joint.first), joint.frames[0].point), (joint.second, joint.frames[1].point)];
            link.extend(ends.into_iter().filter(|(of, _)| *of == Some(number)).map(|(_, point)| point));
        }
        let is_link = !link.is_empty() && body.kind.is_free();
        if is_link {
            let ends = model.springs.iter().flat_map(|spring| [&spring.first, &spring.second]);
            link.extend(ends.filter(|end| end.body == Some(number)).map(|end| end.point));
            link.extend(body.shapes.iter().map(|shape| shape.placed.position));
            let size = link.iter().map(|point| point.length()).fold(0.0, f64::max);
            let is_single = link.iter().all(|point| (*point - link[0]).length() <= SAME_POINT * size);
            // Held at one point, it is seen as the line from there to its centre of mass.
            if is_single {
                link.push(DVec3::ZERO);
            }
        } else {
            link.clear();
        }
        let inertia = match &body.kind {
            BodyKind::Rigid { mass, inertia, .. } if link.is_empty() && finite_radius(body) == 0.0 => {
                let moments = DVec3::new(inertia.x_axis.x, inertia.y_axis.y, inertia.z_axis.z);
                Some(ellipsoid(*mass, moments))
            }
            _ => None,
        };
        Look { body, link, inertia }
    }

    /// Whether the body is a point that has nothing but a place.
    pub(super) fn is_dot(&self) -> bool {
        self.radius() == 0.0
    }

    /// Whether it is a link of a mechanism.
    pub(super) fn is_link(&self) -> bool {
        !self.link.is_empty()
    }

    /// Radius of a circle around the origin of the body that holds what is seen of it, in metres.
    pub(super) fn radius(&self) -> f64 {
        let link = self.link.iter().map(|point| point.length()).fold(0.0, f64::max);
        finite_radius(self.body).max(link).max(self.inertia.map_or(0.0, |axes| axes.max_element()))
    }

    /// The outlines in a pose; none for a dot.
    pub(super) fn outlines(&self, pose: &Pose, view: View, colour: Colour, is_last: bool) -> Vec<Outline> {
        let brush = Brush { colour, is_last };
        let mut outlines = Vec::new();
        if self.is_link() {
            let points = hull(self.link.iter().map(|&point| view.project(pose.transform_point(point))).collect());
            let link = if points.len() > 2 { brush.area(points) } else { brush.line(points) };
            outlines.push(wider(link, LINK_WIDTH));
        }
        if let Some(semi_axes) = self.inertia {
            outlines.push(brush.area(silhouette(pose, semi_axes, view)));
            // Two of its axes, of which one is longer.
            let tips = [semi_axes.with_y(0.0).with_z(0.0), 0.5 * semi_axes.with_x(0.0).with_z(0.0)];
            outlines.extend(tips.map(|tip| brush.line(segment(pose, DVec3::ZERO, tip, view))));
        }
        outlines.extend(shapes(self.body, pose, view, colour, is_last));
        outlines
    }

    /// Points along the outlines, close to each other; the centre of a body without an outline.
    pub(super) fn rim(&self, pose: &Pose, view: View) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        for outline in self.outlines(pose, view, Colour::INK, false) {
            let closing = outline.points.first().filter(|_| outline.closed);
            let corners: Vec<&(f64, f64)> = outline.points.iter().chain(closing).collect();
            for pair in corners.windows(2) {
                let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
                let parts = (dx.hypot(dy) / (RIM_SPACING * self.radius())).ceil().clamp(1.0, 100.0) as usize;
                let at =
                    |k: usize| (pair[0].0 + k as f64 / parts as f64 * dx, pair[0].1 + k as f64 / parts as f64 * dy);
                points.extend((0..=parts).map(at));
            }
        }
        if points.is_empty() { vec![view.project(pose.position)] } else { points }
    }
}

/// How the parts of a body are drawn: the last pose has thicker lines and a darker inside.
#[derive(Clone, Copy)]
struct Brush {
    colour: Colour,
    is_last: bool,
}

impl Brush {
    fn line(self, points: Vec<(f64, f64)>) -> Outline {
        let width = if self.is_last { 1.5 } else { 1.0 };
        let stroke = Some(Stroke { colour: self.colour, width, dashed: false });
        Outline { points, closed: false, stroke, ..Outline::default() }
    }

    fn area(self, points: Vec<(f64, f64)>) -> Outline {
        let opacity = if self.is_last { 0.2 } else { 0.05 };
        Outline { closed: true, fill: Some((self.colour, opacity)), ..self.line(points) }
    }
}

/// An outline with a line that is so many times wider.
fn wider(outline: Outline, factor: f64) -> Outline {
    Outline { stroke: outline.stroke.map(|stroke| Stroke { width: factor * stroke.width, ..stroke }), ..outline }
}

/// The line between two points of a body.
fn segment(pose: &Pose, from: DVec3, to: DVec3, view: View) -> Vec<(f64, f64)> {
    [from, to].map(|point| view.project(pose.transform_point(point))).to_vec()
}

/// Radius of a circle around the origin of the body that holds its finite shapes, in metres.
fn finite_radius(body: &Body) -> f64 {
    let reach = |shape: &Shape| match *shape {
        Shape::Cavity { radius } => radius,
        _ if shape.is_infinite() => 0.0,
        _ => shape.bounding_radius(),
    };
    body.shapes.iter().map(|shape| shape.placed.position.length() + reach(&shape.placed.shape)).fold(0.0, f64::max)
}

/// Semi-axes of the solid ellipsoid with this mass and these moments of inertia: $I_1 = m (b^2 +
/// c^2) / 5$ and so on.
fn ellipsoid(mass: f64, moments: DVec3) -> DVec3 {
    let half_sum = 0.5 * moments.element_sum();
    let square = |moment: f64| (5.0 / mass * (half_sum - moment)).max(0.0);
    DVec3::new(square(moments.x).sqrt(), square(moments.y).sqrt(), square(moments.z).sqrt())
}

/// The shapes of a body. Infinite ones are drawn where they stand, and a point is a dot.
pub(super) fn shapes(body: &Body, pose: &Pose, view: View, colour: Colour, is_last: bool) -> Vec<Outline> {
    let brush = Brush { colour, is_last };
    let turns = matches!(body.kind, BodyKind::Rigid { .. } | BodyKind::Prescribed(_));
    let mut outlines = Vec::new();
    for shape in &body.shapes {
        let world = shape.placed.world_pose(pose);
        match shape.placed.shape {
            Shape::HalfSpace { .. } | Shape::Tube { .. } | Shape::Sphere { radius: 0.0 } => {}
            Shape::Cylinder { half_length: f64::INFINITY, .. } => {}
            Shape::Cylinder { radius, half_length } => {
                let rims = [half_length, -half_length].map(|x| rim(&world, x, radius, view));
                outlines.push(brush.area(hull(rims.concat())));
                // The end that one sees, and a radius that shows how it turns.
                let side = if world.transform_vector(DVec3::X).dot(view.towards_eye) < 0.0 { 1 } else { 0 };
                let end = DVec3::X * [half_length, -half_length][side];
                outlines.extend(rims.into_iter().nth(side).map(|points| brush.area(points)));
                let spoke = segment(&world, end, end + radius * DVec3::Y, view);
                outlines.extend(turns.then(|| brush.line(spoke)));
            }
            Shape::Cone { radius, half_height } => {
                let mut points = rim(&world, -half_height, radius, view);
                let tip = view.project(world.transform_point(half_height * DVec3::X));
                outlines.push(brush.line([points.as_slice(), &points[..1]].concat()));
                points.push(tip);
                outlines.push(brush.area(hull(points)));
            }
            Shape::Polytope(ref polytope) => {
                for face in polytope.faces() {
                    if world.transform_vector(face.normal).dot(view.towards_eye) > EDGE_ON {
                        let corner = |i: u32| polytope.vertices()[polytope.half_edges()[i as usize].vertex as usize];
                        let place = |i: u32| view.project(world.transform_point(corner(i)));
                        outlines.push(brush.area((face.first..face.first + face.count).map(place).collect()));
                    }
                }
            }
            Shape::Mesh(ref mesh) => {
                let place = |vertex: u32| view.project(world.transform_point(mesh.vertices()[vertex as usize]));
                let is_seen = |&face: &u32| {
                    let face = mesh.faces().get(face as usize);
                    face.is_some_and(|face| world.transform_vector(face.normal).dot(view.towards_eye) > EDGE_ON)
                };
                // Edges between faces, where one of the two is seen.
                let seen = mesh.edges().iter().filter(|edge| edge.faces.iter().any(is_seen));
                outlines.extend(seen.map(|edge| brush.line(edge.vertices.map(place).to_vec())));
            }
            Shape::Polygon(ref polygon) => {
                let corners = polygon.vertices().iter().map(|&x| view.project(world.transform_point(x)));
                outlines.push(brush.area(corners.collect()));
            }
            Shape::Polyline(ref chain) => {
                let points = chain.vertices().iter().map(|&x| view.project(world.transform_point(x))).collect();
                outlines.push(match chain.is_closed() {
                    true => brush.area(points),
                    // Hatched on the right of the way, where the solid is.
                    false => Outline { hatched: true, ..brush.line(points) },
                });
            }
            Shape::Cavity { radius } => {
                let rim = Outline::disc(view.project(world.position), radius);
                outlines.push(Outline { closed: true, hatched: true, ..brush.line(rim.points) });
            }
            Shape::Ellipsoid { semi_axes } => {
                outlines.push(brush.area(silhouette(&world, semi_axes, view)));
                let tip = semi_axes.with_y(0.0).with_z(0.0);
                outlines.push(brush.line(segment(&world, DVec3::ZERO, tip, view)));
            }
            Shape::Sphere { radius } => {
                outlines.push(brush.area(Outline::disc(view.project(world.position), radius).points));
                // A radius shows how it turns.
                let spoke = segment(&world, DVec3::ZERO, DVec3::new(radius, 0.0, 0.0), view);
                outlines.extend(turns.then(|| brush.line(spoke)));
            }
            Shape::Capsule { half_length, radius } => {
                let axis = DVec3::new(half_length, 0.0, 0.0);
                let ends = segment(&world, -axis, axis, view);
                outlines.push(match radius > 0.0 {
                    true => brush.area(Outline::capsule(ends[0], ends[1], radius).points),
                    false => wider(brush.line(ends), 1.5),
                });
            }
            Shape::Cuboid { half_extents } => {
                // The faces that one sees; in the plane it is the one that looks out of it.
                let sides = (0..6).map(|i| (i / 2, if i % 2 == 0 { -1.0 } else { 1.0 }));
                for (axis, side) in sides {
                    if world.transform_vector(side * DVec3::AXES[axis]).dot(view.towards_eye) <= EDGE_ON {
                        continue;
                    }
                    let (u, v) = (DVec3::AXES[(axis + 1) % 3], DVec3::AXES[(axis + 2) % 3]);
                    let corners = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].map(|(a, b)| {
                        let local = (side * DVec3::AXES[axis] + a * u + b * v) * half_extents;
                        view.project(world.transform_point(local))
                    });
                    outlines.push(brush.area(corners.to_vec()));
                }
            }
        }
    }
    outlines
}

/// A circle around the x axis of a shape.
fn rim(pose: &Pose, x: f64, radius: f64, view: View) -> Vec<(f64, f64)> {
    let angles = (0..CORNERS).map(|i| std::f64::consts::TAU * i as f64 / CORNERS as f64);
    let point = |angle: f64| pose.transform_point(DVec3::new(x, radius * angle.cos(), radius * angle.sin()));
    angles.map(|angle| view.project(point(angle))).collect()
}

/// The corners of the convex hull (Andrew's monotone chain); of points on a line the two ends.
fn hull(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let (low, high) = (points[0], points[points.len() - 1]);
    let flat = SAME_POINT * ((high.0 - low.0).powi(2) + (high.1 - low.1).powi(2));
    let half = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let mut chain: Vec<(f64, f64)> = Vec::new();
        for p in points {
            while let [.., a, b] = chain[..]
                && (b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0) <= flat
            {
                chain.pop();
            }
            chain.push(p);
        }
        chain.pop();
        chain
    };
    let mut corners = half(&mut points.iter().copied());
    corners.extend(half(&mut points.iter().rev().copied()));
    corners
}

/// The outline of an ellipsoid, seen from afar.
///
/// Its shadow on the picture is the ellipse of all $x$ with $x^T Q^{-1} x \le 1$, where $Q = P R
/// A^2 R^T P^T$ with the axes of the picture as rows of $P$ and the semi-axes in $A$; a factor $L
/// L^T = Q$ takes the unit circle to its rim.
fn silhouette(pose: &Pose, semi_axes: DVec3, view: View) -> Vec<(f64, f64)> {
    let centre = view.project(pose.position);
    let columns = [0, 1, 2].map(|i| view.project(semi_axes[i] * pose.transform_vector(DVec3::AXES[i])));
    let sum = |term: &dyn Fn(&(f64, f64)) -> f64| columns.iter().map(term).sum::<f64>();
    let (xx, xy, yy) = (sum(&|c| c.0 * c.0), sum(&|c| c.0 * c.1), sum(&|c| c.1 * c.1));
    // A disc seen edge-on from the side has no width.
    let width = xx.sqrt().max(f64::MIN_POSITIVE.sqrt());
    let l = (width, xy / width, (yy - xy * xy / (width * width)).max(0.0).sqrt());
    let angles = (0..CORNERS).map(|i| std::f64::consts::TAU * i as f64 / CORNERS as f64);
    angles.map(|angle| (centre.0 + l.0 * angle.cos(), centre.1 + l.1 * angle.cos() + l.2 * angle.sin())).collect()
}

/// A line from `a` to `b` with teeth in its middle part: a spring.
pub(super) fn zigzag(a: (f64, f64), b: (f64, f64)) -> Vec<(f64, f64)> {
    const TEETH: usize = 16;
    // The straight part at each end, and the height of the teeth, as shares of the length.
    let (straight, height) = (0.2, 0.025);
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let at = |along: f64, across: f64| (a.0 + along * dx - across * dy, a.1 + along * dy + across * dx);
    let tooth = |i: usize| {
        let along = straight + (1.0 - 2.0 * straight) * (i as f64 + 0.5) / TEETH as f64;
        at(along, if i.is_multiple_of(2) { height } else { -height })
    };
    let ends = [at(0.0, 0.0), at(straight, 0.0)];
    ends.into_iter().chain((0..TEETH).map(tooth)).chain([at(1.0 - straight, 0.0), b]).collect()
}

#[cfg(test)]
mod tests {
    use stiction_bodies::glamx::DQuat;

    use super::*;

    #[test]
    fn silhouettes_by_hand() {
        let extent = |points: &[(f64, f64)], pick: fn(&(f64, f64)) -> f64| {
            let values = || points.iter().map(pick);
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
        };
        let near = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 5e-3 && (b - d).abs() < 5e-3;
        let semi_axes = DVec3::new(3.0, 1.0, 0.5);
        // From above 3 by 1; from the front 3 by 0.5; after a turn of 30 degrees about y, √(9 cos²
        // + 0.25 sin²) wide and √(9 sin² + 0.25 cos²) high. The corners miss the extremes by up to
        // 1 - cos 2.5 degrees, 0.1 %.
        let pose = Pose::new(DVec3::new(1.0, 2.0, 3.0), DQuat::IDENTITY);
        let points = silhouette(&pose, semi_axes, View::new(0, 1));
        assert!(near(extent(&points, |p| p.0), (-2.0, 4.0)) && near(extent(&points, |p| p.1), (1.0, 3.0)));
        let tilted = Pose::new(DVec3::ZERO, DQuat::from_rotation_y(std::f64::consts::FRAC_PI_6));
        let points = silhouette(&tilted, semi_axes, View::new(0, 2));
        let (x, z) = ((9.0 * 0.75 + 0.25 * 0.25f64).sqrt(), (9.0 * 0.25 + 0.25 * 0.75f64).sqrt());
        assert!(near(extent(&points, |p| p.0), (-x, x)) && near(extent(&points, |p| p.1), (-z, z)), "{points:?}");
    }

    #[test]
    fn a_hull_has_the_outer_points_and_of_a_line_its_ends() {
        let square = vec![(0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (1.0, 0.0), (0.0, 1.0), (0.5, 0.0)];
        assert_eq!(hull(square), [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]);
        assert_eq!(hull(vec![(2.0, 2.0), (0.0, 0.0), (1.0, 1.0)]), [(0.0, 0.0), (2.0, 2.0)]);
    }

    #[test]
    fn the_ellipsoid_of_an_inertia_has_that_inertia() {
        let axes = ellipsoid(2.0, DVec3::new(1.0, 2.0, 2.5));
        let moment = |a: f64, b: f64| 2.0 * (a * a + b * b) / 5.0;
        let moments = [moment(axes.y, axes.z), moment(axes.x, axes.z), moment(axes.x, axes.y)];
        assert!(moments.iter().zip([1.0, 2.0, 2.5]).all(|(a, b)| (a - b).abs() < 1e-12), "{moments:?}");
    }
}
