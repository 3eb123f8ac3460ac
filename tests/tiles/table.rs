//! `docs/tile-operations.md`: the instructions of each tile operation for each type, scope and target, generated from the kernels.

mod emitted;
mod methods;
mod products;
mod registers;
mod shared;
mod targets;

use std::{env, fs, path::Path};

use pretty_assertions::assert_eq;
use warpwright::{prelude::*, tensor::TensorElement};

use self::emitted::{Operands, Operation, mnemonics};
use super::numbers::Numeral;

/// The document.
fn document() -> String {
    let mut text = String::from(
        "# Operations on tiles\n\nThis file lists the instructions that operations emit on sm_90 for a `Row` tile of one subtile (16×16 \
         elements, or 16×32 elements of 8 bits), in the order of their first use. Larger tiles repeat them per subtile, except the shuffles of \
         reductions. f16 represents all types with the same instructions; u32 is like i32, e5m2 like e4m3, and u8 like i8; e3m2 and e2m3 are like e4m3 on \
         sm_100a and sm_120a, but f16 is converted to them via f32; 64-bit integers use \
         64-bit instructions. The tests generate this file from the kernels.\n\nIn the tables, `t` and `u` are register tiles, `v` is a vector, `c` a \
         complex tile or vector, `st` and `sv` are shared tiles and vectors, `cst` is a complex shared tile, and `x` and `y` are matrices in \
         global memory, `z` a complex one. A row with several operations \
         lists the instructions of the first; the others emit the same number, with `min` in place of `max`, `mul` in place of `add`, `all` and `and` \
         in place of `any` and `or`, or with other conditions. Operators and methods of vectors that tiles also have emit \
         the instructions of tiles, for fewer registers.\n\n## Types\n",
    );
    registers::write(&mut text);
    products::write(&mut text);
    shared::write(&mut text);
    targets::write(&mut text);
    text
}

#[test]
fn operations_are_documented() {
    let text = document();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tile-operations.md");
    if env::var_os("WARPWRIGHT_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&path).unwrap_or_default(),
        text,
        "WARPWRIGHT_BLESS=1 rewrites docs/tile-operations.md"
    );
}

/// The number of an operation's instructions that start with `mnemonic`.
fn count<T: TensorElement>(mnemonic: &str, operation: &Operation<'_, T>) -> usize {
    let found = mnemonics(Target::SM_90, 32, operation).unwrap();
    found.iter().filter(|name| name.starts_with(mnemonic)).count()
}

/// A row reduction takes 4 shuffles per 16 rows of a tile of any width, one of columns of a column-layout tile too.
#[test]
fn shuffles_do_not_depend_on_the_width() {
    fn rows<T: Numeral + warpwright::tiles::Accumulate, const H: usize, const W: usize>() -> [usize; 3] {
        let tile = |k: Builder<'_>| drop(k.zeros::<Rt<T, H, W>>().row_sum());
        let max = |k: Builder<'_>| drop(k.zeros::<Rt<T, H, W>>().row_max());
        let transposed = |k: Builder<'_>| drop(k.zeros::<Rt<T, W, H, Col>>().col_sum());
        let of = |f: &dyn Fn(Builder<'_>)| count::<f32>("shfl", &|operands| f(operands.k));
        [of(&tile), of(&max), of(&transposed)]
    }
    assert_eq!(rows::<f32, 1, 1>(), [4; 3]);
    assert_eq!(rows::<f32, 1, 16>(), [4; 3]);
    assert_eq!(rows::<bf16, 1, 8>(), [4; 3]);
    assert_eq!(rows::<f16, 1, 16>(), [4; 3]);
    assert_eq!(rows::<bf16, 3, 4>(), [12; 3]);
    assert_eq!(rows::<i8, 1, 4>(), [4; 3]);
    assert_eq!(rows::<tf32, 1, 6>(), [4; 3]);
}

/// One `ldmatrix.x4` per 16×16 elements of 16 bits, and per 16×32 of 8 bits; on sm_90 one `stmatrix.x4`.
#[test]
fn matrices_move_four_at_a_time() {
    fn moves<T: TensorElement, const H: usize, const W: usize>() -> [usize; 4] {
        let tile = |k: Builder<'_>| {
            k.shared_tile::<St<T, H, W>>()
                .store(&k.zeros::<Rt<T, H, W>>())
                .wait()
                .load::<Row>()
                .registers()
                .len()
        };
        let operation = |operands: Operands<'_, f32>| assert!(tile(operands.k) > 0);
        ["ldmatrix.sync.aligned.m8n8.x4", "ldmatrix", "stmatrix.sync.aligned.m8n8.x4", "stmatrix"]
            .map(|name| count::<f32>(name, &operation))
    }
    assert_eq!(moves::<bf16, 1, 1>(), [1; 4]);
    assert_eq!(moves::<f16, 2, 4>(), [8; 4]);
    assert_eq!(moves::<bf16, 4, 4>(), [16; 4]);
    assert_eq!(moves::<bf16, 1, 3>(), [3; 4]);
    assert_eq!(moves::<u8, 2, 2>(), [4; 4]);
    fn columns<T: TensorElement, const H: usize, const W: usize>() -> [usize; 2] {
        let operation = |operands: Operands<'_, f32>| {
            let k = operands.k;
            let _ = k.shared_tile::<St<T, H, W>>().store(&k.zeros::<Rt<T, H, W>>()).wait().load::<Col>();
        };
        ["ldmatrix.sync.aligned.m8n8.x4.trans", "ldmatrix"].map(|name| count::<f32>(name, &operation))
    }
    assert_eq!(columns::<f16, 2, 2>(), [4; 2]);
    assert_eq!(columns::<bf16, 4, 3>(), [12; 2]);
}
