//! Checks of the settings: name, run, scheme, method and recording.

use stiction_bodies::Dimension;
use stiction_dynamics::{ContactMethod, Directions, Linearization, Rule, TrapezoidalRule, check_independence};
use stiction_solve::LemkeSettings;

use super::Reader;
use super::names::plain_name;
use super::values::{from_zero_to_one, not_negative, positive};
use crate::place::{Fault, Place};
use crate::scene::{Scene, SchemeSettings};

/// Most steps of a run: at the hundred thousand a second of a small system, four months.
const MOST_STEPS: f64 = 1e12;

impl Reader<'_> {
    /// The settings that bodies and systems of matrices share.
    pub(super) fn check_settings(scene: &Scene) -> Result<(), Fault> {
        plain_name(Place::top("name"), "a scene", &scene.name)?;

        let (run, place) = (&scene.run, Place::top("run"));
        positive(place.key("step"), "the step", run.step, "s")?;
        if run.end < run.start {
            let message = format!("the end, {:?} s, is before the start, {:?} s", run.end, run.start);
            return Err(place.key("end").fault(message, "give an `end` that is not before `start`"));
        }
        let resolution = f64::EPSILON * run.start.abs().max(run.end.abs());
        if run.step <= resolution {
            let message = format!("the step, {:?} s, is lost in the rounding of the time", run.step);
            return Err(place.key("step").fault(message, format!("give a step well above {resolution:.1e} s")));
        }
        let steps = (run.end - run.start) / run.step;
        if steps > MOST_STEPS {
            let message = format!("{:?} s in steps of {:?} s are {steps:.1e} steps", run.end - run.start, run.step);
            let help = format!(
                "at most {MOST_STEPS:.0e} are made, which takes months: give a larger `step` or an earlier `end`"
            );
            return Err(place.key("step").fault(message, help));
        }

        match &scene.scheme {
            SchemeSettings::StewartTrinkle(settings) => {
                let place = Place::top("scheme").key("stewart-trinkle");
                let tolerance = settings.position_tolerance;
                positive(place.key("position-tolerance"), "the position tolerance", tolerance, "m")?;
                if let Some(gap) = settings.activation_gap {
                    not_negative(place.key("activation-gap"), "the gap of activation", gap, "m")?;
                    if settings.linearization == Linearization::Mean {
                        let message =
                            "with `activation-gap`, contacts are linearised at the start of a step, not at its mean";
                        let help = "leave out `linearization`, or the `activation-gap`";
                        return Err(place.key("linearization").fault(message, help));
                    }
                    if settings.rule == Rule::Trapezoidal {
                        let message = "the trapezoidal rule and `activation-gap` contradict each other: one takes contacts in the middle of a step, the other at its start";
                        let help = "leave out `activation-gap`, or write rule = \"euler\"";
                        return Err(place.key("rule").fault(message, help));
                    }
                }
                if settings.rule == Rule::Trapezoidal && settings.linearization != Linearization::End {
                    let message =
                        "the trapezoidal rule linearises in the middle of a step, and `linearization` has no say in it";
                    let help = "leave out `linearization`, or write rule = \"euler\"";
                    return Err(place.key("linearization").fault(message, help));
                }
                if settings.linearization_limit == 0 {
                    let message = "the limit of linearisations is 0";
                    return Err(place.key("linearization-limit").fault(message, "give at least 1"));
                }
            }
            SchemeSettings::MoreauMidpoint(settings) => {
                let place = Place::top("scheme").key("moreau-midpoint");
                from_zero_to_one(place.key("theta"), "`theta`", settings.theta)?;
                not_negative(place.key("gap-tolerance"), "the gap tolerance", settings.gap_tolerance, "m")?;
            }
            SchemeSettings::ImplicitNcp(settings) => {
                let place = Place::top("scheme").key("implicit-ncp");
                if let Some((key, value)) = settings.first_unusable() {
                    let message = format!("`{key}` is {value:?}");
                    return Err(place.key(key).fault(message, "give a positive number, such as 1e-12"));
                }
                if settings.iteration_limit == 0 {
                    let message = "the limit of iterations is 0";
                    return Err(place.key("iteration-limit").fault(message, "give at least 1"));
                }
            }
            SchemeSettings::Trapezoidal(settings) => {
                let place = Place::top("scheme").key("trapezoidal");
                if settings.rule == TrapezoidalRule::Classical && !settings.iterate {
                    let message = "the classical rule weighs forces with the inertia at the end of the step, which one linear problem does not know";
                    let help = "write `iterate = true` beside it, or leave `rule` out";
                    return Err(place.key("rule").fault(message, help));
                }
                positive(place.key("gap-tolerance"), "the gap tolerance", settings.gap_tolerance, "m")?;
                positive(place.key("rest-speed"), "the rest speed", settings.rest_speed, "m/s")?;
                positive(place.key("still-speed"), "the still speed", settings.still_speed, "m/s")?;
                let tolerance = settings.iteration_tolerance;
                positive(place.key("iteration-tolerance"), "the iteration tolerance", tolerance, "(relative)")?;
                if settings.iteration_limit == 0 {
                    let message = "the limit of iterations is 0";
                    return Err(place.key("iteration-limit").fault(message, "give at least 1"));
                }
            }
            SchemeSettings::EventDriven(settings) => {
                let place = Place::top("scheme").key("event-driven");
                positive(place.key("tolerance"), "the tolerance", settings.tolerance, "(relative)")?;
                positive(place.key("event-tolerance"), "the event tolerance", settings.event_tolerance, "s")?;
                positive(place.key("gap-tolerance"), "the gap tolerance", settings.gap_tolerance, "m")?;
                positive(place.key("closing-speed"), "the closing speed", settings.closing_speed, "m/s")?;
                positive(place.key("still-speed"), "the still speed", settings.still_speed, "m/s")?;
                if settings.event_limit == 0 {
                    return Err(place.key("event-limit").fault("the limit of events is 0", "give at least 1"));
                }
            }
        }

        let place = Place::top("method");
        let method = scene.contact_method();
        let name = method.name();
        match &method {
            ContactMethod::Pyramid(pyramid) => {
                if let Err(error) = pyramid.directions.corners() {
                    let help = "give an even number from 4 to 1000, or a list of pairs with their opposites";
                    return Err(place.key("pyramid").key("directions").fault(error.to_string(), help));
                }
            }
            ContactMethod::SpatialRelay(settings) => {
                if let Err(error) = Directions::Regular(settings.directions).corners() {
                    let help = "give an even number from 4 to 1000";
                    return Err(place.key("spatial-relay").key("directions").fault(error.to_string(), help));
                }
            }
            ContactMethod::Alternating(settings) => {
                let place = place.key("alternating");
                positive(place.key("tolerance"), "the tolerance", settings.tolerance, "(relative)")?;
                if settings.iteration_limit == 0 {
                    return Err(place.key("iteration-limit").fault("the limit of rounds is 0", "give at least 1"));
                }
            }
            ContactMethod::PlanarRelay(_) => {
                if scene.dimension == Some(Dimension::Space) {
                    let message = "the method `planar-relay` treats contacts in the plane, and this scene is in space";
                    let help =
                        "choose `[method.spatial-relay]`, `[method.cone]` or `[method.pyramid]`, which treat both";
                    return Err(place.key("planar-relay").fault(message, help));
                }
            }
            ContactMethod::PhantomInertia(settings) => {
                let tangents = if scene.dimension == Some(Dimension::Space) { 2 } else { 1 };
                let independent = || check_independence(tangents, settings.lines, settings.rho);
                if let Err(error) = settings.check().and_then(|()| independent()) {
                    let help = "give 2 to 500 `lines`, and a positive `rho` or none; with 2 lines `rho` may be 0";
                    return Err(place.key("phantom-inertia").fault(error.to_string(), help));
                }
            }
            ContactMethod::Cone(settings) => {
                if let Some((key, value)) = settings.first_unusable() {
                    let message = format!("`{key}` is {value:?}");
                    return Err(place.key("cone").key(key).fault(message, "give a positive number, such as 1e-12"));
                }
            }
        }
        let is_polygon = !matches!(method, ContactMethod::Cone(_) | ContactMethod::Alternating(_));
        if matches!(scene.scheme, SchemeSettings::EventDriven(_))
            && is_polygon
            && scene.dimension == Some(Dimension::Space)
        {
            let message =
                format!("the scheme `event-driven` follows the exact friction cone, and not the polygon of `{name}`");
            return Err(place.key(name).fault(message, "choose `[method.cone]`, `--method cone`, or another scheme"));
        }
        let place = place.key(name).key("lemke");
        if let Some((key, value)) = method.lemke().and_then(LemkeSettings::first_unusable) {
            let help = if value < 0.0 { "give zero or a positive number" } else { "give at least 1" };
            return Err(place.key(key).fault(format!("`{key}` is {value:?}"), help));
        }

        if scene.record.interval == 0 {
            let message = "the recording interval is 0 steps";
            return Err(Place::top("record").key("interval").fault(message, "give 1 to record every step"));
        }
        Ok(())
    }
}
