//! Tables of kernels that were found by measurement, for the calls of a cache.

use crate::{kernels::GemmTable, run::KernelCache};

impl KernelCache<'_> {
    /// Adds a table that `warpwright tune gemm` wrote, and returns the cache. For the problems in the table, the calls `gemm`, `fused_gemm`
    /// and `gated_gemm` use its kernels instead of those that the crate's tables and models choose. Tables for another kind of GPU have no
    /// effect. If several tables contain a problem, the table that was added last applies.
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
}
