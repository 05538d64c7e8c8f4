//! Pictures of friction sets, drawn from the sets by which the contacts were solved: their support,
//! their excess, their corners.
//!
//! \[TTP01\] draws them in Figures 3 and 6: friction along two tangents and about the normal,
//! $(c_t, c_o, c_r)$. A set is seen from a fixed side, parallel; what is behind is drawn pale. A
//! point of the surface is in front when a small move towards the eye leaves the set.

use stiction_dynamics::{FrictionLaw, FrictionShape};

use super::*;

/// A point or a direction of friction: along the tangents, and about the normal.
type Friction = [f64; 3];

/// From where a set is seen: turned about the normal from the first tangent, and above the tangent
/// plane, in radians.
const AZIMUTH: f64 = 0.6;
const ELEVATION: f64 = 0.35;

/// Points around a curve, and around a cut, whose corners must not be blunt.
const AROUND: usize = 180;
const AROUND_CUT: usize = 2880;

/// Halvings of an interval that leave rounding of it.
const HALVINGS: usize = 60;

/// A move towards the eye that tells front from back, relative to the size of the set. Too large:
/// the rim counts as behind. Too small: rounding decides.
const NUDGE: f64 = 1e-6;

/// What friction may be at a given normal force.
#[derive(Clone, Debug)]
pub(super) struct FrictionSet {
    axes: Friction,
    shape: FrictionShape,
    /// $\mu c_n$.
    bound: f64,
}

impl FrictionSet {
    /// The set of a law, for a normal force.
    pub(super) fn new(law: &FrictionLaw, normal_force: f64) -> Self {
        Self { axes: law.axes(), shape: law.shape(), bound: law.mu() * normal_force }
    }

    /// The set of the first contact of a scene.
    pub(super) fn of_scene(scene: &str, overrides: &[String], normal_force: f64) -> Result<Self, ReproduceError> {
        let simulation = super::scene(scene, overrides)?;
        let (state, mut contacts) = (simulation.state(), Vec::new());
        simulation.system().contacts(state.t, &state.q, f64::INFINITY, &mut contacts);
        let law = contacts.first().map_or(FrictionLaw::None, |contact| contact.friction.clone());
        Ok(Self::new(&law, normal_force))
    }

    /// Whether friction is outside, by more than rounding relative to the size of the set.
    fn is_outside(&self, friction: Friction) -> bool {
        let excess = self.shape.excess(&std::array::from_fn(|k| friction[k] / self.axes[k]), self.bound);
        excess > ROUNDING * self.bound
    }

    /// How far the set reaches along a direction: the largest $d \cdot c$.
    pub(super) fn reach(&self, direction: Friction) -> f64 {
        // The support is that against a sliding velocity.
        self.bound * self.shape.support(&std::array::from_fn(|k| -self.axes[k] * direction[k]))
    }

    /// The last point of the set on the ray along a direction.
    pub(super) fn surface(&self, direction: Friction) -> Friction {
        let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
        let unit = direction.map(|d| d / length);
        let (mut inside, mut outside) = (0.0, 2.0 * self.reach(unit) + f64::MIN_POSITIVE);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (inside + outside);
            if self.is_outside(unit.map(|u| middle * u)) { outside = middle } else { inside = middle }
        }
        unit.map(|u| inside * u)
    }

    /// The corners of a polytope; none of another set.
    pub(super) fn corners(&self) -> Vec<Friction> {
        let FrictionShape::Polytope(polytope) = &self.shape else { return Vec::new() };
        let scaled = |corner: &Friction| std::array::from_fn(|k| self.bound * self.axes[k] * corner[k]);
        polytope.corners().iter().map(scaled).collect()
    }

    /// The edges of a polytope: pairs of corners that lie on two facets together.
    pub(super) fn edges(&self) -> Vec<[Friction; 2]> {
        let FrictionShape::Polytope(polytope) = &self.shape else { return Vec::new() };
        let (raw, corners) = (polytope.corners(), self.corners());
        let lies_on = |corner: &Friction, normal: &Friction, offset: f64| {
            (corner.iter().zip(normal).map(|(x, a)| x * a).sum::<f64>() - offset).abs() < 1e-9
        };
        let mut edges = Vec::new();
        for i in 0..raw.len() {
            for j in 0..i {
                let shared = polytope.facets().iter().filter(|facet| {
                    lies_on(&raw[i], &facet.normal, facet.offset) && lies_on(&raw[j], &facet.normal, facet.offset)
                });
                if shared.count() >= 2 {
                    edges.push([corners[j], corners[i]]);
                }
            }
        }
        edges
    }

    /// Whether a point of the surface is in front.
    fn is_in_front(&self, point: Friction) -> bool {
        let eye = View::eye();
        self.is_outside(std::array::from_fn(|k| point[k] + NUDGE * self.bound * eye[k]))
    }

    /// The rim of the set as it is seen, from its support alone: the points with the normals
    /// $u(\theta)$ are $h u + h' u'$.
    fn rim(&self) -> Vec<(f64, f64)> {
        let support = |angle: f64| self.reach(View::back((angle.cos(), angle.sin())));
        let step = 1e-5;
        let point = |i: usize| {
            let angle = std::f64::consts::TAU * i as f64 / AROUND as f64;
            let (h, slope) = (support(angle), (support(angle + step) - support(angle - step)) / (2.0 * step));
            (h * angle.cos() - slope * angle.sin(), h * angle.sin() + slope * angle.cos())
        };
        (0..AROUND).map(point).collect()
    }
}

/// The parallel projection.
struct View;

impl View {
    /// To the right, upwards and towards the eye.
    fn frame() -> [Friction; 3] {
        let ((sa, ca), (se, ce)) = (AZIMUTH.sin_cos(), ELEVATION.sin_cos());
        [[-sa, ca, 0.0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]]
    }

    fn eye() -> Friction {
        Self::frame()[2]
    }

    /// Where a point is seen.
    fn see(point: Friction) -> (f64, f64) {
        let [right, up, _] = Self::frame();
        let along = |axis: Friction| axis.iter().zip(point).map(|(a, x)| a * x).sum::<f64>();
        (along(right), along(up))
    }

    /// The direction in the plane of the picture.
    fn back((x, y): (f64, f64)) -> Friction {
        let [right, up, _] = Self::frame();
        std::array::from_fn(|k| x * right[k] + y * up[k])
    }
}

/// The surface of a set with some points on it, and its three axes, in a picture of this width.
pub(super) fn picture(title: &str, set: &FrictionSet, points: &[Friction], label: &str, width: f64) -> Panel {
    let mut outlines = Vec::new();
    let pale = Colour::BLUE.towards(Colour::WHITE, 0.75);
    let mut stretch = |curve: &[Friction]| {
        for pair in curve.windows(2) {
            let middle = std::array::from_fn(|k| 0.5 * (pair[0][k] + pair[1][k]));
            let is_in_front = set.is_in_front(set.surface(middle));
            let (colour, width) = if is_in_front { (Colour::BLUE, 0.8) } else { (pale, 0.6) };
            outlines.push((is_in_front, line(pair.iter().map(|point| View::see(*point)).collect(), colour, width)));
        }
    };
    let edges = set.edges();
    for edge in &edges {
        stretch(edge);
    }
    if edges.is_empty() {
        let on_surface = |turn: f64, rise: f64| {
            // Equal parts of the angle on a ball, so that a flat set has lines everywhere.
            let [t, o, r] = [rise.cos() * turn.cos(), rise.cos() * turn.sin(), rise.sin()];
            set.surface([set.axes[0] * t, set.axes[1] * o, set.axes[2] * r])
        };
        let tau = std::f64::consts::TAU;
        let around = |i: usize| tau * i as f64 / AROUND as f64;
        for meridian in 0..8 {
            let turn = tau * meridian as f64 / 16.0;
            stretch(&(0..=AROUND).map(|i| on_surface(turn, around(i))).collect::<Vec<_>>());
        }
        for parallel in -2..=2 {
            let rise = tau / 12.0 * f64::from(parallel);
            stretch(&(0..=AROUND).map(|i| on_surface(around(i), rise)).collect::<Vec<_>>());
        }
    }
    // What is behind first.
    outlines.sort_by_key(|(is_in_front, _)| *is_in_front);
    let mut outlines: Vec<Outline> = outlines.into_iter().map(|(_, outline)| outline).collect();
    if edges.is_empty() {
        outlines.push(body(Outline { points: set.rim(), ..Default::default() }, Colour::BLUE, 0.06, 1.2));
    }
    let mut marks = Vec::new();
    for (axis, name) in ["c_t", "c_o", "c_r"].into_iter().enumerate() {
        let mut direction = [0.0; 3];
        direction[axis] = 1.0;
        let from = set.surface(direction);
        let to = std::array::from_fn(|k| from[k] + 0.35 * set.bound * direction[k]);
        outlines.push(line(vec![View::see(from), View::see(to)], Colour::INK, 1.0));
        marks.push(Mark { at: View::see(to), text: name.into(), anchor: Anchor::Above, ..Default::default() });
    }
    let seen = |label: &str, colour, is_in_front: bool| {
        let seen = points.iter().filter(|p| set.is_in_front(**p) == is_in_front);
        dots(label, seen.map(|p| View::see(*p)).collect(), colour)
    };
    let behind = Colour::VERMILLION.towards(Colour::WHITE, 0.6);
    let series = vec![seen(label, Colour::VERMILLION, true), seen("those behind", behind, false)];
    Panel {
        equal_aspect: true,
        is_picture: true,
        x_range: Some((-0.5 * width, 0.5 * width)),
        outlines,
        marks,
        legend: Legend::Above,
        ..panel(title, "", "", series)
    }
}

/// Cuts through sets by the plane of two axes.
pub(super) fn section(title: &str, axes: [usize; 2], sets: &[(&str, &FrictionSet, Colour)]) -> Panel {
    let names = ["c_t, N", "c_o, N", "c_r, N m"];
    let cut = |set: &FrictionSet| {
        let point = |i: usize| {
            let angle = std::f64::consts::TAU * i as f64 / AROUND_CUT as f64;
            let mut direction = [0.0; 3];
            // In units of the axes, so that corners of a flat set are not missed.
            direction[axes[0]] = set.axes[axes[0]] * angle.cos();
            direction[axes[1]] = set.axes[axes[1]] * angle.sin();
            let point = set.surface(direction);
            (point[axes[0]], point[axes[1]])
        };
        (0..=AROUND_CUT).map(point).collect()
    };
    let margin = 1.1 * sets.iter().map(|(_, set, _)| set.bound * set.axes[axes[0]]).fold(0.0, f64::max);
    let series = sets.iter().map(|(label, set, colour)| coloured(*label, cut(set), *colour)).collect();
    Panel {
        equal_aspect: true,
        x_range: Some((-margin, margin)),
        legend: Legend::Above,
        ..panel(title, names[axes[0]], names[axes[1]], series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_the_surface_are_where_the_set_ends() {
        let ellipsoid = FrictionLaw::Elliptic { mu: 0.2, semi_axes: [1.0, 0.5, 0.4] };
        let set = FrictionSet::new(&ellipsoid, 5.0);
        let point = set.surface([1.0, 1.0, 1.0]);
        // On the diagonal x²(1 + 4 + 6.25) = 1.
        assert!(point.iter().all(|x| (x - 11.25f64.sqrt().recip()).abs() < 1e-12), "{point:?}");
        assert!((set.reach([0.0, 0.0, 1.0]) - 0.4).abs() < 1e-15);
        assert!(set.edges().is_empty());
        // The rim is where the surface turns away from the eye: a little further out nothing is
        // seen.
        for (x, y) in set.rim() {
            let beyond = |depth: f64| {
                let (point, eye) = (View::back((1.001 * x, 1.001 * y)), View::eye());
                std::array::from_fn(|k| point[k] + depth * eye[k])
            };
            let within = |depth: f64| beyond(depth).map(|c| 0.998 * c);
            let depths = || (-2000..2000).map(|i| 1e-3 * f64::from(i));
            assert!(depths().all(|depth| set.is_outside(beyond(depth))), "({x}, {y}) is inside of the rim");
            assert!(depths().any(|depth| !set.is_outside(within(depth))), "({x}, {y}) is beyond the rim");
        }
    }

    #[test]
    fn an_octahedron_has_twelve_edges_and_hides_the_corner_behind() {
        let corners = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]];
        let corners: Vec<Friction> = corners.into_iter().flat_map(|corner| [corner, corner.map(|x| -x)]).collect();
        let set = FrictionSet::new(&FrictionLaw::directions(0.5, &corners).unwrap(), 2.0);
        assert_eq!(set.edges().len(), 12);
        assert!(set.edges().iter().flatten().all(|corner| corners.contains(corner)));
        // From (0.78, 0.53, 0.34) every corner but this one has a face that looks there: |0.53| +
        // |0.34|/2 < 0.78.
        let hidden: Vec<_> = corners.iter().filter(|corner| !set.is_in_front(**corner)).collect();
        assert_eq!(hidden, [&[-1.0, 0.0, 0.0]]);
        let face = set.surface([1.0, 1.0, 2.0]);
        assert!((face[0] - 1.0 / 3.0).abs() < 1e-12 && (face[2] - 2.0 / 3.0).abs() < 1e-12, "{face:?}");
    }
}
