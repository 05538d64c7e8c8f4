//! glTF 2.0: a tree of nodes with meshes, their numbers in buffers that are in the file, in its
//! text or in files beside it. Units are metres, and $y$ is up.
//!
//! The library reads the text; numbers are taken from the buffers here, where every range is
//! checked.

use gltf::accessor::{DataType, Dimensions};
use gltf::buffer::Source;
use gltf::mesh::Mode;
use gltf::scene::Transform;
use gltf::{Accessor, Gltf, Node, Primitive, Semantic};
use stiction_bodies::TriangleSurface;
use stiction_bodies::glamx::{DMat3, DQuat, DVec3};

use super::{Affine, Bytes, MeshFile, MeshFileError, MeshPart};

/// The kind of the part of a binary file that is its text.
const JSON: &[u8] = b"JSON";

/// The kind of the buffer.
const BIN: &[u8] = b"BIN\0";

pub(super) fn read(
    bytes: &[u8],
    beside: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<MeshFile, MeshFileError> {
    let (text, blob) = if bytes.starts_with(b"glTF") { chunks(bytes)? } else { (bytes, None) };
    let gltf = Gltf::from_slice(text).map_err(|error| MeshFileError::new(format!("it is no valid glTF: {error}")))?;
    let mut buffers = Vec::new();
    for buffer in gltf.buffers() {
        let data = match buffer.source() {
            Source::Bin => blob.ok_or_else(|| MeshFileError::new("a buffer is in no file"))?.to_vec(),
            Source::Uri(uri) => match uri.strip_prefix("data:") {
                Some(data) => embedded(data)?,
                None => beside(&unescaped(uri)?).map_err(MeshFileError::new)?,
            },
        };
        if data.len() < buffer.length() {
            let (index, wanted, found) = (buffer.index(), buffer.length(), data.len());
            return Err(MeshFileError::new(format!("buffer {index} is of {wanted} bytes, and {found} are there")));
        }
        buffers.push(data);
    }
    let mut reader = Reader { buffers, parts: Vec::new(), nodes_left: 4 * gltf.nodes().len() + 1 };
    let up = Affine::y_up();
    match gltf.default_scene().or_else(|| gltf.scenes().next()) {
        Some(scene) => scene.nodes().try_for_each(|node| reader.node(&node, &up, 0))?,
        None => {
            for mesh in gltf.meshes() {
                let name = mesh.name().unwrap_or_default();
                reader.primitives(name, mesh.primitives(), &up)?;
            }
        }
    }
    Ok(MeshFile { parts: reader.parts, unit: Some(1.0) })
}

/// The text and the buffer of a binary file.
fn chunks(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), MeshFileError> {
    let word = |four: &[u8]| u32::from_le_bytes([four[0], four[1], four[2], four[3]]) as usize;
    let mut rest = Bytes { left: bytes };
    let header = rest.take(12)?;
    let (version, length) = (word(&header[4..]), word(&header[8..]));
    if version != 2 || length > bytes.len() {
        let found = bytes.len();
        let message =
            format!("its header says version {version} and {length} bytes; read is version 2, and {found} are there");
        return Err(MeshFileError::new(message));
    }
    let (mut text, mut blob) = (None, None);
    while rest.left.len() >= 8 {
        let header = rest.take(8)?;
        let data = rest.take(word(header))?;
        match &header[4..] {
            kind if kind == JSON && text.is_none() => text = Some(data),
            kind if kind == BIN && blob.is_none() => blob = Some(data),
            _ => {}
        }
    }
    Ok((text.ok_or_else(|| MeshFileError::new("it has no text"))?, blob))
}

/// The bytes of `application/octet-stream;base64,AAAA`.
fn embedded(data: &str) -> Result<Vec<u8>, MeshFileError> {
    let digits = data.split_once(";base64,").ok_or_else(|| MeshFileError::new("an embedded buffer is not base64"))?.1;
    let mut out = Vec::with_capacity(digits.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for digit in digits.bytes().filter(|digit| *digit != b'=') {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return Err(MeshFileError::new("an embedded buffer is not base64")),
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    Ok(out)
}

/// A name in which `%20` stands for a space.
fn unescaped(uri: &str) -> Result<String, MeshFileError> {
    let mut out = Vec::with_capacity(uri.len());
    let mut bytes = uri.bytes();
    while let Some(byte) = bytes.next() {
        let digits = if byte == b'%' { bytes.next().zip(bytes.next()) } else { None };
        let value = digits.and_then(|(a, b)| Some((a as char).to_digit(16)? * 16 + (b as char).to_digit(16)?));
        out.push(value.map_or(byte, |value| value as u8));
    }
    String::from_utf8(out).map_err(|_| MeshFileError::new("the name of a buffer is not a text"))
}

struct Reader {
    buffers: Vec<Vec<u8>>,
    parts: Vec<MeshPart>,
    /// Nodes that may still come: a tree has each one once.
    nodes_left: usize,
}

impl Reader {
    fn node(&mut self, node: &Node<'_>, above: &Affine, depth: usize) -> Result<(), MeshFileError> {
        const DEEPEST: usize = 200;
        self.nodes_left = self.nodes_left.saturating_sub(1);
        if self.nodes_left == 0 || depth > DEEPEST {
            return Err(MeshFileError::new("its nodes are no tree"));
        }
        let to_top = above.after(&affine(&node.transform()));
        if let Some(mesh) = node.mesh() {
            let name = node.name().or(mesh.name()).unwrap_or_default();
            self.primitives(name, mesh.primitives(), &to_top)?;
        }
        node.children().try_for_each(|child| self.node(&child, &to_top, depth + 1))
    }

    fn primitives<'a>(
        &mut self,
        name: &str,
        primitives: impl Iterator<Item = Primitive<'a>>,
        to_top: &Affine,
    ) -> Result<(), MeshFileError> {
        let mut whole = TriangleSurface::default();
        for primitive in primitives {
            let Some(positions) = primitive.get(&Semantic::Positions) else { continue };
            let shift = whole.vertices.len() as u32;
            let points = self.points(&positions)?;
            let indices = match primitive.indices() {
                Some(accessor) => self.indices(&accessor)?,
                None => (0..points.len() as u32).collect(),
            };
            if let Some(unknown) = indices.iter().find(|index| **index as usize >= points.len()) {
                let count = points.len();
                return Err(MeshFileError::new(format!(
                    "a triangle names point {unknown}, and there are {count}, from 0"
                )));
            }
            whole.vertices.extend(points);
            let at = |i: usize| indices[i] + shift;
            let strip = indices.len().saturating_sub(2);
            match primitive.mode() {
                Mode::Triangles => {
                    whole.triangles.extend(indices.chunks_exact(3).map(|three| [0, 1, 2].map(|i| three[i] + shift)));
                }
                Mode::TriangleStrip => {
                    whole.triangles.extend((0..strip).map(|i| [at(i), at(i + 1 + i % 2), at(i + 2 - i % 2)]));
                }
                Mode::TriangleFan => whole.triangles.extend((0..strip).map(|i| [at(0), at(i + 1), at(i + 2)])),
                Mode::Points | Mode::Lines | Mode::LineLoop | Mode::LineStrip => {}
            }
        }
        to_top.apply(&mut whole);
        self.parts.push(MeshPart { name: name.to_owned(), surface: whole });
        Ok(())
    }

    /// The bytes of each element of an accessor.
    fn elements(&self, accessor: &Accessor<'_>) -> Result<Vec<&[u8]>, MeshFileError> {
        let fault = |what: &str| MeshFileError::new(format!("accessor {} {what}", accessor.index()));
        if accessor.sparse().is_some() {
            return Err(fault("is sparse; write the part without compression"));
        }
        let view = accessor.view().ok_or_else(|| fault("has no buffer"))?;
        let data = &self.buffers[view.buffer().index()];
        let end = view.offset().checked_add(view.length()).ok_or_else(|| fault("is beyond its buffer"))?;
        let data = data.get(view.offset()..end).ok_or_else(|| fault("is beyond its buffer"))?;
        let (size, count) = (accessor.size(), accessor.count());
        let stride = view.stride().unwrap_or(size).max(1);
        let needed = count
            .checked_sub(1)
            .and_then(|most| most.checked_mul(stride)?.checked_add(size)?.checked_add(accessor.offset()));
        if count > 0 && needed.is_none_or(|needed| needed > data.len()) {
            return Err(fault(&format!("counts {count} elements, more than its {} bytes hold", data.len())));
        }
        let start = |i: usize| accessor.offset() + i * stride;
        Ok((0..count).map(|i| &data[start(i)..start(i) + size]).collect())
    }

    fn points(&self, accessor: &Accessor<'_>) -> Result<Vec<DVec3>, MeshFileError> {
        if (accessor.data_type(), accessor.dimensions()) != (DataType::F32, Dimensions::Vec3) {
            return Err(MeshFileError::new("its points are not three numbers of four bytes"));
        }
        let number = |four: &[u8]| f64::from(f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        let point = |x: &[u8]| DVec3::new(number(x), number(&x[4..]), number(&x[8..]));
        Ok(self.elements(accessor)?.into_iter().map(point).collect())
    }

    fn indices(&self, accessor: &Accessor<'_>) -> Result<Vec<u32>, MeshFileError> {
        if accessor.dimensions() != Dimensions::Scalar {
            return Err(MeshFileError::new("its corners are not numbers"));
        }
        let number: fn(&[u8]) -> u32 = match accessor.data_type() {
            DataType::U8 => |x| u32::from(x[0]),
            DataType::U16 => |x| u32::from(u16::from_le_bytes([x[0], x[1]])),
            DataType::U32 => |x| u32::from_le_bytes([x[0], x[1], x[2], x[3]]),
            _ => return Err(MeshFileError::new("its corners are not whole numbers")),
        };
        Ok(self.elements(accessor)?.into_iter().map(number).collect())
    }
}

fn affine(transform: &Transform) -> Affine {
    let vector = |x: &[f32]| DVec3::new(f64::from(x[0]), f64::from(x[1]), f64::from(x[2]));
    match transform {
        Transform::Matrix { matrix: [x, y, z, shift] } => {
            Affine { matrix: DMat3::from_cols(vector(x), vector(y), vector(z)), shift: vector(shift) }
        }
        Transform::Decomposed { translation, rotation, scale } => {
            let [x, y, z, w] = rotation.map(f64::from);
            // With four bytes a number it is of unit length to seven digits only.
            let turn = DMat3::from_quat(DQuat::from_xyzw(x, y, z, w).normalize());
            Affine { matrix: turn * DMat3::from_diagonal(vector(scale)), shift: vector(translation) }
        }
    }
}
