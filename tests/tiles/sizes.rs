//! The names of ThunderKittens denote its types: elements, sizes and registers per lane.

use std::any::type_name;

use warpwright::{
    prelude::*,
    ptx::{e4m3, e5m2},
    tiles::{Naive, Swizzle64, sizes::*},
};

macro_rules! registers {
    ($($single:ident $brain:ident $half:ident: $rows:literal $cols:literal, $registers:literal;)*) => {
        /// The registers per lane that ThunderKittens' first version had.
        #[test]
        fn registers_per_lane() {
            $(
                assert_eq!(($single::<Row>::REGISTERS, $single::<Row>::ROWS, $single::<Row>::COLS), ($registers, $rows, $cols));
                assert_eq!(($brain::<Row>::REGISTERS, $brain::<Row>::ROWS, $brain::<Row>::COLS), ($registers / 2, $rows, $cols));
                assert_eq!(($half::<Col>::REGISTERS, $half::<Col>::ROWS, $half::<Col>::COLS), ($registers / 2, $rows, $cols));
            )*
        }
    };
}

registers! {
    RtF32_1x1 RtBf16_1x1 RtF16_1x1: 16 16, 8;
    RtF32_1x2 RtBf16_1x2 RtF16_1x2: 16 32, 16;
    RtF32_1x4 RtBf16_1x4 RtF16_1x4: 16 64, 32;
    RtF32_1x8 RtBf16_1x8 RtF16_1x8: 16 128, 64;
    RtF32_2x1 RtBf16_2x1 RtF16_2x1: 32 16, 16;
    RtF32_2x2 RtBf16_2x2 RtF16_2x2: 32 32, 32;
    RtF32_2x4 RtBf16_2x4 RtF16_2x4: 32 64, 64;
    RtF32_4x1 RtBf16_4x1 RtF16_4x1: 64 16, 32;
    RtF32_4x2 RtBf16_4x2 RtF16_4x2: 64 32, 64;
    RtF32_8x1 RtBf16_8x1 RtF16_8x1: 128 16, 64;
}

#[test]
fn families_have_their_elements() {
    fn same<A, B>() {
        assert_eq!(type_name::<A>(), type_name::<B>());
    }
    same::<RtF32<'_, 2, 1>, Rt<'_, f32, 2, 1>>();
    same::<RtBf16<'_, 2, 1, Col>, Rt<'_, bf16, 2, 1, Col>>();
    same::<RtF16<'_, 1, 3>, Rt<'_, f16, 1, 3>>();
    same::<RtE4m3<'_, 1, 3>, Rt<'_, e4m3, 1, 3>>();
    same::<RtE5m2<'_, 1, 3>, Rt<'_, e5m2, 1, 3>>();
    same::<RvF32<'_, 4>, Rv<'_, f32, 4>>();
    same::<RvBf16<'_, 4, Naive>, Rv<'_, bf16, 4, Naive>>();
    same::<RvF16<'_, 4>, Rv<'_, f16, 4>>();
    same::<RvE4m3<'_, 4>, Rv<'_, e4m3, 4>>();
    same::<RvE5m2<'_, 4>, Rv<'_, e5m2, 4>>();
    same::<StF32<'_, 4, 2>, St<'_, f32, 4, 2>>();
    same::<StBf16<'_, 4, 2, Swizzle64>, St<'_, bf16, 4, 2, Swizzle64>>();
    same::<StF16<'_, 4, 2>, St<'_, f16, 4, 2>>();
    same::<StE4m3<'_, 4, 2>, St<'_, e4m3, 4, 2>>();
    same::<StE5m2<'_, 4, 2>, St<'_, e5m2, 4, 2>>();
    same::<SvF32<'_, 4>, Sv<'_, f32, 4>>();
    same::<SvBf16<'_, 4>, Sv<'_, bf16, 4>>();
    same::<SvF16<'_, 4>, Sv<'_, f16, 4>>();
    same::<SvE4m3<'_, 4>, Sv<'_, e4m3, 4>>();
    same::<SvE5m2<'_, 4>, Sv<'_, e5m2, 4>>();
}
