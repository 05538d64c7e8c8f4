//! Where the digest of a table stands in its footer.

use sha2::{Digest, Sha256};

/// Key of the digest in the footer.
pub(super) const DIGEST_KEY: &str = "stiction.sha256";
/// Hexadecimal characters of a SHA-256.
pub(super) const DIGEST_LENGTH: usize = 64;
/// Bytes between key and digest in the footer: the Thrift header of a string field, and the string's length.
pub(super) const DIGEST_HEADER: [u8; 2] = [0x18, DIGEST_LENGTH as u8];

/// Where the characters of the digest begin in a footer, if it has one.
pub(super) fn digest_place(footer: &[u8]) -> Option<usize> {
    let mark = [DIGEST_KEY.as_bytes(), &DIGEST_HEADER].concat();
    // The last one: names of columns come before it.
    let place = footer.windows(mark.len()).rposition(|window| window == mark)?;
    let start = place + mark.len();
    (start + DIGEST_LENGTH <= footer.len()).then_some(start)
}

pub(super) fn hexadecimal(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
