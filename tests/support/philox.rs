//! Philox4x32-10 on the host.

/// Philox4x32-10, from the paper's description: ten rounds of a network of two multiplications in 64 bits.
pub(crate) fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [first, second] =
            [(0, 0xd251_1f53u64), (2, 0xcd9e_8d57)].map(|(at, m)| u64::from(counter[at]) * m);
        let upper = |product: u64| (product >> 32) as u32;
        counter = [
            upper(second) ^ counter[1] ^ key[0],
            second as u32,
            upper(first) ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}
