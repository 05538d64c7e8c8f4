//! Pictures of a run: what a run folder holds, as a [`Figure`].
//!
//! [`default_figure`] suits any run of a scene: poses over time, velocities, contacts, energy by cause, and the
//! certificate. For a single body in the plane its curves are those of \[ST96\] Figures 3–5; a system given by matrices has
//! coordinates in place of poses. [`column_figure`] draws any
//! columns of the tables, over time or against each other; [`available_columns`] lists them.

mod columns;
mod coordinates;
mod curves;
mod error;
mod poses;
mod run_data;

#[cfg(test)]
mod tests;

use std::path::Path;

use stiction_bodies::Dimension;
use stiction_scene::SceneSystem;

use crate::figure::{Colour, Figure, Panel};

pub use columns::{available_columns, column_figure};
pub use error::RunFigureError;

use curves::Load;
use run_data::{BodyTrack, RunData};

/// Bodies or contacts that get a curve of their own; of more, the fastest or most loaded are shown.
const MOST_CURVES: usize = 8;

/// Values below this share of the scale of their kind are rounding and drawn as zero. Too large: slow motions vanish.
/// Too small: rounding fills a panel.
const NOISE: f64 = 1e-9;

/// Width of the figure, in pixels.
const WIDTH: u32 = 1000;
/// Height of the heading, in pixels.
const HEADING_HEIGHT: f64 = 70.0;
/// Height of a row of weight 1, in pixels.
const ROW_HEIGHT: f64 = 265.0;

/// A figure worth looking at, for any run folder: poses over time, or coordinates where there are no bodies, velocities with
/// the impacts, what the contacts do and carry, energy by cause, and the certificate.
///
/// # Errors
/// [`RunFigureError`] when the folder is not that of a run, or one of its files is missing, cut off or damaged.
pub fn default_figure(run: &Path) -> Result<Figure, RunFigureError> {
    let data = RunData::read(run)?;
    let loaded = data.scene()?;
    let scene = loaded.scene();
    if data.times()?.is_empty() {
        return Err(RunFigureError::Empty { run: run.to_owned() });
    }

    let mut rows: Vec<(f64, [Option<Panel>; 2])> = Vec::new();
    // Whether friction has directions to choose, and the energy that counts as some.
    let (is_spatial, energy_scale) = match loaded.system() {
        SceneSystem::Bodies(bodies) => {
            let (model, tracks) = (bodies.model(), data.tracks(bodies)?);
            match model.dimension {
                Dimension::Plane => {
                    let [vertical, spin, horizontal] = curves::planar_velocities(&data, model, &tracks)?;
                    let poses = poses::planar(&data, bodies, &tracks)?;
                    rows.push((pose_weight(&poses).max(1.0), [poses, vertical]));
                    rows.push((1.0, [spin, horizontal]));
                }
                Dimension::Space => {
                    let views = poses::spatial(&data, bodies, &tracks)?;
                    rows.push((pose_weight(views.iter().flatten()), views));
                    rows.push((1.0, curves::speeds(&data, model, &tracks)?));
                }
            }
            (model.dimension == Dimension::Space, curves::energy_scale(&data, model, &tracks))
        }
        SceneSystem::Matrices(system) => {
            rows.extend(coordinates::panels(&data, &scene)?.into_iter().map(|row| (1.0, row)));
            let is_spatial = system.linear_contacts().iter().any(|contact| contact.tangents.len() > 1);
            (is_spatial, coordinates::energy_scale(&data, system)?)
        }
    };
    rows.push((0.85, [curves::modes(&data)?, curves::loads(&data, Load::Force)?]));
    rows.push((0.85, [curves::loads(&data, Load::Moment)?, None]));
    rows.push((1.0, [curves::energy(&data, energy_scale)?, curves::certificate(&data)?]));

    // What a run does not have (poses that were not recorded, contacts that never closed) leaves no hole behind.
    let (mut panels, mut row_weights, mut spare) = (Vec::new(), Vec::new(), Vec::new());
    for (weight, row) in rows {
        let row: Vec<Panel> = row.into_iter().flatten().collect();
        match row.len() {
            2 => {
                row_weights.push(weight);
                panels.extend(row);
            }
            _ => spare.extend(row),
        }
    }
    row_weights.extend(std::iter::repeat_n(1.0, spare.len().div_ceil(2)));
    panels.extend(spare);
    let height = HEADING_HEIGHT + ROW_HEIGHT * row_weights.iter().sum::<f64>();
    Ok(Figure {
        title: scene.title.as_ref().unwrap_or(&scene.name).clone(),
        subtitle: data.subtitle(is_spatial),
        panels,
        columns: 2,
        row_weights,
        size: (WIDTH, height as u32),
    })
}

/// Height of the row of poses: low where everything happens close to a level line.
fn pose_weight<'a>(panels: impl IntoIterator<Item = &'a Panel>) -> f64 {
    (0.5 + 1.6 * poses::aspect(panels)).clamp(0.75, 1.3)
}

/// The bodies whose curves are shown, in the order of the scene: all of them, or the fastest.
fn fastest(tracks: &[BodyTrack]) -> Vec<&BodyTrack> {
    let mut order: Vec<&BodyTrack> = tracks.iter().filter(|track| track.is_free && track.has_velocity()).collect();
    if order.len() > MOST_CURVES {
        order.sort_by(|a, b| b.top_speed().total_cmp(&a.top_speed()));
        order.truncate(MOST_CURVES);
        order.sort_by_key(|track| track.body);
    }
    order
}

/// The colour of a body in all panels: by its place among the curves; grey for those without a curve.
fn body_colour(shown: &[&BodyTrack], body: usize) -> Colour {
    curve_colour(shown.iter().position(|track| track.body == body).unwrap_or(MOST_CURVES))
}

/// Colours of [`MOST_CURVES`] curves, all different.
fn curve_colour(place: usize) -> Colour {
    Colour::SERIES.get(place).copied().unwrap_or(Colour::GREY)
}

/// A range for values that an axis would blow up out of proportion: rounding around zero, relative to `scale`, or around
/// a constant. `None` where the values themselves give a good range.
fn steady_range(values: impl Iterator<Item = f64>, scale: f64) -> Option<(f64, f64)> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite()) {
        (low, high) = (low.min(value), high.max(value));
    }
    let largest = low.abs().max(high.abs());
    if low > high {
        None
    } else if largest <= NOISE * scale || largest == 0.0 {
        let room = if scale > 0.0 { scale } else { 1.0 };
        Some((-room, room))
    } else if high - low <= NOISE * largest {
        Some((low - 0.1 * largest, high + 0.1 * largest))
    } else {
        None
    }
}

/// A time or another number with the digits that matter when the whole is `span` long.
fn brief(value: f64, span: f64) -> String {
    let decimals =
        if span > 0.0 && span.is_finite() { (3.0 - span.log10().ceil()).clamp(0.0, 12.0) as usize } else { 3 };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".into() } else { text.replace('-', "\u{2212}") }
}
