//! COLLADA: geometries of triangles and polygons, placed by a tree of nodes. The file says the
//! length of its unit and which axis is up.

use std::collections::HashMap;

use roxmltree::{Document, Node};
use stiction_bodies::glamx::{DMat3, DQuat, DVec3};
use stiction_solve::PortableMath as _;

use super::{Affine, MeshFile, MeshFileError, MeshPart, SharedPoints, number, shown};

/// Deepest node of a tree: deeper ones are nodes that hold themselves.
const DEEPEST: usize = 100;

/// Most geometries that nodes place: nodes may name nodes that name nodes.
const MOST_PARTS: usize = 10_000;

pub(super) fn read(bytes: &[u8]) -> Result<MeshFile, MeshFileError> {
    let text = std::str::from_utf8(bytes).map_err(|_| MeshFileError::new("it is not a text"))?;
    let document = Document::parse(text).map_err(|error| MeshFileError::new(format!("it is no valid XML: {error}")))?;
    let ids = document.descendants().filter_map(|node| Some((node.attribute("id")?, node))).collect();
    let mut reader = Reader { document: &document, ids, parts: Vec::new() };
    let asset = child(document.root_element(), "asset");
    let unit = asset.and_then(|asset| child(asset, "unit")?.attribute("meter"));
    let unit = unit.map_or(Ok(1.0), |word| number(word, 1))?;
    if unit <= 0.0 {
        return Err(MeshFileError::new(format!("its unit is {unit} m")));
    }
    let up = match asset.and_then(|asset| child(asset, "up_axis")?.text()).map(str::trim) {
        Some("Z_UP") => Affine::IDENTITY,
        // X up, Y to the left and Z towards the viewer become Z up, -X and -Y.
        Some("X_UP") => Affine { matrix: DMat3::from_cols(DVec3::Z, -DVec3::X, -DVec3::Y), shift: DVec3::ZERO },
        _ => Affine::y_up(),
    };
    let scene = document.descendants().find(|node| node.has_tag_name_of("instance_visual_scene"));
    match scene.and_then(|scene| reader.target(scene)) {
        Some(scene) => nodes(scene, "node").try_for_each(|node| reader.node(node, &up, 0))?,
        None => {
            for geometry in document.descendants().filter(|node| node.has_tag_name_of("geometry")) {
                reader.geometry(geometry, geometry.attribute("name"), &up)?;
            }
        }
    }
    Ok(MeshFile { parts: reader.parts, unit: Some(unit) })
}

/// Names without their namespace: files have several, or none.
trait LocalName {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.tag_name().name() == name
    }
}

fn nodes<'a, 'd>(node: Node<'a, 'd>, name: &'static str) -> impl Iterator<Item = Node<'a, 'd>> {
    node.children().filter(move |child| child.has_tag_name_of(name))
}

fn child<'a, 'd>(node: Node<'a, 'd>, name: &'static str) -> Option<Node<'a, 'd>> {
    nodes(node, name).next()
}

struct Reader<'a, 'd> {
    document: &'a Document<'d>,
    ids: HashMap<&'a str, Node<'a, 'd>>,
    parts: Vec<MeshPart>,
}

impl<'a, 'd> Reader<'a, 'd> {
    fn fault(&self, node: Node<'_, '_>, message: impl AsRef<str>) -> MeshFileError {
        MeshFileError::at_line(self.line(node), message)
    }

    fn line(&self, node: Node<'_, '_>) -> usize {
        self.document.text_pos_at(node.range().start).row as usize
    }

    /// What the attribute `url` or `source` names: `#id`.
    fn target(&self, node: Node<'_, '_>) -> Option<Node<'a, 'd>> {
        let name = node.attribute("url").or_else(|| node.attribute("source"))?;
        self.ids.get(name.strip_prefix('#')?).copied()
    }

    fn numbers(&self, node: Node<'_, '_>, count: usize) -> Result<Vec<f64>, MeshFileError> {
        let words = node.text().unwrap_or_default().split_whitespace();
        let found = words.map(|word| number(word, self.line(node))).collect::<Result<Vec<_>, _>>()?;
        if found.len() == count {
            return Ok(found);
        }
        let name = node.tag_name().name();
        Err(self.fault(node, format!("`{name}` has {} numbers in place of {count}", found.len())))
    }

    fn node(&mut self, node: Node<'a, 'd>, above: &Affine, depth: usize) -> Result<(), MeshFileError> {
        if depth > DEEPEST || self.parts.len() > MOST_PARTS {
            return Err(self.fault(node, "its nodes hold themselves, or there are too many"));
        }
        let mut to_top = *above;
        for step in node.children().filter(Node::is_element) {
            to_top = to_top.after(&self.step(step)?);
        }
        let name = node.attribute("name").or_else(|| node.attribute("id"));
        for inner in node.children().filter(Node::is_element) {
            match inner.tag_name().name() {
                "node" => self.node(inner, &to_top, depth + 1)?,
                "instance_node" => {
                    let target = self.target(inner).ok_or_else(|| self.fault(inner, "it names an unknown node"))?;
                    self.node(target, &to_top, depth + 1)?;
                }
                "instance_geometry" => {
                    let target = self.target(inner).ok_or_else(|| self.fault(inner, "it names an unknown geometry"))?;
                    self.geometry(target, name.or(target.attribute("name")), &to_top)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// One of the maps that a node lists; none for other elements.
    fn step(&self, step: Node<'_, '_>) -> Result<Affine, MeshFileError> {
        Ok(match step.tag_name().name() {
            "matrix" => {
                let m = self.numbers(step, 16)?;
                let column = |k: usize| DVec3::new(m[k], m[4 + k], m[8 + k]);
                Affine { matrix: DMat3::from_cols(column(0), column(1), column(2)), shift: column(3) }
            }
            "translate" => Affine { matrix: DMat3::IDENTITY, shift: DVec3::from_slice(&self.numbers(step, 3)?) },
            "scale" => {
                let scale = DVec3::from_slice(&self.numbers(step, 3)?);
                Affine { matrix: DMat3::from_diagonal(scale), shift: DVec3::ZERO }
            }
            "rotate" => {
                let r = self.numbers(step, 4)?;
                let axis = DVec3::from_slice(&r).try_normalize().ok_or_else(|| self.fault(step, "the axis is zero"))?;
                let (sine, cosine) = (0.5 * r[3].to_radians()).portable_sin_cos();
                let DVec3 { x, y, z } = sine * axis;
                let turn = DQuat::from_xyzw(x, y, z, cosine);
                Affine { matrix: DMat3::from_quat(turn), shift: DVec3::ZERO }
            }
            name @ ("lookat" | "skew") => return Err(self.fault(step, format!("`{name}` is not read"))),
            _ => Affine::IDENTITY,
        })
    }

    fn geometry(&mut self, geometry: Node<'a, 'd>, name: Option<&str>, to_top: &Affine) -> Result<(), MeshFileError> {
        let Some(mesh) = child(geometry, "mesh") else { return Ok(()) };
        let mut part = MeshPart { name: name.unwrap_or_default().to_owned(), ..MeshPart::default() };
        // Lists of triangles may have points of their own; mostly they share them.
        let mut shared: Option<(&str, SharedPoints)> = None;
        for list in
            mesh.children().filter(|node| matches!(node.tag_name().name(), "triangles" | "polylist" | "polygons"))
        {
            let inputs: Vec<_> = nodes(list, "input").collect();
            let offset = |input: &Node<'_, '_>| input.attribute("offset").and_then(|word| word.parse::<usize>().ok());
            let input = inputs.iter().find(|input| input.attribute("semantic") == Some("VERTEX"));
            let input = input.ok_or_else(|| self.fault(list, "it names no points"))?;
            let stride = inputs.iter().filter_map(offset).max().unwrap_or(0) + 1;
            let source = input.attribute("source").unwrap_or_default();
            if shared.as_ref().is_none_or(|(name, _)| *name != source) {
                let points = SharedPoints { points: self.points(*input)?, numbers: Vec::new() };
                // Another list of points: none of them is in the part yet.
                shared = Some((source, points));
            }
            let (_, shared) = shared.as_mut().expect("it was set");
            for corners in self.polygons(list, stride, offset(input).unwrap_or(0))? {
                let count = shared.points.len();
                if let Some(unknown) = corners.iter().find(|corner| **corner >= count) {
                    let message = format!("a triangle names point {unknown}, and there are {count}, from 0");
                    return Err(self.fault(list, message));
                }
                if corners.len() > 2 {
                    shared.add_polygon(&corners, &mut part, 0).map_err(|message| self.fault(list, message))?;
                }
            }
        }
        to_top.apply(&mut part.surface);
        self.parts.push(part);
        Ok(())
    }

    /// The points that an input names, by way of `vertices`.
    fn points(&self, input: Node<'_, '_>) -> Result<Vec<DVec3>, MeshFileError> {
        let missing = || self.fault(input, "its points are not there");
        let vertices = self.target(input).ok_or_else(missing)?;
        let position = nodes(vertices, "input").find(|input| input.attribute("semantic") == Some("POSITION"));
        let source = self.target(position.ok_or_else(missing)?).ok_or_else(missing)?;
        let array = child(source, "float_array").ok_or_else(missing)?;
        let accessor = source.descendants().find(|node| node.has_tag_name_of("accessor"));
        let count = |name: &str| accessor.and_then(|node| node.attribute(name)?.parse::<usize>().ok());
        let (stride, offset) = (count("stride").unwrap_or(3).max(3), count("offset").unwrap_or(0));
        let words = array.text().unwrap_or_default().split_whitespace();
        let line = self.line(array);
        let all = words.map(|word| number(word, line)).collect::<Result<Vec<_>, _>>()?;
        let all = all.get(offset..).unwrap_or_default();
        Ok(all.chunks(stride).filter(|x| x.len() >= 3).map(DVec3::from_slice).collect())
    }

    /// The corners of each polygon of a list.
    fn polygons(&self, list: Node<'_, '_>, stride: usize, offset: usize) -> Result<Vec<Vec<usize>>, MeshFileError> {
        let whole = |node: Node<'_, '_>| {
            let line = self.line(node);
            let fault = move |word: &str| MeshFileError::at_line(line, format!("`{}` is not a count", shown(word)));
            let words = node.text().unwrap_or_default().split_whitespace();
            words.map(|word| word.parse::<usize>().map_err(|_| fault(word))).collect::<Result<Vec<_>, _>>()
        };
        let corners = |numbers: &[usize]| numbers.chunks_exact(stride).map(|all| all[offset]).collect::<Vec<_>>();
        if list.has_tag_name_of("polygons") {
            return nodes(list, "p").map(|p| Ok(corners(&whole(p)?))).collect();
        }
        let Some(p) = child(list, "p") else { return Ok(Vec::new()) };
        let all = corners(&whole(p)?);
        let counts = match child(list, "vcount") {
            Some(counts) if list.has_tag_name_of("polylist") => whole(counts)?,
            _ => vec![3; all.len() / 3],
        };
        let needed = counts.iter().fold(0usize, |sum, count| sum.saturating_add(*count));
        if needed > all.len() {
            return Err(self.fault(list, format!("its polygons have {needed} corners, and {} are there", all.len())));
        }
        let mut rest = all.as_slice();
        let mut take = |count: &usize| {
            let (first, left) = rest.split_at(*count);
            rest = left;
            first.to_vec()
        };
        Ok(counts.iter().map(&mut take).collect())
    }
}
