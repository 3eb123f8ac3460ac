//! Copy atoms, executed: every lane receives the elements that the atom's layouts specify.
#![allow(unsafe_code, reason = "copies that are cut by a number of bytes")]

use pretty_assertions::assert_eq;
use warpwright::{
    atoms::{CopyAtom, CopyKind, CopySide, Matrices, copy_atom, copy_atoms},
    prelude::*,
    ptx::Scalar,
    run::{AnyDevice, Device, Simulator},
};

use super::devices;

/// Input words and output words.
type Words = (In<u32>, Out<u32>);

/// Returns the simulator and, if available, a GPU.
fn everywhere() -> Vec<AnyDevice> {
    std::iter::once(AnyDevice::Sim(Simulator::new())).chain(devices::gpu()).collect()
}

fn run(device: &AnyDevice, kernel: &Kernel<Words>, words: &[u32], len: usize) -> Vec<u32> {
    let x = device.upload(words).expect("room");
    let mut y = device.output::<u32>(len).expect("room");
    device.launch(kernel, (&x, &mut y)).unwrap_or_else(|why| panic!("{why}"));
    device.download(&y).expect("it can be read")
}

/// Returns the contents of each lane on one side: the indices of its 16-bit elements, two per word.
fn held(atom: &CopyAtom, side: CopySide) -> Vec<u32> {
    let layout = atom.value_layout(side, 16).expect("whole elements");
    let values = layout.size() / 32;
    let element = |lane, value| layout.index(lane + 32 * value) as u32;
    (0..32)
        .flat_map(|lane| (0..values).step_by(2).map(move |value| (lane, value)))
        .map(|(lane, value)| element(lane, value) | element(lane, value + 1) << 16)
        .collect()
}

/// Returns, for each lane, the row whose address it provides, in units of 16 bytes.
fn rows(atom: &CopyAtom, side: CopySide) -> Vec<u32> {
    (0..32).map(|lane| atom.layout(side).index(lane) as u32 / 128).collect()
}

/// Returns elements 0, 1, 2 … in pairs.
fn numbered(elements: u32) -> Vec<u32> {
    (0..elements).step_by(2).map(|first| first | (first + 1) << 16).collect()
}

/// A kernel that loads from shared memory, which contains the numbers in row order; `x` begins with the row of each lane.
fn load<const N: usize>(transposed: bool) -> Kernel<Words> {
    let kernel = Kernel::<Words>::build("load(x, y)", Target::SM_75, |k, (x, y)| {
        k.block([32]);
        k.grid([1]);
        let (x, y) = (k.slice(x, 32 * (N as u32 + 1)), k.slice(y, 32 * N as u32));
        let (lane, tile) = (k.tid_x(), k.shared_aligned::<u32>(32 * N as u32, 16));
        for i in 0..N as u32 {
            tile.at(lane + 32 * i).store(x.at(lane + 32 * (i + 1)).load());
        }
        k.sync_threads();
        let row = tile.at(x.at(lane).load() * 4);
        let got: [Val<'_, u32>; N] = if transposed { row.ldmatrix_trans() } else { row.ldmatrix() };
        for (i, got) in (0u32..).zip(got) {
            y.at(lane * N as u32 + i).store(got);
        }
    });
    kernel.unwrap_or_else(|why| panic!("{why}"))
}

/// A kernel in which every lane stores its registers, which are in `x` after the rows; `y` receives shared memory.
fn store<const N: usize>(transposed: bool) -> Kernel<Words> {
    let kernel = Kernel::<Words>::build("store(x, y)", Target::SM_90, |k, (x, y)| {
        k.block([32]);
        k.grid([1]);
        let (x, y) = (k.slice(x, 32 * (N as u32 + 1)), k.slice(y, 32 * N as u32));
        let (lane, tile) = (k.tid_x(), k.shared_aligned::<u32>(32 * N as u32, 16));
        let values: [Val<'_, u32>; N] =
            std::array::from_fn(|i| x.at(lane * N as u32 + (32 + i as u32)).load());
        let row = tile.at(x.at(lane).load() * 4);
        if transposed {
            row.stmatrix_trans(values);
        } else {
            row.stmatrix(values);
        }
        k.sync_threads();
        for i in 0..N as u32 {
            y.at(lane + 32 * i).store(tile.at(lane + 32 * i).load());
        }
    });
    kernel.unwrap_or_else(|why| panic!("{why}"))
}

fn by_count(matrices: Matrices, kernels: [fn(bool) -> Kernel<Words>; 3]) -> Kernel<Words> {
    kernels[matrices.count.ilog2() as usize](matrices.transposed)
}

#[test]
fn matrices_are_loaded_and_stored_according_to_the_layouts() {
    let everywhere = everywhere();
    let mut checked = 0;
    for atom in copy_atoms() {
        let (matrices, loads) = match atom.kind() {
            CopyKind::LdMatrix(matrices) if matrices.element_bits == 16 => (matrices, true),
            CopyKind::StMatrix(matrices) if matrices.element_bits == 16 => (matrices, false),
            _ => continue,
        };
        let kernels =
            if loads { [load::<1>, load::<2>, load::<4>] } else { [store::<1>, store::<2>, store::<4>] };
        let kernel = by_count(matrices, kernels);
        let (memory, registers) = if loads {
            (CopySide::Source, CopySide::Destination)
        } else {
            (CopySide::Destination, CopySide::Source)
        };
        let (numbers, held) = (numbered(64 * matrices.count), held(atom, registers));
        let (given, wanted) = if loads { (&numbers, &held) } else { (&held, &numbers) };
        let words = [&rows(atom, memory), given.as_slice()].concat();
        for device in &everywhere {
            assert_eq!(&run(device, &kernel, &words, wanted.len()), wanted, "{atom}");
        }
        checked += 1;
    }
    assert_eq!(checked, 12);
}

#[test]
fn registers_are_exchanged_according_to_the_layouts() {
    let everywhere = everywhere();
    let transpose = |lane_bit: u32| {
        let kernel = Kernel::<Words>::build("exchange(x, y)", Target::SM_75, |k, (x, y)| {
            k.block([32]);
            k.grid([1]);
            let (x, y, lane) = (k.slice(x, 64), k.slice(y, 64), k.tid_x());
            let row = [x.at(lane * 2).load(), x.at(lane * 2 + 1).load()];
            for (i, word) in (0u32..).zip(k.transpose_2x2(row, lane_bit)) {
                y.at(lane * 2 + i).store(word);
            }
        });
        kernel.unwrap_or_else(|why| panic!("{why}"))
    };
    let moved = Kernel::<(In<f16x2>, Out<f16x2>)>::build("transposed(x, y)", Target::SM_75, |k, (x, y)| {
        k.block([32]);
        k.grid([1]);
        k.slice(y, 32).at(k.tid_x()).store(k.movmatrix(k.slice(x, 32).at(k.tid_x()).load()));
    });
    let moved = moved.unwrap_or_else(|why| panic!("{why}"));
    for atom in copy_atoms() {
        let (given, wanted) = (held(atom, CopySide::Source), held(atom, CopySide::Destination));
        match atom.kind() {
            CopyKind::Transpose2x2 { lane_bit } => {
                let kernel = transpose(lane_bit);
                for device in &everywhere {
                    assert_eq!(run(device, &kernel, &given, wanted.len()), wanted, "{atom}");
                }
            }
            CopyKind::MovMatrix => {
                let pair = |word: &u32| f16x2::from_bits(u64::from(*word));
                let given: Vec<f16x2> = given.iter().map(pair).collect();
                for device in &everywhere {
                    let x = device.upload(&given).expect("room");
                    let mut y = device.output::<f16x2>(32).expect("room");
                    device.launch(&moved, (&x, &mut y)).unwrap_or_else(|why| panic!("{why}"));
                    let got = device.download(&y).expect("it can be read");
                    let got: Vec<u32> = got.into_iter().map(|pair| pair.to_bits() as u32).collect();
                    assert_eq!(got, wanted, "{atom}");
                }
            }
            _ => {}
        }
    }
}

/// A kernel that copies `BYTES` bytes, of which only `valid` come from global memory.
fn fill<const BYTES: u32>(valid: u32) -> Kernel<Words> {
    let kernel = Kernel::<Words>::build("fill(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([1]);
        k.grid([1]);
        let tile = k.shared_aligned::<u32>(4, 16);
        for i in 0..4 {
            tile.at(i).store(0xFFFF_FFFFu32);
        }
        unsafe { tile.copy_async_zero_fill::<BYTES>(x, valid) };
        k.cp_async_wait_all();
        for i in 0..4 {
            k.slice(y, 4).at(i).store(tile.at(i).load());
        }
    });
    kernel.unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn asynchronous_copies_fill_with_zeros() {
    let everywhere = everywhere();
    let words = [0x0403_0201, 0x0807_0605, 0x0c0b_0a09, 0x100f_0e0d];
    for (bytes, kernel) in [(4, fill::<4> as fn(u32) -> Kernel<Words>), (8, fill::<8>), (16, fill::<16>)] {
        let name = if bytes == 16 {
            "GLOBAL_ZFILL<u128>".to_owned()
        } else {
            format!("ALWAYS_ZFILL<u{}>", 8 * bytes)
        };
        let atom = copy_atom(&format!("SM80_CP_ASYNC_CACHE{name}")).expect("the table has it");
        for valid in 0..=bytes {
            let kernel = kernel(valid);
            assert!(kernel.ptx().contains(atom.mnemonic()), "{atom} is what the kernel has");
            let wanted: Vec<u32> = (0..4)
                .map(|word| {
                    let byte = |i: u32| if 4 * word + i < valid { 4 * word + i + 1 } else { 0 };
                    if 4 * word < bytes { (0..4).map(|i| byte(i) << (8 * i)).sum() } else { u32::MAX }
                })
                .collect();
            for device in &everywhere {
                assert_eq!(run(device, &kernel, &words, 4), wanted, "{atom}, {valid} valid bytes");
            }
        }
    }
}

#[test]
fn every_side_of_a_copy_is_whole() {
    for atom in copy_atoms() {
        let reference = atom.fragment(CopySide::Reference).expect("in bounds");
        reference.assert_bijective();
        for side in [CopySide::Source, CopySide::Destination] {
            let map = atom.fragment(side).expect("in bounds");
            map.assert_covering();
            // Only idle lanes, whose addresses are ignored, repeat the elements of other lanes.
            let repeats = map.layout().size() / map.rows();
            assert_eq!(repeats > 1, map.check_bijective().is_err(), "{atom} {side:?}");
        }
    }
    assert_eq!(copy_atoms().count(), 39);
}
