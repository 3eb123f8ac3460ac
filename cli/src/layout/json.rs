//! Operations as lines of JSON: requests `{"id":…,"op":…,"in":[…]}`, and responses `{"id":…,"result":…}` or `{"id":…,"error":…}`.

use serde_json::{Value as Json, json};

use warpwright::layout::{BasisVector, Tuple};

use super::arguments::{Arguments, Fault};
use super::evaluate::evaluate;
use super::functions;
use super::value::Value;

/// Returns the response to one line.
pub(super) fn answer(line: &str) -> Json {
    let case: Json = match serde_json::from_str(line) {
        Ok(case) => case,
        Err(error) => return json!({"id": null, "error": format!("expected JSON: {error}")}),
    };
    let id = &case["id"];
    match compute(&case) {
        Ok(result) => json!({"id": id, "result": result}),
        Err(error) => json!({"id": id, "error": error}),
    }
}

fn compute(case: &Json) -> Result<Json, String> {
    let op = case["op"].as_str().ok_or("expected a string \"op\"")?;
    let inputs = case["in"].as_array().ok_or("expected an array \"in\"")?;
    let function =
        functions::find(op).ok_or_else(|| format!("expected the name of a function, found {op:?}"))?;
    let inputs: Result<Vec<_>, _> = inputs.iter().map(read).collect();
    let value = function.call(&Arguments(&inputs?)).map_err(|fault| match fault {
        Fault::Argument { index, problem } => format!("{op}: argument {}: {problem}", index + 1),
        Fault::Whole(problem) => Fault::whole(op, &problem),
    })?;
    Ok(write(&value))
}

/// Parses an argument: an integer, an array of arguments, `{"tile": […]}`, `{"shape", "stride"}`, or text: `"_"`, a stride
/// `"1@0"`, or any expression.
fn read(json: &Json) -> Result<Value, String> {
    let unknown = || format!("expected an integer, \"_\", an array, a tile or a layout, found {json}");
    match json {
        Json::Number(number) => number.as_i64().map(Value::Integer).ok_or_else(unknown),
        Json::String(text) => evaluate(text)
            .map_err(|mistake| format!("{text:?}, column {}: {}", mistake.column, mistake.problem)),
        Json::Array(modes) => Ok(Value::Tuple(modes.iter().map(read).collect::<Result<_, _>>()?)),
        Json::Object(fields) => match (fields.get("tile"), fields.get("shape"), fields.get("stride")) {
            (Some(tile), None, None) => read(tile),
            (None, Some(shape), Some(stride)) => {
                let (shape, stride) = (read(shape)?, read(stride)?);
                let layout = shape.with_stride(&stride).ok_or_else(unknown)?;
                layout.map_err(|error| error.to_string())
            }
            _ => Err(unknown()),
        },
        _ => Err(unknown()),
    }
}

/// Converts a result to an integer, an array, or, for a layout, `{"shape", "stride"}`. Other values become text.
fn write(value: &Value) -> Json {
    match value {
        Value::Integer(value) => json!(value),
        Value::Boolean(value) => json!(value),
        Value::Tuple(modes) => modes.iter().map(write).collect(),
        Value::Layout(layout) => json!({"shape": tuple(layout.shape()), "stride": tuple(layout.stride())}),
        Value::Coordinates(layout) => {
            json!({"shape": tuple(layout.shape()), "stride": steps(layout.stride())})
        }
        Value::CoordinateSlice(layout, place) => json!({
            "shape": tuple(layout.shape()),
            "stride": steps(layout.stride()),
            "offset": place.to_string(),
        }),
        Value::Slice(layout, offset) => {
            json!({"shape": tuple(layout.shape()), "stride": tuple(layout.stride()), "offset": offset})
        }
        other => json!(other.to_string()),
    }
}

fn steps(stride: &Tuple<BasisVector>) -> Json {
    match stride {
        Tuple::Leaf(step) if *step == BasisVector::default() => json!(0),
        Tuple::Leaf(step) => json!(step.to_string()),
        Tuple::Node(modes) => modes.iter().map(steps).collect(),
    }
}

fn tuple(tuple: &Tuple<i64>) -> Json {
    match tuple {
        Tuple::Leaf(value) => json!(value),
        Tuple::Node(modes) => modes.iter().map(self::tuple).collect(),
    }
}
