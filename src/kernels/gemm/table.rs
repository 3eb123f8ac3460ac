//! Tables of the fastest measured kernel for each problem.

mod text;

use std::sync::LazyLock;

use super::{Gemm, GpuKind, MatrixOrder};
use crate::ptx::Element;

/// A table of the fastest kernels that `warpwright tune gemm` found on a GPU, one for each problem, with the measurement conditions.
///
/// In text form, a table consists of lines with the measurement conditions, a line with the column names, and one line for each entry, as
/// in the example below. Parsing fails if [`Gemm`] does not support the tile, cluster, orders and parts of an entry, or if two entries have
/// the same types, orders and sizes.
///
/// ```
/// use warpwright::{kernels::{GemmTable, MatrixOrder}, prelude::*};
///
/// let table: GemmTable = "\
/// gpu: NVIDIA H200
/// capability: 9.0
/// multiprocessors: 132
/// driver: CUDA 13.0
/// date: 2026-11-23
/// command: warpwright tune gemm --m 4096 --n 4096 --k 4096
/// T D A B m n k tile cluster parts group µs
/// bf16 bf16 row col 4096 4096 4096 128x192 1x1 1 8 190.1
/// ".parse()?;
///
/// let gemm = table.for_problem::<bf16, bf16>(MatrixOrder::Row, MatrixOrder::Col, [4096; 3]);
/// assert_eq!(gemm.tile.to_string(), "128x192");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "autotuner")]
#[derive(Clone, Debug, PartialEq)]
pub struct GemmTable {
    /// The kind of GPU on which the kernels were measured.
    pub gpu: GpuKind,
    /// The latest CUDA version that the driver supports, such as `CUDA 13.0`.
    pub driver: String,
    /// The date of the measurement, such as `2026-11-23`.
    pub date: String,
    /// The command that performed the measurement.
    pub command: String,
    /// The problems and their kernels.
    pub entries: Vec<GemmEntry>,
}

/// The fastest kernel for a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct GemmEntry {
    /// The type of the operands, such as `bf16`.
    pub operand: String,
    /// The type of the result, such as `bf16`.
    pub result: String,
    /// m, n and k.
    pub size: [u32; 3],
    /// The kernel. The text form of a table contains only the kernel's orders, tile, cluster and parts, and the number of rows per group of
    /// its schedule.
    pub gemm: Gemm,
    /// The median time of a launch in microseconds.
    pub micros: f64,
}

/// One table for each run of `tune`; no two tables for the same GPU contain the same problem.
static BUILTIN: LazyLock<[GemmTable; 17]> = LazyLock::new(|| {
    [
        include_str!("tables/h200.txt"),
        include_str!("tables/h200_earlier.txt"),
        include_str!("tables/h200_f16.txt"),
        include_str!("tables/h200_f16_earlier.txt"),
        include_str!("tables/h200_llama.txt"),
        include_str!("tables/h200_llama_bf16.txt"),
        include_str!("tables/h200_llama_nn_tn.txt"),
        include_str!("tables/h200_skinny.txt"),
        include_str!("tables/h200_types.txt"),
        include_str!("tables/h200_types_nt.txt"),
        include_str!("tables/h200_types_skinny.txt"),
        include_str!("tables/h100.txt"),
        include_str!("tables/h100_f16.txt"),
        include_str!("tables/h100_llama.txt"),
        include_str!("tables/h100_llama_types.txt"),
        include_str!("tables/h100_skinny.txt"),
        include_str!("tables/h100_types.txt"),
    ]
    .map(|text| text.parse().expect("the crate's tests parse the tables"))
});

impl GemmTable {
    /// Returns the built-in tables, which [`Gemm::for_problem`] searches.
    pub fn builtin() -> &'static [Self] {
        &*BUILTIN
    }

    /// Returns the table's kernel for the product of an m×k matrix in order `a` and a k×n matrix in order `b`, where `size` is `[m, n, k]`.
    /// The operands have type `T`, and the result has type `D`. Returns `None` if the table does not contain this problem.
    pub fn get<T: Element, D: Element>(
        &self,
        a: MatrixOrder,
        b: MatrixOrder,
        size: [u32; 3],
    ) -> Option<Gemm> {
        let problem = (T::NAME, D::NAME, a, b, size);
        self.entries.iter().find(|entry| entry.problem() == problem).map(|entry| entry.gemm)
    }

    /// Returns the table's kernel for a problem or, if the table does not contain the problem, the kernel that [`Gemm::for_problem`]
    /// returns for the table's GPU. The parameters are the same as for [`get`](Self::get).
    #[must_use]
    pub fn for_problem<T: Element, D: Element>(
        &self,
        a: MatrixOrder,
        b: MatrixOrder,
        size: [u32; 3],
    ) -> Gemm {
        self.get::<T, D>(a, b, size).unwrap_or_else(|| Gemm::for_problem::<T, D>(a, b, size, &self.gpu))
    }
}

impl GemmEntry {
    /// Returns the types of the operands and of the result, the orders of A and B, and m, n and k.
    fn problem(&self) -> (&str, &str, MatrixOrder, MatrixOrder, [u32; 3]) {
        (&self.operand, &self.result, self.gemm.a, self.gemm.b, self.size)
    }
}
