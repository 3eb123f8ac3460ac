//! Transforms of sequences of R · 4096 elements, computed as one transform of 4096 elements for each residue of the frequencies modulo R.

use super::{Inputs, SEQUENCES, angle, roots};
use crate::{
    kernels::loads::load_no_further,
    ptx::{Builder, IntoDim, Val},
    tensor::{FloatElement, TensorElement},
    tiles::{Cgl, Col, ColVec, Complex, Convert, Crt, Cst, Filled, Product, Row, Rt, St, contiguous},
};

/// The number of rows and columns of a transform.
const SIDE: u32 = 64;
/// The number of subtiles along each axis of a transform.
const SUBTILES: usize = 4;

/// Emits the kernel for sequences of R · 4096 elements, which are matrices with `ROWS` = 4R rows of subtiles and 64 columns of elements.
///
/// With ω(n) = e^(−2πi / n), the elements at frequencies with residue p modulo R are the transform of the 4096 elements
/// Σᵣ ω(R)^(p·r) · u[s + 4096·r] · ω(4096·R)^(p·s). Because u is real, the elements at frequencies with residue R − p are the conjugates of
/// those at frequencies with residue p. Only residues up to R / 2 are therefore computed, each by four of the `WARPS` warps. With
/// s = 64·i + j, the factor ω(4096·R)^(p·s) is the product of a factor for row i and a factor for column j. The latter is included in the
/// roots of unity by which the transform of the columns is multiplied.
pub(super) fn emit<'k, T, const ROWS: usize, const WARPS: usize>(k: Builder<'k>, inputs: Inputs<'k, T>)
where
    T: TensorElement + FloatElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    const {
        let ratio = ROWS / SUBTILES;
        assert!(ROWS == ratio * SUBTILES && ratio.is_power_of_two(), "a power of two times 4096 numbers");
        assert!(WARPS == (ratio / 2 + 1) * SUBTILES, "four warps for each residue up to half of the ratio");
    }
    let Inputs { u, filter, y, sizes: [batches, channels, length], strides } = inputs;
    let ratio = (ROWS / SUBTILES) as u32;
    let (size, residues) = (ratio * SIDE * SIDE, ratio / 2 + 1);
    k.block([32 * WARPS as u32]);
    k.grid([channels.into_dim(), batches.into_dim().ceil_div(SEQUENCES)]);
    let (channel, first, warp) = (k.ctaid_x(), k.ctaid_y() * SEQUENCES, k.warp().rank());
    let (residue, band) = (warp / SUBTILES as u32, warp % SUBTILES as u32);
    let rows = length.at_most(size).multiple_of(SIDE).ceil_div(SIDE);
    let extents = [batches, channels, rows, SIDE.into()];
    let [of_u, of_y] = strides.map(|strides| {
        let [batch, channel] = strides.map(|stride| stride.multiple_of(8));
        contiguous(extents).with_strides([batch, channel, SIDE.into(), 1.into()])
    });
    let (u, y) = (k.global(u, of_u), k.global(y, of_y));
    // Frequency p + R·(row + 64·col).
    let [re, im] = filter.map(|part| {
        let part = k.global(part, contiguous([channels, SIDE.into(), SIDE.into(), ratio.into()]));
        part.permuted([0, 3, 2, 1]).batch((channel, residue))
    });

    let shared = |rows: Crt<'k, f32, 1, SUBTILES>| {
        let all = k.shared_tile::<Cst<T, WARPS, SUBTILES>>();
        all.store_with(|all| all.subtile(warp, 0).store(&rows)).wait()
    };
    let filter = shared(Cgl { re, im }.tile(band, 0).load::<f32, 1, SUBTILES, Row>());
    let twiddles = shared(roots(k, |row| (band * 16 + row) * ratio + residue, size));
    let transforms = k.shared_tile::<Cst<T, SUBTILES, SUBTILES>>();
    let transforms = transforms
        .store_with(|all| {
            k.if_(residue.eq(0), || {
                all.subtile(band, 0).store(&roots::<SUBTILES>(k, |row| band * 16 + row, SIDE));
            });
        })
        .wait();
    let of_rows =
        k.zeros::<ColVec<f32, 1>>().map_indexed(|_, row, _| angle((band * 16 + row) * residue, ratio * SIDE));
    let of_rows = Complex { re: k.zeros(), im: of_rows }.exp();
    let own_rows = |of: &Complex<Filled<St<'k, T, WARPS, SUBTILES>>>| {
        of.subtile(warp, 0).load::<1, SUBTILES, Row>().convert::<f32>()
    };
    let transform_columns = |columns: &Complex<Filled<St<'k, T, WARPS, SUBTILES>>>| {
        multiplied(
            k,
            |at| transforms.subtile(band, at).load(),
            |at, col| columns.subtile(residue * SUBTILES as u32 + at, col).load(),
        )
    };
    let transform_rows = |rows: Crt<'k, f32, 1, SUBTILES>| {
        let rows = rows.convert::<T>();
        multiplied(k, |at| rows.subtile(0, at as usize), |at, col| transforms.subtile(at, col).load())
    };
    // ω(R)^number
    let root = |number: Val<'k, u32>| {
        let angle = angle(number, ratio);
        (k.cos(angle), k.sin(angle))
    };

    let stages = k.pipeline::<(St<T, ROWS, SUBTILES>,), 2>();
    stages.run_indexed(
        (batches - first).min(SEQUENCES),
        k.shared_tile::<Cst<T, WARPS, SUBTILES>>(),
        |i, stage| stage.fill((u.batch((first + i, channel)).tile(0, 0),)),
        |i, exchange, (u,)| {
            let u = |part: u32| -> Rt<'k, f32, 1, SUBTILES> {
                u.subtile(band + part * SUBTILES as u32, 0).load_as()
            };
            let (sign, _) = root(residue * (ratio / 2));
            let mut parts = Crt { re: u(0).add_product(u(ratio / 2), sign), im: k.zeros() };
            for part in 1..ratio / 2 {
                // The roots for parts r and R − r are conjugates.
                let ((cos, sin), u, mirrored) = (root(residue * part), u(part), u(ratio - part));
                parts.re = parts.re.add_product(&(&u + &mirrored), cos);
                parts.im = parts.im.add_product(&(u - &mirrored), sin);
            }
            let parts = parts * &of_rows;
            let columns = exchange.store_with(|all| all.subtile(warp, 0).store(&parts)).wait();

            let spectrum = transform_rows(transform_columns(&columns) * &own_rows(&twiddles));
            // The factor 1 / size is applied in several steps, so that rounded values remain close in magnitude to the elements of the
            // filter and of u.
            let product = (spectrum * &own_rows(&filter)).conj().scale(1.0 / SIDE as f32);
            let rows = transform_rows(product) * &own_rows(&twiddles);
            let columns = columns.release().store_with(|all| all.subtile(warp, 0).store(&rows)).wait();

            let parts = (transform_columns(&columns) * &of_rows).scale(SIDE as f32 / size as f32);
            let parts = columns.release().store_with(|all| all.subtile(warp, 0).store(&parts)).wait();
            for start in (0..ratio).step_by(residues as usize) {
                let part = residue + start;
                k.if_(part.lt(ratio), || {
                    let mut sums = k.zeros::<Rt<f32, 1, SUBTILES>>();
                    for residue in 0..residues {
                        let from = parts.subtile(band + residue * SUBTILES as u32, 0);
                        let (cos, sin) = root(part * residue);
                        if residue == 0 || 2 * residue == ratio {
                            sums = sums.add_product(from.re.load_as::<f32, 1, SUBTILES, Row>(), cos);
                        } else {
                            let from: Crt<f32, 1, SUBTILES> = from.load_as();
                            sums = sums.add_product(&from.re, cos * 2.0).add_product(&from.im, sin * -2.0);
                        }
                    }
                    y.batch((first + i, channel)).tile(band + part * SUBTILES as u32, 0).store(&sums);
                });
            }
            parts.release()
        },
    );
}

/// Returns the product of 16 rows and a matrix. `rows` returns the subtile of the rows with the given index. `columns` returns two adjacent
/// subtiles of the matrix, given the indices of their row and their first column.
#[track_caller]
fn multiplied<'k, T>(
    k: Builder<'k>,
    rows: impl Fn(u32) -> Crt<'k, T, 1, 1>,
    columns: impl Fn(u32, u32) -> Crt<'k, T, 1, 2, Col>,
) -> Crt<'k, f32, 1, SUBTILES>
where
    T: TensorElement + FloatElement + Product<T, f32>,
{
    let mut halves = [Crt::<f32, 1, 2>::zeros(k), Crt::zeros(k)];
    for at in 0..SUBTILES as u32 {
        let row = rows(at);
        let mut col = 0;
        halves = halves.map(|half| {
            // There are not enough registers for the columns of both halves.
            load_no_further(k);
            let sum = half.mma_ab(&row, &columns(at, col));
            col += 2;
            sum
        });
    }
    Crt::hconcat(halves)
}
