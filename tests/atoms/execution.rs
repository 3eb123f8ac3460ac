//! Every warp-level atom, executed: the product of matrices that are packed by the atom's own layouts is exact.
//!
//! The simulator has separate fragment maps, so it is an independent check; a GPU is the reference.

use pretty_assertions::assert_eq;
use warpwright::{
    atoms::{Group, MmaAtom, MmaOperand, MmaType, mma_atoms},
    ptx::Target,
    run::{Device, Simulator},
    sim::Arch,
};

use super::{
    atom_kernel::{WithTypes, Word, kernel, with_types},
    devices,
    problem::{Packed, Problem, Random, groups, pack, unpack},
};

/// The registers of D after one launch.
struct Launch<'a, D> {
    device: &'a D,
    atom: &'a MmaAtom,
    selector: u32,
    packed: &'a Packed,
}

impl<Dev: Device> WithTypes for Launch<'_, Dev> {
    type Output = Vec<u64>;

    fn with<F: Word, C: Word, D: Word>(self) -> Vec<u64> {
        let Self { device, atom, selector, packed } = self;
        let kernel = kernel::<F, C, D>(atom, selector).unwrap_or_else(|why| panic!("{why}"));
        let (a, b) = (words::<F>(&packed.a), words::<F>(&packed.b));
        let (c, e) = (words::<C>(&packed.c), words::<u32>(&packed.e));
        let room = "the device has room";
        let (a, b, c, e) = (
            device.upload(&a).expect(room),
            device.upload(&b).expect(room),
            device.upload(&c).expect(room),
            device.upload(&e).expect(room),
        );
        let mut d =
            device.output::<D>(packed.warps * 32 * atom.registers(MmaOperand::D) as usize).expect(room);
        let launched = device.launch(&kernel, (&a, &b, &c, &e, &mut d, packed.warps as u32));
        launched.unwrap_or_else(|why| panic!("{atom}: {why}"));
        device.download(&d).expect("it can be read").into_iter().map(D::to_mem_bits).collect()
    }
}

fn words<T: Word>(bits: &[u64]) -> Vec<T> {
    bits.iter().map(|&bits| T::from_mem_bits(bits)).collect()
}

fn launch(device: &impl Device, atom: &MmaAtom, selector: u32, packed: &Packed) -> Vec<u64> {
    with_types(atom, Launch { device, atom, selector, packed })
}

/// Runs index-coded and random problems, and compares D with the exact product.
fn check(device: &impl Device, atom: &MmaAtom) {
    let mut problems = vec![Problem::indices(atom)];
    problems.extend(Problem::digits(atom));
    problems.extend((0..16).map(|seed| Problem::random(atom, seed)));
    while problems.len() % groups(atom) != 0 {
        problems.push(Problem::random(atom, problems.len() as u64));
    }
    let wanted: Vec<_> = problems.iter().map(|problem| problem.product(atom)).collect();
    for selector in 0..atom.sparsity().map_or(1, |sparsity| sparsity.selectors()) {
        let d = launch(device, atom, selector, &pack(atom, &problems, selector));
        let found = unpack(atom, &d, problems.len());
        for (i, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            assert_eq!(found, wanted, "{atom}, problem {i}, selector {selector}");
        }
    }
}

/// Returns the atoms whose instruction is not specific to one architecture.
fn portable() -> impl Iterator<Item = &'static MmaAtom> {
    mma_atoms().filter(|atom| atom.is_emitted() && !atom.target().is_specific())
}

#[test]
fn every_atom_multiplies_in_the_simulator() {
    let device = Simulator::new().arch(Arch::Sm90);
    let mut run = 0;
    for atom in portable() {
        check(&device, atom);
        run += 1;
    }
    assert_eq!(run, RUN, "atoms that were run");
}

/// The number of atoms that the simulator and an H200 execute.
const RUN: usize = 148;

#[test]
fn only_known_kinds_of_atoms_are_not_executed() {
    // Kinds of sm_100a and sm_120a are run by the simulator's tests; those of a warpgroup are run by `wgmma`; complex products are several
    // instructions; four scales of ue8m0 need PTX 9.1.
    let left = mma_atoms().filter(|atom| !portable().any(|run| run == *atom));
    for atom in left {
        let kinds = atom.mnemonic().contains(".kind::");
        let complex = atom.mnemonic().is_empty();
        assert!(kinds || complex || atom.group() == Group::Warpgroup, "{atom}");
        assert!(!kinds || [Target::SM_100A, Target::SM_120A].contains(&atom.target()), "{atom}");
    }
}

#[test]
fn every_atom_multiplies_on_a_gpu_as_in_the_simulator() {
    let Some((gpu, simulator)) = devices::pair() else { return };
    let (major, minor) = gpu.capability();
    let mut run = 0;
    for atom in portable().filter(|atom| u32::from(atom.target().sm()) <= 10 * major + minor) {
        check(&gpu, atom);
        let packed = any_bits(atom, 64);
        for selector in 0..atom.sparsity().map_or(1, |sparsity| sparsity.selectors()) {
            let (there, here) =
                (launch(&gpu, atom, selector, &packed), launch(&simulator, atom, selector, &packed));
            let differ = there.iter().zip(&here).filter(|(there, here)| there != here).count();
            assert_eq!(differ, 0, "{atom}: of {} registers", there.len());
        }
        run += 1;
    }
    println!("{run} atoms on {}", gpu.describe());
}

/// Returns registers with arbitrary bits, including NaNs and infinities, and valid metadata.
fn any_bits(atom: &MmaAtom, warps: usize) -> Packed {
    let mut random = Random(99);
    let mut draw = |operand| -> Vec<u64> {
        let count = warps * 32 * atom.registers(operand) as usize;
        (0..count).map(|i| bits(atom.operand_type(operand), i, &mut random)).collect()
    };
    let (a, b, c) = (draw(MmaOperand::A), draw(MmaOperand::B), draw(MmaOperand::C));
    let problems: Vec<_> = (0..warps * groups(atom)).map(|seed| Problem::random(atom, seed as u64)).collect();
    Packed { a, b, c, ..pack(atom, &problems, 0) }
}

/// Returns the bits of a number, mostly of moderate magnitude, so that not all sums are NaN.
fn bits(ty: MmaType, place: usize, random: &mut Random) -> u64 {
    let any = random.next();
    let near_one = |low: u64, high: u64| any & !high | low;
    match ty {
        _ if place.is_multiple_of(37) => any,
        MmaType::F64 => near_one(0x3fe0_0000_0000_0000, 0x7fe0_0000_0000_0000),
        MmaType::F32 | MmaType::Tf32 => near_one(0x3e00_0000, 0x7e00_0000),
        MmaType::F16 => near_one(0x3000_3000, 0x7000_7000),
        MmaType::Bf16 => near_one(0x3e00_3e00, 0x7e00_7e00),
        _ => any,
    }
}
