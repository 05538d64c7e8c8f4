//! From the table `[system]` to a system given by matrices.

use stiction_bodies::Surface;
use stiction_dynamics::{
    ContactMethod, LinearContact, LinearFriction, LinearJoint, LinearSystem, LinearSystemData, LinearSystemError,
    PhantomContact, Restitution, Restraint, State, check_independence, check_static,
};

use super::Reader;
use super::forces::{OneWay, refuse_two_of, refuse_two_way_scheme, two_bounds};
use super::materials::{checked_phantom, checked_surface, friction_shape};
use super::names::{plain_name, read_named};
use super::values::{counted, not_negative, positive};
use crate::place::{Fault, Place};
use crate::scene::Scene;
use crate::system_entry::{SystemClutch, SystemContact, SystemEntry, SystemFriction, SystemJoint, SystemSpring};

/// Keys at the top of a scene that go with `[system]`; all others are about bodies.
pub(crate) const BESIDE_SYSTEM: [&str; 9] =
    ["format", "name", "title", "description", "run", "scheme", "method", "record", "system"];

/// The fault of a scene with `[system]` that has keys for bodies as well, given the keys at its top
/// in the order of the file.
pub(crate) fn check_no_bodies<'a>(keys: impl Iterator<Item = &'a str>) -> Result<(), Fault> {
    let mut others: Vec<&str> = keys.filter(|key| !BESIDE_SYSTEM.contains(key)).collect();
    // Bodies are the contradiction itself; whatever else there is, belongs to them.
    others.sort_by_key(|key| *key != "body");
    let Some(&key) = others.first() else { return Ok(()) };
    let help = match key {
        "dimension" => "leave it out: a system moves along the coordinates that it names",
        "gravity" => "leave it out, and add the weights to `force` of the system",
        "force" => "leave it out, and write `force` in the table `[system]`",
        "contact" | "material" | "pair" => {
            "leave it out, and write friction and restitution in each `[[system.contact]]`"
        }
        "dry-friction" => "write it as `[[system.dry-friction]]`, with rows",
        "clutch" => "write it as `[[system.clutch]]`, with a row",
        "joint" => "write it as `[[system.joint]]`, with a row",
        _ => "a scene is made of bodies or of a system: remove the one or the other",
    };
    Err(Place::default().key(key.to_owned()).key_fault(format!("`{key}` does not go with `[system]`"), help))
}

/// The system of a scene, and its state at the start.
pub(crate) fn linear_system(scene: &Scene, entry: &SystemEntry) -> Result<(LinearSystem, State), Fault> {
    Reader::check_settings(scene)?;
    let reader = SystemReader { scene, entry, place: Place::top("system") };
    reader.check_names()?;
    let place = &reader.place;
    if let Some(units) = &entry.units {
        reader.check_length(place.key("units"), "`units`", units.len())?;
    }
    let matrix = |key: &'static str, rows: &Option<Vec<Vec<f64>>>| -> Result<Vec<Vec<f64>>, Fault> {
        rows.as_ref().map_or(Ok(Vec::new()), |rows| reader.matrix(key, rows))
    };
    let vector = |place: Place, what: &str, row: &Option<Vec<f64>>| match row {
        Some(row) => reader.check_length(place, what, row.len()).map(|()| row.clone()),
        None => Ok(vec![0.0; entry.coordinates.len()]),
    };
    let start = place.key("start");
    let state = State::new(
        scene.run.start,
        vector(start.key("position"), "the position at the start", &entry.start.position)?,
        vector(start.key("velocity"), "the velocity at the start", &entry.start.velocity)?,
    );
    let (list, words) = (place.key("contact"), ["a contact", "contacts"]);
    let contacts = read_named(&list, words, &entry.contacts, |it| &it.name, |at, it| reader.contact(at, it))?;
    let (list, words) = (place.key("clutch"), ["a clutch", "clutches"]);
    let clutches = read_named(&list, words, &entry.clutches, |it| &it.name, |at, it| reader.clutch(at, it))?;
    let (list, words) = (place.key("dry-friction"), ["dry friction", "dry friction elements"]);
    let friction = read_named(&list, words, &entry.dry_friction, |it| &it.name, |at, it| reader.friction(at, it))?;
    let (list, words) = (place.key("pre-stressed-spring"), ["a spring", "pre-stressed springs"]);
    let springs = read_named(&list, words, &entry.springs, |it| &it.name, |at, it| reader.spring(at, it))?;
    let (list, words) = (place.key("joint"), ["a joint", "joints"]);
    let joints = read_named(&list, words, &entry.joints, |it| &it.name, |at, it| reader.joint(at, it))?;
    let data = LinearSystemData {
        coordinates: entry.coordinates.clone(),
        mass: reader.matrix("mass", &entry.mass)?,
        damping: matrix("damping", &entry.damping)?,
        stiffness: matrix("stiffness", &entry.stiffness)?,
        force: vector(place.key("force"), "the force", &entry.force)?,
        contacts: [contacts, clutches].concat(),
        friction: [friction, springs].concat(),
        joints,
    };
    let system = LinearSystem::new(data).map_err(|error| reader.system_fault(&error))?;
    Ok((system, state))
}

struct SystemReader<'a> {
    scene: &'a Scene,
    entry: &'a SystemEntry,
    place: Place,
}

impl SystemReader<'_> {
    fn check_names(&self) -> Result<(), Fault> {
        let (entry, place) = (self.entry, self.place.key("coordinates"));
        if entry.coordinates.is_empty() {
            return Err(
                place.fault("the system has no coordinates", "name at least one, as in `coordinates = [\"x\"]`")
            );
        }
        for (index, name) in entry.coordinates.iter().enumerate() {
            plain_name(place.index(index), "a coordinate", name)?;
            if entry.coordinates[..index].contains(name) {
                let message = format!("two coordinates are named `{name}`");
                return Err(place.index(index).fault(message, "give one of them another name"));
            }
            // The columns of a recording are the time, the coordinates and their velocities.
            let velocity_of = name.strip_prefix("v_").filter(|of| entry.coordinates.iter().any(|other| other == of));
            let taken = match velocity_of {
                _ if name == "t" => "the time".to_owned(),
                Some(other) => format!("the velocity of `{other}`"),
                None => continue,
            };
            let message = format!("`{name}` is the column of {taken}, and cannot be the name of a coordinate");
            return Err(place.index(index).fault(message, "give the coordinate another name"));
        }
        // Recordings show clutches among the contacts, and springs among the friction.
        let is_contact = |name: &String| entry.contacts.iter().any(|contact| contact.name == *name);
        let is_friction = |name: &String| entry.dry_friction.iter().any(|element| element.name == *name);
        let clutch = entry.clutches.iter().map(|clutch| &clutch.name).enumerate().find(|(_, name)| is_contact(name));
        let spring = entry.springs.iter().map(|spring| &spring.name).enumerate().find(|(_, name)| is_friction(name));
        for (key, what, shared) in [("clutch", "a contact", clutch), ("pre-stressed-spring", "dry friction", spring)] {
            if let Some((index, name)) = shared {
                let place = self.place.key(key).index(index).key("name");
                return Err(place.fault(format!("{what} is named `{name}`, too"), "give one of them another name"));
            }
        }
        Ok(())
    }

    /// A fault unless there is one number, or row, per coordinate.
    fn check_length(&self, place: Place, what: &str, found: usize) -> Result<(), Fault> {
        let names = &self.entry.coordinates;
        if found == names.len() {
            return Ok(());
        }
        let message =
            format!("{what} has {}, and the system {}", counted(found, "number"), counted(names.len(), "coordinate"));
        Err(place.fault(message, format!("write one number per coordinate, for {}", names.join(", "))))
    }

    fn matrix(&self, key: &'static str, rows: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, Fault> {
        let (place, count) = (self.place.key(key), self.entry.coordinates.len());
        if rows.len() != count {
            let message = format!(
                "the {key} matrix has {}, and the system {}",
                counted(rows.len(), "row"),
                counted(count, "coordinate")
            );
            let help = format!("write {} of {}", counted(count, "row"), counted(count, "number"));
            return Err(place.fault(message, help));
        }
        for (index, row) in rows.iter().enumerate() {
            self.check_length(place.index(index), &format!("row {} of the {key} matrix", index + 1), row.len())?;
        }
        Ok(rows.to_vec())
    }

    /// A row that does something: one number per coordinate, not all of them zero.
    fn row(&self, place: Place, what: &str, row: &[f64]) -> Result<Vec<f64>, Fault> {
        self.check_length(place.clone(), what, row.len())?;
        if row.iter().all(|&entry| entry == 0.0) {
            return Err(place.fault(format!("{what} is zero"), "give at least one coordinate a part in it"));
        }
        Ok(row.to_vec())
    }

    /// Rows of a sliding velocity and what comes on top of it, when friction acts along them.
    fn tangents(
        &self,
        place: &Place,
        what: &str,
        rows: &[Vec<f64>],
        drift: &Option<Vec<f64>>,
        is_rough: bool,
    ) -> Result<(Vec<Vec<f64>>, Vec<f64>), Fault> {
        let tangents = place.key("tangents");
        if rows.len() > 2 {
            let message = format!("{what} has {} tangents", rows.len());
            return Err(tangents.fault(message, "give one for sliding along a line, or two in a plane"));
        }
        let read = |(index, row): (usize, &Vec<f64>)| {
            self.row(tangents.index(index), &format!("tangent {} of {what}", index + 1), row)
        };
        let read: Vec<Vec<f64>> = rows.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        if rows.len() == 2 && is_rough && matches!(self.scene.method, Some(ContactMethod::PlanarRelay(_))) {
            let message = format!(
                "{what} has friction along two tangents, and the method `planar-relay` treats friction along one"
            );
            let help = "choose `[method.pyramid]` or `[method.phantom-inertia]`, which treat both, or give one tangent";
            return Err(tangents.fault(message, help).against("method"));
        }
        let drift = drift.clone().unwrap_or_else(|| vec![0.0; rows.len()]);
        if drift.len() != rows.len() {
            let (drifts, tangents) = (counted(drift.len(), "number"), counted(rows.len(), "tangent"));
            let message = format!("{what} has {tangents}, and {drifts} in `tangent-drift`");
            return Err(place.key("tangent-drift").fault(message, "write one number per tangent"));
        }
        Ok((read, drift))
    }

    fn contact(&self, place: Place, entry: &SystemContact) -> Result<LinearContact, Fault> {
        let what = format!("contact `{}`", entry.name);
        let normal = self.row(place.key("normal"), &format!("the normal row of {what}"), &entry.normal)?;
        let restitution =
            Restitution { law: entry.impact_law, normal: entry.restitution, tangential: entry.tangential_restitution };
        let (friction, static_friction) = (entry.friction, entry.static_friction);
        let surface = Surface { friction, static_friction, restitution, ..Default::default() };
        let surface = checked_surface(&self.scene.scheme, &place, surface)?;
        if entry.friction > 0.0 && entry.tangents.is_empty() {
            let message = format!("{what} has friction and no tangents");
            let help = "give the row of its sliding velocity, as in `tangents = [[1.0, 0.0]]`, or leave out `friction`";
            return Err(place.key("friction").fault(message, help));
        }
        let is_rough = entry.friction > 0.0;
        let phantom = checked_phantom(self.scene, &place, entry.phantom_inertia, entry.tangents.len())?;
        if is_rough {
            self.check_independence(&place, entry.tangents.len(), phantom)?;
        }
        let (tangents, tangent_drift) =
            self.tangents(&place, &what, &entry.tangents, &entry.tangent_drift, is_rough)?;
        Ok(LinearContact {
            name: entry.name.clone(),
            gap: entry.gap,
            normal,
            normal_drift: entry.normal_drift,
            tangents,
            tangent_drift,
            mu: surface.friction,
            static_mu: surface.static_friction,
            restitution: surface.restitution,
            phantom,
            ..Default::default()
        })
    }

    /// Refuses dependent lines without phantom inertia, where the method has none.
    fn check_independence(&self, place: &Place, tangent_count: usize, own: PhantomContact) -> Result<(), Fault> {
        let Some(ContactMethod::PhantomInertia(settings)) = &self.scene.method else { return Ok(()) };
        let (lines, rho) = (own.lines.unwrap_or(settings.lines), own.rho.or(settings.rho));
        check_independence(tangent_count, lines, rho).map_err(|error| {
            place
                .key("tangents")
                .fault(error.to_string(), "set `lines = 2` in `[method.phantom-inertia]`, or leave out `rho`")
        })
    }

    fn friction(&self, place: Place, entry: &SystemFriction) -> Result<LinearFriction, Fault> {
        let what = format!("dry friction `{}`", entry.name);
        not_negative(place.key("bound"), "the bound", entry.bound, "N")?;
        if entry.tangents.is_empty() {
            let message = format!("{what} has no tangents");
            return Err(place.key("tangents").fault(message, "give the row of its sliding velocity"));
        }
        self.check_independence(&place, entry.tangents.len(), PhantomContact::default())?;
        let (tangents, tangent_drift) = self.tangents(&place, &what, &entry.tangents, &entry.tangent_drift, true)?;
        let [bound, bias] = two_bounds(&place, entry.bound, entry.bound_backwards, "N", tangents.len())?;
        if bias != 0.0 && tangent_drift.iter().any(|drift| *drift != 0.0) {
            let message = format!("{what} has two bounds and a drift");
            return Err(place.key("tangent-drift").fault(message, "give one of them"));
        }
        let given =
            [("bound-backwards", entry.bound_backwards.is_some()), ("static-bound", entry.static_bound.is_some())];
        let lists = [&entry.friction_directions, &entry.friction_half_spaces];
        let shape = friction_shape(self.scene, &place, ("tangent", tangents.len()), lists, &given[..1])?;
        refuse_two_of(&place, &given)?;
        let static_bound = entry.static_bound;
        check_static("static-bound", "bound", bound, static_bound, "N").map_err(|error| place.value_fault(error))?;
        let name = entry.name.clone();
        Ok(LinearFriction { name, tangents, tangent_drift, bound, static_bound, shape, bias, displacement: None })
    }

    fn clutch(&self, place: Place, entry: &SystemClutch) -> Result<LinearContact, Fault> {
        refuse_two_way_scheme(self.scene, &place, OneWay::Clutch(&entry.name))?;
        let normal = self.row(place.key("row"), &format!("the row of clutch `{}`", entry.name), &entry.row)?;
        Ok(LinearContact {
            name: entry.name.clone(),
            normal,
            normal_drift: entry.drift,
            restraint: Restraint::Rate,
            ..Default::default()
        })
    }

    fn spring(&self, place: Place, entry: &SystemSpring) -> Result<LinearFriction, Fault> {
        refuse_two_way_scheme(self.scene, &place, OneWay::PreStressedSpring(&entry.name))?;
        positive(place.key("preload"), "the preload", entry.preload, "N")?;
        let row = self.row(place.key("row"), &format!("the row of spring `{}`", entry.name), &entry.row)?;
        Ok(LinearFriction {
            name: entry.name.clone(),
            tangents: vec![row],
            bound: entry.preload,
            displacement: Some(entry.value),
            ..Default::default()
        })
    }

    fn joint(&self, place: Place, entry: &SystemJoint) -> Result<LinearJoint, Fault> {
        let row = self.row(place.key("row"), &format!("the row of joint `{}`", entry.name), &entry.row)?;
        Ok(LinearJoint { name: entry.name.clone(), value: entry.value, row, drift: entry.drift })
    }

    /// The place of what only the whole matrices show.
    fn system_fault(&self, error: &LinearSystemError) -> Fault {
        let mass = self.place.key("mass");
        let (place, help) = match error {
            LinearSystemError::Asymmetric { row, column, .. } => {
                (mass.index(*row).index(*column), "write the same number in both places")
            }
            LinearSystemError::Indefinite { .. } => {
                (mass, "give every coordinate an inertia of its own, or remove the coordinates that follow from others")
            }
            LinearSystemError::Redundant { index, .. } => {
                (self.place.key("joint").index(*index).key("row"), "remove the joint, or correct its row")
            }
            LinearSystemError::Entry(_) => (self.place.clone(), "change the value that the message names"),
        };
        place.fault(error.to_string(), help)
    }
}
