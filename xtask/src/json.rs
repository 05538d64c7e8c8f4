//! One string out of a JSON document, which is all the jobs need: the path cargo reports, the
//! digest of a run.

/// The string value that follows the first `"key":` of the text, or `None` when there is none or it
/// is not a string.
pub fn string_value(text: &str, key: &str) -> Option<String> {
    let quoted_key = format!("\"{key}\"");
    let after_key = &text[text.find(&quoted_key)? + quoted_key.len()..];
    let value = after_key.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let mut unescaped = String::new();
    let mut characters = value.chars();
    loop {
        match characters.next()? {
            '"' => return Some(unescaped),
            // Paths and digests contain no escapes but `\\`, `\"` and `\/`, which stand for their
            // second character.
            '\\' => unescaped.push(characters.next()?),
            character => unescaped.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::string_value;

    #[test]
    fn finds_a_string_and_nothing_else() {
        let text = r#"{ "steps": 3, "digest" : "ab12", "executable":"C:\\target\\stiction.exe", "open": "a }"#;
        assert_eq!(string_value(text, "digest").as_deref(), Some("ab12"));
        assert_eq!(string_value(text, "executable").as_deref(), Some(r"C:\target\stiction.exe"));
        assert_eq!(string_value(text, "steps"), None, "a number is not a string");
        assert_eq!(string_value(text, "missing"), None);
        assert_eq!(string_value(text, "open"), None, "a string that never ends");
    }
}
