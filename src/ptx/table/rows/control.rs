//! PTX ISA, "Control Flow Instructions", "Miscellaneous Instructions", "Special Registers", and directives that require a minimum version.

use super::{ANY, Form, SETMAXNREG, SM_90, row};

#[rustfmt::skip]
pub(super) static FLOW: &[Form] = &[
    //   mnemonic                                operands    PTX     needs  PTX ISA  Rust
    row("bra{.uni}",                             "label",    (1, 0), ANY,   "bra").by("Builder::if_, Builder::for_, …"),
    row("ret{.uni}",                             "",         (1, 0), ANY,   "ret").by("Builder::return_"),
    row("exit",                                  "",         (1, 0), ANY,   "exit").by("Builder::exit"),
];

#[rustfmt::skip]
pub(super) static MISCELLANEOUS: &[Form] = &[
    //   mnemonic                                operands    PTX     needs  PTX ISA  Rust
    row("brkpt",                                 "",         (1, 0), ANY,   "brkpt").by("Builder::brkpt"),
    row("nanosleep.u32",                         "a:t",      (6, 3), ANY,   "nanosleep").by("Builder::nanosleep"),
    row("setmaxnreg(.inc|.dec).sync.aligned.u32", "#24|232", (8, 0), SETMAXNREG, "setmaxnreg").by("Builder::setmaxnreg_inc, Builder::setmaxnreg_dec"),
    row("trap",                                  "",         (1, 0), ANY,   "trap").by("Builder::trap"),
];

#[rustfmt::skip]
pub(super) static SPECIAL_REGISTERS: &[Form] = &[
    //   register                                type        PTX     needs  PTX ISA  Rust
    row("%tid(.x|.y|.z)",                        "u32",      (1, 0), ANY,   "%tid").by("Builder::tid_x, tid_y, tid_z"),
    row("%ntid(.x|.y|.z)",                       "u32",      (1, 0), ANY,   "%ntid").by("Builder::ntid_x, ntid_y, ntid_z"),
    row("%laneid",                               "u32",      (1, 3), ANY,   "%laneid").by("Builder::laneid"),
    row("%warpid",                               "u32",      (1, 3), ANY,   "%warpid").by("Builder::warpid"),
    row("%nwarpid",                              "u32",      (2, 0), ANY,   "%nwarpid").by("Builder::nwarpid"),
    row("%ctaid(.x|.y|.z)",                      "u32",      (1, 0), ANY,   "%ctaid").by("Builder::ctaid_x, ctaid_y, ctaid_z"),
    row("%nctaid(.x|.y|.z)",                     "u32",      (1, 0), ANY,   "%nctaid").by("Builder::nctaid_x, nctaid_y, nctaid_z"),
    row("%smid",                                 "u32",      (1, 3), ANY,   "%smid").by("Builder::smid"),
    row("%nsmid",                                "u32",      (2, 0), ANY,   "%nsmid").by("Builder::nsmid"),
    row("%gridid",                               "u64",      (3, 0), ANY,   "%gridid").by("Builder::gridid"),
    row("%is_explicit_cluster",                  "pred",     (7, 8), SM_90, "%is_explicit_cluster").by("Builder::is_explicit_cluster"),
    row("%clusterid(.x|.y|.z)",                  "u32",      (7, 8), SM_90, "%clusterid").by("Builder::clusterid_x, clusterid_y, clusterid_z"),
    row("%nclusterid(.x|.y|.z)",                 "u32",      (7, 8), SM_90, "%nclusterid").by("Builder::nclusterid_x, nclusterid_y, nclusterid_z"),
    row("%cluster_ctaid(.x|.y|.z)",              "u32",      (7, 8), SM_90, "%cluster_ctaid").by("Builder::cluster_ctaid_x, cluster_ctaid_y, cluster_ctaid_z"),
    row("%cluster_nctaid(.x|.y|.z)",             "u32",      (7, 8), SM_90, "%cluster_nctaid").by("Builder::cluster_nctaid_x, cluster_nctaid_y, cluster_nctaid_z"),
    row("%cluster_ctarank",                      "u32",      (7, 8), SM_90, "%cluster_ctarank").by("Builder::cluster_ctarank"),
    row("%cluster_nctarank",                     "u32",      (7, 8), SM_90, "%cluster_nctarank").by("Builder::cluster_nctarank"),
    row("%lanemask(_eq|_le|_lt|_ge|_gt)",        "u32",      (2, 0), ANY,   "%lanemask").by("Builder::lanemask_eq, lanemask_le, lanemask_lt, lanemask_ge, lanemask_gt"),
    row("%clock{_hi}",                           "u32",      (1, 0), ANY,   "%clock").by("Builder::clock, Builder::clock_hi"),
    row("%clock64",                              "u64",      (2, 0), ANY,   "%clock64").by("Builder::clock64"),
    row("%globaltimer",                          "u64",      (3, 1), ANY,   "%globaltimer").by("Builder::globaltimer"),
    row("%total_smem_size",                      "u32",      (4, 1), ANY,   "%total_smem_size").by("Builder::total_smem_size"),
    row("%dynamic_smem_size",                    "u32",      (4, 1), ANY,   "%dynamic_smem_size").by("Builder::dynamic_smem_size"),
];

#[rustfmt::skip]
pub(super) static DIRECTIVES: &[Form] = &[
    //   directive                               arguments   PTX     needs  PTX ISA  Rust
    row(".maxntid",                              "#1",       (1, 3), ANY,   ".maxntid").by("Builder::max_block"),
    row(".maxnreg",                              "#32",      (1, 3), ANY,   ".maxnreg").by("Builder::max_registers"),
    row(".reqntid",                              "#1",       (2, 1), ANY,   ".reqntid").by("Builder::block"),
    row(".reqnctapercluster",                    "#1",       (7, 8), SM_90, ".reqnctapercluster").by("Builder::cluster"),
];
