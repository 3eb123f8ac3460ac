//! Tensor-core instructions: conversion between fragments and matrices, and products by [`arith::mma`](crate::arith::mma).

mod descriptor;
mod fragment;
mod mma;
mod product;
mod quad_pair;
mod small;
mod sparse;
mod wgmma;
mod wmma;

use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::Tensor;
use crate::report::fault::Outcome;

/// Executes an instruction for the whole warp.
pub(crate) fn execute<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    tensor: &Tensor,
) -> Outcome<()> {
    if CHECKED {
        cluster.count_product(tensor);
    }
    match tensor {
        Tensor::Mma(op) => mma::execute(cluster, warp, op),
        Tensor::QuadPair(op) => quad_pair::execute(cluster, warp, op),
        Tensor::WmmaLoad(op) => wmma::load::<CHECKED>(cluster, warp, op),
        Tensor::WmmaStore(op) => wmma::store::<CHECKED>(cluster, warp, op),
        Tensor::Wmma(op) => wmma::execute(cluster, warp, op),
        Tensor::Wgmma(op) => wgmma::execute::<CHECKED>(cluster, warp, op),
    }
}
