//! The tables of schemes and contact methods in `docs/scene-format.md` are what the schemes and
//! methods say of themselves.

use stiction_dynamics::{ContactMethod, Impacts, Named, Overlap, SchemeSettings};

const DOCUMENT: &str = include_str!("../../../docs/scene-format.md");

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn line(cells: &[&str]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The short forms of a name on the command line.
fn short(named: &Named) -> String {
    let forms: Vec<String> = named.forms().skip(1).collect();
    if forms.is_empty() { "–".to_owned() } else { forms.join(", ") }
}

#[test]
fn the_table_of_schemes_is_theirs() {
    let mut table = line(&[
        "scheme",
        "impacts",
        "clutches, pre-stressed springs",
        "friction polygons in space",
        "stiff forces",
        "overlap at the start",
        "short forms",
    ]);
    table += "|---|---|---|---|---|---|---|\n";
    for scheme in SchemeSettings::all() {
        let facts = scheme.facts();
        let impacts = match facts.impacts {
            Impacts::Inelastic => "inelastic",
            Impacts::Newton => "Newton",
            Impacts::NewtonAndPoisson => "Newton, Poisson",
        };
        let overlap = match facts.overlap {
            Overlap::Ended => "ended by the first step".to_owned(),
            Overlap::Fading(rate) => format!("fades with `{rate}`"),
            Overlap::Kept => "kept".to_owned(),
        };
        table += &line(&[
            &format!("`{}`", facts.named.name),
            impacts,
            yes(facts.one_way),
            yes(facts.polygons),
            yes(facts.stiff_forces),
            &overlap,
            &short(&facts.named),
        ]);
    }
    assert!(DOCUMENT.contains(&table), "docs/scene-format.md needs this table:\n{table}");
}

#[test]
fn the_table_of_methods_is_theirs() {
    let mut table = line(&["method", "what it is", "friction sets", "exact in space", "short forms"]);
    table += "|---|---|---|---|---|\n";
    for method in ContactMethod::all() {
        let facts = method.facts();
        let name = format!("`{}`", facts.named.name);
        table += &line(&[&name, facts.named.summary, facts.sets.meaning(), yes(facts.is_exact), &short(&facts.named)]);
    }
    assert!(DOCUMENT.contains(&table), "docs/scene-format.md needs this table:\n{table}");
}

/// A name is the key of its table, and stands in the JSON Schema with its summary.
#[test]
fn names_are_keys_of_scenes() {
    let schema = stiction_scene::Scene::schema();
    for scheme in SchemeSettings::all() {
        let Named { name, summary, .. } = scheme.facts().named;
        assert_eq!(serde_json::to_value(&scheme).unwrap().as_object().unwrap().keys().next().unwrap(), name);
        let variants = schema["$defs"]["SchemeSettings"]["oneOf"].as_array().unwrap();
        let variant = variants.iter().find(|variant| variant["properties"].get(name).is_some()).unwrap();
        assert_eq!(variant["description"], summary);
        scheme.check().unwrap();
    }
    for method in ContactMethod::all() {
        let Named { name, summary, .. } = method.facts().named;
        assert_eq!(serde_json::to_value(&method).unwrap().as_object().unwrap().keys().next().unwrap(), name);
        let variants = schema["$defs"]["ContactMethod"]["oneOf"].as_array().unwrap();
        let variant = variants.iter().find(|variant| variant["properties"].get(name).is_some()).unwrap();
        assert_eq!(variant["description"], summary);
        method.check(2).unwrap();
    }
}
