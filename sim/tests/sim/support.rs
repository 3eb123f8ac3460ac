//! Functions that several tests share: they launch a kernel on buffers in one call.

use warpwright_sim::{Arg, Launch, Memory, Module, Report, Sim, SimError};

/// Returns a module with one kernel `k` with these parameters and this body, on sm_90a.
pub(crate) fn kernel(params: &str, body: &str) -> String {
    format!(".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k({params})\n{{\n{body}\n}}\n")
}

/// Parses a text, or panics with the error.
#[track_caller]
pub(crate) fn parse(text: &str) -> Module {
    Module::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns a launch of one block.
pub(crate) fn one_block(threads: u32) -> Launch {
    Launch { block: [threads, 1, 1], ..Launch::default() }
}

/// Runs kernel `k` of `text` on one input buffer and an output buffer of `out` words.
pub(crate) fn run(
    text: &str,
    launch: &Launch,
    input: &[u32],
    out: usize,
) -> Result<(Vec<u32>, Report), SimError> {
    run_on(&Sim::new(), text, launch, input, out)
}

/// Runs kernel `k` of `text` like [`run`], on a given simulator.
pub(crate) fn run_on(
    sim: &Sim<'_>,
    text: &str,
    launch: &Launch,
    input: &[u32],
    out: usize,
) -> Result<(Vec<u32>, Report), SimError> {
    let module = parse(text);
    let mut memory = Memory::new();
    let to = memory.alloc(4 * out);
    let from = memory.alloc(4 * input.len());
    memory.write(from, &bytes(input)).expect("in bounds");
    let report = sim.launch(&module, "k", launch, &[Arg::from(to), Arg::from(from)], &mut memory)?;
    let mut result = vec![0; 4 * out];
    memory.read(to, &mut result).expect("in bounds");
    Ok((words(&result), report))
}

/// Returns the little-endian bytes of words.
pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Returns the words of little-endian bytes.
pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}
