//! A lane's part of a view that a warp moves cooperatively.
//!
//! The view keeps the start of lane 0's part until an access requires the start of this lane's part: a matrix instruction uses addresses of
//! other lanes' elements, which cannot be derived from this lane's part alone.

use std::rc::Rc;

use super::{element::TensorElement, memory::Tensor, moved::Moved, space::TensorSpace, step::Step};
use crate::{
    layout::{Codomain, Layout, LayoutError, Tiler, TvLayout},
    ptx::{Computation, Val},
};

/// The distribution of a view over the lanes of a warp: the layout that maps lanes to steps, and this thread's lane.
#[derive(Clone, Debug)]
pub(super) struct Lanes<'k> {
    /// The layout that maps the 32 lanes to steps.
    pub(super) layout: Rc<Layout<Step>>,
    pub(super) lane: Val<'k, u32>,
}

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    /// Converts lane 0's view to that of lane `lane`, given the layout of the 32 lanes.
    pub(super) fn in_lanes(self, layout: impl Into<Rc<Layout<Step>>>, lane: Val<'k, u32>) -> Self {
        Self { lanes: Some(Rc::new(Lanes { layout: layout.into(), lane })), ..self }
    }

    /// Returns the view with this lane's start added.
    #[track_caller]
    pub(super) fn resolved(&self) -> Self {
        let mut view = self.clone();
        if let Some(lanes) = view.lanes.take() {
            view.add_coordinate(&lanes.layout, lanes.lane);
        }
        view
    }

    /// Advances the view's start by the value of `mode` at `index`.
    #[track_caller]
    pub(super) fn add_coordinate(&mut self, mode: &Layout<Step>, index: Val<'k, u32>) {
        self.check_index(mode, index);
        if let Some(index) = index.as_constant() {
            self.offset.step(&mode.index(index.into()), 1);
            return;
        }
        let mut moved = Moved::default();
        moved.add(mode, index);
        self.advance(moved);
    }

    /// Returns lane `lane`'s part of the view, given a (thread, value) layout of the view's elements.
    #[track_caller]
    pub(crate) fn lane_part(&self, tv: &TvLayout, lane: Val<'k, u32>) -> Self {
        let (part, threads) = self.part_by(tv.layout());
        part.in_lanes(threads, lane)
    }

    /// Returns thread `thread`'s part of the view, given a (thread, value) layout of the view's elements.
    #[track_caller]
    pub(crate) fn part_of(&self, tv: &Layout, thread: Val<'k, u32>) -> Self {
        let (mut part, threads) = self.part_by(tv);
        part.add_coordinate(&threads, thread);
        part
    }

    /// Returns the rectangle of `size` elements that starts at coordinate `at`, in units of `unit` elements. Its elements must have the
    /// same layout as those of the first rectangle; that is, nested modes must not carry from one rectangle into the next.
    #[track_caller]
    pub(crate) fn rectangle(&self, size: [u32; 2], unit: [u32; 2], at: [Val<'k, u32>; 2]) -> Self {
        let layout = Rc::clone(&self.layout);
        let rectangles = self.kernel().computed(Rectangles {
            layout,
            size: size.map(Into::into),
            unit: unit.map(Into::into),
        });
        match rectangles {
            Ok((first, starts)) => {
                let mut view = self.with_layout(first);
                for (mode, at) in starts.iter().zip(at) {
                    view.add_coordinate(mode, at);
                }
                view
            }
            Err(error) => {
                self.kernel().refuse(error.to_string());
                self.clone()
            }
        }
    }

    /// Returns thread 0's part, and the layout of the threads' offsets.
    #[track_caller]
    fn part_by(&self, tv: &Layout) -> (Self, Rc<Layout<Step>>) {
        let parts = self.kernel().computed(Parts { layout: Rc::clone(&self.layout), tv: tv.clone() });
        let [threads, values] = parts.unwrap_or_else(|error| {
            self.kernel().refuse(error.to_string());
            [(); 2].map(|()| Rc::new(Layout::concat([])))
        });
        let mut part = self.with_layout(values);
        part.share(self);
        (part, threads)
    }
}

/// Rectangles of a view.
#[derive(PartialEq)]
struct Rectangles {
    layout: Rc<Layout<Step>>,
    size: [i64; 2],
    unit: [i64; 2],
}

impl Computation for Rectangles {
    /// The layout of the first rectangle, and the modes along which the other rectangles start.
    type Result = Result<(Rc<Layout<Step>>, Rc<[Layout<Step>]>), LayoutError>;

    fn compute(&self) -> Self::Result {
        let first = self.layout.compose(Tiler::from(self.size))?;
        let starts = self.layout.zipped_divide(Tiler::from(self.unit))?.mode(1)?;
        Ok((first.into(), starts.modes().collect()))
    }
}

/// The parts of threads, given a (thread, value) layout of a view's elements.
#[derive(PartialEq)]
struct Parts {
    layout: Rc<Layout<Step>>,
    tv: Layout,
}

impl Computation for Parts {
    /// The layouts of the threads' offsets and of a thread's values.
    type Result = Result<[Rc<Layout<Step>>; 2], LayoutError>;

    fn compute(&self) -> Self::Result {
        let parts = self.layout.compose(&self.tv)?;
        Ok([parts.mode(0)?.into(), parts.mode(1)?.into()])
    }
}
