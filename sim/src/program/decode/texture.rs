//! `tex`, `tld4`, `suld` and `sust`.

use crate::arith::Int;
use crate::program::code::{D, Fetch, Geometry, Memory, Op, Outside, R, Reg, SurfaceAccess};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::AS_WRITTEN;
use crate::program::types::Type;
use crate::report::InstructionClass;
use crate::text::ast::{Operand, OperandKind};

const LOAD: Counted = Counted::As(InstructionClass::Load);

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["tex"], LOAD, AS_WRITTEN, |d| d.tex().map(Op::Memory)),
    row(&["tld4"], LOAD, AS_WRITTEN, |d| d.tld4().map(Op::Memory)),
    row(&["suld"], LOAD, AS_WRITTEN, |d| d.surface(false).map(Op::Memory)),
    row(&["sust"], Counted::As(InstructionClass::Store), AS_WRITTEN, |d| d.surface(true).map(Op::Memory)),
];

const LAYER: Type = Type::Int(Int::U32);
const INDEX: Type = Type::Int(Int::S32);

fn geometry_of(word: &str) -> Option<Geometry> {
    let (dimensions, layered, cube) = match word {
        "1d" => (1, false, false),
        "2d" => (2, false, false),
        "3d" => (3, false, false),
        "a1d" => (1, true, false),
        "a2d" => (2, true, false),
        "cube" => (2, false, true),
        "acube" => (2, true, true),
        _ => return None,
    };
    Some(Geometry { dimensions, layered, cube })
}

impl Decoder<'_, '_, '_> {
    /// Decodes `tex.geom.v4.dtype.ctype d, [texture, {coordinates}]`.
    fn tex(&mut self) -> Decoded<Memory> {
        // Images have only one mipmap level, so the requested level is ignored.
        let has_level = self.m.eat("level");
        if has_level || self.m.eat("base") {
            self.refuse_mipmaps(self.m.peek() != Some("grad"))?;
        }
        self.refuse_mipmaps(self.m.peek() != Some("grad"))?;
        if let Some("2dms" | "a2dms") = self.m.peek() {
            return Err(self.unsupported("multisampled images are not modeled"));
        }
        let geometry = self.want("a geometry such as `.2d`", geometry_of)?;
        let in_pairs = self.m.all().contains(&"f16x2");
        self.want_word(if in_pairs { "v2" } else { "v4" })?;
        let ty = match self.want_type()? {
            ty @ (Type::F32 | Type::Int(Int::U32 | Int::S32)) => ty,
            Type::F16 | Type::F16x2 => {
                return Err(self.unsupported("halves are returned by no texture that is modeled"));
            }
            ty => return Err(self.no_such_type(ty)),
        };
        let coordinate = self.want_type()?;
        if !matches!(coordinate, Type::F32 | INDEX) || (geometry.cube && coordinate == INDEX) {
            return Err(self.no_such_type(coordinate));
        }
        self.refuse_extras(2 + usize::from(has_level))?;
        if has_level {
            self.src_r(2, coordinate)?;
        }
        self.fetch(geometry, ty, coordinate, None)
    }

    /// Decodes `tld4.comp.2d.v4.dtype.f32 d, [texture, {coordinates}]`.
    fn tld4(&mut self) -> Decoded<Memory> {
        let component = self.want("a component such as `.r`", |word| {
            ["r", "g", "b", "a"].iter().position(|component| *component == word)
        })?;
        let geometry = self.want("a geometry such as `.2d`", geometry_of)?;
        if geometry.dimensions != 2 || geometry.layered || geometry.cube {
            return Err(self.unsupported("only `.2d` is modeled"));
        }
        self.want_word("v4")?;
        let ty = match self.want_type()? {
            ty @ (Type::F32 | Type::Int(Int::U32 | Int::S32)) => ty,
            ty => return Err(self.no_such_type(ty)),
        };
        self.want_word("f32")?;
        self.refuse_extras(2)?;
        self.fetch(geometry, ty, Type::F32, Some(component as u8))
    }

    fn refuse_mipmaps(&self, is_supported: bool) -> Decoded<()> {
        if is_supported { Ok(()) } else { Err(self.unsupported("mipmaps are not modeled")) }
    }

    /// Rejects optional operands after the first `count`, and the predicate for the residency of the texels.
    fn refuse_extras(&self, count: usize) -> Decoded<()> {
        if self.count() <= count + 2 && self.count() > count {
            return Err(self.unsupported("offsets and comparisons of depths are not modeled"));
        }
        self.arity(count)?;
        match self.operand(0).kind {
            OperandKind::Pair(_) => Err(self.unsupported("partly resident textures are not modeled")),
            _ => Ok(()),
        }
    }

    fn fetch(
        &mut self,
        geometry: Geometry,
        ty: Type,
        coordinate: Type,
        gathered: Option<u8>,
    ) -> Decoded<Memory> {
        let d = self.destinations(0, 4, ty, Fit::Exact)?;
        let mut regs = [R(0); 4];
        for (reg, &found) in regs.iter_mut().zip(&d) {
            *reg = self.only_r(self.operand(0), found)?;
        }
        let (texture, layer, coordinates) = self.place(1, geometry, coordinate)?;
        let temporaries = std::array::from_fn(|_| self.temporary_d());
        let by_index = coordinate == INDEX;
        let fetch = Fetch { geometry, texture, layer, coordinates, by_index, gathered, d: regs, temporaries };
        Ok(Memory::Fetch(Box::new(fetch)))
    }

    /// Decodes `suld.b.geom.vec.type.clamp d, [surface, {coordinates}]` and `sust.b.geom.vec.type.clamp [surface, {coordinates}], c`.
    fn surface(&mut self, stores: bool) -> Decoded<Memory> {
        if self.m.eat("p") {
            return Err(self.unsupported("formatted stores are not modeled"));
        }
        self.want_word("b")?;
        let geometry = self.want("a geometry such as `.2d`", geometry_of)?;
        if geometry.cube {
            return Err(self.error("a surface has no faces; `.a2d` accesses those of a cube"));
        }
        self.cache_hints(if stores { &["wb", "cg", "cs", "wt"] } else { &["ca", "cg", "cs", "cv"] });
        let count = self.vector();
        let ty = self.want_type()?;
        if !matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64) || ty.bytes() as usize * count > 16 {
            return Err(self.no_such_type(ty));
        }
        let outside = self.want("what happens outside such as `.trap`", |word| {
            Some(match word {
                "trap" => Outside::Trap,
                "clamp" => Outside::Clamp,
                "zero" => Outside::Zero,
                _ => return None,
            })
        })?;
        self.arity(2)?;
        let (place, data) = if stores { (0, 1) } else { (1, 0) };
        let (surface, layer, coordinates) = self.place(place, geometry, INDEX)?;
        let regs = match stores {
            true => self.sources(data, count, ty, Fit::Wider)?,
            false => self.destinations(data, count, ty, Fit::Wider)?,
        };
        let half = self.first_width(data)? == 16;
        let bytes = ty.bytes() as u8;
        let access =
            SurfaceAccess { geometry, surface, layer, coordinates, outside, stores, bytes, half, regs };
        Ok(Memory::Surface(Box::new(access)))
    }

    /// Decodes `[object, {layer, coordinates}]`. A fourth vector element is ignored if three are used.
    fn place(&mut self, n: usize, geometry: Geometry, ty: Type) -> Decoded<(D, Option<R>, Box<[R]>)> {
        let address = self.brackets(n)?;
        let [coordinates] = &address.rest[..] else {
            let reason = "samplers that are apart from textures are not modeled";
            return Err(if address.rest.is_empty() {
                self.error_at(self.operand(n), "expected `[object, {coordinates}]`")
            } else {
                self.unsupported(reason)
            });
        };
        let Ok(Reg::D(object)) = self.src_as(&address.base, Type::B64, Fit::Exact) else {
            return Err(self.unsupported("references to textures and surfaces are not modeled, only objects"));
        };
        let items: Vec<Operand> = match &coordinates.kind {
            OperandKind::Vector(items) => items.to_vec(),
            _ => vec![coordinates.clone()],
        };
        let used = geometry.coordinates() + usize::from(geometry.layered);
        let want = if used == 3 { 4 } else { used };
        if items.len() != want {
            let message = format!("expected {want} coordinates, found {}", items.len());
            return Err(self.error_at(coordinates, message));
        }
        let mut items = items.iter();
        let mut next = |decoder: &mut Self, ty: Type| -> Decoded<Option<R>> {
            let Some(item) = items.next() else { return Ok(None) };
            let reg = decoder.src_as(item, ty, Fit::Exact)?;
            decoder.only_r(item, reg).map(Some)
        };
        let layer = if geometry.layered { next(self, LAYER)? } else { None };
        let mut found = vec![];
        for _ in 0..geometry.coordinates() {
            found.extend(next(self, ty)?);
        }
        Ok((object, layer, found.into()))
    }
}
