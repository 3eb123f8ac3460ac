//! `bar`, `barrier`, `fence` and `membar`.

use crate::arith::Int;
use crate::program::code::{Barrier, BarrierKind, Control, FenceScope, Op, R};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::memory::SCOPES;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::order::AS_WRITTEN;
use crate::program::types::Type;
use crate::report::InstructionClass;
use crate::text::ast::OperandKind;

const U32: Type = Type::Int(Int::U32);

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["bar", "barrier"], Counted::As(InstructionClass::Barrier), AS_WRITTEN, |d| {
        d.barrier().map(Op::Control)
    }),
    row(&["membar"], Counted::As(InstructionClass::Barrier), AS_WRITTEN, |d| d.fence().map(Op::Control)),
    row(
        &["fence"],
        Counted::As(InstructionClass::Barrier),
        |_| Some(|word| u8::from(SCOPES.contains(&word))),
        |d| d.fence().map(Op::Control),
    ),
];

impl Decoder<'_, '_, '_> {
    /// Decodes `bar[.cta].op`, `barrier[.cta].op[.aligned]`, `bar.warp.sync` and `barrier.cluster.op`.
    fn barrier(&mut self) -> Decoded<Control> {
        let name = self.i.opcode();
        if name == "bar" && self.m.eat("warp") {
            self.want_word("sync")?;
            self.arity(1)?;
            return Ok(Control::WarpSync(self.src_r(0, U32)?));
        }
        if name == "barrier" && self.m.eat("cluster") {
            return self.cluster_barrier();
        }
        self.m.eat("cta");
        let op = self.m.next().unwrap_or("");
        let red = if op == "red" { self.m.next() } else { None };
        let aligned = name == "bar" || self.m.eat("aligned");
        let (kind, aligned) = match (op, red) {
            ("sync", None) => (BarrierKind::Sync, aligned),
            ("arrive", None) => (BarrierKind::Arrive, aligned),
            ("red", Some(f @ ("popc" | "and" | "or"))) => return self.barrier_red(f, aligned),
            _ => return Err(self.unknown()),
        };
        self.arity_of(if kind == BarrierKind::Arrive { 2 } else { 1 }, 2)?;
        let id = self.barrier_id(0)?;
        let threads = if self.count() == 2 { Some(self.barrier_threads(1)?) } else { None };
        Ok(Control::Barrier(Box::new(Barrier { kind, aligned, id, threads })))
    }

    /// Decodes `bar.red.popc.u32 d, a[, b], c` and `bar.red.{and,or}.pred p, a[, b], c`.
    fn barrier_red(&mut self, f: &str, aligned: bool) -> Decoded<Control> {
        let aligned = self.m.eat("aligned") || aligned;
        self.want_word(if f == "popc" { "u32" } else { "pred" })?;
        self.arity_of(3, 4)?;
        let last = self.count() - 1;
        let id = self.barrier_id(1)?;
        let threads = if last == 3 { Some(self.barrier_threads(2)?) } else { None };
        let (p, negated) = self.src_p(self.operand(last))?;
        let kind = match f {
            "popc" => BarrierKind::Popc(self.dst_r(0, U32)?, p, negated),
            "and" => BarrierKind::And(self.dst_p(self.operand(0))?, p, negated),
            _ => BarrierKind::Or(self.dst_p(self.operand(0))?, p, negated),
        };
        Ok(Control::Barrier(Box::new(Barrier { kind, aligned, id, threads })))
    }

    fn barrier_id(&mut self, n: usize) -> Decoded<R> {
        match self.operand(n).kind {
            OperandKind::Int(id) if !(0..16).contains(&id.get()) => {
                Err(self.error_at(self.operand(n), format!("barrier {id}: a block has barriers 0 to 15")))
            }
            _ => self.src_r(n, U32),
        }
    }

    fn barrier_threads(&mut self, n: usize) -> Decoded<R> {
        match self.operand(n).kind {
            OperandKind::Int(threads) if threads.get() % 32 != 0 => {
                Err(self
                    .error_at(self.operand(n), format!("{threads} threads are not a whole number of warps")))
            }
            _ => self.src_r(n, U32),
        }
    }

    fn cluster_barrier(&mut self) -> Decoded<Control> {
        let arrive = match self.m.next() {
            Some("arrive") => true,
            Some("wait") => false,
            _ => return Err(self.error("`barrier.cluster` requires `.arrive` or `.wait`")),
        };
        let relaxed = arrive && self.m.eat("relaxed");
        self.m.eat(if arrive { "release" } else { "acquire" });
        let aligned = self.m.eat("aligned");
        self.arity(0)?;
        Ok(if arrive {
            Control::ClusterArrive { aligned, relaxed }
        } else {
            Control::ClusterWait { aligned }
        })
    }

    /// Decodes `membar.level` and `fence.…`.
    fn fence(&mut self) -> Decoded<Control> {
        let words = self.m.all();
        let words: Vec<&str> = words.to_vec();
        let known = match (self.i.opcode(), &words[..]) {
            ("membar", ["cta" | "gl" | "sys"] | ["proxy", "alias"]) => true,
            ("fence", ["cta" | "cluster" | "gpu" | "sys"]) => true,
            ("fence", ["sc" | "acq_rel" | "acquire" | "release", "cta" | "cluster" | "gpu" | "sys"]) => true,
            ("fence", ["acquire" | "release", sync, "cluster"]) => sync.starts_with("sync_restrict::"),
            ("fence", ["mbarrier_init", "release", "cluster"]) => true,
            ("fence", ["proxy", "alias" | "async"]) => true,
            ("fence", ["proxy", "async::generic", "acquire" | "release", sync, "cluster"]) => {
                sync.starts_with("sync_restrict::")
            }
            ("fence", ["proxy", "async", space]) => {
                matches!(*space, "global" | "shared::cta" | "shared::cluster")
            }
            ("fence", ["proxy", kind, "release" | "acquire", "cta" | "cluster" | "gpu" | "sys"]) => {
                kind.starts_with("tensormap::generic")
            }
            _ => false,
        };
        if !known {
            return Err(self.unknown());
        }
        while self.m.next().is_some() {}
        if words.contains(&"acquire") && words[1].starts_with("tensormap") {
            self.arity(2)?;
        } else {
            self.arity(0)?;
        }
        Ok(match words[..] {
            // Only shared memory is checked for proxy fences.
            ["proxy", "async", "global"] => Control::Hint,
            ["proxy", kind, ..] if kind.starts_with("async") => Control::ProxyFence,
            _ if words.contains(&"cta") => Control::Fence(FenceScope::Block),
            _ if words.contains(&"cluster") => Control::Fence(FenceScope::Cluster),
            _ => Control::Fence(FenceScope::Device),
        })
    }
}
