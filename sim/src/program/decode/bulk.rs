//! `cp.async.bulk`, `cp.async.bulk.tensor` and their reducing variants.

use crate::arith::Int;
use crate::program::code::{
    Addr, Bulk, BulkTensor, Completion, Control, Memory, Op, R, ReduceFn, Reduction, Space, StoreAsync,
    TensorReduce,
};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::memory::space_of;
use crate::program::decode::operand::Fit;
use crate::program::types::Type;
use crate::text::ast::{Operand, OperandKind};

const U32: Type = Type::Int(Int::U32);

/// The qualifiers after the state spaces.
#[derive(Default)]
struct Tail {
    mbarrier: bool,
    group: bool,
    multicast: bool,
    policy: bool,
    mask: bool,
}

impl Reduction {
    /// Returns whether the reduction is supported in the shared memory of the cluster: reductions of 32-bit integers, and addition of
    /// `.u64`.
    fn fits_shared(&self) -> bool {
        match self.f {
            ReduceFn::AddFloat(_) | ReduceFn::MinFloat(_) | ReduceFn::MaxFloat(_) => false,
            ReduceFn::AddInt(Int::U64) => true,
            _ => self.bytes == 4,
        }
    }
}

impl Decoder<'_, '_, '_> {
    /// Decodes the instructions that begin with `cp.async.bulk`.
    pub(super) fn bulk(&mut self) -> Decoded<Op> {
        match self.m.peek() {
            Some("commit_group") => {
                self.m.next();
                self.arity(0)?;
                Ok(Op::Memory(Memory::BulkCommit))
            }
            Some("wait_group") => {
                self.m.next();
                self.m.eat("read");
                self.arity(1)?;
                let n = self.constant(0, "the number of groups")?;
                let n = u32::try_from(n)
                    .map_err(|_| self.error_at(self.operand(0), format!("{n} is not a number of groups")))?;
                Ok(Op::Memory(Memory::BulkWait(n)))
            }
            Some("prefetch") => {
                while self.m.next().is_some() {}
                self.arity_of(1, 3)?;
                self.brackets(0)?;
                Ok(Op::Control(Control::Hint))
            }
            Some("tensor") => {
                self.m.next();
                self.bulk_tensor(false).map(Op::Memory)
            }
            _ => self.bulk_copy(false).map(Op::Memory),
        }
    }

    /// Decodes the instructions that begin with `cp.reduce.async.bulk`.
    pub(super) fn reduce_bulk(&mut self) -> Decoded<Op> {
        if self.m.eat("tensor") {
            return self.bulk_tensor(true).map(Op::Memory);
        }
        self.bulk_copy(true).map(Op::Memory)
    }

    fn tail(&mut self) -> Tail {
        let mut tail = Tail::default();
        while let Some(word) = self.m.peek() {
            match word {
                "mbarrier::complete_tx::bytes" => tail.mbarrier = true,
                "bulk_group" => tail.group = true,
                "multicast::cluster" => tail.multicast = true,
                "L2::cache_hint" => tail.policy = true,
                "cp_mask" => tail.mask = true,
                _ => break,
            }
            self.m.next();
        }
        tail
    }

    /// Decodes the operands `[to], [from], bytes[, [mbarrier]][, mask][, policy]`.
    fn bulk_copy(&mut self, reduce: bool) -> Decoded<Memory> {
        let space = |word: &str| {
            space_of(word).filter(|s| matches!(s, Space::Global | Space::Shared | Space::SharedCluster))
        };
        let to = self.want("a state space", space)?;
        let from = self.want("a state space", space)?;
        let mut tail = self.tail();
        let reduce = if reduce { Some(self.reduction()?) } else { None };
        if let (Some(_), more) = (&reduce, self.tail()) {
            tail.policy |= more.policy;
        }
        let shared = |s: Space| s != Space::Global;
        if reduce.as_ref().is_some_and(|reduce| shared(to) && !reduce.fits_shared()) {
            return Err(self.unknown());
        }
        let sensible = match (to, from) {
            (Space::Global, from) => from == Space::Shared && tail.group,
            (to, Space::Global) => {
                tail.mbarrier && reduce.is_none() && (to == Space::SharedCluster || !tail.multicast)
            }
            (Space::SharedCluster, Space::Shared) => tail.mbarrier,
            _ => false,
        };
        let masked = tail.mask && (to != Space::Global || reduce.is_some());
        if !sensible || tail.mbarrier == tail.group || (tail.multicast && shared(from)) || masked {
            return Err(self.unknown());
        }
        let optional = [tail.mbarrier, tail.multicast, tail.policy, tail.mask];
        let count = 3 + optional.into_iter().filter(|&given| given).count();
        self.arity(count)?;
        let (to_addr, _) = self.addr(0, to)?;
        let (from_addr, _) = self.addr(1, from)?;
        let bytes = self.src_r(2, U32)?;
        let (completion, next) = self.completion(&tail, 3)?;
        let multicast = self.multicast(&tail, next)?;
        if tail.mask {
            self.src_r(count - 1, Type::B16)?;
            return Err(self.unsupported("masks of the bytes of a copy are not modeled"));
        }
        Ok(Memory::Bulk(Box::new(Bulk {
            to: (to, to_addr),
            from: (from, from_addr),
            bytes,
            completion,
            multicast,
            reduce,
        })))
    }

    /// Decodes `st.async[.weak][.space].completion[.vec].type [to], b, [mbarrier]` and, with `.relaxed.cluster` and an operation before the
    /// type, `red.async`.
    pub(super) fn store_async(&mut self, reduce: bool) -> Decoded<Memory> {
        if reduce {
            self.want_word("relaxed")?;
            self.want_word("cluster")?;
        } else {
            self.m.eat("weak");
        }
        let shared =
            |word: &str| space_of(word).filter(|s| matches!(s, Space::Shared | Space::SharedCluster));
        let space = self.m.take(shared).unwrap_or(Space::Generic);
        self.want_word("mbarrier::complete_tx::bytes")?;
        let reduce = if reduce { Some(self.reduction()?) } else { None };
        let (count, ty) = match reduce {
            Some(_) => (1, self.m.last_type()),
            None => (self.vector(), self.m.ty()),
        };
        let sound = |ty: &Type| matches!(ty, Type::B32 | Type::B64 | Type::F32 | Type::F64 | Type::Int(_));
        let Some(ty) = ty.filter(sound).filter(|ty| ty.bits() >= 32 && ty.bytes() as usize * count <= 16)
        else {
            return Err(self.unknown());
        };
        let floats =
            reduce.is_some() && (ty.float().is_some() || (ty.bits() == 64 && !self.m.all().contains(&"add")));
        if floats {
            return Err(self.unknown());
        }
        self.arity(3)?;
        let (to, _) = self.addr(0, space)?;
        let values = self.sources(1, count, ty, Fit::Exact)?;
        let (mbarrier, _) = self.addr(2, space)?;
        let bytes = ty.bytes() as u8;
        Ok(Memory::StoreAsync(Box::new(StoreAsync { space, to, values, bytes, mbarrier, reduce })))
    }

    fn completion(&mut self, tail: &Tail, n: usize) -> Decoded<(Completion, usize)> {
        if tail.mbarrier {
            let (addr, _) = self.addr(n, Space::SharedCluster)?;
            return Ok((Completion::Mbarrier(addr), n + 1));
        }
        Ok((Completion::Group, n))
    }

    fn multicast(&mut self, tail: &Tail, n: usize) -> Decoded<Option<R>> {
        if tail.multicast { Ok(Some(self.src_r(n, Type::B16)?)) } else { Ok(None) }
    }

    fn reduction(&mut self) -> Decoded<Reduction> {
        let word = self.m.next().unwrap_or("");
        let noftz = self.m.eat("noftz");
        let ty = self.want_type()?;
        let f = match (word, ty) {
            ("add", Type::Int(int)) if int.bits() >= 32 && int != Int::S64 => ReduceFn::AddInt(int),
            ("min", Type::Int(int)) if int.bits() >= 32 => ReduceFn::MinInt(int),
            ("max", Type::Int(int)) if int.bits() >= 32 => ReduceFn::MaxInt(int),
            ("inc", Type::Int(Int::U32)) => ReduceFn::Inc,
            ("dec", Type::Int(Int::U32)) => ReduceFn::Dec,
            ("and", Type::B32 | Type::B64) => ReduceFn::And,
            ("or", Type::B32 | Type::B64) => ReduceFn::Or,
            ("xor", Type::B32 | Type::B64) => ReduceFn::Xor,
            ("add", Type::F16 | Type::Bf16) if noftz => ReduceFn::AddFloat(self.float_ty(ty)?),
            ("add", Type::F32 | Type::F64) => ReduceFn::AddFloat(self.float_ty(ty)?),
            ("min", Type::F16 | Type::Bf16) if !noftz => ReduceFn::MinFloat(self.float_ty(ty)?),
            ("max", Type::F16 | Type::Bf16) if !noftz => ReduceFn::MaxFloat(self.float_ty(ty)?),
            _ => return Err(self.unknown()),
        };
        Ok(Reduction { f, bytes: ty.bytes() as u8 })
    }

    /// Decodes `cp.async.bulk.tensor.dim.to.from[.mode].completion…` and the reducing variant.
    fn bulk_tensor(&mut self, reduce: bool) -> Decoded<Memory> {
        let rank = self.want("a dimension such as `.2d`", |word| match word {
            "1d" => Some(1),
            "2d" => Some(2),
            "3d" => Some(3),
            "4d" => Some(4),
            "5d" => Some(5),
            _ => None,
        })?;
        let space = |word: &str| {
            space_of(word).filter(|s| matches!(s, Space::Global | Space::Shared | Space::SharedCluster))
        };
        let to = self.want("a state space", space)?;
        let from = self.want("a state space", space)?;
        let load = to != Space::Global;
        if load != (from == Space::Global) || from == Space::SharedCluster || (reduce && load) {
            return Err(self.unknown());
        }
        let reduce = if reduce { Some(self.tensor_reduce()?) } else { None };
        let mode = self.m.take(|word| match word {
            "tile" => Some(false),
            "im2col" => load.then_some(true),
            "im2col_no_offs" => (!load).then_some(true),
            _ => None,
        });
        let im2col = mode == Some(true);
        if im2col && rank < 3 {
            return Err(self.unknown());
        }
        let tail = self.tail();
        if (tail.multicast && to != Space::SharedCluster)
            || (load && !tail.mbarrier)
            || (!load && !tail.group)
            || tail.mbarrier == tail.group
            || tail.mask
        {
            return Err(self.unknown());
        }
        let offsets = load && im2col;
        let count = 2
            + usize::from(tail.mbarrier)
            + usize::from(offsets)
            + usize::from(tail.multicast)
            + usize::from(tail.policy);
        self.arity(count)?;
        let (tensor, shared) = if load { (1, 0) } else { (0, 1) };
        let shared_space = if load { to } else { from };
        let (shared_addr, _) = self.addr(shared, shared_space)?;
        let (map, coordinates) = self.tensor_operand(tensor, rank)?;
        let (completion, next) = self.completion(&tail, 2)?;
        let offset_regs =
            if offsets { self.sources(next, rank - 2, Type::B16, Fit::Exact)? } else { Box::default() };
        let offset_regs = self.words_of(next, &offset_regs)?;
        let multicast = self.multicast(&tail, next + usize::from(offsets))?;
        Ok(Memory::BulkTensor(Box::new(BulkTensor {
            map,
            coordinates,
            im2col: im2col.then_some(offset_regs),
            shared: (shared_space, shared_addr),
            load,
            completion,
            multicast,
            reduce,
        })))
    }

    /// Decodes the operand `[map, {coordinates}]`.
    fn tensor_operand(&mut self, n: usize, rank: usize) -> Decoded<(Addr, Box<[R]>)> {
        let address = self.brackets(n)?;
        let [coordinates] = &address.rest[..] else {
            return Err(self.error_at(self.operand(n), "expected `[map, {coordinates}]`"));
        };
        let coordinates: &Operand = coordinates;
        let OperandKind::Vector(items) = &coordinates.kind else {
            return Err(self.error_at(coordinates, "expected coordinates in braces"));
        };
        if items.len() != rank {
            return Err(
                self.error_at(coordinates, format!("expected {rank} coordinates, found {}", items.len()))
            );
        }
        let mut regs = vec![];
        for item in items {
            let reg = self.src_as(item, Type::Int(Int::S32), Fit::Exact)?;
            regs.push(self.only_r(item, reg)?);
        }
        let (addr, _) = self.address(address, Space::Generic)?;
        Ok((addr, regs.into()))
    }

    fn tensor_reduce(&mut self) -> Decoded<TensorReduce> {
        self.want("a reduction such as `.add`", |word| {
            Some(match word {
                "add" => TensorReduce::Add,
                "min" => TensorReduce::Min,
                "max" => TensorReduce::Max,
                "inc" => TensorReduce::Inc,
                "dec" => TensorReduce::Dec,
                "and" => TensorReduce::And,
                "or" => TensorReduce::Or,
                "xor" => TensorReduce::Xor,
                _ => return None,
            })
        })
    }
}
