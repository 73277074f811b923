//! SHA-256 (FIPS 180-4), and HMAC with it (RFC 2104).
//!
//! A bare hash of a request can be searched: where a body holds nothing unknown but a PIN, its ten
//! thousand keys are made in a moment and compared. A key that a secret went into can be made by
//! those alone who have it.
#![forbid(unsafe_code)]

use sha2::{Digest, Sha256};

/// The bytes that SHA-256 takes at once: B of RFC 2104.
const BLOCK: usize = 64;

/// A digest in the making: with a secret HMAC-SHA-256, else SHA-256.
pub(super) struct Mac {
    inner: Sha256,
    outer: Option<Sha256>,
}

impl Mac {
    /// An empty `secret` is none.
    pub fn new(secret: &[u8]) -> Mac {
        if secret.is_empty() {
            return Mac { inner: Sha256::new(), outer: None };
        }
        let mut key = [0; BLOCK];
        // A longer one counts as its digest.
        let digest = (secret.len() > BLOCK).then(|| Sha256::digest(secret));
        let short = digest.as_ref().map_or(secret, |digest| digest.as_slice());
        for (place, byte) in key.iter_mut().zip(short) {
            *place = *byte;
        }
        let padded = |pad: u8| Sha256::new_with_prefix(key.map(|byte| byte ^ pad));
        Mac { inner: padded(0x36), outer: Some(padded(0x5C)) }
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.inner.update(bytes);
    }

    /// In lower-case hexadecimal digits.
    pub fn hex(self) -> String {
        let digest = self.inner.finalize();
        hex::encode(match self.outer {
            Some(outer) => outer.chain_update(digest).finalize(),
            None => digest,
        })
    }
}
