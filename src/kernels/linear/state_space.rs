//! The Mamba-2 state space model.

use std::f32::consts::LOG2_E;

use super::{
    chunk::{Chunk, Past},
    decay::Decays,
    inputs::{CHUNK, SUBTILES, Sizes, strides_of},
};
use crate::{
    ptx::{BuildError, Builder, Global, In, InOut, Kernel, Out, Ptr, Read, ReadWrite, Target, Val, Write},
    tensor::TensorElement,
    tiles::{Convert, Naive, Product, Row, St, Sv, contiguous, vector},
};

/// The arguments of the kernel that [`StateSpace::kernel`] builds:
/// `(x, dt, a, b, c, d, y, state, [batches, groups, heads, length], strides)`. There are `heads` heads per group. X and Y consist of one
/// matrix of `length` rows for each batch and head; B and C consist of one matrix of `length` rows for each batch and group. dt contains
/// one element for each batch, head and token. `strides` contains the strides of X, B, C, Y and dt between batches, between heads or
/// groups, and between tokens, in elements. All strides except those of dt must be multiples of 8. `a` and `d` contain one element for each
/// of the `groups`·`heads` heads. `state` contains a contiguous `head_size`×`state_size` matrix for each batch and head.
pub type StateSpaceArgs<T> =
    (In<T>, In<f32>, In<f32>, In<T>, In<T>, In<f32>, Out<T>, InOut<f32>, [u32; 4], [[u32; 3]; 5]);

/// A kernel for the Mamba-2 state space model, whose state S decays by a separate factor for each token and head. For each token i, the
/// kernel computes Sᵢ = e^(dtᵢ·a) · Sᵢ₋₁ + dtᵢ · xᵢ·bᵢᵀ and yᵢ = Sᵢ·cᵢ + d · xᵢ.
///
/// The argument `state` contains S₀ and is overwritten with the state after the last token, so a sequence can be processed in several
/// launches. `a` must be finite and negative, and `dt` must be positive (it is usually the result of softplus).
///
/// Sums are computed in f32. The scores c·b and the values x are multiplied by dt and decay factors in f32. Scores, values and the state
/// are rounded to the element type before they are used as MMA operands.
#[doc(alias = "SSD")]
#[doc(alias = "Mamba-2")]
#[doc(alias = "mamba_chunk_scan")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StateSpace {
    /// The number of elements per row of X and Y: 64 or 128.
    pub head_size: u32,
    /// The number of elements per row of B and C: 64 or 128.
    pub state_size: u32,
}

impl StateSpace {
    /// Builds the kernel. Its name contains the type, the head size and the state size, as in `state_space_bf16_64_128`.
    ///
    /// # Errors
    /// Returns an error for unsupported sizes, for a target older than sm_80, or, if both sizes are 128, for a target with less than 107
    /// KiB of shared memory per block (such as sm_86, sm_89 and sm_120a).
    pub fn kernel<T>(&self, target: Target) -> Result<Kernel<StateSpaceArgs<T>>, BuildError>
    where
        T: TensorElement + Product<T, f32> + Convert<f32>,
        f32: Convert<T>,
    {
        let Self { head_size, state_size } = *self;
        let signature = format!(
            "state_space_{}_{head_size}_{state_size}(x, dt, a, b, c, d, y, state, batches, groups, heads, length, {})",
            T::NAME,
            strides_of(&["x", "b", "c", "y", "dt"])
        );
        Kernel::<StateSpaceArgs<T>>::build(
            &signature,
            target,
            |k, (x, dt, a, b, c, d, y, state, sizes, strides)| {
                k.describe(format!(
                    "Sᵢ = e^(dtᵢ·a)·Sᵢ₋₁ + dtᵢ·xᵢ·bᵢᵀ, yᵢ = Sᵢ·cᵢ + d·xᵢ: rows of {head_size} of X, of {state_size} of B and C ({})",
                    T::NAME
                ));
                let inputs =
                    Inputs { rows: [x, b, c], steps: dt, of_heads: [a, d], y, state, sizes, strides };
                match [head_size, state_size] {
                    [64, 64] => emit::<T, 4, 4, 4>(k, inputs),
                    [64, 128] => emit::<T, 8, 4, 4>(k, inputs),
                    [128, 64] => emit::<T, 4, 8, 2>(k, inputs),
                    [128, 128] => emit::<T, 8, 8, 2>(k, inputs),
                    _ => {
                        k.block([128]);
                        k.refuse(format!("expected rows of 64 or 128, found {head_size} and {state_size}"));
                    }
                }
            },
        )
    }
}

/// The parameters of a kernel.
struct Inputs<'k, T> {
    /// X, B and C.
    rows: [Ptr<'k, T, Global, Read>; 3],
    /// dt.
    steps: Ptr<'k, f32, Global, Read>,
    /// a and d.
    of_heads: [Ptr<'k, f32, Global, Read>; 2],
    y: Ptr<'k, T, Global, Write>,
    state: Ptr<'k, f32, Global, ReadWrite>,
    sizes: [Val<'k, u32>; 4],
    /// The strides of X, B, C, Y and dt.
    strides: [[Val<'k, u32>; 3]; 5],
}

/// Emits the kernel for rows of `D` subtiles of B and C and of `E` subtiles of X and Y. There are `E` warps, each of which computes one
/// column of subtiles of Y and `P` columns of subtiles of the products of rows of C and B.
fn emit<'k, T, const D: usize, const E: usize, const P: usize>(k: Builder<'k>, inputs: Inputs<'k, T>)
where
    T: TensorElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    let Inputs {
        rows: [x, b, c],
        steps,
        of_heads,
        y,
        state,
        sizes: [batches, groups, heads, length],
        strides,
    } = inputs;
    let (state_size, head_size) = (16 * D as u32, 16 * E as u32);
    k.block([32 * E as u32]);
    k.min_blocks(2);
    let all = Sizes { batches, heads: groups * heads, length };
    let of_groups = Sizes { heads: groups, ..all };
    let (batch, head) = all.block_of_each(k);
    let group = (batch, head / heads);
    let x = all.matrices(k, x, head_size, strides[0]).batch((batch, head));
    let b = of_groups.matrices(k, b, state_size, strides[1]).batch(group);
    let c = of_groups.matrices(k, c, state_size, strides[2]).batch(group);
    let y = all.matrices(k, y, head_size, strides[3]).batch((batch, head));
    let steps = k.global(steps, contiguous([batches, all.heads, length]).with_strides(strides[4]));
    let steps = steps.batch(batch).row(head);
    let [a, d] = of_heads.map(|numbers| k.global(numbers, vector(all.heads)).at(head).load());
    let states = contiguous([batches, all.heads, head_size.into(), state_size.into()]);
    let state = k.global(state, states).batch((batch, head)).tile(k.warp(), 0);

    let log = a * LOG2_E;
    type Stage<'k, T, const D: usize, const E: usize> =
        (St<'k, T, SUBTILES, D>, St<'k, T, SUBTILES, D>, St<'k, T, SUBTILES, E>, Sv<'k, f32, SUBTILES>);
    let stages = k.pipeline::<Stage<T, D, E>, 2>();
    let memory = (k.shared_tile::<St<T, SUBTILES, SUBTILES>>(), Decays::memory(k));
    let start: (Past<'k, D>, _) = (state.clone().load::<f32, 1, D, Row>(), memory);
    let (past, _) = stages.run_indexed(
        length.ceil_div(CHUNK),
        start,
        |i, stage| stage.fill((c.tile(i, 0), b.tile(i, 0), x.tile(i, 0), steps.tile(i))),
        |i, (past, (scores, memory)), (c, b, x, steps)| {
            let decays = Decays::of(k, memory, &(steps.load::<Naive>() * log));
            let chunk =
                Chunk::<T, D, E, P> { k, q: c, keys: b, values: x, decays: &decays, weights: Some(steps) };
            let scores = chunk.scores(scores);
            for (subtile, sums) in chunk.sums(&past, &scores) {
                let skipped = x.subtile(subtile, k.warp()).load_as::<f32, 1, 1, Row>() * d;
                y.tile(i * SUBTILES as u32 + subtile, k.warp()).store(&(sums + &skipped));
            }
            (chunk.after(past), (scores.release(), decays.release()))
        },
    );
    state.store(&past);
}
