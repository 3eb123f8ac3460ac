//! Composition of layouts: `(A ∘ B)(i) = A(B(i))`.

use super::codomain::Codomain;
use super::construct::{Layout, Mode};
use super::error::{ComposeFault, LayoutError, ModePath, Trail};
use super::simplify::merged_with_tail;
use super::tiler::{ByMode, Tiler};
use super::tuple::{Shape, Stride, Tuple};

impl<D: Codomain> Layout<D> {
    /// Returns the composition `self ∘ right`, which maps each coordinate `c` of `right` to `self(right(c))`.
    ///
    /// If `right` is a tuple of tilers, each mode of `self` is composed with the corresponding entry of the tuple. The entry `..` keeps a
    /// mode; modes past the end of the tuple are dropped.
    ///
    /// Postconditions if `right` is a layout: the shape of the result refines that of `right`, and `result(i) = self(right(i))` for all
    /// `i < size(right)`, where `self` is extended past its end as in [`index`](Self::index).
    ///
    /// # Errors
    /// Returns [`LayoutError::Compose`] if no layout has these properties; [`ComposeFault`] lists the possible reasons. (CuTe checks fewer
    /// conditions and sometimes returns a wrong layout.) Returns [`LayoutError::Rank`] if a tuple has more entries than the layout has
    /// modes, [`LayoutError::Extent`] if an extent is below 1, and [`LayoutError::InMode`] for any other error in an entry of a tuple.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// let tile = Layout::new((10, 2), (16, 4))?.compose(Layout::new((5, 4), (1, 5))?)?;
    /// assert_eq!(tile.to_string(), "(5,(2,2)):(16,(80,4))");
    /// let error = Layout::new((6, 6, 9), (54, 9, 1))?.compose(Layout::new(8, 4)?).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "(6,6,9):(54,9,1) ∘ 8:4: mode (whole) of the right side, 8:4: stride 4 in mode 0 of the left side must divide \
    ///      its extent 6 or be a multiple of it",
    /// );
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    #[doc(alias = "composition")]
    pub fn compose(&self, right: impl Into<Tiler>) -> Result<Layout<D>, LayoutError> {
        let by_mode = ByMode {
            operation: "composition",
            extent: |extent| Layout::new(extent, 1),
            keep_rest: false,
            whole: Layout::compose_layout,
        };
        by_mode.apply(self, &right.into())
    }

    /// Returns the composition of this layout with the column-major layout of `shape`.
    ///
    /// If `shape` has the size of this layout, the result has the same value at each linear index.
    ///
    /// # Errors
    /// Returns the same errors as [`column_major`](Layout::column_major) and [`compose`](Self::compose).
    pub fn with_shape(&self, shape: impl Into<Shape>) -> Result<Layout<D>, LayoutError> {
        self.compose(Layout::column_major(shape)?)
    }

    pub(super) fn compose_layout(&self, right: &Layout) -> Result<Layout<D>, LayoutError> {
        let mut digits = Digits::new(self);
        let composed = digits.compose(&right.shape, &right.stride, &Trail::Root);
        composed.map_err(|(mode, fault)| LayoutError::Compose {
            left: Layout::from_flat(digits.modes).to_string(),
            right: right.to_string(),
            mode,
            fault: Box::new(fault),
        })
    }
}

/// The left side as a mixed-radix number: mode `k` is the digit whose weight is the product of the extents before it; the last
/// digit is unbounded. Records the largest digits that the right side has reached so far, by the sign of its strides.
struct Digits<D> {
    modes: Vec<Mode<D>>,
    reach: [Vec<i64>; 2],
}

type Faulty<T> = Result<T, (ModePath, ComposeFault)>;

impl<D: Codomain> Digits<D> {
    fn new(left: &Layout<D>) -> Self {
        let modes = merged_with_tail(left);
        let none = vec![0; modes.len()];
        Digits { modes, reach: [none.clone(), none] }
    }

    fn compose(&mut self, shape: &Shape, stride: &Stride, path: &Trail<'_>) -> Faulty<Layout<D>> {
        match (shape, stride) {
            (Tuple::Leaf(extent), Tuple::Leaf(stride)) => {
                let mode = Mode { extent: *extent, stride: *stride };
                self.compose_mode(&mode).map_err(|fault| (path.to_path(), fault))
            }
            _ => {
                let modes = shape.modes().iter().zip(stride.modes()).enumerate();
                let composed: Faulty<Vec<_>> =
                    modes.map(|(index, (s, d))| self.compose(s, d, &path.child(index))).collect();
                Ok(Layout::concat(composed?))
            }
        }
    }

    fn compose_mode(&mut self, right: &Mode) -> Result<Layout<D>, ComposeFault> {
        let &Mode { extent, stride } = right;
        if stride == 0 {
            return Ok(Layout { shape: Tuple::Leaf(extent), stride: Tuple::Leaf(D::zero()) });
        }
        if extent == 1 {
            return self.unit_mode(right);
        }
        let steps = self.split(right)?;
        let sign = stride.signum();
        let mut modes = Vec::with_capacity(steps.len());
        for step in &steps {
            self.spend(right, step)?;
            let stride = self.stride_of(step).and_then(|stride| stride.scaled(sign));
            let stride = stride.ok_or(ComposeFault::Overflow { extent, stride: right.stride })?;
            modes.push(Mode { extent: step.extent, stride });
        }
        let span = |mode: &Mode<D>| mode.stride.magnitude().and_then(|d| d.scaled(mode.extent));
        if modes.iter().any(|mode| span(mode).is_none()) {
            return Err(ComposeFault::Overflow { extent, stride });
        }
        Ok(Layout::from_flat(modes))
    }

    /// Composes a mode of extent 1, whose stride is arbitrary because it is never used. As in CuTe, the stride is rounded up to a multiple
    /// of the last mode's stride.
    fn unit_mode(&self, right: &Mode) -> Result<Layout<D>, ComposeFault> {
        let Some((last, before)) = self.modes.split_last() else {
            return Ok(Layout::unit());
        };
        let round_up = |step: i64, mode: &Mode<D>| {
            step.signum() * (step.abs() / mode.extent + i64::from(step % mode.extent != 0))
        };
        let step = before.iter().fold(right.stride, round_up);
        let stride = last.stride.scaled(step);
        let stride = stride.ok_or(ComposeFault::Overflow { extent: 1, stride: right.stride })?;
        Ok(Layout { shape: Tuple::Leaf(1), stride: Tuple::Leaf(stride) })
    }

    /// Splits one mode of the right side where the multiples of its stride fill a digit of the left side.
    fn split(&self, right: &Mode) -> Result<Vec<Step>, ComposeFault> {
        let &Mode { extent, stride } = right;
        let mut steps = Vec::with_capacity(self.modes.len());
        let mut rest = Step { digit: 0, extent, stride: stride.abs() };
        while !self.stays(&rest) {
            let here = self.modes[rest.digit].extent;
            if rest.stride % here == 0 {
                rest.stride /= here;
            } else if here % rest.stride == 0 {
                let filling = here / rest.stride;
                if rest.extent % filling != 0 {
                    return Err(ComposeFault::Extent {
                        extent,
                        stride,
                        rest: rest.extent,
                        steps: filling,
                        left_mode: rest.digit,
                        left_extent: here,
                    });
                }
                steps.push(Step { extent: filling, ..rest });
                rest.extent /= filling;
                rest.stride = 1;
            } else {
                return Err(ComposeFault::Stride {
                    extent,
                    stride,
                    step: rest.stride,
                    left_mode: rest.digit,
                    left_extent: here,
                });
            }
            rest.digit += 1;
        }
        steps.push(rest);
        Ok(steps)
    }

    /// Returns whether none of the steps carries into the next digit, so that they form one mode.
    fn stays(&self, step: &Step) -> bool {
        digits_of(&self.modes, step).all(|(mode, digit)| self.holds(mode, digit, step.extent - 1))
    }

    fn holds(&self, mode: usize, digit: i64, times: i64) -> bool {
        mode + 1 == self.modes.len() || times == 0 || digit <= (self.modes[mode].extent - 1) / times
    }

    fn stride_of(&self, step: &Step) -> Option<D> {
        digits_of(&self.modes, step)
            .try_fold(D::zero(), |sum, (mode, digit)| sum.plus(&self.modes[mode].stride.scaled(digit)?))
    }

    /// Adds the digits that a step reaches to the total reached by the right side's modes.
    fn spend(&mut self, right: &Mode, step: &Step) -> Result<(), ComposeFault> {
        let &Mode { extent, stride } = right;
        let (last, sign) = (self.modes.len() - 1, usize::from(stride < 0));
        for (mode, digit) in digits_of(&self.modes, step) {
            let reach = digit
                .checked_mul(step.extent - 1)
                .and_then(|most| most.checked_add(self.reach[sign][mode]))
                .ok_or(ComposeFault::Overflow { extent, stride })?;
            let left_extent = self.modes[mode].extent;
            if mode < last && reach >= left_extent {
                return Err(ComposeFault::Carry { extent, stride, reach, left_mode: mode, left_extent });
            }
            self.reach[sign][mode] = reach;
            let elsewhere = |(other, reach): (usize, &i64)| other != mode && *reach != 0;
            if self.reach[1 - sign].iter().enumerate().any(elsewhere) {
                return Err(ComposeFault::Signs { extent, stride });
            }
        }
        Ok(())
    }
}

/// Part of a mode of the right side: `extent` steps of `stride` units of digit `digit`.
#[derive(Clone, Copy)]
struct Step {
    digit: usize,
    extent: i64,
    stride: i64,
}

/// Returns the nonzero digits of a step's stride, from the step's own digit upwards.
fn digits_of<D>(modes: &[Mode<D>], step: &Step) -> impl Iterator<Item = (usize, i64)> {
    let last = modes.len() - 1;
    let mut rest = step.stride;
    (step.digit..=last)
        .map(move |mode| {
            let here = if mode == last { rest } else { rest % modes[mode].extent };
            rest /= modes[mode].extent;
            (mode, here)
        })
        .filter(|(_, digit)| *digit != 0)
}
