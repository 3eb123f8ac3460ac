//! Pragmas that declare properties of a kernel, which a checked run verifies.
//!
//! `.pragma "warpwright.uniform %r5 32";` declares that all threads of each group of 32 consecutive threads of the block have the same
//! value in `%r5`. With `block` or `cluster` in place of the number, it applies to all threads of the block or cluster. A final `@%p1` or
//! `@!%p1` restricts it to the threads that the predicate selects. Other pragmas have no effect on the result.

use crate::program::analysis::watch::Touches;
use crate::program::code::{Control, Guard, Instr, Meta, Op, Reg, Together, Uniform};
use crate::program::decode::Decoded;
use crate::program::decode::function::Body;
use crate::report::InstructionClass;
use crate::text::lexer::Pos;

const UNIFORM: &str = "warpwright.uniform";

pub(super) fn decode(body: &mut Body<'_, '_>, pragma: &str, pos: Pos) -> Decoded<()> {
    let mut words = pragma.split_whitespace();
    if words.next() != Some(UNIFORM) {
        return Ok(());
    }
    let (op, guard) = match (words.next(), words.next(), words.next(), words.next()) {
        (Some(register), Some(threads), guard, None) => {
            let (reg, together) = (register_of(body, register), together(threads));
            let guard = guard.map_or(Some(Guard::Always), |guard| guard_of(body, guard));
            (reg.zip(together).map(|(reg, together)| Uniform { reg, together }), guard)
        }
        _ => (None, None),
    };
    let (Some(op), Some(guard)) = (op, guard) else {
        let message = format!(
            "expected `{UNIFORM} REGISTER THREADS`, with a number, `block` or `cluster`, found `{pragma}`"
        );
        return Err(body.error(pos, ".pragma".len() as u32, message));
    };
    if body.builder.linking {
        let mnemonic = body.builder.mnemonic(".pragma");
        let meta = Meta {
            line: pos.line,
            column: pos.column,
            loc: body.loc(),
            mnemonic,
            class: InstructionClass::Other,
            look: None,
            late: false,
        };
        body.builder.push(Instr::new(guard, Op::Control(Control::Uniform(op))), meta, Touches::default());
    }
    Ok(())
}

fn together(word: &str) -> Option<Together> {
    match word {
        "block" => Some(Together::Block),
        "cluster" => Some(Together::Cluster),
        number => number.parse().ok().filter(|&threads| threads > 0).map(Together::Threads),
    }
}

fn register_of(body: &mut Body<'_, '_>, name: &str) -> Option<Reg> {
    body.register(&name.into()).filter(|register| register.vector == 1).map(|register| register.slot(0))
}

fn guard_of(body: &mut Body<'_, '_>, word: &str) -> Option<Guard> {
    let name = word.strip_prefix('@')?;
    let (name, negated) = name.strip_prefix('!').map_or((name, false), |name| (name, true));
    match register_of(body, name)? {
        Reg::P(p) => Some(if negated { Guard::Unless(p) } else { Guard::If(p) }),
        _ => None,
    }
}
