//! Tables of kernels chosen by measurement, which the calls that use a cache look up.

use super::gemm::gpu_of;
use crate::{
    kernels::{AttentionTable, GemmTable},
    run::{KernelCache, Queue},
};

impl KernelCache<'_> {
    /// Adds a table that `warpwright tune gemm` wrote, and returns the cache. For the problems in the table, the calls `gemm`, `fused_gemm`
    /// and `gated_gemm` use its kernels instead of those that the crate's tables and models choose. `gated_gemm` looks up the product with
    /// all 2n columns of B and uses the most similar supported tile, without a cluster. Tables for another kind of GPU have no effect. If
    /// several tables contain a problem, the table that was added last applies.
    ///
    /// ```no_run
    /// use warpwright::{kernels::GemmTable, run::{self, KernelCache}};
    ///
    /// // warpwright tune gemm --m 4096 --n 4096 --k 4096 --out table.txt
    /// let table: GemmTable = std::fs::read_to_string("table.txt")?.parse()?;
    /// let device = run::first();
    /// let kernels = KernelCache::new(&device).with_gemm_table(table);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(alias = "autotuner")]
    pub fn with_gemm_table(mut self, table: GemmTable) -> Self {
        self.setting_mut::<Vec<GemmTable>>().push(table);
        self
    }

    /// Returns the tables, in the order in which they were added.
    pub(super) fn gemm_tables(&self) -> &[GemmTable] {
        self.setting::<Vec<GemmTable>>().map_or(&[], Vec::as_slice)
    }

    /// Returns the cache with a table that `warpwright tune attention` wrote. For the problems in the table, the calls `attention` and
    /// `scaled_attention` use its kernels instead of those of `for_problem`. Otherwise, tables apply as in
    /// [`with_gemm_table`](Self::with_gemm_table).
    #[must_use]
    #[doc(alias = "autotuner")]
    pub fn with_attention_table(mut self, table: AttentionTable) -> Self {
        self.setting_mut::<Vec<AttentionTable>>().push(table);
        self
    }
}

/// Returns the first result of `get` on the tables for the queue's GPU, starting with the table that was added last.
pub(super) fn from_attention_tables<R>(
    queue: Queue<'_>,
    get: impl Fn(&AttentionTable) -> Option<R>,
) -> Option<R> {
    let (gpu, tables) = (gpu_of(queue), queue.cache().setting::<Vec<AttentionTable>>()?);
    tables.iter().rev().filter(|table| table.gpu == gpu).find_map(get)
}
