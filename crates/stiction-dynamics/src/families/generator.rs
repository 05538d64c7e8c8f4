//! A small generator of random numbers.

/// SplitMix64 of Steele, Lea and Flood (2014): the same numbers from the same seed on every
/// machine, and neighbouring seeds give unrelated ones. Good enough for tests, not for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    state: u64,
}

impl Generator {
    /// The generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from `low` up to, but not including, `high`, all equally likely.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// A number between two positive ones, its logarithm uniform.
    pub fn logarithmic(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.uniform(0.0, 1.0))
    }

    /// Three numbers between `-size` and `size`.
    pub fn vector(&mut self, size: f64) -> [f64; 3] {
        [0; 3].map(|_| self.uniform(-size, size))
    }

    /// True in this share of all cases.
    pub fn chance(&mut self, share: f64) -> bool {
        self.uniform(0.0, 1.0) < share
    }

    /// A number of `0..count`.
    ///
    /// # Panics
    /// When `count` is zero.
    pub fn below(&mut self, count: usize) -> usize {
        assert!(count > 0, "there is no number below zero");
        // The bias of the remainder is below 2⁻³² for any count that fits into memory here.
        (self.bits() % count as u64) as usize
    }

    /// The numbers `0..count` in random order.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The published sequence for the seed 1234567.
        let mut random = Generator::new(1234567);
        let expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431];
        assert_eq!(expected.map(|_| random.bits()), expected);
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_fill_them() {
        let mut random = Generator::new(1);
        let (mut sum, mut low, mut high) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        for _ in 0..10_000 {
            let x = random.uniform(-1.0, 3.0);
            (sum, low, high) = (sum + x, low.min(x), high.max(x));
            let y = random.logarithmic(1e-3, 1e3);
            assert!((1e-3..=1e3 * (1.0 + 1e-12)).contains(&y));
        }
        assert!((-1.0..-0.99).contains(&low) && (2.99..3.0).contains(&high));
        // The mean of 10 000 such numbers has the standard deviation 4 / sqrt(12 · 10⁴) = 0.012.
        assert!((sum / 1e4 - 1.0f64).abs() < 0.06, "{sum}");
        let mut order = random.permutation(50);
        assert_ne!(order, (0..50).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
    }
}
