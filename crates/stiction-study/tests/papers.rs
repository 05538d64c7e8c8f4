//! `docs/papers.md` says where everything in the five papers is to be found. Every row leads
//! somewhere, and what it names exists.

use std::path::Path;

use stiction_scene::builtin;
use stiction_study::reproduce::EXPERIMENTS;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// The cells of the rows of all tables, without their heads, and the number of the line.
fn rows(page: &str) -> Vec<(usize, Vec<&str>)> {
    let lines: Vec<&str> = page.lines().collect();
    let is_rule = |line: &str| line.starts_with("|---");
    let row = |(index, line): (usize, &&'_ str)| {
        let is_head = lines.get(index + 1).is_some_and(|next| is_rule(next));
        let is_row = line.starts_with('|') && !is_rule(line) && !is_head;
        is_row.then(|| (index + 1, lines[index].trim_matches('|').split(" | ").map(str::trim).collect()))
    };
    lines.iter().enumerate().filter_map(row).collect()
}

/// The targets of the links of a text.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// The texts between backquotes.
fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Whether a word stands in a text, and not as a part of another one.
fn has_word(text: &str, word: &str) -> bool {
    let joins = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| !text[..at].ends_with(joins) && !text[at + word.len()..].starts_with(joins))
}

/// What is wrong with the place that a row names.
fn fault(place: &str) -> Option<String> {
    let mut files = Vec::new();
    for link in links(place) {
        let path = Path::new(DOCS).join(link);
        match std::fs::read_to_string(&path) {
            Ok(text) => files.push(text),
            Err(error) => return Some(format!("{link}: {error}")),
        }
    }
    // A name that is itself a link stands in the file that it leads to.
    for linked in place.split("[`").skip(1) {
        let Some((name, file)) = linked.split_once("`](").map(|(name, rest)| (name, rest.split(')').next())) else {
            continue;
        };
        let last = name.rsplit("::").next().unwrap_or(name);
        let is_item = last.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        let text = file.and_then(|file| std::fs::read_to_string(Path::new(DOCS).join(file)).ok());
        if is_item && !text.is_some_and(|text| has_word(&text, last)) {
            return Some(format!("`{name}` is not in {}", file.unwrap_or_default()));
        }
    }
    let commands: Vec<&str> = code(place).into_iter().filter(|code| code.starts_with("stiction ")).collect();
    if files.is_empty() && commands.is_empty() {
        return Some("it names neither a file nor a command".to_owned());
    }
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let is_known = match words[..] {
            [_, "reproduce", id, ..] => EXPERIMENTS.iter().any(|experiment| experiment.id == id),
            [_, "run" | "check" | "converge" | "scenes", scene, ..] => {
                builtin::all().iter().any(|known| known.name == scene)
            }
            _ => true,
        };
        if !is_known {
            return Some(format!("`{command}`: there is no such experiment or scene"));
        }
    }
    // A word with an underscore is a test, a function or a field; it stands in a file of the row.
    let is_name =
        |code: &&str| code.contains('_') && code.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let missing = code(place).into_iter().filter(is_name).find(|name| !files.iter().any(|text| text.contains(name)));
    missing.map(|name| format!("`{name}` is in none of the files that the row links to"))
}

#[test]
fn every_row_of_the_tables_of_papers_has_its_place() {
    let page = std::fs::read_to_string(Path::new(DOCS).join("papers.md")).unwrap();
    let rows = rows(&page);
    for paper in ["ST96", "GS05", "PAGT", "TTP01", "PKF"] {
        assert!(page.contains(&format!("## [{paper}]")), "there is no section on [{paper}]");
    }
    assert!(rows.len() > 100, "the tables have {} rows only", rows.len());
    let faults: Vec<String> = rows
        .iter()
        .filter_map(|(line, cells)| {
            let place = match cells[..] {
                [_, place, _] => fault(place),
                _ => Some(format!("it has {} cells and not three", cells.len())),
            };
            place.map(|what| format!("docs/papers.md:{line}: {what}"))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_row_without_a_place_is_a_fault() {
    assert_eq!(rows("| a | b | c |\n|---|---|---|\n| (1) | x | |\n").len(), 1);
    assert!(fault("").is_some() && fault("see the code").is_some());
    assert!(fault("[a](nowhere.md)").is_some());
    assert!(fault("[notation](notation.md) `no_such_name`").is_some());
    assert!(fault("[`no_such`](notation.md)").is_some() && fault("[`Notatio`](notation.md)").is_some());
    assert_eq!(fault("[`Notation`](notation.md)"), None);
    assert!(fault("`stiction reproduce nothing`").is_some() && fault("`stiction run nothing`").is_some());
    assert_eq!(fault("`stiction reproduce rod`, [notation](notation.md)"), None);
}
