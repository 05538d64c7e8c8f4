//! Any columns of the tables, over time or against each other.

use std::path::Path;

use super::curves::{FLOOR, error_range, over_time};
use super::run_data::{ColumnOf, RunData};
use super::{RunFigureError, SMALL_MOTION, Selection, heights, largest, steady_range};
use crate::figure::{Figure, Panel, Series};

/// Names that resemble the wanted one at least this much are offered.
const LIKENESS: f64 = 0.75;

/// What columns measure, by names and units; an asterisk fits all. The first that fits counts.
const QUANTITIES: [(&str, &str, &str); 18] = [
    ("t", "s", "time"),
    ("h", "s", "length of the step"),
    ("gap", "*", "gap"),
    ("penetration", "m", "penetration"),
    ("nx ny nz", "", "component of the normal"),
    ("qw qx qy qz", "", "orientation quaternion"),
    ("cone_violation complementarity dissipation_defect roundness_defect", "", ERROR),
    ("momentum kinetic_balance residual", "", ERROR),
    ("slip_1 slip_2", "m/s", "sliding velocity"),
    ("c_n c_t1 c_t2", "N s", "impulse of a step"),
    ("c_n c_t3", "N m s", "angular impulse of a step"),
    ("f_n f_t1 f_t2", "N", "mean force of a step"),
    ("f_n f_t3", "N m", "mean moment of a step"),
    ("*", "m", "position"),
    ("*", "rad", "angle"),
    ("*", "m/s", "velocity"),
    ("*", "rad/s", "angular velocity"),
    ("*", "J", "energy"),
];
/// What is drawn on a logarithmic axis.
const ERROR: &str = "relative error";
/// Columns of this kind have panels of their own.
const OTHER: &str = "value";

/// A column with what it measures.
struct Measured<'a> {
    column: ColumnOf<'a>,
    quantity: &'static str,
    unit: &'a str,
}

impl Measured<'_> {
    fn new<'a>(data: &RunData, column: ColumnOf<'a>) -> Measured<'a> {
        let unit = data.unit(column);
        let ending = column.column.rsplit_once('.').map_or(column.column, |(_, ending)| ending);
        let fits = |(names, of, _): &&(&str, &str, &str)| {
            let is_named = *names == "*" || names.split(' ').any(|name| name == ending);
            is_named && (*of == "*" || *of == unit)
        };
        let found = QUANTITIES.iter().find(fits).map_or(OTHER, |found| found.2);
        let quantity = if found == OTHER && column.is_integer() { "count" } else { found };
        Measured { column, quantity, unit }
    }

    /// A name with the unit of this column.
    fn with_unit(&self, name: &str) -> String {
        if self.unit.is_empty() { name.to_owned() } else { format!("{name} ({})", self.unit) }
    }

    fn shares_panel(&self, other: &Measured) -> bool {
        (self.quantity, self.unit) == (other.quantity, other.unit) && self.quantity != OTHER
    }
}

/// Names of all columns with numbers: those of the states (`t`, `rod.x`), of the certificates
/// (`residual`), of joints and friction without a load (`hinge.x.force`), and of the contacts
/// (`rod/table#0.c_n`), as [`column_figure`] takes them.
///
/// # Errors
/// [`RunFigureError`] when the folder is not that of a run, or one of its tables is damaged.
pub fn available_columns(run: &Path) -> Result<Vec<String>, RunFigureError> {
    Ok(names(&RunData::read(run, &Selection::default())?.0))
}

fn names(data: &RunData) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in data.columns() {
        // A system of one's own may use a name of the certificate; the states come first.
        // Contacts of a system of matrices have no place.
        let is_new = column.owner.is_some() || !names.contains(&column.name());
        if is_new && (column.owner.is_none() || data.values(column).iter().any(|value| !value.is_nan())) {
            names.push(column.name());
        }
    }
    names
}

/// Draws columns against another one: `t` for curves over time, others for phase portraits.
///
/// A column is a name of [`available_columns`]; its values belong to the recorded states. Columns
/// of like kind and unit share a panel. Contacts have no values while they are apart: their curves
/// have gaps.
///
/// # Errors
/// [`RunFigureError`] when the folder is not that of a run, a table is missing, cut off or damaged,
/// no column is named, or one does not exist.
pub fn column_figure(
    run: &Path,
    selection: &Selection,
    columns: &[String],
    against: &str,
) -> Result<Figure, RunFigureError> {
    let (data, _) = RunData::read(run, selection)?;
    if columns.is_empty() {
        return Err(RunFigureError::Nothing { run: run.to_owned(), reason: "no column was named".to_owned() });
    }
    let known = data.columns();
    let find = |name: &str| match known.iter().find(|column| column.name() == name) {
        Some(column) => Ok(Measured::new(&data, *column)),
        None => Err(unknown(&data, name)),
    };
    let abscissa = find(against)?;
    let mut groups: Vec<Vec<Measured>> = Vec::new();
    for (_, name) in columns.iter().enumerate().filter(|(i, name)| !columns[..*i].contains(name)) {
        let found = find(name)?;
        match groups.iter_mut().find(|group| group[0].shares_panel(&found)) {
            Some(group) => group.push(found),
            None => groups.push(vec![found]),
        }
    }
    let is_over_time = abscissa.quantity == "time";
    let x_label = if is_over_time { "time (s)".to_owned() } else { abscissa.with_unit(against) };
    let across = data.values(abscissa.column);
    let panels = groups.iter().map(|group| {
        let panel = if is_over_time { over_time(&data, "", "") } else { Panel::default() };
        // Positions against each other are a map.
        let equal_aspect = group[0].quantity == "position" && abscissa.quantity == "position";
        group_panel(&data, group, &across, Panel { x_label: x_label.clone(), equal_aspect, ..panel })
    });
    let panels: Vec<Panel> = panels.collect();
    let columns = if panels.len() == 1 { 1 } else { 2 };
    let rows = panels.len().div_ceil(columns) as u32;
    let size = if columns == 1 { (820, 480) } else { (1000, 70 + 280 * rows) };
    Ok(Figure { title: data.title(), panels, columns, size, ..Figure::default() })
}

/// The curves of columns that measure the same, on a panel whose horizontal axis is given.
fn group_panel(data: &RunData, group: &[Measured], across: &[f64], mut panel: Panel) -> Panel {
    let first = &group[0];
    panel.log_y = first.quantity == ERROR;
    let name = first.column.name();
    panel.y_label = first.with_unit(if group.len() == 1 { &name } else { first.quantity });
    for column in group {
        // The comparison of a missing value with the floor would make a number of it.
        let shown = |value: f64| if panel.log_y && !value.is_nan() { value.abs().max(FLOOR) } else { value };
        let values = data.values(column.column).into_iter().map(shown);
        let label = if group.len() == 1 { String::new() } else { column.column.name() };
        let points = across.iter().copied().zip(values).collect();
        panel.series.push(Series { label, points, ..Series::default() });
    }
    if panel.log_y {
        panel.y_range = Some(error_range(&panel));
    } else if !panel.equal_aspect {
        panel.y_range = steady_range(heights(&panel), scale(data, first));
    }
    panel
}

/// Largest value of a kind in the whole run, against which rounding is told from motion.
fn scale(data: &RunData, of: &Measured) -> f64 {
    let (quantity, start) = match of.quantity {
        "impulse of a step" => return largest(data.contacts.real("c_n").iter().copied()),
        "sliding velocity" => ("velocity", SMALL_MOTION),
        quantity @ ("position" | "angle" | "velocity" | "angular velocity") => (quantity, SMALL_MOTION),
        "energy" => ("energy", 0.0),
        _ => return 0.0,
    };
    let alike = data.columns().into_iter().filter(|column| column.owner.is_none());
    let alike = alike.filter(|column| Measured::new(data, *column).quantity == quantity);
    alike.map(|column| largest(data.values(column))).fold(start, f64::max)
}

fn unknown(data: &RunData, name: &str) -> RunFigureError {
    let columns = names(data);
    let scored = columns.iter().map(|known| (strsim::jaro_winkler(name, known), known));
    let near = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| best.0 >= LIKENESS).map(|best| best.1.clone());
    RunFigureError::UnknownColumn { run: data.run.clone(), column: name.to_owned(), near, columns }
}
