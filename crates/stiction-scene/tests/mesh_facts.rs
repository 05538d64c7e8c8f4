//! Surfaces made by others, against what another program counted in them (`facts.csv`, written by
//! trimesh): vertices, faces, whether they are closed, volume, area, centre and inertia. Without the
//! folder of these files, given by `STICTION_MODELS` or found beside the sources, there is nothing
//! to compare, and the test says so.

use std::fs;
use std::path::{Path, PathBuf};

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{SurfaceFaultKind, SurfaceRules, TriangleSurface};
use stiction_scene::mesh_file::{MeshFormat, read_mesh};

fn models() -> Option<PathBuf> {
    let named = std::env::var_os("STICTION_MODELS").map(PathBuf::from);
    let near = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/models"));
    let places = named.into_iter().chain(near).chain([PathBuf::from("/work/shared/models")]);
    let found = places.into_iter().find(|folder| folder.join("mesh/facts.csv").is_file());
    if found.is_none() {
        eprintln!("skipped: there is no folder of models with mesh/facts.csv; STICTION_MODELS names one");
    }
    found
}

fn read(path: &Path) -> Result<stiction_scene::mesh_file::MeshFile, String> {
    let format = MeshFormat::of(path).ok_or("no format")?;
    let mut beside = |name: &str| fs::read(path.with_file_name(name)).map_err(|error| error.to_string());
    read_mesh(&fs::read(path).map_err(|error| error.to_string())?, format, &mut beside)
        .map_err(|error| error.to_string())
}

/// The same in the axes of the file: of glTF, in which y is up.
fn in_file_axes(surface: &mut TriangleSurface, path: &Path) {
    if MeshFormat::of(path) == Some(MeshFormat::Gltf) {
        surface.vertices.iter_mut().for_each(|x| *x = DVec3::new(x.x, x.z, -x.y));
    }
}

/// Facts have nine digits, and trimesh computes with the four bytes of the file where it has them.
const DIGITS: f64 = 3e-7;

/// Files whose points are equal to their last digit but one only. The other program takes points at a
/// distance of 1e-8 for one; here that is a repair.
const SEAMS: [&str; 1] = ["featuretype.STL"];

#[test]
fn surfaces_of_others_have_the_facts() {
    let Some(models) = models() else { return };
    let table = fs::read_to_string(models.join("mesh/facts.csv")).unwrap();
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut count = 0;
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let field = |name: &str| fields[names.iter().position(|other| *other == name).unwrap()];
        let number = |name: &str| field(name).parse::<f64>().unwrap();
        let vector = |name: &str| field(name).split(' ').map(|word| word.parse().unwrap()).collect::<Vec<f64>>();
        let file = field("file");
        let path = models.join(file);
        count += 1;
        if field("loads") != "yes" {
            let error = read(&path).unwrap_err();
            assert!(error.contains("no triangles"), "{file}: {error}");
            continue;
        }
        let mut surface = read(&path).unwrap_or_else(|error| panic!("{file}: {error}")).joined();
        in_file_axes(&mut surface, &path);
        if SEAMS.iter().any(|name| file.ends_with(name)) {
            assert!(surface.census().open.count > 0, "{file} has no seam");
            let rules = SurfaceRules { must_be_closed: false, repair: true };
            surface = surface.check(rules).unwrap_or_else(|error| panic!("{file}: {error}")).surface;
        }
        let census = surface.census();
        assert_eq!(census.triangle_count as f64, number("faces"), "{file}");
        assert_eq!(census.is_closed(), field("watertight") == "True", "{file}: {census:?}");
        assert_eq!(census.winding.count == 0, field("winding_consistent") == "True", "{file}: {census:?}");
        assert_eq!(census.euler_number() as f64, number("euler"), "{file}: {census:?}");
        assert_eq!(census.component_count as f64, number("components"), "{file}");
        assert_eq!(census.duplicate.count as f64, number("duplicate_faces"), "{file}");
        assert_eq!(census.degenerate.count as f64, number("degenerate_faces"), "{file}");
        if ["glb", "gltf"].contains(&field("kind")) {
            assert_eq!(surface.vertices.len() as f64, number("vertices"), "{file}");
        }
        if file.ends_with("polygonfaces.obj") {
            continue; // its polygon is not in a plane: the area depends on how it is divided
        }
        let area = number("area");
        if file.ends_with("shoe_collision.obj") {
            // It has concave faces, of which a fan covers more than there is.
            assert!(census.area < area, "{file}: {} {area}", census.area);
        } else {
            assert!((census.area - area).abs() <= DIGITS * area, "{file}: {} {area}", census.area);
        }
        if field("centroid").is_empty() {
            continue;
        }
        // Relative to a box of the size: a surface far from the origin loses digits.
        let size = surface.size();
        let properties = surface.mass_properties();
        let (volume, centre) = (number("volume"), DVec3::from_slice(&vector("centroid")));
        assert!((properties.mass - volume).abs() <= DIGITS * volume.abs(), "{file}: {} {volume}", properties.mass);
        assert!((properties.centre - centre).length() <= DIGITS * size, "{file}: {} {centre}", properties.centre);
        for (axis, expected) in vector("inertia_diag_unit_density").into_iter().enumerate() {
            let found = properties.inertia.to_cols_array_2d()[axis][axis];
            assert!((found - expected).abs() <= 10.0 * DIGITS * expected, "{file}: {found} {expected}");
        }
    }
    assert_eq!(count, 45);
}

/// Which of them are bodies, and why the others are not.
#[test]
fn surfaces_of_others_are_bodies_or_refused() {
    use SurfaceFaultKind::{Duplicate, NonManifoldEdge, OpenEdge};
    let Some(models) = models() else { return };
    let refused: &[(&str, &[SurfaceFaultKind])] = &[
        ("trimesh/soup.stl", &[OpenEdge]),
        ("trimesh/featuretype.STL", &[OpenEdge]),
        ("trimesh/not_convex.obj", &[NonManifoldEdge]),
        ("trimesh/polygonfaces.obj", &[OpenEdge]),
        ("trimesh/plane.ply", &[OpenEdge]),
        ("drake/two_inverted_faces.obj", &[OpenEdge]),
        ("trimesh/joined_tetrahedra.obj", &[Duplicate, NonManifoldEdge]),
        ("trimesh/two_objects.obj", &[NonManifoldEdge]),
        ("trimesh/TestScene.gltf", &[OpenEdge]),
    ];
    let table = fs::read_to_string(models.join("mesh/facts.csv")).unwrap();
    let mut wrong = Vec::new();
    for line in table.lines().skip(1).filter(|line| line.split(',').nth(3) == Some("yes")) {
        let file = line.split(',').next().unwrap();
        let surface = read(&models.join(file)).unwrap_or_else(|error| panic!("{file}: {error}")).joined();
        let found = surface.check(SurfaceRules { must_be_closed: true, repair: false });
        let kinds: Vec<SurfaceFaultKind> =
            found.as_ref().err().map_or(Vec::new(), |error| error.faults.iter().map(|fault| fault.kind).collect());
        let expected = refused.iter().find(|(name, _)| file.ends_with(name)).map_or(&[][..], |(_, kinds)| kinds);
        if kinds != expected {
            wrong.push(format!("{file}: {kinds:?} {}", found.err().map_or(String::new(), |error| error.to_string())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Files with points and without triangles.
const POINTS: [&str; 4] =
    ["collision_convex/cone.obj", "collision_convex/die.obj", "collision_convex/sphere.obj", "user/testdata/cube.obj"];

/// Every surface of the robots of others can be read.
#[test]
fn surfaces_of_robots_are_read() {
    let Some(models) = models() else { return };
    let mut waiting = vec![models.join("urdf"), models.join("mjcf"), models.join("sdf")];
    let (mut count, mut wrong) = (0, Vec::new());
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if MeshFormat::of(&path).is_some() {
                count += 1;
                if let Err(error) = read(&path)
                    && !POINTS.iter().any(|name| path.ends_with(name) && error.contains("no triangles"))
                {
                    wrong.push(format!("{}: {error}", path.display()));
                }
            }
        }
    }
    wrong.sort();
    assert!(count > 100 && wrong.is_empty(), "{count} {wrong:#?}");
}
