//! The inputs that are kept of a target, out of their packed file (`fuzz/corpus.mjs` has the format).

/// Four bytes of length, little-endian, and so many bytes, again and again.
pub fn decode(packed: &[u8]) -> Vec<&[u8]> {
    let (mut rest, mut inputs) = (packed, Vec::new());
    while let Some((length, after)) = rest.split_first_chunk() {
        let (input, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        inputs.push(input);
        rest = after;
    }
    assert!(rest.is_empty(), "the last length is cut off");
    inputs
}
