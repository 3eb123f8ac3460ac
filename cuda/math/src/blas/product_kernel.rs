//! The kernel of a matrix product, as PTX.
//!
//! Each thread computes up to 4 elements of a row of C. It accumulates products in order of increasing k, using fused multiply-adds in the
//! type that [`Kind::sum`] returns.

use crate::blas::kernel::{THREADS, Type};

/// The types of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    /// The type of A and B.
    pub(super) operand: Type,
    /// The type of C.
    pub(super) result: Type,
    /// The type of alpha and beta.
    pub(super) scalar: Type,
}

/// The number of rows and columns of C that a block computes.
pub(super) const ROWS: u32 = 32;
pub(super) const COLUMNS: u32 = 16;

/// The number of columns of C that a thread computes.
const PER_THREAD: u32 = COLUMNS * ROWS / THREADS;

impl Kind {
    /// Returns the accumulation type: the type of the scalars, or f32 if the scalars are f16.
    pub(super) fn sum(self) -> Type {
        if self.scalar == Type::F16 { Type::F32 } else { self.scalar }
    }

    /// Returns the instructions that load an element at an address and convert it to [`Kind::sum`].
    fn load(self, guard: &str, ty: Type, to: &str, from: &str) -> String {
        match ty {
            Type::F16 => {
                format!("    {guard}ld.global.b16 half, [{from}];\n    {guard}cvt.f32.f16 {to}, half;\n")
            }
            Type::Bf16 => format!(
                "    {guard}ld.global.b16 half, [{from}];\n    {guard}mov.b32 {to}, {{empty, half}};\n"
            ),
            Type::S8 if self.sum() == Type::F32 => {
                format!("    {guard}ld.global.s8 int, [{from}];\n    {guard}cvt.rn.f32.s32 {to}, int;\n")
            }
            Type::S8 => format!("    {guard}ld.global.s8 {to}, [{from}];\n"),
            Type::F32 | Type::F64 | Type::S32 => {
                format!("    {guard}ld.global.{} {to}, [{from}];\n", self.sum().in_ptx().0)
            }
        }
    }

    /// Returns the instructions that store a sum as an element of C.
    fn store(self, to: &str, from: &str) -> String {
        match self.result {
            Type::F16 => format!("    cvt.rn.f16.f32 half, {from};\n    st.global.b16 [{to}], half;\n"),
            Type::Bf16 => format!("    cvt.rn.bf16.f32 half, {from};\n    st.global.b16 [{to}], half;\n"),
            _ => format!("    st.global.{} [{to}], {from};\n", self.sum().in_ptx().0),
        }
    }

    /// Returns the PTX module that contains the kernel. The kernel's parameters are the arguments of `Product::launch`.
    pub(super) fn text(self) -> String {
        let (t, zero) = self.sum().in_ptx();
        let [mul, fma] = if t == "s32" { ["mul.lo", "mad.lo"] } else { ["mul.rn", "fma.rn"] };
        let target = if self.result == Type::Bf16 { "sm_80" } else { "sm_75" };
        // A NaN beta differs from 0.
        let differs = if t == "s32" { "ne" } else { "neu" };
        let each = |line: &dyn Fn(u32) -> String| (0..PER_THREAD).map(line).collect::<String>();
        let alpha = self.load("@given ", self.scalar, "alpha", "at");
        let beta = self.load("@given ", self.scalar, "beta", "at");
        let columns = each(&|q| {
            format!(
                "    add.u32 number, column, {q};\n    min.u32 number, number, last;\n    cvt.u64.u32 index, number;\n    \
                 mad.lo.u64 b{q}, index, b_stride, b;\n    mov.{t} sum{q}, {zero};\n"
            )
        });
        let load_a = self.load("", self.operand, "x", "a");
        let multiply = each(&|q| {
            let load_b = self.load("", self.operand, "y", &format!("b{q}"));
            format!("{load_b}    {fma}.{t} sum{q}, x, y, sum{q};\n    add.u64 b{q}, b{q}, b_step;\n")
        });
        let results = each(&|q| {
            let (load, store) = (self.load("@adds ", self.result, "y", "at"), self.store("at", "x"));
            format!(
                "    add.u32 number, column, {q};\n    setp.gt.u32 outside, number, last;\n    @outside ret;\n    \
                 cvt.u64.u32 index, number;\n    mad.lo.u64 at, index, c_stride, c;\n    {mul}.{t} x, sum{q}, alpha;\n{load}    \
                 @adds {fma}.{t} x, beta, y, x;\n{store}"
            )
        });
        format!(
            "// A matrix product of cuBLAS: {self:?}.
.version 7.0
.target {target}
.address_size 64

.visible .entry gemm(
    .param .u64 a_at, .param .u64 b_at, .param .u64 c_at, .param .u64 arrays,
    .param .u64 a_batch, .param .u64 b_batch, .param .u64 c_batch,
    .param .u64 a_row, .param .u64 a_depth, .param .u64 b_depth, .param .u64 b_column, .param .u64 c_row, .param .u64 c_column,
    .param .u64 alpha_at, .param .u64 beta_at, .param .{t} alpha_value, .param .{t} beta_value,
    .param .u32 rows, .param .u32 columns, .param .u32 depth)
{{
    .reg .pred outside, given, adds, more;
    .reg .b16 half, empty;
    .reg .u32 tile, down, across, row, column, last, left, number;
    .reg .s32 int;
    .reg .u64 a, b, c, at, index, stride, a_step, b_step, b_stride, c_stride;
    .reg .u64 b<{PER_THREAD}>;
    .reg .{t} alpha, beta, x, y, sum<{PER_THREAD}>;

    // Blocks are ordered by tile within a column of tiles, then by column, then by matrix of the batch.
    mov.b16 empty, 0;
    mov.u32 tile, %ctaid.x;
    ld.param.u32 down, [rows];
    add.u32 down, down, {ROWS} - 1;
    div.u32 down, down, {ROWS};
    ld.param.u32 last, [columns];
    add.u32 across, last, {COLUMNS} - 1;
    div.u32 across, across, {COLUMNS};
    sub.u32 last, last, 1;
    rem.u32 row, tile, down;
    div.u32 tile, tile, down;
    rem.u32 column, tile, across;
    div.u32 tile, tile, across;
    mov.u32 number, %tid.x;
    shr.u32 left, number, 5;
    and.b32 number, number, 31;
    mad.lo.u32 row, row, {ROWS}, number;
    mul.lo.u32 left, left, {PER_THREAD};
    mad.lo.u32 column, column, {COLUMNS}, left;
    ld.param.u32 number, [rows];
    setp.ge.u32 outside, row, number;
    @outside ret;
    setp.gt.u32 outside, column, last;
    @outside ret;

    cvt.u64.u32 index, tile;
    ld.param.u64 a, [a_at];
    ld.param.u64 stride, [a_batch];
    mad.lo.u64 a, index, stride, a;
    ld.param.u64 b, [b_at];
    ld.param.u64 stride, [b_batch];
    mad.lo.u64 b, index, stride, b;
    ld.param.u64 c, [c_at];
    ld.param.u64 stride, [c_batch];
    mad.lo.u64 c, index, stride, c;
    // Arrays contain the addresses of the matrices.
    ld.param.u64 at, [arrays];
    setp.ne.u64 given, at, 0;
    @given ld.global.u64 a, [a];
    @given ld.global.u64 b, [b];
    @given ld.global.u64 c, [c];
    cvt.u64.u32 index, row;
    ld.param.u64 stride, [a_row];
    mad.lo.u64 a, index, stride, a;
    ld.param.u64 stride, [c_row];
    mad.lo.u64 c, index, stride, c;

    ld.param.{t} alpha, [alpha_value];
    ld.param.u64 at, [alpha_at];
    setp.ne.u64 given, at, 0;
{alpha}    ld.param.{t} beta, [beta_value];
    ld.param.u64 at, [beta_at];
    setp.ne.u64 given, at, 0;
{beta}    setp.{differs}.{t} adds, beta, {zero};

    ld.param.u64 b_stride, [b_column];
    ld.param.u64 c_stride, [c_column];
    ld.param.u64 a_step, [a_depth];
    ld.param.u64 b_step, [b_depth];
{columns}    // With an alpha of 0, A and B are not read.
    ld.param.u32 left, [depth];
    setp.eq.{t} outside, alpha, {zero};
    @outside mov.u32 left, 0;
    setp.eq.u32 outside, left, 0;
    @outside bra RESULTS;
PRODUCTS:
{load_a}{multiply}    add.u64 a, a, a_step;
    sub.u32 left, left, 1;
    setp.ne.u32 more, left, 0;
    @more bra PRODUCTS;
RESULTS:
    // With a beta of 0, C is not read.
{results}    ret;
}}
"
        )
    }
}
