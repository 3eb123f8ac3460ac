//! The algebra compared with the output of CuTe (CUTLASS 4.7.0); each case states how strictly.

use std::fmt::Write;

use serde_json::Value;
use warpwright::layout::{
    IntTuple, Layout, LayoutError, Slicer, Tiler, Tuple, coord_of_index, domain_distribute,
};

/// A result of any operation.
#[derive(Debug, Clone, PartialEq)]
enum Answer {
    Layout(Layout),
    Slice(Layout, i64),
    Integer(i64),
    Tuple(IntTuple),
}

fn text(value: &Value) -> String {
    match value {
        Value::Array(modes) => {
            format!("({})", modes.iter().map(text).collect::<Vec<_>>().join(","))
        }
        Value::String(keep) => keep.clone(),
        Value::Object(fields) if fields.contains_key("tile") => text(&fields["tile"]),
        Value::Object(fields) => format!("{}:{}", text(&fields["shape"]), text(&fields["stride"])),
        other => other.to_string(),
    }
}

struct Case {
    op: String,
    inputs: Vec<Value>,
}

impl Case {
    fn new(line: &Value) -> Case {
        let inputs = line["in"].as_array().expect("inputs").clone();
        Case { op: line["op"].as_str().expect("an operation").to_owned(), inputs }
    }

    fn layout(&self, index: usize) -> Layout {
        text(&self.inputs[index]).parse().expect("a layout")
    }

    fn tuple(&self, index: usize) -> IntTuple {
        text(&self.inputs[index]).parse().expect("a tuple")
    }

    fn tiler(&self, index: usize) -> Tiler {
        text(&self.inputs[index]).parse().expect("a tiler")
    }

    fn integer(&self, index: usize) -> i64 {
        self.inputs[index].as_i64().expect("an integer")
    }

    fn run(&self) -> Result<Answer, LayoutError> {
        let layout = match self.op.as_str() {
            "cosize" => return Ok(Answer::Integer(self.layout(0).cosize())),
            "crd2idx" => return Ok(Answer::Integer(self.layout(0).at(self.tuple(1))?)),
            "max_common_vector" => {
                return Ok(Answer::Integer(self.layout(0).max_common_vector(&self.layout(1))));
            }
            "offsets" => return Ok(Answer::Tuple(self.layout(0).values().collect())),
            "idx2crd" => return Ok(Answer::Tuple(coord_of_index(self.integer(0), &self.tuple(1)))),
            "slice_and_offset" => {
                let at: Slicer = text(&self.inputs[1]).parse().expect("a slicer");
                let (layout, offset) = self.layout(0).slice_and_offset(at)?;
                return Ok(Answer::Slice(layout, offset));
            }
            "coalesce" if self.inputs.len() == 2 => self.layout(0).coalesce_by(&self.tuple(1))?,
            "coalesce" => self.layout(0).coalesce(),
            "filter" => self.layout(0).filter(),
            "flatten" => self.layout(0).flatten(),
            "composition" => self.layout(0).compose(self.tiler(1))?,
            "complement" => self.layout(0).complement(self.tuple(1))?,
            "right_inverse" => self.layout(0).right_inverse(),
            "left_inverse" => self.layout(0).left_inverse()?,
            "nullspace" => self.layout(0).nullspace(),
            "max_common_layout" => self.layout(0).max_common_layout(&self.layout(1)),
            "domain_distribute" => domain_distribute(&self.tuple(0), self.integer(1))?,
            "logical_divide" => self.layout(0).logical_divide(self.tiler(1))?,
            "zipped_divide" => self.layout(0).zipped_divide(self.tiler(1))?,
            "tiled_divide" => self.layout(0).tiled_divide(self.tiler(1))?,
            "flat_divide" => self.layout(0).flat_divide(self.tiler(1))?,
            "logical_product" => self.layout(0).logical_product(self.tiler(1))?,
            "zipped_product" => self.layout(0).zipped_product(self.tiler(1))?,
            "tiled_product" => self.layout(0).tiled_product(self.tiler(1))?,
            "flat_product" => self.layout(0).flat_product(self.tiler(1))?,
            "blocked_product" => self.layout(0).blocked_product(&self.layout(1))?,
            "raked_product" => self.layout(0).raked_product(&self.layout(1))?,
            "tile_to_shape" => {
                let order = (self.inputs.len() == 3).then(|| self.tuple(2));
                self.layout(0).tile_to_shape(self.tuple(1), order.as_ref())?
            }
            "make_ordered_layout" => Layout::ordered(self.tuple(0), self.tuple(1))?,
            "make_layout_like" => self.layout(0).like(),
            "make_fragment_like" => self.layout(0).fragment_like()?,
            "upcast" => self.layout(0).upcast(self.integer(1))?,
            "downcast" => self.layout(0).downcast(self.integer(1))?,
            other => panic!("no operation {other}"),
        };
        Ok(Answer::Layout(layout))
    }

    fn show(&self) -> String {
        let inputs: Vec<_> = self.inputs.iter().map(text).collect();
        format!("{}({})", self.op, inputs.join(", "))
    }
}

fn lines(data: &str) -> impl Iterator<Item = Value> + '_ {
    data.lines().map(|line| serde_json::from_str(line).expect("a JSON line"))
}

fn expected(line: &Value) -> Answer {
    let expect = &line["expect"];
    let layout = || text(expect).parse().expect("a layout");
    match (expect, line["op"].as_str()) {
        (Value::Object(_), Some("slice_and_offset")) => {
            Answer::Slice(layout(), expect["offset"].as_i64().expect("an offset"))
        }
        (Value::Object(_), _) => Answer::Layout(layout()),
        (_, Some("idx2crd" | "offsets")) => Answer::Tuple(text(expect).parse().expect("a tuple")),
        _ => Answer::Integer(expect.as_i64().expect("an integer")),
    }
}

#[test]
fn algebra() {
    let mut wrong = String::new();
    let (mut checked, mut failed) = (0, 0);
    for line in lines(include_str!("../data/layout/algebra.jsonl")) {
        let case = Case::new(&line);
        let (answer, wanted) = (case.run(), expected(&line));
        let meets = match (&answer, &wanted, line["compare"].as_str()) {
            (Ok(found), wanted, Some("literal")) => found == wanted,
            (Ok(Answer::Layout(found)), Answer::Layout(wanted), Some("unit")) => {
                normal(found) == normal(wanted)
            }
            (Ok(Answer::Layout(found)), Answer::Layout(wanted), Some("function")) => {
                found.values().eq(wanted.values())
            }
            (Ok(found), wanted, Some("cpp")) => found == wanted,
            _ => false,
        };
        checked += 1;
        if !meets {
            failed += 1;
            let _ = writeln!(
                wrong,
                "{} {} = {wanted:?}, found {answer:?} [{}]",
                line["id"],
                case.show(),
                line["compare"]
            );
        }
    }
    assert!(wrong.is_empty(), "{failed} of {checked} wrong:\n{wrong}");
}

/// Unwraps one-element tuples and sets strides of extent-1 modes to 0.
fn normal(layout: &Layout) -> Layout {
    let mut modes: Vec<Layout> = match layout.shape() {
        Tuple::Leaf(1) => return Layout::new(1, 0).expect("1:0"),
        Tuple::Leaf(_) => return layout.clone(),
        Tuple::Node(_) => layout.modes().map(|mode| normal(&mode)).collect(),
    };
    match modes.len() {
        1 => modes.remove(0),
        _ => Layout::concat(modes),
    }
}

/// Inputs for which CuTe returns a wrong result.
#[test]
fn traps_are_refused() {
    let traps: Vec<_> = lines(include_str!("../data/layout/traps.jsonl")).collect();
    let answered: Vec<_> = traps.iter().map(Case::new).filter(|case| case.run().is_ok()).collect();
    assert!(answered.is_empty(), "{:?}", answered.iter().map(Case::show).collect::<Vec<_>>());
    assert_eq!(traps.len(), 24);
}

/// Inputs that CuTe does not compile: rejected, or a layout that satisfies the operation's post-condition.
#[test]
fn invalid_inputs_are_refused_or_satisfy_the_property() {
    let (mut refused, mut met) = (0, 0);
    for line in lines(include_str!("../data/layout/invalid.jsonl")) {
        let case = Case::new(&line);
        match case.run() {
            Err(_) => refused += 1,
            Ok(Answer::Layout(result)) => {
                assert!(case.met_by(&result), "{} = {result}", case.show());
                met += 1;
            }
            Ok(other) => panic!("{} = {other:?}", case.show()),
        }
    }
    assert_eq!((refused, met), (174, 35));
}

impl Case {
    fn met_by(&self, result: &Layout) -> bool {
        match self.op.as_str() {
            "composition" => {
                let (left, right) = (self.layout(0), self.layout(1));
                right.shape().compatible(result.shape())
                    && (0..right.size()).all(|i| result.index(i) == left.index(right.index(i)))
            }
            "blocked_product" | "raked_product" => {
                let (block, tiler) = (self.layout(0), self.layout(1));
                let modes: Vec<Layout> = result.modes().collect();
                let [mode] = modes.as_slice() else { return false };
                let (block_mode, copies) = if self.op == "blocked_product" { (0, 1) } else { (1, 0) };
                let own = mode.mode(block_mode).expect("a pair");
                let copies = mode.mode(copies).expect("a pair");
                own.values().eq(block.values())
                    && tiler.shape().size() == copies.size()
                    && (1..copies.size()).all(|i| {
                        let order = |layout: &Layout| layout.index(i).cmp(&layout.index(i - 1));
                        order(&tiler) == order(&copies)
                    })
                    && disjoint(&own.filter(), &copies.filter())
            }
            _ => false,
        }
    }
}

fn disjoint(block: &Layout, copies: &Layout) -> bool {
    let mut sums: Vec<i64> = copies.values().flat_map(|a| block.values().map(move |b| a + b)).collect();
    sums.sort_unstable();
    sums.windows(2).all(|pair| pair[0] != pair[1])
}
