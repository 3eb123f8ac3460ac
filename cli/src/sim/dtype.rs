//! The element types of buffers and scalars.

use serde_json::Value as Json;

/// An element type of `case.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DType {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F16,
    /// Stored in files as `u16`, because NumPy has no bf16.
    Bf16,
    F32,
    F64,
}

impl DType {
    /// Returns the number of bytes per element.
    pub(super) fn bytes(self) -> usize {
        match self {
            DType::U8 | DType::S8 => 1,
            DType::U16 | DType::S16 | DType::F16 | DType::Bf16 => 2,
            DType::U32 | DType::S32 | DType::F32 => 4,
            DType::U64 | DType::S64 | DType::F64 => 8,
        }
    }

    /// Returns the name in `case.json`.
    pub(super) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Returns whether a kernel parameter with PTX type `param` accepts a value of this type. Floats and integers of the same size are not
    /// interchangeable; untyped bits accept both.
    pub(super) fn fits(self, param: &str) -> bool {
        let floats = matches!(self, DType::F16 | DType::Bf16 | DType::F32 | DType::F64);
        match param.as_bytes() {
            [b'f', ..] => floats,
            [b'u' | b's', ..] => !floats,
            _ => true,
        }
    }

    /// Returns the little-endian bytes of a JSON number. Floating-point values may also be strings, such as `"-inf"` or the bits
    /// `"0x7fc00000"`.
    pub(super) fn encode(self, value: &Json) -> Result<Vec<u8>, String> {
        let bits = value.as_str().and_then(|text| text.strip_prefix("0x"));
        if let Some(bits) = bits.and_then(|bits| u64::from_str_radix(bits, 16).ok()) {
            let bytes = bits.to_le_bytes();
            if bytes[self.bytes()..].iter().any(|&byte| byte != 0) {
                return Err(format!("expected {} bytes, found {value}", self.bytes()));
            }
            return Ok(bytes[..self.bytes()].to_vec());
        }
        let bytes = match self {
            DType::F16 => half::f16::from_f64(float(value)?).to_le_bytes().to_vec(),
            DType::Bf16 => half::bf16::from_f64(float(value)?).to_le_bytes().to_vec(),
            DType::F32 => (float(value)? as f32).to_le_bytes().to_vec(),
            DType::F64 => float(value)?.to_le_bytes().to_vec(),
            _ => self.integer(value)?,
        };
        Ok(bytes)
    }

    fn integer(self, value: &Json) -> Result<Vec<u8>, String> {
        let bits = 8 * self.bytes() as u32;
        let number = match value {
            Json::Bool(b) => Some(i128::from(*b)),
            Json::Number(n) => n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from)),
            _ => None,
        };
        let number = number.ok_or_else(|| format!("expected an integer, found {value}"))?;
        let signed = matches!(self, DType::S8 | DType::S16 | DType::S32 | DType::S64);
        let (low, high) = if signed { (-(1i128 << (bits - 1)), 1 << (bits - 1)) } else { (0, 1 << bits) };
        if !(low..high).contains(&number) {
            return Err(format!("expected an integer of {bits} bits, found {number}"));
        }
        Ok(number.to_le_bytes()[..self.bytes()].to_vec())
    }
}

fn float(value: &Json) -> Result<f64, String> {
    let text = || value.as_str().and_then(|text| text.trim().parse().ok());
    value.as_f64().or_else(text).ok_or_else(|| format!("expected a number, found {value}"))
}
