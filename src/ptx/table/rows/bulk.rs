//! `cp.async.bulk`, tensor copies and tensor maps (PTX ISA, "Non-Tensor copy instructions", "Tensor copy instructions",
//! "Miscellaneous Instructions: tensormap").
//!
//! ptxas advises against multicast on targets that are not architecture-specific.

use super::{Form, MULTICAST, SM_90, TENSORMAP, row};

const COPY: &str = "cp.async.bulk";
const REDUCE: &str = "cp.reduce.async.bulk";
const TENSOR: &str = "cp.async.bulk.tensor";
const TENSOR_REDUCE: &str = "cp.reduce.async.bulk.tensor";
const PREFETCH: &str = "cp.async.bulk.prefetch";
const REPLACE: &str = "tensormap.replace";
const BY_LOAD: &str = "TensorMapPtr::load";
const BY_IM2COL: &str = "TensorMapPtr::load_im2col";
const BY_OUT: &str = "TensorMapPtr::store, TensorMapPtr::store_im2col";
const BY_REDUCE: &str = "TensorMapPtr::reduce, TensorMapPtr::reduce_im2col";

/// A load of a box into shared memory of the cluster, optionally followed by qualifiers that add operands.
macro_rules! load {
    (tile $($rest:literal)?) => {
        concat!("cp.async.bulk.tensor(.1d|.2d|.3d|.4d|.5d).shared::cluster.global.tile.mbarrier::complete_tx::bytes" $(, $rest)?)
    };
    (im2col $($rest:literal)?) => {
        concat!("cp.async.bulk.tensor(.3d|.4d|.5d).shared::cluster.global.im2col.mbarrier::complete_tx::bytes" $(, $rest)?)
    };
}

/// A reduction that is not a tensor copy: into global memory, or into shared memory of the cluster (`shared`).
macro_rules! reduce {
    ($operation:literal) => {
        concat!("cp.reduce.async.bulk.global.shared::cta.bulk_group", $operation)
    };
    (hint $operation:literal) => {
        concat!("cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", $operation)
    };
    (shared $operation:literal) => {
        concat!("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", $operation)
    };
}

/// A store or a reduction of a box; the operation and the cache hint may be empty.
macro_rules! store {
    (tile $root:literal, $op:literal, $hint:literal) => {
        concat!($root, "(.1d|.2d|.3d|.4d|.5d).global.shared::cta", $op, ".tile.bulk_group", $hint)
    };
    (im2col $root:literal, $op:literal, $hint:literal) => {
        concat!($root, "(.3d|.4d|.5d).global.shared::cta", $op, ".im2col_no_offs.bulk_group", $hint)
    };
}

#[rustfmt::skip]
pub(super) static FORMS: &[Form] = &[
    //   mnemonic                                                                                   operands                                    PTX     needs  PTX ISA  Rust
    row("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",                        "[d:shared] [a] n:u32 [m:shared]",             (8, 0), SM_90, COPY).by("Ptr::copy_bulk"),
    row("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint",         "[d:shared] [a] n:u32 [m:shared] p:b64",       (8, 0), SM_90, COPY).by("Ptr::copy_bulk"),
    row("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",     "[d:shared] [a] n:u32 [m:shared] c:b16",       (8, 0), MULTICAST, COPY).by("Ptr::copy_bulk"),
    row("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint", "[d:shared] [a] n:u32 [m:shared] c:b16 p:b64", (8, 0), MULTICAST, COPY).by("Ptr::copy_bulk"),
    row("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes",                            "[d:shared] [a] n:u32 [m:shared]",             (8, 6), SM_90, COPY).by("Builder::raw"),
    row("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint",             "[d:shared] [a] n:u32 [m:shared] p:b64",       (8, 6), SM_90, COPY).by("Builder::raw"),
    row("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",                   "[d:shared] [a:shared] n:u32 [m:shared]",      (8, 0), SM_90, COPY).by("Ptr::copy_bulk_shared"),
    row("cp.async.bulk.global.shared::cta.bulk_group",                                              "[d] [a:shared] n:u32",                        (8, 0), SM_90, COPY).by("Ptr::copy_bulk_out"),
    row("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint",                               "[d] [a:shared] n:u32 p:b64",                  (8, 0), SM_90, COPY).by("Ptr::copy_bulk_out"),
    row("cp.async.bulk.prefetch.L2.global",                                                         "[a] n:u32",                                   (8, 0), SM_90, PREFETCH).by("Ptr::prefetch_bulk"),
    row("cp.async.bulk.prefetch.L2.global.L2::cache_hint",                                          "[a] n:u32 p:b64",                             (8, 0), SM_90, PREFETCH).by("Ptr::prefetch_bulk"),
    row("cp.async.bulk.commit_group",                                                               "",                                            (8, 0), SM_90, "cp.async.bulk.commit_group").by("Builder::cp_async_bulk_commit_group"),
    row("cp.async.bulk.wait_group{.read}",                                                          "#n",                                          (8, 0), SM_90, "cp.async.bulk.wait_group").by("Builder::cp_async_bulk_wait_group, Builder::cp_async_bulk_wait_group_read"),
    row(reduce!(shared ".add(.u32|.s32|.u64)"),                                                     "[d:shared] [a:shared] n:u32 [m:shared]",      (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_shared"),
    row(reduce!(shared "(.min|.max)(.u32|.s32)"),                                                   "[d:shared] [a:shared] n:u32 [m:shared]",      (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_shared"),
    row(reduce!(shared "(.inc|.dec).u32"),                                                          "[d:shared] [a:shared] n:u32 [m:shared]",      (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_shared"),
    row(reduce!(shared "(.and|.or|.xor).b32"),                                                      "[d:shared] [a:shared] n:u32 [m:shared]",      (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_shared"),
    row(reduce!(".add(.u32|.s32|.u64|.f32|.f64)"),                                                  "[d] [a:shared] n:u32",                        (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_out"),
    row(reduce!(".add.noftz(.f16|.bf16)"),                                                          "[d] [a:shared] n:u32",                        (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_out"),
    row(reduce!("(.min|.max)(.u32|.s32|.u64|.s64|.f16|.bf16)"),                                     "[d] [a:shared] n:u32",                        (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_out"),
    row(reduce!("(.inc|.dec).u32"),                                                                 "[d] [a:shared] n:u32",                        (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_out"),
    row(reduce!("(.and|.or|.xor)(.b32|.b64)"),                                                      "[d] [a:shared] n:u32",                        (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_out"),
    row(reduce!(hint ".add(.u32|.s32|.u64|.f32|.f64)"),                                             "[d] [a:shared] n:u32 p:b64",                  (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_out"),
    row(reduce!(hint ".add.noftz(.f16|.bf16)"),                                                     "[d] [a:shared] n:u32 p:b64",                  (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_out"),
    row(reduce!(hint "(.min|.max)(.u32|.s32|.u64|.s64|.f16|.bf16)"),                                "[d] [a:shared] n:u32 p:b64",                  (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_out"),
    row(reduce!(hint "(.inc|.dec).u32"),                                                            "[d] [a:shared] n:u32 p:b64",                  (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_out"),
    row(reduce!(hint "(.and|.or|.xor)(.b32|.b64)"),                                                 "[d] [a:shared] n:u32 p:b64",                  (8, 0), SM_90, REDUCE).by("Ptr::reduce_bulk_out"),
    row(load!(tile),                                                                                "[d:shared] [map,nd] [m:shared]",              (8, 0), SM_90, TENSOR).by(BY_LOAD),
    row(load!(tile ".L2::cache_hint"),                                                              "[d:shared] [map,nd] [m:shared] p:b64",        (8, 0), SM_90, TENSOR).by(BY_LOAD),
    row(load!(tile ".multicast::cluster"),                                                          "[d:shared] [map,nd] [m:shared] c:b16",        (8, 0), MULTICAST, TENSOR).by(BY_LOAD),
    row(load!(tile ".multicast::cluster.L2::cache_hint"),                                           "[d:shared] [map,nd] [m:shared] c:b16 p:b64",  (8, 0), MULTICAST, TENSOR).by(BY_LOAD),
    row(load!(im2col),                                                                              "[d:shared] [map,nd] [m:shared] {nd-2}o:b16",  (8, 0), SM_90, TENSOR).by(BY_IM2COL),
    row(load!(im2col ".L2::cache_hint"),                                                            "[d:shared] [map,nd] [m:shared] {nd-2}o:b16 p:b64", (8, 0), SM_90, TENSOR).by(BY_IM2COL),
    row(load!(im2col ".multicast::cluster"),                                                        "[d:shared] [map,nd] [m:shared] {nd-2}o:b16 c:b16", (8, 0), MULTICAST, TENSOR).by(BY_IM2COL),
    row(load!(im2col ".multicast::cluster.L2::cache_hint"),                                         "[d:shared] [map,nd] [m:shared] {nd-2}o:b16 c:b16 p:b64", (8, 0), MULTICAST, TENSOR).by(BY_IM2COL),
    row("cp.async.bulk.tensor(.1d|.2d|.3d|.4d|.5d).shared::cta.global.tile.mbarrier::complete_tx::bytes", "[d:shared] [map,nd] [m:shared]",        (8, 6), SM_90, TENSOR).by("Builder::raw"),
    row("cp.async.bulk.tensor(.3d|.4d|.5d).shared::cta.global.im2col.mbarrier::complete_tx::bytes", "[d:shared] [map,nd] [m:shared] {nd-2}o:b16",  (8, 6), SM_90, TENSOR).by("Builder::raw"),
    row(store!(tile   "cp.async.bulk.tensor", "", ""),                                              "[map,nd] [a:shared]",                         (8, 0), SM_90, TENSOR).by(BY_OUT),
    row(store!(im2col "cp.async.bulk.tensor", "", ""),                                              "[map,nd] [a:shared]",                         (8, 0), SM_90, TENSOR).by(BY_OUT),
    row(store!(tile   "cp.async.bulk.tensor", "", ".L2::cache_hint"),                               "[map,nd] [a:shared] p:b64",                   (8, 0), SM_90, TENSOR).by(BY_OUT),
    row(store!(im2col "cp.async.bulk.tensor", "", ".L2::cache_hint"),                               "[map,nd] [a:shared] p:b64",                   (8, 0), SM_90, TENSOR).by(BY_OUT),
    row(store!(tile   "cp.reduce.async.bulk.tensor", "(.add|.min|.max|.inc|.dec|.and|.or|.xor)", ""), "[map,nd] [a:shared]",                       (8, 0), SM_90, TENSOR_REDUCE).by(BY_REDUCE),
    row(store!(im2col "cp.reduce.async.bulk.tensor", "(.add|.min|.max|.inc|.dec|.and|.or|.xor)", ""), "[map,nd] [a:shared]",                       (8, 0), SM_90, TENSOR_REDUCE).by(BY_REDUCE),
    row(store!(tile   "cp.reduce.async.bulk.tensor", "(.add|.min|.max|.inc|.dec|.and|.or|.xor)", ".L2::cache_hint"), "[map,nd] [a:shared] p:b64",  (8, 0), SM_90, TENSOR_REDUCE).by(BY_REDUCE),
    row(store!(im2col "cp.reduce.async.bulk.tensor", "(.add|.min|.max|.inc|.dec|.and|.or|.xor)", ".L2::cache_hint"), "[map,nd] [a:shared] p:b64",  (8, 0), SM_90, TENSOR_REDUCE).by(BY_REDUCE),
    row("cp.async.bulk.prefetch.tensor(.1d|.2d|.3d|.4d|.5d).L2.global.tile",                        "[map,nd]",                                    (8, 0), SM_90, "cp.async.bulk.prefetch.tensor").by("TensorMapPtr::prefetch"),
    row("cp.async.bulk.prefetch.tensor(.1d|.2d|.3d|.4d|.5d).L2.global.tile.L2::cache_hint",         "[map,nd] p:b64",                              (8, 0), SM_90, "cp.async.bulk.prefetch.tensor").by("TensorMapPtr::prefetch"),
    row("cp.async.bulk.prefetch.tensor(.3d|.4d|.5d).L2.global.im2col",                              "[map,nd] {nd-2}o:b16",                        (8, 0), SM_90, "cp.async.bulk.prefetch.tensor").by("TensorMapPtr::prefetch_im2col"),
    row("cp.async.bulk.prefetch.tensor(.3d|.4d|.5d).L2.global.im2col.L2::cache_hint",               "[map,nd] {nd-2}o:b16 p:b64",                  (8, 0), SM_90, "cp.async.bulk.prefetch.tensor").by("TensorMapPtr::prefetch_im2col"),
    row("prefetch.tensormap",                                                                       "[a]",                                         (8, 0), SM_90, "prefetch").by("TensorMapPtr::prefetch_descriptor"),
    row("tensormap.replace.tile.global_address(.global|.shared::cta).b1024.b64",                    "[a] v:b64",                                   (8, 3), TENSORMAP, REPLACE).by("TensorMapEdit::global_address"),
    row("tensormap.replace.tile.rank(.global|.shared::cta).b1024.b32",                              "[a] v:b32",                                   (8, 3), TENSORMAP, REPLACE).by("TensorMapEdit::rank"),
    row("tensormap.replace.tile(.box_dim|.global_dim|.element_stride)(.global|.shared::cta).b1024.b32", "[a] #n v:b32",                            (8, 3), TENSORMAP, REPLACE).by("TensorMapEdit::box_dim, TensorMapEdit::global_dim, TensorMapEdit::element_stride"),
    row("tensormap.replace.tile.global_stride(.global|.shared::cta).b1024.b64",                     "[a] #n v:b64",                                (8, 3), TENSORMAP, REPLACE).by("TensorMapEdit::global_stride"),
    row("tensormap.replace.tile(.elemtype|.interleave_layout|.swizzle_mode|.fill_mode)(.global|.shared::cta).b1024.b32", "[a] #n",                 (8, 3), TENSORMAP, REPLACE).by("TensorMapEdit::choose"),
    row("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release(.cta|.cluster|.gpu|.sys).sync.aligned", "[d] [a:shared] #128",      (8, 3), SM_90, "tensormap.cp_fenceproxy").by("TensorMapEdit::publish"),
    row("fence.proxy.tensormap::generic.acquire(.cta|.cluster|.gpu|.sys)",                          "[a] #128",                                    (8, 3), SM_90, "fence.proxy").by("TensorMapPtr::acquire"),
];
