//! Bodies at well-chosen times, as they look in the plane or along an axis of space.
//!
//! Poses lie over each other where bodies move along, and stand side by side where a body turns in its place. Links, rods,
//! springs and pins of mechanisms are drawn.

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{Attachment, BodyKind, Dimension, JointKind, Multibody, Pose, Shape};

use super::looks::{EDGE_ON, Look, View, shapes, zigzag};
use super::run_data::{BodyTrack, Impact, RunData};
use super::{NOISE, RunFigureError, body_colour, brief, fastest};
use crate::figure::{Anchor, Colour, Mark, Outline, Panel, Series, SeriesKind, Stroke};

/// Poses of a single body.
const MOST_POSES: usize = 14;
/// Bodies times poses in a panel: with many bodies there are fewer poses.
const MOST_BODIES: usize = 36;
/// Poses of a mechanism, whose parts cross each other.
const MOST_MECHANISMS: usize = 4;
/// Poses side by side.
const SIDE_BY_SIDE: usize = 6;
/// Distance between them, in radii of the body.
const PITCH: f64 = 2.2;
/// A body that moves by less than this many of its radii, and turns by more than this angle in radians, turns in its place.
const IN_PLACE: f64 = 1.5;
const TURNED: f64 = 0.7;
/// Poses that are closer than this share of the radius of a body are too near to each other to be told apart.
const NEAREST_POSES: f64 = 0.06;
/// Poses whose time is written beside them.
const MOST_LABELS: usize = 6;
/// As many where the first, the last and an impact are among them.
const FEW_LABELS: usize = 4;
/// A pose that lasts for more than this share of the run is labelled with both times.
const LONG_REST: f64 = 0.02;
/// Bodies whose way is drawn.
const MOST_TRAILS: usize = 12;
/// Walls farther away than this many times the size of the picture do not widen it.
const NEAR_WALL: f64 = 0.5;
/// Standing bodies larger than this many times what moves do not widen the picture.
const LARGE_BODY: f64 = 1.2;
/// Half length of a slanted wall, in sizes of the picture: enough to leave it on both sides.
const LONG_WALL: f64 = 50.0;

/// Height over width of what a panel shows.
pub(super) fn aspect(panel: &Panel) -> f64 {
    let bodies = panel.outlines.iter().filter(|outline| !outline.background).flat_map(|outline| &outline.points);
    let points = || bodies.clone().chain(panel.series.iter().flat_map(|series| &series.points));
    let extent = |pick: &dyn Fn(&(f64, f64)) -> f64| {
        let values = || points().map(pick).filter(|value| value.is_finite());
        values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
    };
    let (width, height) = (extent(&|point| point.0), extent(&|point| point.1));
    if width > 0.0 { height / width } else { f64::INFINITY }
}

/// The poses of a scene: one picture in the plane, in space two views, the one with most motion first. None when they were
/// not recorded.
pub(super) fn panels(
    data: &RunData,
    system: &Multibody,
    tracks: &[BodyTrack],
) -> Result<Vec<Option<Panel>>, RunFigureError> {
    if system.model().dimension == Dimension::Plane {
        return Ok(vec![panel(data, system, tracks, View::new(0, 1))?]);
    }
    let mut extent = [0.0_f64; 3];
    for track in tracks.iter().filter(|track| track.is_free && !track.poses.is_empty()) {
        for (axis, widest) in extent.iter_mut().enumerate() {
            let along = || track.poses.iter().map(|pose| pose.position[axis]);
            *widest = widest.max(along().fold(f64::NEG_INFINITY, f64::max) - along().fold(f64::INFINITY, f64::min));
        }
    }
    // Motion that nobody would see does not choose the view.
    let radii = (0..system.model().bodies.len()).map(|number| Look::new(system, number).radius());
    let size = radii.fold(0.0, f64::max) + extent.into_iter().fold(0.0, f64::max);
    let seen = extent.map(|length| if length > 1e-3 * size { length } else { 0.0 });
    let mut pairs = [(0, 2), (1, 2), (0, 1)];
    pairs.sort_by(|a, b| (seen[b.0] + seen[b.1]).total_cmp(&(seen[a.0] + seen[a.1])));
    if size > 0.0 && extent.iter().all(|length| *length < size - length) {
        // What turns in its place is seen from the side and from above.
        pairs = [(0, 2), (0, 1), (1, 2)];
    }
    pairs[..2].iter().map(|pair| panel(data, system, tracks, View::new(pair.0, pair.1))).collect()
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

/// A body in the picture.
struct Drawn<'a> {
    track: &'a BodyTrack,
    look: Look<'a>,
    /// In the last pose.
    colour: Colour,
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
    let mut drawn: Vec<Drawn> = Vec::new();
    for track in tracks.iter().filter(|track| !track.poses.is_empty()) {
        let look = Look::new(system, track.body);
        // Belts stand although they have a track, and half-planes are drawn where they start.
        if track.is_free || (!look.is_dot() && moves(&track.poses)) {
            let colour = if track.is_free { body_colour(&shown, track.body) } else { Colour::GREY };
            drawn.push(Drawn { track, look, colour });
        }
    }
    if !drawn.iter().any(|body| body.track.is_free) {
        return Ok(None);
    }
    let way = way(&drawn);
    let is_mechanism = drawn.iter().filter(|body| body.look.is_link()).count() > 1;
    let most = (MOST_BODIES / drawn.len()).clamp(2, if is_mechanism { MOST_MECHANISMS } else { MOST_POSES });
    let nearest = NEAREST_POSES * drawn.iter().map(|body| body.look.radius()).fold(0.0, f64::max);
    let moments = moments(times, &way, nearest, most, &data.impacts()?);

    let axis = |i: usize| ["x", "y", "z"][i];
    let mut panel = Panel {
        title: if moments.len() > 1 { "Poses, darker with time".into() } else { "Pose".into() },
        x_label: format!("{} (m)", axis(view.axes.0)),
        y_label: format!("{} (m)", axis(view.axes.1)),
        equal_aspect: true,
        ..Panel::default()
    };
    let is_in_place = moments.len() > 2 && drawn.len() == 1 && turns_in_place(&drawn[0]) && model.joints.is_empty();
    if is_in_place && stand_side_by_side(&mut panel, data, system, &drawn[0], view)? {
        return Ok(Some(titled(panel, model.dimension, view)));
    }

    let last = moments.len() - 1;
    let share = |i: usize| if last == 0 { 1.0 } else { i as f64 / last as f64 };
    for (i, moment) in moments.iter().enumerate() {
        panel.outlines.extend(rods(system, &drawn, view, (moment.row, times[moment.row]), share(i)));
        for body in &drawn {
            let (pose, colour) = (&body.track.poses[moment.row], ramp(body.colour, share(i)));
            if body.look.is_dot() {
                panel.series.push(dots(vec![view.project(pose.position)], colour, 2.0));
            }
            panel.outlines.extend(body.look.outlines(pose, view, colour, i == last));
        }
    }
    panel.outlines.extend(springs(system, tracks, view, moments[last].row, times[moments[last].row]));
    let trails = drawn.iter().filter(|body| body.track.is_free).take(MOST_TRAILS);
    for body in trails.filter(|_| moments.len() > 1) {
        let points = body.track.poses.iter().map(|pose| view.project(pose.position)).collect();
        let colour = Some(body.colour.towards(Colour::INK, 0.3));
        panel.series.push(Series { points, colour, width: 0.8, ..Series::default() });
    }
    panel.series.extend(pins(system, tracks, view, moments[last].row, times[moments[last].row]));
    panel.marks = time_marks(data, &drawn, &moments, view)?;
    panel.outlines.extend(standing(system, view, data.span()?.0, &panel));
    Ok(Some(titled(panel, model.dimension, view)))
}

/// A view in space names its axes.
fn titled(panel: Panel, dimension: Dimension, view: View) -> Panel {
    let axis = |i: usize| ["x", "y", "z"][i];
    match dimension {
        Dimension::Plane => panel,
        Dimension::Space => {
            Panel { title: format!("{} ({}–{})", panel.title, axis(view.axes.0), axis(view.axes.1)), ..panel }
        }
    }
}

/// Whether a body turns more than it moves, so that its poses would lie over each other.
fn turns_in_place(body: &Drawn) -> bool {
    let poses = &body.track.poses;
    let moved = poses.iter().map(|pose| (pose.position - poses[0].position).length()).fold(0.0, f64::max);
    let turned = poses.iter().map(|pose| pose.orientation.angle_between(poses[0].orientation)).fold(0.0, f64::max);
    body.track.turns && turned > TURNED && moved < IN_PLACE * body.look.radius()
}

/// Draws a body at evenly spaced times from the left to the right, each pose in the middle of a place of its own. Not where
/// anything but level ground stands beside it.
fn stand_side_by_side(
    panel: &mut Panel,
    data: &RunData,
    system: &Multibody,
    body: &Drawn,
    view: View,
) -> Result<bool, RunFigureError> {
    let times = data.times()?;
    let (start, end) = data.span()?;
    let pitch = PITCH * body.look.radius();
    let mut names = Vec::new();
    let mut outlines = Vec::new();
    for i in 0..SIDE_BY_SIDE {
        let share = i as f64 / (SIDE_BY_SIDE - 1) as f64;
        let row = times.partition_point(|&t| t < start + share * (end - start)).min(times.len() - 1);
        let pose = &body.track.poses[row];
        let shift = i as f64 * pitch - view.project(pose.position).0;
        for mut outline in body.look.outlines(pose, view, body.colour, true) {
            outline.points.iter_mut().for_each(|point| point.0 += shift);
            outlines.push(outline);
        }
        names.push((i as f64 * pitch, brief(times[row], end - start)));
    }
    let beside = Panel { outlines, ..Panel::default() };
    let ground = standing(system, view, start, &beside);
    if !ground.iter().all(|outline| outline.points.iter().all(|point| point.0.is_infinite())) {
        return Ok(false);
    }
    panel.outlines = beside.outlines.into_iter().chain(ground).collect();
    panel.title = "Poses side by side".into();
    panel.x_label = "time (s)".into();
    panel.x_names = Some(names);
    Ok(true)
}

/// Points of a fixed size, in pixels.
fn dots(points: Vec<(f64, f64)>, colour: Colour, width: f64) -> Series {
    Series { points, colour: Some(colour), width, kind: SeriesKind::Dots, ..Series::default() }
}

/// Times beside the body that moves most, at those of its points that are farthest from its other poses.
fn time_marks(data: &RunData, drawn: &[Drawn], moments: &[Moment], view: View) -> Result<Vec<Mark>, RunFigureError> {
    let times = data.times()?;
    let (start, end) = data.span()?;
    let leader = drawn
        .iter()
        .filter(|body| body.track.is_free)
        .max_by(|a, b| a.track.top_speed().total_cmp(&b.track.top_speed()))
        .expect("some body moves freely");
    let pose = |moment: &Moment| &leader.track.poses[moment.row];
    let rims: Vec<Vec<(f64, f64)>> = moments.iter().map(|moment| leader.look.rim(pose(moment), view)).collect();
    let mut marks = Vec::new();
    for &i in &labelled(moments) {
        let Moment { row, until, .. } = moments[i];
        let others = || rims.iter().enumerate().filter(|(k, _)| *k != i).flat_map(|(_, rim)| rim);
        let room = |point: (f64, f64)| others().map(|other| distance(point, *other)).fold(f64::INFINITY, f64::min);
        // Far from the other poses, and at the end of a long body; of about equally good points the higher come first.
        let centre = view.project(leader.track.poses[row].position);
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
        let share = if moments.len() == 1 { 1.0 } else { i as f64 / (moments.len() - 1) as f64 };
        let colour = Colour::GREY.towards(Colour::INK, share);
        marks.push(Mark { at, text, anchor: side(at, centre), alternatives, colour });
    }
    Ok(marks)
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

/// How far the bodies have come up to each row, in metres: the longest way of any of their points.
fn way(drawn: &[Drawn]) -> Vec<f64> {
    let count = drawn.first().map_or(0, |body| body.track.poses.len());
    let radii: Vec<f64> = drawn.iter().map(|body| body.look.radius()).collect();
    let mut way = vec![0.0; count];
    for row in 1..count {
        let steps = drawn.iter().zip(&radii).map(|(body, radius)| {
            let (a, b) = (&body.track.poses[row - 1], &body.track.poses[row]);
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

/// Where a point of a body, or of the world, is in a row of the states, at time `t`.
fn place(system: &Multibody, tracks: &[BodyTrack], (body, point): (Option<usize>, DVec3), row: usize, t: f64) -> DVec3 {
    let pose = body.map_or(Pose::IDENTITY, |body| {
        let track = tracks.iter().find(|track| track.body == body && !track.poses.is_empty());
        track.map_or_else(|| system.model().bodies[body].pose_at(t), |track| track.poses[row])
    });
    pose.transform_point(point)
}

/// The springs between points as they are in a row of the states, at time `t`: zigzag lines.
fn springs(system: &Multibody, tracks: &[BodyTrack], view: View, row: usize, t: f64) -> Vec<Outline> {
    let point = |end: &Attachment| view.project(place(system, tracks, (end.body, end.point), row, t));
    let stroke = Some(Stroke { colour: Colour::GREY, width: 1.0, dashed: false });
    let lines = system.model().springs.iter().map(|spring| zigzag(point(&spring.first), point(&spring.second)));
    lines.map(|points| Outline { points, closed: false, stroke, ..Outline::default() }).collect()
}

/// Joints that hold a distance as rods, or dashed where they only measure it; in the colour of their first body.
fn rods(system: &Multibody, drawn: &[Drawn], view: View, (row, t): (usize, f64), share: f64) -> Vec<Outline> {
    let point = |body: Option<usize>, point: DVec3| {
        let track = drawn.iter().find(|drawn| Some(drawn.track.body) == body);
        let pose = track.map_or_else(
            || body.map_or(Pose::IDENTITY, |body| system.model().bodies[body].pose_at(t)),
            |drawn| drawn.track.poses[row],
        );
        view.project(pose.transform_point(point))
    };
    let rod = |joint: &stiction_bodies::BodyJoint| {
        let JointKind::Distance { length } = joint.kind else { return None };
        let base = drawn.iter().find(|drawn| drawn.track.body == joint.first).map_or(Colour::GREY, |body| body.colour);
        let points = vec![point(Some(joint.first), joint.frames[0].point), point(joint.second, joint.frames[1].point)];
        let stroke = Some(Stroke { colour: ramp(base, share), width: 1.5, dashed: length.is_none() });
        Some(Outline { points, closed: false, stroke, ..Outline::default() })
    };
    system.model().joints.iter().filter_map(rod).collect()
}

/// The joints with a fixed point as they are in a row of the states: pins with a white eye, and full ones on the ground.
fn pins(system: &Multibody, tracks: &[BodyTrack], view: View, row: usize, t: f64) -> Vec<Series> {
    let model = system.model();
    let (mut grounded, mut moving) = (Vec::new(), Vec::new());
    for joint in &model.joints {
        let stands = |body: Option<usize>| body.is_none_or(|body| !model.bodies[body].kind.is_free());
        match joint.kind {
            JointKind::Planar | JointKind::Prismatic | JointKind::Cylindrical => {}
            JointKind::Distance { .. } if !stands(joint.second) => {}
            _ => {
                let at = place(system, tracks, (joint.second, joint.frames[1].point), row, t);
                let pins = if stands(joint.second) { &mut grounded } else { &mut moving };
                pins.push(view.project(at));
            }
        }
    }
    let all = [(grounded, Colour::INK, 2.2), (moving.clone(), Colour::INK, 1.2), (moving, Colour::WHITE, 0.1)];
    all.into_iter()
        .filter(|pins| !pins.0.is_empty())
        .map(|(points, colour, width)| dots(points, colour, width))
        .collect()
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
            outlines_of_bodies.extend(shapes(body, &pose, view, Colour::GREY, false));
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

    for outline in &mut outlines_of_bodies {
        let reach = outline.points.iter().map(|&point| distance(point, centre)).fold(0.0, f64::max);
        outline.background = reach > LARGE_BODY * size;
    }
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
