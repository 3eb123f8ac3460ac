//! The addresses of the rows of a cache.

use crate::{
    ptx::{Read, Val},
    tensor::TensorElement,
    tiles::{Gl, GlTile, Joined},
};

/// The layout of the rows of all sequences.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "a kernel has one")]
pub(super) enum Caches<'k> {
    /// The rows of a sequence are contiguous.
    Contiguous { rows: Val<'k, u32> },
    /// Rows are in pages of `page` rows; `tables` contains the indices of the `count` pages of each sequence.
    Paged { tables: Gl<'k, u32, Read>, count: Val<'k, u32>, page: u32 },
}

/// The location of the rows of a step: in the matrix of a batch, or in several pages.
pub(super) enum Located<'k> {
    Batch { batch: Val<'k, u32>, step: Val<'k, u32> },
    Pages(Vec<Val<'k, u32>>),
}

impl<'k> Caches<'k> {
    /// Returns the maximum number of rows of a sequence.
    #[track_caller]
    pub(super) fn capacity(&self) -> Val<'k, u32> {
        match self {
            Self::Contiguous { rows } => *rows,
            Self::Paged { count, page, .. } => *count * *page,
        }
    }

    /// Locates the rows of step `j`. A step has `step` rows, and the first `length` rows of the sequence are in use.
    #[track_caller]
    pub(super) fn locate(
        &self,
        batch: Val<'k, u32>,
        j: Val<'k, u32>,
        length: Val<'k, u32>,
        step: u32,
    ) -> Located<'k> {
        match self {
            Self::Contiguous { .. } => Located::Batch { batch, step: j },
            Self::Paged { tables, page, .. } => {
                // Past the rows in use, the table contains no valid indices, so the last page is loaded again.
                let last = (length.max(1) - 1) / *page;
                let count = step / page;
                let number = |i: u32| tables.at(batch, (j * count + i).min(last)).load();
                Located::Pages((0..count).map(number).collect())
            }
        }
    }
}

impl<'k> Located<'k> {
    /// Returns the rows of a KV head.
    #[track_caller]
    pub(super) fn of<T: TensorElement>(
        &self,
        rows: &Gl<'k, T, Read, 4>,
        head: Val<'k, u32>,
    ) -> Joined<'k, T, Read> {
        GlTile::stacked(match self {
            Self::Batch { batch, step } => vec![rows.batch((*batch, head)).tile(*step, 0)],
            Self::Pages(pages) => pages.iter().map(|page| rows.batch((*page, head)).tile(0, 0)).collect(),
        })
    }
}
