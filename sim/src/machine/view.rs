//! Access to memory as words.

/// The words of a state space, by lane, for loads and stores.
pub(crate) trait View {
    fn word(&self, address: u64, lane: usize) -> u32;
    /// Replaces the bits that `mask` selects.
    fn set(&mut self, address: u64, lane: usize, mask: u32, bits: u32);
}
