//! The assembler: the instruction table against ptxas, the emitters against the table, folding against the manual.

#[path = "support/require.rs"]
mod require;

mod ptx {
    mod assemble;
    mod emitters;
    mod operands;
    mod table;
}
