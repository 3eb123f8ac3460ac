//! `tensormap.replace` and `tensormap.cp_fenceproxy`.

use crate::program::code::{D, MapCopy, MapReplace, Memory, Reg, Space, Value};
use crate::program::code::{Field, Op};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::memory::{SCOPES, space_of};
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::order::AS_WRITTEN;
use crate::program::types::Type;
use crate::report::InstructionClass;

/// The size of a tensor map in bytes.
const MAP_BYTES: i128 = 128;

pub(super) const OPCODES: &[Opcodes] =
    &[row(&["tensormap"], Counted::As(InstructionClass::Async), AS_WRITTEN, |d| {
        d.tensormap().map(Op::Memory)
    })];

impl Decoder<'_, '_, '_> {
    pub(super) fn tensormap(&mut self) -> Decoded<Memory> {
        match self.m.next() {
            Some("replace") => self.map_replace(),
            Some("cp_fenceproxy") => self.map_copy(),
            _ => Err(self.unknown()),
        }
    }

    /// Decodes `tensormap.replace.tile.field[.space].b1024.type [map][, dimension], value`.
    fn map_replace(&mut self) -> Decoded<Memory> {
        self.want_word("tile")?;
        let field = self.want("a field of a tensor map such as `.box_dim`", field_of)?;
        let space = self.m.take(space_of).unwrap_or(Space::Generic);
        if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
            return Err(self.error("a tensor map is replaced in global or shared space"));
        }
        self.want_word("b1024")?;
        let ty = self.want_type()?;
        let wide = matches!(field, Field::Address | Field::Stride(_));
        if ty != (if wide { Type::B64 } else { Type::B32 }) {
            return Err(self.no_such_type(ty));
        }
        let by_dimension = field.dimensions() > 0;
        let last = 1 + usize::from(by_dimension);
        self.arity(last + 1)?;
        let field = if by_dimension {
            let dimension = self.constant(1, "the dimension")?;
            let known = usize::try_from(dimension).ok().filter(|&d| d < field.dimensions());
            let Some(dimension) = known else {
                return Err(self.error_at(self.operand(1), format!("there is no dimension {dimension}")));
            };
            field.with_dimension(dimension)
        } else {
            field
        };
        let value = match field.choices() {
            0 => self.src(last, ty)?,
            _ => self.map_choice(field, last)?,
        };
        let (addr, space) = self.addr(0, space)?;
        let temporary = self.temporary_d();
        Ok(Memory::MapReplace(Box::new(MapReplace { field, space, addr, value, temporary })))
    }

    /// Returns the stored form of the value of an enumerated field.
    fn map_choice(&mut self, field: Field, n: usize) -> Decoded<Reg> {
        let choice = self.constant(n, "what a field of a tensor map chooses")?;
        let Some(known) = usize::try_from(choice).ok().filter(|&c| c < field.choices()) else {
            let message = format!("expected 0 to {}, found {choice}", field.choices() - 1);
            return Err(self.error_at(self.operand(n), message));
        };
        let Some(bits) = field.encoded(known) else {
            return Err(
                self.unsupported("interleaved layouts, packed types and other swizzles are not modeled")
            );
        };
        Ok(Reg::R(self.body.builder.preset_r(Value::Bits(bits))))
    }

    /// Decodes `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [to], [from], 128`.
    fn map_copy(&mut self) -> Decoded<Memory> {
        for word in ["global", "shared::cta", "tensormap::generic", "release"] {
            self.want_word(word)?;
        }
        if !self.m.eat_any(&SCOPES) {
            return Err(self.error("`.release` requires a scope such as `.gpu`"));
        }
        self.want_word("sync")?;
        self.want_word("aligned")?;
        self.arity(3)?;
        if self.constant(2, "the size of a tensor map")? != MAP_BYTES {
            return Err(self.error_at(self.operand(2), "a tensor map has 128 bytes"));
        }
        let (to, _) = self.addr(0, Space::Global)?;
        let (from, _) = self.addr(1, Space::Shared)?;
        let temporary = self.temporary_d();
        Ok(Memory::MapCopy(Box::new(MapCopy { to, from, temporary })))
    }

    pub(super) fn temporary_d(&mut self) -> D {
        match self.body.builder.new_register(Type::B64) {
            Reg::D(d) => d,
            other => unreachable!("64 bits in {other:?}"),
        }
    }
}

fn field_of(word: &str) -> Option<Field> {
    Some(match word {
        "global_address" => Field::Address,
        "rank" => Field::Rank,
        "box_dim" => Field::Tile(0),
        "global_dim" => Field::Dim(0),
        "global_stride" => Field::Stride(0),
        "element_stride" => Field::ElementStride(0),
        "elemtype" => Field::ElementType,
        "interleave_layout" => Field::Interleave,
        "swizzle_mode" => Field::Swizzle,
        "swizzle_atomicity" => Field::SwizzleAtomicity,
        "fill_mode" => Field::Fill,
        _ => return None,
    })
}
