//! Methods of complex register tiles and vectors that apply a method of the real type to both parts.

use super::{Complex, Crt, Crv};
use crate::{
    ptx::{Scalar, Scope, Val, traits::Numeric},
    tensor::{Arithmetic, ConvertibleElement, TensorElement},
    tiles::{
        convert::Convert,
        element::RegisterLayout,
        random::RandomTile,
        reduce::Accumulate,
        registers::Registers,
        rt::Rt,
        saturating::SaturatingElement,
        transpose::SquareSubtiles,
        vector::{ColVec, RowVec},
        vector_layout::{Broadcast, VectorLayout},
    },
};

/// Defines methods that take `self` by reference. Each entry consists of the method's name and description, the real type, the parameters,
/// and the type of the result.
macro_rules! by_reference {
    ($($name:ident $what:literal $real:literal $([$($generics:tt)+])? ($($argument:ident: $type:ty),*) -> $result:ty $(where [$($bound:tt)+])?;)*) => {$(
        #[doc = concat!($what, ", as [`", $real, "::", stringify!($name), "`](crate::tiles::", $real, "::", stringify!($name), ") does.")]
        #[must_use]
        #[track_caller]
        pub fn $name $(<$($generics)+>)? (&self $(, $argument: $type)*) -> $result $(where $($bound)+)? {
            Complex { re: self.re.$name($($argument),*), im: self.im.$name($($argument),*) }
        }
    )*};
}

/// Defines methods that take `self` by value, like [`by_reference`].
macro_rules! by_value {
    ($($name:ident $what:literal $real:literal $([$($generics:tt)+])? ($($argument:ident: $type:ty),*) -> $result:ty $(where [$($bound:tt)+])?;)*) => {$(
        #[doc = concat!($what, ", as [`", $real, "::", stringify!($name), "`](crate::tiles::", $real, "::", stringify!($name), ") does.")]
        #[must_use]
        #[track_caller]
        pub fn $name $(<$($generics)+>)? (self $(, $argument: $type)*) -> $result $(where $($bound)+)? {
            Complex { re: self.re.$name($($argument),*), im: self.im.$name($($argument),*) }
        }
    )*};
}

/// The sums of the rows of both parts of a tile.
type RowSums<'k, T, const H: usize, L> =
    Complex<ColVec<'k, <T as Accumulate>::Sum, H, L, <T as TensorElement>::Length>>;
/// The sums of the columns of both parts of a tile.
type ColSums<'k, T, const W: usize, L> =
    Complex<RowVec<'k, <T as Accumulate>::Sum, W, L, <T as TensorElement>::Length>>;

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Crt<'k, T, H, W, L> {
    by_reference! {
        convert "Converts the elements of both parts" "Rt" [U: TensorElement] () -> Crt<'k, U, H, W, L> where [T: Convert<U>];
        convert_saturating "Converts the elements of both parts with saturation" "Rt" [U: SaturatingElement] () -> Crt<'k, U, H, W, L> where [T: ConvertibleElement];
        widen "Converts 8-bit elements to a wider type" "Rt" [U: ConvertibleElement, const H2: usize, const W2: usize] () -> Crt<'k, U, H2, W2, L> where [T: ConvertibleElement];
        narrow "Converts elements to 8 bits" "Rt" [U: ConvertibleElement, const H2: usize, const W2: usize] () -> Crt<'k, U, H2, W2, L> where [T: ConvertibleElement];
        swap_layout "Returns the same matrix in the other layout" "Rt" () -> Crt<'k, T, H, W, L::Transposed> where [T: SquareSubtiles];
        transpose "Returns the transposed matrix in the same layout, without conjugation" "Rt" () -> Crt<'k, T, W, H, L> where [T: SquareSubtiles];
        gather_cols "Returns the tile whose column `j` is column `from(j)` of this tile" "Rt" (from: impl Fn(u32) -> u32 + Copy) -> Self;
        subtile "Returns a copy of the subtiles that start at subtile (`row`, `col`)" "Rt" [const H2: usize, const W2: usize] (row: usize, col: usize) -> Crt<'k, T, H2, W2, L>;
        row_sum "Returns the sum of each row" "Rt" () -> RowSums<'k, T, H, L> where [T: Accumulate];
        col_sum "Returns the sum of each column" "Rt" () -> ColSums<'k, T, W, L> where [T: Accumulate];
        row_sum_over "Returns the sum of each row across the tiles of all warps of `scope`" "Rt" (scope: impl Scope<'k>) -> RowSums<'k, T, H, L> where [T: Accumulate];
        col_sum_over "Returns the sum of each column across the tiles of all warps of `scope`" "Rt" (scope: impl Scope<'k>) -> ColSums<'k, T, W, L> where [T: Accumulate];
        row_scan "Returns the prefix sums along each row" "Rt" () -> Crt<'k, T::Sum, H, W, L> where [T: Accumulate];
        col_scan "Returns the prefix sums along each column" "Rt" () -> Crt<'k, T::Sum, H, W, L> where [T: Accumulate];
        sum "Returns the sum of all elements" "Rt" () -> Complex<Val<'k, T::Sum>> where [T: Accumulate];
        sum_over "Returns the sum of all elements of the tiles of all warps of `scope`" "Rt" (scope: impl Scope<'k>) -> Complex<Val<'k, T::Sum>> where [T: Accumulate];
    }

    by_value! {
        into_transposed "Returns the transposed matrix in the other layout, in the same registers, without conjugation" "Rt" () -> Crt<'k, T, W, H, L::Transposed>;
        dropout "Sets both parts of random elements to 0 and scales the other elements" "Rt" (p: impl Into<Val<'k, f32>> + Copy, random: &RandomTile<'k>) -> Self where [T: Accumulate<Sum = f32> + ConvertibleElement];
    }

    /// Returns, for each row, the sum of its elements plus the corresponding element of `with`, as [`Rt::row_sum_with`] does.
    #[must_use]
    #[track_caller]
    pub fn row_sum_with(&self, with: RowSums<'k, T, H, L>) -> RowSums<'k, T, H, L>
    where
        T: Accumulate,
    {
        Complex { re: self.re.row_sum_with(with.re), im: self.im.row_sum_with(with.im) }
    }

    /// Returns, for each column, the sum of its elements plus the corresponding element of `with`, as [`Rt::col_sum_with`] does.
    #[must_use]
    #[track_caller]
    pub fn col_sum_with(&self, with: ColSums<'k, T, W, L>) -> ColSums<'k, T, W, L>
    where
        T: Accumulate,
    {
        Complex { re: self.re.col_sum_with(with.re), im: self.im.col_sum_with(with.im) }
    }

    /// Returns whether the real or imaginary part of any element is NaN. All lanes of the warp must take part; see [`Rt::has_nan`].
    #[track_caller]
    pub fn has_nan(&self) -> Val<'k, bool>
    where
        T: Accumulate,
    {
        self.re.has_nan() | self.im.has_nan()
    }

    /// Returns a tile with `vector` in every column or every row, as [`Rt::broadcast`] does.
    #[must_use]
    #[track_caller]
    pub fn broadcast<const N: usize, V: Broadcast<L, H, W, N, T::Length>>(vector: &Crv<'k, T, N, V>) -> Self {
        vector.as_ref().map_parts(|part| Rt::broadcast(part))
    }

    /// Replaces a rectangle of `H2`×`W2` subtiles, starting at subtile (`row`, `col`), with the result of `f`, as [`Rt::update_subtile`]
    /// does.
    #[must_use]
    #[track_caller]
    pub fn update_subtile<const H2: usize, const W2: usize>(
        self,
        row: usize,
        col: usize,
        f: impl FnOnce(Crt<'k, T, H2, W2, L>) -> Crt<'k, T, H2, W2, L>,
    ) -> Self {
        let Some(places) = Rt::<T, H, W, L>::places::<H2, W2>(self.re.kernel(), row, col) else {
            return self;
        };
        let part = f(self.as_ref().map_parts(|whole| whole.part_at(&places)));
        self.zip_parts(part, |whole, part| whole.with_part(&places, &part))
    }

    /// Splits the tile into `N` tiles of `P` rows of subtiles each, as [`Rt::vsplit`] does.
    #[must_use]
    #[track_caller]
    pub fn vsplit<const P: usize, const N: usize>(self) -> [Crt<'k, T, P, W, L>; N] {
        pairs(self.map_parts(|part| part.vsplit()))
    }

    /// Splits the tile into `N` tiles of `P` columns of subtiles each, as [`Rt::hsplit`] does.
    #[must_use]
    #[track_caller]
    pub fn hsplit<const P: usize, const N: usize>(self) -> [Crt<'k, T, H, P, L>; N] {
        pairs(self.map_parts(|part| part.hsplit()))
    }

    /// Concatenates `N` tiles from top to bottom, as [`Rt::vconcat`] does.
    #[must_use]
    #[track_caller]
    pub fn vconcat<const P: usize, const N: usize>(tiles: [Crt<'k, T, P, W, L>; N]) -> Self {
        parts(tiles).map_parts(Rt::vconcat)
    }

    /// Concatenates `N` tiles from left to right, as [`Rt::hconcat`] does.
    #[must_use]
    #[track_caller]
    pub fn hconcat<const P: usize, const N: usize>(tiles: [Crt<'k, T, H, P, L>; N]) -> Self {
        parts(tiles).map_parts(Rt::hconcat)
    }
}

/// Converts a pair of arrays to an array of pairs.
fn pairs<P, const N: usize>(parts: Complex<[P; N]>) -> [Complex<P>; N] {
    let mut im = parts.im.into_iter();
    parts.re.map(|re| Complex { re, im: im.next().expect("both arrays have the same length") })
}

/// Converts an array of pairs to a pair of arrays.
fn parts<P, const N: usize>(pairs: [Complex<P>; N]) -> Complex<[P; N]> {
    let mut im = Vec::with_capacity(N);
    let re = pairs.map(|pair| {
        im.push(pair.im);
        pair.re
    });
    Complex { re, im: im.try_into().ok().expect("both arrays have the same length") }
}

impl<'k, T: TensorElement, const N: usize, V: VectorLayout> Crv<'k, T, N, V> {
    by_reference! {
        convert "Converts the elements of both parts" "Rv" [U: TensorElement] () -> Crv<'k, U, N, V> where [T: Convert<U>];
        convert_saturating "Converts the elements of both parts with saturation" "Rv" [U: SaturatingElement] () -> Crv<'k, U, N, V> where [T: ConvertibleElement];
        get "Returns element `index` in all lanes of the warp" "Rv" (index: u32) -> Complex<Val<'k, T>> where [T: TensorElement<Word = T> + Scalar];
        scan "Returns the prefix sums" "Rv" () -> Crv<'k, T::Sum, N, V> where [T: Accumulate];
        sum "Returns the sum of all elements" "Rv" () -> Complex<Val<'k, T::Sum>> where [T: Accumulate];
        sum_over "Returns the sum of all elements of the vectors of all warps of `scope`" "Rv" (scope: impl Scope<'k>) -> Complex<Val<'k, T::Sum>> where [T: Accumulate];
    }

    by_value! {
        to_layout "Returns the same elements in another vector layout" "Rv" [V2: VectorLayout] () -> Crv<'k, T, N, V2>;
        to_vector "Returns the same elements in another vector layout or unit of length" "Rv" [const M: usize, V2: VectorLayout] () -> Crv<'k, T, M, V2>;
        all_reduce_sum "Returns the elementwise sum of the vectors of all warps of `scope`" "Rv" (scope: impl Scope<'k>) -> Self where [T: Arithmetic<Word = T> + Numeric];
    }

    /// Returns whether the real or imaginary part of any element is NaN. All lanes of the warp must take part; see
    /// [`Rv::has_nan`](crate::tiles::Rv::has_nan).
    #[track_caller]
    pub fn has_nan(&self) -> Val<'k, bool>
    where
        T: Accumulate,
    {
        self.re.has_nan() | self.im.has_nan()
    }
}
