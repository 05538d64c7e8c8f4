//! Any columns of the tables, over time or against each other.

use std::path::Path;

use stiction_scene::system_entry::CoordinateUnit;

use super::curves::{FLOOR, mark_impacts};
use super::run_data::RunData;
use super::{RunFigureError, Selection, steady_range};
use crate::figure::{Figure, Panel, Series};

/// Names that resemble the wanted one at least this much are offered.
const LIKENESS: f64 = 0.75;

/// A motion of this size in SI units is one, however small all others are; a billionth of it is rounding.
pub(super) const SMALL_MOTION: f64 = 1e-3;

/// What a column measures: columns of one kind share a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Time,
    Length,
    Position,
    Angle,
    Orientation,
    Velocity,
    AngularVelocity,
    Energy,
    Error,
    Depth,
    Drift,
    Count,
    Normal,
    Gap,
    Impulse,
    AngularImpulse,
    Force,
    Moment,
    Sliding,
    Other,
}

impl Kind {
    /// What it is, and its unit; empty where it has none.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Time => ("time", "s"),
            Kind::Length => ("length of the step", "s"),
            Kind::Position => ("position", "m"),
            Kind::Angle => ("angle", "rad"),
            Kind::Orientation => ("orientation quaternion", ""),
            Kind::Velocity => ("velocity", "m/s"),
            Kind::AngularVelocity => ("angular velocity", "rad/s"),
            Kind::Energy => ("energy", "J"),
            Kind::Error => ("relative error", ""),
            Kind::Depth => ("penetration", "m"),
            Kind::Drift => ("joint drift", "m or rad"),
            Kind::Count => ("count", ""),
            Kind::Normal => ("component of the normal", ""),
            Kind::Gap => ("gap", "m"),
            Kind::Impulse => ("impulse of a step", "N s"),
            Kind::AngularImpulse => ("angular impulse of a step", "N m s"),
            Kind::Force => ("mean force of a step", "N"),
            Kind::Moment => ("mean moment of a step", "N m"),
            Kind::Sliding => ("sliding velocity", "m/s"),
            Kind::Other => ("value", ""),
        }
    }

    /// A name with the unit of this kind.
    fn with_unit(self, name: &str) -> String {
        match self.words().1 {
            "" => name.to_owned(),
            unit => format!("{name} ({unit})"),
        }
    }

    /// The kind of a column of the states: as the scene says, where it is a system of matrices, or by its name.
    fn of_column(data: &RunData, name: &str) -> Self {
        let velocity = name.strip_prefix("v_").and_then(|name| data.units.get(name));
        match (data.units.get(name), velocity) {
            (Some(CoordinateUnit::Metre), _) => Kind::Position,
            (Some(CoordinateUnit::Radian), _) => Kind::Angle,
            (None, Some(CoordinateUnit::Metre)) => Kind::Velocity,
            (None, Some(CoordinateUnit::Radian)) => Kind::AngularVelocity,
            (None, None) => Kind::of_state(name),
        }
    }

    fn of_state(name: &str) -> Self {
        match name.rsplit_once('.').map_or(name, |(_, suffix)| suffix) {
            "t" => Kind::Time,
            "x" | "y" | "z" => Kind::Position,
            "angle" => Kind::Angle,
            "qw" | "qx" | "qy" | "qz" => Kind::Orientation,
            "vx" | "vy" | "vz" => Kind::Velocity,
            "w" | "wx" | "wy" | "wz" => Kind::AngularVelocity,
            _ => Kind::Other,
        }
    }

    fn of_audit(name: &str) -> Self {
        match name {
            "h" => Kind::Length,
            "penetration" => Kind::Depth,
            "joint_drift" => Kind::Drift,
            "cone_violation" | "complementarity" | "dissipation_defect" | "roundness_defect" | "momentum"
            | "kinetic_balance" | "residual" => Kind::Error,
            "contacts" | "problem_size" | "iterations" | "solves" | "linearizations" | "growths" | "converged" => {
                Kind::Count
            }
            "kinetic" | "potential" | "kinetic_change" | "total_change" => Kind::Energy,
            _ if name.starts_with("work_") || name.starts_with("energy_") => Kind::Energy,
            _ => Kind::Other,
        }
    }

    /// The kind of a column of a contact; the contact may be the limit of an angle. The third tangential number is about the normal.
    fn of_contact(name: &str, is_angular: bool) -> Self {
        match name {
            "x" | "y" | "z" => Kind::Position,
            "nx" | "ny" | "nz" => Kind::Normal,
            "gap" if is_angular => Kind::Angle,
            "gap" => Kind::Gap,
            "c_n" if is_angular => Kind::AngularImpulse,
            "c_n" | "c_t1" | "c_t2" => Kind::Impulse,
            "c_t3" => Kind::AngularImpulse,
            "f_n" if is_angular => Kind::Moment,
            "f_n" | "f_t1" | "f_t2" => Kind::Force,
            "f_t3" => Kind::Moment,
            "slip_1" | "slip_2" => Kind::Sliding,
            "slip_3" => Kind::AngularVelocity,
            _ => Kind::Other,
        }
    }
}

/// A column beside the recorded states.
struct Found {
    kind: Kind,
    values: Vec<f64>,
}

/// Columns that share a panel, with their names.
struct Group<'a> {
    kind: Kind,
    members: Vec<(&'a str, Vec<f64>)>,
}

/// Names of all columns with numbers: those of the states (`t`, `rod.x`), of the certificates (`residual`), of joints and
/// friction without a load (`hinge.x.force`), and of the contacts (`rod/table#0.c_n`), as [`column_figure`] takes them.
///
/// # Errors
/// [`RunFigureError`] when the folder is not that of a run, or one of its tables is missing, cut off or damaged.
pub fn available_columns(run: &Path) -> Result<Vec<String>, RunFigureError> {
    names(&RunData::read(run, &Selection::default())?.0)
}

fn names(data: &RunData) -> Result<Vec<String>, RunFigureError> {
    let mut names = vec!["t".to_owned()];
    names.extend(data.state_names().cloned());
    // A system of one's own may use a name of the certificate; then it is the one of the states.
    let audit: Vec<String> = data.audit_names().filter(|name| !names.contains(name)).cloned().collect();
    names.extend(audit);
    names.extend(data.element_column_names()?);
    let mut contacts = data.contact_names()?;
    contacts.sort_unstable();
    for contact in contacts {
        for column in data.contact_column_names() {
            // Contacts of a system of matrices have no place.
            if data.contact_column(contact, column)?.iter().any(|value| !value.is_nan()) {
                names.push(format!("{contact}.{column}"));
            }
        }
    }
    Ok(names)
}

/// Draws columns of the tables against another one: `t` for curves over time, any other for phase portraits.
///
/// A column is a name of [`available_columns`]; its values belong to the recorded states. Columns of like kind and unit
/// share a panel. Contacts have no values while they are apart: their curves have gaps.
///
/// # Errors
/// [`RunFigureError`] when the folder is not that of a run, a table is missing, cut off or damaged, no column is named,
/// or one does not exist.
pub fn column_figure(
    run: &Path,
    selection: &Selection,
    columns: &[String],
    against: &str,
) -> Result<Figure, RunFigureError> {
    let (data, _) = RunData::read(run, selection)?;
    if columns.is_empty() {
        return Err(RunFigureError::NoColumns { run: run.to_owned() });
    }
    let abscissa = find(&data, against)?;
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (i, name) in columns.iter().enumerate().filter(|(i, name)| !columns[..*i].contains(name)) {
        let found = find(&data, name)?;
        match groups.iter_mut().find(|group| group.kind == found.kind && found.kind != Kind::Other) {
            Some(group) => group.members.push((&columns[i], found.values)),
            None => groups.push(Group { kind: found.kind, members: vec![(&columns[i], found.values)] }),
        }
    }

    let is_over_time = abscissa.kind == Kind::Time;
    let mut panels = Vec::new();
    for Group { kind, members } in groups {
        let mut panel = Panel {
            x_label: if is_over_time { "time (s)".to_owned() } else { abscissa.kind.with_unit(against) },
            y_label: kind.with_unit(kind.words().0),
            // Positions against each other are a map.
            equal_aspect: kind == Kind::Position && abscissa.kind == Kind::Position,
            log_y: kind == Kind::Error,
            ..Panel::default()
        };
        if let [(name, _)] = members.as_slice() {
            panel.y_label = kind.with_unit(name);
        }
        let is_alone = members.len() == 1;
        for (name, values) in members {
            let shown = |value: f64| if kind == Kind::Error { value.abs().max(FLOOR) } else { value };
            let points = abscissa.values.iter().zip(values);
            // The comparison of a missing value with the floor would make a number of it.
            let points = points.map(|(&x, y)| (x, if y.is_nan() { y } else { shown(y) })).collect();
            let label = if is_alone { String::new() } else { name.to_owned() };
            panel.series.push(Series { label, points, ..Series::default() });
        }
        if is_over_time {
            panel.x_range = Some(data.time_range()?);
        }
        if kind == Kind::Error {
            let values = panel.series.iter().flat_map(|series| &series.points).map(|point| point.1);
            let largest = values.filter(|value| value.is_finite()).fold(1e-15, f64::max);
            panel.y_range = Some((0.3 * FLOOR, 10.0 * largest));
        } else if !panel.equal_aspect {
            let values = panel.series.iter().flat_map(|series| &series.points).map(|point| point.1);
            panel.y_range = steady_range(values, scale(&data, kind)?);
        }
        panels.push(panel);
    }

    let columns = if panels.len() == 1 { 1 } else { 2 };
    let rows = panels.len().div_ceil(columns) as u32;
    let size = if columns == 1 { (820, 480) } else { (1000, 70 + 280 * rows) };
    let mut figure = Figure { title: data.title(), panels, columns, size, ..Figure::default() };
    if is_over_time {
        mark_impacts(&data, &mut figure)?;
    }
    Ok(figure)
}

/// Largest value of a kind in the whole run, against which rounding is told from motion.
fn scale(data: &RunData, kind: Kind) -> Result<f64, RunFigureError> {
    let mut largest = match kind {
        Kind::Position | Kind::Angle | Kind::Velocity | Kind::AngularVelocity | Kind::Sliding => SMALL_MOTION,
        _ => 0.0_f64,
    };
    let mut include = |values: &[f64]| {
        largest = values.iter().map(|value| value.abs()).filter(|value| value.is_finite()).fold(largest, f64::max);
    };
    let states = if kind == Kind::Sliding { Kind::Velocity } else { kind };
    for name in data.state_names().filter(|name| Kind::of_column(data, name) == states) {
        include(data.state(name).unwrap_or_default());
    }
    for name in data.audit_names().filter(|name| Kind::of_audit(name) == kind && kind == Kind::Energy) {
        include(data.audit(name)?);
    }
    if kind == Kind::Impulse {
        include(data.contact_rows()?.impulse);
    }
    Ok(largest)
}

fn find(data: &RunData, name: &str) -> Result<Found, RunFigureError> {
    if let Some(values) = data.state(name) {
        return Ok(Found { kind: Kind::of_column(data, name), values: values.to_vec() });
    }
    if data.audit_names().any(|known| known == name) {
        return Ok(Found { kind: Kind::of_audit(name), values: data.audit_column(name)? });
    }
    if let Some((contact, column)) = name.rsplit_once('.')
        && data.contact_column_names().any(|known| known == column)
        && data.contact_names()?.contains(&contact)
    {
        let kind = Kind::of_contact(column, data.is_angular(contact));
        return Ok(Found { kind, values: data.contact_column(contact, column)? });
    }
    if data.element_column_names()?.iter().any(|known| known == name) {
        return Ok(Found { kind: Kind::Other, values: data.element_column(name)? });
    }
    let columns = names(data)?;
    let scored = columns.iter().map(|known| (strsim::jaro_winkler(name, known), known));
    let near = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| best.0 >= LIKENESS).map(|best| best.1.clone());
    Err(RunFigureError::UnknownColumn { run: data.run.clone(), column: name.to_owned(), near, columns })
}
