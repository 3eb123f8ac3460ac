//! `ld`, `st` and their qualifiers.

use crate::program::code::{Access, Memory, Op, Reg, Space};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::{Order, is_type};
use crate::program::types::{Meaning, Type};
use crate::report::InstructionClass;

/// Returns the state space named by a qualifier of `ld`, `st` or `atom`.
pub(super) fn space_of(word: &str) -> Option<Space> {
    Some(match word {
        "global" => Space::Global,
        "shared" | "shared::cta" => Space::Shared,
        "shared::cluster" => Space::SharedCluster,
        "local" => Space::Local,
        "const" => Space::Const,
        "param" | "param::entry" | "param::func" => Space::Param,
        _ => return None,
    })
}

/// The cache qualifiers of an access.
#[derive(Debug, Default)]
pub(super) struct Caching {
    /// Whether there is a cache operator: `.ca`, `.cg`, …
    operator: bool,
    nc: bool,
    eviction: bool,
    pub(super) prefetch: bool,
    /// Whether the last operand is a cache policy.
    pub(super) policy: bool,
}

/// The scopes of strong operations.
pub(super) const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// The scope of a strong operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Cluster,
    Device,
}

impl Scope {
    /// Returns whether the scope includes other clusters.
    pub(super) fn is_wide(self) -> bool {
        self == Scope::Device
    }
}

/// How an access is ordered with respect to other accesses.
#[derive(Clone, Copy, Debug, Default)]
struct Strength {
    strong: bool,
    synchronizes: bool,
    relaxed: bool,
    meets_blocks: bool,
    mmio: bool,
}

impl Caching {
    /// Returns whether there is at most a cache policy and a prefetch size.
    pub(super) fn is_plain(&self) -> bool {
        !(self.operator || self.nc || self.eviction)
    }
}

/// The order `.sem.scope.space.op.cache.level.vec.type`. The qualifiers of asynchronous variants have a fixed order.
pub(super) const MEMORY: Order = |words| {
    (!matches!(words.first(), Some(&("async" | "bulk")))).then_some(|word| match word {
        "weak" | "volatile" | "mmio" => 0,
        "relaxed" | "acquire" | "release" | "acq_rel" => 1,
        _ if SCOPES.contains(&word) => 2,
        _ if space_of(word).is_some() => 3,
        "noftz" => 5,
        "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "nc" => 6,
        _ if word.contains("::") => 7,
        "v2" | "v4" | "v8" => 8,
        _ if is_type(word) => 9,
        _ => 4,
    })
};

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["ld", "ldu"], Counted::As(InstructionClass::Load), MEMORY, |d| d.ld().map(Op::Memory)),
    row(&["st"], Counted::As(InstructionClass::Store), MEMORY, |d| d.st().map(Op::Memory)),
];

impl Decoder<'_, '_, '_> {
    /// Checks that the space and the cache qualifiers are valid for an access.
    fn check_access(&self, order: Strength, space: Space, caching: &Caching) -> Decoded<()> {
        let mnemonic = self.i.mnemonic();
        let strong = order.strong;
        if strong && !matches!(space, Space::Generic | Space::Global | Space::Shared | Space::SharedCluster) {
            return Err(self.error(format!("`{mnemonic}`: a strong access is to global or shared space")));
        }
        if strong && (caching.operator || caching.nc) {
            return Err(self.error(format!("`{mnemonic}`: a strong access takes no cache operator")));
        }
        if caching.nc && space != Space::Global {
            return Err(self.error(format!("`{mnemonic}`: `.nc` requires `.global`")));
        }
        if caching.operator && caching.eviction {
            return Err(self.error(format!("`{mnemonic}`: a cache operator and an eviction priority")));
        }
        let levels = caching.eviction || caching.prefetch || caching.policy;
        if levels && !matches!(space, Space::Generic | Space::Global) {
            return Err(self.error(format!("`{mnemonic}`: cache hints go with global space")));
        }
        Ok(())
    }

    /// Checks that `.mmio` applies to one element of global memory.
    fn check_mmio(&self, order: Strength, space: Space, count: usize) -> Decoded<()> {
        if order.mmio && (count > 1 || !matches!(space, Space::Generic | Space::Global)) {
            return Err(self.error("`.mmio` goes with single elements of global memory"));
        }
        Ok(())
    }

    /// Decodes the scope (`.cta`, `.gpu`, …) if it is the next qualifier.
    pub(super) fn scope(&mut self) -> Option<Scope> {
        self.m.take(|word| match word {
            "cta" | "cluster" => Some(Scope::Cluster),
            "gpu" | "sys" => Some(Scope::Device),
            _ => None,
        })
    }

    /// Decodes the ordering (`.weak`, `.volatile`, `.relaxed.scope`, …) if present.
    fn ordering(&mut self, orders: &[&str]) -> Decoded<Strength> {
        if self.m.eat("weak") {
            return Ok(Strength::default());
        }
        if self.m.eat("volatile") {
            return Ok(Strength { strong: true, meets_blocks: true, ..Strength::default() });
        }
        let mmio = self.m.eat("mmio");
        let Some(order) = self.m.peek().filter(|word| orders.contains(word)) else {
            return if mmio {
                Err(self.error("`.mmio` requires `.relaxed.sys`"))
            } else {
                Ok(Strength::default())
            };
        };
        self.m.eat(order);
        let Some(scope) = self.scope() else {
            return Err(self.error(format!("`.{order}` requires a scope such as `.gpu`")));
        };
        let relaxed = order == "relaxed";
        Ok(Strength { strong: true, synchronizes: !relaxed, relaxed, meets_blocks: scope.is_wide(), mmio })
    }

    /// Decodes the ordering and the space. `.volatile.local` (PTX ISA 9.1) has no ordering effect, because no other thread accesses the
    /// memory.
    fn order_and_space(&mut self, orders: &[&str]) -> Decoded<(Strength, Space)> {
        let is_volatile = self.m.peek() == Some("volatile");
        let order = self.ordering(orders)?;
        let space = self.m.take(space_of).unwrap_or(Space::Generic);
        let order = if is_volatile && space == Space::Local { Strength::default() } else { order };
        Ok((order, space))
    }

    /// Decodes cache operators and hints.
    pub(super) fn cache_hints(&mut self, operators: &[&str]) -> Caching {
        let mut caching = Caching::default();
        while let Some(word) = self.m.peek() {
            let found = match word {
                "nc" => &mut caching.nc,
                "L2::cache_hint" => &mut caching.policy,
                "L1::evict_normal"
                | "L1::evict_unchanged"
                | "L1::evict_first"
                | "L1::evict_last"
                | "L1::no_allocate"
                | "L2::evict_normal"
                | "L2::evict_first"
                | "L2::evict_last" => &mut caching.eviction,
                "L2::64B" | "L2::128B" | "L2::256B" => &mut caching.prefetch,
                _ if operators.contains(&word) && !caching.operator => &mut caching.operator,
                _ => break,
            };
            *found = true;
            self.m.eat(word);
        }
        caching
    }

    /// Decodes `.v2`, `.v4` or `.v8`, and returns the number of elements, or 1 if the qualifier is absent.
    pub(super) fn vector(&mut self) -> usize {
        self.m
            .take(|word| match word {
                "v2" => Some(2),
                "v4" => Some(4),
                "v8" => Some(8),
                _ => None,
            })
            .unwrap_or(1)
    }

    /// Decodes the vector length and the element type, and checks that they are compatible. Only accesses to global memory may be 32 bytes
    /// wide.
    fn elements_type(&mut self, space: Space) -> Decoded<(usize, Type)> {
        let count = self.vector();
        let ty = self.want_type()?;
        let plain = matches!(
            ty,
            Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128 | Type::F32 | Type::F64 | Type::Int(_)
        );
        if !plain {
            return Err(self.no_such_type(ty));
        }
        let bytes = ty.bytes() as usize * count;
        let wide = ty.bits() >= 32 && matches!(space, Space::Global | Space::Generic);
        if bytes > if wide { 32 } else { 16 } {
            return Err(self.error(format!("`{}` moves {bytes} bytes at once", self.i.mnemonic())));
        }
        Ok((count, ty))
    }

    fn access(
        &self,
        space: Space,
        ty: Type,
        count: usize,
        order: Strength,
        addr: crate::program::code::Addr,
    ) -> Access {
        let signed = matches!(ty, Type::Int(int) if int.signed());
        let (bytes, count) = (ty.bytes() as u8, count as u8);
        let float = ty.meaning() == Meaning::Float;
        let Strength { strong, synchronizes, relaxed, meets_blocks, mmio: _ } = order;
        Access {
            space,
            bytes,
            count,
            signed,
            half: false,
            float,
            strong,
            synchronizes,
            relaxed,
            meets_blocks,
            addr,
        }
    }

    /// Returns the number of bits of the first register in operand `n`.
    pub(super) fn first_width(&mut self, n: usize) -> Decoded<u32> {
        let elements = self.elements(self.operand(n))?;
        let registers = elements.iter().map(|e| self.register_of(e)).collect::<Decoded<Vec<_>>>()?;
        Ok(registers.iter().flatten().next().map_or(32, |(_, ty)| ty.bits()))
    }

    pub(super) fn ld(&mut self) -> Decoded<Memory> {
        let (order, space) = self.order_and_space(&["relaxed", "acquire"])?;
        let caching = self.cache_hints(&["ca", "cg", "cs", "lu", "cv"]);
        self.check_access(order, space, &caching)?;
        let (count, ty) = self.elements_type(space)?;
        self.check_mmio(order, space, count)?;
        if caching.policy {
            self.arity(3)?;
            self.src_d(2, Type::B64)?;
        } else {
            self.arity(2)?;
        }
        let d = self.destinations(0, count, ty, Fit::Wider)?;
        let (addr, space) = self.addr(1, space)?;
        let mut access = self.access(space, ty, count, order, addr);
        access.half = self.first_width(0)? == 16;
        match &d[..] {
            &[Reg::R(d)] if access.bytes == 4 => Ok(Memory::LdR(access, d)),
            _ => Ok(Memory::Ld(access, d)),
        }
    }

    /// Rejects `st.bulk[.weak][.shared::cta] [a], size, 0`, after checking its operands.
    fn store_bulk(&mut self) -> Decoded<Memory> {
        self.m.eat("weak");
        let space = if self.m.eat("shared::cta") { Space::Shared } else { Space::Generic };
        if self.m.peek().is_some() {
            return Err(self.unknown());
        }
        self.arity(3)?;
        self.addr(0, space)?;
        self.src_d(1, Type::B64)?;
        match self.constant(2, "the value of `st.bulk`")? {
            0 => Err(self.unsupported("fills of shared memory are not modeled")),
            value => Err(self.error_at(self.operand(2), format!("expected 0, found {value}"))),
        }
    }

    pub(super) fn st(&mut self) -> Decoded<Memory> {
        if self.m.eat("async") {
            return self.store_async(false);
        }
        if self.m.eat("bulk") {
            return self.store_bulk();
        }
        let (order, space) = self.order_and_space(&["relaxed", "release"])?;
        if space == Space::Const {
            return Err(self.error("constant space is read only"));
        }
        let caching = self.cache_hints(&["wb", "cg", "cs", "wt"]);
        self.check_access(order, space, &caching)?;
        if caching.nc || caching.prefetch {
            return Err(
                self.error(format!("`{}`: a store neither prefetches nor is it `.nc`", self.i.mnemonic()))
            );
        }
        let (count, ty) = self.elements_type(space)?;
        self.check_mmio(order, space, count)?;
        if caching.policy {
            self.arity(3)?;
            self.src_d(2, Type::B64)?;
        } else {
            self.arity(2)?;
        }
        let (addr, space) = self.addr(0, space)?;
        if space == Space::Param {
            return Err(self.error("kernel parameters are read only"));
        }
        let values = self.sources(1, count, ty, Fit::Wider)?;
        let access = self.access(space, ty, count, order, addr);
        match &values[..] {
            &[Reg::R(value)] if access.bytes == 4 => Ok(Memory::StR(access, value)),
            _ => Ok(Memory::St(access, values)),
        }
    }
}
