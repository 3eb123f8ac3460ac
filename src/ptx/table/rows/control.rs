//! PTX ISA, "Control Flow Instructions", "Miscellaneous Instructions", "Special Registers", and directives that need
//! a version.

use super::{ANY, Form, SM_90, row};

#[rustfmt::skip]
pub(super) static FLOW: &[Form] = &[
    //   mnemonic                                operands    PTX     needs  PTX ISA  Rust
    row("bra{.uni}",                             "label",    (1, 0), ANY,   "bra").by("K::if_, K::for_, …"),
    row("ret{.uni}",                             "",         (1, 0), ANY,   "ret").by("K::return_"),
    row("exit",                                  "",         (1, 0), ANY,   "exit").by("K::exit"),
];

#[rustfmt::skip]
pub(super) static MISCELLANEOUS: &[Form] = &[
    //   mnemonic                                operands    PTX     needs  PTX ISA  Rust
    row("brkpt",                                 "",         (1, 0), ANY,   "brkpt").by("K::brkpt"),
    row("nanosleep.u32",                         "a:t",      (6, 3), ANY,   "nanosleep").by("K::nanosleep"),
    row("trap",                                  "",         (1, 0), ANY,   "trap").by("K::trap"),
];

#[rustfmt::skip]
pub(super) static SPECIAL_REGISTERS: &[Form] = &[
    //   register                                type        PTX     needs  PTX ISA  Rust
    row("%tid(.x|.y|.z)",                        "u32",      (1, 0), ANY,   "%tid").by("K::tid_x, tid_y, tid_z"),
    row("%ntid(.x|.y|.z)",                       "u32",      (1, 0), ANY,   "%ntid").by("K::ntid_x, ntid_y, ntid_z"),
    row("%laneid",                               "u32",      (1, 3), ANY,   "%laneid").by("K::laneid"),
    row("%warpid",                               "u32",      (1, 3), ANY,   "%warpid").by("K::warpid"),
    row("%nwarpid",                              "u32",      (2, 0), ANY,   "%nwarpid").by("K::nwarpid"),
    row("%ctaid(.x|.y|.z)",                      "u32",      (1, 0), ANY,   "%ctaid").by("K::ctaid_x, ctaid_y, ctaid_z"),
    row("%nctaid(.x|.y|.z)",                     "u32",      (1, 0), ANY,   "%nctaid").by("K::nctaid_x, nctaid_y, nctaid_z"),
    row("%smid",                                 "u32",      (1, 3), ANY,   "%smid").by("K::smid"),
    row("%nsmid",                                "u32",      (2, 0), ANY,   "%nsmid").by("K::nsmid"),
    row("%gridid",                               "u64",      (3, 0), ANY,   "%gridid").by("K::gridid"),
    row("%is_explicit_cluster",                  "pred",     (7, 8), SM_90, "%is_explicit_cluster").by("K::is_explicit_cluster"),
    row("%clusterid(.x|.y|.z)",                  "u32",      (7, 8), SM_90, "%clusterid").by("K::clusterid_x, clusterid_y, clusterid_z"),
    row("%nclusterid(.x|.y|.z)",                 "u32",      (7, 8), SM_90, "%nclusterid").by("K::nclusterid_x, nclusterid_y, nclusterid_z"),
    row("%cluster_ctaid(.x|.y|.z)",              "u32",      (7, 8), SM_90, "%cluster_ctaid").by("K::cluster_ctaid_x, cluster_ctaid_y, cluster_ctaid_z"),
    row("%cluster_nctaid(.x|.y|.z)",             "u32",      (7, 8), SM_90, "%cluster_nctaid").by("K::cluster_nctaid_x, cluster_nctaid_y, cluster_nctaid_z"),
    row("%cluster_ctarank",                      "u32",      (7, 8), SM_90, "%cluster_ctarank").by("K::cluster_ctarank"),
    row("%cluster_nctarank",                     "u32",      (7, 8), SM_90, "%cluster_nctarank").by("K::cluster_nctarank"),
    row("%lanemask(_eq|_le|_lt|_ge|_gt)",        "u32",      (2, 0), ANY,   "%lanemask").by("K::lanemask_eq, lanemask_le, lanemask_lt, lanemask_ge, lanemask_gt"),
    row("%clock{_hi}",                           "u32",      (1, 0), ANY,   "%clock").by("K::clock, K::clock_hi"),
    row("%clock64",                              "u64",      (2, 0), ANY,   "%clock64").by("K::clock64"),
    row("%globaltimer",                          "u64",      (3, 1), ANY,   "%globaltimer").by("K::globaltimer"),
    row("%total_smem_size",                      "u32",      (4, 1), ANY,   "%total_smem_size").by("K::total_smem_size"),
    row("%dynamic_smem_size",                    "u32",      (4, 1), ANY,   "%dynamic_smem_size").by("K::dynamic_smem_size"),
];

#[rustfmt::skip]
pub(super) static DIRECTIVES: &[Form] = &[
    //   directive                               arguments   PTX     needs  PTX ISA  Rust
    row(".maxntid",                              "#1",       (1, 3), ANY,   ".maxntid").by("K::max_block"),
    row(".maxnreg",                              "#32",      (1, 3), ANY,   ".maxnreg").by("K::max_registers"),
    row(".reqntid",                              "#1",       (2, 1), ANY,   ".reqntid").by("K::block"),
    row(".reqnctapercluster",                    "#1",       (7, 8), SM_90, ".reqnctapercluster").by("K::cluster"),
];
