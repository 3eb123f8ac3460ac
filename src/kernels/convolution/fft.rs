//! Convolution with Fourier transforms that are computed as matrix products (Monarch).

mod residues;

use std::f32::consts::TAU;

use crate::{
    kernels::loads::load_no_further,
    ptx::{BuildError, Builder, Global, In, IntoDim, Kernel, Out, Ptr, Read, Rounding, Target, Val, Write},
    tensor::{FloatElement, TensorElement},
    tiles::{Cgl, Col, Complex, Convert, Crt, Cst, Filled, Product, Row, Rt, St, contiguous},
};

/// The arguments of the kernel that [`FftConvolution::kernel`] builds: `(u, re, im, y, [batches, channels, length], [of_u, of_y])`. `u` and
/// `y` contain a sequence of `length` elements for each batch and channel. `re` and `im` contain the real and the imaginary parts of the
/// Fourier transform of each channel's filter, with [`size`](FftConvolution::size) elements per channel. `of_u` and `of_y` contain the
/// strides of `u` and `y` between batches and between channels, in elements; they must be multiples of 8. `length` must be at most `size`
/// and a multiple of 64, or of 32 if `size` is 1024.
pub type FftConvolutionArgs<T> = (In<T>, In<f32>, In<f32>, Out<T>, [u32; 3], [[u32; 2]; 2]);

/// A kernel for circular convolutions of long sequences with a real filter for each channel: y = F⁻¹(F(u) ∘ f), where F is the Fourier
/// transform, f is the transform of the filter, and ∘ is the elementwise product. Sequences are padded with zeros to a length of `size`. If
/// the lengths of the sequence and of the filter are at most `size` / 2, the convolution is causal.
///
/// A sequence of 1024 or 4096 elements is processed as a matrix with √`size` rows. Its transform is computed in three steps: a transform of
/// the columns, an elementwise multiplication by roots of unity, and a transform of the rows (the Monarch decomposition). A sequence of
/// 8192 elements is first reduced to two complex sequences of 4096 elements, whose transforms contain the even and the odd frequencies. A
/// sequence of 16384 elements is reduced to three complex sequences, whose transforms contain the frequencies that are congruent to 0, 1
/// and 2 modulo 4. The elements at the remaining frequencies are the conjugates of those at frequencies congruent to 1. Roots of unity, the
/// filter, and intermediate results between transforms are rounded to the element type. Sums are computed in f32.
#[doc(alias = "Monarch")]
#[doc(alias = "FlashFFTConv")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FftConvolution {
    /// The length of the transforms: 1024, 4096, 8192 or 16384.
    pub size: u32,
}

/// The maximum number of sequences, all of the same channel, that a block convolves.
const SEQUENCES: u32 = 16;

impl FftConvolution {
    /// Returns the transform lengths that a target supports. The lengths depend on the shared memory per block: 1024 and 4096 require 88
    /// KiB, 8192 requires 144 KiB, and 16384 requires 224 KiB.
    pub const fn sizes(target: Target) -> &'static [u32] {
        match target.max_shared_bytes() / 1024 {
            224.. => &[1024, 4096, 8192, 16384],
            144.. => &[1024, 4096, 8192],
            88.. => &[1024, 4096],
            _ => &[],
        }
    }

    /// Builds the kernel. Its name contains the element type and the transform length, as in `fft_convolution_bf16_4096`.
    ///
    /// # Errors
    /// Returns an error if `size` is not one of the [`sizes`](Self::sizes) that the target supports.
    pub fn kernel<T>(&self, target: Target) -> Result<Kernel<FftConvolutionArgs<T>>, BuildError>
    where
        T: TensorElement + FloatElement + Product<T, f32> + Convert<f32>,
        f32: Convert<T>,
    {
        let parameters = "u, re, im, y, batches, channels, length, u_batch, u_channel, y_batch, y_channel";
        let signature = format!("fft_convolution_{}_{}({parameters})", T::NAME, self.size);
        Kernel::<FftConvolutionArgs<T>>::build(&signature, target, |k, (u, re, im, y, sizes, strides)| {
            k.describe(format!("y = F⁻¹(F(u) ∘ f): transforms of {} numbers ({})", self.size, T::NAME));
            let inputs = Inputs { u, filter: [re, im], y, sizes, strides };
            match self.size {
                1024 => emit::<T, 2>(k, inputs),
                4096 => emit::<T, 4>(k, inputs),
                8192 => residues::emit::<T, 8, 8>(k, inputs),
                16384 => residues::emit::<T, 16, 12>(k, inputs),
                _ => {
                    k.block([128]);
                    k.refuse(format!(
                        "expected transforms of 1024, 4096, 8192 or 16384 numbers, found {}",
                        self.size
                    ));
                }
            }
        })
    }
}

/// The parameters of a kernel.
struct Inputs<'k, T> {
    u: Ptr<'k, T, Global, Read>,
    filter: [Ptr<'k, f32, Global, Read>; 2],
    y: Ptr<'k, T, Global, Write>,
    sizes: [Val<'k, u32>; 3],
    strides: [[Val<'k, u32>; 2]; 2],
}

/// Emits the kernel for sequences that are matrices of `W`×`W` subtiles. Each warp computes 16 rows of the result of each step.
///
/// F(u) is (F·U ∘ R)·F, where F is the symmetric matrix that transforms a row and R contains roots of unity; the element in row i and
/// column j has index i + j·n. Because F⁻¹(z) is the conjugate of F(z̄) / n², the inverse consists of the same steps in reverse order.
fn emit<'k, T, const W: usize>(k: Builder<'k>, inputs: Inputs<'k, T>)
where
    T: TensorElement + FloatElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    let Inputs { u, filter, y, sizes: [batches, channels, length], strides } = inputs;
    let n = 16 * W as u32;
    k.block([32 * W as u32]);
    k.grid([channels.into_dim(), batches.into_dim().ceil_div(SEQUENCES)]);
    let (channel, first, warp) = (k.ctaid_x(), k.ctaid_y() * SEQUENCES, k.warp().rank());
    let rows = length.at_most(n * n).multiple_of(n).ceil_div(n);
    let extents = [batches, channels, rows, n.into()];
    let [of_u, of_y] = strides.map(|strides| {
        let [batch, channel] = strides.map(|stride| stride.multiple_of(8));
        contiguous(extents).with_strides([batch, channel, n.into(), 1.into()])
    });
    let (u, y) = (k.global(u, of_u), k.global(y, of_y));
    let [re, im] = filter.map(|part| k.global(part, contiguous([channels, n.into(), n.into()])));
    let filter = Cgl { re: re.batch(channel).transposed(), im: im.batch(channel).transposed() };
    let filter = filter.tile(warp, 0).load::<f32, 1, W, Row>();
    let transform = roots::<W>(k, |row| warp * 16 + row, n).convert::<T>();
    // The matrix is in shared memory, because there are not enough registers.
    let shared = |rows: Crt<'k, f32, 1, W>| {
        let all = k.shared_tile::<Cst<T, W, W>>();
        all.store_with(|all| all.subtile(warp, 0).store(&rows)).wait()
    };
    let filter = shared(filter);
    let twiddles = shared(roots(k, |row| warp * 16 + row, n * n));
    let transforms = shared(roots(k, |row| warp * 16 + row, n));
    let own_rows =
        |of: &Complex<Filled<St<'k, T, W, W>>>| of.subtile(warp, 0).load::<1, W, Row>().convert::<f32>();
    let transform_rows = |rows: Crt<'k, f32, 1, W>| {
        let mut sums = Crt::zeros(k);
        for at in 0..W {
            load_no_further(k);
            let of_row = rows.subtile::<1, 1>(0, at).convert::<T>();
            sums = sums.mma_ab(&of_row, &transforms.subtile(at as u32, 0).load::<1, W, Col>());
        }
        sums
    };

    let stages = k.pipeline::<(St<T, W, W>,), 3>();
    stages.run_indexed(
        (batches - first).min(SEQUENCES),
        k.shared_tile::<Cst<T, W, W>>(),
        |i, stage| stage.fill((u.batch((first + i, channel)).tile(0, 0),)),
        |i, columns, (u,)| {
            let mut sums: Crt<f32, 1, W> = Crt::zeros(k);
            for at in 0..W {
                load_no_further(k);
                let (factor, u) = (transform.subtile::<1, 1>(0, at), u.subtile(at as u32, 0).load());
                sums = Crt { re: sums.re.mma_ab(&factor.re, &u), im: sums.im.mma_ab(&factor.im, &u) };
            }
            let spectrum = transform_rows(&sums * &own_rows(&twiddles));
            // The factor 1 / n² is applied as 1 / n here and 1 / n below, so that rounded values remain close in magnitude to the elements
            // of the filter and of u.
            let product = (&spectrum * &own_rows(&filter)).conj().scale(1.0 / n as f32);
            let rows = &transform_rows(product) * &own_rows(&twiddles);
            let columns = columns.store_with(|all| all.subtile(warp, 0).store(&rows)).wait();
            y.batch((first + i, channel))
                .tile(warp, 0)
                .store(&(real_part(k, &transform, &columns) * (1.0 / n as f32)));
            columns.release()
        },
    );
}

/// Returns the real part of the product of `rows` and `columns`.
#[track_caller]
fn real_part<'k, T, const W: usize>(
    k: Builder<'k>,
    rows: &Crt<'k, T, 1, W>,
    columns: &Complex<Filled<St<'k, T, W, W>>>,
) -> Rt<'k, f32, 1, W>
where
    T: TensorElement + FloatElement + Product<T, f32>,
{
    let (mut sums, mut squared) = (k.zeros::<Rt<f32, 1, W>>(), k.zeros::<Rt<f32, 1, W>>());
    for at in 0..W {
        load_no_further(k);
        let columns: Crt<T, 1, W, Col> = columns.subtile(at as u32, 0).load();
        let rows = rows.subtile::<1, 1>(0, at);
        sums = sums.mma_ab(&rows.re, &columns.re);
        squared = squared.mma_ab(&rows.im, &columns.im);
    }
    sums - &squared
}

/// Returns e^(−2πi · `number`(row) · col / `period`) for 16 rows; `period` is a power of two up to 2¹⁶.
#[track_caller]
fn roots<'k, const W: usize>(
    k: Builder<'k>,
    number: impl Fn(Val<'k, u32>) -> Val<'k, u32>,
    period: u32,
) -> Crt<'k, f32, 1, W> {
    let angles = k.zeros::<Rt<f32, 1, W>>().map_indexed(|_, (row, col), _| angle(number(row) * col, period));
    Crt { re: k.zeros(), im: angles }.exp()
}

/// Returns −2π · `number` / `period`, reduced by full turns to an angle from −π to π, for which the approximate sine is accurate. `period`
/// is a power of two.
#[track_caller]
fn angle(number: Val<'_, u32>, period: u32) -> Val<'_, f32> {
    let turns = (number + period / 2) & (period - 1);
    let turns = turns.cast::<i32>() - (period / 2) as i32;
    turns.convert::<f32>(Rounding::Rn) * (-TAU / period as f32)
}
