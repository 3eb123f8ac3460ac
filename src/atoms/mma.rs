//! Operand fragments of `mma.sync` (PTX ISA, "Matrix Fragments for mma").

use ElementWidth::{B16, B32};
use MmaOperand::{A, B, C};
use MmaShape::{M16N8K8, M16N8K16};

use super::fragment::{ElementWidth, FragmentMap};

/// Shape of a warp's matrix multiply-accumulate, D = A·B + C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MmaShape {
    /// A is 16×8, B 8×8, C and D 16×8.
    #[doc(alias = "m16n8k8")]
    M16N8K8,
    /// A is 16×16, B 16×8, C and D 16×8.
    #[doc(alias = "m16n8k16")]
    M16N8K16,
}

/// An operand of `mma.sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MmaOperand {
    /// Rows m, columns k.
    A,
    /// Rows n, columns k: as CuTe has it, B is seen transposed.
    B,
    /// C and D: rows m, columns n.
    C,
}

/// A row of the table: the (thread, value) layout onto `row + col · rows` in text form.
struct Row {
    shape: MmaShape,
    operand: MmaOperand,
    width: ElementWidth,
    name: &'static str,
    size: (u32, u32),
    layout: &'static str,
}

const fn row(
    shape: MmaShape,
    operand: MmaOperand,
    width: ElementWidth,
    name: &'static str,
    size: (u32, u32),
    layout: &'static str,
) -> Row {
    Row { shape, operand, width, name, size, layout }
}

#[rustfmt::skip]
const TABLE: [Row; 10] = [
    row(M16N8K8,  A, B16, "m16n8k8 A, 16-bit",  (16,  8), "((4,8),(2,2)):((32,1),(16,8))"),
    row(M16N8K8,  B, B16, "m16n8k8 B, 16-bit",  ( 8,  8), "((4,8),2):((16,1),8)"),
    row(M16N8K8,  C, B16, "m16n8k8 C, 16-bit",  (16,  8), "((4,8),(2,2)):((32,1),(16,8))"),
    row(M16N8K8,  A, B32, "m16n8k8 A, 32-bit",  (16,  8), "((4,8),(2,2)):((16,1),(8,64))"),
    row(M16N8K8,  B, B32, "m16n8k8 B, 32-bit",  ( 8,  8), "((4,8),2):((8,1),32)"),
    row(M16N8K8,  C, B32, "m16n8k8 C, 32-bit",  (16,  8), "((4,8),(2,2)):((32,1),(16,8))"),
    row(M16N8K16, A, B16, "m16n8k16 A, 16-bit", (16, 16), "((4,8),(2,2,2)):((32,1),(16,8,128))"),
    row(M16N8K16, B, B16, "m16n8k16 B, 16-bit", ( 8, 16), "((4,8),(2,2)):((16,1),(8,64))"),
    row(M16N8K16, C, B16, "m16n8k16 C, 16-bit", (16,  8), "((4,8),(2,2)):((32,1),(16,8))"),
    row(M16N8K16, C, B32, "m16n8k16 C, 32-bit", (16,  8), "((4,8),(2,2)):((32,1),(16,8))"),
];

/// The fragment map of an operand of `mma.sync`, or none if there is no such instruction (m16n8k16 takes no 32-bit A or B).
///
/// 32-bit A and B are tf32, 32-bit C is f32 or s32; 16-bit operands are f16 or bf16.
#[must_use]
pub fn mma_fragment(shape: MmaShape, operand: MmaOperand, width: ElementWidth) -> Option<FragmentMap> {
    let wanted = |row: &&Row| (row.shape, row.operand, row.width) == (shape, operand, width);
    TABLE.iter().find(wanted).map(Row::map)
}

/// All fragment maps of [`mma_fragment`].
pub fn mma_fragments() -> impl Iterator<Item = FragmentMap> {
    TABLE.iter().map(Row::map)
}

impl Row {
    fn map(&self) -> FragmentMap {
        self.layout
            .parse()
            .map_err(Into::into)
            .and_then(|layout| FragmentMap::new(self.name, self.size, self.width.per_register(), layout))
            .expect("every row parses and lies within its operand, as the tests check")
    }
}
