//! The overlap of matrix products with the computation of softmax weights.

/// The overlap of matrix products with the computation of softmax weights.
///
/// The warpgroups of a block process keys in steps of [`AttentionTile::keys`](super::AttentionTile::keys) keys. In each step, a warpgroup
/// multiplies Q by Kᵀ, computes the weights from these products, and multiplies the weights by V.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AttentionOverlap {
    /// The order in which the warpgroups start the matrix products of each step.
    pub order: ProductOrder,
    /// Whether a warpgroup rounds the weights of a step before the product of the preceding step's weights and V is complete. If true, the
    /// weights of two steps must fit in registers.
    pub rounds_early: bool,
}

/// The order in which the warpgroups of a block start the matrix products of each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ProductOrder {
    /// Each warpgroup starts its products as soon as their operands are available.
    #[default]
    Free,
    /// Warpgroups start products in turn.
    #[doc(alias = "ping-pong")]
    InTurn,
    /// Warpgroups start products in turn, and each waits until Q·Kᵀ of the preceding warpgroup is complete, so that warpgroups compute
    /// weights at different times.
    Staggered,
}

impl ProductOrder {
    /// All orders.
    pub const ALL: [Self; 3] = [Self::Free, Self::InTurn, Self::Staggered];
}
