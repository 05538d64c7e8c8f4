//! Checks of the settings: name, run, scheme, method and recording.

use stiction_bodies::Dimension;
use stiction_dynamics::{ContactMethod, FrictionSets};

use super::Reader;
use super::names::plain_name;
use super::values::positive;
use crate::place::{Fault, Place};
use crate::scene::Scene;

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

        scene.scheme.check().map_err(|error| Place::top("scheme").value_fault(error))?;
        let (scheme, method, in_space) =
            (scene.scheme.facts(), scene.contact_method(), scene.dimension == Some(Dimension::Space));
        method.check(if in_space { 2 } else { 1 }).map_err(|error| Place::top("method").value_fault(error))?;
        if in_space && method.facts().sets == FrictionSets::Line {
            let name = method.name();
            let message = format!("the method `{name}` treats contacts in the plane, and this scene is in space");
            let help = format!("choose {}, which treat both", ContactMethod::named_with(FrictionSets::Circle));
            return Err(Place::top("method").key(name).fault(message, help));
        }
        if in_space && !scheme.polygons && !method.facts().is_exact {
            let message = format!(
                "the scheme `{}` follows the exact friction cone, and not the polygon of `{}`",
                scheme.named.name,
                method.name()
            );
            let help = "choose `[method.cone]`, `--method cone`, or another scheme";
            return Err(Place::top("method").key(method.name()).fault(message, help));
        }

        if scene.record.interval == 0 {
            let message = "the recording interval is 0 steps";
            return Err(Place::top("record").key("interval").fault(message, "give 1 to record every step"));
        }
        Ok(())
    }
}
