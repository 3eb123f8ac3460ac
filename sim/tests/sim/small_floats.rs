//! `mma` with `.kind`: floating-point numbers of 4, 6 and 8 bits, with and without block scales.

use pretty_assertions::assert_eq;
use warpwright_sim::arith::cvt::{CvtMode, cvt};
use warpwright_sim::arith::{Float, Ty};
use warpwright_sim::{Arch, Arg, Memory, Sim};

use super::support::{one_block, parse};

/// A product of raw elements: A in row order, B in column order, with a scale for each of `count` blocks of a row and of a column.
struct Product {
    form: &'static str,
    k: usize,
    /// The number of bits of an element in its register, and its position there.
    bits: u32,
    types: (Float, Float),
    a: Vec<u32>,
    b: Vec<u32>,
    c: Vec<f32>,
    scale: Option<Float>,
    count: usize,
    scales: (Vec<u8>, Vec<u8>),
}

/// The byte and the thread that provide the scales of A and of B.
type Selectors = [[usize; 2]; 2];

impl Product {
    /// Returns a product of random factors.
    fn new(form: &'static str, types: (Float, Float), scale: Option<Float>, count: usize) -> Self {
        let k = if form.contains("k64") { 64 } else { 32 };
        let bits = if k == 64 { 4 } else { 8 };
        let mut state = 7u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 12
        };
        let mut draw = |ty: Float, n: usize| -> Vec<u32> {
            // Numbers of 8 bits near 1, so that sums are exact.
            let near_one = |bits: u32| match ty {
                Float::E4m3 => (0x30 + bits % 24) | (bits & 0x80),
                Float::E5m2 => (0x38 + bits % 12) | (bits & 0x80),
                _ => bits & ty.mask() as u32,
            };
            (0..n).map(|_| near_one(next())).collect()
        };
        let (a, b) = (draw(types.0, 16 * k), draw(types.1, 8 * k));
        let c = (0..128).map(|i| i as f32 - 50.0).collect();
        // Powers of two, and 1.5 for ue4m3, of which the sign is ignored.
        let byte = |i: usize| match scale {
            Some(Float::Ue8m0) => 125 + (i % 5) as u8,
            _ => [0x38, 0x3c, 0xb0, 0x40][i % 4],
        };
        let scales = ((0..16 * count).map(byte).collect(), (0..8 * count).map(|i| byte(3 * i + 1)).collect());
        Self { form, k, bits, types, a, b, c, scale, count, scales }
    }

    fn value(ty: Float, bits: u32) -> f64 {
        if ty == Float::Ue8m0 {
            return 2f64.powi(bits as i32 - 127);
        }
        let bits = cvt(Ty::Float(Float::F32), Ty::Float(ty), CvtMode::default(), bits.into());
        f32::from_bits(bits as u32).into()
    }

    /// Returns the exact result, which must be an f32.
    fn exact(&self) -> Vec<f32> {
        let scale = |scales: &[u8], row: usize, k: usize| match self.scale {
            None => 1.0,
            Some(ty) => {
                let bits = scales[row * self.count + k * self.count / self.k];
                Self::value(ty, u32::from(if ty == Float::Ue8m0 { bits } else { bits & 0x7f }))
            }
        };
        let element = |row: usize, column: usize| {
            let terms = (0..self.k).map(|k| {
                let a = Self::value(self.types.0, self.a[row * self.k + k]) * scale(&self.scales.0, row, k);
                a * Self::value(self.types.1, self.b[column * self.k + k]) * scale(&self.scales.1, column, k)
            });
            let sum = f64::from(self.c[row * 8 + column]) + terms.sum::<f64>();
            assert_eq!(f64::from(sum as f32), sum);
            sum as f32
        };
        (0..128).map(|i| element(i / 8, i % 8)).collect()
    }

    /// Returns the result of the instruction. Bytes and lanes that must not be read contain NaN.
    fn run(&self, [[byte_a, thread_a], [byte_b, thread_b]]: Selectors) -> Vec<f32> {
        let per = (32 / self.bits) as usize;
        let shift = |ty: Float| if self.bits == 8 && ty == Float::E2m1 { 2 } else { 0 };
        let word = |ty: Float, elements: &[u32]| {
            let parts = elements.iter().enumerate();
            parts.fold(0, |word, (i, &bits)| word | bits << shift(ty) << (self.bits * i as u32))
        };
        let mut input = vec![];
        for lane in 0..32 {
            let (group, t) = (lane / 4, lane % 4);
            for register in 0..4 {
                let at = (group + 8 * (register % 2)) * self.k + per * t + 4 * per * (register / 2);
                input.push(word(self.types.0, &self.a[at..at + per]));
            }
            for register in 0..2 {
                let at = group * self.k + per * t + 4 * per * register;
                input.push(word(self.types.1, &self.b[at..at + per]));
            }
            let of_c = |i: usize| (group + 8 * (i / 2)) * 8 + 2 * t + i % 2;
            input.extend((0..4).map(|i| self.c[of_c(i)].to_bits()));
            let scales = |scales: &[u8], row: Option<usize>, first: usize| {
                let mut bytes = [0xff; 4];
                if let Some(row) = row {
                    bytes[first..first + self.count]
                        .copy_from_slice(&scales[row * self.count..(row + 1) * self.count]);
                }
                u32::from_le_bytes(bytes)
            };
            let row = (t / 2 == thread_a).then_some(group + 8 * (t % 2));
            let column = (t == thread_b).then_some(group);
            match self.scale {
                Some(_) => {
                    input.push(scales(&self.scales.0, row, byte_a));
                    input.push(scales(&self.scales.1, column, byte_b));
                }
                None => input.extend([0, 0]),
            }
        }
        let loads: String = (0..12).map(|i| format!("ld.global.b32 %r{i}, [%rd1+{}];\n", 4 * i)).collect();
        let scales = match self.scale {
            Some(_) => format!(", %r10, {{{byte_a}, {thread_a}}}, %r11, {{{byte_b}, %h}}"),
            None => String::new(),
        };
        let text = format!(
            ".version 8.7\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 p) {{
                .reg .b64 %rd<2>; .reg .b32 %r<13>; .reg .f32 %f<4>; .reg .b16 %h;
                ld.param.u64 %rd0, [p]; mov.u32 %r12, %tid.x; mad.wide.u32 %rd1, %r12, 64, %rd0; mov.b16 %h, {thread_b};
                {loads}
                mov.b32 %f0, %r6; mov.b32 %f1, %r7; mov.b32 %f2, %r8; mov.b32 %f3, %r9;
                mma.sync.aligned.{} {{%f0, %f1, %f2, %f3}}, {{%r0, %r1, %r2, %r3}}, {{%r4, %r5}}, {{%f0, %f1, %f2, %f3}}{scales};
                st.global.v4.f32 [%rd1+48], {{%f0, %f1, %f2, %f3}}; ret;
            }}",
            self.form
        );
        let mut memory = Memory::new();
        let buffer = memory.alloc(32 * 64);
        for (lane, words) in input.chunks(12).enumerate() {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            memory.write(buffer + 64 * lane as u64, &bytes).expect("in bounds");
        }
        Sim::new()
            .arch(Arch::Sm120)
            .launch(&parse(&text), "k", &one_block(32), &[Arg::from(buffer)], &mut memory)
            .unwrap_or_else(|error| panic!("{}: {error}", self.form))
            .assert_clean();
        let mut out = [0; 32 * 64];
        memory.read(buffer, &mut out).expect("in bounds");
        let mut d = vec![0.0; 128];
        for lane in 0..32 {
            for i in 0..4 {
                let at = 64 * lane + 48 + 4 * i;
                let bits = u32::from_le_bytes(out[at..at + 4].try_into().expect("4 bytes"));
                d[(lane / 4 + 8 * (i / 2)) * 8 + 2 * (lane % 4) + i % 2] = f32::from_bits(bits);
            }
        }
        d
    }
}

#[test]
fn factors_of_any_small_types_multiply() {
    let types = [Float::E4m3, Float::E5m2, Float::E2m3, Float::E3m2, Float::E2m1];
    let forms = [
        "m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32",
        "m16n8k32.row.col.kind::f8f6f4.f32.e5m2.e3m2.f32",
        "m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e4m3.f32",
        "m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32",
        "m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e5m2.f32",
    ];
    for form in forms {
        let named = |n: usize| {
            let word = form.split('.').nth(n).expect("a type");
            *types.iter().find(|ty| format!("{ty:?}").to_lowercase() == word).expect("a small float")
        };
        let product = Product::new(form, (named(5), named(6)), None, 0);
        assert_eq!(product.run([[0; 2]; 2]), product.exact(), "{form}");
    }
}

#[test]
fn scales_apply_to_their_blocks() {
    let (e2m1, ue8m0) = (Float::E2m1, Some(Float::Ue8m0));
    let mxf8 = "m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0";
    let mxf4 = "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0";
    let nvf4 = "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3";
    for (product, selectors) in [
        (Product::new(mxf8, (Float::E4m3, e2m1), ue8m0, 1), [[3, 0], [1, 3]]),
        (Product::new(mxf8, (Float::E4m3, e2m1), ue8m0, 1), [[0, 1], [2, 0]]),
        (Product::new(mxf4, (e2m1, e2m1), ue8m0, 2), [[2, 1], [0, 2]]),
        (Product::new(nvf4, (e2m1, e2m1), Some(Float::E4m3), 4), [[0, 0], [0, 1]]),
    ] {
        assert_eq!(product.run(selectors), product.exact(), "{}", product.form);
    }
}

/// Groups of 16 products are summed exactly before they are aligned, to 35 bits below the largest exponent of their scales.
#[test]
fn groups_of_small_products_are_exact() {
    let form = "m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0";
    let mut product = Product::new(form, (Float::E2m1, Float::E2m1), Some(Float::Ue8m0), 2);
    product.a.fill(0x2);
    product.b.fill(0x2);
    product.c.fill(0.0);
    // Blocks of 32 ones with scales 2^0 and 2^-36: the second sum, 2^-31, is representable, but is truncated when it is added to 32.
    product.scales = ([127, 127 - 36].repeat(16), [127, 127].repeat(8));
    assert_eq!(product.run([[0; 2]; 2]), [32.0; 128]);
    // If the first block cancels, the sum of the second one remains; 2^-31 is 16 units of 2^-35.
    product.a.chunks_mut(64).for_each(|row| row[..16].fill(0xa));
    assert_eq!(product.run([[0; 2]; 2]), [2f32.powi(-31); 128]);
    // A scale that is NaN makes its row NaN.
    product.scales.0[0] = 0xff;
    let d = product.run([[0; 2]; 2]);
    assert!(d[..8].iter().all(|d| d.to_bits() == 0x7fff_ffff) && d[8..].iter().all(|d| !d.is_nan()));
}
