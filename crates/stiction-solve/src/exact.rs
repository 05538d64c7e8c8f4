//! Exact arithmetic on the numbers of a problem, for proofs: a `f64` is an integer times a power of
//! two.
//!
//! What is proved here holds for the problem as it is stated, to its last bit, and not for one that
//! is near it.

use std::cmp::Ordering;

use crate::PortableMath as _;
use num_bigint::BigInt;

use crate::Lcp;

/// Roundings of a vector that are tried for a proof: multiples of these powers of two of its
/// largest entry. The numbers of a proof are often simple, and come out of a method with an error
/// in the last digits.
const GRIDS: [i32; 7] = [52, 40, 30, 20, 12, 6, 2];

/// A finite number as integer and exponent of two.
fn decompose(value: f64) -> (i64, i32) {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, (bits & ((1 << 52) - 1)) as i64);
    let (mantissa, exponent) = if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    (if value < 0.0 { -mantissa } else { mantissa }, exponent)
}

/// Numbers as integers times one power of two, whose exponent is returned as well.
fn integers(values: impl Iterator<Item = f64> + Clone) -> (Vec<BigInt>, i32) {
    let exponents = values.clone().filter(|&value| value != 0.0).map(|value| {
        let (mantissa, exponent) = decompose(value);
        exponent + mantissa.trailing_zeros() as i32
    });
    let least = exponents.min().unwrap_or(0);
    let to_integer = |value: f64| {
        let (mantissa, exponent) = decompose(value);
        if exponent >= least {
            BigInt::from(mantissa) << (exponent - least) as usize
        } else {
            BigInt::from(mantissa) >> (least - exponent) as usize
        }
    };
    (values.map(to_integer).collect(), least)
}

/// The sign of $\sum_k a_k b_k$, exactly; all numbers are finite.
pub(crate) fn sign_of_sum(terms: impl Iterator<Item = (f64, f64)> + Clone) -> Ordering {
    // Rounding decides few of them.
    let (mut sum, mut size, mut count) = (0.0f64, 0.0f64, 2.0);
    for (a, b) in terms.clone() {
        sum += a * b;
        size += (a * b).abs();
        count += 1.0;
    }
    if sum.is_finite() && size > 1e-250 && sum.abs() > count * f64::EPSILON * size {
        return sum.total_cmp(&0.0);
    }
    let (left, _) = integers(terms.clone().map(|term| term.0));
    let (right, _) = integers(terms.map(|term| term.1));
    left.iter().zip(&right).map(|(a, b)| a * b).sum::<BigInt>().cmp(&BigInt::ZERO)
}

/// Vectors near `y`, the simplest ones last: itself, and rounded to some of the [`GRIDS`].
pub(crate) fn simplified(y: &[f64]) -> impl Iterator<Item = Vec<f64>> + '_ {
    let largest = y.iter().fold(0.0f64, |largest, y| largest.max(y.abs()));
    let smallest = y.iter().filter(|&&y| y.abs() > 1e-9 * largest).fold(largest, |least, y| least.min(y.abs()));
    // One entry is one: the largest, or the smallest that is not rounding.
    let scaled = [largest, smallest].into_iter().flat_map(move |unit| {
        GRIDS.into_iter().map(move |grid| {
            let step = f64::from(-grid).portable_exp2();
            y.iter().map(|y| (y / unit / step).round() * step).collect::<Vec<f64>>()
        })
    });
    let is_usable = |y: &Vec<f64>| y.iter().all(|y| y.is_finite()) && y.iter().any(|&y| y != 0.0);
    std::iter::once(y.to_vec()).chain(scaled).filter(is_usable)
}

/// What an exact look at a complementary basis says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Basis {
    /// No solution belongs to it.
    Excluded,
    /// A solution: the unknowns, rounded.
    Solution(Vec<f64>),
    /// Its block is singular and does not contradict itself: a face of points belongs to it, which
    /// is not searched.
    Singular,
}

/// An LCP in integers, for exact looks at its bases.
pub(crate) struct ExactLcp {
    size: usize,
    /// Row after row, and the offset.
    matrix: Vec<BigInt>,
    offset: Vec<BigInt>,
    /// The unknowns are those of the integers times two to the power of this.
    exponent: i32,
}

impl ExactLcp {
    pub fn new(lcp: &Lcp) -> Self {
        let n = lcp.size();
        let (matrix, matrix_exponent) = integers((0..n * n).map(|k| lcp.column(k % n)[k / n]));
        let (offset, offset_exponent) = integers(lcp.offset().iter().copied());
        Self { size: n, matrix, offset, exponent: offset_exponent - matrix_exponent }
    }

    /// Looks at the basis of these unknowns.
    ///
    /// Fraction-free elimination (Bareiss 1968) leaves $d x_i$ in the last column, with the
    /// determinant $d$ of the block.
    pub fn basis(&self, members: &[usize]) -> Basis {
        let (n, a) = (self.size, members.len());
        let width = a + 1;
        let mut system: Vec<BigInt> = Vec::with_capacity(a * width);
        for &i in members {
            system.extend(members.iter().map(|&j| self.matrix[i * n + j].clone()));
            system.push(-&self.offset[i]);
        }
        let mut determinant = BigInt::from(1);
        for k in 0..a {
            let Some(pivot_row) = (k..a).find(|&i| system[i * width + k] != BigInt::ZERO) else {
                return self.contradiction(&system, a, k);
            };
            (0..width).for_each(|j| system.swap(k * width + j, pivot_row * width + j));
            let pivot = system[k * width + k].clone();
            for i in (0..a).filter(|&i| i != k) {
                let factor = system[i * width + k].clone();
                for j in 0..width {
                    let product = &pivot * &system[i * width + j] - &factor * &system[k * width + j];
                    system[i * width + j] = product / &determinant;
                }
            }
            determinant = pivot;
        }
        // The sign of the pivot counts for numerators and denominator alike.
        let numerators: Vec<&BigInt> = (0..a).map(|i| &system[i * width + a]).collect();
        let is_negative = determinant < BigInt::ZERO;
        let is_below = |value: &BigInt| if is_negative { *value > BigInt::ZERO } else { *value < BigInt::ZERO };
        if numerators.iter().any(|value| is_below(value)) {
            return Basis::Excluded;
        }
        for row in (0..n).filter(|row| !members.contains(row)) {
            let mut slack = &self.offset[row] * &determinant;
            for (&column, numerator) in members.iter().zip(&numerators) {
                slack += &self.matrix[row * n + column] * *numerator;
            }
            if is_below(&slack) {
                return Basis::Excluded;
            }
        }
        let mut z = vec![0.0; n];
        for (&column, numerator) in members.iter().zip(&numerators) {
            z[column] = ratio(numerator, &determinant, self.exponent);
        }
        Basis::Solution(z)
    }

    /// Column `k` of what is left has no pivot: the basis is excluded where a row of zeros has a
    /// right-hand side.
    fn contradiction(&self, system: &[BigInt], a: usize, k: usize) -> Basis {
        let width = a + 1;
        let mut rest = system.to_vec();
        // On with the columns after k, until the rows from k on have nothing but a right-hand side.
        let mut row = k;
        for column in k + 1..a {
            let Some(pivot_row) = (row..a).find(|&i| rest[i * width + column] != BigInt::ZERO) else { continue };
            (0..width).for_each(|j| rest.swap(row * width + j, pivot_row * width + j));
            let pivot = rest[row * width + column].clone();
            for i in row + 1..a {
                let factor = rest[i * width + column].clone();
                for j in k..width {
                    rest[i * width + j] = &pivot * &rest[i * width + j] - &factor * &rest[row * width + j];
                }
            }
            row += 1;
        }
        let is_contradiction = (row..a).any(|i| rest[i * width + a] != BigInt::ZERO);
        if is_contradiction { Basis::Excluded } else { Basis::Singular }
    }
}

/// The `f64` next to a ratio times a power of two, but for one rounding.
fn ratio(numerator: &BigInt, denominator: &BigInt, exponent: i32) -> f64 {
    // Quotients of about 64 bits.
    let shift = 64 + denominator.bits() as i64 - numerator.bits() as i64;
    let quotient = if shift >= 0 {
        (numerator << shift as usize) / denominator
    } else {
        (numerator >> -shift as usize) / denominator
    };
    let digits: i128 = quotient.try_into().unwrap_or(0);
    // In two steps, so that the power itself does not overflow where the number does not.
    let power = i64::from(exponent) - shift;
    let half = (power / 2) as f64;
    digits as f64 * half.portable_exp2() * ((power - power / 2) as f64).portable_exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;

    #[test]
    fn signs_are_exact() {
        // 1 + 2⁻⁶⁰ - 1, with the small one in the middle.
        let tiny = (-60f64).exp2();
        assert_eq!(sign_of_sum([(1.0, 1.0), (tiny, 1.0), (-1.0, 1.0)].into_iter()), Ordering::Greater);
        // 0.1 · 3 - 0.3 in binary is 2⁻⁵⁴ · 1.0…, not zero.
        assert_eq!(sign_of_sum([(0.1, 3.0), (-0.3, 1.0)].into_iter()), Ordering::Greater);
        assert_eq!(sign_of_sum([(1e300, 1e300), (-1e300, 1e300), (5e-324, -5e-324)].into_iter()), Ordering::Less);
        assert_eq!(sign_of_sum([(0.5, 4.0), (-2.0, 1.0)].into_iter()), Ordering::Equal);
    }

    #[test]
    fn a_basis_is_decided_exactly() {
        // w = (3 z1 + z2 - 1, z1 + 3 z2 - 1): both positive at z = (1/4, 1/4).
        let lcp = ExactLcp::new(&Lcp::new(mat![[3.0, 1.0], [1.0, 3.0]], vec![-1.0, -1.0]).unwrap());
        assert_eq!(lcp.basis(&[0, 1]), Basis::Solution(vec![0.25, 0.25]));
        assert_eq!(lcp.basis(&[]), Basis::Excluded);
        assert_eq!(lcp.basis(&[0]), Basis::Excluded);
        // z1 + z2 = 1 twice, and 1 and 2.
        let lcp = ExactLcp::new(&Lcp::new(mat![[1.0, 1.0], [1.0, 1.0]], vec![-1.0, -1.0]).unwrap());
        assert_eq!(lcp.basis(&[0, 1]), Basis::Singular);
        let lcp = ExactLcp::new(&Lcp::new(mat![[1.0, 1.0], [1.0, 1.0]], vec![-1.0, -2.0]).unwrap());
        assert_eq!(lcp.basis(&[0, 1]), Basis::Excluded);
        assert_eq!(lcp.basis(&[1]), Basis::Solution(vec![0.0, 2.0]));
        // An empty first column, and numbers near the ends of the range.
        let lcp = ExactLcp::new(&Lcp::new(mat![[0.0, 1.0], [0.0, 1.0]], vec![-1.0, -2.0]).unwrap());
        assert_eq!(lcp.basis(&[0, 1]), Basis::Excluded);
        let lcp = ExactLcp::new(&Lcp::new(mat![[3e-300]], vec![-3e-10]).unwrap());
        let Basis::Solution(z) = lcp.basis(&[0]) else { panic!("a solution") };
        assert!((z[0] / 1e290 - 1.0).abs() < 1e-15, "{z:?}");
    }
}
