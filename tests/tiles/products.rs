//! Products of register tiles, for every type that has an `mma`, every layout of the operands, and several shapes.

use warpwright::{prelude::*, run::Device, tensor::TensorElement, tiles::Product};

use super::numbers::{Numeral, Random};
use crate::cases::{Counted, everywhere};

/// The number of blocks, each of which multiplies matrices of its own.
const BLOCKS: usize = 2;

/// A, Aᵀ, B, Bᵀ, C; C + A·B from A, B; A, Bᵀ; Aᵀ, B; Aᵀ, Bᵀ.
type Args<A, B, C> = (In<A>, In<A>, In<B>, In<B>, In<C>, Out<C>, Out<C>, Out<C>, Out<C>);

/// The four products of one shape: `M`×`K` subtiles of A by `K`×`N` of B.
fn kernel<A, B, C, const M: usize, const N: usize, const K: usize>(
    target: Target,
) -> Result<Kernel<Args<A, B, C>>, BuildError>
where
    A: Product<B, C>,
    B: TensorElement,
    C: TensorElement,
{
    Kernel::<Args<A, B, C>>::build("products", target, |k, (a, at, b, bt, c, ab, abt, atb, atbt)| {
        k.block([32]);
        k.grid([BLOCKS as u32]);
        let (m, n, depth) = (16 * M as u32, 16 * N as u32, A::SUBTILE_LENGTH * K as u32);
        let (block, blocks) = (k.ctaid_x(), BLOCKS as u32);
        let a: Rt<A, M, K> = k.global(a, row_major(blocks * m, depth)).tile(block, 0).load();
        let at: Rt<A, K, M, Col> = k.global(at, row_major(blocks * depth, m)).tile(block, 0).load();
        let b: Rt<B, K, N, Col> = k.global(b, row_major(blocks * depth, n)).tile(block, 0).load();
        let bt: Rt<B, N, K> = k.global(bt, row_major(blocks * n, depth)).tile(block, 0).load();
        let shape = row_major(blocks * m, n);
        let c = k.global(c, shape).tile(block, 0);
        let sum = || c.clone().load::<C, M, N, Row>();
        k.global(ab, shape).tile(block, 0).store(&sum().mma_ab(&a, &b));
        k.global(abt, shape).tile(block, 0).store(&sum().mma_abt(&a, &bt));
        k.global(atb, shape).tile(block, 0).store(&sum().mma_atb(&at, &b));
        k.global(atbt, shape).tile(block, 0).store(&sum().mma_atbt(&at, &bt));
    })
}

/// The matrices of all blocks, row by row.
struct Problem<A, B, C> {
    /// The extents of one block's matrices.
    sizes: [usize; 3],
    a: Vec<A>,
    b: Vec<B>,
    c: Vec<C>,
}

/// Transposes each block's matrix of `rows`×`cols`.
fn transposed<T: Copy>(matrices: &[T], rows: usize, cols: usize) -> Vec<T> {
    let transpose =
        |matrix: &[T]| -> Vec<T> { (0..rows * cols).map(|i| matrix[i % rows * cols + i / rows]).collect() };
    matrices.chunks(rows * cols).flat_map(transpose).collect()
}

impl<A: Numeral + Product<B, C>, B: Numeral, C: Numeral> Problem<A, B, C> {
    fn new(
        sizes: [usize; 3],
        mut a: impl FnMut() -> A,
        mut b: impl FnMut() -> B,
        mut c: impl FnMut() -> C,
    ) -> Self {
        let [m, n, depth] = sizes;
        Self {
            sizes,
            a: (0..BLOCKS * m * depth).map(|_| a()).collect(),
            b: (0..BLOCKS * depth * n).map(|_| b()).collect(),
            c: (0..BLOCKS * m * n).map(|_| c()).collect(),
        }
    }

    /// The four results; the bits, so that NaN are compared too.
    fn on(&self, kernel: &Kernel<Args<A, B, C>>, device: &Counted<'_>) -> [Vec<u64>; 4] {
        let [m, n, depth] = self.sizes;
        let (at, bt) = (transposed(&self.a, m, depth), transposed(&self.b, depth, n));
        let (a, at) = (device.upload(&self.a).unwrap(), device.upload(&at).unwrap());
        let (b, bt) = (device.upload(&self.b).unwrap(), device.upload(&bt).unwrap());
        let c = device.upload(&self.c).unwrap();
        let mut d = [(); 4].map(|()| device.output::<C>(self.c.len()).unwrap());
        let [ab, abt, atb, atbt] = &mut d;
        device.launch(kernel, (&a, &at, &b, &bt, &c, ab, abt, atb, atbt)).unwrap();
        d.map(|d| device.download(&d).unwrap().into_iter().map(C::to_mem_bits).collect())
    }

    /// C + A·B and the sum of the terms' magnitudes, for each element.
    fn expected(&self) -> Vec<(f64, f64)> {
        let [m, n, depth] = self.sizes;
        let element = |at: usize| {
            let (block, row, col) = (at / (m * n), at / n % m, at % n);
            let terms = (0..depth).map(|k| {
                let a = self.a[(block * m + row) * depth + k].number();
                a * self.b[(block * depth + k) * n + col].number()
            });
            let c = self.c[at].number();
            terms.fold((c, c.abs()), |(sum, size), term| (sum + term, size + term.abs()))
        };
        (0..self.c.len()).map(element).collect()
    }

    /// Runs the kernel on every device, and checks every element; NaN and ∞ must be where the exact product has them.
    fn check(&self, kernel: &Kernel<Args<A, B, C>>, precision: f64) {
        crate::assemble::kernel(kernel);
        let expected = self.expected();
        for (form, found) in
            ["AB", "ABᵀ", "AᵀB", "AᵀBᵀ"].iter().zip(everywhere(|device| self.on(kernel, device)))
        {
            for (at, (&(sum, size), bits)) in expected.iter().zip(found).enumerate() {
                let found = C::from_mem_bits(bits).number();
                let is_same = if sum.is_finite() {
                    (found - sum).abs() <= precision * size
                } else {
                    found.to_bits() == sum.to_bits() || (found.is_nan() && sum.is_nan())
                };
                assert!(
                    is_same,
                    "{form} of {} and {} {:?}, element {at}: {found}, expected {sum}",
                    A::NAME,
                    B::NAME,
                    self.sizes
                );
            }
        }
    }
}

/// One shape: whole numbers whose sums are exact, random numbers within `precision` of the sum of the magnitudes, and if the types
/// have them, NaN and ∞.
fn shape<A, B, C, const M: usize, const N: usize, const K: usize>(target: Target, precision: f64)
where
    A: Numeral + Product<B, C>,
    B: Numeral,
    C: Numeral,
{
    let kernel = kernel::<A, B, C, M, N, K>(target).unwrap();
    let sizes = [16 * M, 16 * N, A::SUBTILE_LENGTH as usize * K];
    let mut random = Random(0x5eed + (M * 100 + N * 10 + K) as u64);
    let seeds: [u64; 3] = [(); 3].map(|()| random.next());
    let of = |seed| Random(seed);
    let (mut a, mut b, mut c) = (of(seeds[0]), of(seeds[1]), of(seeds[2]));
    let mut whole =
        Problem::<A, B, C>::new(sizes, || A::small(&mut a), || B::small(&mut b), || C::small(&mut c));
    whole.check(&kernel, 0.0);
    // Products that change if any elements along k, m or n are exchanged.
    let any = Problem::<A, B, C>::new(sizes, || A::random(&mut a), || B::random(&mut b), || C::small(&mut c));
    any.check(&kernel, precision);
    if A::of(f64::NAN).number().is_nan() {
        whole.a[3 * sizes[2] + 5] = A::of(f64::NAN);
        let infinite = |x: f64| x.is_infinite();
        if infinite(B::of(f64::INFINITY).number()) {
            whole.b[(sizes[2] - 1) * sizes[1] + 9] = B::of(f64::INFINITY);
        }
        whole.c[sizes[1] * 8 + 1] = C::of(f64::NEG_INFINITY);
        whole.check(&kernel, 0.0);
    }
}

/// A type's products in several shapes.
macro_rules! products {
    ($($test:ident: $a:ty, $b:ty => $c:ty, $target:ident, $precision:expr;)*) => {
        products! { @shapes [(1, 1, 1) (2, 1, 3) (1, 4, 2) (4, 2, 1)] $($test: $a, $b => $c, $target, $precision;)* }
    };
    // f64 takes twice the registers.
    (half: $($test:ident: $a:ty, $b:ty => $c:ty, $target:ident, $precision:expr;)*) => {
        products! { @shapes [(1, 1, 1) (2, 1, 1) (1, 2, 1) (1, 1, 2)] $($test: $a, $b => $c, $target, $precision;)* }
    };
    (@shapes $shapes:tt $($test:ident: $a:ty, $b:ty => $c:ty, $target:ident, $precision:expr;)*) => {
        $(products! { @test $shapes $test: $a, $b => $c, $target, $precision })*
    };
    (@test [$(($m:literal, $n:literal, $k:literal))*] $test:ident: $a:ty, $b:ty => $c:ty, $target:ident, $precision:expr) => {
        #[test]
        fn $test() {
            $(shape::<$a, $b, $c, $m, $n, $k>(Target::$target, $precision);)*
        }
    };
}

/// The error of 16 to 128 products, each truncated at the precision of f32 and of the datapath for 8-bit floats.
const F32: f64 = 64.0 / (1 << 23) as f64;
const F16: f64 = 16.0 / (1 << 10) as f64;
const FP8: f64 = 16.0 / (1 << 13) as f64;
const F64: f64 = 64.0 / (1u64 << 52) as f64;

products! {
    bf16_in_f32:         bf16, bf16 => f32, SM_80, F32;
    f16_in_f32:          f16,  f16  => f32, SM_80, F32;
    f16_in_f32_on_sm_75: f16,  f16  => f32, SM_75, F32;
    f16_in_f16:          f16,  f16  => f16, SM_80, F16;
    f16_in_f16_on_sm_75: f16,  f16  => f16, SM_75, F16;
    tf32_in_f32:         tf32, tf32 => f32, SM_80, F32;
    e4m3_e4m3_in_f32:    e4m3, e4m3 => f32, SM_89, FP8;
    e4m3_e5m2_in_f32:    e4m3, e5m2 => f32, SM_89, FP8;
    e5m2_e4m3_in_f32:    e5m2, e4m3 => f32, SM_89, FP8;
    e5m2_e5m2_in_f32:    e5m2, e5m2 => f32, SM_89, FP8;
    e4m3_e4m3_in_f16:    e4m3, e4m3 => f16, SM_89, F16;
    e4m3_e5m2_in_f16:    e4m3, e5m2 => f16, SM_89, F16;
    e5m2_e4m3_in_f16:    e5m2, e4m3 => f16, SM_89, F16;
    e5m2_e5m2_in_f16:    e5m2, e5m2 => f16, SM_89, F16;
    s8_s8_in_s32:        i8,   i8   => i32, SM_80, 0.0;
    s8_u8_in_s32:        i8,   u8   => i32, SM_80, 0.0;
    u8_s8_in_s32:        u8,   i8   => i32, SM_80, 0.0;
    u8_u8_in_s32:        u8,   u8   => i32, SM_80, 0.0;
    s8_u8_on_sm_75:      i8,   u8   => i32, SM_75, 0.0;
}

products! {
    half:
    f64_in_f64:          f64,  f64  => f64, SM_80, F64;
    f64_in_f64_on_sm_90: f64,  f64  => f64, SM_90, F64;
}

/// The number of instructions of one product of 16×16 by 16 bytes along k.
#[test]
fn as_few_instructions_as_possible() {
    fn count<A: Product<B, C>, B: TensorElement, C: TensorElement>(target: Target) -> (usize, String) {
        let ptx = kernel::<A, B, C, 1, 1, 1>(target).unwrap().ptx();
        let mnemonics: Vec<&str> =
            ptx.lines().map(str::trim).filter(|line| line.starts_with("mma.")).collect();
        let first = mnemonics[0].split_whitespace().next().unwrap().to_owned();
        assert!(mnemonics.iter().all(|line| line.starts_with(&first)), "{ptx}");
        (mnemonics.len() / 4, first)
    }
    let expect = |(count, mnemonic): (usize, String), instructions: usize, shape: &str| {
        assert_eq!((count, mnemonic.split('.').nth(3)), (instructions, Some(shape)), "{mnemonic}");
    };
    expect(count::<bf16, bf16, f32>(Target::SM_80), 2, "m16n8k16");
    expect(count::<f16, f16, f16>(Target::SM_80), 2, "m16n8k16");
    expect(count::<f16, f16, f32>(Target::SM_75), 4, "m16n8k8");
    expect(count::<tf32, tf32, f32>(Target::SM_80), 4, "m16n8k8");
    expect(count::<f64, f64, f64>(Target::SM_80), 16, "m8n8k4");
    expect(count::<f64, f64, f64>(Target::SM_90), 2, "m16n8k16");
    expect(count::<e4m3, e5m2, f32>(Target::SM_89), 2, "m16n8k32");
    expect(count::<u8, i8, i32>(Target::SM_80), 2, "m16n8k32");
    expect(count::<u8, i8, i32>(Target::SM_75), 8, "m8n8k16");
}

/// A target without an instruction of the types is rejected, and the error names the first that has one.
#[test]
fn targets_without_an_instruction() {
    fn lowest<A: Product<B, C>, B: TensorElement, C: TensorElement>(target: Target) -> String {
        let error = kernel::<A, B, C, 1, 1, 1>(target).expect_err("no instruction");
        let warpwright::ptx::BuildErrorKind::Unsupported { lowest, .. } = error.kind() else {
            panic!("{error}")
        };
        lowest.to_string()
    }
    assert_eq!(lowest::<bf16, bf16, f32>(Target::SM_75), "sm_80");
    assert_eq!(lowest::<tf32, tf32, f32>(Target::SM_75), "sm_80");
    assert_eq!(lowest::<f64, f64, f64>(Target::SM_75), "sm_80");
    assert_eq!(lowest::<e4m3, e4m3, f32>(Target::SM_80), "sm_89");
    assert_eq!(lowest::<e5m2, e4m3, f16>(Target::SM_86), "sm_89");
}
