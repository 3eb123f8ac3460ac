//! The kernel of triangular systems of equations, as PTX.
//!
//! Each thread solves the system for one column of B by forward substitution. For each element, the thread multiplies the element of B by
//! alpha, subtracts the products with the preceding elements in order, using fused multiply-adds, and divides by the diagonal element.

use crate::blas::kernel::{THREADS, Type};

/// Returns the PTX module that contains the kernel for f32 or f64. The kernel's parameters are the arguments of `System::launch`.
pub(super) fn text(ty: Type) -> String {
    let (f, zero) = ty.in_ptx();
    format!(
        "// Triangular systems of cuBLAS in {f}.
.version 7.0
.target sm_75
.address_size 64

.visible .entry trsm(
    .param .u64 t_at, .param .u64 b_at, .param .u64 arrays, .param .u64 t_first, .param .u64 b_first,
    .param .u64 t_row, .param .u64 t_column, .param .u64 b_row, .param .u64 b_column,
    .param .u64 alpha_at, .param .{f} alpha_value, .param .u32 rows, .param .u32 columns, .param .u32 has_diagonal)
{{
    .reg .pred outside, batched, given, none, divides, more;
    .reg .u32 tile, across, column, number, height, row, left;
    .reg .u64 t, b, at, from, to, index, stride, down, t_step, b_step;
    .reg .{f} alpha, sum, x, y;

    // Blocks are ordered by column within a matrix, then by matrix of the batch.
    mov.u32 tile, %ctaid.x;
    ld.param.u32 number, [columns];
    add.u32 across, number, {THREADS} - 1;
    div.u32 across, across, {THREADS};
    rem.u32 column, tile, across;
    div.u32 tile, tile, across;
    mov.u32 left, %tid.x;
    mad.lo.u32 column, column, {THREADS}, left;
    setp.ge.u32 outside, column, number;
    @outside ret;

    ld.param.u64 b, [b_at];
    // Arrays contain the addresses of the matrices.
    ld.param.u64 at, [arrays];
    setp.ne.u64 batched, at, 0;
    cvt.u64.u32 index, tile;
    @batched mad.lo.u64 b, index, 8, b;
    @batched ld.global.u64 b, [b];
    ld.param.u64 at, [b_first];
    add.u64 b, b, at;
    cvt.u64.u32 at, column;
    ld.param.u64 stride, [b_column];
    mad.lo.u64 b, at, stride, b;
    ld.param.u64 b_step, [b_row];
    ld.param.u32 height, [rows];
    mov.u32 row, 0;
    mov.u64 to, b;

    ld.param.{f} alpha, [alpha_value];
    ld.param.u64 at, [alpha_at];
    setp.ne.u64 given, at, 0;
    @given ld.global.{f} alpha, [at];
    // With an alpha of 0, neither matrix is read.
    setp.eq.{f} none, alpha, {zero};
    @none bra ZEROS;

    ld.param.u64 t, [t_at];
    @batched mad.lo.u64 t, index, 8, t;
    @batched ld.global.u64 t, [t];
    ld.param.u64 at, [t_first];
    add.u64 t, t, at;
    ld.param.u64 down, [t_row];
    ld.param.u64 t_step, [t_column];
    ld.param.u32 number, [has_diagonal];
    setp.ne.u32 divides, number, 0;
ROWS:
    ld.global.{f} sum, [to];
    mul.rn.{f} sum, sum, alpha;
    mov.u64 at, t;
    mov.u64 from, b;
    mov.u32 left, row;
    setp.eq.u32 none, left, 0;
    @none bra SOLVED;
PRODUCTS:
    ld.global.{f} x, [at];
    neg.{f} x, x;
    ld.global.{f} y, [from];
    fma.rn.{f} sum, x, y, sum;
    add.u64 at, at, t_step;
    add.u64 from, from, b_step;
    sub.u32 left, left, 1;
    setp.ne.u32 more, left, 0;
    @more bra PRODUCTS;
SOLVED:
    @divides ld.global.{f} x, [at];
    @divides div.rn.{f} sum, sum, x;
    st.global.{f} [to], sum;
    add.u64 t, t, down;
    add.u64 to, to, b_step;
    add.u32 row, row, 1;
    setp.lt.u32 more, row, height;
    @more bra ROWS;
    ret;
ZEROS:
    mov.{f} sum, {zero};
    st.global.{f} [to], sum;
    add.u64 to, to, b_step;
    add.u32 row, row, 1;
    setp.lt.u32 more, row, height;
    @more bra ZEROS;
    ret;
}}
"
    )
}
