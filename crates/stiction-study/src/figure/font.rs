//! The letters of figures: Noto Sans, regular and bold, under the SIL Open Font License.
//!
//! Letters stand side by side at the widths that the font gives them, without kerning. Raised and
//! lowered digits and signs, as in 10⁻⁶ and κ₊, are small copies of the usual ones, because the
//! font does not have all of them.

use std::sync::OnceLock;

use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Size of a raised or lowered letter relative to the others.
const SMALL: f64 = 0.68;
/// How far a letter is raised, in em.
const RISE: f64 = 0.36;
/// How far a letter is lowered, in em.
const FALL: f64 = 0.14;
/// Raised and lowered letters, and what they are small copies of.
const RAISED: (&str, &str) = ("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+\u{2212}");
const LOWERED: (&str, &str) = ("₀₁₂₃₄₅₆₇₈₉₊₋", "0123456789+\u{2212}");

/// Thickness of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    Bold,
}

impl Weight {
    pub(super) const ALL: [Weight; 2] = [Weight::Regular, Weight::Bold];

    /// The font file.
    pub(super) fn data(self) -> &'static [u8] {
        match self {
            Weight::Regular => notosans::REGULAR_TTF,
            Weight::Bold => notosans::BOLD_TTF,
        }
    }

    pub(super) fn face(self) -> &'static Face<'static> {
        static FACES: OnceLock<[Face<'static>; 2]> = OnceLock::new();
        let parse = |weight: Weight| Face::parse(weight.data(), 0).expect("the embedded font is readable");
        &FACES.get_or_init(|| Weight::ALL.map(parse))[self as usize]
    }

    /// A length of the font in em.
    pub(super) fn em(self, length: impl Into<f64>) -> f64 {
        length.into() / f64::from(self.face().units_per_em())
    }
}

/// A letter in its place on a line of text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Glyph {
    pub(super) id: GlyphId,
    pub(super) letter: char,
    /// Distance from the start of the line, in em.
    pub(super) x: f64,
    /// Size relative to that of the line.
    pub(super) scale: f64,
    /// Height above the baseline, in em.
    pub(super) rise: f64,
}

/// The letters of a line of text, and its width in em.
pub(super) fn glyphs(text: &str, weight: Weight) -> (Vec<Glyph>, f64) {
    let face = weight.face();
    let mut x = 0.0;
    let set = |letter: char| {
        let small = |(from, to): (&str, &str)| from.chars().zip(to.chars()).find(|pair| pair.0 == letter);
        let (letter, scale, rise) = match (small(RAISED), small(LOWERED)) {
            (Some((_, usual)), _) => (usual, SMALL, RISE),
            (_, Some((_, usual))) => (usual, SMALL, -FALL),
            _ if letter.is_control() => (' ', 1.0, 0.0),
            _ => (letter, 1.0, 0.0),
        };
        // The first glyph of a font stands for all letters that it lacks.
        let id = face.glyph_index(letter).unwrap_or_default();
        let glyph = Glyph { id, letter, x, scale, rise };
        x += scale * weight.em(face.glyph_hor_advance(id).unwrap_or_default());
        glyph
    };
    (text.chars().map(set).collect(), x)
}

/// Width of a line of text, in pixels, at a font size in pixels.
pub(super) fn text_width(text: &str, size: f64, weight: Weight) -> f64 {
    glyphs(text, weight).1 * size
}

/// Breaks a text at its spaces into lines no wider than `width`, where it can.
pub(super) fn wrapped(text: &str, size: f64, weight: Weight, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size, weight) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// The outline of a letter, in units of the font, y upwards; none for a space.
pub(super) fn outline(id: GlyphId, weight: Weight) -> Option<Path> {
    struct Outline(PathBuilder);
    impl OutlineBuilder for Outline {
        fn move_to(&mut self, x: f32, y: f32) {
            self.0.move_to(x, y);
        }
        fn line_to(&mut self, x: f32, y: f32) {
            self.0.line_to(x, y);
        }
        fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
            self.0.quad_to(x1, y1, x, y);
        }
        fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
            self.0.cubic_to(x1, y1, x2, y2, x, y);
        }
        fn close(&mut self) {
            self.0.close();
        }
    }
    let mut outline = Outline(PathBuilder::new());
    weight.face().outline_glyph(id, &mut outline)?;
    outline.0.finish()
}

#[cfg(test)]
mod tests {
    use super::super::Colour;
    use super::super::drawing::Text;
    use super::*;

    #[test]
    fn long_text_breaks_at_spaces() {
        let width = text_width("one two", 10.0, Weight::Bold) + 1.0;
        assert_eq!(wrapped("one two three four", 10.0, Weight::Bold, width), ["one two", "three", "four"]);
        assert!(text_width("one two", 10.0, Weight::Regular) < width - 1.0, "bold letters are wider");
    }

    #[test]
    fn small_letters_are_copies_of_the_usual_ones() {
        let ids = |text: &str| glyphs(text, Weight::Regular).0.iter().map(|glyph| glyph.id).collect::<Vec<_>>();
        assert_eq!(ids("10⁻⁶ κ₊"), ids("10\u{2212}6 κ+"));
        let glyphs = glyphs("m²x₁", Weight::Regular).0;
        assert!(glyphs[1].rise > 0.0 && glyphs[3].rise < 0.0 && glyphs[0].rise == 0.0, "{glyphs:?}");
    }

    #[test]
    fn the_font_has_the_letters_of_mechanics() {
        for letter in "abcXYZ019 äöüéßαβγδεθκλμνπρστφχψωΓΔΘΛΣΦΨΩ−×·±≤≥≠≈√∞∂∑∫½°′–—…".chars()
        {
            let found = Weight::ALL.map(|weight| weight.face().glyph_index(letter));
            assert!(letter == '\u{2212}' || found.iter().all(Option::is_some), "{letter}");
        }
    }

    #[test]
    fn outlines_are_as_wide_as_the_text_is_measured_and_stand_on_the_baseline() {
        // At a font size of a thousand pixels, from the origin; y grows downwards.
        let bounds = |text: &str| {
            let text = Text::new(text, (0.0, 0.0), 1000.0, Colour::INK);
            (text.path().unwrap().bounds(), text_width(&text.text, 1000.0, Weight::Regular) as f32)
        };
        for text in ["tangential velocity (m/s)", "0.05", "\u{2212}12.5", "h = 0.02", "μ = 0.6, ε = ½, θ × φ ≤ 10²"]
        {
            let (bounds, width) = bounds(text);
            // The outlines lack the bearings at both ends, at most 0.1 em each.
            let (left, right) = (bounds.left(), width - bounds.right());
            assert!(
                (0.0..120.0).contains(&left) && (0.0..120.0).contains(&right),
                "{text}: {left}, {right} of {width}"
            );
        }
        let (capitals, _) = bounds("HHH");
        assert!(capitals.bottom().abs() < 5.0 && (capitals.top() + 714.0).abs() < 5.0, "{capitals:?}");
    }
}
