//! The rate of the tensor cores without global memory accesses, measured by repeating the same products of operands that are stored on the
//! multiprocessor.
//!
//! Under such a load, the GPU's power limit lowers the clock by an amount that depends on the bits of the operands. The operands are
//! therefore random normal numbers, like those of the products that are compared with the ceiling.

use warpwright::{
    prelude::*,
    ptx::{ProxySpace, Write},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// `(x, d, clock, blocks, steps)`: the operands; the sums, one tile per block; the duration of block 0's loop in cycles and in nanoseconds;
/// the number of blocks; and the number of iterations.
pub(super) type CeilingArgs<T, C> = (In<T>, Out<C>, Out<u64>, u32, u32);

/// The shape of a kernel's work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// The number of elements of `x`.
    pub(super) operands: usize,
    /// The number of elements of `d` per block.
    pub(super) sums: usize,
    /// The number of operations (additions and multiplications) per block and iteration.
    pub(super) flops: usize,
}

/// The number of stages of operands in shared memory: 4·(128 + 256) rows of 128 bytes, 192 KiB in total.
const STAGES: usize = 4;

/// The number of rows of A (64 per warpgroup) and of B in a stage.
const ROWS: [usize; 2] = [128, 256];

/// Returns a `wgmma` kernel with both operands in shared memory, in which two warpgroups per multiprocessor compute m64n256, and its work.
/// `K` is the number of subtiles per 128-byte row.
pub(super) fn wgmma<T, C, const K: usize>() -> Result<(Kernel<CeilingArgs<T, C>>, Work), BuildError>
where
    T: TensorElement + Product<T, C>,
    C: TensorElement + Convert<C>,
{
    let depth = K as u32 * T::SUBTILE_LENGTH;
    let [a_rows, b_rows] = ROWS;
    let rows = STAGES * (a_rows + b_rows);
    let work = Work {
        operands: rows * depth as usize,
        sums: a_rows * b_rows,
        flops: 2 * STAGES * a_rows * b_rows * depth as usize,
    };
    let signature = format!("ceiling_wgmma_{}(x, d, clock, blocks, steps)", T::NAME);
    let kernel =
        Kernel::<CeilingArgs<T, C>>::build(&signature, Target::SM_90A, |k, (x, d, clock, blocks, steps)| {
            let block = k.block([256]);
            k.grid([blocks]);
            let group = k.warp_group();
            let x = k.global(x, row_major(rows as u32, depth));
            let d = k.global(d, row_major(blocks * a_rows as u32, b_rows as u32));
            let stages = [0, 1, 2, 3].map(|stage| {
                let first = stage * (a_rows + b_rows) as u32;
                let a = k.shared_tile::<St<T, 8, K>>().fill(x.tile_at(first, 0)).wait();
                (a, k.shared_tile::<St<T, 16, K>>().fill(x.tile_at(first + a_rows as u32, 0)).wait())
            });
            k.fence_proxy_async(ProxySpace::Shared);
            block.sync();

            let start = Clock::read(k);
            let sum = group.accumulate(k.zeros::<Rt<C, 1, 16>>());
            let sum = k.fold(steps, sum, |_, sum| {
                stages.iter().fold(sum, |sum, (a, b)| sum.mma_abt(a.rows::<4>(group.rank()), b))
            });
            let sum = sum.wait();
            start.store_elapsed(k, k.slice(clock, 2));
            d.tile_of(block, k.ctaid_x(), 0).store(&sum);
        })?;
    Ok((kernel, work))
}

/// Returns an `mma.sync` kernel with all operands in registers, in which each of eight warps per multiprocessor computes 64×64, and its
/// work.
pub(super) fn mma_sync<T>() -> Result<(Kernel<CeilingArgs<T, f32>>, Work), BuildError>
where
    T: TensorElement + Product<T, f32> + Convert<T>,
{
    const WARPS: usize = 8;
    // Two pairs of factors alternate, the maximum that fits in the registers.
    let work = Work { operands: 4 * 64 * 16, sums: WARPS * 64 * 64, flops: WARPS * 2 * (2 * 64 * 64 * 16) };
    let signature = format!("ceiling_mma_sync_{}(x, d, clock, blocks, steps)", T::NAME);
    let kernel = Kernel::<CeilingArgs<T, f32>>::build(
        &signature,
        Target::SM_80,
        |k, (x, d, clock, blocks, steps)| {
            let block = k.block([32 * WARPS as u32]);
            k.grid([blocks]);
            let x = k.global(x, row_major(4 * 64, 16));
            let d = k.global(d, row_major(blocks * (WARPS * 64) as u32, 64));
            let pairs = [0, 1].map(|pair| {
                let a: Rt<T, 4, 1, Row> = x.tile(2 * pair, 0).load();
                let b: Rt<T, 4, 1, Row> = x.tile(2 * pair + 1, 0).load();
                (a, b)
            });
            let start = Clock::read(k);
            let sum = k.fold(steps, k.zeros::<Rt<f32, 4, 4>>(), |_, sum| {
                pairs.iter().fold(sum, |sum, (a, b)| sum.mma_abt(a, b))
            });
            start.store_elapsed(k, k.slice(clock, 2));
            d.tile_of(block, k.ctaid_x(), 0).store(&sum);
        },
    )?;
    Ok((kernel, work))
}

/// The clocks of a multiprocessor and of the GPU.
struct Clock<'k> {
    cycles: Val<'k, u64>,
    nanoseconds: Val<'k, u64>,
}

impl<'k> Clock<'k> {
    fn read(k: Builder<'k>) -> Self {
        Self { cycles: k.clock64(), nanoseconds: k.globaltimer() }
    }

    /// Stores the number of cycles and nanoseconds since the clocks were read. One thread of block 0 stores them.
    fn store_elapsed(self, k: Builder<'k>, to: Slice<'k, u64, Global, Write>) {
        let now = Self::read(k);
        k.if_(k.ctaid_x().eq(0) & k.this_block().thread().eq(0), || {
            to.at(0).store(now.cycles - self.cycles);
            to.at(1).store(now.nanoseconds - self.nanoseconds);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{CeilingArgs, Work, mma_sync, wgmma};
    use warpwright::{
        prelude::*,
        run::{Device, Simulator},
        tensor::TensorElement,
    };

    /// Returns a small integer, so that sums are exact.
    fn operand(row: usize, i: usize) -> i32 {
        (row * 7 + i * 3 + row / 8) as i32 % 5 - 2
    }

    /// Returns the product of two rows of operands.
    fn product(depth: usize, [a, b]: [usize; 2]) -> i32 {
        (0..depth).map(|i| operand(a, i) * operand(b, i)).sum()
    }

    /// Runs a kernel on two blocks for three steps, and compares each row and column of sums with the products of one step.
    fn check<T, C>(
        (kernel, work): (Kernel<CeilingArgs<T, C>>, Work),
        [depth, cols]: [usize; 2],
        from: &dyn Fn(i32) -> T,
        to: &dyn Fn(C) -> i32,
        of_step: &dyn Fn(usize, usize) -> i32,
    ) where
        T: TensorElement,
        C: TensorElement,
    {
        let device = Simulator::new();
        let x: Vec<T> = (0..work.operands).map(|at| from(operand(at / depth, at % depth))).collect();
        let x = device.upload(&x).expect("memory");
        let mut d = device.output::<C>(2 * work.sums).expect("memory");
        let mut clock = device.output::<u64>(2).expect("memory");
        device.launch(&kernel, (&x, &mut d, &mut clock, 2, 3)).expect("no findings");
        let found: Vec<i32> = device.download(&d).expect("copied").into_iter().map(to).collect();
        for (at, found) in found.into_iter().enumerate() {
            let (row, col) = (at % work.sums / cols, at % cols);
            assert_eq!(found, 3 * of_step(row, col), "{}: row {row}, column {col}", kernel.name());
        }
    }

    #[test]
    fn wgmma_adds_the_products_of_all_stages() {
        let of_step = |depth| {
            move |row: usize, col: usize| {
                (0..4).map(|stage| product(depth, [384 * stage + row, 384 * stage + 128 + col])).sum()
            }
        };
        let kernel = wgmma::<bf16, f32, 4>().expect("built");
        assert_eq!(kernel.1.flops, 2 * 4 * 128 * 256 * 64);
        check(kernel, [64, 256], &|x| bf16::from_f32(x as f32), &|x| x as i32, &of_step(64));
        let kernel = wgmma::<tf32, f32, 2>().expect("built");
        check(kernel, [32, 256], &|x| tf32::from_f32(x as f32), &|x| x as i32, &of_step(32));
        let kernel = wgmma::<i8, i32, 4>().expect("built");
        check(kernel, [128, 256], &|x| x as i8, &|x| x, &of_step(128));
    }

    #[test]
    fn mma_sync_adds_the_products_of_both_pairs() {
        let kernel = mma_sync::<f16>().expect("built");
        let of_step = |row: usize, col: usize| {
            let pair = |pair: usize| product(16, [128 * pair + row % 64, 128 * pair + 64 + col]);
            pair(0) + pair(1)
        };
        check(kernel, [16, 64], &|x| f16::from_f32(x as f32), &|x| x as i32, &of_step);
    }
}
