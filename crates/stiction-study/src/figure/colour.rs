//! Colours that stay apart for colour-blind readers and in print.

/// An opaque colour: red, green and blue in 0..=255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Default for Colour {
    fn default() -> Self {
        Colour::INK
    }
}

impl Colour {
    /// Blue of the Okabe-Ito palette.
    pub const BLUE: Colour = Colour(0, 114, 178);
    /// Vermillion of the Okabe-Ito palette.
    pub const VERMILLION: Colour = Colour(213, 94, 0);
    /// Bluish green of the Okabe-Ito palette.
    pub const GREEN: Colour = Colour(0, 158, 115);
    /// Reddish purple of the Okabe-Ito palette.
    pub const PURPLE: Colour = Colour(204, 121, 167);
    /// Orange of the Okabe-Ito palette.
    pub const ORANGE: Colour = Colour(230, 159, 0);
    /// Sky blue of the Okabe-Ito palette.
    pub const SKY: Colour = Colour(86, 180, 233);
    /// The near-black of text and axes.
    pub const INK: Colour = Colour(34, 34, 34);
    /// The grey of secondary text, reference lines and ground.
    pub const GREY: Colour = Colour(110, 110, 110);
    /// The light grey of grid lines.
    pub const PALE: Colour = Colour(230, 230, 230);
    /// The paper.
    pub const WHITE: Colour = Colour(255, 255, 255);

    /// The colours that series without one of their own take in turn.
    pub const SERIES: [Colour; 7] =
        [Colour::BLUE, Colour::VERMILLION, Colour::GREEN, Colour::PURPLE, Colour::ORANGE, Colour::SKY, Colour::INK];

    /// The colour at `share` of the way to `other`; values outside 0 to 1 are cut off.
    ///
    /// Poses drawn over time read well when their colour runs from one end to the other.
    pub fn towards(self, other: Colour, share: f64) -> Colour {
        let share = share.clamp(0.0, 1.0);
        let mix = |a: u8, b: u8| (f64::from(a) + share * (f64::from(b) - f64::from(a))).round() as u8;
        Colour(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_between_two_colours_has_its_ends_and_its_middle() {
        let (a, b) = (Colour(0, 100, 200), Colour(100, 0, 200));
        assert_eq!(a.towards(b, 0.0), a);
        assert_eq!(a.towards(b, 0.5), Colour(50, 50, 200));
        assert_eq!(a.towards(b, 7.0), b);
    }
}
