//! Bodies at well-chosen times, as they look in the plane or along an axis of space.
//!
//! Poses lie over each other where bodies move along, and stand side by side where a body turns in
//! its place. Links, rods, springs and pins of mechanisms are drawn.

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{BodyJoint, BodyKind, Dimension, JointKind, Multibody, Pose, Shape};

use super::looks::{EDGE_ON, Look, View, shapes, zigzag};
use super::run_data::{BodyTrack, RunData};
use super::{NOISE, body_colour, bounds, brief, fastest};
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
/// A body turns in its place when it moves by less than this many radii and turns by more radians.
const IN_PLACE: f64 = 1.5;
const TURNED: f64 = 0.7;
/// Poses closer than this share of the radius of a body cannot be told apart.
const NEAREST_POSES: f64 = 0.06;
/// Poses whose time is written beside them.
const MOST_LABELS: usize = 5;
/// Of poses that cover each other but for this share of the radius of the body, one is labelled.
const SAME_PLACE: f64 = 0.7;
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

/// The least box around finite points: its lower left and its upper right corner.
fn extent<'a>(points: impl Iterator<Item = &'a (f64, f64)> + Clone) -> ((f64, f64), (f64, f64)) {
    let (x, y) = (bounds(points.clone().map(|point| point.0)), bounds(points.map(|point| point.1)));
    ((x.0, y.0), (x.1, y.1))
}

/// Height over width of what a panel shows.
pub(super) fn aspect(panel: &Panel) -> f64 {
    let bodies = panel.outlines.iter().filter(|outline| !outline.background).flat_map(|outline| &outline.points);
    let (low, high) = extent(bodies.chain(panel.series.iter().flat_map(|series| &series.points)));
    let (width, height) = (high.0 - low.0, high.1 - low.1);
    if width > 0.0 { height / width } else { f64::INFINITY }
}

/// The poses of a scene: one picture in the plane, in space two views, the one with most motion
/// first. None when they were not recorded.
pub(super) fn panels(data: &RunData, system: &Multibody, tracks: &[BodyTrack]) -> Vec<Panel> {
    let panel = |view| Picture::new(data, system, tracks, view).map(Picture::panel);
    if system.model().dimension == Dimension::Plane {
        return panel(View::new(0, 1)).into_iter().collect();
    }
    let free = tracks.iter().filter(|track| track.is_free && !track.poses.is_empty());
    let ways = free.map(|track| {
        let places = || track.poses.iter().map(|pose| pose.position);
        places().fold(DVec3::NEG_INFINITY, DVec3::max) - places().fold(DVec3::INFINITY, DVec3::min)
    });
    let extent = ways.fold(DVec3::ZERO, DVec3::max);
    // Motion that nobody would see does not choose the view.
    let radii = (0..system.model().bodies.len()).map(|number| Look::new(system, number).radius());
    let size = radii.fold(0.0, f64::max) + extent.max_element();
    let seen = |axis: usize| if extent[axis] > 1e-3 * size { extent[axis] } else { 0.0 };
    let mut pairs = [(0, 2), (1, 2), (0, 1)];
    pairs.sort_by(|a, b| (seen(b.0) + seen(b.1)).total_cmp(&(seen(a.0) + seen(a.1))));
    if 2.0 * extent.max_element() < size {
        // What turns in its place is seen from the side and from above.
        pairs = [(0, 2), (0, 1), (1, 2)];
    }
    pairs[..2].iter().filter_map(|pair| panel(View::new(pair.0, pair.1))).collect()
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

impl Drawn<'_> {
    /// Whether the body turns more than it moves, so that its poses would lie over each other.
    fn turns_in_place(&self) -> bool {
        let poses = &self.track.poses;
        let moved = poses.iter().map(|pose| (pose.position - poses[0].position).length()).fold(0.0, f64::max);
        let turned = poses.iter().map(|pose| pose.orientation.angle_between(poses[0].orientation)).fold(0.0, f64::max);
        self.track.turns && turned > TURNED && moved < IN_PLACE * self.look.radius()
    }
}

/// A view of a run.
struct Picture<'a> {
    system: &'a Multibody,
    tracks: &'a [BodyTrack],
    view: View,
    /// Times of the recorded states, and ends of impacts.
    times: &'a [f64],
    impacts: Vec<f64>,
    /// What moves.
    drawn: Vec<Drawn<'a>>,
}

impl<'a> Picture<'a> {
    /// The view of what was recorded; none when nothing that moves was.
    fn new(data: &'a RunData, system: &'a Multibody, tracks: &'a [BodyTrack], view: View) -> Option<Self> {
        let shown = fastest(tracks);
        let mut drawn: Vec<Drawn> = Vec::new();
        for track in tracks.iter().filter(|track| !track.poses.is_empty()) {
            let look = Look::new(system, track.body);
            let moves = track.poses.iter().any(|pose| *pose != track.poses[0]);
            // Belts stand although they have a track, and half-planes are drawn where they start.
            if track.is_free || (!look.is_dot() && moves) {
                let colour = if track.is_free { body_colour(&shown, track.body) } else { Colour::GREY };
                drawn.push(Drawn { track, look, colour });
            }
        }
        let has_free = drawn.iter().any(|body| body.track.is_free);
        let impacts = data.impacts().iter().map(|impact| impact.t_end).collect();
        let picture = Picture { system, tracks, view, times: data.times(), impacts, drawn };
        has_free.then_some(picture)
    }

    fn panel(self) -> Panel {
        let model = self.system.model();
        let is_mechanism = self.drawn.iter().filter(|body| body.look.is_link()).count() > 1;
        let most = (MOST_BODIES / self.drawn.len()).clamp(2, if is_mechanism { MOST_MECHANISMS } else { MOST_POSES });
        let nearest = NEAREST_POSES * self.drawn.iter().map(|body| body.look.radius()).fold(0.0, f64::max);
        let moments = moments(self.times, &self.way(), nearest, most, &self.impacts);
        let axis = |i: usize| ["x", "y", "z"][i];
        let mut panel = Panel {
            title: if moments.len() > 1 { "Poses, darker with time".into() } else { "Pose".into() },
            x_label: format!("{} (m)", axis(self.view.axes.0)),
            y_label: format!("{} (m)", axis(self.view.axes.1)),
            equal_aspect: true,
            ..Panel::default()
        };
        let is_in_place = moments.len() > 2 && self.drawn.len() == 1 && self.drawn[0].turns_in_place();
        if !(is_in_place && model.joints.is_empty() && self.stand_side_by_side(&mut panel)) {
            self.draw_poses(&mut panel, &moments);
        }
        if model.dimension == Dimension::Space {
            panel.title.push_str(&format!(" ({}–{})", axis(self.view.axes.0), axis(self.view.axes.1)));
        }
        panel
    }

    /// Draws bodies and mechanisms at the given moments.
    fn draw_poses(&self, panel: &mut Panel, moments: &[Moment]) {
        let last = moments.len() - 1;
        for (i, moment) in moments.iter().enumerate() {
            let share = if last == 0 { 1.0 } else { i as f64 / last as f64 };
            let rods = self.system.model().joints.iter().filter_map(|joint| self.rod(joint, moment.row, share));
            panel.outlines.extend(rods);
            for body in &self.drawn {
                let (pose, colour) = (&body.track.poses[moment.row], ramp(body.colour, share));
                if body.look.is_dot() {
                    panel.series.push(dots(vec![self.view.project(pose.position)], colour, 2.0));
                }
                panel.outlines.extend(body.look.outlines(pose, self.view, colour, i == last));
            }
        }
        let row = moments[last].row;
        let stroke = Some(Stroke { colour: Colour::GREY, ..Stroke::default() });
        let springs = self.system.model().springs.iter();
        panel.outlines.extend(springs.map(|spring| {
            let ends = [&spring.first, &spring.second].map(|end| self.place(end.body, end.point, row));
            Outline { points: zigzag(ends[0], ends[1]), closed: false, stroke, ..Outline::default() }
        }));
        let trails = self.drawn.iter().filter(|body| body.track.is_free).take(MOST_TRAILS);
        for body in trails.filter(|_| moments.len() > 1) {
            let points = body.track.poses.iter().map(|pose| self.view.project(pose.position)).collect();
            let colour = Some(body.colour.towards(Colour::INK, 0.3));
            panel.series.push(Series { points, colour, width: 0.8, ..Series::default() });
        }
        panel.series.extend(self.pins(row));
        panel.marks = self.time_marks(moments);
        panel.outlines.extend(self.standing(panel));
    }

    /// Draws the body at evenly spaced times from the left to the right, each pose in the middle of
    /// a place of its own. Not where anything but level ground stands beside it.
    fn stand_side_by_side(&self, panel: &mut Panel) -> bool {
        let body = &self.drawn[0];
        let (start, span) = (self.times[0], self.span());
        let mut names = Vec::new();
        let mut beside = Panel::default();
        for i in 0..SIDE_BY_SIDE {
            let t = start + i as f64 / (SIDE_BY_SIDE - 1) as f64 * span;
            let row = self.times.partition_point(|&known| known < t).min(self.times.len() - 1);
            let pose = &body.track.poses[row];
            let place = i as f64 * PITCH * body.look.radius();
            let shift = place - self.view.project(pose.position).0;
            let outlines = body.look.outlines(pose, self.view, body.colour, true).into_iter();
            beside.outlines.extend(outlines.map(|mut outline| {
                outline.points.iter_mut().for_each(|point| point.0 += shift);
                outline
            }));
            names.push((place, brief(self.times[row], span)));
        }
        let ground = self.standing(&beside);
        let is_level = ground.iter().flat_map(|outline| &outline.points).all(|point| point.0.is_infinite());
        if is_level {
            panel.outlines = beside.outlines.into_iter().chain(ground).collect();
            panel.title = "Poses side by side".into();
            panel.x_label = "time (s)".into();
            panel.x_names = Some(names);
        }
        is_level
    }

    /// Length of the recorded time, in seconds.
    fn span(&self) -> f64 {
        self.times[self.times.len() - 1] - self.times[0]
    }

    /// Where a point of a body, or of the world, is seen in a row of the states.
    fn place(&self, body: Option<usize>, point: DVec3, row: usize) -> (f64, f64) {
        let pose = body.map_or(Pose::IDENTITY, |body| {
            let track = self.tracks.iter().find(|track| track.body == body && !track.poses.is_empty());
            track.map_or_else(|| self.system.model().bodies[body].pose_at(self.times[row]), |track| track.poses[row])
        });
        self.view.project(pose.transform_point(point))
    }

    /// A joint that holds a distance as a rod, dashed where it only measures it.
    fn rod(&self, joint: &BodyJoint, row: usize, share: f64) -> Option<Outline> {
        let JointKind::Distance { length } = joint.kind else { return None };
        let first = self.drawn.iter().find(|drawn| drawn.track.body == joint.first);
        let colour = ramp(first.map_or(Colour::GREY, |body| body.colour), share);
        let ends = [(Some(joint.first), &joint.frames[0]), (joint.second, &joint.frames[1])];
        let points = ends.map(|(body, frame)| self.place(body, frame.point, row)).to_vec();
        let stroke = Some(Stroke { colour, width: 1.5, dashed: length.is_none() });
        Some(Outline { points, closed: false, stroke, ..Outline::default() })
    }

    /// The joints with a fixed point: pins with a white eye, and full ones on the ground.
    fn pins(&self, row: usize) -> Vec<Series> {
        let model = self.system.model();
        let stands = |joint: &BodyJoint| joint.second.is_none_or(|body| !model.bodies[body].kind.is_free());
        let joints = model.joints.iter().filter(|joint| match joint.kind {
            JointKind::Planar | JointKind::Prismatic | JointKind::Cylindrical => false,
            JointKind::Distance { .. } => stands(joint),
            _ => true,
        });
        let (grounded, moving): (Vec<&BodyJoint>, Vec<&BodyJoint>) = joints.partition(|joint| stands(joint));
        let all = [(&grounded, Colour::INK, 2.2), (&moving, Colour::INK, 1.2), (&moving, Colour::WHITE, 0.1)];
        let pins = all.into_iter().filter(|(joints, ..)| !joints.is_empty()).map(|(joints, colour, width)| {
            let points = joints.iter().map(|joint| self.place(joint.second, joint.frames[1].point, row));
            dots(points.collect(), colour, width)
        });
        pins.collect()
    }

    /// Times beside the body that moves most, where it is farthest from its other poses.
    fn time_marks(&self, moments: &[Moment]) -> Vec<Mark> {
        let free = self.drawn.iter().filter(|body| body.track.is_free);
        let leader = free.max_by(|a, b| a.track.top_speed().total_cmp(&b.track.top_speed()));
        let leader = leader.expect("some body moves freely");
        let pose = |moment: &Moment| &leader.track.poses[moment.row];
        let rims: Vec<Vec<(f64, f64)>> =
            moments.iter().map(|moment| leader.look.rim(pose(moment), self.view)).collect();
        let looks_like = |i: usize, j: usize| {
            let nearest =
                |point: &(f64, f64)| rims[j].iter().map(|other| distance(*point, *other)).fold(f64::MAX, f64::min);
            rims[i].iter().map(nearest).fold(0.0, f64::max) < SAME_PLACE * leader.look.radius()
        };
        let mut marks = Vec::new();
        for i in labelled(moments, looks_like) {
            let Moment { row, until, .. } = moments[i];
            let others = || rims.iter().enumerate().filter(|(k, _)| *k != i).flat_map(|(_, rim)| rim);
            let room = |point: (f64, f64)| others().map(|other| distance(point, *other)).fold(f64::INFINITY, f64::min);
            // Far from the other poses, at the end of a long body; of good points the higher ones
            // first.
            let centre = self.view.project(leader.track.poses[row].position);
            let reach = rims[i].iter().map(|&point| distance(point, centre)).fold(f64::MIN_POSITIVE, f64::max);
            let grade = |point: (f64, f64)| (8.0 * (room(point).min(reach) + distance(point, centre)) / reach).round();
            let mut points: Vec<(f64, (f64, f64))> = rims[i].iter().map(|&point| (grade(point), point)).collect();
            points.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.1.total_cmp(&a.1.1)));
            let mut points = points.into_iter().map(|point| point.1);
            let at = points.next().expect("a rim has points");
            let (from, to) = (brief(self.times[row], self.span()), brief(self.times[until], self.span()));
            let is_long = self.times[until] - self.times[row] > LONG_REST * self.span();
            let text = if is_long && to != from { format!("{from} to {to} s") } else { format!("{from} s") };
            let share = if moments.len() == 1 { 1.0 } else { i as f64 / (moments.len() - 1) as f64 };
            let colour = Colour::GREY.towards(Colour::INK, share);
            marks.push(Mark { at, text, anchor: side(at, centre), alternatives: points.collect(), colour });
        }
        marks
    }

    /// How far the bodies have come up to each row: the longest way of their points, in metres.
    fn way(&self) -> Vec<f64> {
        let mut way = vec![0.0; self.times.len()];
        for row in 1..way.len() {
            let steps = self.drawn.iter().map(|body| {
                let (a, b) = (&body.track.poses[row - 1], &body.track.poses[row]);
                let chord = (a.orientation - b.orientation).length().min((a.orientation + b.orientation).length());
                (b.position - a.position).length() + body.look.radius() * 4.0 * (0.5 * chord).min(1.0).asin()
            });
            way[row] = way[row - 1] + steps.fold(0.0, f64::max);
        }
        way
    }

    /// What stands still, or runs in its place: half-planes as hatched lines, shapes in grey.
    fn standing(&self, moving: &Panel) -> Vec<Outline> {
        let (view, t) = (self.view, self.times[0]);
        // The box around everything else.
        let bodies = moving.outlines.iter().flat_map(|outline| &outline.points);
        let (low, high) = extent(bodies.chain(moving.series.iter().flat_map(|series| &series.points)));
        let centre = (0.5 * (low.0 + high.0), 0.5 * (low.1 + high.1));
        let size = distance(low, high).max(f64::MIN_POSITIVE);
        let (mut standing, mut walls) = (Vec::new(), Vec::new());
        for (number, body) in self.system.model().bodies.iter().enumerate().filter(|(_, body)| !body.kind.is_free()) {
            let pose = self.system.pose(number, t, &[]);
            let stands = match &body.kind {
                BodyKind::Prescribed(motion) => {
                    let velocities = [motion.velocity, motion.angular_velocity];
                    velocities == [DVec3::ZERO; 2] && motion.oscillations.is_empty()
                }
                _ => true,
            };
            for mut outline in shapes(body, &pose, view, Colour::GREY, false).into_iter().filter(|_| stands) {
                let reach = outline.points.iter().map(|&point| distance(point, centre)).fold(0.0, f64::max);
                outline.background = reach > LARGE_BODY * size;
                standing.push(outline);
            }
            for shape in &body.shapes {
                let world = shape.placed.world_pose(&pose);
                match shape.placed.shape {
                    Shape::HalfSpace { normal, offset } => walls.extend(Wall::seen(&world, normal, offset, view)),
                    Shape::Cylinder { radius, half_length: f64::INFINITY } => {
                        standing.extend(round_bar(&world, radius, false, view, size))
                    }
                    Shape::Tube { radius } => standing.extend(round_bar(&world, radius, true, view, size)),
                    _ => {}
                }
            }
        }
        for (i, wall) in walls.iter().enumerate() {
            let others: Vec<_> = walls.iter().enumerate().filter(|(j, _)| *j != i).map(|(j, it)| (it, j < i)).collect();
            let corners = [low, (low.0, high.1), (high.0, low.1), high];
            let distance = corners.iter().map(|&corner| wall.height(corner)).fold(f64::INFINITY, f64::min);
            let background = wall.is_slanted() || distance > NEAR_WALL * size;
            let line = wall.line(&others, centre, size);
            standing.extend(line.map(|line| Outline { background, ..line }));
        }
        standing
    }
}

/// Points of a fixed size, in pixels.
fn dots(points: Vec<(f64, f64)>, colour: Colour, width: f64) -> Series {
    Series { points, colour: Some(colour), width, kind: SeriesKind::Dots, ..Series::default() }
}

fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
    (b.0 - a.0).hypot(b.1 - a.1)
}

/// The side on which a text at a point of a body leaves the body alone.
fn side(at: (f64, f64), centre: (f64, f64)) -> Anchor {
    let (x, y) = (at.0 - centre.0, at.1 - centre.1);
    let length = x.hypot(y);
    if length == 0.0 {
        return Anchor::Above;
    }
    let along = |anchor: &Anchor| {
        let (right, down) = anchor.direction();
        (right * x - down * y) / right.hypot(down)
    };
    Anchor::ALL.into_iter().max_by(|a, b| along(a).total_cmp(&along(b))).unwrap_or_default()
}

/// The colour of a body at this share of the drawn times.
fn ramp(base: Colour, share: f64) -> Colour {
    base.towards(Colour::WHITE, 0.68).towards(base.towards(Colour::INK, 0.3), share)
}

/// The moments to draw: the first, the last, impacts, and others evenly along the way.
pub(super) fn moments(times: &[f64], way: &[f64], nearest: f64, most: usize, impacts: &[f64]) -> Vec<Moment> {
    let last = times.len() - 1;
    let whole = way[last];
    let spacing = (whole / (most.max(2) - 1) as f64).max(nearest).max(f64::MIN_POSITIVE);
    let mut keys = vec![0];
    for impact in impacts {
        let row = times.partition_point(|t| t < impact).min(last);
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

/// Which moments get their time written beside them: the last and the first, impacts, then those
/// that are far from these. Of poses that look alike it is one.
fn labelled(moments: &[Moment], looks_like: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut chosen = vec![moments.len() - 1];
    while chosen.len() < MOST_LABELS {
        let distance = |i: usize| chosen.iter().map(|&c| c.abs_diff(i)).min().unwrap_or(0);
        let is_apart = |&i: &usize| distance(i) >= if moments[i].is_key { 1 } else { 2 };
        let is_new = |i: &usize| is_apart(i) && !chosen.iter().any(|&other| looks_like(*i, other));
        match (0..moments.len()).rev().filter(is_new).max_by_key(|&i| (moments[i].is_key, distance(i))) {
            Some(i) => chosen.push(i),
            None => break,
        }
    }
    chosen.sort_unstable();
    chosen
}

/// A half-plane of the picture: `normal`·x ≥ `offset` is free.
struct Wall {
    normal: (f64, f64),
    offset: f64,
}

impl Wall {
    /// A half-space whose surface is seen as a line.
    fn seen(world: &Pose, normal: DVec3, offset: f64, view: View) -> Option<Self> {
        let out = world.transform_vector(normal);
        let (normal, (x, y)) = (view.project(out), view.project(world.transform_point(normal * offset)));
        let is_line = out.dot(view.towards_eye).abs() <= EDGE_ON;
        is_line.then_some(Wall { normal, offset: normal.0 * x + normal.1 * y })
    }

    fn height(&self, point: (f64, f64)) -> f64 {
        self.normal.0 * point.0 + self.normal.1 * point.1 - self.offset
    }

    /// Its surface outside the other walls, as a line through a picture of this centre and size.
    fn line(&self, others: &[(&Wall, bool)], centre: (f64, f64), size: f64) -> Option<Outline> {
        let (nx, ny) = self.normal;
        let height = self.height(centre);
        let foot = (centre.0 - nx * height, centre.1 - ny * height);
        // The solid lies on the right-hand side.
        let along = (ny, -nx);
        let (mut from, mut to) = (f64::NEG_INFINITY, f64::INFINITY);
        for (other, is_before) in others {
            // Inside another solid there is no surface; of two equal walls the first is drawn.
            let slope = other.normal.0 * along.0 + other.normal.1 * along.1;
            let above = other.height(foot);
            if slope > EDGE_ON {
                from = from.max(-above / slope);
            } else if slope < -EDGE_ON {
                to = to.min(-above / slope);
            } else {
                let is_same = above.abs() <= EDGE_ON * size && other.normal.0 * nx + other.normal.1 * ny > 0.0;
                if if is_same { *is_before } else { above < 0.0 } {
                    return None;
                }
            }
        }
        let reach = if self.is_slanted() { LONG_WALL * size } else { f64::INFINITY };
        let point = |s: f64| {
            let s = s.clamp(-reach, reach);
            let coordinate = |foot: f64, along: f64| if along.abs() <= EDGE_ON { foot } else { foot + s * along };
            (coordinate(foot.0, along.0), coordinate(foot.1, along.1))
        };
        (from < to).then(|| Outline::wall(point(from), point(to)))
    }

    fn is_slanted(&self) -> bool {
        self.normal.0.abs() > EDGE_ON && self.normal.1.abs() > EDGE_ON
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

#[cfg(test)]
mod tests {
    use stiction_bodies::glamx::DQuat;

    use super::*;

    #[test]
    fn tubes_are_walls_on_both_sides_or_a_circle() {
        let along_x = Pose::new(DVec3::new(0.0, 0.0, 1.0), DQuat::IDENTITY);
        let walls = round_bar(&along_x, 0.5, true, View::new(0, 2), 1.0);
        // The solid lies on the right-hand side: the lower wall runs right, the upper one left.
        let mut runs: Vec<(f64, bool)> = walls.iter().map(|w| (w.points[0].1, w.points[0].0 < w.points[1].0)).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert_eq!(runs, [(0.5, true), (1.5, false)]);
        let circle = round_bar(&along_x, 0.5, true, View::new(1, 2), 1.0);
        assert!(circle.len() == 1 && circle[0].hatched && circle[0].points.len() > 20);
        assert!(round_bar(&along_x, 0.5, false, View::new(0, 2), 1.0)[0].fill.is_some());
    }
}
