//! Friction problems in the HDF5 layout of FCLIB, the exchange format of the field (\[ABH18\]),
//! read and written without a C library.
//!
//! ```text
//! /fclib_local/spacedim        2 or 3: rows of a contact, (N, T) or (N, T1, T2)
//! /fclib_local/W/{m,n,nzmax,nz,p,i,x}    nz = -2: by rows, -1: by columns, otherwise the number of triplets
//! /fclib_local/vectors/{q,mu}
//! /fclib_global/...            the same with the matrices M, H, and G where there are joints; vectors f, w, mu, and b
//! ```
//!
//! Bounds of friction that do not depend on the load are not part of FCLIB; where a problem has
//! some, they stand in `vectors/stiction_bound`, one for each contact, and other programs will not
//! see them.
//!
//! The global problem of FCLIB is $M v = H r + G \lambda + f$, $u = H^T v + w$, $G^T v + b = 0$:
//! its $H$ and $G$ are our transposes. In files with triplets `i` holds the rows and `p` the
//! columns, against the comment in FCLIB's header. A corrupt file may be read without error, so
//! sizes, indices and numbers are all checked here.

use std::path::{Path, PathBuf};

use hdf5_pure::{File, FileBuilder, GroupBuilder, LibVer};
use thiserror::Error;

use crate::ProblemError;
use crate::cone::{Cone, GlobalConeProblem, LocalConeProblem, SparseRows};

/// Where bounds that do not depend on the load stand.
const BOUND: &str = "vectors/stiction_bound";

/// A problem of a file, in the shape in which it was stored.
#[derive(Clone, Debug, PartialEq)]
pub enum FclibProblem {
    /// With an explicit matrix W.
    Local(LocalConeProblem),
    /// With mass matrix and contact rows.
    Global(GlobalConeProblem),
}

/// Why a file was not read or written.
#[derive(Debug, Error)]
pub enum FclibError {
    /// The file could not be read or written.
    #[error("{}: {cause}: check the path and the disk", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The file is not HDF5, or not of FCLIB.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What happened, and what to do.
        reason: String,
    },
    /// A dataset is missing or wrong.
    #[error("{}: {dataset}: {reason}", path.display())]
    Dataset {
        /// The file.
        path: PathBuf,
        /// The dataset, with its groups.
        dataset: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// The numbers of the file are no problem.
    #[error("{}: {source}: repair the file, or write it again with the program that made it", path.display())]
    Problem {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: ProblemError,
    },
    /// The problem has something for which the format has no place.
    #[error("contact {number} cannot be written to FCLIB: {reason}, and a file has contacts of one kind")]
    Unsupported {
        /// Which contact, from 0.
        number: usize,
        /// What it has.
        reason: String,
    },
}

impl FclibError {
    /// Whether the file is out of reach, and not wrong.
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Io { .. })
    }
}

/// Reads a problem.
///
/// # Errors
/// [`FclibError`], which names the file, the dataset and what to do.
pub fn read(path: impl AsRef<Path>) -> Result<FclibProblem, FclibError> {
    let path = path.as_ref();
    let file_error = |reason: String| FclibError::File { path: path.to_owned(), reason };
    let bytes = std::fs::read(path).map_err(|cause| FclibError::Io { path: path.to_owned(), cause })?;
    let file = File::from_bytes(bytes).map_err(|error| file_error(format!("{error}: an HDF5 file is needed")))?;
    let reader = Reader { path, file };
    let has = |name: &str| reader.file.group(name).is_ok();
    match (has("fclib_local"), has("fclib_global")) {
        (true, false) => reader.local().map(FclibProblem::Local),
        (false, true) => reader.global().map(FclibProblem::Global),
        (true, true) => Err(file_error("it has a local and a global problem: remove one of them".into())),
        (false, false) => {
            Err(file_error("it has neither /fclib_local nor /fclib_global: an FCLIB friction problem is needed".into()))
        }
    }
}

/// An open file with its path, for messages.
struct Reader<'a> {
    path: &'a Path,
    file: File,
}

impl Reader<'_> {
    fn dataset_error(&self, dataset: &str, reason: String) -> FclibError {
        FclibError::Dataset { path: self.path.to_owned(), dataset: format!("/{dataset}"), reason }
    }

    fn problem_error(&self, source: ProblemError) -> FclibError {
        FclibError::Problem { path: self.path.to_owned(), source }
    }

    fn local(&self) -> Result<LocalConeProblem, FclibError> {
        let matrix = self.matrix("fclib_local/W")?;
        let offset = self.reals("fclib_local/vectors/q", None)?;
        let cones = self.cones("fclib_local", offset.len())?;
        LocalConeProblem::new(cones, matrix, offset).map_err(|error| self.problem_error(error))
    }

    fn global(&self) -> Result<GlobalConeProblem, FclibError> {
        let mass = self.matrix("fclib_global/M")?;
        let n = mass.row_count();
        let force = self.reals("fclib_global/vectors/f", Some(n))?;
        let bias = self.reals("fclib_global/vectors/w", None)?;
        let rows = self.transpose("fclib_global/H", n, bias.len())?;
        if mass.column_count() != n {
            return Err(
                self.dataset_error("fclib_global/M", format!("it is {n} x {}, not square", mass.column_count()))
            );
        }
        let cones = self.cones("fclib_global", bias.len())?;
        let mut problem = GlobalConeProblem::default();
        problem.clear(n);
        for row in 0..n {
            mass.row(row).iter().for_each(|&(column, value)| problem.push_mass(row, column, value));
        }
        problem.force_mut().copy_from_slice(&force);
        let mut row = 0;
        for cone in cones {
            let own = row..row + cone.row_count();
            problem.push_contact(cone, own.clone().map(|row| rows.row(row).iter().copied()), bias[own].iter().copied());
            row += cone.row_count();
        }
        if self.file.dataset("fclib_global/vectors/b").is_ok() {
            let bias = self.reals("fclib_global/vectors/b", None)?;
            let joints = self.transpose("fclib_global/G", n, bias.len())?;
            bias.iter().enumerate().for_each(|(row, &bias)| problem.push_joint(joints.row(row).iter().copied(), bias));
        }
        problem.check().map_err(|error| self.problem_error(error))?;
        Ok(problem)
    }

    /// A matrix of a row for each velocity, transposed.
    fn transpose(&self, name: &str, velocities: usize, rows: usize) -> Result<SparseRows, FclibError> {
        let matrix = self.matrix(name)?;
        let found = (matrix.row_count(), matrix.column_count());
        if found != (velocities, rows) {
            let reason = format!("it is {} x {}, but {velocities} x {rows} is needed", found.0, found.1);
            return Err(self.dataset_error(name, reason));
        }
        Ok(matrix.transposed())
    }

    fn cones(&self, group: &str, rows: usize) -> Result<Vec<Cone>, FclibError> {
        let name = format!("{group}/spacedim");
        let dimension = self.size(&name)?;
        if dimension != 2 && dimension != 3 {
            return Err(self.dataset_error(&name, format!("it is {dimension}: 2 or 3 is needed")));
        }
        if !rows.is_multiple_of(dimension) {
            return Err(self.dataset_error(&name, format!("it is {dimension}, which does not divide the {rows} rows")));
        }
        let mu = self.reals(&format!("{group}/vectors/mu"), Some(rows / dimension))?;
        let name = format!("{group}/{BOUND}");
        let bounds = match self.file.dataset(&name) {
            Ok(_) => self.reals(&name, Some(mu.len()))?,
            Err(_) => vec![0.0; mu.len()],
        };
        let cone = |(&mu, &bound): (&f64, &f64)| match dimension {
            2 => Cone::Planar { mu, bound },
            _ => Cone::Coulomb { mu, bound },
        };
        Ok(mu.iter().zip(&bounds).map(cone).collect())
    }

    /// A matrix in any of the three forms.
    fn matrix(&self, name: &str) -> Result<SparseRows, FclibError> {
        let of = |part: &str| format!("{name}/{part}");
        let (m, n) = (self.size(&of("m"))?, self.size(&of("n"))?);
        let form = self.integers(&of("nz"), Some(1))?[0];
        let indices = |part: &str, count: usize, limit: usize| -> Result<Vec<usize>, FclibError> {
            let name = of(part);
            let values = self.first(&name, self.integers(&name, None)?, count)?;
            let checked = values.iter().enumerate().map(|(k, &value)| match usize::try_from(value) {
                Ok(index) if index < limit => Ok(index),
                _ => Err(self.dataset_error(&name, format!("entry {k} is {value}, outside of 0..{limit}"))),
            });
            checked.collect()
        };
        let values = |count: usize| self.first(&of("x"), self.reals(&of("x"), None)?, count);
        let triplets: Vec<(usize, usize, f64)> = match form {
            -2 | -1 => {
                let (major, minor) = if form == -2 { (m, n) } else { (n, m) };
                let starts = indices("p", major + 1, usize::MAX)?;
                if starts[0] != 0 || starts.windows(2).any(|pair| pair[0] > pair[1]) {
                    return Err(self.dataset_error(&of("p"), "it does not ascend from 0".into()));
                }
                let count = starts[major];
                let (others, values) = (indices("i", count, minor)?, values(count)?);
                let entries = (0..major).flat_map(|k| (starts[k]..starts[k + 1]).map(move |entry| (k, entry)));
                let triplet = |(k, entry): (usize, usize)| match form {
                    -2 => (k, others[entry], values[entry]),
                    _ => (others[entry], k, values[entry]),
                };
                entries.map(triplet).collect()
            }
            count if count >= 0 => {
                let count = count as usize;
                let (rows, columns, values) = (indices("i", count, m)?, indices("p", count, n)?, values(count)?);
                (0..count).map(|k| (rows[k], columns[k], values[k])).collect()
            }
            _ => {
                let reason = format!("it is {form}: -2 (rows), -1 (columns) or a number of triplets is needed");
                return Err(self.dataset_error(&of("nz"), reason));
            }
        };
        SparseRows::from_triplets(m, n, &triplets).map_err(|error| self.problem_error(error))
    }

    fn size(&self, name: &str) -> Result<usize, FclibError> {
        let value = self.integers(name, Some(1))?[0];
        usize::try_from(value).map_err(|_| self.dataset_error(name, format!("it is {value}, but a size is needed")))
    }

    fn integers(&self, name: &str, count: Option<usize>) -> Result<Vec<i64>, FclibError> {
        let values = self.file.dataset(name).and_then(|dataset| dataset.read_i64());
        let values = values.map_err(|error| self.dataset_error(name, format!("{error}: integers are needed here")))?;
        self.counted(name, values, count)
    }

    fn reals(&self, name: &str, count: Option<usize>) -> Result<Vec<f64>, FclibError> {
        let values = self.file.dataset(name).and_then(|dataset| dataset.read_f64());
        let values = values.map_err(|error| self.dataset_error(name, format!("{error}: numbers are needed here")))?;
        let values = self.counted(name, values, count)?;
        if let Some(k) = values.iter().position(|value| !value.is_finite()) {
            let reason = format!("entry {k} is {}: every number must be finite", values[k]);
            return Err(self.dataset_error(name, reason));
        }
        Ok(values)
    }

    /// As many values as are needed, and no others where a number is given.
    fn counted<T>(&self, name: &str, values: Vec<T>, count: Option<usize>) -> Result<Vec<T>, FclibError> {
        match count {
            Some(count) if values.len() > count => Err(self.miscounted(name, values.len(), count)),
            Some(count) => self.first(name, values, count),
            None => Ok(values),
        }
    }

    /// The first values of a dataset, which may have more.
    fn first<T>(&self, name: &str, mut values: Vec<T>, count: usize) -> Result<Vec<T>, FclibError> {
        if values.len() < count {
            return Err(self.miscounted(name, values.len(), count));
        }
        values.truncate(count);
        Ok(values)
    }

    fn miscounted(&self, name: &str, found: usize, needed: usize) -> FclibError {
        self.dataset_error(name, format!("it has {found} entries, but {needed} are needed"))
    }
}

/// Writes a problem, with its matrices by rows.
///
/// # Errors
/// [`FclibError`]: the format has only Coulomb's cones, in the plane or in space, and the file must
/// be writable.
pub fn write(path: impl AsRef<Path>, problem: &FclibProblem, title: &str) -> Result<(), FclibError> {
    let path = path.as_ref();
    let mut file = FileBuilder::new();
    file.with_libver_bounds(LibVer::Earliest, LibVer::V18);
    let (mut group, cones) = match problem {
        FclibProblem::Local(problem) => (file.create_group("fclib_local"), problem.cones()),
        FclibProblem::Global(problem) => (file.create_group("fclib_global"), problem.cones()),
    };
    let (dimension, mu, bounds) = friction_coefficients(cones)?;
    group.create_dataset("spacedim").with_i32_data(&[dimension]).with_shape(&[1]);
    let mut vectors = group.create_group("vectors");
    push_reals(&mut vectors, "mu", &mu);
    if bounds.iter().any(|&bound| bound > 0.0) {
        push_reals(&mut vectors, BOUND.rsplit('/').next().unwrap_or(BOUND), &bounds);
    }
    match problem {
        FclibProblem::Local(problem) => {
            push_reals(&mut vectors, "q", problem.offset());
            push_matrix(&mut group, "W", problem.matrix());
        }
        FclibProblem::Global(problem) => {
            let n = problem.coordinate_count();
            push_reals(&mut vectors, "f", problem.force());
            push_reals(&mut vectors, "w", problem.contact_bias());
            let mass = SparseRows::from_triplets(n, n, problem.mass());
            let mass = mass.map_err(|source| FclibError::Problem { path: path.to_owned(), source })?;
            push_matrix(&mut group, "M", &mass);
            push_matrix(&mut group, "H", &problem.contacts().transposed());
            if !problem.joint_bias().is_empty() {
                push_reals(&mut vectors, "b", problem.joint_bias());
                push_matrix(&mut group, "G", &problem.joints().transposed());
            }
        }
    }
    group.add_group(vectors.finish());
    let mut info = group.create_group("info");
    for (name, text) in [("title", title), ("description", "written by Stiction"), ("math_info", "unknown")] {
        let added = info.create_dataset(name).with_ascii_strings(&[text]).map(|_| ());
        added.map_err(|error| FclibError::File { path: path.to_owned(), reason: format!("{name}: {error}") })?;
    }
    group.add_group(info.finish());
    file.add_group(group.finish());
    let bytes = file.finish().map_err(|error| FclibError::File { path: path.to_owned(), reason: error.to_string() })?;
    std::fs::write(path, bytes).map_err(|cause| FclibError::Io { path: path.to_owned(), cause })
}

/// The rows of all contacts, their coefficients of friction, and their bounds.
fn friction_coefficients(cones: &[Cone]) -> Result<(i32, Vec<f64>, Vec<f64>), FclibError> {
    let dimension = if matches!(cones.first(), Some(Cone::Planar { .. })) { 2 } else { 3 };
    let (mut coefficients, mut bounds) = (Vec::new(), Vec::new());
    for (number, cone) in cones.iter().enumerate() {
        match *cone {
            Cone::Planar { mu, bound } if dimension == 2 => (coefficients.push(mu), bounds.push(bound)),
            Cone::Coulomb { mu, bound } if dimension == 3 => (coefficients.push(mu), bounds.push(bound)),
            _ => {
                let reason = format!("it has the law {cone:?} among others");
                return Err(FclibError::Unsupported { number, reason });
            }
        };
    }
    Ok((dimension, coefficients, bounds))
}

fn push_reals(group: &mut GroupBuilder, name: &str, values: &[f64]) {
    group.create_dataset(name).with_f64_data(values).with_shape(&[values.len() as u64]);
}

fn push_integers(group: &mut GroupBuilder, name: &str, values: &[i32]) {
    group.create_dataset(name).with_i32_data(values).with_shape(&[values.len() as u64]);
}

/// A matrix by rows, columns ascending, entries of the same place added up.
fn push_matrix(group: &mut GroupBuilder, name: &str, matrix: &SparseRows) {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::<f64>::new());
    for row in 0..matrix.row_count() {
        let mut entries = matrix.row(row).to_vec();
        entries.sort_by_key(|entry| entry.0);
        let begin = columns.len();
        for (column, value) in entries {
            if columns.len() > begin && columns.last() == Some(&(column as i32)) {
                *values.last_mut().expect("a value for each column") += value;
            } else {
                columns.push(column as i32);
                values.push(value);
            }
        }
        starts.push(columns.len() as i32);
    }
    let mut own = group.create_group(name);
    let sizes = [("m", matrix.row_count()), ("n", matrix.column_count()), ("nzmax", values.len())];
    sizes.into_iter().for_each(|(name, value)| push_integers(&mut own, name, &[value as i32]));
    push_integers(&mut own, "nz", &[-2]);
    push_integers(&mut own, "p", &starts);
    push_integers(&mut own, "i", &columns);
    push_reals(&mut own, "x", &values);
    group.add_group(own.finish());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("stiction-{}-{name}.hdf5", std::process::id()))
    }

    fn local() -> LocalConeProblem {
        let triplets = [(0, 0, 2.0), (1, 1, 2.5), (2, 2, 1e-300), (0, 2, -0.1), (2, 0, 0.3)];
        let matrix = SparseRows::from_triplets(3, 3, &triplets).unwrap();
        LocalConeProblem::new(vec![Cone::coulomb(0.5)], matrix, vec![-4.0, 3.0, 0.1]).unwrap()
    }

    fn global() -> GlobalConeProblem {
        let mut problem = GlobalConeProblem::default();
        problem.clear(3);
        (0..3).for_each(|i| problem.push_mass(i, i, 2.0 + i as f64));
        problem.force_mut().copy_from_slice(&[-6.0, 0.0, 1.0]);
        problem.push_contact(Cone::planar(0.5), [vec![(0, 1.0), (2, 0.2)], vec![(1, 1.0)]], [0.1, 0.2]);
        problem.push_contact(Cone::Planar { mu: 0.0, bound: 0.3 }, [vec![], vec![(2, 1.0)]], [0.0, 0.2]);
        problem.push_joint([(1, 1.0), (2, -1.0)], 0.7);
        problem
    }

    #[test]
    fn what_is_written_is_read_again() {
        let path = temporary("again");
        for problem in [FclibProblem::Local(local()), FclibProblem::Global(global())] {
            write(&path, &problem, "a test").unwrap();
            let file = read(&path).unwrap();
            assert_eq!(file, problem);
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_has_no_place_in_the_format_is_refused() {
        let matrix = SparseRows::from_triplets(1, 1, &[(0, 0, 1.0)]).unwrap();
        let problem = LocalConeProblem::new(vec![Cone::HalfLine], matrix, vec![-1.0]).unwrap();
        let error = write(temporary("law"), &FclibProblem::Local(problem), "").unwrap_err();
        assert!(error.to_string().contains("contact 0 cannot be written"), "{error}");
    }

    /// A local problem of one contact in the plane, its matrix in any form.
    fn written(name: &str, sizes: [i32; 4], p: &[i32], i: &[i32], x: &[f64], mu: &[f64]) -> PathBuf {
        let path = temporary(name);
        let mut file = FileBuilder::new();
        let mut group = file.create_group("fclib_local");
        push_integers(&mut group, "spacedim", &[2]);
        let mut vectors = group.create_group("vectors");
        push_reals(&mut vectors, "q", &[-1.0, 2.0]);
        push_reals(&mut vectors, "mu", mu);
        group.add_group(vectors.finish());
        let mut matrix = group.create_group("W");
        ["m", "n", "nz", "nzmax"]
            .into_iter()
            .zip(sizes)
            .for_each(|(name, size)| push_integers(&mut matrix, name, &[size]));
        push_integers(&mut matrix, "p", p);
        push_integers(&mut matrix, "i", i);
        push_reals(&mut matrix, "x", x);
        group.add_group(matrix.finish());
        file.add_group(group.finish());
        file.write(&path).unwrap();
        path
    }

    #[test]
    fn matrices_come_by_rows_by_columns_and_as_triplets() {
        // ((3, 1), (0, 2)) three times.
        let rows = written("rows", [2, 2, -2, 3], &[0, 2, 3], &[0, 1, 1], &[3.0, 1.0, 2.0], &[0.3]);
        let columns = written("columns", [2, 2, -1, 3], &[0, 1, 3], &[0, 0, 1], &[3.0, 1.0, 2.0], &[0.3]);
        let triplets = written("triplets", [2, 2, 3, 3], &[1, 0, 1], &[0, 0, 1], &[1.0, 3.0, 2.0], &[0.3]);
        let read = [rows, columns, triplets].map(|path| {
            let FclibProblem::Local(problem) = read(&path).unwrap() else { panic!("a local problem") };
            std::fs::remove_file(path).unwrap();
            problem
        });
        assert_eq!((read[0].matrix().entry(0, 1), read[0].matrix().entry(1, 0)), (1.0, 0.0));
        assert_eq!(read[0], read[1]);
        assert_eq!(read[0], read[2]);
    }

    #[test]
    fn errors_name_the_file_the_dataset_and_the_value() {
        let error = read("nowhere.hdf5").unwrap_err().to_string();
        assert!(error.contains("nowhere.hdf5") && error.contains("check the path"), "{error}");
        let p: &[i32] = &[0, 2, 3];
        let cases: [(PathBuf, &str); 5] = [
            (written("e1", [2, 2, -2, 3], p, &[0, 1, 2], &[3.0, 1.0, 2.0], &[0.3]), "/fclib_local/W/i: entry 2 is 2"),
            (
                written("e2", [2, 2, -2, 3], p, &[0, 1, 1], &[3.0, f64::NAN, 2.0], &[0.3]),
                "/fclib_local/W/x: entry 1 is NaN",
            ),
            (
                written("e3", [2, 2, -2, 3], &[0, 3, 2], &[0, 1, 1], &[3.0, 1.0, 2.0], &[0.3]),
                "/fclib_local/W/p: it does not",
            ),
            (
                written("e4", [2, 2, -2, 3], p, &[0, 1, 1], &[3.0, 1.0, 2.0], &[0.3, 0.4]),
                "vectors/mu: it has 2 entries",
            ),
            (written("e5", [2, 2, -2, 3], p, &[0, 1, 1], &[3.0, 1.0, 2.0], &[-0.3]), "friction coefficient -0.3"),
        ];
        for (path, expected) in cases {
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(path.to_str().unwrap()), "{error}");
            std::fs::remove_file(path).unwrap();
        }
        let path = temporary("e6");
        std::fs::write(&path, "not HDF5").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("an HDF5 file is needed"), "{error}");
        std::fs::remove_file(path).unwrap();
    }
}
