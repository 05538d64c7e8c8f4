//! Attack: scenes × schemes × methods × steps, and what was recorded against the word of the
//! certificate.

use std::time::Duration;

use stiction_dynamics::families::Generator;
use stiction_dynamics::{ContactMethod, SchemeSettings};
use stiction_scene::builtin;
use stiction_scene::load::load;

use crate::child::{Running, Scratch};
use crate::run_record::RunRecord;
use crate::tally::{Fault, Soak};

const STEPS: [f64; 4] = [4.0, 1.0, 0.5, 0.125];

/// How long a run goes on before it is stopped.
const RUN: Duration = Duration::from_secs(10);

/// Steps of the scene that are made.
const LENGTH: f64 = 200.0;

/// Penetration that no certificate may cover, relative to the smallest radius of a body and in m
/// where there is none.
const PENETRATION: f64 = 0.05;

/// Energy that no certificate may let contacts give, relative to all the work that was done.
const GAIN: f64 = 1e-3;

/// Less than this is rounding, in J.
const SMALLEST_GAIN: f64 = 1e-9;

/// Runs one combination.
pub fn attack(soak: &mut Soak, number: u64) -> Result<(), String> {
    let mut random = Generator::new(soak.seed_of(number, 43, 43));
    let all = builtin::all();
    let scene = all[random.below(all.len())].name;
    let schemes = SchemeSettings::all().map(|scheme| scheme.name());
    // With no name, the method of the scene.
    let methods: Vec<&str> = std::iter::once("").chain(ContactMethod::all().iter().map(ContactMethod::name)).collect();
    let (scheme, method) = (schemes[random.below(schemes.len())], methods[random.below(methods.len())]);
    let loaded = load(scene, &[]).map_err(|error| error.to_string())?;
    let run = &loaded.scene().run;
    let step = format!("{:e}", STEPS[random.below(4)] * run.step);
    let end = format!("{:e}", (run.start + LENGTH * run.step).min(run.end));
    let mut arguments = vec!["run", scene, "--scheme", scheme, "--step", &step, "--end", &end, "--out", "run"];
    if !method.is_empty() {
        arguments.extend(["--method", method]);
    }
    let scratch = Scratch::new("grid")?;
    let ended = Running::start(&soak.stiction, scratch.path(), &arguments)?.end_early(RUN)?;
    soak.done("schemes and methods");
    let mut complaints: Vec<(Fault, String)> = ended.fault().map(|fault| (fault, String::new())).into_iter().collect();
    if ended.code == Some(0) {
        match RunRecord::read(&scratch.path().join("run")) {
            Err(error) => complaints.push((Fault::DataLost, error)),
            Ok(record) => {
                if record.has_nan {
                    complaints.push((Fault::NotFinite, String::new()));
                }
                let smallest = smallest_radius(&loaded).unwrap_or(1.0);
                if record.penetration > PENETRATION * smallest {
                    let depth = record.penetration;
                    complaints.push((
                        Fault::FalseCertificate,
                        format!("{depth:.1e} m deep, the smallest body {smallest:.1e} m"),
                    ));
                }
                // Contacts only take energy, but what driven bodies give. On curved surfaces, and
                // in joints, they do work of the order of the scheme, which what the scheme itself
                // does takes back.
                let contacts = ["work_normal", "work_friction"];
                let given: f64 = contacts.iter().map(|key| record.energy(key)).sum::<f64>()
                    - record.energy("work_drive").max(0.0)
                    + record.energy("energy_numerical").min(0.0);
                let causes = contacts.iter().chain(&["work_joints", "work_drive", "work_applied", "total_change"]);
                let done: f64 = causes.map(|key| record.energy(key).abs()).sum();
                if given > GAIN * done && given > SMALLEST_GAIN {
                    complaints.push((Fault::FalseCertificate, format!("contacts give {given:.1e} J")));
                }
            }
        }
    }
    for (fault, complaint) in complaints {
        soak.note(Some(fault), &format!("{fault:?}: stiction {}: {complaint}", arguments.join(" ")))?;
    }
    Ok(())
}

/// The smallest bounding ball of a shape that moves, in m.
fn smallest_radius(loaded: &stiction_scene::load::Loaded) -> Option<f64> {
    let bodies = loaded.system().bodies()?.model().bodies.iter();
    let radii = bodies.flat_map(|body| &body.shapes).map(|shape| shape.placed.shape.bounding_radius());
    radii.filter(|radius| *radius > 0.0 && radius.is_finite()).min_by(f64::total_cmp)
}
