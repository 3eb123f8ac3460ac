//! `clusterlaunchcontrol`, with which a cluster takes over the work of another cluster that has not started.
//!
//! The PTX ISA does not specify the contents of the 16-byte response. In the simulator, it contains the coordinates of the first block of
//! the canceled cluster, and whether a cluster was canceled.

use crate::arith::compare::Compare;
use crate::arith::{Int, Ty};
use crate::program::code::{Alu, D, Memory, Op, Reg, Setp, Space, TryCancel, Value};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::AS_WRITTEN;
use crate::program::types::Type;
use crate::report::InstructionClass;

pub(super) const OPCODES: &[Opcodes] =
    &[row(&["clusterlaunchcontrol"], Counted::As(InstructionClass::Async), AS_WRITTEN, |d| {
        d.cluster_launch_control()
    })];

impl Decoder<'_, '_, '_> {
    pub(super) fn cluster_launch_control(&mut self) -> Decoded<Op> {
        match self.m.next() {
            Some("try_cancel") => self.try_cancel().map(Op::Memory),
            Some("query_cancel") => self.query_cancel().map(Op::Alu),
            _ => Err(self.unknown()),
        }
    }

    /// Decodes `clusterlaunchcontrol.try_cancel.async[.shared::cta].mbarrier::complete_tx::bytes[.multicast::cluster::all].b128 [addr],
    /// [mbar]`.
    fn try_cancel(&mut self) -> Decoded<Memory> {
        self.want_word("async")?;
        let space = if self.m.eat("shared::cta") { Space::Shared } else { Space::Generic };
        self.want_word("mbarrier::complete_tx::bytes")?;
        let to_all = self.m.eat("multicast::cluster::all");
        self.want_word("b128")?;
        self.arity(2)?;
        let ((response, response_space), (mbarrier, _)) = (self.addr(0, space)?, self.addr(1, space)?);
        Ok(Memory::TryCancel(Box::new(TryCancel { space: response_space, response, mbarrier, to_all })))
    }

    /// Decodes `clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r` and `….get_first_ctaid[::x|::y|::z].b32.b128 d, r`, with
    /// `.v4` for all coordinates.
    fn query_cancel(&mut self) -> Decoded<Alu> {
        let what = self.m.next().unwrap_or("");
        let single = match what {
            "is_canceled" | "get_first_ctaid" => None,
            "get_first_ctaid::x" => Some(0),
            "get_first_ctaid::y" => Some(1),
            "get_first_ctaid::z" => Some(2),
            _ => return Err(self.unknown()),
        };
        self.arity(2)?;
        if what == "is_canceled" {
            self.want_word("pred")?;
            self.want_word("b128")?;
            let d = self.dst_p(self.operand(0))?;
            let upper = match self.src(1, Type::B128)? {
                Reg::Q(D(low)) => Reg::D(D(low + 1)),
                _ => return Err(self.error_at(self.operand(1), "expected a 128-bit register")),
            };
            let b = Reg::D(self.body.builder.preset_d(Value::Bits(1 << 32)));
            let (compare, ty) = (Compare::Ge, Ty::Int(Int::U64));
            let Reg::P(q) = self.body.builder.new_register(Type::Pred) else { return Err(self.unknown()) };
            return Ok(Alu::Setp(Box::new(Setp {
                compare,
                ty,
                pair: false,
                ftz: false,
                d,
                q,
                a: upper,
                b,
                combine: None,
            })));
        }
        if single.is_none() {
            self.want_word("v4")?;
        }
        self.want_word("b32")?;
        self.want_word("b128")?;
        let parts = match single {
            None => self.destinations(0, 4, Type::B32, Fit::Exact)?,
            Some(wanted) => {
                let d = self.dst(0, Type::B32)?;
                let mut part =
                    |i: usize| if i == wanted { d } else { self.body.builder.new_register(Type::B32) };
                Box::new(std::array::from_fn::<Reg, 4, _>(&mut part))
            }
        };
        let a = self.src(1, Type::B128)?;
        Ok(Alu::Split { parts, a, bits: 32 })
    }
}
