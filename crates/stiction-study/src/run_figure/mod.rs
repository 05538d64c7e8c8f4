//! Pictures of a run: what a run folder holds, as a [`Figure`].
//!
//! [`default_figure`] suits any run of a scene: poses over time, velocities, contacts, energy by
//! cause, and the certificate. For a single body in the plane its curves are those of \[ST96\]
//! Figures 3–5; a system given by matrices has coordinates in place of poses. [`column_figure`]
//! draws any columns of the tables, over time or against each other; [`available_columns`] lists
//! them.

mod columns;
mod curves;
mod error;
mod looks;
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

use run_data::{BodyTrack, RunData};

/// Bodies or contacts that get a curve of their own; of more, the fastest or most loaded are shown.
const MOST_CURVES: usize = 8;

/// Values below this share of the scale of their kind are rounding and drawn as zero. Too large:
/// slow motions vanish. Too small: rounding fills a panel.
const NOISE: f64 = 1e-9;

/// A motion of this size in SI units is one, however small all others are.
const SMALL_MOTION: f64 = 1e-3;

/// Width of the figure, in pixels.
const WIDTH: u32 = 1000;
/// Height of the heading, in pixels.
const HEADING_HEIGHT: f64 = 70.0;
/// Height of a row of weight 1, in pixels.
const ROW_HEIGHT: f64 = 265.0;

/// What a panel of a run shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelKind {
    /// Bodies and mechanisms at some times.
    Poses,
    /// Velocities of bodies.
    Velocities,
    /// Coordinates of a system of matrices with their velocities.
    Coordinates,
    /// What every contact does when.
    Modes,
    /// What contacts, limits and clutches carry.
    Forces,
    /// Energy and its causes.
    Energy,
    /// How well every step solved its problem.
    Certificate,
}

impl PanelKind {
    /// Every kind, in the order of the figure.
    pub const ALL: [PanelKind; 7] = [
        PanelKind::Poses,
        PanelKind::Velocities,
        PanelKind::Coordinates,
        PanelKind::Modes,
        PanelKind::Forces,
        PanelKind::Energy,
        PanelKind::Certificate,
    ];

    /// The word on the command line.
    pub fn word(self) -> &'static str {
        ["poses", "velocities", "coordinates", "modes", "forces", "energy", "certificate"][self as usize]
    }
}

/// Which part of a run is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// The panels of a [`default_figure`]; all of them when empty.
    pub panels: Vec<PanelKind>,
    /// Only states from this time on, in seconds.
    pub from: Option<f64>,
    /// Only states up to this time, in seconds.
    pub to: Option<f64>,
}

/// A figure worth looking at, for any run folder: poses over time, or coordinates where there are
/// no bodies, velocities with the impacts, what the contacts do and carry, energy by cause, and the
/// certificate.
///
/// What vanishes during the whole run has no panel; the heading names it.
///
/// # Errors
/// [`RunFigureError`] when the folder is not that of a run, one of its files is missing, cut off or
/// damaged, or nothing of it was selected.
pub fn default_figure(run: &Path, selection: &Selection) -> Result<Figure, RunFigureError> {
    let (data, loaded) = RunData::read(run, selection)?;
    let loaded = loaded?;
    let scene = loaded.scene();
    if data.times().is_empty() {
        let reason = "`states.parquet` has no rows".to_owned();
        return Err(RunFigureError::Nothing { run: run.to_owned(), reason });
    }

    let mut panels: Vec<(PanelKind, Panel)> = Vec::new();
    let mut add = |kind, more: Vec<Panel>| panels.extend(more.into_iter().map(|panel| (kind, panel)));
    // Whether friction has directions to choose, and the energy that counts as some.
    let (is_spatial, energy_scale) = match loaded.system() {
        SceneSystem::Bodies(bodies) => {
            let (model, tracks) = (bodies.model(), data.tracks(bodies));
            add(PanelKind::Poses, poses::panels(&data, bodies, &tracks));
            add(PanelKind::Velocities, curves::velocities(&data, model, &tracks));
            (model.dimension == Dimension::Space, curves::energy_of_bodies(&data, model, &tracks))
        }
        SceneSystem::Matrices(system) => {
            let names = scene.system.as_ref().map_or(&[][..], |system| &system.coordinates);
            add(PanelKind::Coordinates, curves::coordinates(&data, names));
            let is_spatial = system.data().contacts.iter().any(|contact| contact.tangents.len() > 1);
            (is_spatial, curves::energy_of_matrices(&data, system))
        }
    };
    let loads = [false, true].into_iter().filter_map(|is_moment| curves::loads(&data, is_moment));
    add(PanelKind::Modes, curves::modes(&data).into_iter().collect());
    add(PanelKind::Forces, loads.collect());
    add(PanelKind::Energy, curves::energy(&data, energy_scale).into_iter().collect());
    add(PanelKind::Certificate, curves::certificate(&data).into_iter().collect());

    let (zero, mut panels): (Vec<_>, Vec<_>) = panels.into_iter().partition(|(_, panel)| vanishes(panel));
    let known: Vec<PanelKind> = panels.iter().map(|(kind, _)| *kind).collect();
    panels.retain(|(kind, _)| selection.panels.is_empty() || selection.panels.contains(kind));
    if panels.is_empty() {
        let known = PanelKind::ALL.into_iter().filter(|kind| known.contains(kind)).collect();
        return Err(RunFigureError::NoPanel { run: run.to_owned(), asked: selection.panels.clone(), known });
    }
    let mut subtitle = data.subtitle(is_spatial);
    if selection.panels.is_empty() && !zero.is_empty() {
        let names: Vec<String> = zero.iter().map(|(_, panel)| panel.title.to_lowercase()).collect();
        subtitle.push_str(&format!("; zero throughout: {}", names.join(", ")));
    }

    let columns = panels.len().min(2);
    let weights = panels.chunks(columns).map(|row| row.iter().map(|(kind, panel)| weight(*kind, panel)));
    let row_weights: Vec<f64> = weights.map(|row| row.fold(0.0, f64::max)).collect();
    let height = HEADING_HEIGHT + ROW_HEIGHT * row_weights.iter().sum::<f64>();
    Ok(Figure {
        title: scene.title.as_ref().unwrap_or(&scene.name).clone(),
        subtitle,
        panels: panels.into_iter().map(|(_, panel)| panel).collect(),
        columns,
        row_weights,
        size: (WIDTH, height as u32),
    })
}

/// Height of a panel: poses are low where everything happens close to a level line.
fn weight(kind: PanelKind, panel: &Panel) -> f64 {
    match kind {
        PanelKind::Poses => (0.5 + 1.6 * poses::aspect(panel)).clamp(0.75, 1.3),
        PanelKind::Modes | PanelKind::Forces => 0.85,
        _ => 1.0,
    }
}

/// Whether all curves of a panel are zero but for rounding, by its range from [`steady_range`].
fn vanishes(panel: &Panel) -> bool {
    let Some((low, high)) = panel.y_range.filter(|_| panel.outlines.is_empty() && !panel.log_y) else { return false };
    heights(panel).all(|value| value.abs() <= NOISE * low.abs().max(high.abs()))
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

/// The colour of a body in all panels, by its place among the curves; grey without a curve.
fn body_colour(shown: &[&BodyTrack], body: usize) -> Colour {
    curve_colour(shown.iter().position(|track| track.body == body).unwrap_or(MOST_CURVES))
}

/// Colours of [`MOST_CURVES`] curves, all different.
fn curve_colour(place: usize) -> Colour {
    Colour::SERIES.get(place).copied().unwrap_or(Colour::GREY)
}

/// The heights of all points of the curves of a panel.
fn heights(panel: &Panel) -> impl Iterator<Item = f64> {
    panel.series.iter().flat_map(|series| &series.points).map(|point| point.1)
}

/// The least and the largest of these values that are finite.
fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

/// The largest of these values that are finite, without their signs; of none, zero.
fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// A range for values that an axis would blow up out of proportion: rounding around zero, relative
/// to `scale`, or around a constant. `None` where the values themselves give a good range.
fn steady_range(values: impl Iterator<Item = f64>, scale: f64) -> Option<(f64, f64)> {
    let (low, high) = bounds(values);
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
