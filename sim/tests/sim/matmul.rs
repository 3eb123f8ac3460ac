//! A tensor-core matrix product in hand-written PTX: `cp.async`, `ldmatrix`, `mma`, several blocks and warps.

use super::support::parse;
use half::bf16;
use warpwright_sim::{Arg, Launch, Memory, Module, Report, Sim};

/// D = A·B, row-major, bf16 in, f32 out; n and k are multiples of 64. A block of four warps computes a 64×64 tile of D.
fn source() -> String {
    let mut body = String::new();
    let mut line = |text: String| {
        body.push_str("    ");
        body.push_str(&text);
        body.push('\n');
    };
    for text in [
        ".reg .pred %p<4>;",
        ".reg .b32 %r<64>;",
        ".reg .b32 %a<8>;",
        ".reg .b32 %b<8>;",
        ".reg .f32 %f<32>;",
        ".reg .b64 %rd<32>;",
        ".shared .align 128 .b8 sa[4096];",
        ".shared .align 128 .b8 sb[4096];",
        "ld.param.u64 %rd1, [pa];",
        "ld.param.u64 %rd2, [pb];",
        "ld.param.u64 %rd3, [pd];",
        "ld.param.u32 %r1, [pn];",
        "ld.param.u32 %r2, [pk];",
        "mov.u32 %r3, %tid.x;",
        "mov.u32 %r4, %ctaid.x;",
        "mov.u32 %r5, %ctaid.y;",
        "mov.u32 %r6, sa;",
        "mov.u32 %r7, sb;",
        "shr.u32 %r8, %r3, 5;",  // warp
        "and.b32 %r9, %r3, 31;", // lane
        // Copies: a row of A has 4 chunks of 16 bytes, a row of B has 8; each thread copies two chunks of each.
        "shr.u32 %r10, %r3, 2;", // row of A
        "and.b32 %r11, %r3, 3;", // chunk of A
        "shl.b32 %r12, %r4, 6;",
        "add.u32 %r12, %r12, %r10;",
        "mul.lo.u32 %r13, %r12, %r2;",
        "mad.lo.u32 %r13, %r11, 8, %r13;",
        "mad.wide.u32 %rd4, %r13, 2, %rd1;", // A chunk
        "shl.b32 %r14, %r3, 4;",
        "add.u32 %r15, %r6, %r14;",    // its place
        "mul.wide.u32 %rd5, %r2, 64;", // 32 rows further
        "add.u64 %rd6, %rd4, %rd5;",
        "shr.u32 %r16, %r3, 3;", // row of B
        "and.b32 %r17, %r3, 7;", // chunk of B
        "mul.lo.u32 %r18, %r16, %r1;",
        "mad.lo.u32 %r18, %r5, 64, %r18;",
        "mad.lo.u32 %r18, %r17, 8, %r18;",
        "mad.wide.u32 %rd7, %r18, 2, %rd2;", // B chunk
        "add.u32 %r19, %r7, %r14;",
        "mul.wide.u32 %rd8, %r1, 32;", // 16 rows further
        "add.u64 %rd9, %rd7, %rd8;",
        "shl.b64 %rd10, %rd8, 1;", // 32 rows of B
        // This warp's quarter: rows 32(w/2), columns 32(w%2).
        "shr.u32 %r20, %r8, 1;",
        "shl.b32 %r20, %r20, 5;",
        "and.b32 %r21, %r8, 1;",
        "shl.b32 %r21, %r21, 5;",
        "and.b32 %r22, %r9, 15;",
        "shr.u32 %r23, %r9, 4;",
        // ldmatrix addresses: row (lane mod 16), column 8 (lane / 16).
        "add.u32 %r24, %r20, %r22;",
        "mad.lo.u32 %r25, %r24, 64, %r6;",
        "mad.lo.u32 %r25, %r23, 16, %r25;",
        "mad.lo.u32 %r26, %r22, 128, %r7;",
        "mad.lo.u32 %r26, %r21, 2, %r26;",
        "mad.lo.u32 %r26, %r23, 16, %r26;",
        "mov.u32 %r30, 0;",
    ] {
        line(text.into());
    }
    (0..32).for_each(|i| line(format!("mov.f32 %f{i}, 0f00000000;")));
    for text in [
        "LOOP:",
        "cp.async.cg.shared.global [%r15], [%rd4], 16;",
        "cp.async.cg.shared.global [%r15+2048], [%rd6], 16;",
        "cp.async.cg.shared.global [%r19], [%rd7], 16;",
        "cp.async.cg.shared.global [%r19+2048], [%rd9], 16;",
        "cp.async.commit_group;",
        "cp.async.wait_group 0;",
        "bar.sync 0;",
    ] {
        line(text.into());
    }
    for k in 0..2 {
        for m in 0..2 {
            let a: Vec<String> = (0..4).map(|i| format!("%a{}", 4 * m + i)).collect();
            line(format!(
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}}}, [%r25+{}];",
                a.join(","),
                1024 * m + 32 * k
            ));
        }
        for n in 0..2 {
            let b: Vec<String> = (0..4).map(|i| format!("%b{}", 4 * n + i)).collect();
            line(format!(
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{{}}}, [%r26+{}];",
                b.join(","),
                2048 * k + 32 * n
            ));
        }
        for m in 0..2 {
            for n in 0..4 {
                let d: Vec<String> = (0..4).map(|i| format!("%f{}", 16 * m + 4 * n + i)).collect();
                let d = d.join(",");
                let a: Vec<String> = (0..4).map(|i| format!("%a{}", 4 * m + i)).collect();
                line(format!(
                    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{{d}}}, {{{}}}, {{%b{},%b{}}}, {{{d}}};",
                    a.join(","),
                    2 * n,
                    2 * n + 1
                ));
            }
        }
    }
    for text in [
        "bar.sync 0;",
        "add.u64 %rd4, %rd4, 64;",
        "add.u64 %rd6, %rd6, 64;",
        "add.u64 %rd7, %rd7, %rd10;",
        "add.u64 %rd9, %rd9, %rd10;",
        "add.u32 %r30, %r30, 32;",
        "setp.lt.u32 %p1, %r30, %r2;",
        "@%p1 bra LOOP;",
        // Row 64·bx + 32(w/2) + lane/4, column 64·by + 32(w%2) + 2(lane mod 4).
        "shr.u32 %r31, %r9, 2;",
        "and.b32 %r32, %r9, 3;",
        "mad.lo.u32 %r33, %r4, 64, %r20;",
        "add.u32 %r33, %r33, %r31;",
        "mad.lo.u32 %r34, %r5, 64, %r21;",
        "mad.lo.u32 %r34, %r32, 2, %r34;",
        "mad.lo.u32 %r35, %r33, %r1, %r34;",
        "mad.wide.u32 %rd11, %r35, 4, %rd3;",
        "mul.wide.u32 %rd12, %r1, 32;", // 8 rows
    ] {
        line(text.into());
    }
    for m in 0..2 {
        for half in 0..2 {
            for n in 0..4 {
                let f = 16 * m + 4 * n + 2 * half;
                line(format!("st.global.v2.f32 [%rd11+{}], {{%f{f},%f{}}};", 32 * n, f + 1));
            }
            line("add.u64 %rd11, %rd11, %rd12;".into());
        }
    }
    line("ret;".into());
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry matmul(.param .u64 pa, .param .u64 pb, \
         .param .u64 pd, .param .u32 pn, .param .u32 pk)\n.reqntid 128\n{{\n{body}}}\n"
    )
}

/// Returns the parsed kernel.
pub(crate) fn module() -> Module {
    parse(&source())
}

/// Multiplies two n×n matrices given by `a(row, column)` and `b(row, column)`.
pub(crate) fn multiply(
    sim: &Sim<'_>,
    module: &Module,
    n: usize,
    a: impl Fn(usize, usize) -> f32,
    b: impl Fn(usize, usize) -> f32,
) -> (Vec<f32>, Report) {
    let mut memory = Memory::new();
    let mut matrix = |f: &dyn Fn(usize, usize) -> f32| {
        let values: Vec<u8> =
            (0..n * n).flat_map(|i| bf16::from_f32(f(i / n, i % n)).to_le_bytes()).collect();
        let address = memory.alloc(values.len());
        memory.write(address, &values).expect("in bounds");
        address
    };
    let (pa, pb) = (matrix(&a), matrix(&b));
    let pd = memory.alloc(4 * n * n);
    let blocks = n as u32 / 64;
    let launch = Launch { grid: [blocks, blocks, 1], block: [128, 1, 1], ..Launch::default() };
    let args = [Arg::from(pa), pb.into(), pd.into(), (n as u32).into(), (n as u32).into()];
    let report = sim.launch(module, "matmul", &launch, &args, &mut memory).unwrap_or_else(|e| panic!("{e}"));
    let mut bytes = vec![0; 4 * n * n];
    memory.read(pd, &mut bytes).expect("in bounds");
    (bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect(), report)
}

#[test]
fn small_integers_multiply_exactly() {
    let n = 128;
    let a = |i: usize, j: usize| ((i * 7 + j * 3) % 11) as f32 - 5.0;
    let b = |i: usize, j: usize| ((i * 5 + j * 13) % 7) as f32 - 3.0;
    let (got, report) = multiply(&Sim::new(), &module(), n, a, b);
    report.assert_clean();
    assert_eq!(report.blocks, 4);
    for i in 0..n {
        for j in 0..n {
            let want: f32 = (0..n).map(|k| a(i, k) * b(k, j)).sum();
            assert_eq!(got[i * n + j], want, "at ({i}, {j})");
        }
    }
}
