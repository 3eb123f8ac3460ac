//! The arithmetic of timings.

use pretty_assertions::assert_eq;
use warpwright::gpu::Timings;

#[test]
fn median_and_ends() {
    let odd = Timings::from_micros(vec![5.0, 1.0, 9.0]);
    assert_eq!((odd.median(), odd.min(), odd.max()), (5.0, 1.0, 9.0));
    let even = Timings::from_micros(vec![4.0, 1.0, 9.0, 2.0]);
    assert_eq!(even.median(), 3.0);
    assert_eq!(even.micros(), [4.0, 1.0, 9.0, 2.0], "the runs keep their order");
    let none = Timings::default();
    assert_eq!((none.median(), none.min(), none.max()), (0.0, 0.0, 0.0));
}
