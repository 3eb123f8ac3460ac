//! Every warpgroup-level atom, executed: operands in shared memory in each canonical layout, or A in registers; dense and sparse, with
//! either sign, added to D or not.
//!
//! The layouts are those of the PTX ISA ("Asynchronous Warpgroup Level Matrix Shared Memory Layout"), written here from the manual.

use pretty_assertions::assert_eq;
use warpwright::{
    atoms::{
        Group, Major, Metadata, MmaAtom, MmaOperand, MmaType, Source, WgmmaOptions, mma_atom, mma_atoms,
    },
    prelude::*,
    ptx::{IntoDim, MatrixDescriptor, MatrixLayout, ProxySpace, Readable, RegClass, SwizzleMode, WgmmaA},
    run::{Device, Simulator},
    sim::Arch,
};

use super::{
    assemble,
    atom_kernel::Word,
    devices,
    numbers::encode,
    problem::{Problem, element_bits, matrix, metadata, sizes},
    require,
};

/// An operand in shared memory, with rows along m or n and columns along k.
#[derive(Clone, Copy, Debug)]
struct Placed {
    major: Major,
    layout: MatrixLayout,
    bits: usize,
    /// The number of bytes before the first element: a step along K within a swizzled row.
    start: usize,
}

impl Placed {
    fn new(major: Major, swizzle: SwizzleMode, bits: usize, (rows, columns): (usize, usize)) -> Self {
        let width = width(swizzle);
        let run = columns * bits / 8;
        let (leading, stride) = match (major, swizzle) {
            // Core matrices of 8×16 bytes, along K first.
            (Major::K, SwizzleMode::None) => (128, 128 * (run / 16)),
            (Major::K, _) => (16, 8 * width),
            // Core matrices along K first, too: with a swizzle, blocks of the width by 8.
            (Major::Mn, SwizzleMode::None) => (128, 128 * (columns / 8)),
            (Major::Mn, _) => (8 * width * (columns / 8), 8 * width),
        };
        let start = if major == Major::K && width >= 2 * run { run } else { 0 };
        let layout = MatrixLayout {
            leading_bytes: leading as u32,
            stride_bytes: stride as u32,
            base_offset: 0,
            swizzle,
        };
        assert!(rows.is_multiple_of(8));
        Self { major, layout, bits, start }
    }

    /// Returns the bit at which element (`i`, `k`) starts.
    fn bit(&self, i: usize, k: usize) -> usize {
        let (leading, stride) = (self.layout.leading_bytes as usize, self.layout.stride_bytes as usize);
        let (width, byte) = (width(self.layout.swizzle), k * self.bits / 8);
        let address = match (self.major, self.layout.swizzle) {
            (Major::K, SwizzleMode::None) => i % 8 * 16 + i / 8 * stride + byte / 16 * leading + byte % 16,
            (Major::K, _) => self.start + i % 8 * width + i / 8 * stride + byte,
            (Major::Mn, SwizzleMode::None) => i % 8 * 2 + i / 8 * stride + k % 8 * 16 + k / 8 * leading,
            (Major::Mn, _) => {
                let across = width / 2;
                i % across * 2 + i / across * leading + k % 8 * width + k / 8 * stride
            }
        };
        // Bits 4 … of the address are combined with bits 7 …
        let mask = width / 16 - 1;
        8 * (address ^ (address >> 3 & mask << 4)) + k * self.bits % 8
    }

    /// Returns the words of shared memory that contain the matrix, padded to a multiple of 128 words. Bits outside the matrix are defined
    /// and not zero.
    fn image(&self, ty: MmaType, matrix: &[i64], (rows, columns): (usize, usize)) -> Vec<u32> {
        let last =
            (0..rows).flat_map(|i| (0..columns).map(move |k| (i, k))).map(|(i, k)| self.bit(i, k)).max();
        let words = (last.unwrap_or(0) / 32 + 1).next_multiple_of(128);
        let mut image = vec![0x5a5a_5a5a; words];
        for (i, k) in (0..rows).flat_map(|i| (0..columns).map(move |k| (i, k))) {
            let (bit, mask) = (self.bit(i, k), u32::MAX >> (32 - self.bits));
            let (word, shift) = (bit / 32, bit % 32);
            image[word] =
                image[word] & !(mask << shift) | (encode(ty, matrix[i * columns + k]) as u32) << shift;
        }
        image
    }
}

/// Returns the number of bytes of a swizzled row.
fn width(swizzle: SwizzleMode) -> usize {
    match swizzle {
        SwizzleMode::None => 16,
        SwizzleMode::B32 => 32,
        SwizzleMode::B64 => 64,
        SwizzleMode::B128 => 128,
    }
}

/// A configuration with which an atom is executed.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// `None` for A in registers.
    a: Option<Placed>,
    b: Placed,
    negate: [bool; 2],
    accumulate: bool,
    selector: u32,
}

impl Plan {
    /// Returns a configuration by its number, which enumerates swizzles, orders, signs and selectors.
    fn new(atom: &MmaAtom, number: usize) -> Self {
        const SWIZZLES: [SwizzleMode; 4] =
            [SwizzleMode::None, SwizzleMode::B32, SwizzleMode::B64, SwizzleMode::B128];
        let (m, n, k) = sizes(atom);
        let stored = if atom.sparsity().is_some() { k / 2 } else { k };
        let place = |operand, size: (usize, usize), number: usize| {
            let bits = atom.operand_type(operand).bits() as usize;
            let majors = atom.majors(operand);
            let major = majors[number / 4 % majors.len()];
            // A swizzled row contains the whole run of k.
            let fits = |swizzle: &SwizzleMode| {
                major == Major::Mn || *swizzle == SwizzleMode::None || width(*swizzle) >= size.1 * bits / 8
            };
            let swizzles: Vec<_> = SWIZZLES.into_iter().filter(fits).collect();
            Placed::new(major, swizzles[number % swizzles.len()], bits, size)
        };
        let in_shared = atom.source(MmaOperand::A) == Source::Shared;
        let float = atom.operand_type(MmaOperand::D) != MmaType::S32;
        Self {
            a: in_shared.then(|| place(MmaOperand::A, (m, stored), number)),
            b: place(MmaOperand::B, (n, k), number / 2 + number / 8),
            negate: [float && number % 3 == 1, float && number % 5 == 2],
            accumulate: number % 4 != 3,
            selector: atom.sparsity().map_or(0, |sparsity| number as u32 % sparsity.selectors()),
        }
    }

    fn options<'k>(&self, metadata: Option<Metadata<'k>>) -> WgmmaOptions<'k> {
        WgmmaOptions {
            accumulate: self.accumulate.into(),
            negate_a: self.negate[0],
            negate_b: self.negate[1],
            major_a: self.a.map_or(Major::K, |a| a.major),
            major_b: self.b.major,
            metadata,
        }
    }
}

/// A (its image, or registers), B's image, C, metadata, D, and the number of blocks.
type Args<D> = (In<u32>, In<u32>, In<D>, In<u32>, Out<D>, u32);

/// Builds a kernel in which each block is one warpgroup with a separate product. `words` are the numbers of words of the images of A and B.
fn kernel<D: Word>(atom: &MmaAtom, plan: &Plan, words: [u32; 2]) -> Result<Kernel<Args<D>>, BuildError> {
    Kernel::<Args<D>>::build(
        "product(a, b, c, e, d, blocks)",
        Target::SM_90A,
        |k, (a, b, c, e, d, blocks)| {
            let block = k.block([128]);
            k.grid([blocks.tiles(1)]);
            let thread = k.ctaid_x() * 128 + block.thread();
            let length = |each: u32| blocks.into_dim() * (128 * each);
            let b = descriptor(k, k.slice(b, length(words[1] / 128)), words[1], plan.b);
            let registers = atom.registers(MmaOperand::A);
            let (a_registers, a) = match plan.a {
                Some(placed) => {
                    (vec![], Some(descriptor(k, k.slice(a, length(words[0] / 128)), words[0], placed)))
                }
                None => {
                    let a = k.slice(a, length(registers));
                    ((0..registers).map(|i| a.at(thread * registers + i).load()).collect(), None)
                }
            };
            k.fence_proxy_async(ProxySpace::Shared);
            block.sync();
            let count = atom.registers(MmaOperand::D);
            let metadata = k.slice(e, length(1)).at(thread).load();
            let metadata = atom.sparsity().map(|_| Metadata { bits: metadata, selector: plan.selector });
            let mut sums: Vec<Val<'_, D>> = match plan.accumulate {
                true => {
                    let c = k.slice(c, length(count));
                    (0..count).map(|i| c.at(thread * count + i).load()).collect()
                }
                false => k.wgmma_accumulators(atom),
            };
            let a = a.map_or(WgmmaA::Registers(&a_registers), WgmmaA::Shared);
            k.wgmma_fence();
            k.wgmma(atom, &mut sums, a, b, plan.options(metadata));
            k.wgmma_commit_group();
            k.wgmma_wait_group(0);
            let d = k.slice(d, length(count));
            for (i, sum) in (0u32..).zip(&sums) {
                d.at(thread * count + i).store(*sum);
            }
        },
    )
}

/// Copies this block's image to shared memory.
fn descriptor<'k>(
    k: Builder<'k>,
    image: Slice<'k, u32, Global, impl Readable>,
    words: u32,
    placed: Placed,
) -> MatrixDescriptor<'k> {
    // A whole repetition of the widest swizzle.
    let shared = k.shared_aligned::<u32>(words, 1024);
    k.for_(0..words / 128, |i| {
        let at = i * 128 + k.tid_x();
        shared.at(at).store(image.at(k.ctaid_x() * words + at).load());
    });
    MatrixDescriptor::new(shared, placed.layout).advance(placed.start as u32)
}

/// Returns the registers of all threads, one thread after another.
fn registers(atom: &MmaAtom, operand: MmaOperand, matrix: &[i64]) -> Vec<u64> {
    let map = atom.fragment(operand).expect("it is in registers");
    let count = atom.registers(operand) as usize;
    let mut registers = vec![0; 128 * count];
    for thread in 0..map.threads() {
        for element in map.elements(thread).expect("a thread") {
            let bits = encode(
                atom.operand_type(operand),
                matrix[(element.row() * map.cols() + element.col()) as usize],
            );
            registers[thread as usize * count + element.register as usize] |=
                bits << (element.slot as u32 * element_bits(atom, operand));
        }
    }
    registers
}

/// Runs products of random matrices and compares D with the exact result.
fn check<D: Word>(device: &impl Device, atom: &MmaAtom, number: usize) {
    let (m, n, k) = sizes(atom);
    let plan = Plan::new(atom, number);
    let problems: Vec<_> = (0..2).map(|seed| Problem::random(atom, (2 * number + seed) as u64)).collect();
    let stored = if atom.sparsity().is_some() { k / 2 } else { k };
    let a_of = |problem: &Problem| match plan.a {
        Some(placed) => placed.image(atom.operand_type(MmaOperand::A), &problem.stored_a(atom), (m, stored)),
        None => words(registers(atom, MmaOperand::A, &problem.stored_a(atom))),
    };
    let b_of = |problem: &Problem| plan.b.image(atom.operand_type(MmaOperand::B), problem.b(), (n, k));
    let e_of = |problem: &Problem| {
        let warps = (0..4).flat_map(|warp| metadata(atom, problem, 16 * warp, plan.selector));
        warps.step_by(3).map(|word| word as u32).collect::<Vec<_>>()
    };
    let all = |of: &dyn Fn(&Problem) -> Vec<u32>| problems.iter().flat_map(of).collect::<Vec<_>>();
    let (a, b, e) = (all(&a_of), all(&b_of), all(&e_of));
    let c: Vec<D> = problems
        .iter()
        .flat_map(|problem| registers(atom, MmaOperand::C, problem.c()))
        .map(D::from_mem_bits)
        .collect();
    let image_words = [a.len(), b.len()].map(|words| (words / problems.len()) as u32);
    let kernel = kernel::<D>(atom, &plan, image_words).unwrap_or_else(|why| panic!("{why}"));
    let room = "the device has room";
    let (a, b, c, e) = (
        device.upload(&a).expect(room),
        device.upload(&b).expect(room),
        device.upload(&c).expect(room),
        device.upload(&e).expect(room),
    );
    let count = problems.len() * 128 * atom.registers(MmaOperand::D) as usize;
    let mut d = device.output::<D>(count).expect(room);
    let launched = device.launch(&kernel, (&a, &b, &c, &e, &mut d, problems.len() as u32));
    launched.unwrap_or_else(|why| panic!("{atom}, {plan:?}: {why}"));
    let d: Vec<u64> = device.download(&d).expect("it can be read").into_iter().map(D::to_mem_bits).collect();
    let sign = if plan.negate[0] == plan.negate[1] { 1 } else { -1 };
    for (i, problem) in problems.iter().enumerate() {
        let found = matrix(atom, &atom.fragment_d(), &d, (4 * i, 0));
        assert_eq!(found, problem.signed_product(atom, sign, plan.accumulate), "{atom}, {plan:?}");
    }
}

fn words(bits: Vec<u64>) -> Vec<u32> {
    bits.into_iter().map(|word| word as u32).collect()
}

/// Executes every warpgroup-level atom, and returns the number of atoms.
fn check_all(device: &impl Device, sparse: bool) -> usize {
    let atoms =
        mma_atoms().filter(|atom| atom.group() == Group::Warpgroup && atom.sparsity().is_some() == sparse);
    let run = atoms.enumerate().map(|(number, atom)| match atom.register_class(MmaOperand::D) {
        RegClass::F32 => check::<f32>(device, atom, number),
        _ => check::<u32>(device, atom, number),
    });
    run.count()
}

/// The number of dense atoms, and of atoms with a sparse A.
const RUN: [usize; 2] = [1092, 1056];

#[test]
fn every_dense_atom_multiplies_in_the_simulator() {
    assert_eq!(check_all(&Simulator::new().arch(Arch::Sm90), false), RUN[0]);
}

#[test]
fn every_sparse_atom_multiplies_in_the_simulator() {
    assert_eq!(check_all(&Simulator::new().arch(Arch::Sm90), true), RUN[1]);
}

#[test]
fn every_atom_multiplies_on_a_gpu() {
    let Some(gpu) = devices::gpu() else { return };
    if gpu.capability() != (9, 0) {
        require::skip("gpu", "`wgmma` requires sm_90a");
        return;
    }
    assert_eq!([false, true].map(|sparse| check_all(&gpu, sparse)), RUN);
}

/// The accumulators of a loop remain in their registers, and no product waits for another.
#[test]
fn ptxas_neither_serializes_nor_moves_products_in_flight() {
    let atom = mma_atom("SM90_64x256x16_F32BF16BF16_SS").expect("the table has it");
    let kernel = Kernel::<(Out<f32>, u32)>::build("sums(d, n)", Target::SM_90A, |k, (d, n)| {
        let block = k.block([128]);
        k.grid([1]);
        let tile = k.shared_aligned::<bf16>(64 * 64 + 64 * 256, 1024);
        let layout = MatrixLayout { stride_bytes: 1024, swizzle: SwizzleMode::B128, ..Default::default() };
        let (a, b) = (MatrixDescriptor::new(tile, layout), MatrixDescriptor::new(tile.at(64 * 64), layout));
        let sums: Vec<_> = k.wgmma_accumulators::<f32>(atom).into_iter().map(|_| k.copy_of(0.0f32)).collect();
        let sums = k.fold(n, sums, |_, mut sums| {
            k.wgmma_fence();
            for step in [0, 32, 64, 96] {
                k.wgmma(atom, &mut sums, a.advance(step), b.advance(step), WgmmaOptions::default());
            }
            k.wgmma_commit_group();
            k.wgmma_wait_group(0);
            sums
        });
        let d = k.slice(d, 128 * 128);
        for (i, sum) in (0u32..).zip(&sums) {
            d.at(block.thread() * 128 + i).store(*sum);
        }
    });
    assemble::kernel(&kernel.unwrap_or_else(|why| panic!("{why}")));
}

/// Returns the error of a kernel with accumulators in constants if `shared`, A in `registers` and changed options.
fn refused(
    name: &str,
    change: impl for<'k> FnOnce(&mut WgmmaOptions<'k>),
    shared: bool,
    registers: bool,
) -> String {
    let atom = mma_atom(name).expect("the table has it");
    let built = Kernel::<()>::build("k", Target::SM_90A, |k, ()| {
        k.block([128]);
        let matrix = MatrixDescriptor::from_bits(0u64);
        let mut d = if shared { vec![0.0.into(); 64] } else { k.wgmma_accumulators::<f32>(atom) };
        let a = [Val::from(0u32); 4];
        let a = if registers { WgmmaA::Registers(&a) } else { WgmmaA::Shared(matrix) };
        let mut options = WgmmaOptions::default();
        change(&mut options);
        k.wgmma(atom, &mut d, a, matrix, options);
    });
    built.expect_err("it is refused").kind().to_string()
}

#[test]
fn wrong_operands_are_refused() {
    const NAME: &str = "SM90_64x128x16_F32BF16BF16_SS";
    assert_eq!(
        refused(NAME, |_| {}, true, false),
        format!(
            "{NAME}: expected accumulators in registers of their own, found constants or shared registers: use `wgmma_accumulators`"
        )
    );
    let repeated = Kernel::<()>::build("k", Target::SM_90A, |k, ()| {
        k.block([128]);
        let matrix = MatrixDescriptor::from_bits(0u64);
        let mut d = vec![k.copy_of(0.0f32); 64];
        k.wgmma(mma_atom(NAME).expect("the table has it"), &mut d, matrix, matrix, WgmmaOptions::default());
    });
    let repeated = repeated.expect_err("it is refused").kind().to_string();
    assert!(repeated.contains("expected accumulators in registers of their own"), "{repeated}");
    assert_eq!(
        refused(NAME, |_| {}, false, true),
        format!("{NAME}: expected a descriptor of A, found registers")
    );
    let tf32 = "SM90_64x128x8_F32TF32TF32_SS_TN";
    assert_eq!(
        refused(tf32, |options| options.major_b = Major::Mn, false, false),
        format!("{tf32}: expected B in one of the orders [K], found Mn")
    );
    let metadata =
        |options: &mut WgmmaOptions<'_>| options.metadata = Some(Metadata { bits: 0.into(), selector: 0 });
    assert_eq!(
        refused(NAME, metadata, false, false),
        format!("{NAME}: expected no metadata for a dense A, found metadata")
    );
    let mma = "SM80_16x8x16_F32BF16BF16F32_TN";
    assert_eq!(
        refused(mma, |_| {}, false, false),
        format!("{mma}: expected an atom of a warpgroup; `mma` emits this one")
    );
    let divergent = Kernel::<()>::build("k", Target::SM_90A, |k, ()| {
        k.block([128]);
        k.if_(k.tid_x().lt(64), || k.wgmma_fence());
    });
    let divergent = divergent.expect_err("it is refused").kind().to_string();
    assert!(divergent.contains("must be reached by all threads of the warpgroup"), "{divergent}");
    let layout = |layout: MatrixLayout| {
        let built = Kernel::<()>::build("k", Target::SM_90A, |k, ()| {
            MatrixDescriptor::new(k.shared::<f16>(64), layout);
        });
        built.expect_err("it is refused").kind().to_string()
    };
    assert_eq!(
        layout(MatrixLayout { stride_bytes: 1 << 18, ..Default::default() }),
        "matrix descriptor: expected a stride byte offset that is a multiple of 16 below 262144, found 262144"
    );
    assert_eq!(
        layout(MatrixLayout { base_offset: 8, ..Default::default() }),
        "matrix descriptor: expected a base offset of 0 to 7, found 8"
    );
}
