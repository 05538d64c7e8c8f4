//! Height fields: a grid of heights as an open surface.

use stiction_bodies::TriangleSurface;
use stiction_bodies::glamx::DVec3;

use super::{MeshFileError, number};

/// Reads a grid of heights: a row on each line, numbers with spaces, commas or semicolons between
/// them; what follows a `#` is passed over.
///
/// # Errors
/// [`MeshFileError`] with the line.
pub fn read_grid(bytes: &[u8]) -> Result<Vec<Vec<f64>>, MeshFileError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        MeshFileError::at_line(line, "it is not a text")
    })?;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default();
        let words = content.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|word| !word.is_empty());
        let row = words.map(|word| number(word, index + 1)).collect::<Result<Vec<_>, _>>()?;
        if row.is_empty() {
            continue;
        }
        if let Some(first) = rows.first().filter(|first| first.len() != row.len()) {
            let message = format!("this row has {} heights, and the first one has {}", row.len(), first.len());
            return Err(MeshFileError::at_line(index + 1, message));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The surface of a grid whose middle is the origin: rows along $y$, from the lowest, and the
/// heights of a row along $x$. Each cell is two triangles, parted from its lowest $x$ and $y$ to the
/// highest.
///
/// # Panics
/// When there are fewer than two rows, fewer than two heights in one, or rows of different lengths.
pub fn grid_surface(size: [f64; 2], heights: &[Vec<f64>]) -> TriangleSurface {
    let (rows, columns) = (heights.len(), heights[0].len());
    assert!(rows > 1 && columns > 1 && heights.iter().all(|row| row.len() == columns), "the grid was checked");
    let along = |size: f64, index: usize, count: usize| size * (index as f64 / (count - 1) as f64 - 0.5);
    let point = |row: usize, column: usize| {
        DVec3::new(along(size[0], column, columns), along(size[1], row, rows), heights[row][column])
    };
    let vertices = (0..rows).flat_map(|row| (0..columns).map(move |column| point(row, column))).collect();
    let cell = |row: usize, column: usize| {
        let [a, b] = [row, row + 1].map(|row| (row * columns + column) as u32);
        [[a, a + 1, b + 1], [a, b + 1, b]]
    };
    let triangles = (0..rows - 1).flat_map(|row| (0..columns - 1).flat_map(move |column| cell(row, column))).collect();
    TriangleSurface { vertices, triangles }
}
