//! Boxes and convex polyhedra against cylinders and cones.
//!
//! The corners and edges of the polyhedron are points and segments without a radius, which meet the
//! round solid as spheres and capsules do. Its faces meet the lowest points of the rims, the tip,
//! and, where a disc stands nearly flat on them, the fixed points of its rim, as a half-space does.
//! Together these are all ways in which two such solids can touch: a face and a generatrix meet at
//! the ends of what they share, which are lowest points of rims over the face or edges along the
//! mantle; a face and a disc meet at corners over the disc, rim points over the face, and where
//! edges pass the rim.
//!
//! Each normal that is listed, and those of all faces and discs, separates the two by some distance
//! along it, negative where it does not. The best of them is the distance of the bodies: where they
//! are apart the nearest features are listed, and in overlap it is the shortest of these ways out.
//! Whatever claims less than that belongs to the far side of a body and is dropped.

use glamx::{DQuat, DVec3};
use smallvec::SmallVec;

use super::feature::FeaturePair;
use super::round::Facets;
use super::turned::{BORDER, Core, FLAT, LEAN, MANTLE, Meeting, NEARLY_FLAT, OVERHANG, RIM_POINTS, Turned, rim_point};
use super::{Output, Part, direction_of};
use crate::pose::Pose;
use crate::shape::Shape;
use crate::shape::polytope::View;

/// A polyhedron and a cylinder or cone, in the coordinates of the latter.
struct Pair<'a> {
    hull: Facets<'a>,
    solid: Turned,
    /// From the coordinates of the polyhedron.
    turn: DQuat,
    origin: DVec3,
}

/// A box or convex polyhedron against a cylinder or cone. False for other shapes.
pub(super) fn hull_and_turned(
    (shape, pose_first): (&Shape, &Pose),
    (round, pose_second): (&Shape, &Pose),
    out: &mut Output,
) -> bool {
    let Some(solid) = Turned::of(round) else { return false };
    let turn = pose_second.orientation.conjugate() * pose_first.orientation;
    let origin = pose_second.inverse_transform_point(pose_first.position);
    let meet = |view: View| Pair { hull: Facets(view), solid, turn, origin }.meet(pose_second, out);
    shape.with_view(meet).is_some()
}

impl Pair<'_> {
    fn meet(&self, pose: &Pose, out: &mut Output) {
        let mut pairs: SmallVec<[(FeaturePair, Meeting); 16]> = SmallVec::new();
        match out.wanted {
            Some(wanted) => {
                let held = wanted.iter().map(|code| FeaturePair::of(*code));
                pairs.extend(held.filter_map(|pair| Some((pair, self.meeting(pair)?))));
            }
            None => {
                let of_faces = self.separation();
                if of_faces - out.horizon > BORDER * (self.solid.reach() + self.origin.length()) {
                    return;
                }
                self.list_faces(&mut pairs);
                self.list_corners(&mut pairs);
                self.list_edges(&mut pairs);
                let along = pairs.iter().map(|(_, meeting)| self.separation_along(meeting.normal));
                let best = along.fold(of_faces, f64::max);
                let tolerance = BORDER * (self.solid.reach() + best.abs());
                pairs.retain(|(_, meeting)| meeting.height() >= best - tolerance);
                if pairs.iter().all(|(_, meeting)| meeting.height() > best.max(0.0) + tolerance) {
                    pairs.extend(self.shortest_way_out(tolerance));
                }
            }
        }
        for (pair, meeting) in pairs {
            meeting.push(pose, 0.0, pair, out);
        }
    }

    fn corner(&self, vertex: u32) -> DVec3 {
        self.origin + self.turn * self.hull.vertex(vertex)
    }

    fn normal(&self, face: u32) -> DVec3 {
        (self.turn * self.hull.normal(face)).normalize()
    }

    /// A point in the coordinates of the polyhedron.
    fn in_hull(&self, x: DVec3) -> DVec3 {
        self.turn.conjugate() * (x - self.origin)
    }

    fn edge(&self, edge: u32) -> Core {
        let (from, along, length) = self.hull.line(edge);
        let centre = self.origin + self.turn * (from + 0.5 * length * along);
        Core { centre, axis: (self.turn * along).normalize(), half_length: 0.5 * length }
    }

    /// Two features held.
    fn meeting(&self, pair: FeaturePair) -> Option<Meeting> {
        let point = |vertex| Core { centre: self.corner(vertex), axis: DVec3::X, half_length: 0.0 };
        match pair {
            FeaturePair::VertexFace(v, face) => point(v).meeting(&self.solid, FeaturePair::VertexFace(0, face)),
            FeaturePair::VertexEdge(v, rim) => point(v).meeting(&self.solid, FeaturePair::VertexEdge(0, rim)),
            FeaturePair::VertexVertex(v, tip) => point(v).meeting(&self.solid, FeaturePair::VertexVertex(0, tip)),
            FeaturePair::EdgeFace(e, face) => self.edge(e).meeting(&self.solid, FeaturePair::EdgeFace(0, face)),
            FeaturePair::EdgeEdge(e, branch) => self.edge(e).meeting(&self.solid, FeaturePair::EdgeEdge(0, branch)),
            FeaturePair::EdgeVertex(e, tip) => self.edge(e).meeting(&self.solid, FeaturePair::EdgeVertex(0, tip)),
            FeaturePair::FaceEdge(face, rim) => {
                let (up, _) = direction_of(self.normal(face).with_x(0.0))?;
                let lowest = self.solid.centre(rim) - self.solid.radius(rim) * up;
                Some(self.above_face(face, lowest, Part::Rim(DVec3::X)))
            }
            FeaturePair::FaceVertex(face, point) => {
                let x = match u64::from(point).checked_sub(2) {
                    None => self.solid.centre(point),
                    Some(number) => {
                        let rim = (number / RIM_POINTS) as u32;
                        self.solid.centre(rim) + self.solid.radius(rim) * rim_point(number % RIM_POINTS)
                    }
                };
                Some(self.above_face(face, x, Part::Point))
            }
            _ => None,
        }
    }

    /// A point of the round solid above a face.
    fn above_face(&self, face: u32, x: DVec3, part: Part) -> Meeting {
        let (normal, height) = (self.normal(face), self.hull.height(face, self.in_hull(x)));
        let points = [x - height * normal, x];
        Meeting { parts: [Part::Plane, part], points, normal: -normal, distance: height, radius: 0.0 }
    }

    /// By how much the best of the faces and discs separates the two; negative where none does.
    fn separation(&self) -> f64 {
        let faces = (0..self.hull.face_count()).map(|face| self.separation_along(-self.normal(face)));
        let discs = (0..2).filter(|disc| self.solid.radius(*disc) > 0.0);
        let discs = discs.map(|disc| self.separation_along(Turned::side(disc) * DVec3::X));
        faces.chain(discs).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Of all pairs of features whose normal touches both bodies there the one that separates best.
    fn shortest_way_out(&self, tolerance: f64) -> Option<(FeaturePair, Meeting)> {
        let (faces, edges, corners) = (self.hull.face_count(), self.hull.edge_count(), self.hull.vertex_count());
        let is_disc = |face: &u32| *face == MANTLE || self.solid.radius(*face) > 0.0;
        let of_corners =
            (0..corners).flat_map(|v| (0..=MANTLE).filter(is_disc).map(move |face| FeaturePair::VertexFace(v, face)));
        let of_edges = (0..edges).flat_map(|e| {
            let branches = (0..4).map(move |branch| FeaturePair::EdgeEdge(e, branch));
            branches.chain([FeaturePair::EdgeFace(e, MANTLE)])
        });
        let of_faces = (0..faces).flat_map(|f| {
            (0..2).flat_map(move |rim| {
                let point = if self.solid.radius(rim) > 0.0 { 2 + rim * RIM_POINTS as u32 } else { rim };
                [FeaturePair::FaceEdge(f, rim), FeaturePair::FaceVertex(f, point)]
            })
        });
        let all = of_corners.chain(of_edges).chain(of_faces);
        let touching = all.filter_map(|pair| {
            let meeting = self.meeting(pair)?;
            let separation = self.separation_along(meeting.normal);
            (meeting.height() <= separation + tolerance).then_some((separation, pair, meeting))
        });
        let best = touching.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
        Some((best.1, best.2))
    }

    /// Rims and tips above faces.
    fn list_faces(&self, out: &mut SmallVec<[(FeaturePair, Meeting); 16]>) {
        for face in 0..self.hull.face_count() {
            let normal = self.normal(face);
            let sine = normal.with_x(0.0).length();
            let mut offer = |pair: FeaturePair| {
                if let Some(meeting) = self.meeting(pair)
                    && self.hull.is_above(face, self.in_hull(meeting.points[1]))
                {
                    out.push((pair, meeting));
                }
            };
            for rim in 0..2 {
                if self.solid.radius(rim) == 0.0 {
                    offer(FeaturePair::FaceVertex(face, rim));
                    continue;
                }
                if sine > FLAT {
                    offer(FeaturePair::FaceEdge(face, rim));
                }
                if sine <= NEARLY_FLAT && Turned::side(rim) * normal.x < 0.0 {
                    let first = 2 + rim * RIM_POINTS as u32;
                    (first..first + RIM_POINTS as u32).for_each(|point| offer(FeaturePair::FaceVertex(face, point)));
                }
            }
        }
    }

    /// Corners of the polyhedron beside the solid.
    fn list_corners(&self, out: &mut SmallVec<[(FeaturePair, Meeting); 16]>) {
        for vertex in 0..self.hull.vertex_count() {
            let pair = self.solid.nearest(vertex, self.corner(vertex));
            let Some(meeting) = self.meeting(pair) else { continue };
            let allowed = if matches!(pair, FeaturePair::VertexFace(..)) { LEAN } else { OVERHANG };
            let towards = self.turn.conjugate() * -meeting.normal;
            if meeting.height() <= 0.0 || self.hull.around(vertex).all(|along| towards.dot(along) <= allowed) {
                out.push((pair, meeting));
            }
        }
    }

    /// Edges of the polyhedron along the mantle and across the rims.
    fn list_edges(&self, out: &mut SmallVec<[(FeaturePair, Meeting); 16]>) {
        for edge in 0..self.hull.edge_count() {
            let (_, along, _) = self.hull.line(edge);
            self.edge(edge).list_inside(&self.solid, true, |pair, meeting| {
                let towards = self.turn.conjugate() * -meeting.normal;
                if self.hull.inwards(edge, along).iter().any(|inwards| towards.dot(*inwards) > LEAN) {
                    return;
                }
                let pair = match pair {
                    FeaturePair::EdgeFace(_, face) => FeaturePair::EdgeFace(edge, face),
                    FeaturePair::EdgeEdge(_, branch) => FeaturePair::EdgeEdge(edge, branch),
                    FeaturePair::EdgeVertex(_, tip) => FeaturePair::EdgeVertex(edge, tip),
                    pair => pair,
                };
                out.push((pair, *meeting));
            });
        }
    }

    /// By how much a unit direction from the solid towards the polyhedron separates the two.
    fn separation_along(&self, direction: DVec3) -> f64 {
        let local = self.turn.conjugate() * direction;
        let corners = (0..self.hull.vertex_count()).map(|v| self.hull.vertex(v).dot(local));
        let across = direction.with_x(0.0).length();
        let rims = [0, 1].map(|rim| self.solid.centre(rim).dot(direction) + self.solid.radius(rim) * across);
        corners.fold(f64::INFINITY, f64::min) + self.origin.dot(direction) - rims[0].max(rims[1])
    }
}
