//! Which parts of two shapes meet, as one number that stays the same from step to step.
//!
//! The low 30 bits number a feature of the second shape, the next 30 one of the first, and the
//! four above say what they are. Zero there means that the pair is one with a few contacts, which
//! are simply numbered.

use std::fmt;

/// Bits of the number of a feature of one shape.
const BITS: u32 = 30;

/// The most vertices, edges, half-edges or faces that a shape may have.
pub const MOST_FEATURES: usize = 1 << BITS;

/// A feature of the first shape and one of the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeaturePair {
    /// One of the contacts of a pair that has few.
    Numbered(u32),
    /// A vertex above the plane of a face.
    VertexFace(u32, u32),
    /// A face below a vertex.
    FaceVertex(u32, u32),
    /// Two edges, along their common perpendicular.
    EdgeEdge(u32, u32),
    /// An edge above the plane of a face, where it crosses an edge of that face: a half-edge.
    EdgeBrink(u32, u32),
    /// The same in the other order.
    BrinkEdge(u32, u32),
    /// Two vertices, apart.
    VertexVertex(u32, u32),
    /// A vertex and an edge, apart.
    VertexEdge(u32, u32),
    /// An edge and a vertex, apart.
    EdgeVertex(u32, u32),
    /// An edge along a plane that touches a curved face.
    EdgeFace(u32, u32),
    /// A curved face and an edge.
    FaceEdge(u32, u32),
}

impl FeaturePair {
    /// The number of the pair.
    pub fn code(self) -> u64 {
        let (kind, first, second) = match self {
            Self::Numbered(number) => (0, 0, number),
            Self::VertexFace(a, b) => (1, a, b),
            Self::FaceVertex(a, b) => (2, a, b),
            Self::EdgeEdge(a, b) => (3, a, b),
            Self::EdgeBrink(a, b) => (4, a, b),
            Self::BrinkEdge(a, b) => (5, a, b),
            Self::VertexVertex(a, b) => (6, a, b),
            Self::VertexEdge(a, b) => (7, a, b),
            Self::EdgeVertex(a, b) => (8, a, b),
            Self::EdgeFace(a, b) => (9, a, b),
            Self::FaceEdge(a, b) => (10, a, b),
        };
        u64::from(second) | u64::from(first) << BITS | kind << (2 * BITS)
    }

    /// The pair of a number.
    pub fn of(code: u64) -> Self {
        let part = |shift: u32| (code >> shift) as u32 & (MOST_FEATURES - 1) as u32;
        let (first, second) = (part(BITS), part(0));
        match code >> (2 * BITS) {
            1 => Self::VertexFace(first, second),
            2 => Self::FaceVertex(first, second),
            3 => Self::EdgeEdge(first, second),
            4 => Self::EdgeBrink(first, second),
            5 => Self::BrinkEdge(first, second),
            6 => Self::VertexVertex(first, second),
            7 => Self::VertexEdge(first, second),
            8 => Self::EdgeVertex(first, second),
            9 => Self::EdgeFace(first, second),
            10 => Self::FaceEdge(first, second),
            _ => Self::Numbered(second),
        }
    }

    /// The pair with its two shapes exchanged.
    pub fn mirrored(self) -> Self {
        match self {
            Self::Numbered(_) => self,
            Self::VertexFace(a, b) => Self::FaceVertex(b, a),
            Self::FaceVertex(a, b) => Self::VertexFace(b, a),
            Self::EdgeEdge(a, b) => Self::EdgeEdge(b, a),
            Self::EdgeBrink(a, b) => Self::BrinkEdge(b, a),
            Self::BrinkEdge(a, b) => Self::EdgeBrink(b, a),
            Self::VertexVertex(a, b) => Self::VertexVertex(b, a),
            Self::VertexEdge(a, b) => Self::EdgeVertex(b, a),
            Self::EdgeVertex(a, b) => Self::VertexEdge(b, a),
            Self::EdgeFace(a, b) => Self::FaceEdge(b, a),
            Self::FaceEdge(a, b) => Self::EdgeFace(b, a),
        }
    }
}

impl fmt::Display for FeaturePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Numbered(number) => write!(f, "{number}"),
            Self::VertexFace(a, b) => write!(f, "v{a}-f{b}"),
            Self::FaceVertex(a, b) => write!(f, "f{a}-v{b}"),
            Self::EdgeEdge(a, b) => write!(f, "e{a}-e{b}"),
            Self::EdgeBrink(a, b) => write!(f, "e{a}-h{b}"),
            Self::BrinkEdge(a, b) => write!(f, "h{a}-e{b}"),
            Self::VertexVertex(a, b) => write!(f, "v{a}-v{b}"),
            Self::VertexEdge(a, b) => write!(f, "v{a}-e{b}"),
            Self::EdgeVertex(a, b) => write!(f, "e{a}-v{b}"),
            Self::EdgeFace(a, b) => write!(f, "e{a}-f{b}"),
            Self::FaceEdge(a, b) => write!(f, "f{a}-e{b}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_its_pair_again() {
        let most = (MOST_FEATURES - 1) as u32;
        for (a, b) in [(0, 0), (1, 2), (most, 0), (0, most), (most, most)] {
            let pairs = [
                FeaturePair::VertexFace(a, b),
                FeaturePair::FaceVertex(a, b),
                FeaturePair::EdgeEdge(a, b),
                FeaturePair::EdgeBrink(a, b),
                FeaturePair::BrinkEdge(a, b),
                FeaturePair::VertexVertex(a, b),
                FeaturePair::VertexEdge(a, b),
                FeaturePair::EdgeVertex(a, b),
                FeaturePair::EdgeFace(a, b),
                FeaturePair::FaceEdge(a, b),
            ];
            for pair in pairs {
                assert_eq!(FeaturePair::of(pair.code()), pair);
                assert_eq!(pair.mirrored().mirrored(), pair);
            }
        }
        assert_eq!(FeaturePair::of(7), FeaturePair::Numbered(7));
        assert_eq!(FeaturePair::EdgeBrink(3, 12).to_string(), "e3-h12");
    }
}
