//! Relative links in the Markdown files point to files that exist.

use crate::workspace::Workspace;
use std::path::Path;

/// Looks at every link of every Markdown file; the error lists the broken ones.
pub fn run(workspace: &Workspace) -> Result<(), String> {
    let files = workspace.markdown_files()?;
    let mut checked = 0;
    let mut broken = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        for (line, target) in links(&text) {
            let Some(path) = local_path(&target) else {
                continue;
            };
            checked += 1;
            if !file.parent().unwrap_or(Path::new("")).join(path).exists() {
                broken.push(format!("{}:{line}: {target}", workspace.shown(file)));
            }
        }
    }
    println!("{checked} relative links in {} files", files.len());
    if broken.is_empty() { Ok(()) } else { Err(format!("broken links: {}\n{}", broken.len(), broken.join("\n"))) }
}

/// The targets of `[text](target)` and `[key]: target`, with their line numbers. Code is not
/// searched.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open_fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let fence = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (open_fence, fence) {
            (None, Some(mark)) => open_fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => open_fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let prose = without_code(line);
                let mut rest = prose.as_str();
                while let Some(at) = rest.find("](") {
                    rest = &rest[at + 2..];
                    found.extend(target(rest, ')').map(|target| (index + 1, target)));
                }
                let definition = prose.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
                // A key that begins with ^ is a footnote, whose text follows.
                if let Some((_, rest)) = definition.filter(|(key, _)| !key.starts_with('^')) {
                    found.extend(target(rest, ' ').map(|target| (index + 1, target)));
                }
            }
        }
    }
    found
}

/// The link target at the start of the text: up to its end mark, without a title.
fn target(text: &str, end: char) -> Option<String> {
    let text = text.trim_start();
    let target = match text.strip_prefix('<') {
        Some(inside) => inside.split('>').next(),
        None => text.split(|character: char| character == end || character.is_whitespace()).next(),
    };
    target.filter(|target| !target.is_empty()).map(str::to_owned)
}

/// The path of a link into the repository; `None` for links into the world and into the same page.
fn local_path(target: &str) -> Option<&str> {
    let leads_away = target.contains("://") || target.starts_with("mailto:");
    let path = target.split('#').next().unwrap_or_default();
    if leads_away || path.is_empty() { None } else { Some(path) }
}

/// The line with everything between backticks taken out.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_links_but_not_in_code() {
        let text = "\
See [a](docs/a.md) and [b](b.md \"title\"), not `[c](c.md)`.
```text
[d](d.md)
```
[key]: e.md
An image ![f](<with blank.png>) and [ST96]: not at the start of a line.
- [ST96] is a key, not a link";
        let found: Vec<(usize, String)> = links(text);
        let expected = [(1, "docs/a.md"), (1, "b.md"), (5, "e.md"), (6, "with blank.png")];
        assert_eq!(found, expected.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn only_links_into_the_repository_have_a_path() {
        assert_eq!(local_path("docs/notation.md#signs"), Some("docs/notation.md"));
        assert_eq!(local_path("#signs"), None);
        assert_eq!(local_path("https://doi.org/10.1002/nme.1582"), None);
        assert_eq!(local_path("mailto:someone@example.org"), None);
    }
}
