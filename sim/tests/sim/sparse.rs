//! `wgmma.mma_async.sp`: small integers, so that sums are exact, and metadata as in the figures of the PTX ISA.

use super::support::{kernel, one_block, run};
use pretty_assertions::assert_eq;

const ROWS: usize = 64;
const COLUMNS: usize = 8;

/// A type of A and B: its name, its bits, the extent K, and the encoding of an integer.
#[derive(Clone, Copy)]
struct Kind {
    types: &'static str,
    bits: usize,
    k: usize,
    encode: fn(i32) -> u32,
    integer: bool,
}

const KINDS: [Kind; 4] = [
    Kind {
        types: "f32.f16.f16",
        bits: 16,
        k: 32,
        encode: |x| half::f16::from_f32(x as f32).to_bits().into(),
        integer: false,
    },
    Kind { types: "f32.tf32.tf32", bits: 32, k: 16, encode: |x| (x as f32).to_bits(), integer: false },
    Kind { types: "f32.e4m3.e4m3", bits: 8, k: 64, encode: e4m3, integer: false },
    Kind { types: "s32.s8.s8", bits: 8, k: 64, encode: |x| x as u8 as u32, integer: true },
];

/// Returns the encoding of an integer from −3 to 3.
fn e4m3(x: i32) -> u32 {
    [0, 0x38, 0x40, 0x44][x.unsigned_abs() as usize] | u32::from(x < 0) << 7
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as u32) % n
    }
}

/// A product: the kernel's inputs (A and B as they are stored in shared memory, the metadata of each thread), and D.
struct Case {
    input: Vec<u32>,
    expected: [[i32; COLUMNS]; ROWS],
}

fn case(kind: Kind, selector: usize) -> Case {
    let mut random = Random(1 + selector as u64 + kind.k as u64);
    let Kind { bits, k, encode, .. } = kind;
    let b: Vec<Vec<i32>> =
        (0..COLUMNS).map(|_| (0..k).map(|_| random.below(7) as i32 - 3).collect()).collect();
    let mut bytes = vec![0u8; 2048 + 512];
    let mut put = |at: usize, element: u32| {
        bytes[at..at + bits / 8].copy_from_slice(&element.to_le_bytes()[..bits / 8]);
    };
    let mut metadata = [0u32; 128];
    let mut expected = [[0; COLUMNS]; ROWS];
    // tf32 keeps one of two elements, the others two of four.
    let group = if bits == 32 { 2 } else { 4 };
    for row in 0..ROWS {
        for g in 0..k / group {
            let (kept, code) = if bits == 32 {
                let kept = random.below(2) as usize;
                (vec![kept], [0b0100, 0b1110][kept])
            } else {
                let first = random.below(3) as usize;
                let second = first + 1 + random.below(3 - first as u32) as usize;
                (vec![first, second], (first | second << 2) as u32)
            };
            for (i, &position) in kept.iter().enumerate() {
                let value = random.below(7) as i32 - 3;
                let stored = g * kept.len() + i;
                put(stored * bits / 128 * 1024 + 16 * row + stored * bits / 8 % 16, encode(value));
                for (column, b) in b.iter().enumerate() {
                    expected[row][column] += value * b[g * group + position];
                }
            }
            // The warp has 16 rows; a quad of lanes has rows r and r + 8.
            let (warp, r, upper) = (row / 16, row % 8, row % 16 / 8);
            let (lane, shift) = match bits {
                // All four lanes: the first two have the lower half of K of rows r and r + 8.
                8 => (g / 8 * 2 + upper, 4 * (g % 8)),
                // Two lanes, each with a half of K of both rows.
                _ => (2 * selector + g / 4, 16 * upper + 4 * (g % 4)),
            };
            metadata[32 * warp + 4 * r + lane] |= code << shift;
        }
    }
    for (column, b) in b.iter().enumerate() {
        for (at, &value) in b.iter().enumerate() {
            put(2048 + at * bits / 128 * 128 + 16 * column + at * bits / 8 % 16, encode(value));
        }
    }
    let words = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
    Case { input: words.chain(metadata).collect(), expected }
}

/// Returns a kernel that copies A and B to shared memory and multiplies them; with `registers`, A is in registers.
fn product(kind: Kind, selector: usize, registers: bool) -> String {
    let Kind { types, k, .. } = kind;
    let scales = match kind {
        Kind { integer: true, .. } => "",
        Kind { bits: 16, .. } if registers => ", 1, 1, 0",
        Kind { bits: 16, .. } => ", 1, 1, 0, 0",
        _ => ", 1, 1",
    };
    let a = if registers { "{%r20, %r21, %r22, %r23}" } else { "%rd1" };
    // Registers are rows r and r + 8 of the first chunk of 16 bytes of a row, then of the second.
    let load = "and.b32 %r10, %r0, 31; shr.u32 %r11, %r0, 5; shr.u32 %r12, %r10, 2; mad.lo.u32 %r12, %r11, 16, %r12; \
        and.b32 %r13, %r10, 3; shl.b32 %r13, %r13, 2; mad.lo.u32 %r13, %r12, 16, %r13; add.u32 %r13, %r13, %r1; \
        ld.shared.u32 %r20, [%r13]; ld.shared.u32 %r21, [%r13+128]; ld.shared.u32 %r22, [%r13+1024]; ld.shared.u32 %r23, [%r13+1152];";
    let (class, d) = if kind.integer { ("b32", "%d") } else { ("f32", "%d") };
    kernel(
        ".param .u64 out, .param .u64 in",
        &format!(
            ".reg .b32 %r<32>; .reg .{class} %d<4>; .reg .b64 %rd<8>; .reg .pred %p<3>; .shared .align 1024 .b8 s[4096];
            ld.param.u64 %rd5, [in]; mov.u32 %r0, %tid.x; mov.u32 %r1, s; mov.u32 %r2, %r0;
            L: mul.wide.u32 %rd6, %r2, 4; add.u64 %rd6, %rd5, %rd6; ld.global.u32 %r3, [%rd6];
            mad.lo.u32 %r4, %r2, 4, %r1; st.shared.u32 [%r4], %r3;
            add.u32 %r2, %r2, 128; setp.lt.u32 %p0, %r2, 640; @%p0 bra L;
            mul.wide.u32 %rd6, %r2, 4; add.u64 %rd6, %rd5, %rd6; ld.global.u32 %r5, [%rd6];
            fence.proxy.async; bar.sync 0; {load}
            shr.u32 %r6, %r1, 4; or.b32 %r6, %r6, 0x400000; mov.b64 %rd1, {{%r6, 8}};
            shr.u32 %r7, %r1, 4; add.u32 %r7, %r7, 128; or.b32 %r7, %r7, 0x80000; mov.b64 %rd2, {{%r7, 8}};
            mov.b32 {d}0, 0; mov.b32 {d}1, {d}0; mov.b32 {d}2, {d}0; mov.b32 {d}3, {d}0; setp.ne.u32 %p1, %r0, %r0;
            wgmma.fence.sync.aligned;
            wgmma.mma_async.sp.sync.aligned.m64n8k{k}.{types} {{{d}0, {d}1, {d}2, {d}3}}, {a}, %rd2, %r5, {selector}, %p1{scales};
            wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
            ld.param.u64 %rd3, [out]; mul.wide.u32 %rd4, %r0, 16; add.u64 %rd3, %rd3, %rd4;
            st.global.v4.b32 [%rd3], {{{d}0, {d}1, {d}2, {d}3}}; ret;"
        ),
    )
}

#[test]
fn sparse_products_of_warpgroups() {
    for kind in KINDS {
        for selector in 0..if kind.bits == 8 { 1 } else { 2 } {
            let Case { input, expected } = case(kind, selector);
            for registers in [false, true] {
                let text = product(kind, selector, registers);
                let (out, report) =
                    run(&text, &one_block(128), &input, 4 * 128).unwrap_or_else(|e| panic!("{e}\n{text}"));
                let value = |word: u32| if kind.integer { word as i32 } else { f32::from_bits(word) as i32 };
                let found: [[i32; COLUMNS]; ROWS] = std::array::from_fn(|row| {
                    std::array::from_fn(|column| {
                        let thread = row / 16 * 32 + row % 8 * 4 + column / 2;
                        value(out[4 * thread + column % 2 + row % 16 / 8 * 2])
                    })
                });
                assert_eq!(found, expected, "{} selector {selector}, registers: {registers}", kind.types);
                assert_eq!(report.counts.tensor_flops, (ROWS * COLUMNS * kind.k) as u64);
            }
        }
    }
}
