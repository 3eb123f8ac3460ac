//! Basis vectors: the strides of layouts whose values are coordinates.

use std::fmt;

use super::codomain::Codomain;
use super::construct::Layout;
use super::error::LayoutError;
use super::tuple::{IntTuple, Shape};

/// An integer vector, for layouts whose values are coordinates.
///
/// Both the values and the strides of such a layout are vectors. Unspecified components are 0.
///
/// A vector with one nonzero component is displayed in CuTe's notation, such as `4@1` for four steps along dimension 1. A vector with
/// several nonzero components is displayed as a tuple, and the zero vector as `0`.
#[doc(alias = "ScaledBasis")]
#[doc(alias = "ArithmeticTuple")]
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct BasisVector {
    /// The coefficients without trailing zeros, so that equal vectors compare equal.
    coefficients: Vec<i64>,
}

impl BasisVector {
    /// Creates the vector whose component along `dimension` is `scale` and whose other components are 0.
    #[must_use]
    pub fn along(dimension: usize, scale: i64) -> Self {
        let mut coefficients = vec![0; dimension];
        coefficients.push(scale);
        BasisVector { coefficients }.trimmed()
    }

    /// Returns the component along `dimension`.
    #[must_use]
    pub fn component(&self, dimension: usize) -> i64 {
        self.coefficients.get(dimension).copied().unwrap_or(0)
    }

    /// Returns the first `rank` components as a flat coordinate.
    #[must_use]
    pub fn coord(&self, rank: usize) -> IntTuple {
        (0..rank).map(|dimension| self.component(dimension)).collect()
    }

    fn trimmed(mut self) -> Self {
        while self.coefficients.last() == Some(&0) {
            self.coefficients.pop();
        }
        self
    }

    fn each(&self, f: impl FnMut(&i64) -> Option<i64>) -> Option<Self> {
        let coefficients: Option<Vec<i64>> = self.coefficients.iter().map(f).collect();
        Some(BasisVector { coefficients: coefficients? }.trimmed())
    }
}

/// Creates a vector from its components, starting with dimension 0.
impl FromIterator<i64> for BasisVector {
    fn from_iter<I: IntoIterator<Item = i64>>(components: I) -> Self {
        BasisVector { coefficients: components.into_iter().collect() }.trimmed()
    }
}

impl Codomain for BasisVector {
    fn zero() -> Self {
        BasisVector::default()
    }

    fn step(&mut self, stride: &Self, times: i64) {
        if self.coefficients.len() < stride.coefficients.len() {
            self.coefficients.resize(stride.coefficients.len(), 0);
        }
        for (sum, stride) in self.coefficients.iter_mut().zip(&stride.coefficients) {
            *sum = sum.wrapping_add(stride.wrapping_mul(times));
        }
        *self = std::mem::take(self).trimmed();
    }

    fn scaled(&self, times: i64) -> Option<Self> {
        self.each(|coefficient| coefficient.checked_mul(times))
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        let rank = self.coefficients.len().max(other.coefficients.len());
        let sums = (0..rank).map(|at| self.component(at).checked_add(other.component(at)));
        Some(BasisVector { coefficients: sums.collect::<Option<_>>()? }.trimmed())
    }

    fn magnitude(&self) -> Option<Self> {
        self.each(|coefficient| coefficient.checked_abs())
    }
}

impl fmt::Display for BasisVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.coefficients.as_slice() {
            [] => write!(f, "0"),
            [zeros @ .., last] if zeros.iter().all(|zero| *zero == 0) => write!(f, "{last}@{}", zeros.len()),
            several => {
                let text: Vec<String> = several.iter().map(i64::to_string).collect();
                write!(f, "({})", text.join(","))
            }
        }
    }
}

impl Layout<BasisVector> {
    /// Creates the layout that maps each coordinate of a shape to itself.
    ///
    /// The values have one dimension per leaf of the shape. If this layout is divided by the same tiler as the layout of a tensor, it maps
    /// each element of a tile to the element's tensor coordinates. Use these coordinates for edge predicates and for TMA.
    ///
    /// # Errors
    /// Returns [`LayoutError::Extent`] if an extent is below 1, or [`LayoutError::Overflow`] if the size exceeds 64 bits.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// let coords = Layout::identity((100, 30))?.zipped_divide((16, 8))?;
    /// assert_eq!(coords.to_string(), "((16,8),(7,4)):((1@0,1@1),(16@0,8@1))");
    /// let coord = coords.at(((3, 5), (6, 2)))?;
    /// assert_eq!((coord.component(0), coord.component(1)), (99, 21));
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    #[doc(alias = "make_identity_layout")]
    pub fn identity(shape: impl Into<Shape>) -> Result<Layout<BasisVector>, LayoutError> {
        let shape = shape.into();
        let mut dimension = 0;
        let stride = shape.map(|_| {
            let stride = BasisVector::along(dimension, 1);
            dimension += 1;
            stride
        });
        Layout::with_stride(shape, stride)
    }

    /// Returns, for each dimension, 1 plus the sum of (extent − 1) · |component of the stride| over all modes.
    ///
    /// If no stride has a negative component, this is 1 plus the largest component of any value. For an identity layout, the result is the
    /// flattened shape without trailing extents of 1.
    #[must_use]
    pub fn coshape(&self) -> Shape {
        // The constructor checked that the span fits.
        let reach = self.reach().unwrap_or_default();
        reach.coefficients.iter().map(|component| component.saturating_add(1)).collect()
    }
}
