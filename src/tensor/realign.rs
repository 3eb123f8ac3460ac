//! Realignment of elements in words.

use super::element::TensorElement;
use crate::ptx::{ShiftMode, Val};

/// Returns the words of the group that begins `skipped` elements after the start of `words`. `words` contains two adjacent groups, each
/// with a power-of-two number of words.
#[track_caller]
pub(super) fn realigned<'k, T: TensorElement>(
    mut words: Vec<Val<'k, u32>>,
    skipped: Val<'k, u32>,
) -> Vec<Val<'k, T::Word>> {
    let count = words.len() / 2;
    let bytes = skipped * T::SIZE;
    let mut step = count / 2;
    while step > 0 {
        let is_shifted = (bytes & (4 * step as u32)).ne(0);
        words = (0..count + step).map(|i| is_shifted.select(words[i + step], words[i])).collect();
        step /= 2;
    }
    let bits = (bytes & 3) * 8;
    let shifted = words.windows(2).take(count).map(|pair| match T::SIZE {
        4.. => pair[0],
        _ => pair[1].funnel_right(pair[0], bits, ShiftMode::Wrap),
    });
    shifted.map(Val::bits).collect()
}
