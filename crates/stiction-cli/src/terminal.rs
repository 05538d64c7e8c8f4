//! What may reach a terminal: text, and the styles that the commands put into it.

use indicatif::{ProgressBar, ProgressStyle};

/// Styles that commands use: none, bold, dim, italic, underlined, and the colours from red to cyan.
/// Others could hide text: concealed, black, a background.
const STYLES: [&str; 11] = ["0", "1", "2", "3", "4", "31", "32", "33", "34", "35", "36"];

/// The text with everything written out that acts on a terminal, but line breaks, tabs and
/// [`STYLES`] (`ESC [ … m`): titles, names and paths come from files that others may have written,
/// and must not set the window's title or hide what stands beside them. A style ends with its text.
pub fn safe(text: String) -> String {
    if !text.chars().any(|c| c.is_control() && c != '\n') {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let style = style_length(rest);
        let length = if style > 0 { style } else { c.len_utf8() };
        if style == 0 && c.is_control() && !matches!(c, '\n' | '\t') {
            out.extend(c.escape_unicode());
        } else {
            out.push_str(&rest[..length]);
        }
        rest = &rest[length..];
    }
    if out.rfind('\u{1b}').is_some_and(|last| !out[last..].starts_with("\u{1b}[0m")) {
        out.push_str("\u{1b}[0m");
    }
    out
}

/// Something that turns while a command works, with a word on what it does.
pub fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg}").expect("the template is well formed");
    let spinner = ProgressBar::new_spinner().with_style(style);
    spinner.enable_steady_tick(std::time::Duration::from_millis(100));
    spinner
}

/// Length of the style at the start of the text; zero when there is none.
fn style_length(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else { return 0 };
    let count = parameters.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    let is_known = parameters[..count].split(';').all(|style| STYLES.contains(&style));
    if is_known && parameters.as_bytes().get(count) == Some(&b'm') { count + 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_styles_pass() {
        let safe = |text: &str| super::safe(text.to_owned());
        assert_eq!(safe("plain\ttext\n"), "plain\ttext\n");
        assert_eq!(safe("\u{1b}[1;31merror:\u{1b}[0m"), "\u{1b}[1;31merror:\u{1b}[0m");
        // A title of the window, a cleared screen, a moved cursor, a bell, a carriage return, and
        // C1's introducer.
        assert_eq!(safe("\u{1b}]0;pwned\u{7}"), "\\u{1b}]0;pwned\\u{7}");
        assert_eq!(safe("\u{1b}[2J\u{1b}[1A"), "\\u{1b}[2J\\u{1b}[1A");
        assert_eq!(safe("ok\rNO\u{9b}2J"), "ok\\u{d}NO\\u{9b}2J");
        assert_eq!(style_length("\u{1b}[31"), 0);
        // Concealed, black, and red on red would hide text; and red must not spill over what
        // follows.
        assert_eq!(safe("\u{1b}[8mno\u{1b}[30m\u{1b}[31;41m"), "\\u{1b}[8mno\\u{1b}[30m\\u{1b}[31;41m");
        assert_eq!(safe("a\u{1b}[31mb"), "a\u{1b}[31mb\u{1b}[0m");
    }
}
