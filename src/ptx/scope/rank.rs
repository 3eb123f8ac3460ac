//! In arithmetic, a scope evaluates to its rank: `k.ctaid_x() * 4 + k.warp()`.

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

        rank! { [$($generics)*] $scope, Add add }
        rank! { [$($generics)*] $scope, Sub sub }
        rank! { [$($generics)*] $scope, Mul mul }
        rank! { [$($generics)*] $scope, Div div }
        rank! { [$($generics)*] $scope, Rem rem }
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
