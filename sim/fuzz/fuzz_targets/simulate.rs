//! Checks that any text is rejected or runs: `cargo +nightly fuzz run simulate -- -dict=fuzz/ptx.dict` in `sim/`.
//!
//! To start from existing kernels, copy `tests/data/corpus/*/kernel.ptx` to `fuzz/corpus/simulate/`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpwright_sim::{Arg, Launch, Memory, Module, Sim, validate};

fuzz_target!(|text: &str| {
    let parsed = Module::parse(text);
    let errors = validate("kernel.ptx", text);
    assert!(parsed.is_ok() || !errors.is_empty());
    let Ok(module) = parsed else { return };
    assert!(Module::parse(&module.ast().to_string()).is_ok());
    for entry in module.entries() {
        let mut memory = Memory::new();
        let buffer = memory.alloc(256).to_le_bytes();
        let argument = |size: usize| Arg::bytes(buffer.iter().copied().chain(std::iter::repeat(0)).take(size).collect::<Vec<u8>>());
        let args: Vec<Arg> = entry.params().iter().map(|param| argument(param.size)).collect();
        let block = entry.reqntid().unwrap_or([48, 1, 1]);
        let launch = Launch { grid: [2, 1, 1], block, dynamic_shared_bytes: 64, cluster: None };
        let sim = Sim::new().step_limit(20_000).keep_going(8);
        let _ = sim.launch(&module, entry.name(), &launch, &args, &mut memory);
    }
});
