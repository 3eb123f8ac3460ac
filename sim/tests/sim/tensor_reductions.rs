//! Reductions of the boxes of tensors.

use super::support::{kernel, one_block, parse};
use pretty_assertions::assert_eq;
use warpwright_sim::TensorType::{Bf16, F16, F32, F32Ftz, F64, S32, S64, Tf32, Tf32Ftz, U32, U64};
use warpwright_sim::{Arg, FindingKind, Memory, Sim, TensorMap, TensorSwizzle, TensorType};

/// The table in the section on `cp.reduce.async.bulk.tensor` of the PTX ISA.
#[test]
fn the_type_of_a_tensor_map_determines_its_reductions() {
    let supported: [(&str, &[TensorType]); 8] = [
        ("add", &[U32, S32, U64, F32, F32Ftz, F16, Bf16]),
        ("min", &[U32, S32, U64, S64, F16, Bf16]),
        ("max", &[U32, S32, U64, S64, F16, Bf16]),
        ("inc", &[U32]),
        ("dec", &[U32]),
        ("and", &[U32, S32, U64, S64, F32, F32Ftz, F64, Tf32, Tf32Ftz]),
        ("or", &[U32, S32, U64, S64, F32, F32Ftz, F64, Tf32, Tf32Ftz]),
        ("xor", &[U32, S32, U64, S64, F32, F32Ftz, F64, Tf32, Tf32Ftz]),
    ];
    for (operation, types) in supported {
        let text = kernel(
            ".param .align 64 .b8 map[128]",
            &format!(
                ".shared .align 128 .b8 tile[128]; .reg .b64 %m; .reg .b32 %r<3>; .reg .pred %p;
                mov.u64 %m, map; cvta.param.u64 %m, %m; mov.u32 %r0, %tid.x;
                mov.u32 %r1, tile; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], 0;
                fence.proxy.async; bar.warp.sync -1; setp.ne.u32 %p, %r0, 0; @%p bra END;
                cp.reduce.async.bulk.tensor.1d.global.shared::cta.{operation}.tile.bulk_group [%m, {{0}}], [tile];
                cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; END: ret;"
            ),
        );
        let module = parse(&text);
        for ty in TensorType::ALL {
            let mut memory = Memory::new();
            let tensor = memory.alloc(128);
            memory.write(tensor, &[0; 128]).expect("in bounds");
            let map = TensorMap {
                ty,
                address: tensor,
                dims: vec![16],
                strides: vec![],
                tile: vec![16],
                element_strides: vec![1],
                swizzle: TensorSwizzle::None,
                nan_fill: false,
            };
            let args = [Arg::try_from(&map).expect("a valid map")];
            let launched = Sim::new().launch(&module, "k", &one_block(32), &args, &mut memory);
            match launched {
                Ok(report) => {
                    report.assert_clean();
                    assert!(types.contains(&ty), "{operation} of {ty:?}");
                }
                Err(error) => {
                    assert!(!types.contains(&ty), "{operation} of {ty:?}: {error}");
                    assert_eq!(error.kind(), Some(FindingKind::InvalidOperand), "{error}");
                }
            }
        }
    }
}
