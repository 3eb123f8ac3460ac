//! Special registers: indices of threads and blocks, lane masks, clocks, and shared memory sizes (PTX ISA, "Special Registers").

use std::panic::Location;

use crate::ptx::{dim::Dim, facts::Known, kernel::Builder, operand::Operand, types::Scalar, val::Val};

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident: $t:ty = $ptx:literal;)*) => {
        impl<'k> Builder<'k> {
            $(
                $(#[$doc])*
                #[doc(alias = $ptx)]
                #[track_caller]
                pub fn $name(self) -> Val<'k, $t> {
                    self.body().require($ptx, Location::caller());
                    let known = self.known_of_special($ptx, 8 * <$t as Scalar>::BYTES);
                    let value = self.integer(known, format_args!("mov.{}", <$t as Scalar>::MEM), &[Operand::Name($ptx)]);
                    if let Some((reg, _)) = value.reg() {
                        self.body().set_special(reg, $ptx);
                    }
                    value
                }
            )*
        }
    };
}

impl Builder<'_> {
    /// Returns the known facts about a special register, derived from the shapes of the block and the grid and from launch limits.
    fn known_of_special(self, name: &str, width: u32) -> Known {
        let body = self.body();
        let (name, axis) = match name.as_bytes() {
            [.., b'.', axis @ b'x'..=b'z'] => (&name[..name.len() - 2], usize::from(axis - b'x')),
            _ => (name, 0),
        };
        let threads =
            body.entry.block.or(body.entry.max_block).map_or([1024, 1024, 64][axis], |shape| shape[axis]);
        let blocks = [i32::MAX as u32, 0xffff, 0xffff][axis];
        let declared = body.entry.grid.as_ref().and_then(|grid| match grid[axis] {
            Dim::Const(n) => Some(n),
            _ => None,
        });
        match (name, body.entry.block) {
            ("%ntid", Some(shape)) => Known::constant(shape[axis].into(), width),
            ("%ntid", None) => Known::at_most(threads.into(), width),
            ("%tid", _) => Known::at_most(threads.saturating_sub(1).into(), width),
            ("%laneid", _) => Known::at_most(31, width),
            ("%nctaid", _) => Known::at_most(blocks.into(), width),
            ("%ctaid", _) => {
                Known::at_most(declared.map_or((blocks - 1).into(), |n| n.saturating_sub(1)), width)
            }
            _ => Known::nothing(width),
        }
    }
}

special_registers! {
    /// Returns the x index of the thread within its block.
    tid_x: u32 = "%tid.x";
    /// Returns the y index of the thread within its block.
    tid_y: u32 = "%tid.y";
    /// Returns the z index of the thread within its block.
    tid_z: u32 = "%tid.z";
    /// Returns the number of threads per block along x.
    ntid_x: u32 = "%ntid.x";
    /// Returns the number of threads per block along y.
    ntid_y: u32 = "%ntid.y";
    /// Returns the number of threads per block along z.
    ntid_z: u32 = "%ntid.z";
    /// Returns the x index of the block within the grid.
    ctaid_x: u32 = "%ctaid.x";
    /// Returns the y index of the block within the grid.
    ctaid_y: u32 = "%ctaid.y";
    /// Returns the z index of the block within the grid.
    ctaid_z: u32 = "%ctaid.z";
    /// Returns the number of blocks in the grid along x.
    nctaid_x: u32 = "%nctaid.x";
    /// Returns the number of blocks in the grid along y.
    nctaid_y: u32 = "%nctaid.y";
    /// Returns the number of blocks in the grid along z.
    nctaid_z: u32 = "%nctaid.z";
    /// Returns the thread's lane index within its warp, from 0 to 31.
    laneid: u32 = "%laneid";
    /// Returns the index of the warp on its multiprocessor. This index may change while the kernel runs. To compute the index of the warp
    /// within its block, divide the linear index of the thread within the block by 32.
    warpid: u32 = "%warpid";
    /// Returns the maximum number of warps on the multiprocessor.
    nwarpid: u32 = "%nwarpid";
    /// Returns the index of the multiprocessor.
    smid: u32 = "%smid";
    /// Returns a number that is greater than every multiprocessor index. It may exceed the number of multiprocessors.
    nsmid: u32 = "%nsmid";
    /// Returns the sequence number of the grid launch in its context.
    gridid: u64 = "%gridid";
    /// Returns whether the launch explicitly specified clusters. Requires sm_90 or later.
    is_explicit_cluster: bool = "%is_explicit_cluster";
    /// Returns the x index of the cluster within the grid. Requires sm_90 or later.
    clusterid_x: u32 = "%clusterid.x";
    /// Returns the y index of the cluster within the grid. Requires sm_90 or later.
    clusterid_y: u32 = "%clusterid.y";
    /// Returns the z index of the cluster within the grid. Requires sm_90 or later.
    clusterid_z: u32 = "%clusterid.z";
    /// Returns the number of clusters in the grid along x. Requires sm_90 or later.
    nclusterid_x: u32 = "%nclusterid.x";
    /// Returns the number of clusters in the grid along y. Requires sm_90 or later.
    nclusterid_y: u32 = "%nclusterid.y";
    /// Returns the number of clusters in the grid along z. Requires sm_90 or later.
    nclusterid_z: u32 = "%nclusterid.z";
    /// Returns the x index of the block within its cluster. Requires sm_90 or later.
    cluster_ctaid_x: u32 = "%cluster_ctaid.x";
    /// Returns the y index of the block within its cluster. Requires sm_90 or later.
    cluster_ctaid_y: u32 = "%cluster_ctaid.y";
    /// Returns the z index of the block within its cluster. Requires sm_90 or later.
    cluster_ctaid_z: u32 = "%cluster_ctaid.z";
    /// Returns the number of blocks in the cluster along x. Requires sm_90 or later.
    cluster_nctaid_x: u32 = "%cluster_nctaid.x";
    /// Returns the number of blocks in the cluster along y. Requires sm_90 or later.
    cluster_nctaid_y: u32 = "%cluster_nctaid.y";
    /// Returns the number of blocks in the cluster along z. Requires sm_90 or later.
    cluster_nctaid_z: u32 = "%cluster_nctaid.z";
    /// Returns the linear index of the block within its cluster. Requires sm_90 or later.
    cluster_ctarank: u32 = "%cluster_ctarank";
    /// Returns the number of blocks in the cluster. Requires sm_90 or later.
    cluster_nctarank: u32 = "%cluster_nctarank";
    /// Returns a mask with only this lane's bit set.
    lanemask_eq: u32 = "%lanemask_eq";
    /// Returns a mask of the lanes below this one.
    lanemask_lt: u32 = "%lanemask_lt";
    /// Returns a mask of this lane and all lanes below it.
    lanemask_le: u32 = "%lanemask_le";
    /// Returns a mask of the lanes above this one.
    lanemask_gt: u32 = "%lanemask_gt";
    /// Returns a mask of this lane and all lanes above it.
    lanemask_ge: u32 = "%lanemask_ge";
    /// Returns the low 32 bits of the multiprocessor's cycle counter.
    clock: u32 = "%clock";
    /// Returns the high 32 bits of the multiprocessor's cycle counter.
    clock_hi: u32 = "%clock_hi";
    /// Returns the multiprocessor's cycle counter.
    clock64: u64 = "%clock64";
    /// Returns the value of the global timer in nanoseconds.
    globaltimer: u64 = "%globaltimer";
    /// Returns the total size of the block's static and dynamic shared memory in bytes, rounded up to the allocation unit of the target.
    total_smem_size: u32 = "%total_smem_size";
    /// Returns the size of the block's dynamic shared memory in bytes.
    dynamic_smem_size: u32 = "%dynamic_smem_size";
}
