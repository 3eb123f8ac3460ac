//! Tiles and vectors from the values of registers, and words of packed elements.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::BuildErrorKind,
    run::{Details, Device, Simulator},
    tiles::{Orthogonal, RegisterLayout},
};

use super::numbers::Numeral;
use crate::cases::everywhere;

/// The registers of a tile, in reverse order, make another; in reverse again, the same.
#[test]
fn tiles_are_made_of_registers() {
    fn check<T: Numeral, L: RegisterLayout>() {
        let (rows, cols) = (Rt::<T, 2, 1, L>::ROWS, Rt::<T, 2, 1, L>::COLS);
        let kernel = Kernel::<(In<T>, Out<T>)>::build("registers(x, y)", Target::SM_89, |k, (x, y)| {
            k.block([32]);
            k.grid([2]);
            let b = k.ctaid_x();
            let (x, y) = (k.global(x, row_major(2 * rows, cols)), k.global(y, row_major(4 * rows, cols)));
            let tile: Rt<T, 2, 1, L> = x.tile(b, 0).load();
            let mut registers = tile.registers();
            registers.reverse();
            let mut reversed = Rt::<T, 2, 1, L>::from_registers(k, &registers);
            y.tile(2 * b, 0).store(&reversed);
            // The new tile has registers of its own.
            let mut registers = reversed.registers();
            registers.reverse();
            let restored = Rt::<T, 2, 1, L>::from_registers(k, registers);
            reversed = reversed.map_words(|word| word);
            y.tile(2 * b + 1, 0).store(&restored);
            drop(reversed);
        })
        .unwrap();
        crate::assemble::kernel(&kernel);
        let size = (rows * cols) as usize;
        let x = |at: usize| T::of((at * 7 % 13) as f64).number();
        let found = everywhere(|device| {
            let input: Vec<T> = (0..2 * size).map(|at| T::of(x(at))).collect();
            let mut y = device.upload(&vec![T::of(77.0); 4 * size]).unwrap();
            device.launch(&kernel, (&device.upload(&input).unwrap(), &mut y)).unwrap();
            device.download(&y).unwrap().into_iter().map(Numeral::number).collect::<Vec<_>>()
        });
        let layout = Rt::<T, 2, 1, L>::fragment();
        let mut expected = vec![0.0; 4 * size];
        for block in 0..2 {
            for lane in 0..32 {
                let elements = layout.elements(lane).unwrap();
                let index = |row: i64, col: i64| row as usize * cols as usize + col as usize;
                for element in &elements {
                    let last = layout.registers() - 1;
                    let other = elements.iter().find(|other| {
                        (other.register, other.slot) == (last - element.register, element.slot)
                    });
                    let other = other.expect("every register has every slot");
                    let at = index(element.row(), element.col());
                    let from = x(block * size + index(other.row(), other.col()));
                    expected[2 * block * size + at] = from;
                    expected[(2 * block + 1) * size + at] = x(block * size + at);
                }
            }
        }
        assert_eq!(found, expected, "{} {:?}", T::NAME, L::LAYOUT);
    }
    check::<f32, Row>();
    check::<bf16, Col>();
    check::<f64, Row>();
    check::<e4m3, Row>();
    check::<i8, Col>();
}

#[test]
fn vectors_are_made_of_registers() {
    let kernel = Kernel::<(In<f32>, Out<f32>)>::build("registers(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([32]);
        k.grid([1]);
        let v: Rv<f32, 2, Orthogonal> = k.global(x, vector(32)).tile(0).load();
        let registers: Vec<_> = v.registers().into_iter().map(|x| x * 2.0).collect();
        k.global(y, vector(32)).tile(0).store(&Rv::<f32, 2, Orthogonal>::from_registers(k, registers));
    })
    .unwrap();
    let found = everywhere(|device| {
        let x: Vec<f32> = (0..32).map(|at| at as f32).collect();
        let mut y = device.output::<f32>(32).unwrap();
        device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
        device.download(&y).unwrap()
    });
    assert_eq!(found, (0..32).map(|at| 2.0 * at as f32).collect::<Vec<_>>());
}

/// A kernel prints registers of a tile, which the simulator returns.
#[test]
fn registers_are_printed() {
    let kernel = Kernel::<(In<f32>,)>::build("print(x)", Target::SM_80, |k, (x,)| {
        k.block([32]);
        k.grid([1]);
        let registers = Rt::<f32, 1, 1>::load(k.global(x, row_major(16, 16)).tile(0, 0)).registers();
        k.if_(k.laneid().eq(5), || k.print("{} {}\n", (registers[0], registers[7])));
    })
    .unwrap();
    let simulator = Simulator::new();
    let x = simulator.upload(&(0..256).map(|at| at as f32).collect::<Vec<_>>()).unwrap();
    let Details::Simulated(report) = simulator.launch(&kernel, (&x,)).unwrap().details else {
        panic!("the simulator reports what it ran")
    };
    let elements = Rt::<f32, 1, 1>::elements(5).unwrap();
    let [first, last] = [0, 7].map(|at: usize| 16 * elements[at].row() + elements[at].col());
    assert_eq!(report.printed.concat(), format!("{first} {last}\n"));
}

#[test]
fn another_number_of_registers_is_rejected() {
    let error = Kernel::<()>::build("registers()", Target::SM_80, |k, ()| {
        k.block([32]);
        let tile = k.zeros::<Rt<f32, 1, 1>>();
        drop(Rt::<f32, 2, 1>::from_registers(k, tile.registers()));
    })
    .unwrap_err();
    assert!(matches!(error.kind(), BuildErrorKind::Refused(_)), "{error}");
    assert!(error.to_string().contains("expected the values of 16 registers, found 8"), "{error}");
}

/// Functions of words of packed bytes: the bits of two tiles, exchanged where a third has its highest bit.
#[test]
fn words_of_bytes() {
    let kernel = Kernel::<(In<u8>, Out<u8>)>::build("words(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([32]);
        k.grid([2]);
        let (x, y) = (k.global(x, row_major(64, 32)), k.global(y, row_major(32, 32)));
        let [a, b] = [0, 1].map(|i| x.tile(2 * k.ctaid_x() + i, 0).load::<u8, 1, 1, Row>());
        y.tile(k.ctaid_x(), 0).store(&a.map_words(|word| !word).zip_words(&b, |a, b| a ^ b));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x: Vec<u8> = (0..64 * 32u32).map(|at| (at * 37 % 251) as u8).collect();
    let found = everywhere(|device| {
        let mut y = device.output::<u8>(1024).unwrap();
        device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
        device.download(&y).unwrap()
    });
    let expected = (0..1024).map(|at| !x[at / 512 * 1024 + at % 512] ^ x[at / 512 * 1024 + 512 + at % 512]);
    assert_eq!(found, expected.collect::<Vec<_>>());
}
