//! Linear attention, with the Taylor expansion of the exponential or with a decaying state.

use super::{
    heads::{HeadOrder, refused_sizes},
    operands::{portable_target, refused},
};
use crate::{
    kernels::{DecayedAttention, DecayedAttentionArgs, LinearAttentionArgs, TaylorAttention},
    run::{BufferMut, BufferRef, CallError, Called, Queue},
    tensor::{Arithmetic, TensorElement},
    tiles::{Convert, Product},
};

/// The sizes and the layout of linear attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinearShape {
    /// The number of sequences.
    pub batches: u32,
    /// The number of heads per sequence.
    pub heads: u32,
    /// The number of positions per sequence.
    pub positions: u32,
    /// The head size of Q and K: the number of elements per row.
    pub key_size: u32,
    /// The head size of V and O: the number of elements per row.
    pub value_size: u32,
    /// The axis order of the contiguous arrays Q, K, V and O.
    pub order: HeadOrder,
}

impl LinearShape {
    /// Returns the arguments that all kernels share: the sizes, and the strides of Q, K, V and O.
    pub(super) fn arguments(&self, call: &'static str) -> Result<([u32; 3], [[u32; 3]; 4]), CallError> {
        let Self { batches, heads, positions, key_size, value_size, order } = *self;
        let of_keys = order.strides(call, [heads, positions, key_size])?;
        let of_values = order.strides(call, [heads, positions, value_size])?;
        Ok(([batches, heads, positions], [of_keys, of_keys, of_values, of_values]))
    }
}

/// Computes causal attention weighted by the second-order Taylor expansion of the exponential, as described in [`TaylorAttention`]. The
/// head size must be 16 for Q and K, and 64 for V and O. If `normalized` is true, each result is divided by the sum of its weights.
/// Requires a device of compute capability 8.0 or later.
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if a head size is not supported.
#[doc(alias = "Based")]
pub fn taylor_attention<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &LinearShape,
    normalized: bool,
    q: impl Into<BufferRef<'a, T>>,
    k: impl Into<BufferRef<'a, T>>,
    v: impl Into<BufferRef<'a, T>>,
    o: impl Into<BufferMut<'a, T>>,
) -> Result<Called, CallError>
where
    T: Arithmetic + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    const CALL: &str = "taylor_attention";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let LinearShape { key_size, value_size, .. } = *shape;
    if [key_size, value_size] != [16, 64] {
        return Err(refused_sizes(CALL, "head sizes 16 and 64", [key_size, value_size]));
    }
    let (sizes, strides) = shape.arguments(CALL)?;
    queue.launch::<_, _, LinearAttentionArgs<T>>(
        CALL,
        TaylorAttention { normalized },
        |attention| *attention,
        |attention| attention.kernel(target),
        (q.into(), k.into(), v.into(), o.into(), sizes, strides),
    )
}

/// Computes causal linear attention with a state that decays by a factor of λ = e^`decay` per position, as described in
/// [`DecayedAttention`]. Each head size must be 64 or 128. `decays` has one element per head, which must not be positive. `state`, a
/// contiguous `[batch][head][key_size][value_size]` array, contains the state before the first position (zeros at the start of a sequence)
/// and is overwritten with the state after the last position. Requires a device of compute capability 8.0 or later. If both head sizes are
/// 128, the device must have at least 106 KiB of shared memory per block, which excludes compute capabilities 8.6, 8.9 and 12.x.
///
/// ```
/// use warpwright::{kernels::call, prelude::*, run::{Device, KernelCache, Simulator}};
///
/// let device = Simulator::new();
/// let kernels = KernelCache::new(&device);
/// // One head of 2 positions: S = kᵀ·v, and then S/2 + kᵀ·v; each element of q·S is the sum of 64 elements.
/// let order = call::HeadOrder::Positions;
/// let shape = call::LinearShape { batches: 1, heads: 1, positions: 2, key_size: 64, value_size: 64, order };
/// let ones = device.upload(&[bf16::ONE; 2 * 64])?;
/// let (decays, mut state) = (device.upload(&[0.5f32.ln()])?, device.zeros::<f32>(64 * 64)?);
/// let mut o = device.output::<bf16>(2 * 64)?;
/// call::decayed_attention(&kernels, &shape, &ones, &ones, &ones, &decays, &mut o, &mut state)?;
/// let o = device.download(&o)?;
/// assert_eq!((o[0].to_f32(), o[64].to_f32()), (64.0, 96.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`CallError`], for example `Refused` if a head size is not supported.
#[doc(alias = "Lightning Attention")]
#[doc(alias = "RetNet")]
pub fn decayed_attention<'a, T>(
    on: impl Into<Queue<'a>>,
    shape: &LinearShape,
    q: impl Into<BufferRef<'a, T>>,
    k: impl Into<BufferRef<'a, T>>,
    v: impl Into<BufferRef<'a, T>>,
    decays: impl Into<BufferRef<'a, f32>>,
    o: impl Into<BufferMut<'a, T>>,
    state: impl Into<BufferMut<'a, f32>>,
) -> Result<Called, CallError>
where
    T: TensorElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    const CALL: &str = "decayed_attention";
    let queue = on.into();
    let target = portable_target(CALL, queue)?;
    let LinearShape { key_size, value_size, .. } = *shape;
    check_sizes(CALL, [key_size, value_size])?;
    let (sizes, strides) = shape.arguments(CALL)?;
    queue.launch::<_, _, DecayedAttentionArgs<T>>(
        CALL,
        DecayedAttention { key_size, value_size },
        |attention| *attention,
        |attention| attention.kernel(target),
        (q.into(), k.into(), v.into(), decays.into(), o.into(), state.into(), sizes, strides),
    )
}

/// Checks that both row sizes are 64 or 128.
pub(super) fn check_sizes(call: &'static str, sizes: [u32; 2]) -> Result<(), CallError> {
    match sizes {
        [64 | 128, 64 | 128] => Ok(()),
        [a, b] => Err(refused(call, "head sizes of 64 or 128", format!("{a} and {b}"))),
    }
}
