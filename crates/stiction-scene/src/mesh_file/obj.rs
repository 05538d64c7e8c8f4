//! Wavefront OBJ: a list of points, and polygons that name them by numbers from one, or by negative
//! numbers from the latest. Objects and groups begin parts. Only `v`, `f`, `o` and `g` are read.

use stiction_bodies::glamx::DVec3;

use super::{MeshFile, MeshFileError, MeshPart, SharedPoints, number, shown};

pub(super) fn read(bytes: &[u8]) -> Result<MeshFile, MeshFileError> {
    let text = String::from_utf8_lossy(bytes);
    let mut file = MeshFile::default();
    let mut shared = SharedPoints::new();
    let mut part = MeshPart::default();
    let mut corners = Vec::new();
    for (line, content) in logical_lines(&text) {
        let fault = |message: String| MeshFileError::at_line(line, message);
        let content = content.split('#').next().unwrap_or_default();
        let mut words = content.split_whitespace();
        match words.next() {
            Some("v") => {
                // What follows is a weight or a colour.
                let x = words.take(3).map(|word| number(word, line)).collect::<Result<Vec<_>, _>>()?;
                let [x, y, z] = x[..] else { return Err(fault(format!("a point has {} numbers", x.len()))) };
                shared.points.push(DVec3::new(x, y, z));
            }
            Some("f") => {
                corners.clear();
                for word in words {
                    corners.push(corner(word, shared.points.len()).map_err(fault)?);
                }
                if corners.len() < 3 {
                    return Err(fault(format!("a face has {} corners", corners.len())));
                }
                shared.add_polygon(&corners, &mut part, file.parts.len()).map_err(fault)?;
            }
            Some("o" | "g") => {
                let name = words.collect::<Vec<_>>().join(" ");
                // The name of an object is better than that of a group which follows it at once.
                let is_first_group = content.starts_with('g') && part.surface.triangles.is_empty();
                if !part.surface.triangles.is_empty() {
                    file.parts.push(std::mem::take(&mut part));
                }
                if !is_first_group || part.name.is_empty() {
                    part.name = name;
                }
            }
            _ => {}
        }
    }
    file.parts.push(part);
    Ok(file)
}

/// Lines with their numbers; one that ends with a backslash goes on in the next.
fn logical_lines(text: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    let mut lines = text.lines().enumerate();
    std::iter::from_fn(move || {
        let (index, first) = lines.next()?;
        let mut whole = first.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            whole.push(' ');
            whole.push_str(lines.next().map_or("", |(_, more)| more));
        }
        Some((index + 1, whole))
    })
}

/// The place of a corner in the list of points: the first number of `7/2/3`.
fn corner(word: &str, count: usize) -> Result<usize, String> {
    let first = word.split('/').next().unwrap_or_default();
    let index: i64 = first.parse().map_err(|_| format!("`{}` is no corner of a face", shown(word)))?;
    let place = if index > 0 { index - 1 } else { count as i64 + index };
    match usize::try_from(place) {
        Ok(place) if index != 0 && place < count => Ok(place),
        _ => Err(format!("a face names point {index}, and there are {count} before it")),
    }
}
