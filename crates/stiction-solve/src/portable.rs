//! Sines, powers and the like that give the same bits on every machine.
//!
//! Those of the standard library are the ones of the system, and depend on its version and on the
//! processor: with and without fused multiplication their last digit differs, and after some
//! bounces so does the motion. The digest of a run promises the same bits, so everything between a
//! scene and its states takes these, from the crate `libm`. Square roots and sums need none of it:
//! IEEE 754 says what they are.
//!
//! ```
//! use stiction_solve::PortableMath;
//!
//! assert_eq!(0.5f64.portable_sin().to_bits(), 0x3fde_aee8_744b_05f0);
//! ```

/// The functions as methods; their names differ from those of the standard library, which would
/// otherwise be taken.
pub trait PortableMath: Sized {
    /// Sine of an angle in rad.
    fn portable_sin(self) -> Self;
    /// Cosine of an angle in rad.
    fn portable_cos(self) -> Self;
    /// Sine and cosine of an angle in rad.
    fn portable_sin_cos(self) -> (Self, Self);
    /// Tangent of an angle in rad.
    fn portable_tan(self) -> Self;
    /// Angle of a cosine, in rad.
    fn portable_acos(self) -> Self;
    /// Angle of the point (`x`, `self`), in rad.
    fn portable_atan2(self, x: Self) -> Self;
    /// $\sqrt{x^2 + y^2}$ without overflow.
    fn portable_hypot(self, y: Self) -> Self;
    /// $e^x$.
    fn portable_exp(self) -> Self;
    /// $2^x$.
    fn portable_exp2(self) -> Self;
    /// Natural logarithm.
    fn portable_ln(self) -> Self;
    /// Logarithm to base 2.
    fn portable_log2(self) -> Self;
    /// $x^p$.
    fn portable_powf(self, p: Self) -> Self;
}

impl PortableMath for f64 {
    fn portable_sin(self) -> f64 {
        libm::sin(self)
    }

    fn portable_cos(self) -> f64 {
        libm::cos(self)
    }

    fn portable_sin_cos(self) -> (f64, f64) {
        libm::sincos(self)
    }

    fn portable_tan(self) -> f64 {
        libm::tan(self)
    }

    fn portable_acos(self) -> f64 {
        libm::acos(self)
    }

    fn portable_atan2(self, x: f64) -> f64 {
        libm::atan2(self, x)
    }

    fn portable_hypot(self, y: f64) -> f64 {
        libm::hypot(self, y)
    }

    fn portable_exp(self) -> f64 {
        libm::exp(self)
    }

    fn portable_exp2(self) -> f64 {
        libm::exp2(self)
    }

    fn portable_ln(self) -> f64 {
        libm::log(self)
    }

    fn portable_log2(self) -> f64 {
        libm::log2(self)
    }

    fn portable_powf(self, p: f64) -> f64 {
        libm::pow(self, p)
    }
}
