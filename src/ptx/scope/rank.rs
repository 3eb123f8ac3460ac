//! In arithmetic and comparisons, a scope evaluates to its rank: `k.ctaid_x() * 4 + k.warp()`, `k.warp().eq(0)`.

use std::ops::{Add, Div, Mul, Rem, Sub};

use super::{Block, Cluster, Lane, Warps};
use crate::ptx::val::Val;

macro_rules! rank {
    ([$($generics:tt)*] $scope:ty) => {
        impl<'k, $($generics)*> From<$scope> for Val<'k, u32> {
            /// Returns the rank of the scope, as its method `rank` does.
            #[track_caller]
            fn from(scope: $scope) -> Self {
                scope.rank()
            }
        }

        impl<'k, $($generics)*> $scope {
            rank! { compare $scope, eq "equal to" }
            rank! { compare $scope, ne "different from" }
            rank! { compare $scope, lt "less than" }
            rank! { compare $scope, le "at most" }
            rank! { compare $scope, gt "greater than" }
            rank! { compare $scope, ge "at least" }
        }

        rank! { [$($generics)*] $scope, Add add }
        rank! { [$($generics)*] $scope, Sub sub }
        rank! { [$($generics)*] $scope, Mul mul }
        rank! { [$($generics)*] $scope, Div div }
        rank! { [$($generics)*] $scope, Rem rem }
    };
    (compare $scope:ty, $method:ident $relation:literal) => {
        #[doc = concat!("Returns whether the rank is ", $relation, " `other`.")]
        #[track_caller]
        pub fn $method(self, other: impl Into<Val<'k, u32>>) -> Val<'k, bool> {
            self.rank().$method(other)
        }
    };
    ([$($generics:tt)*] $scope:ty, $op:ident $method:ident) => {
        impl<'k, R: Into<Val<'k, u32>>, $($generics)*> $op<R> for $scope {
            type Output = Val<'k, u32>;

            #[track_caller]
            fn $method(self, other: R) -> Val<'k, u32> {
                self.rank().$method(other)
            }
        }
    };
}

rank! { [] Lane<'k> }
rank! { [const N: usize] Warps<'k, N> }
rank! { [] Block<'k> }
rank! { [] Cluster<'k> }
