//! Special registers: where a thread is, and clocks (PTX ISA, "Special Registers").

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
    /// What is known of a special register: by the shapes of block and grid, and by the limits of any launch.
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
    /// Most warps that the multiprocessor holds.
    nwarpid: u32 = "%nwarpid";
    /// Number of the multiprocessor.
    smid: u32 = "%smid";
    /// Multiprocessors, or more.
    nsmid: u32 = "%nsmid";
    /// Number of the launch, since the context was made.
    gridid: u64 = "%gridid";
    /// Whether the launch said how clusters are shaped. sm_90, as all that follow about clusters.
    is_explicit_cluster: bool = "%is_explicit_cluster";
    /// Number of the cluster in the grid, x.
    clusterid_x: u32 = "%clusterid.x";
    /// Number of the cluster in the grid, y.
    clusterid_y: u32 = "%clusterid.y";
    /// Number of the cluster in the grid, z.
    clusterid_z: u32 = "%clusterid.z";
    /// Clusters of the grid, x.
    nclusterid_x: u32 = "%nclusterid.x";
    /// Clusters of the grid, y.
    nclusterid_y: u32 = "%nclusterid.y";
    /// Clusters of the grid, z.
    nclusterid_z: u32 = "%nclusterid.z";
    /// Number of the block in its cluster, x.
    cluster_ctaid_x: u32 = "%cluster_ctaid.x";
    /// Number of the block in its cluster, y.
    cluster_ctaid_y: u32 = "%cluster_ctaid.y";
    /// Number of the block in its cluster, z.
    cluster_ctaid_z: u32 = "%cluster_ctaid.z";
    /// Blocks of the cluster, x.
    cluster_nctaid_x: u32 = "%cluster_nctaid.x";
    /// Blocks of the cluster, y.
    cluster_nctaid_y: u32 = "%cluster_nctaid.y";
    /// Blocks of the cluster, z.
    cluster_nctaid_z: u32 = "%cluster_nctaid.z";
    /// Number of the block in its cluster, over x, y and z.
    cluster_ctarank: u32 = "%cluster_ctarank";
    /// Blocks of the cluster.
    cluster_nctarank: u32 = "%cluster_nctarank";
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
    /// Cycles of this multiprocessor, high 32 bits.
    clock_hi: u32 = "%clock_hi";
    /// Cycles of this multiprocessor.
    clock64: u64 = "%clock64";
    /// Nanoseconds.
    globaltimer: u64 = "%globaltimer";
    /// Bytes of shared memory, static and dynamic, that the block has.
    total_smem_size: u32 = "%total_smem_size";
    /// Bytes of dynamic shared memory.
    dynamic_smem_size: u32 = "%dynamic_smem_size";
}
