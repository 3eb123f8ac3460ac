//! Special registers: where a thread is, and clocks (PTX ISA, "Special Registers").

use crate::ptx::{kernel::K, operand::Operand, types::Scalar, val::Val};

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident: $t:ty = $ptx:literal;)*) => {
        impl<'k> K<'k> {
            $(
                $(#[$doc])*
                #[doc(alias = $ptx)]
                #[track_caller]
                pub fn $name(self) -> Val<'k, $t> {
                    self.result(format_args!("mov.{}", <$t as Scalar>::MEM), &[Operand::Name($ptx)])
                }
            )*
        }
    };
}

special_registers! {
    /// Number of the thread in its block, x.
    tid_x: u32 = "%tid.x";
    /// Number of the thread in its block, y.
    tid_y: u32 = "%tid.y";
    /// Number of the thread in its block, z.
    tid_z: u32 = "%tid.z";
    /// Threads of a block, x.
    ntid_x: u32 = "%ntid.x";
    /// Threads of a block, y.
    ntid_y: u32 = "%ntid.y";
    /// Threads of a block, z.
    ntid_z: u32 = "%ntid.z";
    /// Number of the block in the grid, x.
    ctaid_x: u32 = "%ctaid.x";
    /// Number of the block in the grid, y.
    ctaid_y: u32 = "%ctaid.y";
    /// Number of the block in the grid, z.
    ctaid_z: u32 = "%ctaid.z";
    /// Blocks of the grid, x.
    nctaid_x: u32 = "%nctaid.x";
    /// Blocks of the grid, y.
    nctaid_y: u32 = "%nctaid.y";
    /// Blocks of the grid, z.
    nctaid_z: u32 = "%nctaid.z";
    /// Number of the thread in its warp, 0 to 31.
    laneid: u32 = "%laneid";
    /// Number of the warp on its multiprocessor: for diagnosis, as it may change; `tid / 32` is the warp of the block.
    warpid: u32 = "%warpid";
    /// Number of the multiprocessor.
    smid: u32 = "%smid";
    /// Multiprocessors, or more.
    nsmid: u32 = "%nsmid";
    /// Bit of this lane.
    lanemask_eq: u32 = "%lanemask_eq";
    /// Bits of the lanes below this one.
    lanemask_lt: u32 = "%lanemask_lt";
    /// Bits of the lanes up to and with this one.
    lanemask_le: u32 = "%lanemask_le";
    /// Bits of the lanes above this one.
    lanemask_gt: u32 = "%lanemask_gt";
    /// Bits of this lane and those above.
    lanemask_ge: u32 = "%lanemask_ge";
    /// Cycles of this multiprocessor, low 32 bits.
    clock: u32 = "%clock";
    /// Cycles of this multiprocessor.
    clock64: u64 = "%clock64";
    /// Nanoseconds.
    globaltimer: u64 = "%globaltimer";
    /// Bytes of dynamic shared memory.
    dynamic_smem_size: u32 = "%dynamic_smem_size";
}
