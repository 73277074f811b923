//! Numbers out of bytes. Past the end there are zeros, so that every input is one.

pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let (front, rest) = self.0.split_at(N.min(self.0.len()));
        bytes[..front.len()].copy_from_slice(front);
        self.0 = rest;
        bytes
    }

    pub fn u8(&mut self) -> u8 {
        self.bytes::<1>()[0]
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.bytes())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// Text up to `end`, which goes too.
    pub fn until(&mut self, end: u8) -> &'a [u8] {
        let at = self.0.iter().position(|byte| *byte == end).unwrap_or(self.0.len());
        let text = &self.0[..at];
        self.0 = self.0.get(at + 1..).unwrap_or(&[]);
        text
    }
}
