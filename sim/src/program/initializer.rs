//! Initial values of variables.

use crate::arith::Int;
use crate::program::decode::{Global, Symbols};
use crate::program::spaces::FUNCTION_WINDOW;
use crate::program::types::Type;
use crate::text::ast::{Init, Space, Variable};
use crate::text::error::ParseError;

/// A piece of an initializer.
#[derive(Debug)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    Address {
        of: Global,
        /// The offset in bytes.
        offset: i64,
        /// The size of the element in bytes.
        size: usize,
        /// The mask of the stored byte, if only one byte of the address is stored.
        mask: Option<u64>,
    },
}

impl Piece {
    /// Returns the bytes in memory, given the addresses of the module's variables.
    pub(super) fn bytes(&self, addresses: &[u64]) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Address { of, offset, size, mask } => {
                let start = match *of {
                    Global::Variable(index) => addresses.get(index).copied().unwrap_or(0),
                    Global::Function(index) => FUNCTION_WINDOW + index as u64 * 16,
                };
                let address = start.wrapping_add_signed(*offset);
                let value = mask.map_or(address, |mask| (address & mask) >> mask.trailing_zeros());
                value.to_le_bytes()[..*size].to_vec()
            }
        }
    }
}

/// Returns the pieces of an initializer with elements of type `ty`, by offset in bytes.
pub(super) fn pieces(
    symbols: &Symbols<'_>,
    variable: &Variable,
    init: &Init,
    ty: Type,
) -> Result<Vec<(u64, Piece)>, ParseError> {
    let open = match init {
        Init::List(items) => items.len() as u64,
        _ => 0,
    };
    let vector = (variable.vector > 1).then_some(u64::from(variable.vector));
    let extents: Vec<u64> = variable.dims.iter().map(|dim| dim.unwrap_or(open)).chain(vector).collect();
    let mut filler = Filler { symbols, variable, ty, pieces: vec![] };
    match filler.fill(init, 0, &extents) {
        Ok(()) => Ok(filler.pieces),
        Err(message) => Err(symbols.error(variable.pos, variable.name.len(), message)),
    }
}

struct Filler<'m> {
    symbols: &'m Symbols<'m>,
    variable: &'m Variable,
    ty: Type,
    pieces: Vec<(u64, Piece)>,
}

impl Filler<'_> {
    /// Stores an initializer of an array with these extents at an offset in bytes. Missing values are zero.
    fn fill(&mut self, init: &Init, at: u64, extents: &[u64]) -> Result<(), String> {
        let name = &self.variable.name;
        match (init, extents) {
            (Init::List(items), [extent, inner @ ..]) => {
                let found = items.len() as u64;
                if found > *extent {
                    return Err(format!("`{name}` has {found} initial values for {extent} elements"));
                }
                if self.variable.vector > 1 && inner.is_empty() && found < *extent {
                    return Err(format!(
                        "expected {extent} initial values of a vector of `{name}`, found {found}"
                    ));
                }
                let stride =
                    inner.iter().fold(self.ty.bytes().into(), |n: u64, &extent| n.saturating_mul(extent));
                (0..).zip(items).try_for_each(|(i, item)| self.fill(item, at + i * stride, inner))
            }
            (Init::List(_), []) => Err(format!("expected an initial value of `{name}`, found a list")),
            (_, [extent, ..]) => {
                Err(format!("expected a list of {extent} initial values of `{name}`, found `{init}`"))
            }
            (_, []) => {
                self.pieces.push((at, self.piece(init)?));
                Ok(())
            }
        }
    }

    fn piece(&self, init: &Init) -> Result<Piece, String> {
        let (name, ty) = (&self.variable.name, self.ty);
        let size = ty.bytes() as usize;
        Ok(match init {
            Init::Int(value) => match ty {
                Type::F32 => Piece::Bytes((*value as f32).to_le_bytes().to_vec()),
                Type::F64 => Piece::Bytes((*value as f64).to_le_bytes().to_vec()),
                _ => Piece::Bytes(value.to_le_bytes()[..size].to_vec()),
            },
            Init::Single(bits) => {
                Piece::Bytes(float_bytes(f64::from(f32::from_bits(*bits)), u64::from(*bits), ty))
            }
            Init::Double(bits) => Piece::Bytes(float_bytes(f64::from_bits(*bits), *bits, ty)),
            Init::Address { name: symbol, generic, offset, mask } => {
                let has_address = match self.symbols.names.get(symbol.as_str()) {
                    Some(&Global::Variable(i)) => {
                        matches!(self.symbols.variables[i].space, Space::Global | Space::Const)
                    }
                    Some(Global::Function(_)) => !generic && *offset == 0,
                    None => {
                        return Err(format!("`{symbol}`, the initial value of `{name}`, is not declared"));
                    }
                };
                if !has_address {
                    return Err(format!(
                        "the initial value `{init}` of `{name}` is not an address that is known before a launch"
                    ));
                }
                match (ty, mask) {
                    (Type::Int(Int::U32 | Int::U64), _) | (Type::Int(Int::U8), Some(_)) => {}
                    (Type::Int(Int::U8), None) => {
                        return Err(format!(
                            "expected a byte of an address such as `0xFF({symbol})` in `{name}`, found `{init}`"
                        ));
                    }
                    _ => {
                        return Err(format!(
                            "expected type u8, u32 or u64 of `{name}`, which contains an address, found {ty}"
                        ));
                    }
                }
                Piece::Address {
                    of: self.symbols.names[symbol.as_str()],
                    offset: *offset as i64,
                    size,
                    mask: *mask,
                }
            }
            Init::List(_) => unreachable!("lists are handled by `fill`"),
        })
    }
}

fn float_bytes(value: f64, bits: u64, ty: Type) -> Vec<u8> {
    match ty {
        Type::F32 => (value as f32).to_le_bytes().to_vec(),
        Type::F64 => value.to_le_bytes().to_vec(),
        Type::F16 => half::f16::from_f64(value).to_le_bytes().to_vec(),
        _ => bits.to_le_bytes()[..ty.bytes().min(8) as usize].to_vec(),
    }
}
