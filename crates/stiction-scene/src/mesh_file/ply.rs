//! PLY: elements with properties that the header declares, as text or as bytes of either order.
//!
//! Of the element `vertex` the properties `x`, `y` and `z` are read, of `face` the list
//! `vertex_indices` or `vertex_index`; everything else is passed over.

use stiction_bodies::TriangleSurface;
use stiction_bodies::glamx::DVec3;

use super::{Bytes, MeshFile, MeshFileError, MeshPart, SharedPoints, number, shown};

/// How numbers are written.
#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Text,
    Little,
    Big,
}

/// Type of a number: bytes, and whether it is one with a point and whether it has a sign.
#[derive(Clone, Copy)]
struct Scalar {
    size: usize,
    is_float: bool,
    is_signed: bool,
}

struct Property {
    name: String,
    /// Type of the length, for a list.
    length: Option<Scalar>,
    scalar: Scalar,
}

struct Element {
    name: String,
    count: u64,
    properties: Vec<Property>,
}

pub(super) fn read(bytes: &[u8]) -> Result<MeshFile, MeshFileError> {
    let (encoding, elements, length, lines) = header(bytes)?;
    let body = &bytes[length..];
    let mut numbers = match encoding {
        Encoding::Text => Numbers::Text { words: Words { text: body, line: lines + 1 } },
        _ => Numbers::Binary { bytes: Bytes { left: body }, is_big: encoding == Encoding::Big },
    };
    let mut shared = SharedPoints::new();
    let mut part = MeshPart::default();
    let mut corners = Vec::new();
    for element in &elements {
        numbers.check_room(element)?;
        if element.properties.is_empty() {
            continue;
        }
        let axis = ["x", "y", "z"].map(|axis| element.properties.iter().position(|p| p.name == axis));
        let is_vertex = element.name == "vertex";
        if is_vertex && axis.contains(&None) {
            return Err(MeshFileError::new("its points have no x, y and z"));
        }
        for item in 0..element.count {
            let mut point = DVec3::ZERO;
            for (index, property) in element.properties.iter().enumerate() {
                let Some(length) = property.length else {
                    let value = numbers.next(property.scalar)?;
                    if is_vertex && let Some(axis) = axis.iter().position(|place| *place == Some(index)) {
                        point[axis] = value;
                    }
                    continue;
                };
                let count = whole(numbers.next(length)?, "the length of a list")?;
                numbers.check_list(count, property.scalar)?;
                corners.clear();
                let is_face = element.name == "face" && property.name.starts_with("vertex_ind");
                for _ in 0..count {
                    let value = numbers.next(property.scalar)?;
                    if is_face {
                        corners.push(whole(value, "the number of a point")? as usize);
                    }
                }
                if !is_face {
                    continue;
                }
                if let Some(unknown) = corners.iter().find(|corner| **corner >= shared.points.len()) {
                    let count = shared.points.len();
                    let message = format!("face {item} names point {unknown}, and there are {count}, from 0");
                    return Err(MeshFileError::new(message));
                }
                if corners.len() < 3 {
                    return Err(MeshFileError::new(format!("face {item} has {} corners", corners.len())));
                }
                shared.add_polygon(&corners, &mut part, 0).map_err(MeshFileError::new)?;
            }
            if is_vertex {
                shared.points.push(point);
            }
            numbers.end_item();
        }
    }
    Ok(MeshFile { parts: vec![part], unit: None })
}

/// Encoding, elements, and the bytes and lines of the header.
fn header(bytes: &[u8]) -> Result<(Encoding, Vec<Element>, usize, usize), MeshFileError> {
    let (mut encoding, mut elements) = (None, Vec::<Element>::new());
    let mut length = 0;
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        length += line.len();
        let fault = |message: String| MeshFileError::at_line(index + 1, message);
        let line = String::from_utf8_lossy(line);
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["ply"] if index == 0 => {}
            _ if index == 0 => return Err(fault("it does not begin with `ply`".into())),
            [] | ["comment" | "obj_info", ..] => {}
            ["format", kind, ..] => {
                encoding = Some(match *kind {
                    "ascii" => Encoding::Text,
                    "binary_little_endian" => Encoding::Little,
                    "binary_big_endian" => Encoding::Big,
                    other => return Err(fault(format!("`{}` is no format of PLY", shown(other)))),
                });
            }
            ["element", name, count] => {
                let count = count.parse().map_err(|_| fault(format!("`{}` is not a count", shown(count))))?;
                elements.push(Element { name: (*name).to_owned(), count, properties: Vec::new() });
            }
            ["property", rest @ ..] => {
                let element = elements.last_mut().ok_or_else(|| fault("a property before any element".into()))?;
                let typed = |word: &str| scalar(word).ok_or_else(|| fault(format!("`{}` is no type", shown(word))));
                let property = match rest {
                    ["list", length, of, name] => {
                        Property { name: (*name).to_owned(), length: Some(typed(length)?), scalar: typed(of)? }
                    }
                    [of, name] => Property { name: (*name).to_owned(), length: None, scalar: typed(of)? },
                    _ => return Err(fault("a property has a type and a name".into())),
                };
                element.properties.push(property);
            }
            ["end_header"] => {
                let encoding = encoding.ok_or_else(|| fault("the header names no format".into()))?;
                return Ok((encoding, elements, length, index + 1));
            }
            [other, ..] => return Err(fault(format!("`{}` is no word of a PLY header", shown(other)))),
        }
    }
    Err(MeshFileError::new("its header has no end"))
}

fn scalar(word: &str) -> Option<Scalar> {
    let (size, is_float, is_signed) = match word {
        "char" | "int8" => (1, false, true),
        "uchar" | "uint8" => (1, false, false),
        "short" | "int16" => (2, false, true),
        "ushort" | "uint16" => (2, false, false),
        "int" | "int32" => (4, false, true),
        "uint" | "uint32" => (4, false, false),
        "float" | "float32" => (4, true, true),
        "double" | "float64" => (8, true, true),
        _ => return None,
    };
    Some(Scalar { size, is_float, is_signed })
}

/// A number that counts something.
fn whole(value: f64, what: &str) -> Result<u64, MeshFileError> {
    let is_whole = value >= 0.0 && value.fract() == 0.0;
    if is_whole { Ok(value as u64) } else { Err(MeshFileError::new(format!("{what} is {value}"))) }
}

/// The numbers after the header.
enum Numbers<'a> {
    Text { words: Words<'a> },
    Binary { bytes: Bytes<'a>, is_big: bool },
}

impl Numbers<'_> {
    fn left(&self) -> u64 {
        match self {
            Self::Text { words } => words.text.len() as u64,
            Self::Binary { bytes, .. } => bytes.left.len() as u64,
        }
    }

    /// Refuses an element of which there cannot be as many as the header says.
    fn check_room(&self, element: &Element) -> Result<(), MeshFileError> {
        let least = |property: &Property| match self {
            Self::Text { .. } => 2,
            Self::Binary { .. } => property.length.map_or(property.scalar.size, |length| length.size) as u64,
        };
        let each: u64 = element.properties.iter().map(least).sum();
        // Of the last word of a text the space after it may be missing.
        let needed = element.count.saturating_mul(each).saturating_sub(1);
        if needed <= self.left() {
            return Ok(());
        }
        let Element { name, count, .. } = element;
        let left = self.left();
        let message = format!("its header counts {count} of `{}`, for which {left} bytes are not enough", shown(name));
        Err(MeshFileError::new(message))
    }

    /// Of a text an item is a line: some programs write more into it than they declare.
    fn end_item(&mut self) {
        if let Self::Text { words } = self {
            let end = words.text.iter().position(|byte| *byte == b'\n').unwrap_or(words.text.len());
            words.text = &words.text[end..];
        }
    }

    fn check_list(&self, count: u64, scalar: Scalar) -> Result<(), MeshFileError> {
        let each = if matches!(self, Self::Text { .. }) { 1 } else { scalar.size as u64 };
        let is_there = count.saturating_mul(each) <= self.left();
        let message = || format!("a list of {count} numbers goes beyond the end");
        if is_there { Ok(()) } else { Err(MeshFileError::new(message())) }
    }

    fn next(&mut self, scalar: Scalar) -> Result<f64, MeshFileError> {
        match self {
            Self::Text { words } => {
                let word = words.next().ok_or_else(|| MeshFileError::new("it ends too early"))?;
                let text = String::from_utf8_lossy(word);
                if scalar.is_float {
                    // Colours and normals may be what they like; points are looked at in the end.
                    let found = text.parse::<f64>();
                    return found.map_err(|_| {
                        MeshFileError::at_line(words.line, format!("`{}` is not a number", shown(&text)))
                    });
                }
                number(&text, words.line)
            }
            Self::Binary { bytes, is_big } => {
                let taken = bytes.take(scalar.size)?;
                let mut wide = [0u8; 8];
                if *is_big {
                    wide[8 - scalar.size..].copy_from_slice(taken);
                } else {
                    wide[..scalar.size].copy_from_slice(taken);
                }
                let bits = if *is_big { u64::from_be_bytes(wide) } else { u64::from_le_bytes(wide) };
                Ok(match (scalar.is_float, scalar.size, scalar.is_signed) {
                    (true, 4, _) => f64::from(f32::from_bits(bits as u32)),
                    (true, ..) => f64::from_bits(bits),
                    (false, 1, true) => f64::from(bits as u8 as i8),
                    (false, 2, true) => f64::from(bits as u16 as i16),
                    (false, 4, true) => f64::from(bits as u32 as i32),
                    _ => bits as f64,
                })
            }
        }
    }
}

/// Words of a text, with the line of the last one.
struct Words<'a> {
    text: &'a [u8],
    line: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.text.iter().position(|byte| !byte.is_ascii_whitespace())?;
        self.line += self.text[..start].iter().filter(|byte| **byte == b'\n').count();
        let rest = &self.text[start..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.text = &rest[end..];
        Some(&rest[..end])
    }
}

/// A surface as a binary file that holds every number as it is.
pub(crate) fn write(surface: &TriangleSurface) -> Vec<u8> {
    let mut out = format!(
        "ply\nformat binary_little_endian 1.0\ncomment metres\nelement vertex {}\nproperty double x\nproperty double y\n\
         property double z\nelement face {}\nproperty list uchar uint vertex_indices\nend_header\n",
        surface.vertices.len(),
        surface.triangles.len()
    )
    .into_bytes();
    for point in &surface.vertices {
        point.to_array().iter().for_each(|x| out.extend(x.to_le_bytes()));
    }
    for triangle in &surface.triangles {
        out.push(3);
        triangle.iter().for_each(|corner| out.extend(corner.to_le_bytes()));
    }
    out
}
