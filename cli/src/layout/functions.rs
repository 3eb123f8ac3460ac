//! All functions of the layout algebra, under their CuTe names.

use warpwright::layout::{
    ComposedLayout, Layout, Slicer, Swizzle, Tuple, bank_conflicts, coalescing, coord_of_index,
    coord_to_coord, domain_distribute, index_of_coord, warp_accesses,
};

use super::arguments::{Answer, Arguments, Fault};
use super::value::Value;

/// Evaluates a function on its arguments.
pub(super) type Compute = fn(&Arguments<'_>) -> Answer;

/// A function that expressions can call.
pub(super) struct Function {
    /// The names of the function, starting with CuTe's.
    pub(super) names: &'static str,
    /// The arguments, for messages.
    pub(super) arguments: &'static str,
    least: usize,
    most: usize,
    compute: Compute,
}

impl Function {
    /// Evaluates the function.
    pub(super) fn call(&self, arguments: &Arguments<'_>) -> Answer {
        let found = arguments.count();
        if found < self.least || found > self.most {
            return Err(Fault::Whole(format!("expected ({}), found {found} arguments", self.arguments)));
        }
        (self.compute)(arguments)
    }
}

/// Returns the function with the given name.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.names.split(' ').any(|known| known == name))
}

/// The maximum number of values that are listed.
pub(super) const MOST_VALUES: i64 = 1 << 22;

/// Applies a method to a layout that maps to offsets or coordinates, or to a swizzled layout.
macro_rules! each {
    ($args:expr, |$layout:ident| $body:expr) => {
        match $args.value(0)? {
            Value::Coordinates($layout) => Value::Coordinates($body),
            Value::Composed(composed) => Value::Composed(composed.try_map(|$layout| Ok($body))?),
            _ => {
                let $layout = &$args.layout(0)?;
                Value::Layout($body)
            }
        }
    };
}

/// Applies a method that is defined only for layouts that map to offsets, which may be swizzled.
macro_rules! within {
    ($args:expr, |$layout:ident| $body:expr) => {
        match $args.value(0)? {
            Value::Composed(composed) => Value::Composed(composed.try_map(|$layout| $body)?),
            _ => {
                let $layout = &$args.layout(0)?;
                Value::Layout($body?)
            }
        }
    };
}

const fn f(
    names: &'static str,
    arguments: &'static str,
    (least, most): (usize, usize),
    compute: Compute,
) -> Function {
    Function { names, arguments, least, most, compute }
}

/// Any number of arguments.
const MANY: usize = usize::MAX;

#[rustfmt::skip]
pub(super) const FUNCTIONS: &[Function] = &[
    // Construction.
    f("make_layout",                     "shape[, stride] or layout, layout, …", (1, MANY), make_layout),
    f("LayoutLeft column_major GenColMajor", "shape",             (1, 1), |a| Ok(Value::Layout(Layout::column_major(a.tuple(0)?)?))),
    f("LayoutRight row_major GenRowMajor", "shape",               (1, 1), |a| Ok(Value::Layout(Layout::row_major(a.tuple(0)?)?))),
    f("make_ordered_layout ordered",     "shape, order",          (2, 2), |a| Ok(Value::Layout(Layout::ordered(a.tuple(0)?, a.tuple(1)?)?))),
    f("make_layout_like like",           "layout",                (1, 1), |a| Ok(Value::Layout(a.layout(0)?.like()))),
    f("make_fragment_like fragment_like", "layout",               (1, 1), |a| Ok(Value::Layout(a.layout(0)?.fragment_like()?))),
    f("make_identity_layout identity",   "shape",                 (1, 1), |a| Ok(Value::Coordinates(Layout::identity(a.tuple(0)?)?))),
    f("domain_distribute",               "shape, count",          (2, 2), |a| Ok(Value::Layout(domain_distribute(&a.tuple(0)?, a.integer(1)?)?))),
    f("make_swizzle",                    "bits, base, shift",     (3, 3), make_swizzle),

    // Sizes and parts.
    f("size",                            "layout or shape[, mode]", (1, 2), size),
    f("cosize",                          "layout",                (1, 1), cosize),
    f("rank",                            "layout or shape",       (1, 1), |a| Ok(count(a.shape(0)?.rank()))),
    f("depth",                           "layout or shape",       (1, 1), |a| Ok(count(a.shape(0)?.depth()))),
    f("shape",                           "layout",                (1, 1), |a| Ok(a.shape(0)?.into())),
    f("stride",                          "layout",                (1, 1), |a| Ok(a.layout(0)?.stride().clone().into())),
    f("congruent",                       "shape, shape",          (2, 2), |a| Ok(Value::Boolean(a.shape(0)?.congruent(&a.shape(1)?)))),
    f("compatible",                      "shape, shape",          (2, 2), |a| Ok(Value::Boolean(a.shape(0)?.compatible(&a.shape(1)?)))),
    f("is_injective",                    "layout",                (1, 1), |a| Ok(Value::Boolean(small(a)?.layout(0)?.is_injective()))),
    f("is_bijective",                    "layout",                (1, 1), |a| Ok(Value::Boolean(small(a)?.layout(0)?.is_bijective()))),

    // Coordinates and offsets.
    f("crd2idx index",                   "layout, coordinate or coordinate, shape[, stride]", (2, 3), crd2idx),
    f("idx2crd",                         "index, shape[, stride]", (2, 3), idx2crd),
    f("crd2crd",                         "coordinate, from, to",  (3, 3), |a| Ok(coord_to_coord(&a.coord(0)?, &a.shape(1)?, &a.shape(2)?)?.into())),
    f("offsets values",                  "layout",                (1, 1), offsets),
    f("slice",                           "layout, coordinate with _", (2, 2), slice),
    f("slice_and_offset",                "layout, coordinate with _", (2, 2), slice_and_offset),
    f("dice",                            "layout, coordinate with _", (2, 2), |a| { let at = a.slicer(1)?; Ok(each!(a, |l| l.dice(at.clone())?)) }),
    f("domain_offset",                   "layout, coordinate",    (2, 2), domain_offset),

    // Modes.
    f("get mode",                        "layout, mode",          (2, 2), |a| { let at = a.mode(1)?; Ok(each!(a, |l| l.mode(at)?)) }),
    f("take",                            "layout, begin, end",    (3, 3), |a| { let (b, e) = (a.mode(1)?, a.mode(2)?); Ok(each!(a, |l| l.take(b, e)?)) }),
    f("select",                          "layout, mode, …",       (1, MANY), select),
    f("group group_modes",               "layout, begin, end",    (3, 3), |a| { let (b, e) = (a.mode(1)?, a.mode(2)?); Ok(each!(a, |l| l.group(b, e)?)) }),
    f("append",                          "layout, rank",          (2, 2), |a| { let rank = rank(a)?; Ok(each!(a, |l| l.append(rank))) }),
    f("prepend",                         "layout, rank",          (2, 2), |a| { let rank = rank(a)?; Ok(each!(a, |l| l.prepend(rank))) }),
    f("transpose",                       "layout",                (1, 1), |a| Ok(each!(a, |l| l.transpose()))),
    f("flatten",                         "layout",                (1, 1), |a| Ok(each!(a, |l| l.flatten()))),
    f("unflatten",                       "layout, profile",       (2, 2), |a| { let profile = a.tuple(1)?; Ok(each!(a, |l| l.unflatten(&profile)?)) }),

    // Simplification.
    f("coalesce",                        "layout[, profile]",     (1, 2), coalesce),
    f("filter",                          "layout[, profile]",     (1, 2), filter),

    // Algebra.
    f("composition compose",             "layout, tiler",         (2, 3), composition),
    f("with_shape",                      "layout, shape",         (2, 2), |a| { let shape = a.tuple(1)?; Ok(each!(a, |l| l.with_shape(shape.clone())?)) }),
    f("complement",                      "layout[, cotarget]",    (1, 2), complement),
    f("right_inverse",                   "layout",                (1, 1), |a| Ok(Value::Layout(a.layout(0)?.right_inverse()))),
    f("left_inverse",                    "layout",                (1, 1), |a| Ok(Value::Layout(a.layout(0)?.left_inverse()?))),
    f("nullspace",                       "layout",                (1, 1), |a| Ok(Value::Layout(a.layout(0)?.nullspace()))),
    f("logical_divide",                  "layout, tiler",         (2, 2), |a| { let by = a.tiler(1)?; Ok(each!(a, |l| l.logical_divide(by.clone())?)) }),
    f("zipped_divide",                   "layout, tiler",         (2, 2), |a| { let by = a.tiler(1)?; Ok(each!(a, |l| l.zipped_divide(by.clone())?)) }),
    f("tiled_divide",                    "layout, tiler",         (2, 2), |a| { let by = a.tiler(1)?; Ok(each!(a, |l| l.tiled_divide(by.clone())?)) }),
    f("flat_divide",                     "layout, tiler",         (2, 2), |a| { let by = a.tiler(1)?; Ok(each!(a, |l| l.flat_divide(by.clone())?)) }),
    f("logical_product",                 "layout, tiler",         (2, 2), |a| { let by = a.tiler(1)?; Ok(within!(a, |l| l.logical_product(by.clone()))) }),
    f("zipped_product",                  "layout, tiler",         (2, 2), |a| { let by = a.tiler(1)?; Ok(within!(a, |l| l.zipped_product(by.clone()))) }),
    f("tiled_product",                   "layout, tiler",         (2, 2), |a| { let by = a.tiler(1)?; Ok(within!(a, |l| l.tiled_product(by.clone()))) }),
    f("flat_product",                    "layout, tiler",         (2, 2), |a| { let by = a.tiler(1)?; Ok(within!(a, |l| l.flat_product(by.clone()))) }),
    f("blocked_product",                 "layout, layout",        (2, 2), |a| { let by = a.layout(1)?; Ok(within!(a, |l| l.blocked_product(&by))) }),
    f("raked_product",                   "layout, layout",        (2, 2), |a| { let by = a.layout(1)?; Ok(within!(a, |l| l.raked_product(&by))) }),
    f("tile_to_shape",                   "layout, shape[, order]", (2, 3), tile_to_shape),

    // Units and vectors.
    f("upcast",                          "layout, factor",        (2, 2), |a| Ok(match a.value(0)? { Value::Composed(l) => Value::Composed(l.upcast(a.integer(1)?)?), _ => Value::Layout(a.layout(0)?.upcast(a.integer(1)?)?) })),
    f("downcast",                        "layout, factor",        (2, 2), |a| Ok(match a.value(0)? { Value::Composed(l) => Value::Composed(l.downcast(a.integer(1)?)?), _ => Value::Layout(a.layout(0)?.downcast(a.integer(1)?)?) })),
    f("recast_layout recast",            "layout, old bits, new bits", (3, 3), |a| Ok(match a.value(0)? { Value::Composed(l) => Value::Composed(l.recast(a.integer(1)?, a.integer(2)?)?), _ => Value::Layout(a.layout(0)?.recast(a.integer(1)?, a.integer(2)?)?) })),
    f("scaled",                          "layout, factor",        (2, 2), |a| Ok(Value::Layout(a.layout(0)?.scaled(a.integer(1)?)?))),
    f("max_common_vector",               "layout, layout",        (2, 2), |a| Ok(Value::Integer(a.layout(0)?.max_common_vector(&a.layout(1)?)))),
    f("max_common_layout",               "layout, layout",        (2, 2), |a| Ok(Value::Layout(a.layout(0)?.max_common_layout(&a.layout(1)?)))),
    f("warp_accesses",                   "(thread, value) layout, bytes of an element[, elements at a time]", (2, 3), accesses),
    f("bank_conflicts",                  "(thread, value) layout, bytes of an element[, elements at a time]", (2, 3), conflicts),
    f("coalescing",                      "(thread, value) layout, bytes of an element[, elements at a time]", (2, 3), sectors),
    f("max_alignment",                   "layout",                (1, 1), |a| Ok(Value::Integer(a.layout(0)?.max_alignment()))),
];

/// The composition `a o b o …`.
pub(super) const CHAIN: Function = f("o", "layout o layout", (2, MANY), chain);

/// Composes from right to left. A swizzle is composed with a layout, or with an offset and a layout.
fn chain(args: &Arguments<'_>) -> Answer {
    let [before @ .., last] = args.0 else { return args.wrong(0, "a layout") };
    let mut value = last.clone();
    let mut offset = None;
    for (index, left) in before.iter().enumerate().rev() {
        value = match (left, offset.take()) {
            (Value::Integer(bytes), None) if index > 0 => {
                offset = Some(*bytes);
                value
            }
            (Value::Swizzle(swizzle), bytes) => {
                let layout = Arguments(&[value]).layout(0).or_else(|_| args.wrong(index + 1, "a layout"))?;
                Value::Composed(ComposedLayout::new(*swizzle, bytes.unwrap_or(0), layout))
            }
            (_, Some(_)) => return args.wrong(index, "a swizzle before the offset"),
            (_, None) => composition(&Arguments(&[left.clone(), value]))?,
        };
    }
    Ok(value)
}

fn composition(args: &Arguments<'_>) -> Answer {
    match (args.value(0)?, args.count()) {
        (Value::Swizzle(_), _) => {
            let (offset, layout) = match args.count() {
                2 => (0, args.layout(1)?),
                _ => (args.integer(1)?, args.layout(2)?),
            };
            Ok(Value::Composed(ComposedLayout::new(args.swizzle(0)?, offset, layout)))
        }
        (_, 2) => {
            let by = args.tiler(1)?;
            Ok(each!(args, |l| l.compose(by.clone())?))
        }
        _ => args.wrong(0, "a swizzle before an offset and a layout"),
    }
}

fn make_layout(args: &Arguments<'_>) -> Answer {
    if args.0.iter().any(|value| matches!(value, Value::Coordinates(_))) {
        let modes: Result<Vec<_>, _> = (0..args.count()).map(|index| args.places(index)).collect();
        return Ok(Value::Coordinates(Layout::concat(modes?)));
    }
    match (args.value(0)?, args.count()) {
        (Value::Layout(_), _) => {
            let modes: Result<Vec<_>, _> = (0..args.count()).map(|index| args.layout(index)).collect();
            Ok(Value::Layout(Layout::concat(modes?)))
        }
        (_, 1) => Ok(Value::Layout(Layout::column_major(args.tuple(0)?)?)),
        (shape, 2) => match shape.with_stride(args.value(1)?) {
            Some(layout) => Ok(layout?),
            None => args.wrong(1, "a stride for the shape"),
        },
        _ => args.wrong(0, "a layout"),
    }
}

fn make_swizzle(args: &Arguments<'_>) -> Answer {
    let whole = |index| {
        args.integer(index)?.try_into().or_else(|_| args.wrong(index, "a small number, not negative"))
    };
    let shift = args.integer(2)?.try_into().or_else(|_| args.wrong(2, "a small number"))?;
    Ok(Value::Swizzle(Swizzle::new(whole(0)?, whole(1)?, shift)?))
}

fn count(number: usize) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn size(args: &Arguments<'_>) -> Answer {
    let shape = args.shape(0)?;
    if args.count() == 1 {
        return Ok(Value::Integer(shape.size()));
    }
    match shape.mode(args.mode(1)?) {
        Some(mode) => Ok(Value::Integer(mode.size())),
        None => args.wrong(1, &format!("a mode below {}", shape.rank())),
    }
}

/// Returns the arguments if the layout has few enough values to be enumerated.
fn small<'a, 'b>(args: &'a Arguments<'b>) -> Result<&'a Arguments<'b>, Fault> {
    if args.shape(0)?.size() > MOST_VALUES {
        return args.wrong(0, &format!("a layout of at most {MOST_VALUES} elements"));
    }
    Ok(args)
}

/// Returns the rank to which a layout is padded.
fn rank(args: &Arguments<'_>) -> Result<usize, Fault> {
    match args.mode(1)? {
        rank if rank <= 64 => Ok(rank),
        _ => args.wrong(1, "a rank of at most 64"),
    }
}

fn crd2idx(args: &Arguments<'_>) -> Answer {
    if args.count() == 3 {
        let layout = make_layout(&Arguments(&args.0[1..]))?;
        return crd2idx(&Arguments(&[layout, args.value(0)?.clone()]));
    }
    match args.value(0)? {
        Value::Layout(layout) => Ok(Value::Integer(layout.at(args.coord(1)?)?)),
        Value::Composed(layout) => Ok(Value::Integer(layout.at(args.coord(1)?)?)),
        Value::Coordinates(layout) => Ok(Value::Basis(layout.at(args.coord(1)?)?)),
        _ => Ok(Value::Integer(index_of_coord(&args.coord(0)?, &args.shape(1)?)?)),
    }
}

fn offsets(args: &Arguments<'_>) -> Answer {
    match small(args)?.value(0)? {
        Value::Coordinates(places) => Ok(Value::Tuple(places.values().map(Value::Basis).collect())),
        _ => Ok(Value::Tuple(args.offsets(0)?.values().map(Value::Integer).collect())),
    }
}

fn slice(args: &Arguments<'_>) -> Answer {
    let at = args.slicer(1)?;
    Ok(match args.value(0)? {
        Value::Composed(layout) => Value::Composed(layout.slice(at)?),
        Value::Coordinates(layout) => Value::Coordinates(layout.slice(at)?),
        _ => Value::Layout(args.layout(0)?.slice(at)?),
    })
}

fn slice_and_offset(args: &Arguments<'_>) -> Answer {
    let at: Slicer = args.slicer(1)?;
    Ok(match args.value(0)? {
        Value::Composed(layout) => Value::Composed(layout.slice(at)?),
        Value::Coordinates(layout) => {
            let (slice, place) = layout.slice_and_offset(at)?;
            Value::CoordinateSlice(slice, place)
        }
        _ => {
            let (slice, offset) = args.layout(0)?.slice_and_offset(at)?;
            Value::Slice(slice, offset)
        }
    })
}

fn domain_offset(args: &Arguments<'_>) -> Answer {
    let coord = args.coord(1)?;
    Ok(match args.value(0)? {
        Value::Coordinates(layout) => {
            let (layout, place) = layout.domain_offset(coord)?;
            Value::CoordinateSlice(layout, place)
        }
        Value::Composed(layout) => {
            let inner = layout.layout();
            let offset = layout.offset().wrapping_add(inner.at(coord)?);
            Value::Composed(ComposedLayout::new(layout.swizzle(), offset, inner.clone()))
        }
        _ => {
            let (layout, offset) = args.layout(0)?.domain_offset(coord)?;
            Value::Slice(layout, offset)
        }
    })
}

fn select(args: &Arguments<'_>) -> Answer {
    let modes: Result<Vec<_>, _> = (1..args.count()).map(|index| args.mode(index)).collect();
    let modes = modes?;
    Ok(each!(args, |l| l.select(&modes)?))
}

fn coalesce(args: &Arguments<'_>) -> Answer {
    if args.count() == 1 {
        return Ok(each!(args, |l| l.coalesce()));
    }
    let profile = args.tuple(1)?;
    Ok(each!(args, |l| l.coalesce_by(&profile)?))
}

fn filter(args: &Arguments<'_>) -> Answer {
    if args.count() == 1 {
        return Ok(each!(args, |l| l.filter()));
    }
    let profile = args.tuple(1)?;
    Ok(each!(args, |l| l.filter_by(&profile)?))
}

/// Returns the complement of a layout in a cotarget, which is a size, a shape, the size of a layout, or by default the cosize of the layout
/// itself.
fn complement(args: &Arguments<'_>) -> Answer {
    let layout = args.layout(0)?;
    let cotarget = match args.0.get(1) {
        Some(_) => args.shape(1)?,
        None => Tuple::Leaf(layout.cosize()),
    };
    Ok(Value::Layout(layout.complement(cotarget)?))
}

fn tile_to_shape(args: &Arguments<'_>) -> Answer {
    let order = if args.count() == 3 { Some(args.tuple(2)?) } else { None };
    let target = args.tuple(1)?;
    Ok(within!(args, |l| l.tile_to_shape(target.clone(), order.as_ref())))
}

/// Returns the cosize of a layout. For coordinates, this is the size of the box that contains them.
fn cosize(args: &Arguments<'_>) -> Answer {
    Ok(Value::Integer(match args.value(0)? {
        Value::Coordinates(layout) => layout.coshape().size(),
        Value::Composed(layout) => {
            small(args)?;
            layout.values().max().unwrap_or(0).saturating_add(1)
        }
        _ => args.layout(0)?.cosize(),
    }))
}

fn idx2crd(args: &Arguments<'_>) -> Answer {
    if args.count() == 2 {
        return Ok(coord_of_index(args.integer(0)?, &args.shape(1)?).into());
    }
    Ok(Layout::new(args.shape(1)?, args.tuple(2)?)?.coord_of_offset(args.integer(0)?).into())
}

/// Returns the byte addresses of the lanes for each access of each warp. Plain layouts map to elements; swizzled layouts map to bytes.
fn warps(args: &Arguments<'_>) -> Result<(Vec<Vec<u64>>, u64), Fault> {
    let bytes = args.integer(1)?;
    let vector = if args.count() == 3 { args.integer(2)? } else { 1 };
    let layout = match small(args)?.value(0)? {
        Value::Composed(layout) => layout.clone(),
        _ => args.layout(0)?.scaled(bytes)?.into(),
    };
    let width = bytes.checked_mul(vector).and_then(|width| u64::try_from(width).ok()).unwrap_or(0);
    Ok((warp_accesses(&layout, bytes, vector)?, width))
}

fn accesses(args: &Arguments<'_>) -> Answer {
    let (accesses, _) = warps(args)?;
    Ok(Value::Tuple(
        accesses.into_iter().map(|lanes| list(lanes.into_iter().map(|byte| byte as i64))).collect(),
    ))
}

/// Returns the number of passes over the banks in each phase of each access.
fn conflicts(args: &Arguments<'_>) -> Answer {
    let (accesses, width) = warps(args)?;
    let cost = |lanes: Vec<u64>| Ok(list(bank_conflicts(lanes, width)?.passes.into_iter().map(i64::from)));
    Ok(Value::Tuple(accesses.into_iter().map(cost).collect::<Result<_, Fault>>()?))
}

/// Returns the number of 32-byte sectors and 128-byte lines of each access.
fn sectors(args: &Arguments<'_>) -> Answer {
    let (accesses, width) = warps(args)?;
    let cost = |lanes: Vec<u64>| {
        let cost = coalescing(lanes, width)?;
        Ok(list([cost.sectors.into(), cost.lines.into()]))
    };
    Ok(Value::Tuple(accesses.into_iter().map(cost).collect::<Result<_, Fault>>()?))
}

fn list(numbers: impl IntoIterator<Item = i64>) -> Value {
    Value::Tuple(numbers.into_iter().map(Value::Integer).collect())
}
