//! Element types of register tiles and how they lie in registers.

use crate::{
    atoms::{ElementWidth, TileLayout},
    ptx::{Element, Number, Ptr, Readable, Space, Val, Writable, bf16, bf16x2, f16, f16x2},
};

/// A type that a register tile can be made of: [`bf16`], [`struct@f16`] (two to a register) or `f32` (one to a register).
#[diagnostic::on_unimplemented(
    message = "register tiles of `{Self}` do not exist",
    note = "a tile's elements are `bf16`, `f16` or `f32`"
)]
pub trait TileElement: Element<Reg = Self> + Number {
    /// What one register holds.
    type Packed: Number + Element<Reg = Self::Packed>;
    /// Width, as fragment maps say it.
    const WIDTH: ElementWidth;
    /// Registers of a 16×16 subtile.
    const REGISTERS: usize;

    /// The same element in every place of a register.
    fn splat(value: Self) -> Self::Packed;
    /// Two neighbours of a tile, as they lie in registers: one register of halves, or two of f32.
    #[doc(hidden)]
    fn pack<'k>(pair: [Val<'k, Self>; 2], into: &mut Vec<Val<'k, Self::Packed>>);
    /// The opposite of [`pack`](Self::pack); takes [`REGISTERS`](Self::REGISTERS)` / 4` registers.
    #[doc(hidden)]
    fn unpack<'k>(registers: &[Val<'k, Self::Packed>]) -> [Val<'k, Self>; 2];
    /// Two neighbours from adjacent memory with one access where `exist` holds, zeros elsewhere.
    #[doc(hidden)]
    fn load_pair<'k, S: Space>(
        from: Ptr<'k, Self, S, impl Readable>,
        exist: Val<'k, bool>,
        into: &mut Vec<Val<'k, Self::Packed>>,
    );
    /// Two neighbours to adjacent memory with one access.
    #[doc(hidden)]
    fn store_pair<'k, S: Space>(to: Ptr<'k, Self, S, impl Writable>, registers: &[Val<'k, Self::Packed>]);
    /// Two neighbours made of f32, rounded to nearest even.
    #[doc(hidden)]
    fn pack_f32<'k>(pair: [Val<'k, f32>; 2], into: &mut Vec<Val<'k, Self::Packed>>);
    /// Two neighbours as f32: exact.
    #[doc(hidden)]
    fn unpack_f32<'k>(registers: &[Val<'k, Self::Packed>]) -> [Val<'k, f32>; 2];
}

macro_rules! halves {
    ($($half:ident, $pair:ident;)*) => {$(
        impl TileElement for $half {
            type Packed = $pair;
            const WIDTH: ElementWidth = ElementWidth::B16;
            const REGISTERS: usize = 4;

            fn splat(value: Self) -> $pair {
                $pair([value; 2])
            }

            #[track_caller]
            fn pack<'k>([low, high]: [Val<'k, Self>; 2], into: &mut Vec<Val<'k, $pair>>) {
                into.push(Val::pack(low, high));
            }

            #[track_caller]
            fn unpack<'k>(registers: &[Val<'k, $pair>]) -> [Val<'k, Self>; 2] {
                registers[0].unpack().into()
            }

            #[track_caller]
            fn load_pair<'k, S: Space>(
                from: Ptr<'k, Self, S, impl Readable>,
                exist: Val<'k, bool>,
                into: &mut Vec<Val<'k, $pair>>,
            ) {
                into.push(from.cast::<$pair>().load_if(exist, $pair::ZERO));
            }

            #[track_caller]
            fn store_pair<'k, S: Space>(to: Ptr<'k, Self, S, impl Writable>, registers: &[Val<'k, $pair>]) {
                to.cast::<$pair>().store(registers[0]);
            }

            #[track_caller]
            fn pack_f32<'k>([low, high]: [Val<'k, f32>; 2], into: &mut Vec<Val<'k, $pair>>) {
                into.push(Val::pack_f32(low, high));
            }

            #[track_caller]
            fn unpack_f32<'k>(registers: &[Val<'k, $pair>]) -> [Val<'k, f32>; 2] {
                registers[0].unpack_f32().into()
            }
        }
    )*};
}

halves! {
    bf16, bf16x2;
    f16,  f16x2;
}

impl TileElement for f32 {
    type Packed = f32;
    const WIDTH: ElementWidth = ElementWidth::B32;
    const REGISTERS: usize = 8;

    fn splat(value: Self) -> f32 {
        value
    }

    fn pack<'k>(pair: [Val<'k, Self>; 2], into: &mut Vec<Val<'k, f32>>) {
        into.extend(pair);
    }

    fn unpack<'k>(registers: &[Val<'k, f32>]) -> [Val<'k, Self>; 2] {
        [registers[0], registers[1]]
    }

    #[track_caller]
    fn load_pair<'k, S: Space>(
        from: Ptr<'k, Self, S, impl Readable>,
        exist: Val<'k, bool>,
        into: &mut Vec<Val<'k, f32>>,
    ) {
        into.extend(from.load_vector_if::<2>(exist, 0.0));
    }

    #[track_caller]
    fn store_pair<'k, S: Space>(to: Ptr<'k, Self, S, impl Writable>, registers: &[Val<'k, f32>]) {
        to.store_vector([registers[0], registers[1]]);
    }

    fn pack_f32<'k>(pair: [Val<'k, f32>; 2], into: &mut Vec<Val<'k, f32>>) {
        Self::pack(pair, into);
    }

    fn unpack_f32<'k>(registers: &[Val<'k, f32>]) -> [Val<'k, f32>; 2] {
        Self::unpack(registers)
    }
}

/// A register tile whose pairs run along a row: [`TileLayout::Row`].
#[derive(Clone, Copy, Debug)]
pub enum Row {}
/// A register tile whose pairs run along a column: [`TileLayout::Col`].
#[derive(Clone, Copy, Debug)]
pub enum Col {}

/// [`Row`] or [`Col`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no register-tile layout",
    note = "layouts are `Row` and `Col`"
)]
pub trait RegisterLayout: 'static {
    /// The layout as a value.
    const LAYOUT: TileLayout;
}

impl RegisterLayout for Row {
    const LAYOUT: TileLayout = TileLayout::Row;
}

impl RegisterLayout for Col {
    const LAYOUT: TileLayout = TileLayout::Col;
}
