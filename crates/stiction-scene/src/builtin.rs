//! The scenes that come with the library, and one to start from.

use std::sync::LazyLock;

use crate::model::made_plain;

/// A scene that comes with the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltinScene {
    /// Name, by which [`load`](fn@crate::load) finds it.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// Whether bodies meet by faces and surfaces of many pieces. Which of their corners touch
    /// changes all the time, and the event-driven scheme would stop at each change: it is no
    /// reference for these scenes, to which other schemes could be compared.
    pub is_assembly: bool,
}

/// Names and texts of the files in `scenes/`.
macro_rules! files {
    ($($name:literal),*) => { [$(($name, include_str!(concat!("../scenes/", $name, ".toml")))),*] };
}

#[rustfmt::skip]
static ALL: LazyLock<Vec<BuiltinScene>> = LazyLock::new(|| {
    let mechanisms = files![
        "rod", "sliding-block", "incline", "belt", "box-on-corners", "four-balls", "two-balls", "painleve-rod",
        "bouncing-ball", "newton-cradle", "superball", "woodpecker", "double-pendulum", "carts-damper", "carts-spring",
        "free-top", "andrews", "bricard", "four-bar-clearance", "elastic-pendulum", "bead-in-ring",
        "marble-outside-sphere", "slide-to-roll", "rattleback", "tippe-top", "sphere-spin", "sphere-spin-misaligned",
        "sphere-valley"
    ];
    let assemblies = files![
        "stack", "wall", "heavy-on-light", "rolling-box", "arch", "card-house", "dominoes", "sleeve", "peg-in-hole",
        "parts-feeder", "pawl-insertion", "cube-toss", "rover"
    ];
    let title = |text: &'static str| text.split("title = \"").nth(1)?.split('"').next();
    let scene = |(name, text), is_assembly| {
        BuiltinScene { name, text, title: title(text).expect("every scene has one"), is_assembly }
    };
    let mechanisms = mechanisms.into_iter().map(|file| scene(file, false));
    mechanisms.chain(assemblies.into_iter().map(|file| scene(file, true))).collect()
});

/// All built-in scenes.
pub fn all() -> &'static [BuiltinScene] {
    &ALL
}

/// Those that are no assemblies.
pub fn mechanisms() -> impl Iterator<Item = &'static BuiltinScene> {
    all().iter().filter(|scene| !scene.is_assembly)
}

/// A scene to start from, with a comment on every key. Characters that cannot stand in a name
/// become `-`.
pub fn template(name: &str) -> String {
    let name = if name.is_empty() { "scene".to_owned() } else { made_plain(name) };
    include_str!("template.toml").replace("NAME", &name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::parse;

    #[test]
    fn titles_and_names_are_those_of_the_files() {
        for scene in all() {
            let loaded = parse(scene.text, scene.name).unwrap();
            assert_eq!(loaded.scene().name, scene.name);
            assert_eq!(loaded.scene().title.as_deref(), Some(scene.title));
            assert!(scene.text.starts_with("# "), "{} says what there is to see", scene.name);
        }
    }

    #[test]
    fn every_file_in_the_folder_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        let mut names: Vec<String> = all().iter().map(|scene| scene.name.to_owned()).collect();
        files.sort();
        names.sort();
        assert_eq!(files, names);
    }

    #[test]
    fn the_template_takes_any_name() {
        for (name, expected) in [("my-scene", "my-scene"), ("a b/c", "a-b-c"), ("", "scene")] {
            assert_eq!(parse(&template(name), "new.toml").unwrap().scene().name, expected);
        }
    }
}
