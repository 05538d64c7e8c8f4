//! STL: triangles, each with its own corners, as text or as records of 50 bytes.
//!
//! A binary file is known by its length, 84 bytes and 50 for each of the triangles that the header
//! counts, because some begin with the word `solid` that text begins with. Stated normals are not
//! used.

use stiction_bodies::TriangleSurface;
use stiction_bodies::glamx::DVec3;

use super::{Bytes, MeshFile, MeshFileError, MeshPart, number, shown};

/// Bytes before the count.
const HEADER: usize = 80;

/// Bytes of a triangle: a normal and three corners with four bytes a number, and two more.
const RECORD: usize = 50;

pub(super) fn read(bytes: &[u8]) -> Result<MeshFile, MeshFileError> {
    let count = bytes.get(HEADER..HEADER + 4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    let wanted = count.map(|count| HEADER as u64 + 4 + RECORD as u64 * u64::from(count));
    let begins_as_text = bytes.trim_ascii_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"solid"));
    match (wanted, count) {
        (Some(wanted), Some(count)) if wanted == bytes.len() as u64 => {
            let mut bytes = Bytes { left: &bytes[HEADER + 4..] };
            binary(&mut bytes, count as usize)
        }
        _ if begins_as_text => text(bytes),
        (Some(wanted), Some(count)) => Err(MeshFileError::new(format!(
            "its header counts {count} triangles, which take {wanted} bytes, but it has {}",
            bytes.len()
        ))),
        _ => Err(MeshFileError::new(format!("{} bytes are too few for an STL file", bytes.len()))),
    }
}

fn binary(bytes: &mut Bytes<'_>, count: usize) -> Result<MeshFile, MeshFileError> {
    let mut surface = TriangleSurface { vertices: Vec::with_capacity(3 * count), triangles: Vec::with_capacity(count) };
    for triangle in 0..count as u32 {
        let record = bytes.take(RECORD)?;
        for corner in record[12..48].chunks_exact(12) {
            let at = |i: usize| {
                f64::from(f32::from_le_bytes([corner[4 * i], corner[4 * i + 1], corner[4 * i + 2], corner[4 * i + 3]]))
            };
            surface.vertices.push(DVec3::new(at(0), at(1), at(2)));
        }
        surface.triangles.push([0, 1, 2].map(|corner| 3 * triangle + corner));
    }
    Ok(MeshFile { parts: vec![MeshPart { name: String::new(), surface }], unit: None })
}

fn text(bytes: &[u8]) -> Result<MeshFile, MeshFileError> {
    let text = String::from_utf8_lossy(bytes);
    let mut file = MeshFile::default();
    // The corners of the facet so far; outside of a facet there are none.
    let mut corners: Option<Vec<DVec3>> = None;
    let mut line_count = 0;
    for (index, line) in text.lines().enumerate() {
        line_count = index + 1;
        let fault = |message: String| MeshFileError::at_line(index + 1, message);
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        match first.to_ascii_lowercase().as_str() {
            "solid" => file.parts.push(MeshPart { name: words.collect::<Vec<_>>().join(" "), ..MeshPart::default() }),
            "facet" => corners = Some(Vec::with_capacity(3)),
            "vertex" => {
                let Some(corners) = &mut corners else { return Err(fault("a vertex outside of a facet".into())) };
                let x = words.by_ref().take(3).map(|word| number(word, index + 1)).collect::<Result<Vec<_>, _>>()?;
                let [x, y, z] = x[..] else { return Err(fault(format!("a vertex has {} numbers", x.len()))) };
                corners.push(DVec3::new(x, y, z));
            }
            "endfacet" => {
                let found = corners.take().unwrap_or_default();
                if found.len() != 3 {
                    return Err(fault(format!("a facet has {} vertices", found.len())));
                }
                let part = file.parts.last_mut().ok_or_else(|| fault("a facet outside of a solid".into()))?;
                let first = part.surface.vertices.len() as u32;
                part.surface.vertices.extend(found);
                part.surface.triangles.push([first, first + 1, first + 2]);
            }
            "outer" | "endloop" | "endsolid" => {}
            other => return Err(fault(format!("`{}` is no word of STL", shown(other)))),
        }
    }
    if corners.is_some() {
        return Err(MeshFileError::at_line(line_count, "it ends in the middle of a facet"));
    }
    Ok(file)
}
