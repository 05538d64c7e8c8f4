//! Numbers with twice the digits of `f64`, as the sum of two of them: enough to judge answers in
//! double precision.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The number `high + low`, with `low` below half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct DoubleDouble {
    high: f64,
    low: f64,
}

/// The sum of two numbers and what rounding took from it (Knuth).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

impl DoubleDouble {
    pub const ZERO: Self = Self { high: 0.0, low: 0.0 };

    fn normalised(a: f64, b: f64) -> Self {
        let (high, low) = two_sum(a, b);
        Self { high, low }
    }

    /// The product of two numbers, without rounding unless it under- or overflows.
    pub fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    /// The nearest `f64`.
    pub fn to_f64(self) -> f64 {
        self.high
    }

    /// Whether it is an `f64`.
    pub fn is_f64(self) -> bool {
        self.low == 0.0 && self.high.is_finite()
    }

    pub fn abs(self) -> Self {
        if self.high < 0.0 { -self } else { self }
    }

    pub fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    /// The root, by one step of Newton's method from that of `f64`.
    pub fn sqrt(self) -> Self {
        let root = self.high.sqrt();
        if root == 0.0 || !root.is_finite() {
            return root.into();
        }
        let error = self - Self::product(root, root);
        Self::normalised(root, error.high / (2.0 * root))
    }
}

impl From<f64> for DoubleDouble {
    fn from(value: f64) -> Self {
        Self { high: value, low: 0.0 }
    }
}

impl Add for DoubleDouble {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (high, error) = two_sum(self.high, other.high);
        let (low, rest) = two_sum(self.low, other.low);
        let sum = Self::normalised(high, error + low);
        Self::normalised(sum.high, sum.low + rest)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;

    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = Self::product(self.high, other.high);
        Self::normalised(product.high, product.low + (self.high * other.low + self.low * other.high))
    }
}

impl Div for DoubleDouble {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - other * first.into();
        let second = rest.high / other.high;
        let rest = rest - other * second.into();
        Self::normalised(first, second) + Self::from(rest.high / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounding_takes_is_kept() {
        let third = DoubleDouble::from(1.0) / 3.0.into();
        let error = (third * 3.0.into() - 1.0.into()).to_f64().abs();
        assert!(error < 1e-31, "{error:e}");
        // (1 + 2⁻⁶⁰)² - 1 - 2⁻⁵⁹ = 2⁻¹²⁰ is below the digits, 2⁻⁵⁹ is not.
        let near_one = DoubleDouble::from(1.0) + f64::exp2(-60.0).into();
        assert_eq!((near_one * near_one - 1.0.into()).to_f64(), f64::exp2(-59.0));
    }

    #[test]
    fn roots_have_twice_the_digits() {
        let root = DoubleDouble::from(2.0).sqrt();
        let error = (root * root - 2.0.into()).to_f64().abs();
        assert!(error < 1e-31, "{error:e}");
        assert!(!root.is_f64() && DoubleDouble::from(9.0).sqrt().is_f64());
        assert_eq!(DoubleDouble::ZERO.sqrt(), DoubleDouble::ZERO);
    }
}
