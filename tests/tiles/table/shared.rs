//! The parts of the document for memory, by type, and for shared tiles and reductions, by scope.

use std::fmt::Write;

use warpwright::{
    prelude::*,
    ptx::Read,
    tiles::{Complex, Crt, Crv, Cst, Filled, Naive, Orthogonal},
};

use super::{
    super::numbers::Numeral,
    emitted::{Operands, Operation, codes, common, moved, moved_by_warp},
    registers::{positive, types},
};

pub(super) fn write(text: &mut String) {
    memory(text);
    by_type(text);
    scopes(text);
}

/// Copies by a block of one warp.
fn memory(text: &mut String) {
    types! { text by moved_by_warp =>
        "Memory (the arithmetic of addresses, lanes and conditions is omitted)" [f32 bf16 f64 e4m3] {
            "x.tile(0, 0).load()" |Operands { x, .. }| x.tile(0, 0).load::<T, 1, 1, Row>();
            "y.tile(0, 0).store(&t)" |Operands { y, t, .. }| y.tile(0, 0).store(&t);
            "x.row(0).tile(0).load() (`Naive`)" |Operands { x, .. }| x.row(0).tile(0).load::<T, 1, Naive>();
            "st.fill(x.tile(0, 0)).wait()" |Operands { k, x, .. }| k.shared_tile::<St<T, 1, 1>>().fill(x.tile(0, 0)).wait();
            "st.store(&t).wait()" |Operands { k, t, .. }| k.shared_tile::<St<T, 1, 1>>().store(&t).wait(),
            "st.store_with(|st| st.subtile(0, 0).store(&t)).wait()" |Operands { k, t, .. }| k.shared_tile::<St<T, 1, 1>>().store_with(|tile| tile.subtile(0, 0).store(&t)).wait();
            "st.store(&t).wait().load()" |Operands { k, t, .. }| k.shared_tile::<St<T, 1, 1>>().store(&t).wait().load::<Row>(),
            "st.store(&t).wait().load_as()" |Operands { k, t, .. }| k.shared_tile::<St<T, 1, 1>>().store(&t).wait().load_as::<T, Row>();
            "y.tile(0, 0).store_shared(&st.store(&t).wait())" |Operands { k, y, t, .. }| y.tile(0, 0).store_shared(&k.shared_tile::<St<T, 1, 1>>().store(&t).wait());
            "sv.fill(x.row(0).tile(0)).wait()" |Operands { k, x, .. }| k.shared_tile::<Sv<T, 1>>().fill(x.row(0).tile(0)).wait();
            "sv.fill_or(x.row(0).tile(0), 1).wait()" |Operands { k, x, .. }| k.shared_tile::<Sv<T, 1>>().fill_or(x.row(0).tile(0), T::of(1.0)).wait();
            "sv.store(&v).wait()" |Operands { k, v, .. }| k.shared_tile::<Sv<T, 1>>().store(&v).wait(),
            "sv.store_with(|sv| sv.tile(0).store(&v)).wait()" |Operands { k, v, .. }| k.shared_tile::<Sv<T, 1>>().store_with(|to| to.tile(0).store(&v)).wait();
            "sv.store(&v).wait().load()" |Operands { k, v, .. }| k.shared_tile::<Sv<T, 1>>().store(&v).wait().load::<Orthogonal>(),
            "sv.store(&v).wait().load_as()" |Operands { k, v, .. }| k.shared_tile::<Sv<T, 1>>().store(&v).wait().load_as::<T, Orthogonal>();
        }
        "Atomic additions" [f32 bf16 f16 f64 i32] {
            "y.tile(0, 0).add(&t)" |Operands { sums, t, .. }| sums.tile(0, 0).add(&t);
            "y.row(0).tile(0).add(&v)" |Operands { sums, v, .. }| sums.row(0).tile(0).add(&v);
        }
    }
}

/// Returns a shared tile of a scope, of ones: its instructions are those of `fill_with`.
fn ones<'k, T: Numeral>(k: Builder<'k>, scope: impl Scope<'k>) -> Filled<St<'k, T, 1, 1>> {
    k.shared_tile_of::<St<T, 1, 1>>(scope).fill_with(T::of(1.0)).wait()
}

/// Returns a shared vector of a scope: its instructions are those of `fill`.
fn row_of<'k>(k: Builder<'k>, x: &Gl<'k, f32, Read>, scope: impl Scope<'k>) -> Filled<Sv<'k, f32, 1>> {
    k.shared_tile_of::<Sv<f32, 1>>(scope).fill(x.row(0).tile(0)).wait()
}

/// Operations on the shared tiles of a warp, after the stores that fill them.
fn by_type(text: &mut String) {
    types! { text by moved_by_warp =>
        "Shared tiles of one warp, with the `fill_with` that fills them (arithmetic of addresses is omitted)" [f32 bf16 i32 i64] {
            "st.fill_with(1).wait()" |Operands { k, .. }| ones::<T>(k, k.warp());
            "st.map(|x| -x).wait()" |Operands { k, .. }| ones::<T>(k, k.warp()).map(|x| -x).wait(),
            "st.map_words(|x| -x).wait()" |Operands { k, .. }| ones::<T>(k, k.warp()).map_words(|x| -x).wait(),
            "st.update(|row, t| -t).wait()" |Operands { k, .. }| ones::<T>(k, k.warp()).update(|_, band| -band).wait();
            "st.update_with(|st| st.subtile(0, 0).update(|t| -t)).wait()" |Operands { k, .. }| ones::<T>(k, k.warp()).update_with(|tile| tile.subtile(0, 0).update(|part: Rt<'_, T, 1, 1>| -part)).wait();
            "st.row_max(sv).wait()" |Operands { k, .. }| ones::<T>(k, k.warp()).row_max(k.shared_tile()).wait();
            "st.col_max(sv).wait()" |Operands { k, .. }| ones::<T>(k, k.warp()).col_max::<1>(k.shared_tile()).wait();
            "st.add_with(|st| st.add(0, 0, &t)).wait()" |Operands { k, t, .. }| ones::<T>(k, k.warp()).add_with(|to| to.add(0, 0, &t)).wait();
        }
    }
}

/// The part for scopes of a block of 8 warps.
fn scopes(text: &mut String) {
    let _ = write!(
        text,
        "\n## Scopes\n\nThe operations are on f32, in a block of 8 warps; the tables above list the instructions of other types. The arithmetic of \
         addresses, lanes and conditions is omitted. Shared tiles \
         belong to the scope; operations on a filled tile are listed with the `fill_with` that fills it, and those on a filled vector with the `fill`.\n\n| operation | Warp | Warps<2> | WarpGroup | Block |\n| --- | --- | --- | --- | --- |\n"
    );
    macro_rules! scopes {
        ($($($name:literal |$operands:pat_param, $scope:ident| $operation:expr),+;)*) => {$({
            let names = [$($name),+];
            let operations: [[String; 4]; _] = [$([
                moved::<f32>($name, 256, &|operands| { let $scope = operands.k.warp(); let $operands = operands; let _ = $operation; }),
                moved::<f32>($name, 256, &|operands| { let $scope = operands.k.warps::<2>(); let $operands = operands; let _ = $operation; }),
                moved::<f32>($name, 256, &|operands| { let $scope = operands.k.warp_group(); let $operands = operands; let _ = $operation; }),
                moved::<f32>($name, 256, &|operands| { let $scope = operands.k.this_block(); let $operands = operands; let _ = $operation; }),
            ]),+];
            let of_scope = [0, 1, 2, 3].map(|scope| common(&names, &operations.each_ref().map(|lists| lists[scope].clone())));
            let _ = writeln!(text, "| {} | {} |", codes(&names), of_scope.join(" | "));
        })*};
    }
    scopes! {
        "t.sum_over(scope)" |Operands { t, .. }, scope| t.sum_over(scope),
        "t.product_over(scope)" |Operands { t, .. }, scope| t.product_over(scope);
        "t.maximum_over(scope)" |Operands { t, .. }, scope| t.maximum_over(scope),
        "t.minimum_over(scope)" |Operands { t, .. }, scope| t.minimum_over(scope);
        "t.row_sum_over(scope)" |Operands { t, .. }, scope| t.row_sum_over(scope),
        "t.row_prod_over(scope)" |Operands { t, .. }, scope| t.row_prod_over(scope);
        "t.row_max_over(scope)" |Operands { t, .. }, scope| t.row_max_over(scope),
        "t.row_min_over(scope)" |Operands { t, .. }, scope| t.row_min_over(scope);
        "t.col_sum_over(scope)" |Operands { t, .. }, scope| t.col_sum_over(scope),
        "t.col_prod_over(scope)" |Operands { t, .. }, scope| t.col_prod_over(scope);
        "t.col_max_over(scope)" |Operands { t, .. }, scope| t.col_max_over(scope),
        "t.col_min_over(scope)" |Operands { t, .. }, scope| t.col_min_over(scope);
        "t.any_over(scope, |x| x.gt(0))" |Operands { t, .. }, scope| t.any_over(scope, positive);
        "t.all_over(scope, |x| x.gt(0))" |Operands { t, .. }, scope| t.all_over(scope, positive);
        "t.argmax_over(scope)" |Operands { t, .. }, scope| t.argmax_over(scope),
        "t.argmin_over(scope)" |Operands { t, .. }, scope| t.argmin_over(scope);
        "t.row_argmax_over(scope)" |Operands { t, .. }, scope| t.row_argmax_over(scope),
        "t.row_argmin_over(scope)" |Operands { t, .. }, scope| t.row_argmin_over(scope);
        "t.col_argmax_over(scope)" |Operands { t, .. }, scope| t.col_argmax_over(scope),
        "t.col_argmin_over(scope)" |Operands { t, .. }, scope| t.col_argmin_over(scope);
        "t.row_any_over(scope, |x| x.gt(0))" |Operands { t, .. }, scope| t.row_any_over(scope, positive),
        "t.row_all_over(scope, |x| x.gt(0))" |Operands { t, .. }, scope| t.row_all_over(scope, positive);
        "t.col_any_over(scope, |x| x.gt(0))" |Operands { t, .. }, scope| t.col_any_over(scope, positive),
        "t.col_all_over(scope, |x| x.gt(0))" |Operands { t, .. }, scope| t.col_all_over(scope, positive);
        "v.sum_over(scope)" |Operands { v, .. }, scope| v.sum_over(scope),
        "v.product_over(scope)" |Operands { v, .. }, scope| v.product_over(scope);
        "v.maximum_over(scope)" |Operands { v, .. }, scope| v.maximum_over(scope),
        "v.minimum_over(scope)" |Operands { v, .. }, scope| v.minimum_over(scope);
        "v.any_over(scope, |x| x.gt(0))" |Operands { v, .. }, scope| v.any_over(scope, positive);
        "v.all_over(scope, |x| x.gt(0))" |Operands { v, .. }, scope| v.all_over(scope, positive);
        "v.argmax_over(scope)" |Operands { v, .. }, scope| v.argmax_over(scope),
        "v.argmin_over(scope)" |Operands { v, .. }, scope| v.argmin_over(scope);
        "v.all_reduce_sum(scope)" |Operands { v, .. }, scope| v.all_reduce_sum(scope),
        "v.all_reduce_prod(scope)" |Operands { v, .. }, scope| v.all_reduce_prod(scope);
        "v.all_reduce_max(scope)" |Operands { v, .. }, scope| v.all_reduce_max(scope),
        "v.all_reduce_min(scope)" |Operands { v, .. }, scope| v.all_reduce_min(scope);
        "c.sum_over(scope)" |Operands { t, u, .. }, scope| Crt { re: t, im: u }.sum_over(scope);
        "c.row_sum_over(scope)" |Operands { t, u, .. }, scope| Crt { re: t, im: u }.row_sum_over(scope);
        "c.col_sum_over(scope)" |Operands { t, u, .. }, scope| Crt { re: t, im: u }.col_sum_over(scope);
        "c.all_reduce_sum(scope)" |Operands { k, .. }, scope| Crv::<f32, 1>::zeros(k).all_reduce_sum(scope);
        "x.tile_of(scope, 0, 0).load()" |Operands { x, .. }, scope| x.tile_of(scope, 0, 0).load::<f32, 1, 1, Row>();
        "st.fill(x.tile(0, 0)).wait()" |Operands { k, x, .. }, scope| k.shared_tile_of::<St<f32, 1, 1>>(scope).fill(x.tile(0, 0)).wait();
        "st.fill_or(x.tile(0, 0), 1.0).wait()" |Operands { k, x, .. }, scope| k.shared_tile_of::<St<f32, 1, 1>>(scope).fill_or(x.tile(0, 0), 1.0).wait();
        "st.fill_with(1.0).wait()" |Operands { k, .. }, scope| ones::<f32>(k, scope);
        "st.map(|x| -x).wait()" |Operands { k, .. }, scope| ones::<f32>(k, scope).map(|x| -x).wait(),
        "st.update(|row, t| -t).wait()" |Operands { k, .. }, scope| ones::<f32>(k, scope).update(|_, band| -band).wait();
        "st.copy_from(&other).wait()" |Operands { k, .. }, scope| k.shared_tile_of::<St<f32, 1, 1>>(scope).copy_from(&ones::<f32>(k, scope)).wait();
        "st.row_sum(sv).wait()" |Operands { k, .. }, scope| ones::<f32>(k, scope).row_sum(k.shared_tile_of::<Sv<f32, 1>>(scope)).wait(),
        "st.row_prod(sv).wait()" |Operands { k, .. }, scope| ones::<f32>(k, scope).row_prod(k.shared_tile_of::<Sv<f32, 1>>(scope)).wait();
        "st.row_max(sv).wait()" |Operands { k, .. }, scope| ones::<f32>(k, scope).row_max(k.shared_tile_of::<Sv<f32, 1>>(scope)).wait(),
        "st.row_min(sv).wait()" |Operands { k, .. }, scope| ones::<f32>(k, scope).row_min(k.shared_tile_of::<Sv<f32, 1>>(scope)).wait();
        "st.col_sum(sv).wait()" |Operands { k, .. }, scope| ones::<f32>(k, scope).col_sum(k.shared_tile_of::<Sv<f32, 1>>(scope)).wait(),
        "st.col_prod(sv).wait()" |Operands { k, .. }, scope| ones::<f32>(k, scope).col_prod(k.shared_tile_of::<Sv<f32, 1>>(scope)).wait();
        "st.col_max(sv).wait()" |Operands { k, .. }, scope| ones::<f32>(k, scope).col_max(k.shared_tile_of::<Sv<f32, 1>>(scope)).wait(),
        "st.col_min(sv).wait()" |Operands { k, .. }, scope| ones::<f32>(k, scope).col_min(k.shared_tile_of::<Sv<f32, 1>>(scope)).wait();
        "st.sum()" |Operands { k, .. }, scope| ones::<f32>(k, scope).sum(),
        "st.product()" |Operands { k, .. }, scope| ones::<f32>(k, scope).product();
        "st.maximum()" |Operands { k, .. }, scope| ones::<f32>(k, scope).maximum(),
        "st.minimum()" |Operands { k, .. }, scope| ones::<f32>(k, scope).minimum();
        "st.argmax()" |Operands { k, .. }, scope| ones::<f32>(k, scope).argmax(),
        "st.argmin()" |Operands { k, .. }, scope| ones::<f32>(k, scope).argmin();
        "st.any(|x| x.gt(0))" |Operands { k, .. }, scope| ones::<f32>(k, scope).any(positive);
        "st.all(|x| x.gt(0))" |Operands { k, .. }, scope| ones::<f32>(k, scope).all(positive);
        "st.has_nan()" |Operands { k, .. }, scope| ones::<f32>(k, scope).has_nan();
        "st.add_with(|st| st.add(0, 0, &t)).wait()" |Operands { k, t, .. }, scope| ones::<f32>(k, scope).add_with(|to| to.add(0, 0, &t)).wait();
        "y.tile(0, 0).store_shared(&st)" |Operands { k, y, .. }, scope| y.tile(0, 0).store_shared(&ones::<f32>(k, scope));
        "st.release()" |Operands { k, .. }, scope| ones::<f32>(k, scope).release();
        "cst.fill(z.tile(0, 0)).wait()" |Operands { k, x, .. }, scope| {
            let z = Complex { re: x.clone(), im: x };
            k.shared_tile_of::<Cst<f32, 1, 1>>(scope).fill(z.tile(0, 0)).wait()
        };
        "cst.fill_with(1.0, 2.0).wait()" |Operands { k, .. }, scope| k.shared_tile_of::<Cst<f32, 1, 1>>(scope).fill_with(1.0, 2.0).wait();
        "cst.update(|row, c| -c).wait()" |Operands { k, .. }, scope| k.shared_tile_of::<Cst<f32, 1, 1>>(scope).fill_with(1.0, 2.0).wait().update(|_, band| -band).wait();
        "sv.fill(x.row(0).tile(0)).wait()" |Operands { k, x, .. }, scope| k.shared_tile_of::<Sv<f32, 1>>(scope).fill(x.row(0).tile(0)).wait();
        "sv.fill_with(1.0).wait()" |Operands { k, .. }, scope| k.shared_tile_of::<Sv<f32, 1>>(scope).fill_with(1.0).wait();
        "sv.copy_from(&other).wait()" |Operands { k, x, .. }, scope| k.shared_tile_of::<Sv<f32, 1>>(scope).copy_from(&row_of(k, &x, scope)).wait();
        "sv.map(|x| -x).wait()" |Operands { k, x, .. }, scope| row_of(k, &x, scope).map(|x| -x).wait();
        "sv.map_words(|x| -x).wait()" |Operands { k, x, .. }, scope| row_of(k, &x, scope).map_words(|x| -x).wait();
        "sv.update(|v| -v).wait()" |Operands { k, x, .. }, scope| row_of(k, &x, scope).update(|v| -v).wait();
        "sv.sum()" |Operands { k, x, .. }, scope| row_of(k, &x, scope).sum(), "sv.product()" |Operands { k, x, .. }, scope| row_of(k, &x, scope).product();
        "sv.maximum()" |Operands { k, x, .. }, scope| row_of(k, &x, scope).maximum(), "sv.minimum()" |Operands { k, x, .. }, scope| row_of(k, &x, scope).minimum();
        "sv.argmax()" |Operands { k, x, .. }, scope| row_of(k, &x, scope).argmax(), "sv.argmin()" |Operands { k, x, .. }, scope| row_of(k, &x, scope).argmin();
        "sv.any(|x| x.gt(0))" |Operands { k, x, .. }, scope| row_of(k, &x, scope).any(positive);
        "sv.all(|x| x.gt(0))" |Operands { k, x, .. }, scope| row_of(k, &x, scope).all(positive);
        "sv.has_nan()" |Operands { k, x, .. }, scope| row_of(k, &x, scope).has_nan();
        "sv.add_with(|sv| sv.add(0, &v)).wait()" |Operands { k, x, v, .. }, scope| row_of(k, &x, scope).add_with(|to| to.add(0, &v)).wait();
        "y.row(0).tile(0).store_shared(&sv)" |Operands { k, x, y, .. }, scope| y.row(0).tile(0).store_shared(&row_of(k, &x, scope));
        "scope.sync()" |_, scope| scope.sync();
    }
}
