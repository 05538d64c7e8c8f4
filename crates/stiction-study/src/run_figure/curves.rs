//! Curves over time: velocities, coordinates, contacts, energy, certificate.

use std::collections::BTreeMap;

use stiction_bodies::{BodyKind, Dimension, MultibodyModel};
use stiction_dynamics::LinearSystem;

use super::run_data::{BodyTrack, ContactRow, RunData};
use super::{
    MOST_CURVES, NOISE, SMALL_MOTION, body_colour, bounds, curve_colour, fastest, heights, largest, steady_range,
};
use crate::figure::{Colour, Panel, Rule, RulePosition, Series, SeriesKind};

/// What an error of zero is drawn as on a logarithmic axis.
pub(super) const FLOOR: f64 = 1e-17;
/// The largest error has at least this room.
const LEAST_ERROR: f64 = 1e-12;
/// Intervals of time of which the certificate shows the worst step.
const CERTIFICATE_BINS: usize = 160;
/// Energy that came or went by a cause is shown when it exceeds this share of the largest energy.
const VISIBLE_ENERGY: f64 = 3e-3;
/// The shortest bar of a contact that is drawn, as a share of the run; impacts take twice that.
const SHORTEST_BAR: f64 = 0.002;
/// Width of the bars, in pixels.
const BAR_WIDTH: f64 = 12.0;
/// Forces are cut off where the largest is this many times the one exceeded a fiftieth of the time.
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
/// Curves that go up and down more than this many times their range fill the panel, and are thin.
const MANY_SWINGS: f64 = 60.0;
/// Width of such curves, in pixels.
const THIN: f64 = 0.6;
/// Letters of a contact's name beside its bar.
const LONGEST_NAME: usize = 20;
/// Coordinates that get panels of their own; more of them share panels by unit.
const MOST_ROWS: usize = 3;

/// A panel over time with the impacts as dashed lines.
pub(super) fn over_time(data: &RunData, title: &str, y_label: &str) -> Panel {
    let rules = data.impacts().into_iter().map(|impact| Rule {
        position: RulePosition::X(impact.t),
        colour: Colour::GREY.towards(Colour::WHITE, 0.35),
        ..Rule::default()
    });
    Panel {
        title: title.into(),
        x_label: "time (s)".into(),
        y_label: y_label.into(),
        x_range: Some(data.time_range()),
        rules: rules.collect(),
        ..Panel::default()
    }
}

/// A curve with its name; thin where it would fill the panel.
fn curve(label: &str, points: Vec<(f64, f64)>, colour: Colour) -> Series {
    let (low, high) = bounds(points.iter().map(|point| point.1));
    let way: f64 = points.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs()).filter(|step| step.is_finite()).sum();
    let is_rapid = high - low > NOISE * low.abs().max(high.abs()) && way > MANY_SWINGS * (high - low);
    let width = if is_rapid { THIN } else { Series::default().width };
    Series { label: label.to_owned(), points, colour: Some(colour), width, ..Series::default() }
}

/// A panel with a curve of values at the recorded states for every name; `None` when none was
/// recorded. Values far below `scale` are rounding.
fn curves(
    data: &RunData,
    [title, y_label]: [&str; 2],
    scale: f64,
    curves: impl IntoIterator<Item = (String, Colour, Vec<f64>)>,
) -> Option<Panel> {
    let times = data.times();
    let mut panel = over_time(data, title, y_label);
    for (label, colour, values) in curves {
        panel.series.push(curve(&label, times.iter().copied().zip(values).collect(), colour));
    }
    if let [alone] = &mut panel.series[..] {
        alone.label.clear();
    }
    panel.y_range = steady_range(heights(&panel), scale);
    let is_recorded = heights(&panel).any(f64::is_finite);
    is_recorded.then_some(panel)
}

/// The speed that counts as one, in m/s, below which [`NOISE`] begins: that of the bodies, or of a
/// step of free fall.
fn speed_scale(data: &RunData, model: &MultibodyModel, tracks: &[BodyTrack]) -> f64 {
    let top = tracks.iter().map(BodyTrack::top_speed).fold(0.0, f64::max);
    let fall = model.gravity.length() * data.step().unwrap_or(0.0);
    if top > NOISE * fall { top } else { 1.0 }
}

/// Velocities of bodies: in the plane vertical, angular and horizontal as in \[ST96\] Figures 3–5;
/// in space speed and angular velocity, of a single body by its components, which tell which way it
/// turns.
pub(super) fn velocities(data: &RunData, model: &MultibodyModel, tracks: &[BodyTrack]) -> Vec<Panel> {
    let shown = fastest(tracks);
    if shown.is_empty() {
        return Vec::new();
    }
    let turning: Vec<&BodyTrack> = shown.iter().copied().filter(|track| track.turns).collect();
    let speed = speed_scale(data, model, tracks);
    let top_spin = tracks.iter().flat_map(|track| &track.spin).map(|spin| spin.length()).fold(0.0, f64::max);
    let spin = if top_spin > NOISE * speed { top_spin } else { 1.0 };
    let panel = |bodies: &[&BodyTrack], scale: f64, words: [&str; 2], value: fn(&BodyTrack, usize) -> f64| {
        let curve = |track: &&BodyTrack| {
            let values = (0..track.velocity.len()).map(|row| value(track, row)).collect();
            (track.name.clone(), body_colour(&shown, track.body), values)
        };
        curves(data, words, scale, bodies.iter().map(curve))
    };
    let speeds = || panel(&shown, speed, ["Speed", "|v| (m/s)"], |track, row| track.velocity[row].length());
    let turns = match (model.dimension, &turning[..]) {
        (Dimension::Plane, []) => speeds(),
        (Dimension::Plane, _) => {
            panel(&turning, spin, ["Angular velocity", "ω (rad/s)"], |track, row| track.spin[row].z)
        }
        (Dimension::Space, []) => None,
        (Dimension::Space, [track]) => components(data, track, spin),
        (Dimension::Space, _) => {
            panel(&turning, spin, ["Angular speed", "|ω| (rad/s)"], |track, row| track.spin[row].length())
        }
    };
    if model.dimension == Dimension::Space {
        return [speeds(), turns].into_iter().flatten().collect();
    }
    let names = match model.gravity.x == 0.0 {
        true => ["Vertical velocity", "Horizontal velocity"],
        false => ["Velocity along y", "Velocity along x"],
    };
    let vertical = panel(&shown, speed, [names[0], "vy (m/s)"], |track, row| track.velocity[row].y);
    let horizontal = panel(&shown, speed, [names[1], "vx (m/s)"], |track, row| track.velocity[row].x);
    [vertical, turns, horizontal].into_iter().flatten().collect()
}

/// The angular velocity of a body about the axes of the world about which it turns.
fn components(data: &RunData, track: &BodyTrack, scale: f64) -> Option<Panel> {
    let axes = ["about x", "about y", "about z"].into_iter().enumerate();
    // About the vertical is what one looks for.
    let component = |(axis, label): (usize, &str)| {
        let values: Vec<f64> = track.spin.iter().map(|spin| spin[axis]).collect();
        (label.to_owned(), curve_colour((axis + 1) % 3), values)
    };
    let turns = |values: &[f64]| largest(values.iter().copied()) > NOISE * scale;
    let mut shown: Vec<_> = axes.map(component).collect();
    if shown.iter().any(|(_, _, values)| turns(values)) {
        shown.retain(|(_, _, values)| turns(values));
    }
    let title = match &shown[..] {
        [(label, ..)] => format!("Angular velocity {label}"),
        _ => "Angular velocity".to_owned(),
    };
    curves(data, [&title, "ω (rad/s)"], scale, shown)
}

/// Every coordinate of a system of matrices with its velocity; many share panels by unit.
pub(super) fn coordinates(data: &RunData, names: &[String]) -> Vec<Panel> {
    let unit = |name: &str| data.states.unit(name).to_owned();
    let mut groups: Vec<Vec<&String>> = names.iter().map(|name| vec![name]).collect();
    if names.len() > MOST_ROWS {
        let of_unit = |wanted: &str| names.iter().filter(|name| unit(name) == wanted).collect();
        groups = ["m", "rad", ""].map(of_unit).into_iter().filter(|group: &Vec<_>| !group.is_empty()).collect();
    }
    let mut panels = Vec::new();
    for group in groups {
        let velocities: Vec<String> = group.iter().map(|name| format!("v_{name}")).collect();
        let coordinates: Vec<String> = group.into_iter().cloned().collect();
        let titles = match &coordinates[..] {
            [name] => [format!("Coordinate {name}"), format!("Velocity of {name}")],
            _ => ["Coordinates".to_owned(), "Velocities".to_owned()],
        };
        for (columns, mut title) in [coordinates, velocities].iter().zip(titles) {
            let recorded: Vec<(&String, &[f64])> =
                columns.iter().filter_map(|name| Some((name, data.state(name)?))).collect();
            if recorded.len() > MOST_CURVES {
                title.push_str(&format!(", {MOST_CURVES} of {}", recorded.len()));
            }
            let label = match (&columns[..], unit(&columns[0])) {
                ([name], unit) if !unit.is_empty() => format!("{name} ({unit})"),
                ([name], _) => name.clone(),
                (_, unit) => unit,
            };
            let shown = || recorded.iter().take(MOST_CURVES).enumerate();
            let scale = largest(shown().flat_map(|(_, (_, values))| values.iter().copied())).max(SMALL_MOTION);
            let curve =
                |(i, (name, values)): (usize, &(&String, &[f64]))| ((*name).clone(), curve_colour(i), values.to_vec());
            panels.extend(curves(data, [&title, &label], scale, shown().map(curve)));
        }
    }
    panels
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

/// What every contact did, from one change of its mode to the next.
fn bars(data: &RunData) -> BTreeMap<&str, Vec<Bar>> {
    let (start, end) = data.span();
    let mut bars: BTreeMap<&str, Vec<Bar>> = BTreeMap::new();
    let mut open: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    let changes = data.mode_changes();
    let changes = changes.iter().map(|change| (change.contact, change.t, change.to));
    let known: std::collections::BTreeSet<&str> = changes.clone().map(|change| change.0).collect();
    for (contact, t, to) in changes.chain(known.into_iter().map(|contact| (contact, end, "open"))) {
        if let Some((from, mode)) = open.remove(contact)
            && t >= start
        {
            bars.entry(contact).or_default().push(Bar { from: from.max(start), to: t, mode });
        }
        if let Some(mode) = MODES.iter().position(|(name, _)| *name == to) {
            open.insert(contact, (t, mode));
        }
    }
    bars
}

/// The contacts of a panel that are shown, and how they are called: `#1` where all are of one pair
/// of bodies, whose name is returned beside them.
fn short_names(contacts: &[&str]) -> (Vec<String>, String) {
    let pair = |contact: &str| contact.split_once('#').map(|(pair, _)| pair.to_owned());
    let first = pair(contacts[0]).filter(|first| contacts.iter().all(|contact| pair(contact).as_ref() == Some(first)));
    let name = |contact: &&str| {
        let letters = contact.chars().count();
        match contact.split_once('#') {
            Some((_, number)) if first.is_some() => format!("#{number}"),
            _ if letters > LONGEST_NAME => {
                format!("…{}", contact.chars().skip(letters + 1 - LONGEST_NAME).collect::<String>())
            }
            _ => (*contact).to_owned(),
        }
    };
    (contacts.iter().map(name).collect(), first.clone().unwrap_or_default())
}

/// Sticking, slipping and impacts of contacts as bars over time; `None` when none ever closed.
pub(super) fn modes(data: &RunData) -> Option<Panel> {
    let (start, end) = data.time_range();
    let bars = bars(data);
    let mut order: Vec<&str> = bars.keys().copied().collect();
    let count = order.len();
    if count == 0 {
        return None;
    }
    let closed = |contact: &str| bars[contact].iter().map(|bar| bar.to - bar.from).sum::<f64>();
    order.sort_by(|a, b| closed(b).total_cmp(&closed(a)));
    order.truncate(MOST_CURVES);
    order.sort_by_key(|contact| by_number(contact));
    let title = match count > order.len() {
        true => format!("Modes of the {} longest closed of {count} contacts", order.len()),
        false => "Contact modes".to_owned(),
    };
    let (names, y_label) = short_names(&order);
    let row = |place: usize| (order.len() - place) as f64;
    let rows = names.into_iter().enumerate().map(|(place, name)| (row(place), name));
    let mut panel = Panel {
        title,
        y_label,
        x_label: "time (s)".into(),
        x_range: Some((start, end)),
        y_range: Some((0.4, order.len() as f64 + 0.6)),
        y_names: Some(rows.collect()),
        ..Panel::default()
    };
    for (mode, (label, colour)) in MODES.into_iter().enumerate() {
        let shortest = SHORTEST_BAR * (end - start) * if mode == IMPACT { 2.0 } else { 1.0 };
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (place, contact) in order.iter().enumerate() {
            for bar in bars[contact].iter().filter(|bar| bar.mode == mode) {
                let (y, to) = (row(place), bar.to.max(bar.from + shortest));
                match points.last_mut() {
                    // Bars that nobody could tell apart are one.
                    Some(last) if last.1 == y && bar.from <= last.0 => last.0 = last.0.max(to),
                    _ => points.extend([(bar.from, f64::NAN), (bar.from, y), (to, y)]),
                }
            }
        }
        if !points.is_empty() {
            let (label, colour) = (label.to_owned(), Some(colour));
            panel.series.push(Series { label, points, colour, width: BAR_WIDTH, ..Series::default() });
        }
    }
    Some(panel)
}

/// The mean force of a step: it holds for the whole step.
#[derive(Clone, Copy)]
struct StepForce<'a> {
    row: ContactRow<'a>,
    force: f64,
}

impl StepForce<'_> {
    fn middle(&self) -> (f64, f64) {
        (self.row.t - 0.5 * self.row.h, self.force)
    }
}

/// Forces that are constant over each step, with a gap where steps do not follow each other. Over
/// steps that were not recorded the curve goes on.
fn step_curve(forces: &[StepForce]) -> Vec<(f64, f64)> {
    let mut points = Vec::with_capacity(2 * forces.len());
    let mut last: Option<ContactRow> = None;
    for StepForce { row, force } in forces {
        let from = row.t - row.h;
        if last.is_some_and(|last| row.step > last.step + 1 && (last.t - from).abs() > SAME_TIME * row.h) {
            points.push((from, f64::NAN));
        }
        points.extend([(from, *force), (row.t, *force)]);
        last = Some(*row);
    }
    points
}

/// Normal force of contacts, or moment of limits, between impacts; `None` when none carries any.
///
/// The force is the impulse of a step over its length. A step of no length has none.
pub(super) fn loads(data: &RunData, is_moment: bool) -> Option<Panel> {
    let rows = data
        .contact_rows()
        .into_iter()
        .filter(|row| row.h > 0.0 && row.mode != MODES[IMPACT].0 && data.is_angular(row.contact) == is_moment);
    let all: Vec<StepForce> = rows.map(|row| StepForce { row, force: row.impulse / row.h }).collect();
    let least = NOISE * all.iter().map(|it| it.force).filter(|force| force.is_finite()).fold(0.0, f64::max);
    let mut contacts: BTreeMap<&str, Vec<StepForce>> = BTreeMap::new();
    for it in all.iter().filter(|it| it.force > least) {
        contacts.entry(it.row.contact).or_default().push(*it);
    }
    // A force that acts for a moment is an impact in all but name, and no curve.
    let (start, end) = data.span();
    let loaded: f64 = contacts.values().flatten().map(|it| it.row.h).sum();
    if contacts.is_empty() || (loaded < SHORTEST_LOAD * (end - start) && data.is_whole()) {
        return None;
    }
    let total = |contact: &str| contacts[contact].iter().map(|it| it.row.impulse).sum::<f64>();
    let mut order: Vec<&str> = contacts.keys().copied().collect();
    let count = order.len();
    order.sort_by(|a, b| total(b).total_cmp(&total(a)));
    order.truncate(MOST_CURVES);
    order.sort_by_key(|contact| by_number(contact));
    let (name, things, unit) = match is_moment {
        false => ("Normal force", "contacts", "force (N)"),
        true => ("Moment of limits and clutches", "limits and clutches", "moment (N m)"),
    };
    let mut panel = over_time(data, name, unit);
    if count > order.len() {
        panel.title = format!("{name} of {} among {count} {things}", order.len());
    }
    if !panel.rules.is_empty() {
        panel.title.push_str(" between impacts");
    }
    let middles = |forces: &[StepForce]| forces.iter().map(StepForce::middle).collect::<Vec<_>>();
    let has_jumps = order.iter().any(|contact| is_restless(&middles(&contacts[contact])));
    for (i, contact) in order.iter().enumerate() {
        let forces = &contacts[contact];
        let label = (*contact).to_owned();
        panel.series.push(match has_jumps {
            true => {
                let (points, kind) = (middles(forces), SeriesKind::Points);
                Series { label, points, kind, width: 0.0, colour: Some(curve_colour(i)) }
            }
            // Contacts that share a load evenly lie on each other: dashes show the one below.
            false => {
                let kind = if i % 2 == 1 { SeriesKind::Dashed } else { SeriesKind::Line };
                Series { kind, ..curve(&label, step_curve(forces), curve_colour(i)) }
            }
        });
    }
    // Forces that are not unique jump from step to step; their sum does not.
    let sums = all.chunk_by(|a, b| a.row.step == b.row.step);
    let sums = sums.map(|step| StepForce { force: step.iter().map(|it| it.force).sum(), ..step[0] });
    let sums: Vec<StepForce> = sums.collect();
    if has_jumps && order.len() > 1 && !is_restless(&middles(&sums)) {
        panel.series.push(curve("sum", step_curve(&sums), Colour::INK));
    }
    let forces = sorted(heights(&panel));
    if let Some(&most) = forces.last() {
        let usual = forces[(forces.len() - 1) * 49 / 50];
        let is_cut = most > PEAK * usual && usual > 0.0;
        if is_cut {
            panel.title.push_str(", peaks cut off");
        }
        let top = if is_cut { 2.0 * usual } else { most };
        panel.y_range = Some((-0.04 * top, 1.12 * top));
    }
    Some(panel)
}

/// All values that are numbers, the smallest first.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Whether the values jump up and down all the time. Few points do not tell.
fn is_restless(points: &[(f64, f64)]) -> bool {
    let values = sorted(points.iter().map(|point| point.1));
    if values.len() < FEW_POINTS {
        return false;
    }
    let jump = JUMP * values[(values.len() - 1) * 49 / 50];
    let jumps = points.windows(2).filter(|pair| (pair[1].1 - pair[0].1).abs() > jump).count();
    jumps as f64 > RESTLESS * values.len() as f64
}

/// The kinetic energy of all bodies at the speed that counts as one, in J.
pub(super) fn energy_of_bodies(data: &RunData, model: &MultibodyModel, tracks: &[BodyTrack]) -> f64 {
    let masses = model.bodies.iter().map(|body| match body.kind {
        BodyKind::Rigid { mass, .. } | BodyKind::Point { mass } => mass,
        _ => 0.0,
    });
    0.5 * masses.sum::<f64>() * speed_scale(data, model, tracks).powi(2)
}

/// The largest kinetic energy, or that of a small motion of the heaviest coordinate, in J.
pub(super) fn energy_of_matrices(data: &RunData, system: &LinearSystem) -> f64 {
    let heaviest = system.data().mass.iter().enumerate().map(|(i, row)| row[i]).fold(0.0, f64::max);
    largest(data.audit.real("kinetic").iter().copied()).max(0.5 * heaviest * SMALL_MOTION * SMALL_MOTION)
}

/// What brings or takes energy: its name, its column, its sign, its colour. Losses count upwards,
/// so that they and the total add up to what there was.
const CAUSES: [(&str, &str, f64, Colour); 6] = [
    ("lost in impacts", "work_normal", -1.0, Colour::VERMILLION),
    ("lost to friction", "work_friction", -1.0, Colour::ORANGE),
    ("lost by the scheme", "energy_numerical", -1.0, Colour::PURPLE),
    ("brought by joints", "work_joints", 1.0, Colour(112, 84, 20)),
    ("brought by drives", "work_drive", 1.0, Colour::SKY),
    ("brought by forces", "work_applied", 1.0, Colour::GREY),
];

/// Kinetic, potential and total energy, and what each cause took or brought so far.
pub(super) fn energy(data: &RunData, scale: f64) -> Option<Panel> {
    let audit = &data.audit;
    let (t, kinetic, potential) = (audit.real("t"), audit.real("kinetic"), audit.real("potential"));
    if t.is_empty() {
        return None;
    }
    let (start, _) = data.span();
    // With every step recorded, the sums are whole and the first row tells the start.
    let is_whole = data.is_whole();
    let (kinetic_change, total_change) = (audit.real("kinetic_change")[0], audit.real("total_change")[0]);
    let first = (start, kinetic[0] - kinetic_change, potential[0] - (total_change - kinetic_change));
    let rows = is_whole.then_some(first).into_iter().chain((0..t.len()).map(|i| (t[i], kinetic[i], potential[i])));
    let rows: Vec<(f64, f64, f64)> = rows.collect();
    let lowest = bounds(rows.iter().map(|row| row.2)).0;
    let lowest = if lowest.is_finite() { lowest } else { 0.0 };

    let mut panel = over_time(data, "Energy", "energy (J)");
    let line = |label: &str, colour: Colour, value: &dyn Fn(&(f64, f64, f64)) -> f64| {
        curve(label, rows.iter().map(|row| (row.0, value(row))).collect(), colour)
    };
    let reach = |series: &Series| largest(series.points.iter().map(|point| point.1));
    let total = line("total", Colour::INK, &|row| row.1 + row.2 - lowest);
    let most = reach(&total);
    let potential = line("potential", Colour::GREEN, &|row| row.2 - lowest);
    // Kinetic is total only where the rest is rounding.
    panel.series = match reach(&potential) > NOISE * most.max(scale) {
        true => vec![total, line("kinetic", Colour::BLUE, &|row| row.1), potential],
        false => vec![line("kinetic = total", Colour::BLUE, &|row| row.1)],
    };
    for (label, column, sign, colour) in CAUSES.into_iter().filter(|_| is_whole) {
        let mut sum = 0.0;
        let so_far = t.iter().zip(audit.real(column)).map(|(&t, work)| {
            sum += sign * work;
            (t, sum)
        });
        let series = curve(label, std::iter::once((start, 0.0)).chain(so_far).collect(), colour);
        if reach(&series) > (VISIBLE_ENERGY * most).max(NOISE * scale) {
            panel.series.push(Series { kind: SeriesKind::Dashed, ..series });
        }
    }
    panel.y_range = steady_range(heights(&panel), scale);
    Some(panel)
}

/// What the certificate shows: its name, the columns of which the worst counts, its colour. The
/// limit is that of the first column.
const CHECKS: [(&str, &[&str], Colour); 4] = [
    ("residual", &["residual"], Colour::BLUE),
    ("momentum", &["momentum"], Colour::GREEN),
    ("contact laws", &["complementarity", "cone_violation", "dissipation_defect"], Colour::VERMILLION),
    ("kinetic balance", &["kinetic_balance"], Colour::PURPLE),
];

/// How well every step solved its problem, on a logarithmic axis with the limits.
pub(super) fn certificate(data: &RunData) -> Option<Panel> {
    let t = data.audit.real("t");
    if t.is_empty() {
        return None;
    }
    let (start, _) = data.time_range();
    let mut panel = Panel { log_y: true, rules: Vec::new(), ..over_time(data, "Certificate", "relative error") };
    let mut limits: Vec<(f64, Vec<&str>, Colour)> = Vec::new();
    for (label, columns, colour) in CHECKS {
        let values = columns.iter().map(|name| data.audit.real(name)).collect::<Vec<_>>();
        let worst = |row: usize| values.iter().map(|column| column[row].abs()).fold(0.0, f64::max);
        // A step counts for the whole interval that it ends; of many steps the worst one is shown.
        let bins = CERTIFICATE_BINS.min(t.len());
        let mut points = Vec::with_capacity(bins + 1);
        let mut from = start;
        for bin in 0..bins {
            let rows = bin * t.len() / bins..(bin + 1) * t.len() / bins;
            points.push((from, rows.clone().map(worst).fold(FLOOR, f64::max)));
            from = t[rows.end - 1];
        }
        points.push((from, points[bins - 1].1));
        panel.series.push(Series { kind: SeriesKind::Steps, width: 1.1, ..curve(label, points, colour) });
        let Some(limit) = data.limit(columns[0]).filter(|limit| *limit > 0.0) else { continue };
        match limits.iter_mut().find(|entry| entry.0 == limit) {
            Some((_, labels, colour)) => {
                labels.push(label);
                *colour = Colour::GREY;
            }
            None => limits.push((limit, vec![label], colour)),
        }
    }
    panel.rules.extend(limits.into_iter().map(|(limit, labels, colour)| Rule {
        position: RulePosition::Y(limit),
        label: format!("limit of {}", labels.join(", ")),
        colour,
        ..Rule::default()
    }));
    panel.y_range = Some(error_range(&panel));
    Some(panel)
}

/// The range of an axis of errors: from the floor to above the largest of them and the limits.
pub(super) fn error_range(panel: &Panel) -> (f64, f64) {
    let limits = panel.rules.iter().filter_map(|rule| match rule.position {
        RulePosition::X(_) => None,
        RulePosition::Y(limit) => Some(limit),
    });
    (0.3 * FLOOR, 10.0 * largest(heights(panel).chain(limits)).max(LEAST_ERROR))
}
