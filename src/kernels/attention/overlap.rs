//! How the matrix products of a step overlap with the computation of weights.

/// How the warpgroups of a block overlap matrix products with the computation of weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AttentionOverlap {
    /// The order in which warpgroups start products.
    pub order: ProductOrder,
    /// Whether the weights of a step are rounded before the products with the values of the previous step are complete. This requires
    /// registers for the weights of two steps.
    pub rounds_early: bool,
}

/// The order in which the warpgroups of a block start the matrix products of each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ProductOrder {
    /// Each warpgroup starts products as soon as their operands are available.
    #[default]
    Free,
    /// Warpgroups start products in turn.
    #[doc(alias = "ping-pong")]
    InTurn,
    /// Warpgroups start products in turn. Each waits until the products Q·Kᵀ of the previous warpgroup are complete, so that warpgroups
    /// compute weights at different times.
    Staggered,
}

impl ProductOrder {
    /// All orders.
    pub const ALL: [Self; 3] = [Self::Free, Self::InTurn, Self::Staggered];
}
