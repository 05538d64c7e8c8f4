//! Bodies at well-chosen times, as they look in the plane or along an axis of space.

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{Attachment, Body, BodyKind, Dimension, Multibody, Pose, Shape};

use super::run_data::{BodyTrack, Impact, RunData};
use super::{NOISE, RunFigureError, body_colour, brief, fastest};
use crate::figure::{Anchor, Colour, Mark, Outline, Panel, Series, SeriesKind, Stroke};

/// Poses of a single body.
const MOST_POSES: usize = 14;
/// Bodies times poses in a panel: with many bodies there are fewer poses.
const MOST_BODIES: usize = 36;
/// Poses that are closer than this share of the radius of a body are too near to each other to be told apart.
const NEAREST_POSES: f64 = 0.06;
/// Poses whose time is written beside them.
const MOST_LABELS: usize = 6;
/// As many where the first, the last and an impact are among them.
const FEW_LABELS: usize = 4;
/// A pose that lasts for more than this share of the run is labelled with both times.
const LONG_REST: f64 = 0.02;
/// Distance between the points of an outline that are tried for a label, relative to the radius of the body.
const RIM_SPACING: f64 = 0.1;
/// Bodies whose way is drawn.
const MOST_TRAILS: usize = 12;
/// Walls farther away than this many times the size of the picture do not widen it.
const NEAR_WALL: f64 = 0.5;
/// Half length of a slanted wall, in sizes of the picture: enough to leave it on both sides.
const LONG_WALL: f64 = 50.0;
/// Sine of the angle by which a plane may miss the direction of view and still be drawn as a line.
const EDGE_ON: f64 = 1e-6;

/// A direction from which one looks: the axes of the picture, and what points at the eye.
#[derive(Clone, Copy)]
struct View {
    axes: (usize, usize),
    towards_eye: DVec3,
}

impl View {
    /// Right-handed: with x to the right and y up, z comes out of the picture.
    fn new(right: usize, up: usize) -> Self {
        View { axes: (right, up), towards_eye: DVec3::AXES[right].cross(DVec3::AXES[up]) }
    }

    fn project(&self, point: DVec3) -> (f64, f64) {
        (point[self.axes.0], point[self.axes.1])
    }
}

/// The poses of a planar scene; `None` when they were not recorded.
pub(super) fn planar(
    data: &RunData,
    system: &Multibody,
    tracks: &[BodyTrack],
) -> Result<Option<Panel>, RunFigureError> {
    panel(data, system, tracks, View::new(0, 1))
}

/// Height over width of what the panels show.
pub(super) fn aspect<'a>(panels: impl IntoIterator<Item = &'a Panel>) -> f64 {
    let mut largest = 0.0_f64;
    for panel in panels {
        let bodies = panel.outlines.iter().filter(|outline| !outline.background).flat_map(|outline| &outline.points);
        let points = || bodies.clone().chain(panel.series.iter().flat_map(|series| &series.points));
        let extent = |pick: &dyn Fn(&(f64, f64)) -> f64| {
            let values = || points().map(pick).filter(|value| value.is_finite());
            values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
        };
        let (width, height) = (extent(&|point| point.0), extent(&|point| point.1));
        largest = largest.max(if width > 0.0 { height / width } else { f64::INFINITY });
    }
    largest
}

/// Two views of a scene in space: the axes with most motion first.
pub(super) fn spatial(
    data: &RunData,
    system: &Multibody,
    tracks: &[BodyTrack],
) -> Result<[Option<Panel>; 2], RunFigureError> {
    let mut extent = [0.0_f64; 3];
    for track in tracks.iter().filter(|track| track.is_free && !track.poses.is_empty()) {
        for (axis, widest) in extent.iter_mut().enumerate() {
            let along = || track.poses.iter().map(|pose| pose.position[axis]);
            *widest = widest.max(along().fold(f64::NEG_INFINITY, f64::max) - along().fold(f64::INFINITY, f64::min));
        }
    }
    // Motion that nobody would see does not choose the view.
    let size = system.model().bodies.iter().map(radius).fold(0.0, f64::max) + extent.into_iter().fold(0.0, f64::max);
    let seen = extent.map(|length| if length > 1e-3 * size { length } else { 0.0 });
    let mut pairs = [(0, 2), (1, 2), (0, 1)];
    pairs.sort_by(|a, b| (seen[b.0] + seen[b.1]).total_cmp(&(seen[a.0] + seen[a.1])));
    let view = |pair: (usize, usize)| panel(data, system, tracks, View::new(pair.0, pair.1));
    Ok([view(pairs[0])?, view(pairs[1])?])
}

/// A moment that is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moment {
    /// Row of the states.
    pub(super) row: usize,
    /// Last row that looks the same.
    pub(super) until: usize,
    /// Whether it is the first or the last one, or an impact.
    pub(super) is_key: bool,
}

fn panel(
    data: &RunData,
    system: &Multibody,
    tracks: &[BodyTrack],
    view: View,
) -> Result<Option<Panel>, RunFigureError> {
    let model = system.model();
    let shown = fastest(tracks);
    let times = data.times()?;
    let (start, end) = data.span()?;
    // Belts stand although they have a track, and half-planes are drawn where they start.
    let is_drawn = |track: &&BodyTrack| {
        let moves = track.is_free || (radius(&model.bodies[track.body]) > 0.0 && moves(&track.poses));
        moves && !track.poses.is_empty()
    };
    let drawn: Vec<&BodyTrack> = tracks.iter().filter(is_drawn).collect();
    if !drawn.iter().any(|track| track.is_free) {
        return Ok(None);
    }
    let radii: Vec<f64> = drawn.iter().map(|track| radius(&model.bodies[track.body])).collect();
    let way = way(&drawn, &radii);
    let most = (MOST_BODIES / drawn.len()).clamp(2, MOST_POSES);
    let nearest = NEAREST_POSES * radii.iter().fold(0.0, |a: f64, &b| a.max(b));
    let moments = moments(times, &way, nearest, most, &data.impacts()?);

    let mut panel = Panel {
        title: if moments.len() > 1 { "Poses, darker with time".into() } else { "Pose".into() },
        x_label: format!("{} (m)", ["x", "y", "z"][view.axes.0]),
        y_label: format!("{} (m)", ["x", "y", "z"][view.axes.1]),
        equal_aspect: true,
        ..Panel::default()
    };
    if model.dimension == Dimension::Space {
        let axis = |i: usize| ["x", "y", "z"][i];
        panel.title = format!("{} ({}–{})", panel.title, axis(view.axes.0), axis(view.axes.1));
    }

    let last = moments.len() - 1;
    for (i, moment) in moments.iter().enumerate() {
        let share = if last == 0 { 1.0 } else { i as f64 / last as f64 };
        for track in &drawn {
            let base = if track.is_free { body_colour(&shown, track.body) } else { Colour::GREY };
            let colour = ramp(base, share);
            let pose = &track.poses[moment.row];
            let outlines = outlines(&model.bodies[track.body], pose, view, colour, i == last);
            if outlines.is_empty() {
                let points = vec![view.project(pose.position)];
                let dot =
                    Series { points, colour: Some(colour), width: 2.0, kind: SeriesKind::Points, ..Series::default() };
                panel.series.push(dot);
            }
            panel.outlines.extend(outlines);
        }
    }
    panel.outlines.extend(springs(system, tracks, view, moments[last].row, times[moments[last].row]));
    let trails = drawn.iter().filter(|track| track.is_free).take(MOST_TRAILS);
    for track in trails.filter(|_| moments.len() > 1) {
        let points = track.poses.iter().map(|pose| view.project(pose.position)).collect();
        let colour = body_colour(&shown, track.body).towards(Colour::INK, 0.3);
        panel.series.push(Series { points, colour: Some(colour), width: 0.8, ..Series::default() });
    }

    // Times stand beside the body that moves most, at those of its points that are farthest from its other poses.
    let leader = drawn
        .iter()
        .filter(|track| track.is_free)
        .max_by(|a, b| a.top_speed().total_cmp(&b.top_speed()))
        .expect("some body moves freely");
    let body = &model.bodies[leader.body];
    let rims: Vec<Vec<(f64, f64)>> = moments.iter().map(|moment| rim(body, &leader.poses[moment.row], view)).collect();
    for &i in &labelled(&moments) {
        let Moment { row, until, .. } = moments[i];
        let others = || rims.iter().enumerate().filter(|(k, _)| *k != i).flat_map(|(_, rim)| rim);
        let room = |point: (f64, f64)| others().map(|other| distance(point, *other)).fold(f64::INFINITY, f64::min);
        // Far from the other poses, and at the end of a long body; of about equally good points the higher come first.
        let centre = view.project(leader.poses[row].position);
        let reach = rims[i].iter().map(|&point| distance(point, centre)).fold(f64::MIN_POSITIVE, f64::max);
        let grade = |point: (f64, f64)| (8.0 * (room(point).min(reach) + distance(point, centre)) / reach).round();
        let mut points: Vec<(f64, (f64, f64))> = rims[i].iter().map(|&point| (grade(point), point)).collect();
        points.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.1.total_cmp(&a.1.1)));
        let mut points = points.into_iter().map(|point| point.1);
        let at = points.next().expect("a rim has points");
        let alternatives = points.collect();
        let from = brief(times[row], end - start);
        let is_long = times[until] - times[row] > LONG_REST * (end - start);
        let text = match brief(times[until], end - start) {
            to if is_long && to != from => format!("{from} to {to} s"),
            _ => format!("{from} s"),
        };
        let share = if last == 0 { 1.0 } else { i as f64 / last as f64 };
        let colour = Colour::GREY.towards(Colour::INK, share);
        panel.marks.push(Mark { at, text, anchor: side(at, centre), alternatives, colour });
    }
    panel.outlines.extend(standing(system, view, start, &panel));
    Ok(Some(panel))
}

/// Points along the outline of a body, no farther apart than a small part of it; its centre when it has no outline.
fn rim(body: &Body, pose: &Pose, view: View) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for outline in outlines(body, pose, view, Colour::INK, false).iter().filter(|outline| outline.points.len() > 1) {
        let closing = if outline.closed { Some(&outline.points[0]) } else { None };
        let corners: Vec<&(f64, f64)> = outline.points.iter().chain(closing).collect();
        for pair in corners.windows(2) {
            let (a, b) = (*pair[0], *pair[1]);
            let parts = (distance(a, b) / (RIM_SPACING * radius(body))).ceil().clamp(1.0, 100.0) as usize;
            let share = |k: usize| k as f64 / parts as f64;
            points.extend((0..parts).map(|k| (a.0 + share(k) * (b.0 - a.0), a.1 + share(k) * (b.1 - a.1))));
        }
        points.extend(corners.last().copied());
    }
    if points.is_empty() { vec![view.project(pose.position)] } else { points }
}

fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
    (b.0 - a.0).hypot(b.1 - a.1)
}

/// The side on which a text at a point of a body leaves the body alone.
fn side(at: (f64, f64), centre: (f64, f64)) -> Anchor {
    let (x, y) = (at.0 - centre.0, at.1 - centre.1);
    let sides = [
        Anchor::Right,
        Anchor::AboveRight,
        Anchor::Above,
        Anchor::AboveLeft,
        Anchor::Left,
        Anchor::BelowLeft,
        Anchor::Below,
        Anchor::BelowRight,
    ];
    if x == 0.0 && y == 0.0 {
        return Anchor::Above;
    }
    sides[(y.atan2(x) / std::f64::consts::FRAC_PI_4).round().rem_euclid(8.0) as usize]
}

/// Whether anything about the poses changes.
fn moves(poses: &[Pose]) -> bool {
    poses.iter().any(|pose| *pose != poses[0])
}

/// The colour of a body at this share of the drawn times.
fn ramp(base: Colour, share: f64) -> Colour {
    base.towards(Colour::WHITE, 0.68).towards(base.towards(Colour::INK, 0.3), share)
}

/// Radius of a circle around the origin of the body that holds its finite shapes, in metres.
fn radius(body: &Body) -> f64 {
    let reach = |shape: &Shape| match *shape {
        Shape::HalfSpace { .. } | Shape::Cylinder { .. } | Shape::Tube { .. } => 0.0,
        Shape::Cavity { radius } => radius,
        _ => shape.bounding_radius(),
    };
    body.shapes.iter().map(|shape| shape.placed.position.length() + reach(&shape.placed.shape)).fold(0.0, f64::max)
}

/// How far the bodies have come up to each row, in metres: the longest way of any of their points.
fn way(tracks: &[&BodyTrack], radii: &[f64]) -> Vec<f64> {
    let count = tracks.first().map_or(0, |track| track.poses.len());
    let mut way = vec![0.0; count];
    for row in 1..count {
        let steps = tracks.iter().zip(radii).map(|(track, radius)| {
            let (a, b) = (&track.poses[row - 1], &track.poses[row]);
            let chord = (a.orientation - b.orientation).length().min((a.orientation + b.orientation).length());
            (b.position - a.position).length() + radius * 4.0 * (0.5 * chord).min(1.0).asin()
        });
        way[row] = way[row - 1] + steps.fold(0.0, f64::max);
    }
    way
}

/// The moments to draw: the first, the last, the impacts, and others between them at even distances along the way.
pub(super) fn moments(times: &[f64], way: &[f64], nearest: f64, most: usize, impacts: &[Impact]) -> Vec<Moment> {
    let last = times.len() - 1;
    let whole = way[last];
    let spacing = (whole / (most.max(2) - 1) as f64).max(nearest).max(f64::MIN_POSITIVE);
    let mut keys = vec![0];
    for impact in impacts {
        let row = times.partition_point(|&t| t < impact.t_end).min(last);
        let room = 0.4 * spacing;
        if way[row] - way[keys[keys.len() - 1]] > room && whole - way[row] > room && keys.len() + 1 < most {
            keys.push(row);
        }
    }
    if whole > NOISE * nearest && whole > 0.0 && last > 0 {
        keys.push(last);
    }
    let mut moments = vec![Moment { row: 0, until: 0, is_key: true }];
    for pair in keys.windows(2) {
        let (from, to) = (way[pair[0]], way[pair[1]]);
        let parts = ((to - from) / spacing).round().max(1.0) as usize;
        for k in 1..parts {
            let row = way.partition_point(|&s| s < from + (to - from) * k as f64 / parts as f64);
            if row > moments[moments.len() - 1].row && row < pair[1] {
                moments.push(Moment { row, until: row, is_key: false });
            }
        }
        moments.push(Moment { row: pair[1], until: pair[1], is_key: true });
    }
    // A body at rest looks the same for a while; one label says so.
    let still = if nearest > 0.0 { 0.02 * nearest } else { NOISE * whole };
    for moment in &mut moments {
        moment.until = way.partition_point(|&s| s <= way[moment.row] + still).saturating_sub(1).max(moment.row);
    }
    if let [.., before, end] = moments.as_mut_slice() {
        // The last one tells since when it has looked like that.
        let since = way.partition_point(|&s| s < whole - still);
        if before.until < since {
            (end.row, end.until) = (since, last);
        }
    }
    moments
}

/// Which moments get their time written beside them: the keys, and others where few are labelled.
fn labelled(moments: &[Moment]) -> Vec<usize> {
    let mut chosen: Vec<usize> = (0..moments.len()).filter(|&i| moments[i].is_key).collect();
    if chosen.len() > MOST_LABELS {
        let (count, stride) = (chosen.len() - 1, MOST_LABELS - 1);
        chosen = (0..=stride).map(|k| chosen[k * count / stride]).collect();
    }
    let most = if chosen.len() > 2 { FEW_LABELS } else { MOST_LABELS };
    while chosen.len() < most {
        let distance = |i: usize| chosen.iter().map(|&c| c.abs_diff(i)).min().unwrap_or(0);
        match (0..moments.len()).rev().max_by_key(|&i| distance(i)) {
            Some(i) if distance(i) >= 2 => chosen.push(i),
            _ => break,
        }
    }
    chosen.sort_unstable();
    chosen
}

/// How a body looks in a pose. Bodies without finite shapes have no outline.
fn outlines(body: &Body, pose: &Pose, view: View, colour: Colour, is_last: bool) -> Vec<Outline> {
    let stroke = Some(Stroke { colour, width: if is_last { 1.5 } else { 1.0 }, dashed: false });
    let fill = Some((colour, if is_last { 0.22 } else { 0.06 }));
    let turns = matches!(body.kind, BodyKind::Rigid { .. } | BodyKind::Prescribed(_));
    let mut outlines = Vec::new();
    for shape in &body.shapes {
        let world = shape.placed.world_pose(pose);
        let centre = view.project(world.position);
        let mut add = |outline: Outline| outlines.push(outline);
        match shape.placed.shape {
            // Infinite ones are drawn where they stand, and a point is a dot.
            Shape::HalfSpace { .. } | Shape::Cylinder { .. } | Shape::Tube { .. } => {}
            Shape::Sphere { radius: 0.0 } => {}
            Shape::Cavity { radius } => add(Outline { stroke, hatched: true, ..Outline::disc(centre, radius) }),
            Shape::Ellipsoid { semi_axes } => {
                add(Outline { points: silhouette(&world, semi_axes, view), fill, stroke, ..Outline::default() });
                let tip = view.project(world.transform_point(semi_axes.with_y(0.0).with_z(0.0)));
                add(Outline { points: vec![centre, tip], closed: false, stroke, ..Outline::default() });
            }
            Shape::Sphere { radius } => {
                add(Outline { fill, stroke, ..Outline::disc(centre, radius) });
                if turns {
                    // A radius shows how it turns.
                    let rim = view.project(world.transform_point(DVec3::new(radius, 0.0, 0.0)));
                    add(Outline { points: vec![centre, rim], closed: false, stroke, ..Outline::default() });
                }
            }
            Shape::Capsule { half_length, radius } => {
                let end = |side: f64| view.project(world.transform_point(DVec3::new(side * half_length, 0.0, 0.0)));
                let (a, b) = (end(-1.0), end(1.0));
                if radius > 0.0 {
                    add(Outline { fill, stroke, ..Outline::capsule(a, b, radius) });
                } else {
                    let thick = stroke.map(|stroke| Stroke { width: 1.5 * stroke.width, ..stroke });
                    add(Outline { points: vec![a, b], closed: false, stroke: thick, ..Outline::default() });
                }
            }
            Shape::Cuboid { half_extents } => {
                // The faces that one sees; in the plane it is the one that looks out of it.
                for axis in 0..3 {
                    for side in [-1.0, 1.0] {
                        let outwards = world.transform_vector(side * DVec3::AXES[axis]);
                        if outwards.dot(view.towards_eye) <= EDGE_ON {
                            continue;
                        }
                        let (u, v) = (DVec3::AXES[(axis + 1) % 3], DVec3::AXES[(axis + 2) % 3]);
                        let corner = |a: f64, b: f64| {
                            let local = (side * DVec3::AXES[axis] + a * u + b * v) * half_extents;
                            view.project(world.transform_point(local))
                        };
                        let points = vec![corner(1.0, 1.0), corner(-1.0, 1.0), corner(-1.0, -1.0), corner(1.0, -1.0)];
                        add(Outline { points, fill, stroke, ..Outline::default() });
                    }
                }
            }
        }
    }
    outlines
}

/// The springs between points as they are in a row of the states, at time `t`: zigzag lines.
fn springs(system: &Multibody, tracks: &[BodyTrack], view: View, row: usize, t: f64) -> Vec<Outline> {
    let point = |end: &Attachment| {
        let pose = end.body.map_or(Pose::IDENTITY, |body| {
            let track = tracks.iter().find(|track| track.body == body && !track.poses.is_empty());
            track.map_or_else(|| system.model().bodies[body].pose_at(t), |track| track.poses[row])
        });
        view.project(pose.transform_point(end.point))
    };
    let stroke = Some(Stroke { colour: Colour::GREY, width: 1.0, dashed: false });
    let lines = system.model().springs.iter().map(|spring| zigzag(point(&spring.first), point(&spring.second)));
    lines.map(|points| Outline { points, closed: false, stroke, ..Outline::default() }).collect()
}

/// A line from `a` to `b` with teeth in its middle part.
fn zigzag(a: (f64, f64), b: (f64, f64)) -> Vec<(f64, f64)> {
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

/// The outline of an ellipsoid, seen from afar.
///
/// Its shadow on the picture is the ellipse of all $x$ with $x^T Q^{-1} x \le 1$, where $Q = P R A^2 R^T P^T$ with the axes of the
/// picture as rows of $P$ and the semi-axes in $A$; a factor $L L^T = Q$ takes the unit circle to its rim.
fn silhouette(pose: &Pose, semi_axes: DVec3, view: View) -> Vec<(f64, f64)> {
    const CORNERS: usize = 72;
    let centre = view.project(pose.position);
    let columns = [0, 1, 2].map(|i| view.project(semi_axes[i] * pose.transform_vector(DVec3::AXES[i])));
    let sum = |term: &dyn Fn(&(f64, f64)) -> f64| columns.iter().map(term).sum::<f64>();
    let (xx, xy, yy) = (sum(&|c| c.0 * c.0), sum(&|c| c.0 * c.1), sum(&|c| c.1 * c.1));
    let l = (xx.sqrt(), xy / xx.sqrt(), (yy - xy * xy / xx).max(0.0).sqrt());
    let angles = (0..CORNERS).map(|i| std::f64::consts::TAU * i as f64 / CORNERS as f64);
    angles.map(|angle| (centre.0 + l.0 * angle.cos(), centre.1 + l.1 * angle.cos() + l.2 * angle.sin())).collect()
}

/// A half-plane of the picture: `normal`·x ≥ `offset` is free.
struct Wall {
    normal: (f64, f64),
    offset: f64,
}

impl Wall {
    fn height(&self, point: (f64, f64)) -> f64 {
        self.normal.0 * point.0 + self.normal.1 * point.1 - self.offset
    }
}

/// A cylinder or tube without ends: a circle along its axis, two lines from elsewhere.
fn round_bar(pose: &Pose, radius: f64, is_hole: bool, view: View, size: f64) -> Vec<Outline> {
    let centre = view.project(pose.position);
    let (x, y) = view.project(pose.transform_vector(DVec3::X));
    let length = x.hypot(y);
    let stroke = Some(Stroke { colour: Colour::GREY, width: 1.2, dashed: false });
    let fill = if is_hole { None } else { Some((Colour::GREY, 0.06)) };
    if length <= EDGE_ON {
        return vec![Outline { fill, stroke, hatched: is_hole, ..Outline::disc(centre, radius) }];
    }
    let (along, across) = ((x / length, y / length), (-y / length * radius, x / length * radius));
    let point = |s: f64, side: f64| {
        let s = s * LONG_WALL * (size + radius);
        (centre.0 + s * along.0 + side * across.0, centre.1 + s * along.1 + side * across.1)
    };
    let corners = [point(1.0, -1.0), point(1.0, 1.0), point(-1.0, 1.0), point(-1.0, -1.0)];
    if is_hole {
        // The solid lies on the right-hand side.
        let wall = |from, to| Outline { background: true, ..Outline::wall(from, to) };
        return vec![wall(corners[1], corners[2]), wall(corners[3], corners[0])];
    }
    vec![Outline { points: corners.to_vec(), fill, stroke, background: true, ..Outline::default() }]
}

/// What stands still, or runs without leaving its place: half-planes as hatched lines, other shapes in grey.
fn standing(system: &Multibody, view: View, t: f64, moving: &Panel) -> Vec<Outline> {
    let model = system.model();
    let mut outlines_of_bodies = Vec::new();
    let mut walls = Vec::new();
    let mut long = Vec::new();
    for (number, body) in model.bodies.iter().enumerate().filter(|(_, body)| !body.kind.is_free()) {
        let pose = system.pose(number, t, &[]);
        for shape in &body.shapes {
            let world = shape.placed.world_pose(&pose);
            match shape.placed.shape {
                Shape::HalfSpace { normal, offset } => {
                    let out = world.transform_vector(normal);
                    if out.dot(view.towards_eye).abs() > EDGE_ON {
                        continue;
                    }
                    let normal_seen = view.project(out);
                    let (x, y) = view.project(world.transform_point(normal * offset));
                    walls.push(Wall { normal: normal_seen, offset: normal_seen.0 * x + normal_seen.1 * y });
                }
                Shape::Cylinder { radius } => long.push((world, radius, false)),
                Shape::Tube { radius } => long.push((world, radius, true)),
                _ => {}
            }
        }
        let is_standing = match &body.kind {
            BodyKind::Prescribed(motion) => {
                motion.velocity == DVec3::ZERO
                    && motion.angular_velocity == DVec3::ZERO
                    && motion.oscillations.is_empty()
            }
            _ => true,
        };
        if is_standing {
            outlines_of_bodies.extend(outlines(body, &pose, view, Colour::GREY, false));
        }
    }

    // The box around everything else.
    let (mut low, mut high) = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
    let bodies = moving.outlines.iter().flat_map(|outline| &outline.points);
    for &(x, y) in bodies.chain(moving.series.iter().flat_map(|series| &series.points)) {
        low = (low.0.min(x), low.1.min(y));
        high = (high.0.max(x), high.1.max(y));
    }
    if !(low.0 <= high.0 && low.1 <= high.1) {
        return outlines_of_bodies;
    }
    let centre = (0.5 * (low.0 + high.0), 0.5 * (low.1 + high.1));
    let size = (high.0 - low.0).hypot(high.1 - low.1).max(f64::MIN_POSITIVE);

    outlines_of_bodies
        .extend(long.iter().flat_map(|(pose, radius, is_hole)| round_bar(pose, *radius, *is_hole, view, size)));
    for (i, wall) in walls.iter().enumerate() {
        let (nx, ny) = wall.normal;
        let height = wall.height(centre);
        let foot = (centre.0 - nx * height, centre.1 - ny * height);
        // The solid lies on the right-hand side.
        let along = (ny, -nx);
        let (mut from, mut to) = (f64::NEG_INFINITY, f64::INFINITY);
        for (j, other) in walls.iter().enumerate().filter(|(j, _)| *j != i) {
            // Inside another solid there is no surface; of two equal walls the first is drawn.
            let slope = other.normal.0 * along.0 + other.normal.1 * along.1;
            let above = other.height(foot);
            if slope.abs() <= EDGE_ON {
                let is_same = above.abs() <= EDGE_ON * size && other.normal.0 * nx + other.normal.1 * ny > 0.0;
                if (is_same && j < i) || (!is_same && above < 0.0) {
                    to = f64::NEG_INFINITY;
                }
            } else if slope > 0.0 {
                from = from.max(-above / slope);
            } else {
                to = to.min(-above / slope);
            }
        }
        if from >= to {
            continue;
        }
        let is_slanted = nx.abs() > EDGE_ON && ny.abs() > EDGE_ON;
        let reach = if is_slanted { LONG_WALL * size } else { f64::INFINITY };
        let point = |s: f64| {
            let s = s.clamp(-reach, reach);
            let coordinate = |foot: f64, along: f64| if along.abs() <= EDGE_ON { foot } else { foot + s * along };
            (coordinate(foot.0, along.0), coordinate(foot.1, along.1))
        };
        let corners = [(low.0, low.1), (low.0, high.1), (high.0, low.1), (high.0, high.1)];
        let distance = corners.iter().map(|&corner| wall.height(corner)).fold(f64::INFINITY, f64::min);
        let background = is_slanted || distance > NEAR_WALL * size;
        outlines_of_bodies.push(Outline { background, ..Outline::wall(point(from), point(to)) });
    }
    outlines_of_bodies
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
        // From above 3 by 1; from the front 3 by 0.5; after a turn of 30 degrees about y, √(9 cos² + 0.25 sin²) wide and
        // √(9 sin² + 0.25 cos²) high. The corners miss the extremes by up to 1 - cos 2.5 degrees, 0.1 %.
        let pose = Pose::new(DVec3::new(1.0, 2.0, 3.0), DQuat::IDENTITY);
        let points = silhouette(&pose, semi_axes, View::new(0, 1));
        assert!(near(extent(&points, |p| p.0), (-2.0, 4.0)) && near(extent(&points, |p| p.1), (1.0, 3.0)));
        let tilted = Pose::new(DVec3::ZERO, DQuat::from_rotation_y(std::f64::consts::FRAC_PI_6));
        let points = silhouette(&tilted, semi_axes, View::new(0, 2));
        let (x, z) = ((9.0 * 0.75 + 0.25 * 0.25f64).sqrt(), (9.0 * 0.25 + 0.25 * 0.75f64).sqrt());
        assert!(near(extent(&points, |p| p.0), (-x, x)) && near(extent(&points, |p| p.1), (-z, z)), "{points:?}");
    }

    #[test]
    fn tubes_are_walls_on_both_sides_or_a_circle() {
        let along_x = Pose::new(DVec3::new(0.0, 0.0, 1.0), DQuat::IDENTITY);
        let walls = round_bar(&along_x, 0.5, true, View::new(0, 2), 1.0);
        // The solid lies on the right-hand side: the lower wall runs to the right, the upper one to the left.
        let mut runs: Vec<(f64, bool)> = walls.iter().map(|w| (w.points[0].1, w.points[0].0 < w.points[1].0)).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!(runs, [(0.5, true), (1.5, false)]);
        let circle = round_bar(&along_x, 0.5, true, View::new(1, 2), 1.0);
        assert!(circle.len() == 1 && circle[0].hatched && circle[0].points.len() > 20);
        assert!(round_bar(&along_x, 0.5, false, View::new(0, 2), 1.0)[0].fill.is_some());
    }
}
