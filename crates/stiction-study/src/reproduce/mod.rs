//! The papers' experiments: published and reference numbers beside ours, and their figures redrawn.

pub mod report;

mod curved_surfaces;
mod dissipation;
mod elements;
mod event_driven;
mod four_balls;
mod friction_cone;
mod friction_set;
mod lagrange;
mod painleve;
mod phantom_inertia;
mod plot;
mod rod;
mod schemes;
mod sphere_spin;
mod sphere_valley;
mod torsion;
mod trapezoidal;
mod trapezoidal_rules;
mod two_balls;
mod woodpecker;

// What the experiments share; they import this module whole.
use serde::Serialize;
use stiction_dynamics::{
    Audit, ContactError, ContactMethod, ContactSolution, ContactSolver, MechanicalSystem, SchemeSettings, Simulation,
    State, StepAudit, StepError, StepKind, StewartTrinkleSettings, TimeGrid, TrapezoidalSettings,
};
use stiction_scene::load::{load, parse};
use stiction_scene::scene_error::SceneError;
use thiserror::Error;

use crate::certified::{Auditor, Verdict};
use crate::converge::ConvergeError;
use crate::figure::{Anchor, Colour, Figure, Legend, Mark, Outline, Panel, Series, SeriesKind};
use plot::{Curve, body, coloured, curve, dots, line, panel};

/// What rounding may make of a number near one, after some hundred steps: 450 units of it. Too
/// small: a processor without fused multiplications, which rounds in other places, misses numbers
/// that are right. Too large: an error of the thirteenth digit passes.
pub const ROUNDING: f64 = 1e-13;

/// How far a number may be from what it is compared with, and why so far:
/// [`Row::has_fair_tolerance`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Not at all: it is a count, or an answer of yes or no.
    Exact,
    /// As far as rounding takes it: [`ROUNDING`], times the number where that is larger than one.
    Rounding,
    /// Half a unit of the last one of so many decimals, with which the other number is printed, but
    /// not less than rounding.
    Printed(i32),
    /// As far as was measured, and a little more: at most a hundred times, and beyond rounding.
    Measured(f64),
}

use Tolerance::{Exact, Measured, Printed, Rounding};

impl Tolerance {
    /// The largest difference from this number.
    pub fn bound(self, target: f64) -> f64 {
        let rounding = ROUNDING * target.abs().max(1.0);
        match self {
            Exact => 0.0,
            Rounding => rounding,
            Printed(decimals) => half_unit(decimals).max(rounding),
            Measured(bound) => bound,
        }
    }
}

/// Half a unit of the last one of so many decimals. Halves are rounded up by some and to even by
/// others.
fn half_unit(decimals: i32) -> f64 {
    0.5 * 10f64.powi(-decimals) * (1.0 + 1e-9)
}

/// The tolerance of a number that is printed with so many significant digits.
fn significant(digits: i32, value: f64) -> Tolerance {
    let first = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    Printed(digits - 1 - first)
}

/// One number of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// Which experiment.
    pub id: &'static str,
    /// Which paper, by its key in the bibliography; `none` where the experiment is in none of them.
    pub paper: &'static str,
    /// What the number is, with its unit.
    pub quantity: String,
    /// The number that the paper prints.
    pub published: Option<f64>,
    /// The number of an independent reference solution.
    pub reference: Option<f64>,
    /// Our number; none where there is only a note.
    #[serde(serialize_with = "finite_or_null")]
    pub computed: f64,
    /// Largest accepted difference from the reference, or from the published number where there is
    /// no reference; where a range is asked for, half its width.
    #[serde(serialize_with = "finite_or_null")]
    pub tolerance: f64,
    /// Whether it is met, by a run whose certificate is met.
    pub ok: bool,
    /// Least accepted value, where a range is asked for and not a number.
    pub least: Option<f64>,
    /// Largest accepted value, likewise.
    pub most: Option<f64>,
    /// Whether our number, rounded to the printed digits, is another one than the printed one.
    pub differs_from_print: bool,
    /// What the certificate of the runs behind the number says: `met`, or what is not; none where
    /// there is no run.
    pub certificate: Option<String>,
    /// What else there is to say, such as the reason of a refusal.
    pub note: Option<String>,
    /// Errors by step size, where the number is an order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<(f64, f64)>,
    /// The printed number with its digits.
    #[serde(skip)]
    pub printed: Option<&'static str>,
    /// Why the tolerance is what it is; none where a range is asked for.
    #[serde(skip)]
    pub reason: Option<Tolerance>,
}

/// JSON has no infinity and no number that is not one.
fn finite_or_null<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    value.is_finite().then_some(*value).serialize(serializer)
}

impl Row {
    /// What is wanted, in words: a number, or `0.9 to 1.15`, `at least 0.3`, `at most 4`.
    pub fn wanted(&self, number: impl Fn(f64) -> String) -> Option<String> {
        match (self.reference, self.least, self.most) {
            (Some(reference), ..) => Some(number(reference)),
            (None, Some(least), Some(most)) => Some(format!("{} to {}", short(least), short(most))),
            (None, Some(least), None) => Some(format!("at least {}", short(least))),
            (None, None, Some(most)) => Some(format!("at most {}", short(most))),
            (None, None, None) => None,
        }
    }

    /// Whether there is no number to meet, as where a scheme refuses a scene.
    pub fn is_note(&self) -> bool {
        self.ok && self.computed.is_nan()
    }

    /// Whether the tolerance is no wider than its reason allows, so that a change of the last two
    /// digits known shows, and no narrower than what another processor may round otherwise.
    ///
    /// It is at most a hundred times the error that was found. Where that error is rounding itself
    /// (1e-16 to 1e-15, or none at all) a hundred times it would be luck: no tolerance is below
    /// that of [`Rounding`]. Where the other number is printed, it is the
    /// rounding of its last digit.
    pub fn has_fair_tolerance(&self) -> bool {
        let (Some(reason), Some(target)) = (self.reason, self.reference.or(self.published)) else { return true };
        match reason {
            Exact | Rounding => true,
            Printed(decimals) => {
                let digits = target.to_string();
                digits.split_once('.').is_none_or(|(_, digits)| digits.len() as i32 <= decimals)
            }
            Measured(bound) => {
                let rounding = Rounding.bound(target);
                rounding <= bound && bound <= (100.0 * (self.computed - target).abs()).max(rounding)
            }
        }
    }

    /// What is to be said below it: its note, and a certificate that is not met.
    pub fn notes(&self) -> Vec<String> {
        let unmet = self.certificate.as_ref().filter(|words| *words != "met");
        self.note.iter().cloned().chain(unmet.map(|words| format!("certificate {words}"))).collect()
    }

    /// How it stands: `ok`, `differs from print`, or what is wrong.
    pub fn standing(&self) -> &'static str {
        match () {
            () if self.certificate.as_ref().is_some_and(|words| words.starts_with("not met")) => "NOT CERTIFIED",
            () if !self.ok => "NOT MET",
            () if self.is_note() => "note",
            () if self.differs_from_print => "differs from print",
            () => "ok",
        }
    }
}

/// How rows stand; notes are no numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Numbers.
    pub count: usize,
    /// Those that are met.
    pub met: usize,
    unlike_print: usize,
}

impl Tally {
    /// Of these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        rows.into_iter().filter(|row| !row.is_note()).fold(Self::default(), |sum, row| Self {
            count: sum.count + 1,
            met: sum.met + usize::from(row.ok),
            unlike_print: sum.unlike_print + usize::from(row.differs_from_print),
        })
    }

    /// How many differ from print, as the end of a sentence; nothing where none does.
    pub fn unlike_print(&self) -> String {
        if self.unlike_print == 0 { String::new() } else { format!(", {} differ from print", self.unlike_print) }
    }
}

/// An end of a range: round numbers as they are, tiny ones with a power of ten.
fn short(bound: f64) -> String {
    if bound == 0.0 || bound.abs() >= 1e-3 { bound.to_string() } else { format!("{bound:.1e}") }
}

/// Whether a number, rounded to the digits of a printed one, is that printed one.
fn agrees_with_print(printed: &str, computed: f64) -> bool {
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    let unit = decimals - exponent.parse::<i32>().unwrap_or(0);
    (computed - print_value(printed)).abs() <= half_unit(unit)
}

/// The value of a printed number.
fn print_value(printed: &str) -> f64 {
    printed.parse().expect("printed numbers are decimal")
}

/// A figure of an experiment.
#[derive(Clone, Debug)]
pub struct NamedFigure {
    /// Name of its file, without an ending.
    pub name: &'static str,
    /// The figure.
    pub figure: Figure,
}

/// What an experiment gives.
#[derive(Clone, Debug, Default)]
pub struct Reproduction {
    /// The numbers.
    pub rows: Vec<Row>,
    /// The figures.
    pub figures: Vec<NamedFigure>,
    /// What a reader of the paper should know: where it is silent or in error, and why numbers
    /// differ from the printed ones.
    pub remarks: &'static [&'static str],
    /// Steps of all runs together: what it cost.
    pub steps: u64,
}

/// How much is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// All of it.
    Full,
    /// Without the runs that take longest, and without their numbers: those at the smallest steps,
    /// over the longest times, of the largest samples. Experiments that take some hundred steps in
    /// all are whole.
    Quick,
}

/// An experiment that could not be run.
#[derive(Debug, Error)]
pub enum ReproduceError {
    /// Its scene could not be built.
    #[error(transparent)]
    Scene(#[from] Box<SceneError>),
    /// One of its steps could not be made.
    #[error(transparent)]
    Step(#[from] Box<StepError>),
    /// An instant of it is malformed.
    #[error(transparent)]
    Instant(#[from] ContactError),
    /// Schemes could not be compared.
    #[error(transparent)]
    Converge(#[from] ConvergeError),
}

/// An experiment of a paper.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Its identity on the command line.
    pub id: &'static str,
    /// What it is.
    pub title: &'static str,
    remarks: &'static [&'static str],
    run: fn(&mut Rows) -> Result<(), ReproduceError>,
}

impl Experiment {
    /// What it is, without the paper's key in front.
    pub fn name(&self) -> &'static str {
        self.title.split_once("] ").map_or(self.title, |(_, name)| name)
    }

    /// The paper's key.
    fn paper(&self) -> &'static str {
        self.title.strip_prefix('[').and_then(|title| title.split_once(']')).map_or("none", |(paper, _)| paper)
    }

    /// Runs it; `progress` hears what is being computed.
    ///
    /// # Errors
    /// [`ReproduceError`] when a scene cannot be built or a step cannot be made.
    pub fn run(&self, effort: Effort, progress: &mut dyn FnMut(&str)) -> Result<Reproduction, ReproduceError> {
        let mut rows = Rows::new(self.id, self.paper(), effort, progress);
        (self.run)(&mut rows)?;
        let Rows { rows, figures, steps, .. } = rows;
        Ok(Reproduction { rows, figures, remarks: self.remarks, steps })
    }
}

/// All experiments.
pub const EXPERIMENTS: [Experiment; 20] = [
    rod::EXPERIMENT,
    four_balls::EXPERIMENT,
    two_balls::EXPERIMENT,
    lagrange::EXPERIMENT,
    dissipation::EXPERIMENT,
    curved_surfaces::EXPERIMENT,
    trapezoidal::DOUBLE_PENDULUM,
    trapezoidal::CARTS_DAMPER,
    trapezoidal::CARTS_SPRING,
    trapezoidal_rules::EXPERIMENT,
    friction_cone::EXPERIMENT,
    trapezoidal::FREE_TOP,
    woodpecker::EXPERIMENT,
    sphere_spin::ALIGNED,
    sphere_spin::MISALIGNED,
    sphere_valley::EXPERIMENT,
    phantom_inertia::EXPERIMENT,
    elements::EXPERIMENT,
    painleve::EXPERIMENT,
    schemes::EXPERIMENT,
];

/// What an experiment writes: its rows, judged as they are added, and its figures. Runs are made
/// through it, so that it knows what their certificates say.
struct Rows<'a> {
    id: &'static str,
    paper: &'static str,
    is_quick: bool,
    progress: &'a mut dyn FnMut(&str),
    rows: Vec<Row>,
    figures: Vec<NamedFigure>,
    /// Of the runs behind the rows that are added next.
    verdict: Option<Verdict>,
    /// Whether a row was added since the last run, so that the next one begins a verdict of its
    /// own.
    has_spoken: bool,
    steps: u64,
}

impl<'a> Rows<'a> {
    fn new(id: &'static str, paper: &'static str, effort: Effort, progress: &'a mut dyn FnMut(&str)) -> Self {
        let (rows, figures) = (Vec::new(), Vec::new());
        let is_quick = effort == Effort::Quick;
        Self { id, paper, is_quick, progress, rows, figures, verdict: None, has_spoken: true, steps: 0 }
    }

    /// Says what is being computed.
    fn progress(&mut self, what: impl AsRef<str>) {
        (self.progress)(what.as_ref());
    }

    /// What is computed in full, or what is computed in a quick look.
    fn full_or<T>(&self, full: T, quick: T) -> T {
        if self.is_quick { quick } else { full }
    }

    /// Runs to the end; `observer` sees the certificate of every step. The rows that follow are fed
    /// by this run, and by those before it since the last row.
    fn run(
        &mut self,
        simulation: &mut Simulation,
        observer: impl FnMut(&Simulation, &StepAudit),
    ) -> Result<Audit, ReproduceError> {
        let (verdict, audit) = Auditor::default().run(simulation, observer)?;
        self.steps += audit.step_count as u64;
        self.join(verdict);
        Ok(audit)
    }

    /// Adds the verdict of a run to those that feed the rows that follow.
    fn join(&mut self, verdict: Verdict) {
        self.verdict = Some(match self.verdict.take() {
            Some(earlier) if !self.has_spoken => earlier.and(&verdict),
            _ => verdict,
        });
        self.has_spoken = false;
    }

    /// Adds the judge's word on a single problem.
    fn solved(&mut self, solution: &ContactSolution) {
        self.join(Verdict::of_solve(&solution.report));
    }

    /// Leaves out a check that the runs behind the next rows are known not to meet, for a reason.
    fn but_for(&mut self, check: &str, reason: &str) {
        self.verdict = self.verdict.take().map(|verdict| verdict.but_for(check, reason));
    }

    /// Whether the runs behind the next rows are certified.
    fn is_met(&self) -> bool {
        self.verdict.as_ref().is_none_or(Verdict::is_met)
    }

    /// Adds a number that should be the reference.
    fn add(&mut self, quantity: impl Into<String>, reference: f64, computed: f64, tolerance: Tolerance) {
        self.add_printed(quantity, None, Some(reference), computed, tolerance);
    }

    /// Adds numbers that differ in a part of their names.
    fn add_each(
        &mut self,
        quantity: impl Fn(&str) -> String,
        names: &[&str],
        references: &[f64],
        computed: &[f64],
        tolerance: Tolerance,
    ) {
        for ((name, reference), computed) in names.iter().zip(references).zip(computed) {
            self.add(quantity(name), *reference, *computed, tolerance);
        }
    }

    /// Adds a number that should be the reference, or the printed one where there is none.
    fn add_printed(
        &mut self,
        quantity: impl Into<String>,
        printed: Option<&'static str>,
        reference: Option<f64>,
        computed: f64,
        tolerance: Tolerance,
    ) {
        let published = printed.map(print_value);
        let target = reference.or(published).unwrap_or(f64::NAN);
        let bound = tolerance.bound(target);
        let ok = (computed - target).abs() <= bound;
        let row = Row { printed, published, reference, ok, ..self.row(quantity, computed) };
        self.push(Row { tolerance: bound, reason: Some(tolerance), ..row });
    }

    /// Adds a number that should lie between two others, one of which may be infinite.
    fn add_between(&mut self, quantity: impl Into<String>, (least, most): (f64, f64), computed: f64) {
        let finite = |bound: f64| bound.is_finite().then_some(bound);
        let ok = least <= computed && computed <= most;
        let (least, most, tolerance) = (finite(least), finite(most), 0.5 * (most - least));
        self.push(Row { least, most, tolerance, ok, ..self.row(quantity, computed) });
    }

    fn row(&self, quantity: impl Into<String>, computed: f64) -> Row {
        Row { id: self.id, paper: self.paper, quantity: quantity.into(), computed, ..Default::default() }
    }

    /// Adds a row that is judged already, but for its certificate and for print.
    fn push(&mut self, mut row: Row) {
        row.certificate = self.verdict.as_ref().map(Verdict::words);
        row.ok &= self.is_met();
        row.differs_from_print = row.printed.is_some_and(|printed| !agrees_with_print(printed, row.computed));
        self.rows.push(row);
        self.has_spoken = true;
    }

    /// What else there is to say of the last row.
    fn last(&mut self) -> &mut Row {
        self.rows.last_mut().expect("a row was added")
    }

    /// Adds a figure: its name, heading and subtitle, how many panels stand beside each other, its
    /// width and height, and the panels.
    fn figure(
        &mut self,
        name: &'static str,
        title: impl Into<String>,
        subtitle: impl Into<String>,
        (columns, width, height): (usize, u32, u32),
        panels: Vec<Panel>,
    ) {
        let (title, subtitle, size) = (title.into(), subtitle.into(), (width, height));
        let figure = Figure { title, subtitle, panels, columns, size, ..Default::default() };
        self.figures.push(NamedFigure { name, figure });
    }

    /// Gives the rows of the last figure other heights than equal ones.
    fn set_row_weights(&mut self, weights: Vec<f64>) {
        self.figures.last_mut().expect("a figure was added").figure.row_weights = weights;
    }
}

/// A built-in scene with some settings changed.
fn scene(name: &str, overrides: &[String]) -> Result<Simulation, ReproduceError> {
    Ok(load(name, overrides).map_err(Box::new)?.simulation())
}

/// A scene from its text.
fn scene_of(text: &str) -> Result<Simulation, ReproduceError> {
    Ok(parse(text, "scene.toml").map_err(Box::new)?.simulation())
}

/// A system by a scheme and a method, from a state to a time in steps of this size.
fn simulation(
    system: impl MechanicalSystem + 'static,
    scheme: &SchemeSettings,
    method: ContactMethod,
    start: State,
    (step, end): (f64, f64),
) -> Result<Simulation, ReproduceError> {
    let grid = TimeGrid { start: start.t, end, step };
    Ok(Simulation::new(Box::new(system), scheme.build(ContactSolver::new(method)?), start, grid))
}

/// A scheme with its default settings.
fn scheme(name: &str) -> SchemeSettings {
    SchemeSettings::all().into_iter().find(|scheme| scheme.name() == name).expect("a scheme of ours")
}

/// Columns of a scene: of each body these quantities.
struct Columns(Vec<usize>);

impl Columns {
    fn new(simulation: &Simulation, bodies: &[&str], kinds: &[&str]) -> Self {
        let names = simulation.system().column_names();
        let wanted = bodies.iter().flat_map(|body| kinds.iter().map(move |kind| format!("{body}.{kind}")));
        let place = |name: String| names.iter().position(|other| *other == name).expect("a column of the scene");
        Self(wanted.map(place).collect())
    }

    /// Their values now.
    fn of(&self, simulation: &Simulation) -> Vec<f64> {
        let mut values = Vec::new();
        simulation.system().record(simulation.state(), &mut values);
        self.0.iter().map(|place| values[*place]).collect()
    }
}

/// The largest distance of two lists of numbers.
fn largest_difference<'a>(a: impl IntoIterator<Item = &'a f64>, b: impl IntoIterator<Item = &'a f64>) -> f64 {
    a.into_iter().zip(b).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

/// Order of convergence: slope of the least-squares line through (log h, log error).
///
/// A slope over several steps and not a ratio of two, because the phase of an impact within a step
/// makes single ratios erratic.
pub fn fitted_order(errors: &[(f64, f64)]) -> f64 {
    let count = errors.len() as f64;
    let points = errors.iter().map(|&(h, error)| (h.ln(), error.ln()));
    let (sum_x, sum_y) = points.clone().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x, sum.1 + y));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (covariance, variance) = points
        .fold((0.0, 0.0), |sum, (x, y)| (sum.0 + (x - mean_x) * (y - mean_y), sum.1 + (x - mean_x) * (x - mean_x)));
    covariance / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(rows: &Rows) -> Vec<bool> {
        rows.rows.iter().map(|row| row.ok).collect()
    }

    #[test]
    fn a_row_is_met_within_its_tolerance_on_both_sides_and_never_without_a_number() {
        let mut deaf = |_: &str| {};
        let mut rows = Rows::new("rod", "ST96", Effort::Full, &mut deaf);
        for computed in [1.9, 2.1, 1.7, 2.3, f64::NAN, f64::INFINITY] {
            rows.add_printed("near the reference, far from print", Some("5.0"), Some(2.0), computed, Measured(0.2));
        }
        rows.add_printed("print alone", Some("5.0"), None, 5.1, Measured(0.2));
        rows.add_printed("neither", None, None, 5.1, Measured(0.2));
        assert_eq!(met(&rows), [true, true, false, false, false, false, true, false]);
    }

    #[test]
    fn a_tolerance_is_as_wide_as_its_reason_says() {
        let mut deaf = |_: &str| {};
        let mut rows = Rows::new("rod", "ST96", Effort::Full, &mut deaf);
        rows.add("a hundred times the error", 2.0, 2.001, Measured(0.09));
        rows.add("more than that", 2.0, 2.001, Measured(0.11));
        rows.add("rounding of a number near one", 1.0, 1.0, Measured(1e-13));
        rows.add("rounding of a larger number", 256.0, 256.0, Measured(2.56e-11));
        rows.add("more than rounding", 1.0, 1.0 + 1e-15, Measured(2e-13));
        rows.add("luck: less than rounding", 256.0, 256.0 + 3e-13, Measured(1e-11));
        rows.add("all decimals of the reference", 0.352, 0.3521, Printed(3));
        rows.add("the reference has more of them", 0.352, 0.3521, Printed(2));
        rows.add_between("a range has no error", (0.0, 1.0), 0.5);
        let fair: Vec<bool> = rows.rows.iter().map(Row::has_fair_tolerance).collect();
        assert_eq!(fair, [true, false, true, true, false, false, true, false, true]);
        assert_eq!(Rounding.bound(-256.0), 2.56e-11);
        assert_eq!((Rounding.bound(0.01), Printed(14).bound(0.01)), (1e-13, 1e-13));
        assert_eq!(significant(3, 0.0123), Printed(4));
        assert!(rows.rows.iter().all(|row| row.ok));
    }

    #[test]
    fn a_range_has_two_ends_or_one() {
        let mut deaf = |_: &str| {};
        let mut rows = Rows::new("rod", "ST96", Effort::Full, &mut deaf);
        for computed in [0.9, 1.0, 1.15, 0.89, 1.16, f64::NAN] {
            rows.add_between("two ends", (0.9, 1.15), computed);
        }
        rows.add_between("least", (0.3, f64::INFINITY), 7.0);
        rows.add_between("least", (0.3, f64::INFINITY), 0.2);
        let wanted: Vec<_> = rows.rows.iter().map(|row| row.wanted(|x| x.to_string())).collect();
        assert_eq!(wanted[0].as_deref(), Some("0.9 to 1.15"));
        assert_eq!(wanted[6].as_deref(), Some("at least 0.3"));
        rows.add_between("tiny", (f64::NEG_INFINITY, 1.0000000000000001e-11), 0.0);
        assert_eq!(rows.rows.pop().unwrap().wanted(|x| x.to_string()).as_deref(), Some("at most 1.0e-11"));
        // Both ends and no middle: a range is not a reference.
        let json = serde_json::to_value(&rows.rows).unwrap();
        assert!(json[0]["reference"].is_null() && json[0]["least"] == 0.9 && json[0]["most"] == 1.15, "{json}");
        assert!(json[6]["most"].is_null() && json[6]["tolerance"].is_null(), "{json}");
        assert_eq!(met(&rows), [true, true, true, false, false, false, true, false]);
    }

    #[test]
    fn a_number_of_a_run_that_is_not_certified_is_not_met() {
        let mut deaf = |_: &str| {};
        let mut rows = Rows::new("rod", "ST96", Effort::Full, &mut deaf);
        rows.run(&mut scene("rod", &[]).unwrap(), |_, _| {}).unwrap();
        rows.add("certified", 1.0, 1.0, Measured(0.1));
        rows.run(&mut scene("rod", &[]).unwrap(), |_, _| {}).unwrap();
        rows.join(Verdict::unmet("residual 2.5e-10, limit 1.0e-10"));
        rows.add("not certified", 1.0, 1.0, Measured(0.1));
        rows.add("not certified either, by the same run", 1.0, 1.0, Measured(0.1));
        rows.run(&mut scene("rod", &[]).unwrap(), |_, _| {}).unwrap();
        rows.add("certified by the next run", 1.0, 1.0, Measured(0.1));
        assert_eq!(rows.rows[0].certificate.as_deref(), Some("met"));
        let words = rows.rows[1].certificate.clone().unwrap();
        assert!(words.starts_with("not met: residual"), "{words}");
        assert_eq!((rows.rows[0].standing(), rows.rows[1].standing()), ("ok", "NOT CERTIFIED"));
        assert_eq!(rows.steps, 1200, "a run counts once");
        assert_eq!(met(&rows), [true, false, false, true]);
    }

    #[test]
    fn print_is_met_where_rounding_gives_its_digits() {
        for (printed, computed, expected) in [
            ("0.3523", 0.3518, false),
            ("0.3523", 0.35234, true),
            ("0.383", 0.3825, true),
            ("0.383", 0.3824, false),
            ("2.38e-3", 2.3822e-3, true),
            ("6.15e-7", 6.15741e-7, false),
            ("70", 70.0, true),
            ("-0.7848", -0.7848, true),
        ] {
            assert_eq!(agrees_with_print(printed, computed), expected, "{printed} and {computed}");
        }
        let mut deaf = |_: &str| {};
        let mut rows = Rows::new("four-balls", "ST96", Effort::Full, &mut deaf);
        rows.add_printed("both", Some("0.3523"), Some(0.3518), 0.3518, Printed(4));
        // The reference is met, and the table does not hide that print is not.
        assert_eq!((rows.rows[0].ok, rows.rows[0].standing()), (true, "differs from print"));
    }

    #[test]
    fn the_order_of_an_exact_power_is_its_exponent() {
        let errors: Vec<(f64, f64)> = [0.1, 0.05, 0.02].map(|h: f64| (h, 3.0 * h.powf(1.7))).to_vec();
        assert!((fitted_order(&errors) - 1.7).abs() < 1e-12);
    }
}
