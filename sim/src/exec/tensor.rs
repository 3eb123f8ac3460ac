//! Tensor-core instructions: fragments in and out, products by [`arith::mma`](crate::arith::mma).

mod descriptor;
mod fragment;
mod mma;
mod product;
mod quad_pair;
mod small;
mod sparse;
mod wgmma;
mod wmma;

use crate::machine::Cx;
use crate::machine::warp::Warp;
use crate::program::code::Tensor;
use crate::report::fault::Outcome;

/// Runs an instruction that the whole warp executes.
pub(crate) fn execute<const CHECKED: bool>(cx: &mut Cx<'_>, warp: &mut Warp, tensor: &Tensor) -> Outcome<()> {
    if CHECKED {
        cx.count_product(tensor);
    }
    match tensor {
        Tensor::Mma(op) => mma::execute(cx, warp, op),
        Tensor::QuadPair(op) => quad_pair::execute(cx, warp, op),
        Tensor::WmmaLoad(op) => wmma::load::<CHECKED>(cx, warp, op),
        Tensor::WmmaStore(op) => wmma::store::<CHECKED>(cx, warp, op),
        Tensor::Wmma(op) => wmma::execute(cx, warp, op),
        Tensor::Wgmma(op) => wgmma::execute::<CHECKED>(cx, warp, op),
    }
}
