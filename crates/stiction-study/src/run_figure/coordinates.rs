//! Coordinates and velocities of a system of matrices over time.

use stiction_dynamics::LinearSystem;
use stiction_scene::scene::Scene;
use stiction_scene::system_entry::CoordinateUnit;

use super::columns::SMALL_MOTION;
use super::curves::over_time;
use super::run_data::RunData;
use super::{MOST_CURVES, RunFigureError, curve_colour, steady_range};
use crate::figure::{Legend, Panel, Series};

/// Coordinates that get panels of their own; more of them share panels by unit.
const MOST_ROWS: usize = 3;

/// A row for every coordinate, or for every unit of many: the coordinates, and their velocities beside them.
pub(super) fn panels(data: &RunData, scene: &Scene) -> Result<Vec<[Option<Panel>; 2]>, RunFigureError> {
    let names: &[String] = scene.system.as_ref().map_or(&[], |system| &system.coordinates);
    let unit = |name: &String| data.units.get(name).copied();
    let groups: Vec<(Option<CoordinateUnit>, Vec<&String>)> = if names.len() <= MOST_ROWS {
        names.iter().map(|name| (unit(name), vec![name])).collect()
    } else {
        let units = [Some(CoordinateUnit::Metre), Some(CoordinateUnit::Radian), None];
        let members = |wanted| names.iter().filter(|name| unit(name) == wanted).collect::<Vec<_>>();
        units.into_iter().map(|wanted| (wanted, members(wanted))).filter(|(_, members)| !members.is_empty()).collect()
    };
    let mut rows = Vec::new();
    for (unit, members) in groups {
        let (metric, rate) = match unit {
            Some(CoordinateUnit::Metre) => (" (m)", " (m/s)"),
            Some(CoordinateUnit::Radian) => (" (rad)", " (rad/s)"),
            None => ("", ""),
        };
        let velocities: Vec<String> = members.iter().map(|name| format!("v_{name}")).collect();
        let velocities: Vec<&String> = velocities.iter().collect();
        let (coordinate, velocity) = match members[..] {
            [name] => (format!("Coordinate {name}"), format!("Velocity of {name}")),
            _ => ("Coordinates".to_owned(), "Velocities".to_owned()),
        };
        rows.push([curves(data, &members, &coordinate, metric)?, curves(data, &velocities, &velocity, rate)?]);
    }
    Ok(rows)
}

/// One curve per column; `None` when none of them was recorded.
fn curves(data: &RunData, columns: &[&String], title: &str, unit: &str) -> Result<Option<Panel>, RunFigureError> {
    let times = data.times()?;
    let label =
        if let [name] = columns { format!("{name}{unit}") } else { unit.trim_matches([' ', '(', ')']).to_owned() };
    let mut panel = over_time(data, title, &label)?;
    let recorded: Vec<(&str, &[f64])> =
        columns.iter().filter_map(|name| Some((name.as_str(), data.state(name)?))).collect();
    if recorded.is_empty() {
        return Ok(None);
    }
    if recorded.len() > MOST_CURVES {
        panel.title.push_str(&format!(", {MOST_CURVES} of {}", recorded.len()));
    }
    for (place, (name, values)) in recorded.iter().take(MOST_CURVES).enumerate() {
        let points = times.iter().copied().zip(values.iter().copied()).collect();
        let label = if columns.len() > 1 { (*name).to_owned() } else { String::new() };
        panel.series.push(Series { label, points, colour: Some(curve_colour(place)), ..Series::default() });
    }
    if columns.len() > 3 {
        panel.legend = Legend::Above;
    }
    let values = || panel.series.iter().flat_map(|series| &series.points).map(|point| point.1);
    let largest = values().map(f64::abs).filter(|value| value.is_finite()).fold(SMALL_MOTION, f64::max);
    panel.y_range = steady_range(values(), largest);
    Ok(Some(panel))
}

/// The largest kinetic energy of the run, or that of a small motion of the heaviest coordinate, in J.
pub(super) fn energy_scale(data: &RunData, system: &LinearSystem) -> Result<f64, RunFigureError> {
    let heaviest = system.data().mass.iter().enumerate().map(|(i, row)| row[i]).fold(0.0, f64::max);
    let small = 0.5 * heaviest * SMALL_MOTION * SMALL_MOTION;
    Ok(data.audit("kinetic")?.iter().copied().filter(|energy| energy.is_finite()).fold(small, f64::max))
}
