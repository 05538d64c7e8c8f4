//! The tables of schemes, contact methods and pairs of shapes in `docs/scene-format.md` are what the
//! code says of itself.

use stiction_bodies::collide::{is_supported, never_meet};
use stiction_bodies::glamx::DVec3;
use stiction_bodies::{Dimension, Mesh, Polygon, Polyline, Polytope, Shape};
use stiction_dynamics::{ContactMethod, Impacts, Named, Overlap, SchemeSettings};

const DOCUMENT: &str = include_str!("../../../docs/scene-format.md");

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn line(cells: &[&str]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The short forms of a name on the command line.
fn short(named: &Named) -> String {
    let forms: Vec<String> = named.forms().skip(1).collect();
    if forms.is_empty() { "–".to_owned() } else { forms.join(", ") }
}

#[test]
fn the_table_of_schemes_is_theirs() {
    let mut table = line(&[
        "scheme",
        "impacts",
        "clutches, pre-stressed springs",
        "friction polygons in space",
        "stiff forces",
        "overlap at the start",
        "short forms",
    ]);
    table += "|---|---|---|---|---|---|---|\n";
    for scheme in SchemeSettings::all() {
        let facts = scheme.facts();
        let impacts = match facts.impacts {
            Impacts::Inelastic => "inelastic",
            Impacts::Newton => "Newton",
            Impacts::NewtonAndPoisson => "Newton, Poisson",
        };
        let overlap = match facts.overlap {
            Overlap::Ended => "ended by the first step".to_owned(),
            Overlap::Fading(rate) => format!("fades with `{rate}`"),
            Overlap::Kept => "kept".to_owned(),
        };
        table += &line(&[
            &format!("`{}`", facts.named.name),
            impacts,
            yes(facts.one_way),
            yes(facts.polygons),
            yes(facts.stiff_forces),
            &overlap,
            &short(&facts.named),
        ]);
    }
    assert!(DOCUMENT.contains(&table), "docs/scene-format.md needs this table:\n{table}");
}

#[test]
fn the_table_of_methods_is_theirs() {
    let mut table = line(&["method", "what it is", "friction sets", "exact in space", "short forms"]);
    table += "|---|---|---|---|---|\n";
    for method in ContactMethod::all() {
        let facts = method.facts();
        let name = format!("`{}`", facts.named.name);
        table += &line(&[&name, facts.named.summary, facts.sets.meaning(), yes(facts.is_exact), &short(&facts.named)]);
    }
    assert!(DOCUMENT.contains(&table), "docs/scene-format.md needs this table:\n{table}");
}

/// A name is the key of its table, and stands in the JSON Schema with its summary.
#[test]
fn names_are_keys_of_scenes() {
    let schema = stiction_scene::Scene::schema();
    for scheme in SchemeSettings::all() {
        let Named { name, summary, .. } = scheme.facts().named;
        assert_eq!(serde_json::to_value(&scheme).unwrap().as_object().unwrap().keys().next().unwrap(), name);
        let variants = schema["$defs"]["SchemeSettings"]["oneOf"].as_array().unwrap();
        let variant = variants.iter().find(|variant| variant["properties"].get(name).is_some()).unwrap();
        assert_eq!(variant["description"], summary);
        scheme.check().unwrap();
    }
    for method in ContactMethod::all() {
        let Named { name, summary, .. } = method.facts().named;
        assert_eq!(serde_json::to_value(&method).unwrap().as_object().unwrap().keys().next().unwrap(), name);
        let variants = schema["$defs"]["ContactMethod"]["oneOf"].as_array().unwrap();
        let variant = variants.iter().find(|variant| variant["properties"].get(name).is_some()).unwrap();
        assert_eq!(variant["description"], summary);
        method.check(2).unwrap();
    }
}

/// A shape of each kind, by the word of scene files.
fn shapes(dimension: Dimension) -> Vec<(&'static str, Shape)> {
    let e = DVec3::splat(0.5);
    let half_space = Shape::HalfSpace { normal: DVec3::Y, offset: 0.0 };
    let (ball, hole) = (Shape::Sphere { radius: 0.5 }, Shape::Cavity { radius: 5.0 });
    let capsule = Shape::Capsule { half_length: 0.5, radius: 0.1 };
    let cuboid = Shape::Cuboid { half_extents: e };
    let round = Shape::Ellipsoid { semi_axes: DVec3::new(0.3, 0.2, 0.1) };
    let corners = [DVec3::ZERO, DVec3::X, DVec3::Y];
    if dimension == Dimension::Plane {
        let polygon = Polygon::new(corners.to_vec()).unwrap();
        let chain = Polyline::new(vec![DVec3::ZERO, DVec3::X], false).unwrap();
        return vec![
            ("half-plane", half_space),
            ("disc", ball),
            ("capsule", capsule),
            ("box", cuboid),
            ("polygon", Shape::Polygon(polygon.into())),
            ("polyline", Shape::Polyline(chain.into())),
            ("ellipse", round),
            ("ring", hole),
        ];
    }
    let points = [corners.as_slice(), &[DVec3::Z]].concat();
    let triangles = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    vec![
        ("half-space", half_space),
        ("sphere", ball),
        ("capsule", capsule),
        ("box", cuboid),
        ("hull", Shape::Polytope(Polytope::hull(&points).unwrap().into())),
        ("mesh", Shape::Mesh(Mesh::new(points, triangles).unwrap().into())),
        ("cylinder", Shape::Cylinder { radius: 0.2, half_length: 0.5 }),
        ("cone", Shape::Cone { radius: 0.2, half_height: 0.5 }),
        ("endless cylinder", Shape::Cylinder { radius: 0.2, half_length: f64::INFINITY }),
        ("ellipsoid", round),
        ("cavity", hole),
        ("tube", Shape::Tube { radius: 0.4 }),
    ]
}

#[test]
fn the_tables_of_pairs_are_those_of_the_code() {
    let mut missing = String::new();
    for dimension in [Dimension::Plane, Dimension::Space] {
        let shapes = shapes(dimension);
        let names: Vec<&str> = [""].into_iter().chain(shapes.iter().map(|(name, _)| *name)).collect();
        let mut table = line(&names) + &format!("{}|\n", "|---".repeat(names.len()));
        for (i, (name, first)) in shapes.iter().enumerate() {
            let cell = |(j, (_, second)): (usize, &(&str, Shape))| match is_supported(dimension, first, second) {
                _ if j > i => "",
                _ if never_meet(first, second) => "never",
                true => "yes",
                false => "no",
            };
            let cells: Vec<&str> = [*name].into_iter().chain(shapes.iter().enumerate().map(cell)).collect();
            table += &line(&cells);
        }
        if !DOCUMENT.contains(&table) {
            missing += &format!("{table}\n");
        }
    }
    assert!(missing.is_empty(), "docs/scene-format.md needs\n{missing}");
}
