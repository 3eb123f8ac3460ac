//! Extreme values of operands, which must neither overflow nor alias ordinary ones.

use super::support::{bytes, kernel, one_block, parse, run, words};
use warpwright_sim::{Arg, FindingKind, Launch, Memory, Sim, SimError, TensorMap, TensorSwizzle, TensorType};

const PARAMS: &str = ".param .u64 out, .param .u64 in";

/// Returns the kernel with this body; `%rd0` and `%rd1` are the addresses of both buffers.
fn text(body: &str) -> String {
    let head = ".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>; .shared .align 8 .b64 bar; .shared .align 128 .b8 s[128];
        ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];";
    kernel(PARAMS, &format!("{head}\n{body}\nret;"))
}

/// Runs one thread.
fn outcome(body: &str) -> Result<Vec<u32>, SimError> {
    run(&text(body), &one_block(1), &[7; 32], 4).map(|(out, _)| out)
}

#[track_caller]
fn finding(body: &str) -> (FindingKind, String) {
    let error = outcome(body).expect_err(body);
    (error.kind().expect("a finding"), error.to_string())
}

/// A wait for all but 2³² - 1 groups completes none.
#[test]
fn waits_for_all_but_enormous_numbers_of_groups() {
    let copy = |wait: &str| {
        format!(
            "mov.u32 %r1, s; mov.u32 %r2, 0; L: cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group;
             add.u32 %r1, %r1, 4; add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 3; @%p0 bra L;
             {wait} ld.shared.u32 %r3, [s+8]; st.global.u32 [%rd0], %r3;"
        )
    };
    assert_eq!(outcome(&copy("cp.async.wait_group 0;")).expect("complete")[0], 7);
    assert_eq!(finding(&copy("cp.async.wait_group 4294967295;")).0, FindingKind::AsyncCopyUnwaited);

    let bulk = |wait: &str| {
        format!(
            "mov.u32 %r1, 1; st.shared.v4.u32 [s], {{%r1, %r1, %r1, %r1}}; fence.proxy.async; mov.u32 %r2, 0;
             L: cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 16; cp.async.bulk.commit_group;
             add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 3; @%p0 bra L; {wait}"
        )
    };
    outcome(&bulk("cp.async.bulk.wait_group 0;")).expect("complete");
    assert_eq!(finding(&bulk("cp.async.bulk.wait_group 4294967295;")).0, FindingKind::AsyncGroupLeaked);
}

#[test]
fn arguments_of_printf_at_the_last_addresses() {
    for address in [u64::MAX, u64::MAX - 2, u64::MAX - 7] {
        let body = format!(
            "{{ .param .b64 f; .param .b64 a; .param .b32 r; mov.u64 %rd2, format; cvta.global.u64 %rd2, %rd2;
             st.param.b64 [f], %rd2; st.param.b64 [a], {address}; call.uni (r), vprintf, (f, a); }}"
        );
        let module = text(&body).replacen(
            ".visible",
            ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a); .global .b8 format[4] = {37, 100};\n.visible",
            1,
        );
        let error = run(&module, &one_block(1), &[0], 1).expect_err("no arguments");
        assert_eq!(error.kind(), Some(FindingKind::GlobalOutOfBounds), "{error}");
    }
}

#[test]
fn a_tensor_at_the_last_addresses() {
    let text = kernel(
        ".param .align 64 .b8 map[128]",
        ".shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar; .reg .b64 %m; .reg .pred %p;
         mov.u64 %m, map; cvta.param.u64 %m, %m; mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;
         mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
         cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%m, {0}], [bar];
         W: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra W; ret;",
    );
    let map = TensorMap {
        ty: TensorType::U32,
        address: !15,
        dims: vec![32],
        strides: vec![],
        tile: vec![32],
        element_strides: vec![1],
        swizzle: TensorSwizzle::None,
        nan_fill: false,
    };
    let args = [Arg::try_from(&map).expect("a valid map")];
    let error = Sim::new().launch(&parse(&text), "k", &one_block(1), &args, &mut Memory::new());
    assert_eq!(error.expect_err("no tensor").kind(), Some(FindingKind::GlobalOutOfBounds));
}

/// A box of 2⁴² bytes is rejected before its elements are visited.
#[test]
fn a_box_that_is_larger_than_all_memory() {
    let text = kernel(
        ".param .align 64 .b8 map[128]",
        ".shared .align 128 .b8 tile[128]; .shared .align 8 .b64 bar; .reg .b64 %m;
         mov.u64 %m, map; cvta.param.u64 %m, %m; mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;
         cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
         [tile], [%m, {0, 0, 0, 0, 0}], [bar]; ret;",
    );
    let mut memory = Memory::new();
    let map = TensorMap {
        ty: TensorType::U32,
        address: memory.alloc(1024),
        dims: vec![256; 5],
        strides: vec![1024, 1024, 1024, 1024],
        tile: vec![256; 5],
        element_strides: vec![1; 5],
        swizzle: TensorSwizzle::None,
        nan_fill: false,
    };
    let args = [Arg::try_from(&map).expect("a valid map")];
    let error = Sim::new().launch(&parse(&text), "k", &one_block(1), &args, &mut memory);
    assert_eq!(error.expect_err("too large").kind(), Some(FindingKind::SharedOutOfBounds));
}

/// The GPU ignores the element stride of dimension 0.
#[test]
fn tensor_copies_have_no_gaps_along_dimension_0() {
    let text = kernel(
        ".param .u64 out, .param .align 64 .b8 map[128]",
        ".shared .align 128 .b8 tile[64]; .shared .align 8 .b64 bar; .reg .b64 %m; .reg .b64 %rd; .reg .pred %p; .reg .b32 %r<4>;
         mov.u64 %m, map; cvta.param.u64 %m, %m; mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;
         mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32;
         cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%m, {4, 0}], [bar];
         W: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra W;
         ld.param.u64 %rd, [out]; ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [tile];
         st.global.v4.u32 [%rd], {%r0, %r1, %r2, %r3}; ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [tile+16];
         st.global.v4.u32 [%rd+16], {%r0, %r1, %r2, %r3}; ret;",
    );
    let mut memory = Memory::new();
    let (out, tensor) = (memory.alloc(32), memory.alloc(8 * 4 * 4));
    memory.write(tensor, &bytes(&(0..32).collect::<Vec<u32>>())).expect("in bounds");
    let map = TensorMap {
        ty: TensorType::U32,
        address: tensor,
        dims: vec![8, 4],
        strides: vec![32],
        tile: vec![4, 3],
        element_strides: vec![2, 2],
        swizzle: TensorSwizzle::None,
        nan_fill: false,
    };
    let args = [Arg::from(out), Arg::try_from(&map).expect("a valid map")];
    Sim::new().launch(&parse(&text), "k", &one_block(1), &args, &mut memory).expect("a copy").assert_clean();
    let mut result = [0; 32];
    memory.read(out, &mut result).expect("in bounds");
    assert_eq!(words(&result), [4, 5, 6, 7, 20, 21, 22, 23]);
}

/// The count of a phase stays within ±(2²⁰ - 1) (PTX ISA, "mbarrier: Tracking asynchronous operations").
#[test]
fn transaction_counts_are_bounded_in_both_directions() {
    let complete = |bytes: &str| {
        format!(
            "mbarrier.init.shared.b64 [bar], 1; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], {bytes};
             mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1048575;
             mbarrier.test_wait.parity.shared.b64 %p0, [bar], 0; selp.u32 %r0, 1, 0, %p0; st.global.u32 [%rd0], %r0;"
        )
    };
    assert_eq!(outcome(&complete("1048575")).expect("within the limit")[0], 1);
    for bytes in ["1048576", "0x200001", "0x80000000", "0xffffffff"] {
        let (kind, message) = finding(&complete(bytes));
        assert_eq!(kind, FindingKind::MbarrierMisuse, "{bytes}");
        assert!(message.contains("the limit is 1048575"), "{message}");
    }
}

/// An address in a block that the cluster does not have is outside the shared memory of all blocks, whatever the rank.
#[test]
fn mapa_of_ranks_outside_the_cluster() {
    let run = |rank: u32, ty: &str, access: &str| {
        let body = format!(
            "mov.u32 %r0, 3; st.shared.u32 [s], %r0; barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r1, {rank};
             mov.u32 %r2, s; mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; {access}
             barrier.cluster.arrive; barrier.cluster.wait;"
        );
        let launch = Launch { grid: [2, 1, 1], cluster: Some([2, 1, 1]), ..one_block(1) };
        let result = run(&text(&body), &launch, &[0], 4);
        result.map(|(out, _)| out[0]).map_err(|error| (ty.to_string(), error.kind()))
    };
    let cases = [
        (
            "u32",
            "mapa.shared::cluster.u32 %r3, %r2, %r1; ld.shared::cluster.u32 %r4, [%r3]; st.global.u32 [%rd0], %r4;",
        ),
        ("u64", "mapa.u64 %rd3, %rd2, %r1; ld.u32 %r4, [%rd3]; st.global.u32 [%rd0], %r4;"),
    ];
    for (ty, access) in cases {
        assert_eq!(run(1, ty, access), Ok(3));
        for rank in [2, 15, 17, 255, 256, 257, 1 << 30, u32::MAX] {
            let expected = Err((ty.to_string(), Some(FindingKind::SharedOutOfBounds)));
            assert_eq!(run(rank, ty, access), expected, "rank {rank}");
        }
    }
}
