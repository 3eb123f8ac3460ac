//! The kernel that transposes 8-bit values.

use super::{ScaledAttention, key_at};
use crate::{
    kernels::attention::inputs::Sizes,
    ptx::{BuildError, Builder, CheckedPtr, Global, In, Kernel, Out, Ptr, Read, Target, Val, Write, e4m3},
    tiles::contiguous,
};

/// The arguments of the kernel that [`ScaledAttention::values_kernel`] builds: `(v, transposed, [batches, kv_heads, keys], strides)`.
/// `strides` contains the strides of V between batches, between heads and between rows, in elements; they must be multiples of 16. For each
/// batch and KV head, `transposed` contains one row per column of V, with one element per key. Each row is padded with zeros to a multiple
/// of 16 keys, and the keys are permuted within each group of 16. The rows are contiguous.
pub type AttentionValuesArgs = (In<e4m3>, Out<e4m3>, [u32; 3], [u32; 3]);

/// Rows are padded to a multiple of `PADDING` keys (16 bytes), as tensor copies require.
pub(super) const PADDING: u32 = 16;

/// The number of keys that a block transposes.
const KEYS: u32 = 128;
const THREADS: u32 = 256;

/// Returns the number of keys in a padded row.
#[track_caller]
pub(in crate::kernels::attention) fn padded(keys: Val<'_, u32>) -> Val<'_, u32> {
    keys.ceil_div(PADDING) * PADDING
}

/// Returns the strides of transposed values between batches, heads and rows.
#[track_caller]
pub(super) fn strides<'k>(sizes: Sizes<'k>, head_size: u32) -> [Val<'k, u32>; 3] {
    let row = padded(sizes.keys);
    [sizes.kv_heads * head_size * row, row * head_size, row]
}

impl ScaledAttention {
    /// Builds the kernel that transposes V. Its name contains the head size, as in `attention_values_e4m3_128`.
    ///
    /// # Errors
    /// Returns an error for an unsupported head size.
    pub fn values_kernel(&self) -> Result<Kernel<AttentionValuesArgs>, BuildError> {
        let head_size = self.head_size;
        let signature = format!(
            "attention_values_e4m3_{head_size}(v, transposed, batches, kv_heads, keys, v_batch, v_head, v_row)"
        );
        Kernel::<AttentionValuesArgs>::build(
            &signature,
            Target::SM_90A,
            |k, (v, transposed, sizes, strides)| {
                k.describe("for attention: the transpose of V, whose keys are in the order of wgmma");
                if ![64, 128].contains(&head_size) {
                    k.block([THREADS]);
                    return k.refuse(format!("expected a head size of 64 or 128, found {head_size}"));
                }
                transpose(k, v, transposed, head_size, sizes, strides);
            },
        )
    }
}

/// Emits the kernel. A block transposes the values of 128 keys. It reads words of four columns and writes words of four keys.
fn transpose<'k>(
    k: Builder<'k>,
    v: Ptr<'k, e4m3, Global, Read>,
    transposed: Ptr<'k, e4m3, Global, Write>,
    head_size: u32,
    [batches, kv_heads, keys]: [Val<'k, u32>; 3],
    strides: [Val<'k, u32>; 3],
) {
    k.block([THREADS]);
    k.grid([keys.ceil_div(KEYS) * kv_heads * batches]);
    let (tile, row) = (k.ctaid_x() % keys.ceil_div(KEYS), k.ctaid_x() / keys.ceil_div(KEYS));
    let (words, at) = (head_size / 4, (row / kv_heads, row % kv_heads));
    let [batch, head, row] = strides.map(|stride| stride.multiple_of(PADDING));
    let layout = contiguous([batches, kv_heads, keys, head_size.into()]);
    let v = k.global(v, layout.with_strides([batch, head, row, 1.into()])).batch(at);
    let layout = contiguous([batches, kv_heads, head_size.into(), padded(keys)]);
    let transposed = k.global(transposed, layout).batch(at);

    // The pitch is odd, so that the keys of a quad of lanes are in different banks.
    let pitch = words + 1;
    let staged = k.shared::<u32>(KEYS * pitch);
    let (thread, first) = (k.tid_x(), tile * KEYS);
    for i in 0..KEYS * words / THREADS {
        let at = thread + i * THREADS;
        let (key, word) = (at / words, at % words);
        staged.at(key * pitch + word).store(four(v.at(first + key, word * 4)).load());
    }
    k.this_block().sync();
    // Each lane processes four keys, which are adjacent in the results.
    let (lane, warp) = (k.lane().rank(), k.warp().rank());
    let keys = [0, 1, 2, 3].map(|at| lane / 4 * 16 + lane % 4 * 2 + key_at(at));
    for i in 0..words / 8 {
        let word = warp + i * 8;
        let [a, b, c, d] = keys.map(|key| staged.at(key * pitch + word).load());
        let [ab, cd] = [[a, b], [c, d]].map(|[a, b]| [a.permute(b, 0x5140), a.permute(b, 0x7362)]);
        for (half, (ab, cd)) in ab.into_iter().zip(cd).enumerate() {
            for (at, selector) in [0x5410, 0x7632].into_iter().enumerate() {
                let col = word * 4 + (2 * half + at) as u32;
                four(transposed.at(col, first + lane * 4)).store(ab.permute(cd, selector));
            }
        }
    }
}

/// Returns a pointer to a word of four elements of a row. Either all or none of the elements are in bounds.
fn four<A>(first: CheckedPtr<'_, e4m3, Global, A>) -> CheckedPtr<'_, u32, Global, A> {
    first.pointer().cast::<u32>().checked(first.inside())
}
