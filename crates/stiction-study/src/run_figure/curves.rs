//! Curves over time: velocities, contacts, energy, certificate.

use std::collections::BTreeMap;

use stiction_bodies::{BodyKind, MultibodyModel};

use super::run_data::{BodyTrack, ContactRows, RunData};
use super::{MOST_CURVES, NOISE, RunFigureError, body_colour, curve_colour, fastest, steady_range};
use crate::figure::{Colour, Figure, Legend, Outline, Panel, Rule, RulePosition, Series, SeriesKind, Stroke};

/// What an error of zero is drawn as on a logarithmic axis.
pub(super) const FLOOR: f64 = 1e-17;
/// Intervals of time of which the certificate shows the worst step.
const CERTIFICATE_BINS: usize = 160;
/// Energy that came or went by a cause is shown when it exceeds this share of the largest energy.
const VISIBLE_ENERGY: f64 = 3e-3;
/// The shortest bar of a contact that is drawn, as a share of the run; impacts take twice that.
const SHORTEST_BAR: f64 = 0.002;
/// Half the height of such a bar; the rows are one apart.
const BAR_HALF_HEIGHT: f64 = 0.3;
/// Forces are cut off where the largest exceeds this many times the one that is exceeded a fiftieth of the time.
const PEAK: f64 = 5.0;
/// A force that changes by more than this share of its usual value within a step jumps.
const JUMP: f64 = 0.1;
/// Contacts that carry something for less than this share of the run, all together, have no curves.
const SHORTEST_LOAD: f64 = 0.02;
/// Forces that jump in this share of the steps are drawn as points: lines would fill the panel.
const RESTLESS: f64 = 0.07;
/// Fewer points than this are always joined.
const FEW_POINTS: usize = 60;
/// Steps follow each other when one begins where the other ends, but for this share of its length.
const SAME_TIME: f64 = 1e-6;
/// Width of curves that may fill the panel behind another one, in pixels.
const THIN: f64 = 0.8;
/// Rows for which there is room at least.
const FEWEST_ROWS: f64 = 2.5;
/// Letters of a contact's name beside its bar.
const LONGEST_NAME: usize = 20;

/// A panel over time with the impacts as dashed lines.
pub(super) fn over_time(data: &RunData, title: &str, y_label: &str) -> Result<Panel, RunFigureError> {
    let rules = data.impacts()?.into_iter().map(|impact| Rule {
        position: RulePosition::X(impact.t),
        colour: Colour::GREY.towards(Colour::WHITE, 0.35),
        ..Rule::default()
    });
    Ok(Panel {
        title: title.into(),
        x_label: "time (s)".into(),
        y_label: y_label.into(),
        x_range: Some(data.time_range()?),
        rules: rules.collect(),
        ..Panel::default()
    })
}

/// One curve per body; `None` when nothing of it was recorded.
fn body_curves(
    data: &RunData,
    shown: &[&BodyTrack],
    scale: f64,
    title: &str,
    y_label: &str,
    value: impl Fn(&BodyTrack, usize) -> f64,
) -> Result<Option<Panel>, RunFigureError> {
    let times = data.times()?;
    let mut panel = over_time(data, title, y_label)?;
    for track in shown {
        let points = (0..times.len()).map(|row| (times[row], value(track, row))).collect();
        let label = if shown.len() > 1 { track.name.clone() } else { String::new() };
        panel.series.push(Series { label, points, colour: Some(body_colour(shown, track.body)), ..Series::default() });
    }
    if shown.len() > 3 {
        panel.legend = Legend::Above;
    }
    let values = || panel.series.iter().flat_map(|series| &series.points).map(|point| point.1);
    if !values().any(f64::is_finite) {
        return Ok(None);
    }
    panel.y_range = steady_range(values(), scale);
    Ok(Some(panel))
}

/// The speed that counts as one, in m/s, below which [`NOISE`] begins: that of the bodies, or of a step of free fall.
fn speed_scale(data: &RunData, model: &MultibodyModel, tracks: &[BodyTrack]) -> f64 {
    let top = tracks.iter().map(BodyTrack::top_speed).fold(0.0, f64::max);
    let fall = model.gravity.length() * data.step().unwrap_or(0.0);
    if top > NOISE * fall { top } else { 1.0 }
}

/// Likewise for angular velocities, in rad/s.
fn spin_scale(tracks: &[BodyTrack], speed: f64) -> f64 {
    let top = tracks.iter().flat_map(|track| &track.spin).map(|spin| spin.length()).fold(0.0, f64::max);
    if top > NOISE * speed { top } else { 1.0 }
}

/// Vertical, angular and horizontal velocity of planar bodies: \[ST96\] Figures 3–5.
pub(super) fn planar_velocities(
    data: &RunData,
    model: &MultibodyModel,
    tracks: &[BodyTrack],
) -> Result<[Option<Panel>; 3], RunFigureError> {
    let shown = fastest(tracks);
    if shown.is_empty() {
        return Ok([None, None, None]);
    }
    let scale = speed_scale(data, model, tracks);
    let is_upright = model.gravity.x == 0.0;
    let names = if is_upright {
        ["Vertical velocity", "Horizontal velocity"]
    } else {
        ["Velocity along y", "Velocity along x"]
    };
    let vertical = body_curves(data, &shown, scale, names[0], "vy (m/s)", |track, row| track.velocity[row].y)?;
    let horizontal = body_curves(data, &shown, scale, names[1], "vx (m/s)", |track, row| track.velocity[row].x)?;
    let turning: Vec<&BodyTrack> = shown.iter().copied().filter(|track| track.turns).collect();
    let spin = if turning.is_empty() {
        body_curves(data, &shown, scale, "Speed", "|v| (m/s)", |track, row| track.velocity[row].length())?
    } else {
        let scale = spin_scale(tracks, scale);
        body_curves(data, &turning, scale, "Angular velocity", "ω (rad/s)", |track, row| track.spin[row].z)?
    };
    Ok([vertical, spin, horizontal])
}

/// Speed and angular velocity of bodies in space: of a single body by its components, which tell which way it turns.
pub(super) fn speeds(
    data: &RunData,
    model: &MultibodyModel,
    tracks: &[BodyTrack],
) -> Result<[Option<Panel>; 2], RunFigureError> {
    let shown = fastest(tracks);
    if shown.is_empty() {
        return Ok([None, None]);
    }
    let scale = speed_scale(data, model, tracks);
    let speed = body_curves(data, &shown, scale, "Speed", "|v| (m/s)", |track, row| track.velocity[row].length())?;
    let turning: Vec<&BodyTrack> = shown.iter().copied().filter(|track| track.turns).collect();
    let scale = spin_scale(tracks, scale);
    let spin = match turning[..] {
        [] => None,
        [track] => components(data, track, scale)?,
        _ => {
            body_curves(data, &turning, scale, "Angular speed", "|ω| (rad/s)", |track, row| track.spin[row].length())?
        }
    };
    Ok([speed, spin])
}

/// The angular velocity of a body about the axes of the world, without those about which it does not turn.
fn components(data: &RunData, track: &BodyTrack, scale: f64) -> Result<Option<Panel>, RunFigureError> {
    let times = data.times()?;
    let mut panel = over_time(data, "Angular velocity", "ω (rad/s)")?;
    for (axis, label) in ["about x", "about y", "about z"].into_iter().enumerate() {
        let points: Vec<(f64, f64)> = times.iter().zip(&track.spin).map(|(&t, spin)| (t, spin[axis])).collect();
        if points.iter().any(|point| point.1.abs() > NOISE * scale) {
            // About the vertical is what one looks for, and lies on top.
            let (label, colour) = (label.to_owned(), Some(curve_colour((axis + 1) % 3)));
            let width = if axis == 2 { Series::default().width } else { THIN };
            panel.series.push(Series { label, points, colour, width, ..Series::default() });
        }
    }
    if !track.spin.iter().any(|spin| spin.is_finite()) {
        return Ok(None);
    }
    if panel.series.is_empty() {
        panel.y_range = Some((-scale, scale));
    }
    Ok(Some(panel))
}

/// What one contact does between two times.
struct Bar {
    from: f64,
    to: f64,
    mode: usize,
}

/// The modes that have a bar, with their colours. Impacts come last: they lie on top.
const MODES: [(&str, Colour); 3] = [("stick", Colour::BLUE), ("slip", Colour::ORANGE), ("impact", Colour::VERMILLION)];

/// The impact among them.
const IMPACT: usize = 2;

/// Sorts the contacts of a pair of bodies by their number and not by its digits.
fn by_number(contact: &str) -> (&str, u32) {
    contact.rsplit_once('#').and_then(|(pair, number)| Some((pair, number.parse().ok()?))).unwrap_or((contact, 0))
}

/// Impulses of at most this size, in N s, are rounding.
fn least_impulse(rows: &ContactRows<'_>) -> f64 {
    NOISE * rows.impulse.iter().copied().filter(|impulse| impulse.is_finite()).fold(0.0, f64::max)
}

/// The bars of a run that recorded every step: sticking and slipping from the rows of the contacts, where impulses of
/// rounding size count as none, and impacts from the events.
fn recorded_bars(data: &RunData) -> Result<BTreeMap<&str, Vec<Bar>>, RunFigureError> {
    let mut bars: BTreeMap<&str, Vec<Bar>> = BTreeMap::new();
    let rows = data.contact_rows()?;
    let least = least_impulse(&rows);
    for row in (0..rows.t.len()).filter(|&row| rows.impulse[row] > least && rows.h[row] > 0.0) {
        let from = rows.t[row] - rows.h[row];
        if let Some(mode) = MODES[..IMPACT].iter().position(|(name, _)| *name == rows.mode[row]) {
            let bars = bars.entry(&rows.contact[row]).or_default();
            match bars.last_mut() {
                Some(bar) if bar.mode == mode && bar.to >= from - SAME_TIME * rows.h[row] => bar.to = rows.t[row],
                _ => bars.push(Bar { from, to: rows.t[row], mode }),
            }
        }
    }
    for change in data.mode_changes()?.iter().filter(|change| change.to == MODES[IMPACT].0) {
        bars.entry(change.contact).or_default().push(Bar { from: change.t, to: change.t_end, mode: IMPACT });
    }
    Ok(bars)
}

/// The bars of any run: from one change of mode to the next.
fn event_bars(data: &RunData) -> Result<BTreeMap<&str, Vec<Bar>>, RunFigureError> {
    let mut bars: BTreeMap<&str, Vec<Bar>> = BTreeMap::new();
    let mut open: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    for change in data.mode_changes()? {
        if let Some((from, mode)) = open.remove(change.contact) {
            bars.entry(change.contact).or_default().push(Bar { from, to: change.t, mode });
        }
        if let Some(mode) = MODES.iter().position(|(name, _)| *name == change.to) {
            open.insert(change.contact, (change.t, mode));
        }
    }
    for (contact, (from, mode)) in open {
        bars.entry(contact).or_default().push(Bar { from, to: data.span()?.1, mode });
    }
    Ok(bars)
}

/// Sticking, slipping and impacts of every contact as bars over time; `None` when no contact ever closed.
pub(super) fn modes(data: &RunData) -> Result<Option<Panel>, RunFigureError> {
    let (start, end) = data.time_range()?;
    let bars = if data.is_whole()? { recorded_bars(data)? } else { event_bars(data)? };
    let mut order: Vec<&str> = bars.keys().copied().collect();
    order.sort_by_key(|contact| by_number(contact));
    if order.is_empty() {
        return Ok(None);
    }
    let closed = |contact: &str| bars[contact].iter().map(|bar| bar.to - bar.from).sum::<f64>();
    let count = order.len();
    if count > MOST_CURVES {
        let mut longest = order.clone();
        longest.sort_by(|a, b| closed(b).total_cmp(&closed(a)));
        order.retain(|contact| longest[..MOST_CURVES].contains(contact));
    }

    let title = if count > order.len() {
        format!("Modes of the {} longest closed of {count} contacts", order.len())
    } else {
        "Contact modes".to_owned()
    };
    let mut panel = Panel { title, x_label: "time (s)".into(), ..Panel::default() };
    panel.x_range = Some((start, end));
    // Few contacts do not become thick bars.
    let room = 0.5 * (FEWEST_ROWS - order.len() as f64).max(0.0);
    panel.y_range = Some((-0.6 - room, order.len() as f64 - 0.4 + room));
    panel.legend = Legend::Above;

    // Contacts of one pair of bodies need only their number.
    let pair = |contact: &str| contact.split_once('#').map(|(pair, number)| (pair.to_owned(), format!("#{number}")));
    let first = pair(order[0]).map(|it| it.0);
    let is_one_pair = first.is_some() && order.iter().all(|contact| pair(contact).map(|it| it.0) == first);
    if is_one_pair {
        panel.y_label = first.unwrap_or_default();
    }
    let row = |place: usize| (order.len() - 1 - place) as f64;
    let name = |contact: &str| match pair(contact) {
        Some((_, number)) if is_one_pair => number,
        _ if contact.chars().count() > LONGEST_NAME => {
            let tail = contact.chars().count() + 1 - LONGEST_NAME;
            format!("…{}", contact.chars().skip(tail).collect::<String>())
        }
        _ => contact.to_owned(),
    };
    panel.y_names = Some(order.iter().enumerate().map(|(place, contact)| (row(place), name(contact))).collect());

    let shortest = SHORTEST_BAR * (end - start);
    for (mode, (label, colour)) in MODES.into_iter().enumerate() {
        let mut is_used = false;
        for (place, contact) in order.iter().enumerate() {
            let mut drawn: Vec<(f64, f64)> = Vec::new();
            for bar in bars[contact].iter().filter(|bar| bar.mode == mode) {
                let least = if mode == IMPACT { 2.0 * shortest } else { shortest };
                let to = bar.to.max(bar.from + least);
                // Bars that nobody could tell apart are one.
                match drawn.last_mut() {
                    Some(last) if bar.from <= last.1 => last.1 = last.1.max(to),
                    _ => drawn.push((bar.from, to)),
                }
            }
            is_used |= !drawn.is_empty();
            let y = row(place);
            for (from, to) in drawn {
                let (low, high) = (y - BAR_HALF_HEIGHT, y + BAR_HALF_HEIGHT);
                panel.outlines.push(Outline {
                    points: vec![(from, low), (to, low), (to, high), (from, high)],
                    fill: Some((colour, if mode == IMPACT { 1.0 } else { 0.75 })),
                    stroke: (mode == IMPACT).then_some(Stroke { colour, width: 0.5, dashed: false }),
                    ..Outline::default()
                });
            }
        }
        if is_used {
            // Only for the legend.
            panel.series.push(Series { label: label.into(), colour: Some(colour), width: 5.0, ..Series::default() });
        }
    }
    Ok(Some(panel))
}

/// What the contacts of a panel carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// Normal forces.
    Force,
    /// Moments of the limits of hinges, and of clutches.
    Moment,
}

/// Normal force of the contacts, or moment of the limits of hinges, between impacts; `None` when none ever carried anything.
///
/// The force is the impulse of a step over the length of that step, and holds for the whole step. A step of no length has an impulse and no force.
pub(super) fn loads(data: &RunData, load: Load) -> Result<Option<Panel>, RunFigureError> {
    let rows = data.contact_rows()?;
    let is_force = |row: usize| {
        rows.h[row] > 0.0
            && rows.mode[row] != MODES[IMPACT].0
            && data.is_angular(&rows.contact[row]) == (load == Load::Moment)
    };
    let force = |row: usize| rows.impulse[row] / rows.h[row];
    let largest =
        (0..rows.t.len()).filter(|&row| is_force(row)).map(force).filter(|f| f.is_finite()).fold(0.0, f64::max);
    let presses = |row: usize| is_force(row) && force(row) > NOISE * largest;
    let mut total: BTreeMap<&str, f64> = BTreeMap::new();
    for row in (0..rows.t.len()).filter(|&row| presses(row)) {
        *total.entry(&rows.contact[row]).or_default() += rows.impulse[row];
    }
    let mut order: Vec<&str> = total.keys().copied().collect();
    // A force that acts for a moment is an impact in all but name, and no curve.
    let span = data.span()?.1 - data.span()?.0;
    let loaded: f64 = (0..rows.t.len()).filter(|&row| presses(row)).map(|row| rows.h[row]).sum();
    let is_whole = data.is_whole()?;
    if order.is_empty() || (is_whole && loaded < SHORTEST_LOAD * span) {
        return Ok(None);
    }
    let count = order.len();
    order.sort_by(|a, b| total[b].total_cmp(&total[a]));
    order.truncate(MOST_CURVES);
    order.sort_by_key(|contact| by_number(contact));
    let (name, things, unit) = match load {
        Load::Force => ("Normal force", "contacts", "force (N)"),
        Load::Moment => ("Moment of limits and clutches", "limits and clutches", "moment (N m)"),
    };
    let title =
        if count > order.len() { format!("{name} of {} among {count} {things}", order.len()) } else { name.to_owned() };
    let mut panel = over_time(data, &title, unit)?;
    if !panel.rules.is_empty() {
        panel.title.push_str(" between impacts");
    }
    let mut forces: BTreeMap<&str, StepForces> =
        order.iter().map(|contact| (*contact, StepForces::default())).collect();
    // Of all contacts that share a step.
    let (mut sums, mut last_step) = (StepForces::default(), usize::MAX);
    for (row, step) in data.steps_of_contact_rows()?.into_iter().enumerate() {
        let step_of = Step { number: step, t: rows.t[row], h: rows.h[row], is_whole };
        if presses(row)
            && let Some(forces) = forces.get_mut(rows.contact[row].as_str())
        {
            forces.push(step_of, force(row));
        }
        if is_force(row) {
            match step == last_step {
                true => sums.add_to_last(force(row)),
                false => sums.push(step_of, force(row)),
            }
            last_step = step;
        }
    }
    let has_jumps = forces.values().any(|forces| is_restless(&forces.means));
    for (i, contact) in order.iter().enumerate() {
        let forces = forces.remove(contact).unwrap_or_default();
        // Contacts that share a load evenly lie on each other: dashes show the one below.
        let kind = match () {
            () if has_jumps => SeriesKind::Points,
            () if i % 2 == 1 => SeriesKind::Dashed,
            () => SeriesKind::Line,
        };
        let (points, width) = if has_jumps { (forces.means, 0.0) } else { (forces.curve, Series::default().width) };
        let colour = Some(curve_colour(i));
        panel.series.push(Series { label: (*contact).to_owned(), points, colour, kind, width });
    }
    // Forces that are not unique jump from step to step; their sum does not.
    if has_jumps && !is_restless(&sums.means) {
        let colour = Some(Colour::INK);
        panel.series.push(Series { label: "sum".into(), points: sums.curve, colour, ..Series::default() });
    }
    let forces = sorted_values(panel.series.iter().flat_map(|series| &series.points));
    if let Some(&most) = forces.last() {
        let usual = forces[(forces.len() - 1) * 49 / 50];
        let top = if most > PEAK * usual && usual > 0.0 {
            panel.title.push_str(", peaks cut off");
            2.0 * usual
        } else {
            most
        };
        panel.y_range = Some((-0.04 * top, 1.12 * top));
    }
    Ok(Some(panel))
}

/// A recorded step.
#[derive(Clone, Copy)]
struct Step {
    number: usize,
    /// Its end and its length, in seconds.
    t: f64,
    h: f64,
    /// Whether every step was recorded.
    is_whole: bool,
}

/// Mean forces of steps.
#[derive(Clone, Debug, Default)]
struct StepForces {
    /// In the middle of each step.
    means: Vec<(f64, f64)>,
    /// Constant over each step, with a gap where steps do not follow each other. Over steps that were not recorded it is
    /// drawn through.
    curve: Vec<(f64, f64)>,
    last_step: usize,
}

impl StepForces {
    /// Adds the force of a step.
    fn push(&mut self, Step { number, t, h, is_whole }: Step, force: f64) {
        let from = t - h;
        let has_gap = match (is_whole, self.curve.last()) {
            (_, None) => false,
            (true, Some(last)) => (last.0 - from).abs() > SAME_TIME * h,
            (false, Some(_)) => number > self.last_step + 1,
        };
        if has_gap {
            self.curve.push((from, f64::NAN));
        }
        self.curve.extend([(from, force), (t, force)]);
        self.means.push((from + 0.5 * h, force));
        self.last_step = number;
    }

    /// Adds to the force of the last step.
    fn add_to_last(&mut self, force: f64) {
        self.curve.iter_mut().rev().take(2).chain(self.means.last_mut()).for_each(|point| point.1 += force);
    }
}

/// All values that are numbers, the smallest first.
fn sorted_values<'a>(points: impl Iterator<Item = &'a (f64, f64)>) -> Vec<f64> {
    let mut values: Vec<f64> = points.map(|point| point.1).filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Whether the values jump up and down all the time. Few points do not tell.
fn is_restless(points: &[(f64, f64)]) -> bool {
    let values = sorted_values(points.iter());
    if values.len() < FEW_POINTS {
        return false;
    }
    let jump = JUMP * values[(values.len() - 1) * 49 / 50];
    let jumps = points.windows(2).filter(|pair| (pair[1].1 - pair[0].1).abs() > jump).count();
    jumps as f64 > RESTLESS * values.len() as f64
}

/// The kinetic energy of all bodies at the speed that counts as one, in J.
pub(super) fn energy_scale(data: &RunData, model: &MultibodyModel, tracks: &[BodyTrack]) -> f64 {
    let masses = model.bodies.iter().map(|body| match body.kind {
        BodyKind::Rigid { mass, .. } | BodyKind::Point { mass } => mass,
        _ => 0.0,
    });
    0.5 * masses.sum::<f64>() * speed_scale(data, model, tracks).powi(2)
}

/// Kinetic, potential and total energy, and what each cause took or brought so far. Energies far below `scale` are rounding.
pub(super) fn energy(data: &RunData, scale: f64) -> Result<Option<Panel>, RunFigureError> {
    let (t, kinetic, potential) = (data.audit("t")?, data.audit("kinetic")?, data.audit("potential")?);
    if t.is_empty() {
        return Ok(None);
    }
    let (start, _) = data.span()?;
    // With every step recorded, the sums are whole and the first row tells the start.
    let is_whole = data.is_whole()?;
    let (kinetic_change, total_change) = (data.audit("kinetic_change")?, data.audit("total_change")?);
    let mut rows: Vec<(f64, f64, f64)> = Vec::with_capacity(t.len() + 1);
    if is_whole {
        rows.push((start, kinetic[0] - kinetic_change[0], potential[0] - (total_change[0] - kinetic_change[0])));
    }
    rows.extend((0..t.len()).map(|i| (t[i], kinetic[i], potential[i])));
    let lowest = rows.iter().map(|row| row.2).filter(|value| value.is_finite()).fold(f64::INFINITY, f64::min);
    let lowest = if lowest.is_finite() { lowest } else { 0.0 };

    let mut panel = over_time(data, "Energy", "energy (J)")?;
    let line = |label: &str, colour: Colour, value: &dyn Fn(&(f64, f64, f64)) -> f64| Series {
        label: label.into(),
        points: rows.iter().map(|row| (row.0, value(row))).collect(),
        colour: Some(colour),
        ..Series::default()
    };
    let reach = |points: &[(f64, f64)]| {
        points.iter().map(|point| point.1.abs()).filter(|energy| energy.is_finite()).fold(0.0, f64::max)
    };
    let total = line("total", Colour::INK, &|row| row.1 + row.2 - lowest);
    let largest = reach(&total.points);
    let visible = (VISIBLE_ENERGY * largest).max(NOISE * scale);
    let potential = line("potential", Colour::GREEN, &|row| row.2 - lowest);
    // Kinetic is total only where the rest is rounding: a small share that does not show as a curve of its own is still a difference.
    if reach(&potential.points) > NOISE * largest.max(scale) {
        panel.series = vec![total, line("kinetic", Colour::BLUE, &|row| row.1), potential];
    } else {
        panel.series = vec![line("kinetic = total", Colour::BLUE, &|row| row.1)];
    }
    if is_whole {
        // Losses count upwards, so that they and the total add up to what there was.
        let causes = [
            ("lost in impacts", "work_normal", -1.0, Colour::VERMILLION),
            ("lost to friction", "work_friction", -1.0, Colour::ORANGE),
            ("lost by the scheme", "energy_numerical", -1.0, Colour::PURPLE),
            ("brought by joints", "work_joints", 1.0, Colour::ORANGE.towards(Colour::INK, 0.6)),
            ("brought by drives", "work_drive", 1.0, Colour::SKY),
            ("brought by forces", "work_applied", 1.0, Colour::GREY),
        ];
        for (label, column, sign, colour) in causes {
            let mut sum = 0.0;
            let mut points = vec![(start, 0.0)];
            for (&t, work) in t.iter().zip(data.audit(column)?) {
                sum += sign * work;
                points.push((t, sum));
            }
            if reach(&points) > visible {
                let (label, colour) = (label.to_owned(), Some(colour));
                panel.series.push(Series { label, points, colour, kind: SeriesKind::Dashed, ..Series::default() });
            }
        }
    }
    let values = panel.series.iter().flat_map(|series| &series.points).map(|point| point.1);
    panel.y_range = steady_range(values, scale);
    panel.legend = Legend::Above;
    Ok(Some(panel))
}

/// How well every step solved its problem, on a logarithmic axis with the limits.
pub(super) fn certificate(data: &RunData) -> Result<Option<Panel>, RunFigureError> {
    let t = data.audit("t")?;
    if t.is_empty() {
        return Ok(None);
    }
    let (start, end) = data.time_range()?;
    let mut panel = Panel {
        title: "Certificate".into(),
        x_label: "time (s)".into(),
        y_label: "relative error".into(),
        x_range: Some((start, end)),
        log_y: true,
        legend: Legend::Above,
        ..Panel::default()
    };
    let checks: [(&str, &[&str], Colour); 4] = [
        ("residual", &["residual"], Colour::BLUE),
        ("momentum", &["momentum"], Colour::GREEN),
        ("contact laws", &["complementarity", "cone_violation", "dissipation_defect"], Colour::VERMILLION),
        ("kinetic balance", &["kinetic_balance"], Colour::PURPLE),
    ];
    let mut limits: Vec<(f64, Vec<(&str, Colour)>)> = Vec::new();
    for (label, columns, colour) in checks {
        let columns = columns.iter().map(|name| data.audit(name)).collect::<Result<Vec<_>, _>>()?;
        let worst = |row: usize| columns.iter().map(|column| column[row].abs()).fold(0.0, f64::max);
        // A step counts for the whole interval that it ends; of many steps the worst one is shown.
        let bins = CERTIFICATE_BINS.min(t.len());
        let mut points = Vec::with_capacity(bins + 1);
        let mut from = start;
        for bin in 0..bins {
            let rows = bin * t.len() / bins..(bin + 1) * t.len() / bins;
            let value = rows.clone().map(worst).fold(0.0, f64::max).max(FLOOR);
            points.push((from, value));
            from = t[rows.end - 1];
        }
        points.push((from, points[points.len() - 1].1));
        panel.series.push(Series {
            label: label.into(),
            points,
            colour: Some(colour),
            width: 1.1,
            kind: SeriesKind::Steps,
        });
        let name = if label == "contact laws" { "complementarity".to_owned() } else { label.replace(' ', "_") };
        if let Some(limit) = data.limit(&name).filter(|limit| *limit > 0.0) {
            match limits.iter_mut().find(|entry| entry.0 == limit) {
                Some(entry) => entry.1.push((label, colour)),
                None => limits.push((limit, vec![(label, colour)])),
            }
        }
    }
    for (limit, who) in limits {
        let names: Vec<&str> = who.iter().map(|entry| entry.0).collect();
        panel.rules.push(Rule {
            position: RulePosition::Y(limit),
            label: format!("limit of {}", names.join(", ")),
            colour: if who.len() == 1 { who[0].1 } else { Colour::GREY },
            ..Rule::default()
        });
    }
    let values = panel.series.iter().flat_map(|series| &series.points).map(|point| point.1);
    let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let rules = panel.rules.iter().map(|rule| match rule.position {
        RulePosition::X(at) | RulePosition::Y(at) => at,
    });
    let top = rules.fold(largest, f64::max).max(1e-12);
    panel.y_range = Some((0.3 * FLOOR, 10.0 * top));
    Ok(Some(panel))
}

/// Marks the impacts in the panels of a figure whose horizontal axis is time.
pub(super) fn mark_impacts(data: &RunData, figure: &mut Figure) -> Result<(), RunFigureError> {
    for panel in &mut figure.panels {
        panel.rules.extend(over_time(data, "", "")?.rules);
    }
    Ok(())
}
