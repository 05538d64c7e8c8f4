//! Materials, and friction and restitution of their pairs.

use std::collections::BTreeMap;
use std::sync::Arc;

use stiction_bodies::glamx::DVec3;
use stiction_bodies::{Dimension, Grain, Material, MaterialTable, Surface, Torsion};
use stiction_dynamics::{
    ContactMethod, FrictionLaw, FrictionSets, FrictionShape, ImpactLaw, Impacts, PhantomContact, Polytope, Restitution,
    SchemeFacts, SchemeSettings, check_independence, check_share,
};

use super::Reader;
use super::forces::refuse_two_of;
use super::names::{two, unique};
use super::values::{counted, not_negative};
use crate::place::{Fault, Place};
use crate::scene::{PairEntry, Scene};
use crate::scene_error::quoted;

impl Reader<'_> {
    pub(super) fn materials(&self) -> Result<MaterialTable, Fault> {
        let scene = self.scene;
        unique(&Place::top("material"), "materials", scene.materials.iter().map(|material| material.name.as_str()))?;
        let mut materials = Vec::new();
        for (index, material) in scene.materials.iter().enumerate() {
            let place = Place::top("material").index(index);
            if material.name.is_empty() {
                return Err(place.key("name").fault("a material has an empty name", "give it a name"));
            }
            let (law, normal, tangential) =
                (material.impact_law, material.restitution, material.tangential_restitution);
            let surface = Surface {
                friction: material.friction,
                static_friction: material.static_friction,
                torsion_radius: self.torsion_radius(&place, material.torsion_radius, material.torsion)?,
                torsion: material.torsion,
                restitution: Restitution { law, normal, tangential },
                phantom: checked_phantom(scene, &place, material.phantom_inertia, self.tangent_count())?,
                ..Default::default()
            };
            let surface = checked_surface(&scene.scheme, &place, surface)?;
            materials.push(Material { name: material.name.clone(), surface });
        }
        let mut pairs = BTreeMap::new();
        for (index, pair) in scene.pairs.iter().enumerate() {
            let place = Place::top("pair").index(index);
            let names = two(place.key("materials"), "materials", &pair.materials)?;
            let first = self.material(place.key("materials").index(0), names[0])?;
            let second = self.material(place.key("materials").index(1), names[1])?;
            let (law, normal, tangential) = (pair.impact_law, pair.restitution, pair.tangential_restitution);
            let surface = Surface {
                friction: pair.friction,
                static_friction: pair.static_friction,
                torsion_radius: self.torsion_radius(&place, pair.torsion_radius, pair.torsion)?,
                torsion: pair.torsion,
                grain: self.grain(&place, pair, [first, second])?,
                friction_axes: self.friction_axes(&place, pair)?,
                polytope: None,
                restitution: Restitution { law, normal, tangential },
                phantom: checked_phantom(scene, &place, pair.phantom_inertia, self.tangent_count())?,
            };
            let surface = checked_surface(&scene.scheme, &place, surface)?;
            let surface = Surface { polytope: self.polytope(&place, pair)?, ..surface };
            if first == second {
                let message = format!("the pair is `{}` twice", names[0]);
                let help = "the `friction` of a material is its friction against itself; a pair has two different ones";
                return Err(place.key("materials").fault(message, help));
            }
            if pairs.insert((first.min(second), first.max(second)), surface).is_some() {
                let message = format!("the friction of {} is given twice", quoted(&names));
                return Err(place.key("materials").fault(message, "remove one of the two tables"));
            }
        }
        Ok(MaterialTable { materials, pairs, rule: scene.contact.combine })
    }

    /// Tangent rows of a contact of this scene, without torsion.
    fn tangent_count(&self) -> usize {
        if self.scene.dimension == Some(Dimension::Space) { 2 } else { 1 }
    }

    /// Refuses a friction set other than Coulomb's circle in the plane, and for the method that
    /// does not treat it.
    fn check_set(&self, place: &Place, what: &str) -> Result<(), Fault> {
        if self.scene.dimension != Some(Dimension::Space) {
            let message = format!("{what} belongs to contacts in space, and this scene is in the plane");
            return Err(place.fault(message, "leave the key out").against("dimension"));
        }
        let method = self.scene.contact_method().facts();
        if method.sets <= FrictionSets::Circle {
            let message = format!("the method `{}` treats Coulomb's circle only, and not {what}", method.named.name);
            let others = ContactMethod::named_with(FrictionSets::Round);
            let help = format!("choose the method {others}, or leave the key out");
            return Err(place.fault(message, help).against("method"));
        }
        Ok(())
    }

    /// The grain of a pair, checked.
    fn grain(&self, place: &Place, pair: &PairEntry, materials: [usize; 2]) -> Result<Option<Grain>, Fault> {
        let Some(entry) = &pair.grain else { return Ok(None) };
        let place = place.key("grain");
        self.check_set(&place, "a grain")?;
        let material = self.material(place.key("material"), &entry.material)?;
        if !materials.contains(&material) {
            let message = format!("the grain belongs to `{}`, which is none of the pair", entry.material);
            return Err(place.key("material").fault(
                message,
                format!("name one of {}", quoted(&pair.materials.iter().map(String::as_str).collect::<Vec<_>>())),
            ));
        }
        let direction = match entry.direction[..] {
            [x, y, z] => DVec3::new(x, y, z),
            _ => DVec3::ZERO,
        };
        if direction.length() <= 0.0 || direction.is_nan() {
            let message = format!("the direction of the grain is {:?}", entry.direction);
            let help = "give three numbers that are not all zero, such as [1.0, 0.0, 0.0]";
            return Err(place.key("direction").fault(message, help));
        }
        Ok(Some(Grain { material, direction }))
    }

    /// The factors along the grain and across it, checked.
    fn friction_axes(&self, place: &Place, pair: &PairEntry) -> Result<Option<[f64; 2]>, Fault> {
        let Some(axes) = &pair.friction_axes else { return Ok(None) };
        let place = place.key("friction-axes");
        self.check_set(&place, "friction that depends on the direction")?;
        if pair.grain.is_none() {
            let message = "`friction-axes` need a direction that is fixed in one of the bodies";
            let help = "add `grain = { material = \"...\", direction = [1.0, 0.0, 0.0] }`, in axes of the body";
            return Err(place.fault(message, help));
        }
        match axes[..] {
            [along, across] if along > 0.0 && across > 0.0 && along.is_finite() && across.is_finite() => {
                Ok(Some([along, across]))
            }
            _ => {
                let message = format!("`friction-axes` is {axes:?}");
                Err(place.fault(message, "give two positive numbers: factors along the grain and across it"))
            }
        }
    }

    /// The polytope of a pair, checked.
    fn polytope(&self, place: &Place, pair: &PairEntry) -> Result<Option<FrictionLaw>, Fault> {
        let lists = [&pair.friction_directions, &pair.friction_half_spaces];
        let Some((key, rows)) = given_list(place, lists)? else { return Ok(None) };
        let place = place.key(key);
        self.check_set(&place, "a polytope of friction")?;
        refuse_polytope(self.scene, &place)?;
        if pair.torsion_radius > 0.0 || pair.friction_axes.is_some() {
            let message = format!("`{key}` say all about friction, beside its coefficient");
            return Err(place.fault(message, "leave out `torsion-radius` and `friction-axes`"));
        }
        let help = "give three: along the two tangents, and about the normal in m";
        let vectors = vectors(&place, key, rows, (3, help))?;
        let law = match key {
            "friction-directions" => FrictionLaw::directions(pair.friction, &vectors),
            _ => FrictionLaw::half_spaces(pair.friction, &vectors, 3),
        };
        law.map(Some).map_err(|error| place.fault(error.to_string(), polytope_help(key, 3)))
    }

    /// A radius of torsional friction, checked.
    fn torsion_radius(&self, place: &Place, radius: f64, torsion: Torsion) -> Result<f64, Fault> {
        let place = place.key("torsion-radius");
        not_negative(place.clone(), "the radius of torsional friction", radius, "m")?;
        if radius > 0.0 && self.scene.dimension != Some(Dimension::Space) {
            let message = "there is no drilling friction in the plane";
            let help = "leave the key out, or give a `joint` its `friction`";
            return Err(place.fault(message, help).against("dimension"));
        }
        if radius > 0.0 {
            self.check_set(&place, "torsional friction")?;
        }
        let method = self.scene.contact_method().facts();
        if radius > 0.0 && torsion == Torsion::Coupled && method.sets < FrictionSets::Round {
            let name = method.named.name;
            let message =
                format!("an ellipsoid of sliding and drilling is no sum of relays, which the method `{name}` needs");
            let others = ContactMethod::named_with(FrictionSets::Round);
            let help = format!("write `torsion = \"separate\"`, or choose the method {others}");
            return Err(place.fault(message, help).against("method"));
        }
        Ok(radius)
    }
}

/// A list of vectors with its key.
type KeyedList<'a> = (&'static str, &'a [Vec<f64>]);

/// The list of friction directions or of half-spaces, whichever is given.
fn given_list<'a>(
    place: &Place,
    [directions, half_spaces]: [&'a Option<Vec<Vec<f64>>>; 2],
) -> Result<Option<KeyedList<'a>>, Fault> {
    match (directions, half_spaces) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => {
            let message = "both `friction-directions` and `friction-half-spaces` are given";
            Err(place.key("friction-half-spaces").fault(message, "leave one of them out"))
        }
        (Some(rows), None) => Ok(Some(("friction-directions", rows))),
        (None, Some(rows)) => Ok(Some(("friction-half-spaces", rows))),
    }
}

/// Rows of so many numbers, filled up with zeros.
fn vectors(place: &Place, key: &str, rows: &[Vec<f64>], (count, help): (usize, &str)) -> Result<Vec<[f64; 3]>, Fault> {
    let read = |(index, row): (usize, &Vec<f64>)| {
        if row.len() != count {
            let message = format!("row {} of `{key}` has {}", index + 1, counted(row.len(), "number"));
            return Err(place.index(index).fault(message, help.to_owned()));
        }
        if key == "friction-directions" && row.iter().all(|value| *value == 0.0) {
            let message = format!("row {} of `{key}` is zero", index + 1);
            return Err(place.index(index).fault(message, "remove it: no friction is in the set anyway"));
        }
        Ok(std::array::from_fn(|k| row.get(k).copied().unwrap_or(0.0)))
    };
    rows.iter().enumerate().map(read).collect()
}

/// A list that would do, for rows of so many numbers: a box.
fn polytope_help(key: &str, count: usize) -> String {
    let row = |k: usize, sign: &str| {
        let values: Vec<String> =
            (0..count).map(|i| if i == k { format!("{sign}1.0") } else { "0.0".into() }).collect();
        format!("[{}]", values.join(", "))
    };
    let rows: Vec<String> = (0..count).flat_map(|k| ["", "-"].map(|sign| row(k, sign))).collect();
    let what =
        if key == "friction-directions" { "at least one direction" } else { "rows that end friction on all sides" };
    format!("give {what}, as in `{key} = [{}]`", rows.join(", "))
}

/// Refuses a polytope for a method that treats round friction sets.
fn refuse_polytope(scene: &Scene, place: &Place) -> Result<(), Fault> {
    let method = scene.contact_method().facts();
    if method.sets >= FrictionSets::Polytopes {
        return Ok(());
    }
    let message = format!("the method `{}` treats round friction sets, and not polytopes", method.named.name);
    let others = ContactMethod::named_with(FrictionSets::Polytopes);
    Err(place.fault(message, format!("choose the method {others}, which takes them as they are")).against("method"))
}

/// The friction set of friction without a load, over so many axes or tangents, beside keys that say
/// the same in another way.
pub(super) fn friction_shape(
    scene: &Scene,
    place: &Place,
    (row, count): (&str, usize),
    lists: [&Option<Vec<Vec<f64>>>; 2],
    others: &[(&'static str, bool)],
) -> Result<FrictionShape, Fault> {
    let Some((key, rows)) = given_list(place, lists)? else { return Ok(FrictionShape::Ball) };
    for other in others {
        refuse_two_of(place, &[(key, true), *other])?;
    }
    let place = place.key(key);
    let scheme = scene.scheme.facts();
    if !scheme.polygons {
        let message = format!("the scheme `{}` follows round friction sets, and no polytopes", scheme.named.name);
        let help = "choose a time-stepping scheme, such as `[scheme.trapezoidal]`";
        return Err(place.fault(message, help).against("scheme"));
    }
    refuse_polytope(scene, &place)?;
    let vectors = vectors(&place, key, rows, (count, &format!("give one number for each {row}: {count}")))?;
    let polytope = match key {
        "friction-directions" => Polytope::from_corners(vectors),
        _ => Polytope::from_half_spaces(&vectors, count),
    };
    let polytope = polytope.map_err(|error| place.fault(error.to_string(), polytope_help(key, count)))?;
    Ok(FrictionShape::Polytope(Arc::new(polytope)))
}

/// Lines and phantom inertia of a material, a pair or a contact with this many tangents, checked.
pub(super) fn checked_phantom(
    scene: &Scene,
    place: &Place,
    entry: Option<PhantomContact>,
    tangent_count: usize,
) -> Result<PhantomContact, Fault> {
    let Some(own) = entry else { return Ok(PhantomContact::default()) };
    let place = place.key("phantom-inertia");
    let ContactMethod::PhantomInertia(settings) = scene.contact_method() else {
        let message = "`phantom-inertia` of a contact is for the method of that name, and this scene has another one";
        let help = "choose `[method.phantom-inertia]`, or leave the key out";
        return Err(place.fault(message, help).against("method"));
    };
    if own.lines.is_some() && tangent_count < 2 {
        let message = "`lines` belong to contacts with two tangents, and this one has a single line";
        return Err(place.key("lines").fault(message, "leave it out: along one tangent friction is exact"));
    }
    let (lines, rho) = (own.lines.unwrap_or(settings.lines), own.rho.or(settings.rho));
    own.check()
        .and_then(|()| check_independence(tangent_count, lines, rho))
        .map_err(|error| place.fault(error.to_string(), "give 2 `lines`, or a positive `rho`, or leave `rho` out"))?;
    Ok(own)
}

/// Refuses restitution where the impacts of the scheme are inelastic.
pub(super) fn refuse_restitution(
    scheme: &SchemeFacts,
    place: &Place,
    key: &'static str,
    value: f64,
    otherwise: &str,
) -> Result<(), Fault> {
    if scheme.impacts > Impacts::Inelastic {
        return Ok(());
    }
    let name = scheme.named.name;
    let message = format!("`{key}` is {value:?}, but the impacts of the scheme `{name}` are inelastic");
    let others = SchemeSettings::named_with(|other| other.impacts > Impacts::Inelastic);
    Err(place
        .key(key)
        .fault(message, format!("choose a scheme with restitution, {others}, or {otherwise}"))
        .against("scheme"))
}

/// Friction and the two restitutions of a material, a pair or a contact, checked.
pub(super) fn checked_surface(scheme: &SchemeSettings, place: &Place, surface: Surface) -> Result<Surface, Fault> {
    let scheme = scheme.facts();
    not_negative(place.key("friction"), "the coefficient of friction", surface.friction, "")?;
    if let Some(mu) = surface.static_friction {
        let place = place.key("static-friction");
        not_negative(place.clone(), "the coefficient of static friction", mu, "")?;
        if surface.friction == 0.0 {
            let message = "a contact without friction has no static friction";
            return Err(
                place.fault(message, "give a positive `friction`, which is that of sliding, or leave the key out")
            );
        }
        if mu < surface.friction {
            let message = format!("`static-friction` is {mu:?}, less than `friction`, which is {:?}", surface.friction);
            return Err(place.fault(message, "give at least `friction`, which is that of sliding"));
        }
    }
    let Restitution { law, normal, tangential } = surface.restitution;
    if law == ImpactLaw::Poisson {
        if scheme.impacts == Impacts::Newton {
            let message = format!("the scheme `{}` knows Newton's impact law only", scheme.named.name);
            let others = SchemeSettings::named_with(|other| other.impacts == Impacts::NewtonAndPoisson);
            let help = format!("choose `impact-law = \"newton\"`, or the scheme {others}");
            return Err(place.key("impact-law").fault(message, help).against("scheme"));
        }
        if tangential > 0.0 {
            let message = format!("`tangential-restitution` is {tangential:?}, but Poisson's law has none");
            let help = "leave it out, or choose `impact-law = \"newton\"`";
            return Err(place.key("tangential-restitution").fault(message, help));
        }
    }
    for (key, value) in [("restitution", normal), ("tangential-restitution", tangential)] {
        check_share(key, &format!("the coefficient of {}", key.replace('-', " ")), value)
            .map_err(|error| place.value_fault(error))?;
        if value > 0.0 {
            refuse_restitution(&scheme, place, key, value, "set it to 0")?;
        }
    }
    Ok(surface)
}
