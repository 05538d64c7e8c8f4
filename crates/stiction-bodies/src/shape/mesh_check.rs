//! Whether triangles are the surface of a body, and repairs where they almost are.
//!
//! Triangles are the surface of a body when every edge has a triangle on either side, once in each
//! direction, no edge goes through a triangle, and each component faces outwards. With the corners
//! $a, b, c$ the enclosed volume is
//!
//! $$ V = \tfrac16 \sum \det(a, b, c), $$
//!
//! positive when they face outwards. A component inside of another one is a cavity of it: it faces
//! inwards. How often a component is inside of the others is their winding number around one of
//! its points, the sum of solid angles over $4 \pi$, with [VOS83] (8) for each of them:
//!
//! $$ \tan \tfrac{\Omega}{2} = \frac{\det(a, b, c)}{abc + (a \cdot b) c + (b \cdot c) a + (c \cdot a) b}. $$
//!
//! An edge goes through a triangle when its ends are on different sides and the line sees the
//! corners in one sense. Signs of determinants count only beyond their rounding, so that parts
//! that merely touch are not refused. Where the line meets an edge of a triangle, both triangles of
//! that edge must be passed in the same direction.

use std::collections::HashMap;
use std::fmt;

use glamx::DVec3;
use stiction_solve::PortableMath as _;

use super::MassProperties;
use super::solid::enclosed_by_triangles;

/// Triangles with a smaller height than this share of the size of the surface are degenerate: it is
/// the rounding of coordinates. Too large: thin triangles of fine meshes are refused. Too small:
/// triangles without a normal pass.
const FLATNESS: f64 = 1e-14;

/// A repair takes vertices for one that are nearer than this share of the size of the surface: the
/// rounding of files with seven digits. Too large: small features are lost. Too small: seams stay
/// open.
const WELD: f64 = 1e-6;

/// Surfaces that enclose less than this share of the cube of their size have no volume. Too large:
/// foils are refused. Too small: the centre of mass is noise.
const LEAST_VOLUME: f64 = 1e-12;

/// An edge must go deeper than this share of the size of the surface on both sides of a triangle, and
/// pass the edges of the triangle at this distance.
/// Too large: shallow intersections pass. Too small: parts that touch with coordinates of seven
/// digits are refused.
const LEAST_DEPTH: f64 = 1e-7;

/// Triangles whose height is a smaller share of their longest edge are worth a note. Too large: every
/// round part has one. Too small: those that make contacts jump pass.
const THIN: f64 = 1e-5;

/// Rounding of a determinant of three differences, relative to the sum of its terms without their
/// signs. Too large: crossings near an edge are missed. Too small: noise is taken for a side.
const DETERMINANT_ROUNDING: f64 = 1e-15;

/// Most triangles in a leaf of the tree.
const LEAF: usize = 8;

/// Triangles as they come from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriangleSurface {
    /// Points, in metres.
    pub vertices: Vec<DVec3>,
    /// Numbers of three points each, anticlockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// What a surface must be, and what may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfaceRules {
    /// Whether it must be closed: it is the body and not its surroundings.
    pub must_be_closed: bool,
    /// Whether faults are repaired where that is possible.
    pub repair: bool,
}

/// A surface that passed its check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedSurface {
    /// Its points and triangles; no two points are equal.
    pub surface: TriangleSurface,
    /// Whether every edge has two triangles.
    pub is_closed: bool,
    /// What was repaired, and what is worth knowing, a sentence each.
    pub notes: Vec<String>,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceFaultKind {
    /// There are no triangles.
    Empty,
    /// A coordinate is not finite.
    NotFinite,
    /// A triangle has a corner that does not exist.
    NoSuchVertex,
    /// A triangle has no area.
    Degenerate,
    /// Several triangles have the same corners.
    Duplicate,
    /// An edge has one triangle only.
    OpenEdge,
    /// An edge has more than two triangles.
    NonManifoldEdge,
    /// Two neighbours face different sides.
    Winding,
    /// A component faces inwards.
    InsideOut,
    /// An edge goes through a triangle.
    SelfIntersection,
    /// No volume is enclosed.
    NoVolume,
}

impl SurfaceFaultKind {
    /// What is counted, and what to do about it.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Empty => ("surface without triangles", "surfaces without triangles", "export the part as triangles"),
            Self::NotFinite => ("point that is not finite", "points that are not finite", "export the part again"),
            Self::NoSuchVertex => {
                ("triangle with an unknown corner", "triangles with unknown corners", "export the part again")
            }
            Self::Degenerate => ("degenerate triangle", "degenerate triangles", "`repair = true` drops them"),
            Self::Duplicate => {
                ("triangle that is there twice", "triangles that are there twice", "`repair = true` drops them")
            }
            Self::OpenEdge => (
                "open edge",
                "open edges",
                "close the part where it is modelled, or let `repair = true` join points that are almost the same",
            ),
            Self::NonManifoldEdge => (
                "edge with more than two triangles",
                "edges with more than two triangles",
                "divide the part there, or take its `hull`",
            ),
            Self::Winding => (
                "edge whose triangles face different sides",
                "edges whose triangles face different sides",
                "`repair = true` turns them",
            ),
            Self::InsideOut => ("part inside out", "parts inside out", "`repair = true` turns them"),
            Self::SelfIntersection => (
                "edge that goes through the surface",
                "edges that go through the surface",
                "unite the parts where they are modelled, or take a `part`, a `hull` or `decompose`",
            ),
            Self::NoVolume => ("surface without a volume", "surfaces without a volume", "give it a thickness"),
        }
    }
}

/// Faults of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfaceFault {
    /// Which kind.
    pub kind: SurfaceFaultKind,
    /// How many there are.
    pub count: usize,
    /// Where the first one is, in metres.
    pub place: DVec3,
}

/// A surface that cannot be what it must be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct SurfaceError {
    /// Its faults, one of each kind, in the order in which they are looked for.
    pub faults: Vec<SurfaceFault>,
    /// Number of its triangles.
    pub triangle_count: usize,
}

impl SurfaceError {
    /// What to do, a sentence for each kind.
    pub fn remedy(&self) -> String {
        let mut remedies: Vec<&str> = self.faults.iter().map(|fault| fault.kind.words().2).collect();
        remedies.dedup();
        remedies.join("; ")
    }
}

impl fmt::Display for SurfaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, SurfaceFault { kind, count, place }) in self.faults.iter().enumerate() {
            let (one, several, _) = kind.words();
            let what = if *count == 1 { one } else { several };
            write!(f, "{}{count} {what}", if index == 0 { "" } else { ", " })?;
            let first = if *count == 1 { "at" } else { "the first at" };
            match kind {
                SurfaceFaultKind::Empty | SurfaceFaultKind::NotFinite => {}
                _ => write!(f, " ({first} [{:.6e}, {:.6e}, {:.6e}])", place.x, place.y, place.z)?,
            }
        }
        write!(f, ", of {} triangles", self.triangle_count)
    }
}

/// What there is to count in a surface whose equal points were made one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Census {
    /// Points of triangles.
    pub vertex_count: usize,
    /// Triangles.
    pub triangle_count: usize,
    /// Edges.
    pub edge_count: usize,
    /// Triangles without area, with the place of the first.
    pub degenerate: Found,
    /// Triangles whose corners another one has.
    pub duplicate: Found,
    /// Edges with one triangle.
    pub open: Found,
    /// Edges with more than two triangles.
    pub non_manifold: Found,
    /// Edges with two triangles that face different sides.
    pub winding: Found,
    /// Groups of triangles that hang together by their corners.
    pub component_count: usize,
    /// Enclosed volume with its sign, in m³; of an open surface it depends on the origin.
    pub volume: f64,
    /// Area, in m².
    pub area: f64,
    /// Least height of a triangle, relative to its longest edge.
    pub thinnest: f64,
}

/// How many there are, and where the first one is, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// How many.
    pub count: usize,
    /// Where the first one is, in metres.
    pub place: DVec3,
}

impl Found {
    fn add(&mut self, place: DVec3) {
        if self.count == 0 {
            self.place = place;
        }
        self.count += 1;
    }

    fn of(places: impl IntoIterator<Item = DVec3>) -> Self {
        let mut found = Self::default();
        places.into_iter().for_each(|place| found.add(place));
        found
    }
}

impl Census {
    /// Whether every edge has two triangles.
    pub fn is_closed(&self) -> bool {
        self.open.count == 0 && self.non_manifold.count == 0
    }

    /// Points less edges plus triangles: two for each body without holes through it.
    pub fn euler_number(&self) -> i64 {
        self.vertex_count as i64 - self.edge_count as i64 + self.triangle_count as i64
    }
}

/// An edge with the triangles at it, in their order; `true` where one runs from its lower to its
/// higher corner.
struct SharedEdge {
    ends: [u32; 2],
    triangles: Vec<(u32, bool)>,
}

impl TriangleSurface {
    /// Largest distance of two coordinates along an axis, in metres: its size.
    pub fn size(&self) -> f64 {
        let low = self.vertices.iter().copied().fold(DVec3::INFINITY, DVec3::min);
        let high = self.vertices.iter().copied().fold(DVec3::NEG_INFINITY, DVec3::max);
        if self.vertices.is_empty() { 0.0 } else { (high - low).max_element() }
    }

    /// Volume in m³ as the mass, centre and inertia of unit density of what the surface encloses; the
    /// volume is negative when it is inside out.
    pub fn mass_properties(&self) -> MassProperties {
        enclosed_by_triangles(&self.vertices, self.triangles.iter().copied())
    }

    /// Counts what there is, with equal points taken for one.
    pub fn census(&self) -> Census {
        let mut welded = self.clone();
        welded.weld_equal();
        welded.count()
    }

    /// Checks the surface, and repairs it where the rules let it.
    ///
    /// # Errors
    /// [`SurfaceError`] with the number and the first place of each kind of fault.
    pub fn check(mut self, rules: SurfaceRules) -> Result<CheckedSurface, SurfaceError> {
        let triangle_count = self.triangles.len();
        let fail = |faults: Vec<SurfaceFault>| SurfaceError { faults, triangle_count };
        let one = |kind, count, place| fail(vec![SurfaceFault { kind, count, place }]);
        if self.triangles.is_empty() {
            return Err(one(SurfaceFaultKind::Empty, 1, DVec3::ZERO));
        }
        let infinite = self.vertices.iter().filter(|x| !x.is_finite()).count();
        if infinite > 0 {
            return Err(one(SurfaceFaultKind::NotFinite, infinite, DVec3::ZERO));
        }
        let is_unknown = |triangle: &[u32; 3]| triangle.iter().any(|&corner| corner as usize >= self.vertices.len());
        let unknown = self.triangles.iter().filter(|triangle| is_unknown(triangle)).count();
        if unknown > 0 {
            let place = self.vertices.first().copied().unwrap_or_default();
            return Err(one(SurfaceFaultKind::NoSuchVertex, unknown, place));
        }

        self.weld_equal();
        let mut notes = Vec::new();
        if rules.repair {
            self.repair(&mut notes);
            if self.triangles.is_empty() {
                return Err(one(SurfaceFaultKind::Empty, 1, DVec3::ZERO));
            }
        }
        let census = self.count();
        let mut faults = Vec::new();
        let mut add = |kind, found: Found| {
            if found.count > 0 {
                faults.push(SurfaceFault { kind, count: found.count, place: found.place });
            }
        };
        add(SurfaceFaultKind::Degenerate, census.degenerate);
        add(SurfaceFaultKind::Duplicate, census.duplicate);
        if rules.must_be_closed {
            add(SurfaceFaultKind::OpenEdge, census.open);
        }
        add(SurfaceFaultKind::NonManifoldEdge, census.non_manifold);
        add(SurfaceFaultKind::Winding, census.winding);
        if !faults.is_empty() {
            return Err(fail(faults));
        }
        let is_closed = census.is_closed();
        if is_closed {
            let size = self.size();
            if census.volume.abs() <= LEAST_VOLUME * size * size * size {
                return Err(one(SurfaceFaultKind::NoVolume, 1, self.vertices[0]));
            }
            let reversed = self.reversed_components();
            if rules.repair && !reversed.is_empty() {
                let count = reversed.iter().map(Vec::len).sum::<usize>();
                reversed.iter().flatten().for_each(|&triangle| self.triangles[triangle as usize].swap(1, 2));
                notes.push(format!("{} turned inside out", triangles(count)));
            } else if let Some(first) = reversed.first() {
                let place = self.middle(first[0] as usize);
                return Err(one(SurfaceFaultKind::InsideOut, reversed.len(), place));
            }
            if census.component_count > 1 {
                notes.push(format!("the surface has {} components, which are one body", census.component_count));
            }
        }
        let crossings = self.crossings();
        if crossings.count > 0 {
            return Err(one(SurfaceFaultKind::SelfIntersection, crossings.count, crossings.place));
        }
        if census.thinnest < THIN {
            let share = census.thinnest;
            notes.push(format!("its thinnest triangle is {share:.0e} as high as it is long: a finer surface is safer"));
        }
        Ok(CheckedSurface { surface: self, is_closed, notes })
    }

    /// Makes equal points one, and leaves out those of no triangle; the order stays.
    fn weld_equal(&mut self) {
        let mut numbers = HashMap::new();
        // Adding zero takes the sign from a negative zero.
        self.renumber(|x| {
            let key = (x + DVec3::ZERO).to_array().map(f64::to_bits);
            let next = numbers.len() as u32;
            *numbers.entry(key).or_insert(next)
        });
    }

    /// Makes points one that are nearer than a distance, in metres.
    fn weld_near(&mut self, distance: f64) {
        let mut cells: HashMap<[i64; 3], Vec<(u32, DVec3)>> = HashMap::new();
        let mut count = 0;
        self.renumber(|x| {
            let cell = (x / distance).floor().to_array().map(|c| c as i64);
            for shift in 0..27i64 {
                let other = [cell[0] + shift % 3 - 1, cell[1] + shift / 3 % 3 - 1, cell[2] + shift / 9 - 1];
                let near = cells.get(&other).into_iter().flatten().find(|(_, y)| x.distance(*y) <= distance);
                if let Some((number, _)) = near {
                    return *number;
                }
            }
            cells.entry(cell).or_default().push((count, x));
            count += 1;
            count - 1
        });
    }

    /// Gives every corner of a triangle, in their order, the number that stands for its point; a
    /// new number is the next one.
    fn renumber(&mut self, mut number: impl FnMut(DVec3) -> u32) {
        let mut vertices = Vec::new();
        for corner in self.triangles.iter_mut().flatten() {
            let point = self.vertices[*corner as usize];
            *corner = number(point);
            if *corner as usize == vertices.len() {
                vertices.push(point);
            }
        }
        self.vertices = vertices;
    }

    fn corners(&self, triangle: usize) -> [DVec3; 3] {
        self.triangles[triangle].map(|corner| self.vertices[corner as usize])
    }

    fn middle(&self, triangle: usize) -> DVec3 {
        self.corners(triangle).iter().sum::<DVec3>() / 3.0
    }

    /// Twice the area, and the longest edge.
    fn extent(&self, triangle: usize) -> (f64, f64) {
        let [a, b, c] = self.corners(triangle);
        let longest = (b - a).length().max((c - b).length()).max((a - c).length());
        ((b - a).cross(c - a).length(), longest)
    }

    /// The triangles without area.
    fn degenerate(&self) -> Vec<usize> {
        let least = FLATNESS * self.vertices.iter().map(|x| x.abs().max_element()).fold(0.0, f64::max);
        let is_degenerate = |&triangle: &usize| {
            let (double, longest) = self.extent(triangle);
            double <= least * longest
        };
        (0..self.triangles.len()).filter(is_degenerate).collect()
    }

    /// The triangles whose corners one before them has.
    fn duplicates(&self) -> Vec<usize> {
        let mut seen = std::collections::HashSet::new();
        let sorted = |mut triangle: [u32; 3]| {
            triangle.sort_unstable();
            triangle
        };
        (0..self.triangles.len()).filter(|&triangle| !seen.insert(sorted(self.triangles[triangle]))).collect()
    }

    /// The edges, in the order of their ends.
    fn edges(&self) -> Vec<SharedEdge> {
        let mut sides: Vec<([u32; 2], u32, bool)> = Vec::with_capacity(3 * self.triangles.len());
        for (number, &[a, b, c]) in self.triangles.iter().enumerate() {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                sides.push(([from.min(to), from.max(to)], number as u32, from < to));
            }
        }
        sides.sort_unstable();
        let group = |sides: &[([u32; 2], u32, bool)]| SharedEdge {
            ends: sides[0].0,
            triangles: sides.iter().map(|side| (side.1, side.2)).collect(),
        };
        sides.chunk_by(|a, b| a.0 == b.0).map(group).collect()
    }

    fn count(&self) -> Census {
        let edges = self.edges();
        let middle = |edge: &SharedEdge| {
            let [a, b] = edge.ends.map(|end| self.vertices[end as usize]);
            (a + b) / 2.0
        };
        let found =
            |is_so: &dyn Fn(&SharedEdge) -> bool| Found::of(edges.iter().filter(|edge| is_so(edge)).map(middle));
        let faulty = |list: Vec<usize>| Found::of(list.into_iter().map(|triangle| self.middle(triangle)));
        let extents = (0..self.triangles.len()).map(|triangle| self.extent(triangle));
        let (mut area, mut thinnest) = (0.0, f64::INFINITY);
        for (double, longest) in extents {
            area += double / 2.0;
            thinnest = f64::min(thinnest, if longest > 0.0 { double / (longest * longest) } else { 0.0 });
        }
        let components = self.components();
        let volume = if self.triangles.is_empty() { 0.0 } else { self.mass_properties().mass };
        Census {
            vertex_count: self.vertices.len(),
            triangle_count: self.triangles.len(),
            edge_count: edges.len(),
            degenerate: faulty(self.degenerate()),
            duplicate: faulty(self.duplicates()),
            open: found(&|edge| edge.triangles.len() == 1),
            non_manifold: found(&|edge| edge.triangles.len() > 2),
            winding: found(&|edge| matches!(edge.triangles.as_slice(), [(_, first), (_, second)] if first == second)),
            component_count: components.len(),
            volume,
            area,
            thinnest,
        }
    }

    /// Drops what is degenerate or there twice, joins points across open seams, and makes
    /// neighbours face one side.
    fn repair(&mut self, notes: &mut Vec<String>) {
        self.drop_useless(notes);
        let open = |surface: &Self| surface.edges().iter().filter(|edge| edge.triangles.len() == 1).count();
        let before = open(self);
        if before > 0 {
            let mut joined = self.clone();
            joined.weld_near(WELD * self.size());
            let count = self.vertices.len() - joined.vertices.len();
            if count > 0 && open(&joined) < before {
                notes.push(format!("{count} points joined with others that are almost the same"));
                *self = joined;
                self.drop_useless(notes);
            }
        }
        let turned = self.make_consistent();
        if turned > 0 {
            notes.push(format!("{} turned to face the side of their neighbours", triangles(turned)));
        }
    }

    fn drop_useless(&mut self, notes: &mut Vec<String>) {
        self.drop_triangles(&self.degenerate(), "degenerate", notes);
        self.drop_triangles(&self.duplicates(), "there twice", notes);
        self.weld_equal();
    }

    fn drop_triangles(&mut self, list: &[usize], what: &str, notes: &mut Vec<String>) {
        if list.is_empty() {
            return;
        }
        let mut is_kept = vec![true; self.triangles.len()];
        list.iter().for_each(|&triangle| is_kept[triangle] = false);
        let mut kept = is_kept.into_iter();
        self.triangles.retain(|_| kept.next() == Some(true));
        notes.push(format!("{} dropped: {what}", triangles(list.len())));
    }

    /// Turns triangles until those that share an edge face one side, as far as that is possible;
    /// of each component the first triangle stays. Returns how many were turned.
    fn make_consistent(&mut self) -> usize {
        // For each triangle its neighbours, and whether they face the same side now.
        let mut neighbours: Vec<Vec<(u32, bool)>> = vec![Vec::new(); self.triangles.len()];
        for edge in self.edges() {
            if let [(first, a), (second, b)] = edge.triangles[..] {
                neighbours[first as usize].push((second, a != b));
                neighbours[second as usize].push((first, a != b));
            }
        }
        let mut is_turned: Vec<Option<bool>> = vec![None; self.triangles.len()];
        for first in 0..self.triangles.len() {
            if is_turned[first].is_some() {
                continue;
            }
            is_turned[first] = Some(false);
            let mut waiting = vec![first];
            while let Some(triangle) = waiting.pop() {
                for &(next, agrees) in &neighbours[triangle] {
                    let next = next as usize;
                    if is_turned[next].is_none() {
                        is_turned[next] = Some(is_turned[triangle] == Some(agrees));
                        waiting.push(next);
                    }
                }
            }
        }
        let turned: Vec<usize> = (0..is_turned.len()).filter(|&t| is_turned[t] == Some(true)).collect();
        turned.iter().for_each(|&triangle| self.triangles[triangle].swap(1, 2));
        turned.len()
    }

    /// The triangles that hang together by their corners, in the order of their first ones.
    fn components(&self) -> Vec<Vec<u32>> {
        let mut parent: Vec<u32> = (0..self.vertices.len() as u32).collect();
        fn root(parent: &mut [u32], mut x: u32) -> u32 {
            while parent[x as usize] != x {
                parent[x as usize] = parent[parent[x as usize] as usize];
                x = parent[x as usize];
            }
            x
        }
        for &[a, b, c] in &self.triangles {
            for other in [b, c] {
                let (x, y) = (root(&mut parent, a), root(&mut parent, other));
                parent[x.max(y) as usize] = x.min(y);
            }
        }
        let mut numbers = HashMap::new();
        let mut components: Vec<Vec<u32>> = Vec::new();
        for (triangle, corners) in self.triangles.iter().enumerate() {
            let number = *numbers.entry(root(&mut parent, corners[0])).or_insert(components.len());
            if number == components.len() {
                components.push(Vec::new());
            }
            components[number].push(triangle as u32);
        }
        components
    }

    /// The components of a closed surface that face the wrong side: outermost ones and those in a
    /// cavity face outwards, cavities inwards.
    fn reversed_components(&self) -> Vec<Vec<u32>> {
        let components = self.components();
        let volume = |component: &[u32]| {
            enclosed_by_triangles(&self.vertices, component.iter().map(|&triangle| self.triangles[triangle as usize]))
                .mass
        };
        let signs: Vec<f64> = components.iter().map(|component| volume(component).signum()).collect();
        let boxes: Vec<Box3> = components.iter().map(|component| Box3::of(self, component)).collect();
        // How many others a component is inside of, whichever side they face.
        let depth = |of: usize| {
            let point = self.middle(components[of][0] as usize);
            let around = |other: &usize| {
                *other != of && boxes[*other].holds(&boxes[of]) && self.winding_number(&components[*other], point) > 0.5
            };
            (0..components.len()).filter(around).count()
        };
        let is_reversed =
            |&of: &usize| signs[of] != if components.len() > 1 && depth(of) % 2 == 1 { -1.0 } else { 1.0 };
        (0..components.len()).filter(is_reversed).map(|of| components[of].clone()).collect()
    }

    /// How often some triangles go around a point, without sign. [VOS83] (8)
    fn winding_number(&self, triangles: &[u32], point: DVec3) -> f64 {
        let solid_angle = |&triangle: &u32| {
            let [a, b, c] = self.corners(triangle as usize).map(|x| x - point);
            let [x, y, z] = [a, b, c].map(|side| side.length());
            let denominator = x * y * z + a.dot(b) * z + b.dot(c) * x + c.dot(a) * y;
            2.0 * a.dot(b.cross(c)).portable_atan2(denominator)
        };
        (triangles.iter().map(solid_angle).sum::<f64>() / (4.0 * std::f64::consts::PI)).abs()
    }

    /// The edges that go through triangles.
    fn crossings(&self) -> Found {
        let tree = Tree::new(self);
        let least = LEAST_DEPTH * self.size();
        let mut found = Found::default();
        let mut near = Vec::new();
        for edge in self.edges() {
            let [p, q] = edge.ends.map(|end| self.vertices[end as usize]);
            tree.overlapping(&Box3 { low: p.min(q), high: p.max(q) }, &mut near);
            // Edges of triangles that the line meets, and which way it passes the triangle.
            let mut met: Vec<([u32; 2], bool)> = Vec::new();
            let mut is_through = false;
            for &triangle in &near {
                let corners = self.triangles[triangle as usize];
                if corners.iter().any(|corner| edge.ends.contains(corner)) {
                    continue;
                }
                match self.passage([p, q], triangle as usize, least) {
                    Passage::None => {}
                    Passage::Inside => is_through = true,
                    Passage::Edge(side, inwards) => {
                        let ends = [corners[side], corners[(side + 1) % 3]];
                        let key = [ends[0].min(ends[1]), ends[0].max(ends[1])];
                        is_through |= met.contains(&(key, inwards));
                        met.push((key, inwards));
                    }
                }
            }
            if is_through {
                found.add((p + q) / 2.0);
            }
        }
        found
    }

    /// How a segment passes a triangle.
    fn passage(&self, [p, q]: [DVec3; 2], triangle: usize, least: f64) -> Passage {
        let [a, b, c] = self.corners(triangle);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let (above, below) = (normal.dot(p - a), normal.dot(q - a));
        if above.abs() <= least || below.abs() <= least || above * below > 0.0 {
            return Passage::None;
        }
        let signs = [(a, b), (b, c), (c, a)].map(|(x, y)| sense([p, q], [x, y], least));
        let has = |sign: i32| signs.contains(&sign);
        match signs.iter().filter(|sign| **sign == 0).count() {
            _ if has(1) && has(-1) => Passage::None,
            0 => Passage::Inside,
            1 => Passage::Edge(signs.iter().position(|sign| *sign == 0).expect("there is one"), above > 0.0),
            _ => Passage::None,
        }
    }
}

/// How a segment passes a triangle: through its inside, or through one of its edges, inwards or
/// outwards.
enum Passage {
    None,
    Inside,
    Edge(usize, bool),
}

/// The sense in which the line from `p` to `q` sees the way from `x` to `y`; zero when the two lines
/// are nearer than the least depth, in metres, or within rounding.
fn sense([p, q]: [DVec3; 2], [x, y]: [DVec3; 2], least: f64) -> i32 {
    let (d, u, v) = (q - p, x - p, y - p);
    let plus = d.abs().dot(DVec3::new(
        (u.y * v.z).abs() + (u.z * v.y).abs(),
        (u.z * v.x).abs() + (u.x * v.z).abs(),
        (u.x * v.y).abs() + (u.y * v.x).abs(),
    ));
    let determinant = d.dot(u.cross(v));
    // Six volumes of the tetrahedron of both: the distance of the lines times the area between them.
    let nearest = f64::max(least * d.cross(y - x).length(), DETERMINANT_ROUNDING * plus);
    if determinant.abs() <= nearest { 0 } else { determinant.signum() as i32 }
}

/// `1 triangle`, `2 triangles`.
fn triangles(count: usize) -> String {
    format!("{count} triangle{}", if count == 1 { "" } else { "s" })
}

/// A box along the axes.
#[derive(Clone, Copy)]
struct Box3 {
    low: DVec3,
    high: DVec3,
}

impl Box3 {
    fn of(surface: &TriangleSurface, triangles: &[u32]) -> Self {
        let mut it = Self { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };
        for corner in triangles.iter().flat_map(|&triangle| surface.corners(triangle as usize)) {
            it.low = it.low.min(corner);
            it.high = it.high.max(corner);
        }
        it
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.low.cmple(other.high).all() && other.low.cmple(self.high).all()
    }

    fn holds(&self, other: &Self) -> bool {
        self.low.cmple(other.low).all() && other.high.cmple(self.high).all()
    }
}

/// A tree of boxes over triangles: halves along the longest axis, down to a few.
struct Tree {
    nodes: Vec<Node>,
    order: Vec<u32>,
    boxes: Vec<Box3>,
}

struct Node {
    around: Box3,
    /// The second child of an inner node, of which the first one is the next; zero for a leaf.
    second: usize,
    first: usize,
    end: usize,
}

impl Tree {
    fn new(surface: &TriangleSurface) -> Self {
        let count = surface.triangles.len() as u32;
        let boxes = (0..count).map(|triangle| Box3::of(surface, &[triangle])).collect();
        let mut tree = Self { nodes: Vec::new(), order: (0..count).collect(), boxes };
        tree.divide(0, count as usize);
        tree
    }

    fn divide(&mut self, first: usize, end: usize) {
        let mut around = Box3 { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };
        for &triangle in &self.order[first..end] {
            around.low = around.low.min(self.boxes[triangle as usize].low);
            around.high = around.high.max(self.boxes[triangle as usize].high);
        }
        let number = self.nodes.len();
        self.nodes.push(Node { around, second: 0, first, end });
        if end - first <= LEAF {
            return;
        }
        let (size, half) = ((around.high - around.low).to_array(), (first + end) / 2);
        let axis = (0..3).max_by(|&a, &b| size[a].total_cmp(&size[b])).expect("three axes");
        let boxes = &self.boxes;
        let key = |triangle: &u32| boxes[*triangle as usize].low.to_array()[axis];
        let by_place = |a: &u32, b: &u32| key(a).total_cmp(&key(b)).then(a.cmp(b));
        self.order[first..end].select_nth_unstable_by(half - first, by_place);
        self.divide(first, half);
        self.nodes[number].second = self.nodes.len();
        self.divide(half, end);
    }

    /// The triangles whose boxes meet a box.
    fn overlapping(&self, around: &Box3, found: &mut Vec<u32>) {
        found.clear();
        let mut waiting = vec![0];
        while let Some(number) = waiting.pop() {
            let node = &self.nodes[number];
            if !node.around.overlaps(around) {
                continue;
            }
            if node.second > 0 {
                waiting.extend([node.second, number + 1]);
                continue;
            }
            let inside = self.order[node.first..node.end].iter();
            found.extend(inside.filter(|&&triangle| self.boxes[triangle as usize].overlaps(around)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cube of edge 2 around a point, facing outwards, with the points of each triangle its own.
    fn cube(middle: DVec3, half: f64) -> TriangleSurface {
        let corner =
            |i: u32| middle + half * DVec3::from_array([1, 2, 4].map(|bit| if i & bit > 0 { 1.0 } else { -1.0 }));
        let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        let corners = faces.iter().flat_map(|&[a, b, c, d]| [a, b, c, a, c, d]);
        let vertices: Vec<DVec3> = corners.map(corner).collect();
        let triangles = (0..12).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        TriangleSurface { vertices, triangles }
    }

    fn joined(parts: &[TriangleSurface]) -> TriangleSurface {
        let mut all = TriangleSurface::default();
        for part in parts {
            let shift = all.vertices.len() as u32;
            all.vertices.extend(&part.vertices);
            all.triangles.extend(part.triangles.iter().map(|triangle| triangle.map(|corner| corner + shift)));
        }
        all
    }

    fn reversed(mut surface: TriangleSurface) -> TriangleSurface {
        surface.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
        surface
    }

    const STRICT: SurfaceRules = SurfaceRules { must_be_closed: true, repair: false };
    const REPAIR: SurfaceRules = SurfaceRules { must_be_closed: true, repair: true };

    fn faults(surface: TriangleSurface, rules: SurfaceRules) -> Vec<(SurfaceFaultKind, usize)> {
        surface.check(rules).unwrap_err().faults.iter().map(|fault| (fault.kind, fault.count)).collect()
    }

    #[test]
    fn a_cube_passes_and_is_counted() {
        let found = cube(DVec3::new(5.0, 0.0, -0.0), 1.0).check(STRICT).unwrap();
        assert_eq!((found.surface.vertices.len(), found.is_closed, found.notes.len()), (8, true, 0));
        let census = found.surface.census();
        assert_eq!((census.edge_count, census.euler_number(), census.component_count), (18, 2, 1));
        assert!((census.volume - 8.0).abs() < 1e-13 && (census.area - 24.0).abs() < 1e-13);
        // Halves of squares: height √2 over the longest edge 2 √2.
        assert!((census.thinnest - 0.5).abs() < 1e-15);
    }

    #[test]
    fn faults_are_counted_and_have_a_place() {
        let mut open = cube(DVec3::ZERO, 1.0);
        open.triangles.remove(0);
        let error = open.clone().check(STRICT).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("3 open edges (the first at [-1.000000e0, "), "{message}");
        assert!(message.ends_with("of 11 triangles"), "{message}");
        assert!(
            open.clone().check(SurfaceRules { must_be_closed: false, repair: false }).is_ok_and(|it| !it.is_closed)
        );
        // A hole is no seam.
        assert_eq!(faults(open, REPAIR), [(SurfaceFaultKind::OpenEdge, 3)]);

        assert_eq!(faults(TriangleSurface::default(), STRICT), [(SurfaceFaultKind::Empty, 1)]);
        let one_point = TriangleSurface { vertices: vec![DVec3::ONE], triangles: vec![[0, 0, 0]] };
        assert!(faults(one_point.clone(), STRICT).contains(&(SurfaceFaultKind::Degenerate, 1)));
        assert_eq!(faults(one_point, REPAIR), [(SurfaceFaultKind::Empty, 1)]);
        let mut infinite = cube(DVec3::ZERO, 1.0);
        infinite.vertices[3].x = f64::NAN;
        assert_eq!(faults(infinite, REPAIR), [(SurfaceFaultKind::NotFinite, 1)]);
        let mut unknown = cube(DVec3::ZERO, 1.0);
        unknown.triangles[2][1] = 36;
        assert_eq!(faults(unknown, REPAIR), [(SurfaceFaultKind::NoSuchVertex, 1)]);

        let square = TriangleSurface {
            vertices: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::X + DVec3::Y],
            triangles: vec![[0, 1, 2], [1, 3, 2], [0, 2, 3], [0, 3, 1]],
        };
        assert_eq!(faults(square, STRICT), [(SurfaceFaultKind::NoVolume, 1)]);
        // Two cubes with a common edge: four triangles at it.
        let touching = joined(&[cube(DVec3::ZERO, 1.0), cube(DVec3::new(2.0, 2.0, 0.0), 1.0)]);
        assert_eq!(faults(touching, REPAIR), [(SurfaceFaultKind::NonManifoldEdge, 1)]);
    }

    #[test]
    fn what_can_be_repaired_is() {
        let mut dirty = cube(DVec3::ZERO, 1.0);
        dirty.triangles.push(dirty.triangles[4]);
        dirty.triangles.push([0, 1, 1]);
        dirty.triangles[7].swap(0, 1);
        let found = faults(dirty.clone(), STRICT);
        assert!(
            found.contains(&(SurfaceFaultKind::Degenerate, 1)) && found.contains(&(SurfaceFaultKind::Duplicate, 1))
        );
        let repaired = dirty.check(REPAIR).unwrap();
        assert_eq!(repaired.surface.triangles.len(), 12);
        assert!((repaired.surface.mass_properties().mass - 8.0).abs() < 1e-13);
        assert_eq!(
            repaired.notes,
            [
                "1 triangle dropped: degenerate",
                "1 triangle dropped: there twice",
                "1 triangle turned to face the side of their neighbours",
            ]
        );
        // Points of seven digits: 1e-7 of the size apart, joined; 1e-5, not.
        for (shift, is_joined) in [(2e-7, true), (2e-5, false)] {
            let mut seam = cube(DVec3::ZERO, 1.0);
            seam.vertices[4] += DVec3::splat(shift);
            assert_eq!(faults(seam.clone(), STRICT)[0].0, SurfaceFaultKind::OpenEdge);
            assert_eq!(seam.check(REPAIR).is_ok(), is_joined, "{shift}");
        }
        let inside_out = reversed(cube(DVec3::ZERO, 1.0));
        assert_eq!(faults(inside_out.clone(), STRICT), [(SurfaceFaultKind::InsideOut, 1)]);
        assert!((inside_out.check(REPAIR).unwrap().surface.mass_properties().mass - 8.0).abs() < 1e-13);
    }

    #[test]
    fn cavities_face_inwards() {
        let (outside, inside) = (cube(DVec3::ZERO, 1.0), cube(DVec3::new(0.1, 0.2, 0.3), 0.5));
        let hollow = joined(&[outside.clone(), reversed(inside.clone())]);
        assert!((hollow.check(STRICT).unwrap().surface.mass_properties().mass - 7.0).abs() < 1e-13);
        let nested = joined(&[outside.clone(), inside]);
        assert_eq!(faults(nested.clone(), STRICT), [(SurfaceFaultKind::InsideOut, 1)]);
        assert!((nested.check(REPAIR).unwrap().surface.mass_properties().mass - 7.0).abs() < 1e-13);
        // Beside it, and not in it.
        let beside = joined(&[outside, cube(DVec3::new(5.0, 0.0, 0.0), 1.0)]);
        assert_eq!(beside.check(STRICT).unwrap().notes, ["the surface has 2 components, which are one body"]);
    }

    #[test]
    fn edges_through_the_surface_are_found() {
        let at = |shift: DVec3| joined(&[cube(DVec3::ZERO, 1.0), cube(shift, 1.0)]);
        // Corner into corner: three edges of each cube go through the other one, and at most the
        // three diagonals at that corner. By one half they meet the diagonals of the other faces.
        for shift in [DVec3::ONE, DVec3::new(1.2, 1.3, 1.1), DVec3::splat(1.9999)] {
            let found = faults(at(shift), STRICT);
            assert!(matches!(found[..], [(SurfaceFaultKind::SelfIntersection, 6..=12)]), "{shift}: {found:?}");
        }
        // Apart, touching on a part of a face, and by rounding too deep.
        for shift in [DVec3::new(2.5, 0.0, 0.0), DVec3::new(2.0, 0.5, 0.3), DVec3::new(2.0 - 1e-8, 0.5, 0.3)] {
            assert!(at(shift).check(STRICT).is_ok(), "{shift}");
        }
    }
}
