//! Surfaces from files: every format, files that lie, paths that leave, and runs that outlive their
//! files.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use stiction_bodies::TriangleSurface;
use stiction_bodies::glamx::DVec3;
use stiction_scene::mesh_file::{MeshFile, MeshFormat, read_mesh};
use stiction_scene::summary::Origin;
use stiction_scene::{Loaded, Severity, lint, load, parse};

const NONE_BESIDE: fn(&str) -> Result<Vec<u8>, String> = |name| Err(format!("there is no {name}"));

fn read(bytes: &[u8], name: &str) -> Result<MeshFile, String> {
    let format = MeshFormat::of(Path::new(name)).unwrap();
    read_mesh(bytes, format, &mut { NONE_BESIDE }).map_err(|error| error.to_string())
}

/// A box from the origin to a corner, facing outwards.
fn cuboid(far: DVec3) -> TriangleSurface {
    let vertices = (0..8u32).map(|i| far * DVec3::from_array([1, 2, 4].map(|bit| f64::from(u32::from(i & bit > 0)))));
    let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let triangles = faces.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    TriangleSurface { vertices: vertices.collect(), triangles }
}

fn stl(surface: &TriangleSurface, title: &str) -> Vec<u8> {
    let mut out = title.as_bytes().to_vec();
    out.resize(80, b' ');
    out.extend((surface.triangles.len() as u32).to_le_bytes());
    for triangle in &surface.triangles {
        out.extend([0; 12]);
        for x in triangle.iter().flat_map(|&corner| surface.vertices[corner as usize].to_array()) {
            out.extend((x as f32).to_le_bytes());
        }
        out.extend([0; 2]);
    }
    out
}

fn obj(surface: &TriangleSurface) -> String {
    let points = surface.vertices.iter().map(|x| format!("v {} {} {}\r\n", x.x, x.y, x.z));
    let faces = surface.triangles.iter().map(|[a, b, c]| format!("f {}/1/1 {}//2 {}\r\n", a + 1, b + 1, c + 1));
    points.chain(faces).collect()
}

/// Volume and centre of what a file holds, in its unit.
fn volume(file: &MeshFile) -> (f64, DVec3) {
    let properties = file.joined().mass_properties();
    (properties.mass, properties.centre)
}

const CORNER: DVec3 = DVec3::new(1.0, 2.0, 3.0);

fn assert_is_box(file: &MeshFile, what: &str) {
    let (found, centre) = volume(file);
    assert!((found - 6.0).abs() < 1e-13, "{what}: {found}");
    assert!((centre - CORNER / 2.0).length() < 1e-14, "{what}: {centre}");
}

#[test]
fn a_box_in_every_text() {
    let surface = cuboid(CORNER);
    assert_is_box(&read(&stl(&surface, "solid but binary"), "a.STL").unwrap(), "binary STL");
    assert_is_box(&read(obj(&surface).as_bytes(), "a.obj").unwrap(), "OBJ");

    let mut text = "solid a box\n".to_owned();
    for triangle in &surface.triangles {
        text += "facet normal 0 0 0\n OUTER LOOP\n";
        for &corner in triangle {
            let x = surface.vertices[corner as usize];
            text += &format!("  vertex {:e} {:e} {:e}\n", x.x, x.y, x.z);
        }
        text += " endloop\nendfacet\n";
    }
    let file = read(format!("{text}endsolid\n").as_bytes(), "a.stl").unwrap();
    assert_eq!(file.parts[0].name, "a box");
    assert_is_box(&file, "STL as text");

    // Faces of four corners by numbers from the end, in two objects.
    let mut text = String::new();
    for (name, faces) in
        [("one", &[[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4]]), ("two", &[[2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]])]
    {
        text += &format!("o {name}\n");
        surface.vertices.iter().for_each(|x| text += &format!("v {} {} {} 0.5 0.5 0.5\n", x.x, x.y, x.z));
        for face in faces {
            text += &format!("f {} \\\n {} {} {} # a face\n", face[0] - 8, face[1] - 8, face[2] - 8, face[3] - 8);
        }
    }
    let file = read(text.as_bytes(), "a.obj").unwrap();
    assert_eq!(file.parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_is_box(&file, "OBJ with objects");
}

#[test]
fn a_box_in_every_ply() {
    let surface = cuboid(CORNER);
    for (format, is_big) in [("ascii", false), ("binary_little_endian", false), ("binary_big_endian", true)] {
        let mut out = format!(
            "ply\r\nformat {format} 1.0\r\ncomment x\r\nelement vertex 8\r\nproperty uchar red\r\nproperty double x\r\n\
             property float y\r\nproperty short z\r\nelement face 12\r\nproperty list uchar int vertex_index\r\n\
             property list ushort float more\r\nend_header\r\n"
        )
        .into_bytes();
        let order = |bytes: &[u8]| if is_big { bytes.iter().rev().copied().collect() } else { bytes.to_vec() };
        for x in &surface.vertices {
            if format == "ascii" {
                out.extend(format!("255 {} {} {}\n", x.x, x.y, x.z).bytes());
                continue;
            }
            out.push(255);
            out.extend(order(&x.x.to_le_bytes()));
            out.extend(order(&(x.y as f32).to_le_bytes()));
            out.extend(order(&(x.z as i16).to_le_bytes()));
        }
        for triangle in &surface.triangles {
            if format == "ascii" {
                out.extend(format!("3 {} {} {}\n2 0.5 nan\n", triangle[0], triangle[1], triangle[2]).bytes());
                continue;
            }
            out.push(3);
            triangle.iter().for_each(|corner| out.extend(order(&corner.to_le_bytes())));
            out.extend(order(&1u16.to_le_bytes()));
            out.extend([0; 4]);
        }
        assert_is_box(&read(&out, "a.ply").unwrap(), format);
    }
}

/// A box of 24 points is turned from the axes of glTF, $y$ up, and moved and mirrored by nodes.
fn gltf(buffer: &str, bytes: usize, transform: &str) -> String {
    format!(
        r#"{{"asset": {{"version": "2.0"}}, "scene": 0, "scenes": [{{"nodes": [0]}}],
        "nodes": [{{"children": [1], {transform}}}, {{"mesh": 0, "name": "the box"}}],
        "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}, "indices": 1}}]}}],
        "accessors": [
            {{"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3", "min": [0, 0, 0], "max": [1, 2, 3]}},
            {{"bufferView": 1, "componentType": 5123, "count": 36, "type": "SCALAR"}}],
        "bufferViews": [{{"buffer": 0, "byteLength": 96}}, {{"buffer": 0, "byteOffset": 96, "byteLength": 72}}],
        "buffers": [{{"byteLength": {bytes}{buffer}}}]}}"#
    )
}

fn gltf_buffer() -> Vec<u8> {
    let surface = cuboid(CORNER);
    let numbers = surface.vertices.iter().flat_map(|x| x.to_array()).flat_map(|x| (x as f32).to_le_bytes());
    numbers.chain(surface.triangles.iter().flatten().flat_map(|corner| (*corner as u16).to_le_bytes())).collect()
}

#[test]
fn a_box_in_every_gltf() {
    let buffer = gltf_buffer();
    // Beside the text, with a space in its name; moved by (1, 0, 0), and y up becomes z up.
    let text = gltf(r#", "uri": "a%20b.bin""#, buffer.len(), r#""translation": [1, 0, 0]"#);
    let mut beside = |name: &str| if name == "a b.bin" { Ok(buffer.clone()) } else { Err(name.to_owned()) };
    let file = read_mesh(text.as_bytes(), MeshFormat::Gltf, &mut beside).unwrap();
    assert_eq!((file.parts[0].name.as_str(), file.unit), ("the box", Some(1.0)));
    let (found, centre) = volume(&file);
    assert!((found - 6.0).abs() < 1e-13 && (centre - DVec3::new(1.5, -1.5, 1.0)).length() < 1e-13, "{centre}");

    // In a binary file, mirrored: it still faces outwards.
    let text = gltf("", buffer.len(), r#""scale": [-2, 1, 1]"#);
    let text = format!("{text}{}", " ".repeat(text.len().next_multiple_of(4) - text.len()));
    let mut whole = b"glTF".to_vec();
    let length = 12 + 8 + text.len() + 8 + buffer.len();
    whole.extend([2, length as u32, text.len() as u32].iter().flat_map(|word| word.to_le_bytes()));
    whole.extend(b"JSON");
    whole.extend(text.bytes());
    whole.extend((buffer.len() as u32).to_le_bytes());
    whole.extend(b"BIN\0");
    whole.extend(&buffer);
    let (found, centre) = volume(&read(&whole, "a.glb").unwrap());
    assert!((found - 12.0).abs() < 1e-13 && (centre - DVec3::new(-1.0, -1.5, 1.0)).length() < 1e-13, "{centre}");

    // Counts that lie, and buffers that are not there.
    for (from, to, words) in [
        ("\"count\": 36", "\"count\": 4000000000", "counts 4000000000 elements"),
        ("\"byteLength\": 168", "\"byteLength\": 4000000000", "of 4000000000 bytes"),
        ("\"children\": [1]", "\"children\": [0]", "no tree"),
    ] {
        let text = gltf(r#", "uri": "a%20b.bin""#, buffer.len(), r#""translation": [1, 0, 0]"#).replace(from, to);
        let error = read_mesh(text.as_bytes(), MeshFormat::Gltf, &mut beside).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let text = gltf(r#", "uri": "data:application/octet-stream;base64,AAAA""#, 168, r#""translation": [1, 0, 0]"#);
    let error = read(text.as_bytes(), "a.gltf").unwrap_err();
    assert!(error.contains("of 168 bytes, and 3 are there"), "{error}");
    assert!(read(&whole[..40], "a.glb").unwrap_err().contains("bytes"));
}

#[test]
fn a_box_in_collada() {
    let surface = cuboid(CORNER);
    let numbers: Vec<String> = surface.vertices.iter().flat_map(|x| x.to_array()).map(|x| x.to_string()).collect();
    // Every corner has a normal beside it, of which there is one.
    let corners: Vec<String> = surface.triangles.iter().flatten().map(|corner| format!("{corner} 0")).collect();
    let text = |up: &str, lists: &str| {
        format!(
            r##"<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
            <asset><unit meter="0.001"/><up_axis>{up}</up_axis></asset>
            <library_geometries><geometry id="g" name="box"><mesh>
            <source id="p"><float_array id="a" count="24">{}</float_array><technique_common>
            <accessor source="#a" count="8" stride="3"/></technique_common></source>
            <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>{lists}</mesh></geometry></library_geometries>
            <library_visual_scenes><visual_scene id="s"><node name="n"><rotate>0 0 1 90</rotate>
            <translate>1 0 0</translate><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
            <scene><instance_visual_scene url="#s"/></scene></COLLADA>"##,
            numbers.join(" ")
        )
    };
    let inputs =
        r##"<input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>"##;
    let triangles = format!("<triangles count=\"12\">{inputs}<p>{}</p></triangles>", corners.join(" "));
    let threes = vec!["3"; 12].join(" ");
    let polylist =
        format!("<polylist count=\"12\">{inputs}<vcount>{threes}</vcount><p>{}</p></polylist>", corners.join(" "));
    // Moved by 1 along x, then turned by 90 degrees: (x + 1, y, z) becomes (-y, x + 1, z).
    for (up, lists, expected) in [
        ("Z_UP", &triangles, DVec3::new(-1.0, 1.5, 1.5)),
        ("Z_UP", &polylist, DVec3::new(-1.0, 1.5, 1.5)),
        ("Y_UP", &triangles, DVec3::new(-1.0, -1.5, 1.5)),
        ("X_UP", &triangles, DVec3::new(-1.5, -1.5, -1.0)),
    ] {
        let file = read(text(up, lists).as_bytes(), "a.dae").unwrap();
        assert_eq!((file.unit, file.parts[0].name.as_str()), (Some(0.001), "n"));
        let (found, centre) = volume(&file);
        assert!((found - 6.0).abs() < 1e-13 && (centre - expected).length() < 1e-13, "{up}: {centre}");
    }
    for (lists, words) in [
        (polylist.replace("<vcount>3", "<vcount>999999999999"), "and 36 are there"),
        (triangles.replace("<p>0", "<p>8"), "names point 8, and there are 8"),
        (triangles.replace("#v", "#w"), "its points are not there"),
    ] {
        let error = read(text("Z_UP", &lists).as_bytes(), "a.dae").unwrap_err();
        assert!(error.starts_with("line ") && error.contains(words), "{error}");
    }
    assert!(read(b"<COLLADA>", "a.dae").unwrap_err().contains("no valid XML"));
}

#[test]
fn headers_that_lie_cost_nothing() {
    let surface = cuboid(CORNER);
    let mut lying = stl(&surface, "x");
    lying[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = read(&lying, "a.stl").unwrap_err();
    assert_eq!(error, "its header counts 4294967295 triangles, which take 214748364834 bytes, but it has 684");
    lying.truncate(84);
    assert!(read(&lying, "a.stl").unwrap_err().contains("but it has 84"));
    assert!(read(&stl(&surface, "x")[..600], "a.stl").unwrap_err().contains("which take 684 bytes, but it has 600"));
    let header = |format: &str, vertices: &str, faces: &str| {
        format!(
            "ply\nformat {format} 1.0\nelement vertex {vertices}\nproperty float x\nproperty float y\nproperty float z\n\
             element face {faces}\nproperty list uint int vertex_indices\nend_header\n"
        )
    };
    for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
        for (vertices, faces) in [("99999999999999999", "1"), ("0", "99999999999999999")] {
            let error = read(header(format, vertices, faces).as_bytes(), "a.ply").unwrap_err();
            assert!(error.contains("counts 99999999999999999 of"), "{error}");
        }
    }
    // The length of a list.
    let mut list = header("binary_little_endian", "0", "1").into_bytes();
    list.extend(u32::MAX.to_le_bytes());
    assert!(read(&list, "a.ply").unwrap_err().contains("a list of 4294967295 numbers goes beyond the end"));
}

#[test]
fn mistakes_have_their_line() {
    for (name, text, words) in [
        ("a.obj", "v 0 0 0\nv 1 0 0\nf 1 2 3\n", "line 3: a face names point 3, and there are 2 before it"),
        ("a.obj", "v 0 0 0\nf 0 1 1\n", "line 2: a face names point 0"),
        ("a.obj", "v 0 0 zero\n", "line 1: `zero` is not a number"),
        ("a.obj", "v 0 0 nan\n", "line 1: `nan` is not finite"),
        ("a.obj", "v 0 0 0\nv 1 0 0\nf 1 2\n", "line 3: a face has 2 corners"),
        ("a.obj", "", "no triangles"),
        ("a.stl", "", "0 bytes are too few"),
        ("a.stl", "solid x\nendsolid x\n", "no triangles"),
        ("a.stl", "solid x\nfacet\nvertex 0 0 0\nendfacet\n", "line 4: a facet has 1 vertices"),
        ("a.stl", "solid x\nfacet\nvertex 0 0 0\n", "line 3: it ends in the middle"),
        ("a.stl", "solid x\nvertex 0 0 0\n", "line 2: a vertex outside"),
        ("a.ply", "plx\n", "line 1: it does not begin"),
        ("a.ply", "ply\nformat ascii 1.0\n", "its header has no end"),
        ("a.ply", "ply\nend_header\n", "line 2: the header names no format"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty real x\n", "line 4: `real` is no type"),
        ("a.gltf", "{}", "no valid glTF"),
        ("a.dae", "<a/>", "no triangles"),
    ] {
        let error = read(text.as_bytes(), name).unwrap_err();
        assert!(error.contains(words), "{name}: {error}");
    }
}

/// A scene in a folder: a part that lies on a floor.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("scene").join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Loads a scene whose one body has this shape.
    fn scene(&self, shape: &str) -> Result<Loaded, String> {
        self.scene_of("", "density = 1000.0", shape)
    }

    fn scene_of(&self, top: &str, kind: &str, shape: &str) -> Result<Loaded, String> {
        let text = format!(
            "format = 1\nname = \"part\"\ndimension = \"space\"\ngravity = [0.0, 0.0, -9.81]\n\
             run = {{ step = 0.01, end = 0.05 }}\n{top}\n[[material]]\nname = \"steel\"\nfriction = 0.5\n\
             [[body]]\nname = \"part\"\nmaterial = \"steel\"\n{kind}\n[[body.shape]]\n{shape}\n"
        );
        self.put("part.toml", text.as_bytes());
        load(self.path("part.toml").to_str().unwrap(), &[]).map_err(|error| format!("{error}; {}", error.remedy()))
    }
}

#[test]
fn a_mesh_has_its_mass_in_metres() {
    let home = Home::new();
    home.put("parts/box.stl", &stl(&cuboid(100.0 * CORNER), "x"));
    let keys = "unit = \"mm\", centred = true";
    let loaded = home.scene(&format!("mesh = {{ file = \"parts/box.stl\", {keys} }}")).unwrap();
    let stiction_bodies::BodyKind::Rigid { mass, inertia } = loaded.system().bodies().unwrap().model().bodies[0].kind
    else {
        panic!("it is rigid")
    };
    // 0.1 by 0.2 by 0.3 m of 1000 kg/m³: 6 kg, and m/12 (b² + c²) about x.
    assert!((mass - 6.0).abs() < 1e-12, "{mass}");
    assert!((inertia.x_axis.x - 0.5 * (0.04 + 0.09)).abs() < 1e-13);
    let hull = home.scene(&format!("hull = {{ file = \"parts/box.stl\", {keys} }}")).unwrap();
    let stiction_bodies::BodyKind::Rigid { mass, .. } = hull.system().bodies().unwrap().model().bodies[0].kind else {
        panic!("it is rigid")
    };
    assert!((mass - 6.0).abs() < 1e-12, "{mass}");
    // Without a unit it looks like millimetres, also when it is static.
    let large = home.scene_of("", "kind = \"static\"", "mesh = { file = \"parts/box.stl\" }").unwrap();
    let findings = lint(&large);
    let found = findings.iter().find(|finding| finding.message.contains("does not say its unit"));
    assert!(found.is_some_and(|finding| finding.severity == Severity::Warning && finding.place.contains(":15:")));
    // Off the origin: what to do is said.
    let error = home.scene("mesh = { file = \"parts/box.stl\", unit = \"mm\" }").unwrap_err();
    assert!(error.contains("the origin of a body is its centre of mass"), "{error}");
}

#[test]
fn paths_stay_in_the_folder() {
    let home = Home::new();
    let bytes = stl(&cuboid(CORNER), "x");
    home.put("box.stl", &bytes);
    home.put("../outside.stl", &bytes);
    let absolute = home.path("box.stl").display().to_string();
    let refused = |path: &str| home.scene(&format!("mesh = {{ file = \"{path}\", centred = true }}")).unwrap_err();
    assert!(refused(&absolute).contains("is an absolute path"));
    assert!(refused("../outside.stl").contains("leaves it by `..`"));
    assert!(refused("a/../../outside.stl").contains("leaves it by `..`"));
    assert!(refused("missing.stl").contains("cannot read"));
    assert!(refused(".").contains("names no format"));
    assert!(refused("box.step").contains("names no format"));
    assert!(refused("").contains("names no format") || refused("").contains("empty"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(home.path("../outside.stl"), home.path("link.stl")).unwrap();
        assert!(refused("link.stl").contains("is a link out of it"));
        assert!(refused("link.stl").contains("part.toml:15:"));
    }
    fs::create_dir(home.path("folder.stl")).unwrap();
    assert!(refused("folder.stl").contains("is not a file"));
    for path in [absolute.as_str(), "../outside.stl", "box.stl"] {
        let shape = format!("mesh = {{ file = \"{path}\", centred = true }}");
        home.scene_of("allow-outside = true", "density = 1000.0", &shape).unwrap();
    }
}

#[test]
fn broken_surfaces_are_refused_with_their_place() {
    let home = Home::new();
    let mut open = cuboid(CORNER);
    open.triangles.pop();
    home.put("open.stl", &stl(&open, "x"));
    let error = home.scene("mesh = { file = \"open.stl\", centred = true }").unwrap_err();
    assert!(error.contains("3 open edges (the first at [") && error.contains("of 11 triangles"), "{error}");
    assert!(error.contains("part.toml:15:"), "{error}");
    // Terrain may be open.
    home.scene_of("", "kind = \"static\"", "mesh = { file = \"open.stl\" }").unwrap();
    let mut reversed = cuboid(CORNER);
    reversed.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
    home.put("reversed.obj", obj(&reversed).as_bytes());
    let error = home.scene("mesh = { file = \"reversed.obj\", centred = true }").unwrap_err();
    assert!(error.contains("1 part inside out") && error.contains("repair = true"), "{error}");
    let repaired = home.scene("mesh = { file = \"reversed.obj\", centred = true, repair = true }").unwrap();
    let note = lint(&repaired).into_iter().find(|finding| finding.message.contains("turned inside out"));
    assert!(note.is_some_and(|note| note.severity == Severity::Note && note.message.contains("12 triangles")));
    let error = home.scene("mesh = { file = \"reversed.obj\", part = \"lid\" }").unwrap_err();
    assert!(error.contains("has no part `lid`"), "{error}");
    let error = home.scene("mesh = { file = \"reversed.obj\", scale = 0.0 }").unwrap_err();
    assert!(error.contains("the scale is 0.0"), "{error}");
    home.put("point.obj", b"v 1 1 1\nf 1 1 1\n");
    for (keys, words) in [("", "degenerate triangle"), (", repair = true", "surface without triangles")] {
        let error = home.scene(&format!("mesh = {{ file = \"point.obj\"{keys} }}")).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    for (shape, words) in [
        ("hull = { points = [[0, 0, 0], [1, 0, 0], [0, 1, 0]] }", "at least 4 are needed"),
        ("hull = { points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]] }", "no hull"),
        ("hull = { }", "the hull has no points"),
        ("hull = { points = [[0, 0, 0]], file = \"point.obj\" }", "both `points` and `file`"),
        ("height-field = { size = [1.0, 1.0], heights = [[0, 0], [0, 0]] }", "cannot have a height field"),
    ] {
        let error = home.scene(shape).unwrap_err();
        assert!(error.contains(words), "{shape}: {error}");
    }
}

#[test]
fn terrain_is_a_grid() {
    let home = Home::new();
    home.put("grid.csv", b"# heights\n0, 1, 2\n3; 4; 5\n");
    let ground = |keys: &str| {
        let loaded =
            home.scene_of("", "kind = \"static\"", &format!("height-field = {{ size = [4.0, 2.0], {keys} }}"))?;
        match &loaded.system().bodies().unwrap().model().bodies[0].shapes[0].placed.shape {
            stiction_bodies::Shape::Mesh(mesh) => Ok(mesh.vertices().to_vec()),
            other => panic!("{other:?}"),
        }
    };
    let points: Vec<[f64; 3]> =
        ground("file = \"grid.csv\", scale = 0.5").unwrap().iter().map(|x| x.to_array()).collect();
    assert_eq!(points[0], [-2.0, -1.0, 0.0]);
    assert_eq!(points[1], [0.0, -1.0, 0.5]);
    assert_eq!(points[5], [2.0, 1.0, 2.5]);
    assert_eq!(ground("heights = [[0, 0.5, 1], [1.5, 2, 2.5]]").unwrap().len(), 6);
    let refused = |keys: &str| ground(keys).map(|_| ()).map_err(|error: String| error).unwrap_err();
    assert!(refused("heights = [[0, 1], [1]]").contains("row 2 has 1 height"));
    assert!(refused("heights = [[0, 1]]").contains("at least two rows"));
    assert!(refused("heights = []").contains("at least two rows"));
    home.put("grid.csv", b"0 1\n2 x\n");
    assert!(refused("file = \"grid.csv\"").contains("line 2: `x` is not a number"));
    home.put("grid.csv", b"0 1\n2\n");
    assert!(refused("file = \"grid.csv\"").contains("line 2: this row has 1 heights"));
}

#[test]
fn shapes_of_points_in_the_plane() {
    let text = |shape: &str| {
        format!(
            "format = 1\nname = \"flat\"\ndimension = \"plane\"\ngravity = [0.0, -9.81]\nrun = {{ step = 0.01, end = 0.1 }}\n\
             [[material]]\nname = \"steel\"\nfriction = 0.5\n[[body]]\nname = \"ground\"\nkind = \"static\"\n\
             material = \"steel\"\n[[body.shape]]\n{shape}\n"
        )
    };
    parse(&text("polygon = { points = [[0, 0], [1, 0], [0, 1]] }"), "x.toml").unwrap();
    parse(&text("polyline = { points = [[0, 0], [1, 0], [2, 1]] }"), "x.toml").unwrap();
    parse(&text("polyline = { points = [[0, 0], [1, 0], [0, 1]], closed = true }"), "x.toml").unwrap();
    for (shape, words) in [
        ("polygon = { points = [[0, 0], [1, 0]] }", "no polygon"),
        ("polygon = { points = [[0, 0], [1, 0], [0.2, 0.2], [0, 1]] }", "concave"),
        ("polyline = { points = [[0, 0]] }", "no polyline"),
        ("polygon = { points = [[0, 0, 0]] }", "a list of 2 numbers"),
        ("mesh = { file = \"a.stl\" }", "there is no mesh in the plane"),
    ] {
        let error = parse(&text(shape), "x.toml").unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("x.toml:14:"), "{shape}: {error}");
    }
}

/// A run keeps what it needs: it runs again to the same digest when the files are gone, and tells
/// which one changed while it ran.
#[test]
fn a_run_outlives_its_files() {
    let home = Home::new();
    home.put("box.stl", &stl(&cuboid(0.1 * CORNER), "x"));
    home.put("grid.txt", b"0 0 0\n0 0.1 0\n0 0 0\n");
    home.put("lid.obj", obj(&cuboid(0.1 * CORNER)).as_bytes());
    let more = "[[body]]\nname = \"lid\"\nmaterial = \"steel\"\ndensity = 500.0\nposition = [0.0, 0.0, 3.0]\n\
                shape = [{ hull = { file = \"lid.obj\", centred = true } }]\n\
                [[body]]\nname = \"ground\"\nkind = \"static\"\nmaterial = \"steel\"\nposition = [5.0, 0.0, -2.0]\n\
                shape = [{ height-field = { size = [4.0, 4.0], file = \"grid.txt\" } }]\n\
                [[ignore]]\ngroups = [\"default\", \"default\"]";
    let loaded = home.scene(&format!("mesh = {{ file = \"box.stl\", centred = true }}\n{more}")).unwrap();
    assert_eq!(loaded.files().len(), 3);
    let out = home.path("run");
    let mut observer = |_: &_| ControlFlow::Continue(());
    home.put("lid.obj", b"v 0 0 0\n");
    let first = stiction_scene::run::run(&loaded, &out, &Origin::default(), &mut observer).unwrap();
    let changed: Vec<bool> = first.summary.files.iter().map(|file| file.has_changed).collect();
    assert_eq!(
        first.summary.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
        ["box.stl", "lid.obj", "grid.txt"]
    );
    assert_eq!(changed, [false, true, false]);
    assert!(first.summary.certificate.notes.iter().any(|note| note.contains("`lid.obj` has changed")));

    for name in ["box.stl", "lid.obj", "grid.txt"] {
        fs::remove_file(home.path(name)).unwrap();
    }
    let again = load(out.join("scene.toml").to_str().unwrap(), &[]).unwrap();
    let copy = stiction_scene::run::run(&again, &home.path("copy"), &Origin::default(), &mut observer).unwrap();
    assert_eq!(copy.summary.digest, first.summary.digest);
    assert_eq!(copy.summary.scene_sha256, first.summary.scene_sha256);
    // And again into the first folder: what it reads is what it replaces.
    let third = stiction_scene::run::run(&again, &out, &Origin::default(), &mut observer).unwrap();
    assert_eq!(third.summary.digest, first.summary.digest);
    assert_eq!(fs::read_dir(out.join("surfaces")).unwrap().count(), 1);
    assert!(!home.path("run.old.partial").exists());
}

/// A U of 3 by 2 by 1 with a notch 1 by 1: two pieces and a bridge.
#[test]
fn pieces_are_kept_beside_the_scene() {
    let home = Home::new();
    let outline = [(0, 0), (3, 0), (3, 2), (2, 2), (2, 1), (1, 1), (1, 2), (0, 2)];
    let mut text = String::new();
    for z in [0, 1] {
        outline.iter().for_each(|(x, y)| text += &format!("v {x} {y} {z}\n"));
    }
    text += "f 8 7 6 5 4 3 2 1\nf 9 10 11 12 13 14 15 16\n";
    (1..=8).for_each(|i| text += &format!("f {i} {} {} {}\n", i % 8 + 1, i % 8 + 9, i + 8));
    home.put("u.obj", text.as_bytes());
    let shape = "decompose = { file = \"u.obj\", pieces = 8, resolution = 32, centred = true }";
    let loaded = home.scene(shape).unwrap();
    let pieces = |loaded: &Loaded| loaded.system().bodies().unwrap().model().bodies[0].shapes.clone();
    let found = pieces(&loaded);
    assert!((2..=8).contains(&found.len()), "{}", found.len());
    // Hulls of parts of a box of cells: at most the hull, of volume 6, at least the body, of 5, to a
    // cell of 3/32 along the notch.
    let volumes = found
        .iter()
        .map(|it| stiction_bodies::mass_properties(&it.placed.shape, stiction_bodies::Dimension::Space, 1.0));
    let volume: f64 = volumes.map(|it| it.unwrap().mass).sum();
    assert!((5.0 - 0.5..5.0 + 0.5).contains(&volume), "{volume}");
    let cache: Vec<_> =
        fs::read_dir(home.path(".stiction-cache")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(cache.len(), 1);
    let kept = fs::read(&cache[0]).unwrap();
    assert_eq!(pieces(&home.scene(shape).unwrap()), found);
    // Read from there, and left alone where it is something else.
    fs::write(&cache[0], "mine\n").unwrap();
    let other = home.scene(shape).unwrap();
    assert_eq!(pieces(&other), found);
    assert_eq!(fs::read(&cache[0]).unwrap(), b"mine\n");
    assert!(lint(&other).iter().any(|finding| finding.message.contains("are not kept")));
    fs::write(&cache[0], kept).unwrap();
    let error = home.scene("decompose = { file = \"u.obj\", pieces = 0 }").unwrap_err();
    assert!(error.contains("`pieces` is 0") && error.contains("from 1 to 256"), "{error}");
}
