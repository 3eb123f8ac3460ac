//! Tables of measured kernels that can be added to a kernel cache.

use super::gemm::gpu_of;
use crate::{
    kernels::{AttentionTable, GemmTable},
    run::{KernelCache, Queue},
};

impl KernelCache<'_> {
    /// Returns the cache with an additional table, such as one written by `warpwright tune gemm`. For problems in the table,
    /// [`gemm`](crate::kernels::call::gemm()), `fused_gemm` and `gated_gemm` use the table's kernels instead of those that
    /// [`Gemm::for_problem`](crate::kernels::Gemm::for_problem) returns. `fused_gemm` may replace their tiles (see
    /// [`Gemm::for_epilogue`](crate::kernels::Gemm::for_epilogue)). `gated_gemm` looks up the product with all 2n columns of B and uses the
    /// most similar supported tile, without a cluster. Tables for other kinds of GPUs have no effect. If several tables contain a problem,
    /// the one added last takes precedence.
    ///
    /// ```no_run
    /// use warpwright::{kernels::GemmTable, run::{self, KernelCache}};
    ///
    /// // warpwright tune gemm --m 4096 --n 4096 --k 4096 --out table.txt
    /// let table: GemmTable = std::fs::read_to_string("table.txt")?.parse()?;
    /// let device = run::open_default();
    /// let kernels = KernelCache::new(&device).with_gemm_table(table);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(alias = "autotuner")]
    pub fn with_gemm_table(mut self, table: GemmTable) -> Self {
        self.setting_mut::<Vec<GemmTable>>().push(table);
        self
    }

    /// Returns the GEMM tables, in the order in which they were added.
    pub(super) fn gemm_tables(&self) -> &[GemmTable] {
        self.setting::<Vec<GemmTable>>().map_or(&[], Vec::as_slice)
    }

    /// Returns the cache with an additional table, such as one written by `warpwright tune attention`. For problems in the table,
    /// [`attention`](crate::kernels::call::attention()) and [`scaled_attention`](crate::kernels::call::scaled_attention) use the table's
    /// kernels instead of those in the [built-in tables](AttentionTable::builtin) or those that
    /// [`Attention::for_problem`](crate::kernels::Attention::for_problem) and
    /// [`ScaledAttention::for_problem`](crate::kernels::ScaledAttention::for_problem) return. Tables for other kinds of GPUs have no
    /// effect. If several tables contain a problem, the one added last takes precedence.
    #[must_use]
    #[doc(alias = "autotuner")]
    pub fn with_attention_table(mut self, table: AttentionTable) -> Self {
        self.setting_mut::<Vec<AttentionTable>>().push(table);
        self
    }
}

/// Returns the first result of `get` on the tables for the queue's GPU, starting with the table that was added last and ending with the
/// built-in tables.
pub(super) fn from_attention_tables<R>(
    queue: Queue<'_>,
    get: impl Fn(&AttentionTable) -> Option<R>,
) -> Option<R> {
    let (gpu, added) = (gpu_of(queue), queue.cache().setting::<Vec<AttentionTable>>());
    let tables = added.into_iter().flatten().rev().chain(AttentionTable::builtin());
    tables.filter(|table| table.gpu == gpu).find_map(get)
}
