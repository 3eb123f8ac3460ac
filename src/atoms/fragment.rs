//! Fragment maps: how a tile is spread over the lanes and registers of a warp.

use std::fmt;

use super::error::FragmentError;
use crate::layout::{AccessError, BankConflicts, ComposedLayout, Layout, bank_conflicts, warp_accesses_of};

/// How many bits an element has, and so how many share a 32-bit register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementWidth {
    /// f16, bf16: two to a register, the first in the low half.
    B16,
    /// f32, tf32, s32: one to a register.
    B32,
}

impl ElementWidth {
    /// Elements in one 32-bit register.
    #[must_use]
    pub const fn per_register(self) -> u32 {
        match self {
            ElementWidth::B16 => 2,
            ElementWidth::B32 => 1,
        }
    }
}

/// Where an element lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// Lane of the warp (thread of the group, for maps over more than a warp).
    pub lane: u32,
    /// The lane's register, in the order of the instruction's operand.
    pub register: u32,
    /// Part of the register, lowest bits first; always 0 for 32-bit elements.
    pub half: u32,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lane {}, register {}, part {}", self.lane, self.register, self.half)
    }
}

/// What one part of a lane's register holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Element {
    /// The lane's register, in the order of the instruction's operand.
    pub register: u32,
    /// Part of the register, lowest bits first; always 0 for 32-bit elements.
    pub half: u32,
    /// Row of the tile, 0-based.
    pub row: u32,
    /// Column of the tile, 0-based.
    pub col: u32,
}

/// How a tile of `rows` × `cols` elements is spread over lanes and registers.
///
/// A layout (thread, value) → `row + col · rows`, as CuTe's atoms have it. Values are in register order, lowest bits first:
/// value `v` is part `v % n` of register `v / n`, with `n` elements to a register.
///
/// ```
/// use warpwright::atoms::{ElementWidth, TileLayout, rt_base};
/// let tile = rt_base(TileLayout::Row, ElementWidth::B16);
/// tile.assert_bijective();
/// let owner = tile.owner(8, 3)?;
/// assert_eq!((owner.lane, owner.register, owner.half), (1, 1, 1));
/// let held: Vec<_> = tile.elements(1).map(|e| (e.row, e.col)).collect();
/// assert_eq!(held, [(0, 2), (0, 3), (8, 2), (8, 3), (0, 10), (0, 11), (8, 10), (8, 11)]);
/// # Ok::<(), warpwright::atoms::FragmentError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FragmentMap {
    name: String,
    rows: u32,
    cols: u32,
    per_register: u32,
    layout: Layout,
    /// First owner of each element, by offset.
    owners: Vec<Option<Owner>>,
}

/// Most elements of a tile: far more than the registers of a thread block hold.
const MOST_ELEMENTS: u64 = 1 << 20;

impl FragmentMap {
    /// A map from a (thread, value) layout.
    ///
    /// # Errors
    /// [`FragmentError::Rank`] if the layout is not of rank 2, [`FragmentError::Registers`] if a lane's values do not fill
    /// registers of `per_register` elements, [`FragmentError::TooLarge`] past 2²⁰ elements, [`FragmentError::Outside`] if a
    /// value falls outside the tile.
    pub fn new(
        name: impl Into<String>,
        (rows, cols): (u32, u32),
        per_register: u32,
        layout: Layout,
    ) -> Result<FragmentMap, FragmentError> {
        let map = name.into();
        let [threads, values] = layout.shape().modes() else {
            return Err(FragmentError::Rank { map, layout: layout.to_string() });
        };
        let (threads, values) = (threads.size(), values.size());
        if per_register == 0 || values % i64::from(per_register) != 0 {
            return Err(FragmentError::Registers { map, values, per_register });
        }
        check_size(&map, rows.into(), cols.into())?;
        let mut owners = vec![None; rows as usize * cols as usize];
        for (index, offset) in (0_i64..).zip(layout.values()) {
            let (lane, value) = ((index % threads) as u32, (index / threads) as u32);
            let place = usize::try_from(offset).ok().and_then(|offset| owners.get_mut(offset));
            let Some(place) = place else {
                return Err(FragmentError::Outside { map, lane, value, offset, rows, cols });
            };
            let owner = Owner { lane, register: value / per_register, half: value % per_register };
            let first = place.get_or_insert(owner);
            *first = owner.min(*first);
        }
        Ok(FragmentMap { name: map, rows, cols, per_register, layout, owners })
    }

    /// `height` × `width` copies of `base`, as in the register tile `rt<height, width>`: element
    /// `(i · rows + r, j · cols + c)` is element `(r, c)` of subtile `[i][j]`, and registers run over `(i, j, register)` with
    /// `i` slowest.
    ///
    /// # Errors
    /// [`FragmentError::Layout`] if `height` or `width` is 0, [`FragmentError::TooLarge`] past 2²⁰ elements.
    pub fn tiled(base: &FragmentMap, height: u32, width: u32) -> Result<FragmentMap, FragmentError> {
        let name = format!("{} {height}×{width}", base.name);
        check_size(&name, u64::from(base.rows) * u64::from(height), u64::from(base.cols) * u64::from(width))?;
        let (r, c) = (i64::from(base.rows), i64::from(base.cols));
        let rows = r * i64::from(height);
        let subtile = Layout::new((r, c), (1, rows))?.compose(&base.layout)?;
        let copies = Layout::new((i64::from(width), i64::from(height)), (c * rows, r))?;
        let values = Layout::concat([subtile.mode(1)?].into_iter().chain(copies.modes()));
        let layout = Layout::concat([subtile.mode(0)?, values]);
        let (rows, cols) = (base.rows * height, base.cols * width);
        FragmentMap::new(name, (rows, cols), base.per_register, layout)
    }

    /// What the map is of.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Rows of the tile.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Columns of the tile.
    #[must_use]
    pub fn cols(&self) -> u32 {
        self.cols
    }

    /// Elements in one register.
    #[must_use]
    pub fn per_register(&self) -> u32 {
        self.per_register
    }

    /// Lanes that hold elements: 32 for a warp.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.layout.shape().modes()[0].size() as u32
    }

    /// Registers of one lane.
    #[must_use]
    pub fn registers(&self) -> u32 {
        self.layout.shape().modes()[1].size() as u32 / self.per_register
    }

    /// The (thread, value) layout, onto `row + col · rows`.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Who holds an element; if several do, the first by lane, then by register.
    ///
    /// # Errors
    /// [`FragmentError::NoElement`] outside the tile, [`FragmentError::Unowned`] if no lane holds it.
    pub fn owner(&self, row: u32, col: u32) -> Result<Owner, FragmentError> {
        let (map, rows, cols) = (&self.name, self.rows, self.cols);
        if row >= rows || col >= cols {
            return Err(FragmentError::NoElement { map: map.clone(), row, col, rows, cols });
        }
        let owner = self.owners[(row + col * rows) as usize];
        owner.ok_or_else(|| FragmentError::Unowned { map: map.clone(), row, col })
    }

    /// What a lane holds, in register order; nothing for a lane past the last.
    pub fn elements(&self, lane: u32) -> impl Iterator<Item = Element> + '_ {
        let values = if lane < self.lanes() { self.registers() * self.per_register } else { 0 };
        (0..values).map(move |value| {
            let index = i64::from(lane) + i64::from(value) * i64::from(self.lanes());
            // Construction checked that offsets lie within the tile.
            let offset = self.layout.index(index) as u32;
            Element {
                register: value / self.per_register,
                half: value % self.per_register,
                row: offset % self.rows,
                col: offset / self.rows,
            }
        })
    }

    /// Whether every element of the tile is held exactly once.
    ///
    /// # Errors
    /// [`FragmentError::Shared`] or [`FragmentError::Unowned`], naming the first such element met.
    pub fn check_bijective(&self) -> Result<(), FragmentError> {
        for lane in 0..self.lanes() {
            for Element { register, half, row, col } in self.elements(lane) {
                let (first, second) = (self.owner(row, col)?, Owner { lane, register, half });
                if first != second {
                    return Err(FragmentError::Shared { map: self.name.clone(), row, col, first, second });
                }
            }
        }
        match self.owners.iter().position(Option::is_none) {
            None => Ok(()),
            Some(offset) => {
                let (row, col) = (offset as u32 % self.rows, offset as u32 / self.rows);
                Err(FragmentError::Unowned { map: self.name.clone(), row, col })
            }
        }
    }

    /// Whether every element of the tile is held at least once.
    ///
    /// # Errors
    /// [`FragmentError::Unowned`], naming the first element that no lane holds.
    pub fn check_covering(&self) -> Result<(), FragmentError> {
        let elements = (0..self.cols).flat_map(|col| (0..self.rows).map(move |row| (row, col)));
        elements.into_iter().try_for_each(|(row, col)| self.owner(row, col).map(|_| ()))
    }

    /// [`check_covering`](Self::check_covering) for tests.
    ///
    /// # Panics
    /// If no lane holds an element; the message names it.
    #[track_caller]
    pub fn assert_covering(&self) {
        if let Err(error) = self.check_covering() {
            panic!("not covering: {error}");
        }
    }

    /// What it costs a warp to move this fragment from or to shared memory, where `tile` gives the byte of each element
    /// `row + col · rows`: for each warp and each access of `vector` elements of `element_bytes`, in order.
    ///
    /// # Errors
    /// As [`warp_accesses`](crate::layout::warp_accesses) and [`bank_conflicts`](crate::layout::bank_conflicts): if a vector's elements do not lie side by side, or an address is not
    /// aligned to the vector.
    ///
    /// ```
    /// use warpwright::{atoms::mma_atom, layout::Layout};
    /// let a = mma_atom("SM80_16x8x16_F32BF16BF16F32_TN")?.fragment_a()?;
    /// // 16×16 bf16, row by row, 32 bytes a row: rows 4 apart share their banks.
    /// let dense = Layout::new((16, 16), (32, 2))?.into();
    /// assert_eq!(a.conflicts(&dense, 2, 2)?.iter().map(|access| access.degree()).max(), Some(2));
    /// let padded = Layout::new((16, 16), (48, 2))?.into();
    /// assert_eq!(a.conflicts(&padded, 2, 2)?.iter().map(|access| access.degree()).max(), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn conflicts(
        &self,
        tile: &ComposedLayout,
        element_bytes: i64,
        vector: i64,
    ) -> Result<Vec<BankConflicts>, AccessError> {
        let bytes = |index: i64| tile.index(self.layout.index(index));
        let accesses = warp_accesses_of(self.layout.shape(), bytes, element_bytes, vector)?;
        let width = (element_bytes * vector) as u64;
        accesses.into_iter().map(|addresses| bank_conflicts(addresses, width)).collect()
    }

    /// [`check_bijective`](Self::check_bijective) for tests.
    ///
    /// # Panics
    /// If an element is held twice or by no lane; the message names it.
    #[track_caller]
    pub fn assert_bijective(&self) {
        if let Err(error) = self.check_bijective() {
            panic!("not a bijection: {error}");
        }
    }
}

fn check_size(map: &str, rows: u64, cols: u64) -> Result<(), FragmentError> {
    let fits = rows.checked_mul(cols).is_some_and(|elements| elements <= MOST_ELEMENTS);
    let most = MOST_ELEMENTS;
    if fits { Ok(()) } else { Err(FragmentError::TooLarge { map: map.to_owned(), rows, cols, most }) }
}

/// Parts of a register as CUDA's vector types name them.
const PARTS: [char; 4] = ['x', 'y', 'z', 'w'];

/// The owners as a table, `lane.register` and, where registers are shared, the part: `x` for the lowest bits, then `y`.
impl fmt::Display for FragmentMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} onto {}×{}", self.name, self.layout, self.rows, self.cols)?;
        let cell = |row: u32, col: u32| match self.owner(row, col) {
            Err(_) => "-".to_owned(),
            Ok(Owner { lane, register, .. }) if self.per_register == 1 => format!("{lane}.{register}"),
            Ok(Owner { lane, register, half }) => match PARTS.get(half as usize) {
                Some(part) if self.per_register <= 4 => format!("{lane}.{register}{part}"),
                _ => format!("{lane}.{register}.{half}"),
            },
        };
        let cells = (0..self.rows).flat_map(|row| (0..self.cols).map(move |col| (row, col)));
        let width = cells.map(|(row, col)| cell(row, col).len()).max().unwrap_or(1);
        let margin = self.rows.to_string().len().max(3);
        write!(f, "{:>margin$}", "r\\c")?;
        for col in 0..self.cols {
            write!(f, " {col:>width$}")?;
        }
        for row in 0..self.rows {
            write!(f, "\n{row:>margin$}")?;
            for col in 0..self.cols {
                write!(f, " {:>width$}", cell(row, col))?;
            }
        }
        Ok(())
    }
}
