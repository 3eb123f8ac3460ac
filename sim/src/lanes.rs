//! Values for the 32 lanes of a warp, and lane masks.

/// One 32-bit value per lane.
pub(crate) type Lanes32 = [u32; 32];
/// One 64-bit value per lane.
pub(crate) type Lanes64 = [u64; 32];

/// All lanes.
pub(crate) const FULL: u32 = u32::MAX;

/// For each nibble of a lane mask, all ones or all zeros for each of its four lanes.
const NIBBLES: [[u32; 4]; 16] = {
    let mut table = [[0; 4]; 16];
    let mut i = 0;
    while i < 16 {
        let mut lane = 0;
        while lane < 4 {
            if i >> lane & 1 == 1 {
                table[i][lane] = u32::MAX;
            }
            lane += 1;
        }
        i += 1;
    }
    table
};

/// Returns all ones in the lanes of `mask`, and zeros elsewhere.
#[inline]
pub(crate) fn spread(mask: u32) -> Lanes32 {
    let mut out = [0; 32];
    for (i, chunk) in out.chunks_exact_mut(4).enumerate() {
        chunk.copy_from_slice(&NIBBLES[(mask >> (4 * i) & 15) as usize]);
    }
    out
}

/// Returns the lanes in which `f` holds.
#[inline(always)]
pub(crate) fn mask_of(mut f: impl FnMut(usize) -> bool) -> u32 {
    let mut mask = 0;
    for lane in 0..32 {
        mask |= u32::from(f(lane)) << lane;
    }
    mask
}

/// Returns the lanes of a mask, lowest first.
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}
