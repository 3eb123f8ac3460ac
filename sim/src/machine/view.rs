//! Memory as words.

/// Words of a space that loads read and stores write, by lane.
pub(crate) trait View {
    fn word(&self, address: u64, lane: usize) -> u32;
    /// Replaces the bits of `mask`.
    fn set(&mut self, address: u64, lane: usize, mask: u32, bits: u32);
}
