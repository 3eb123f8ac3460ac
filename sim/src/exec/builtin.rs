//! The functions that the driver provides: `vprintf`, `__assertfail`, `malloc` and `free`.

use crate::check::undefined;
use crate::exec::memory::generic_byte;
use crate::machine::Cluster;
use crate::machine::heap::BadFree;
use crate::machine::warp::Warp;
use crate::program::code::{Builtin, Call, Callee, Place};
use crate::program::spaces::{LOCAL_WINDOW, PARAM_WINDOW};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};
use crate::shadow::undefined::Taint;

/// The maximum length in bytes of a format string, or of a string printed with `%s`.
const MAX_STRING: u64 = 1 << 16;

pub(crate) fn call(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    builtin: Builtin,
    callee: &Callee,
    call: &Call,
    lane: usize,
) -> Outcome<()> {
    let argument = |warp: &Warp, n: usize| call.args.get(n).map_or(0, |place| read_place(warp, lane, *place));
    let result = match builtin {
        Builtin::Vprintf => {
            let (format, arguments) = (argument(warp, 0), argument(warp, 1));
            let (text, undefined) = printf(cluster, warp, lane, format, arguments)?;
            cluster.printed.push(text);
            if let Some(fault) =
                undefined.and_then(|taint| undefined::misuse(cluster, lane, &taint, "what is printed"))
            {
                undefined::tell(cluster, fault)?;
            }
            0
        }
        Builtin::AssertFail => {
            let message = string(cluster, warp, lane, argument(warp, 0))?;
            let file = string(cluster, warp, lane, argument(warp, 1))?;
            let line = argument(warp, 2) as u32;
            return Err(Fault::at(
                FindingKind::Assertion,
                lane,
                format!("assertion failed: {message} ({file}:{line})"),
            ));
        }
        Builtin::Missing => {
            let message = format!("a call of `{}`, which has no body in this module", callee.name);
            return Err(Fault::at(FindingKind::InvalidAddress, lane, message));
        }
        Builtin::Malloc => malloc(cluster, argument(warp, 0)),
        Builtin::Free => return free(cluster, lane, argument(warp, 0)),
    };
    if let (Some(&to), Some(_)) = (call.returns.first(), callee.returns.first()) {
        write_place(warp, lane, to, result);
    }
    Ok(())
}

/// Returns the address of a new block of the device heap, or null.
fn malloc(cluster: &mut Cluster<'_>, bytes: u64) -> u64 {
    let machine = cluster.machine;
    let line = machine.code.meta[cluster.pc as usize].line;
    let block = machine.memory.heap().and_then(|heap| heap.allocate(bytes, line));
    if let Some(start) = block {
        cluster.before_heap_block(start, bytes);
    }
    cluster.events += 1;
    block.unwrap_or(0)
}

fn free(cluster: &mut Cluster<'_>, lane: usize, address: u64) -> Outcome<()> {
    cluster.events += 1;
    let freed = match cluster.machine.memory.heap() {
        _ if address == 0 => return Ok(()),
        Some(heap) => heap.free(address),
        None => Err(BadFree::Foreign),
    };
    let Err(bad) = freed else { return Ok(()) };
    let what = match bad {
        BadFree::Twice(block) => {
            format!("the start of a block of {} bytes that was freed before", block.size)
        }
        BadFree::Inside(block) => {
            format!("inside of the block of {} bytes at {:#x}", block.size, block.start)
        }
        BadFree::Foreign => "which `malloc` did not return".into(),
    };
    cluster.note(Fault::at(FindingKind::InvalidFree, lane, format!("invalid free: {address:#x}, {what}")))
}

/// Returns up to 8 bytes at a location in the current stack frame.
pub(crate) fn read_place(warp: &Warp, lane: usize, place: Place) -> u64 {
    match place {
        Place::Register(reg) => warp.regs.lane(reg, lane),
        Place::Frame { offset, size } => {
            let at = u64::from(warp.sp[lane]) + u64::from(offset);
            (0..u64::from(size.min(8)))
                .fold(0, |value, i| value | u64::from(warp.local.byte(at + i, lane)) << (8 * i))
        }
    }
}

fn write_place(warp: &mut Warp, lane: usize, place: Place, value: u64) {
    match place {
        Place::Register(reg) => warp.regs.set_lane(reg, lane, value),
        Place::Frame { offset, size } => {
            let at = u64::from(warp.sp[lane]) + u64::from(offset);
            for i in 0..u64::from(size.min(8)) {
                warp.local.set_byte(lane, at + i, (value >> (8 * i)) as u8);
            }
        }
    }
}

/// Returns the zero-terminated string at an address.
fn string(cluster: &Cluster<'_>, warp: &Warp, lane: usize, address: u64) -> Outcome<String> {
    let mut bytes = vec![];
    for i in 0..MAX_STRING {
        match generic_byte(cluster, warp, lane, address.wrapping_add(i))? {
            0 => break,
            b => bytes.push(b),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The arguments of a `vprintf`, laid out as in a C structure.
struct Arguments<'a, 'b> {
    cluster: &'a Cluster<'b>,
    warp: &'a Warp,
    lane: usize,
    at: u64,
    /// The undefined bits of the first undefined argument.
    undefined: Option<Taint>,
}

impl Arguments<'_, '_> {
    fn next(&mut self, bytes: u64) -> Outcome<u64> {
        // If there is no such multiple, the access fails below.
        self.at = self.at.checked_next_multiple_of(bytes).unwrap_or(self.at);
        if (LOCAL_WINDOW..PARAM_WINDOW).contains(&self.at) {
            let taint =
                undefined::of_local(self.cluster, self.warp, self.lane, self.at - LOCAL_WINDOW, bytes);
            self.undefined = self.undefined.or(Some(taint).filter(|taint| taint.bits != 0));
        }
        let mut value = 0;
        for i in 0..bytes {
            value |= u64::from(generic_byte(self.cluster, self.warp, self.lane, self.at + i)?) << (8 * i);
        }
        self.at += bytes;
        Ok(value)
    }
}

/// A conversion specification of `printf`: flags, width, precision and length.
#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
}

fn printf(
    cluster: &Cluster<'_>,
    warp: &Warp,
    lane: usize,
    format: u64,
    arguments: u64,
) -> Outcome<(String, Option<Taint>)> {
    let format: Vec<char> = string(cluster, warp, lane, format)?.chars().collect();
    let mut arguments = Arguments { cluster, warp, lane, at: arguments, undefined: None };
    let mut out = String::new();
    let mut at = 0;
    while at < format.len() {
        if format[at] != '%' {
            out.push(format[at]);
            at += 1;
            continue;
        }
        let (spec, conversion, next) = parse_spec(&format, at + 1, &mut arguments)?;
        at = next;
        match conversion {
            Some('%') => out.push('%'),
            Some(conversion) => convert(&mut out, &spec, conversion, &mut arguments)?,
            None => out.push('%'),
        }
    }
    Ok((out, arguments.undefined))
}

fn parse_spec(
    format: &[char],
    mut at: usize,
    arguments: &mut Arguments<'_, '_>,
) -> Outcome<(Spec, Option<char>, usize)> {
    let mut spec = Spec::default();
    let peek = |at: usize| format.get(at).copied();
    while let Some(c @ ('-' | '+' | ' ' | '#' | '0')) = peek(at) {
        match c {
            '-' => spec.left = true,
            '+' => spec.plus = true,
            ' ' => spec.space = true,
            '#' => spec.alternate = true,
            _ => spec.zero = true,
        }
        at += 1;
    }
    let mut number = |at: &mut usize| -> Outcome<usize> {
        if peek(*at) == Some('*') {
            *at += 1;
            return Ok((arguments.next(4)? as i32).unsigned_abs().min(4096) as usize);
        }
        let mut value = 0usize;
        while let Some(digit) = peek(*at).and_then(|c| c.to_digit(10)) {
            value = (value * 10 + digit as usize).min(4096);
            *at += 1;
        }
        Ok(value)
    };
    spec.width = number(&mut at)?;
    if peek(at) == Some('.') {
        at += 1;
        spec.precision = Some(number(&mut at)?);
    }
    while let Some(c @ ('l' | 'h' | 'z' | 'j' | 't' | 'L')) = peek(at) {
        spec.long |= matches!(c, 'l' | 'z' | 'j' | 't');
        at += 1;
    }
    Ok((spec, peek(at), (at + 1).min(format.len().max(at))))
}

fn convert(
    out: &mut String,
    spec: &Spec,
    conversion: char,
    arguments: &mut Arguments<'_, '_>,
) -> Outcome<()> {
    let width = if spec.long { 8 } else { 4 };
    let (sign, body) = match conversion {
        'd' | 'i' => {
            let bits = arguments.next(width)?;
            let value = if spec.long { bits as i64 } else { i64::from(bits as u32 as i32) };
            (sign_of(value < 0, spec), digits(value.unsigned_abs().to_string(), spec))
        }
        'u' => (String::new(), digits(arguments.next(width)?.to_string(), spec)),
        'x' | 'X' | 'o' => {
            let value = arguments.next(width)?;
            let (text, prefix) = match conversion {
                'x' => (format!("{value:x}"), "0x"),
                'X' => (format!("{value:X}"), "0X"),
                _ => (format!("{value:o}"), "0"),
            };
            let prefix = if spec.alternate && value != 0 { prefix } else { "" };
            (prefix.to_string(), digits(text, spec))
        }
        'p' => (String::new(), format!("{:#x}", arguments.next(8)?)),
        'c' => (String::new(), (arguments.next(4)? as u8 as char).to_string()),
        's' => {
            let address = arguments.next(8)?;
            let text = string(arguments.cluster, arguments.warp, arguments.lane, address)?;
            (String::new(), text.chars().take(spec.precision.unwrap_or(usize::MAX)).collect())
        }
        'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
            let value = f64::from_bits(arguments.next(8)?);
            let negative = value.is_sign_negative() && !value.is_nan();
            (sign_of(negative, spec), float_text(value.abs(), conversion, spec))
        }
        other => {
            out.push('%');
            out.push(other);
            return Ok(());
        }
    };
    let length = sign.chars().count() + body.chars().count();
    let pad = spec.width.saturating_sub(length);
    let numeric = !matches!(conversion, 's' | 'c' | 'p');
    if spec.left {
        out.push_str(&sign);
        out.push_str(&body);
        out.extend(std::iter::repeat_n(' ', pad));
    } else if spec.zero && numeric && body.starts_with(|c: char| c.is_ascii_hexdigit()) {
        out.push_str(&sign);
        out.extend(std::iter::repeat_n('0', pad));
        out.push_str(&body);
    } else {
        out.extend(std::iter::repeat_n(' ', pad));
        out.push_str(&sign);
        out.push_str(&body);
    }
    Ok(())
}

fn sign_of(negative: bool, spec: &Spec) -> String {
    match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
    .into()
}

/// Returns the digits of a number, padded to at least `precision` digits.
fn digits(text: String, spec: &Spec) -> String {
    match spec.precision {
        Some(n) if text.len() < n => format!("{text:0>n$}"),
        _ => text,
    }
}

fn float_text(value: f64, conversion: char, spec: &Spec) -> String {
    let precision = spec.precision.unwrap_or(6);
    let text = match conversion.to_ascii_lowercase() {
        _ if value.is_nan() => "nan".into(),
        _ if value.is_infinite() => "inf".into(),
        'f' => format!("{value:.precision$}"),
        'e' => exponent_text(value, precision),
        _ => general_text(value, precision.max(1), spec.alternate),
    };
    if conversion.is_ascii_uppercase() { text.to_uppercase() } else { text }
}

/// Returns a number in the notation `d.ddde±dd`.
fn exponent_text(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// Returns a number as printed by `%g`: in the shorter notation, without trailing zeros unless `keep_zeros` is set.
fn general_text(value: f64, precision: usize, keep_zeros: bool) -> String {
    let scientific = exponent_text(value, precision - 1);
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let trim = |text: String| {
        if keep_zeros || !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    };
    if value != 0.0 && (exponent < -4 || exponent >= precision as i32) {
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
        return format!("{}e{exponent}", trim(mantissa.to_string()));
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    trim(format!("{value:.decimals$}"))
}
