//! LCPs as folders with two Matrix Market files, `M.mtx` and `q.mtx`.
//!
//! The format of Boisvert, Pozo and Remington (NIST 1996): what SciPy, MATLAB and Julia read and
//! write. Read: `coordinate` and `array`, `real` and `integer`, `general` and `symmetric`. Written:
//! `M.mtx` as coordinates, `q.mtx` as an array, with digits that read back bit for bit.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use faer::Mat;
use thiserror::Error;

use crate::{Lcp, ProblemError};

/// File of the matrix.
pub const MATRIX_FILE: &str = "M.mtx";
/// File of the offset.
pub const OFFSET_FILE: &str = "q.mtx";

/// Entries of a matrix that is held densely, at most: half a gigabyte.
const LARGEST_ENTRY_COUNT: usize = 1 << 26;

/// Entries that a matrix may have for each one that its file holds, and that a small matrix may
/// have in any case. Beyond it nearly all rows are empty, and memory is asked for that the file
/// does not account for.
const ENTRIES_PER_LINE: usize = 10_000;
const SMALL_ENTRY_COUNT: usize = 1 << 20;

/// A problem file that cannot be read or written.
#[derive(Debug, Error)]
pub enum ProblemFileError {
    /// The disk or the operating system refused.
    #[error("cannot {action} {}: {cause}", file.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// The file.
        file: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// The text is not what the format asks for.
    #[error("{}:{line}: {message}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what was expected.
        message: String,
    },
    /// The files are well formed but do not state a problem together.
    #[error("{}: {source}", folder.display())]
    Problem {
        /// The folder.
        folder: PathBuf,
        /// What is wrong.
        source: ProblemError,
    },
}

impl ProblemFileError {
    /// Whether the disk failed, and not the content.
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Io { .. })
    }
}

/// Reads the LCP of a folder.
///
/// # Errors
/// [`ProblemFileError`] with file and line.
pub fn read_lcp(folder: &Path) -> Result<Lcp, ProblemFileError> {
    let matrix = read_matrix(&folder.join(MATRIX_FILE))?;
    let offset_file = folder.join(OFFSET_FILE);
    let offset = read_matrix(&offset_file)?;
    if offset.ncols() != 1 {
        let message = format!("q is {} x {}, and must be one column", offset.nrows(), offset.ncols());
        return Err(ProblemFileError::Format { file: offset_file, line: 1, message });
    }
    let offset = (0..offset.nrows()).map(|i| offset[(i, 0)]).collect();
    Lcp::new(matrix, offset).map_err(|source| ProblemFileError::Problem { folder: folder.to_owned(), source })
}

/// Writes an LCP into a folder, which is made if needed. Files that exist are replaced.
///
/// # Errors
/// [`ProblemFileError::Io`] when a file cannot be written.
pub fn write_lcp(folder: &Path, lcp: &Lcp) -> Result<(), ProblemFileError> {
    let io = |action, file: &Path| {
        let file = file.to_owned();
        move |cause| ProblemFileError::Io { action, file, cause }
    };
    std::fs::create_dir_all(folder).map_err(io("make", folder))?;
    let n = lcp.size();
    let entries: Vec<_> =
        (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|&(i, j)| lcp.matrix()[(i, j)] != 0.0).collect();
    let mut matrix = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {}\n", entries.len());
    for (i, j) in entries {
        let _ = writeln!(matrix, "{} {} {:e}", i + 1, j + 1, lcp.matrix()[(i, j)]); // writing to a String cannot fail
    }
    let mut offset = format!("%%MatrixMarket matrix array real general\n{n} 1\n");
    for value in lcp.offset() {
        let _ = writeln!(offset, "{value:e}");
    }
    for (name, text) in [(MATRIX_FILE, matrix), (OFFSET_FILE, offset)] {
        let file = folder.join(name);
        std::fs::write(&file, text).map_err(io("write", &file))?;
    }
    Ok(())
}

/// Reads a Matrix Market file as a dense matrix.
///
/// # Errors
/// [`ProblemFileError`] with file and line.
pub fn read_matrix(file: &Path) -> Result<Mat<f64>, ProblemFileError> {
    let text = std::fs::read_to_string(file).map_err(|cause| ProblemFileError::Io {
        action: "read",
        file: file.to_owned(),
        cause,
    })?;
    parse_matrix(&text).map_err(|(line, message)| ProblemFileError::Format { file: file.to_owned(), line, message })
}

/// Parses a Matrix Market text; an error is a line and what is wrong there.
fn parse_matrix(text: &str) -> Result<Mat<f64>, (usize, String)> {
    let header: Vec<String> =
        text.lines().next().unwrap_or_default().split_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = header.iter().map(String::as_str).collect();
    let (is_array, is_symmetric) = match words[..] {
        [
            "%%matrixmarket",
            "matrix",
            form @ ("coordinate" | "array"),
            "real" | "integer",
            shape @ ("general" | "symmetric"),
        ] => (form == "array", shape == "symmetric"),
        _ => {
            let expected = "%%MatrixMarket matrix (coordinate|array) (real|integer) (general|symmetric)";
            return Err((1, format!("the first line must be `{expected}`")));
        }
    };
    let mut lines = text
        .lines()
        .enumerate()
        .skip(1)
        .map(|(number, line)| (number + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('%'));
    let last = text.lines().count();

    let (size_line, sizes) = lines.next().ok_or((last, "the file ends before the line of sizes".to_owned()))?;
    let [rows, columns, announced] =
        parse_sizes(sizes, is_array, is_symmetric, text.len()).map_err(|message| (size_line, message))?;
    let mut matrix = Mat::<f64>::zeros(rows, columns);
    let mut read = 0;
    let (mut next_row, mut next_column) = (0, 0);
    for (number, line) in lines {
        if read == announced {
            return Err((number, format!("more than the {announced} entries that line {size_line} announces")));
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let (row, column, value) = match words[..] {
            [value] if is_array => {
                let place = (next_row, next_column);
                next_row += 1;
                if next_row == rows {
                    next_column += 1;
                    next_row = if is_symmetric { next_column } else { 0 };
                }
                (place.0, place.1, value)
            }
            [row, column, value] if !is_array => {
                let index = |word: &str, size: usize| match word.parse::<usize>() {
                    Ok(index) if (1..=size).contains(&index) => Ok(index - 1),
                    _ => Err((number, format!("`{word}` is not an index from 1 to {size}"))),
                };
                (index(row, rows)?, index(column, columns)?, value)
            }
            _ => {
                return Err((
                    number,
                    format!("{} words, but {} are needed", words.len(), if is_array { 1 } else { 3 }),
                ));
            }
        };
        let value: f64 = value.parse().map_err(|_| (number, format!("`{value}` is not a number")))?;
        if !value.is_finite() {
            return Err((number, format!("the entry is {value}, and every entry must be finite")));
        }
        matrix[(row, column)] = value;
        if is_symmetric {
            matrix[(column, row)] = value;
        }
        read += 1;
    }
    if read < announced {
        return Err((last, format!("the file ends after {read} of {announced} entries: it is truncated")));
    }
    // A file cut within its last number would give another number.
    if announced > 0 && !text.ends_with('\n') {
        let message = "the last line does not end: the file may be truncated. If it is whole, add a line break";
        return Err((last, message.to_owned()));
    }
    Ok(matrix)
}

/// Rows, columns and entries that follow, from the line of sizes of a text of some length; an error
/// is what is wrong with it.
fn parse_sizes(line: &str, is_array: bool, is_symmetric: bool, length: usize) -> Result<[usize; 3], String> {
    let sizes: Vec<usize> = line
        .split_whitespace()
        .map(|word| word.parse().map_err(|_| format!("`{word}` is not a size")))
        .collect::<Result<_, _>>()?;
    let (rows, columns, announced) = match sizes[..] {
        [rows, columns] if is_array => {
            let all = rows.checked_mul(columns).ok_or("the matrix is too large")?;
            (rows, columns, if is_symmetric { rows * (rows + 1) / 2 } else { all })
        }
        [rows, columns, count] if !is_array => (rows, columns, count),
        _ => return Err(format!("{} sizes, but {} are needed", sizes.len(), if is_array { 2 } else { 3 })),
    };
    if is_symmetric && rows != columns {
        return Err(format!("a symmetric matrix is square, not {rows} x {columns}"));
    }
    let Some(all) = rows.checked_mul(columns).filter(|&all| all <= LARGEST_ENTRY_COUNT) else {
        return Err(format!("{rows} x {columns} is too large to be held densely"));
    };
    // An entry takes a line of two characters at least.
    let held = announced.min(length / 2);
    if all > SMALL_ENTRY_COUNT.max(ENTRIES_PER_LINE.saturating_mul(held)) {
        return Err(format!("{rows} x {columns} with {held} entries at most: nearly all rows are empty"));
    }
    Ok([rows, columns, announced])
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;

    #[test]
    fn both_forms_and_both_shapes_are_read() {
        let general = "%%MatrixMarket matrix coordinate real general\n% a comment\n2 2 3\n1 1 2.5\n2 1 -1e-3\n1 2 7\n";
        assert_eq!(parse_matrix(general).unwrap(), mat![[2.5, 7.0], [-1e-3, 0.0]]);
        let symmetric = "%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n1 1 2\n2 1 3\n";
        assert_eq!(parse_matrix(symmetric).unwrap(), mat![[2.0, 3.0], [3.0, 0.0]]);
        let array = "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n";
        assert_eq!(parse_matrix(array).unwrap(), mat![[1.0, 3.0], [2.0, 4.0]]);
        let triangle = "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n4\n";
        assert_eq!(parse_matrix(triangle).unwrap(), mat![[1.0, 2.0], [2.0, 4.0]]);
    }

    #[test]
    fn every_mistake_names_its_line() {
        let head = "%%MatrixMarket matrix coordinate real general\n";
        for (text, line, part) in [
            ("hello\n".to_owned(), 1, "the first line must be"),
            (String::new(), 1, "the first line must be"),
            (head.to_owned(), 1, "before the line of sizes"),
            (format!("{head}2 2\n"), 2, "2 sizes, but 3"),
            (format!("{head}2 2 1\n3 1 1.0\n"), 3, "`3` is not an index from 1 to 2"),
            (format!("{head}2 2 1\n1 1 x\n"), 3, "`x` is not a number"),
            (format!("{head}2 2 1\n1 1 nan\n"), 3, "must be finite"),
            (format!("{head}2 2 2\n1 1 1.0\n"), 3, "truncated"),
            (format!("{head}2 2 1\n1 1 1."), 3, "may be truncated"),
            (format!("{head}2 2 1\n1 1 1.0\n1 2 1.0\n"), 4, "more than the 1 entries"),
            (format!("{head}99999999999 99999999999 1\n1 1 1\n"), 2, "too large"),
            (format!("{head}8000 8000 1\n1 1 1\n"), 2, "nearly all rows are empty"),
        ] {
            let (found, message) = parse_matrix(&text).unwrap_err();
            assert!(message.contains(part), "{message}");
            assert!(found == line || text.is_empty(), "line {found} for {text:?}");
        }
    }

    #[test]
    fn a_written_problem_reads_back_bit_for_bit() {
        let folder = std::env::temp_dir().join(format!("stiction-lcp-{}", std::process::id()));
        let lcp = Lcp::new(mat![[1.0 / 3.0, -0.0], [1e-300, 0.1]], vec![-std::f64::consts::PI, 5e-324]).unwrap();
        write_lcp(&folder, &lcp).unwrap();
        let read = read_lcp(&folder).unwrap();
        assert_eq!(read.matrix(), lcp.matrix());
        assert_eq!(read.offset(), lcp.offset());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(read_lcp(&folder).unwrap_err().is_io());
    }
}
