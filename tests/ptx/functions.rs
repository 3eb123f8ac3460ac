//! Elementary functions, run on every type and compared with f64 within their documented errors.

use std::f64::consts::{LN_2, PI};

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{
        Element,
        traits::{Elementary, Root},
    },
    run::{Device, Simulator},
};

/// A function under test.
struct Function {
    name: &'static str,
    exact: fn(f64) -> f64,
    /// Maximum errors in f32, relative to the result and absolute.
    error: [f64; 2],
    /// The arguments for which they hold.
    range: [f64; 2],
}

const fn function(name: &'static str, exact: fn(f64) -> f64, error: [f64; 2], range: [f64; 2]) -> Function {
    Function { name, exact, error, range }
}

const fn p2(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// In the order of [`all`].
#[rustfmt::skip]
const FUNCTIONS: [Function; 14] = [
    function("sqrt",      f64::sqrt,                        [p2(-24), 0.0],     [0.0, 1e38]),
    function("recip",     f64::recip,                       [p2(-24), 0.0],     [1e-37, 1e37]),
    function("rsqrt",     |x| x.sqrt().recip(),             [p2(-22), 0.0],     [1e-37, 1e38]),
    function("exp2",      f64::exp2,                        [p2(-22), 0.0],     [-125.0, 127.9]),
    function("exp",       f64::exp,                         [p2(-16), 0.0],     [-87.0, 88.0]),
    function("log2",      f64::log2,                        [p2(-22), p2(-22)], [1e-37, 1e38]),
    function("ln",        f64::ln,                          [p2(-22), p2(-22)], [1e-37, 1e38]),
    function("tanh",      f64::tanh,                        [p2(-11), 0.0],     [-1e38, 1e38]),
    function("sin",       f64::sin,                         [0.0, p2(-20)],     [-PI, PI]),
    function("cos",       f64::cos,                         [0.0, p2(-20)],     [-PI, PI]),
    function("sigmoid",   logistic,                         [p2(-16), 0.0],     [-87.0, 1e38]),
    function("silu",      |x| x * logistic(x),              [p2(-16), p2(-126)],[-87.0, 1e38]),
    function("gelu",      |x| x * normal_distribution(x),   [p2(-20), p2(-20)], [-1e18, 1e38]),
    function("gelu_tanh", gelu_tanh,                        [p2(-14), p2(-126)],[-5.0, 1e12]),
];

fn all<'k, T: Elementary>(k: Builder<'k>, x: Val<'k, T>) -> [Val<'k, T>; 14] {
    [
        k.sqrt(x),
        k.recip(x),
        k.rsqrt(x),
        k.exp2(x),
        k.exp(x),
        k.log2(x),
        k.ln(x),
        k.tanh(x),
        k.sin(x),
        k.cos(x),
        k.sigmoid(x),
        k.silu(x),
        k.gelu(x),
        k.gelu_tanh(x),
    ]
}

fn logistic(x: f64) -> f64 {
    (1.0 + (-x).exp()).recip()
}

fn gelu_tanh(x: f64) -> f64 {
    let u = (2.0 / PI).sqrt() * (x + f64::from(0.044_715f32) * x.powi(3));
    x * logistic(2.0 * u)
}

/// Φ(x), by the Taylor series around 0 and a continued fraction beyond.
fn normal_distribution(x: f64) -> f64 {
    let z = x.abs() / 2f64.sqrt();
    let tail = if z < 3.0 {
        let mut term = z;
        let mut sum = z;
        for n in 1..100 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        0.5 - sum / PI.sqrt()
    } else {
        let fraction = (1..80).rev().fold(1.0, |rest, n| 1.0 + f64::from(n) / (2.0 * z * z) / rest);
        (-z * z).exp() / (2.0 * z * PI.sqrt() * fraction)
    };
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// Runs every function on every argument: the results of one function after those of the other.
fn run<T: Element<Reg = T> + Elementary>(target: Target, x: &[T]) -> Vec<Vec<T>> {
    let n = x.len() as u32;
    let kernel = Kernel::<(In<T>, Out<T>)>::build("functions(x, y)", target, |k, (x, y)| {
        k.block([128]);
        k.grid([n.div_ceil(128)]);
        let i = k.ctaid_x() * 128 + k.tid_x();
        k.return_if(i.ge(n));
        let (x, y) = (k.slice(x, n), k.slice(y, 14 * n));
        for (row, value) in (0u32..).zip(all(k, x.at(i).load())) {
            y.at(i + row * n).store(value);
        }
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let device = Simulator::new();
    let (x, mut y) = (device.upload(x).unwrap(), device.output::<T>(14 * x.len()).unwrap());
    device.launch(&kernel, (&x, &mut y)).unwrap_or_else(|e| panic!("{e}"));
    device.download(&y).unwrap().chunks(n as usize).map(<[T]>::to_vec).collect()
}

/// Arguments of every magnitude, and many of moderate magnitude.
fn arguments() -> Vec<f32> {
    let spread = (0..2048u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b1) & 0x7fff_ffff));
    let moderate = (0..2048u32).map(|i| i as f32 * 0.011 + 1e-3);
    spread.chain(moderate).filter(|x| x.is_finite()).flat_map(|x| [x, -x]).collect()
}

/// A number format: its relative rounding error, smallest normal and largest number.
struct Format {
    rounding: f64,
    smallest: f64,
    largest: f64,
    /// Maximum errors of `exp2` and `tanh` if they are instructions of the type: relative and absolute.
    native: [[f64; 2]; 2],
}

const F32: Format = Format {
    rounding: 0.0,
    smallest: p2(-126),
    largest: f32::MAX as f64,
    native: [[p2(-22), 0.0], [p2(-11), 0.0]],
};
const F16: Format = Format {
    rounding: p2(-11),
    smallest: p2(-14),
    largest: 65504.0,
    native: [[p2(-9), 0.0], [0.0, p2(-10)]],
};
const BF16: Format = Format {
    rounding: p2(-8),
    smallest: p2(-126),
    largest: 3.389_531e38,
    native: [[p2(-7), 0.0], [0.0, p2(-8)]],
};

impl Format {
    fn check(&self, function: &Function, x: f64, found: f64) {
        let Function { name, exact, error, range } = *function;
        if x < range[0] || x > range[1] || x.abs() < self.smallest {
            return;
        }
        let wanted = exact(x);
        let [relative, absolute] = match name {
            "exp2" => self.native[0],
            "tanh" => self.native[1],
            _ => error,
        };
        let bound = (relative + self.rounding) * wanted.abs() + absolute + self.rounding * absolute;
        // Results below the normal numbers are flushed or coarse.
        let bound = bound.max(if wanted.abs() < 1.01 * self.smallest { self.smallest } else { 0.0 });
        let overflows = wanted.abs() > self.largest * (1.0 - 4.0 * self.rounding);
        let is_infinite = found.is_infinite() && found.signum() == wanted.signum();
        let is_close = (found - wanted).abs() <= bound;
        assert!(is_close || overflows && is_infinite, "{name}({x:e}) is {wanted:e}, found {found:e}");
    }

    fn check_all(&self, x: &[f64], found: &[Vec<f64>]) {
        for (function, found) in FUNCTIONS.iter().zip(found) {
            let checked = x.iter().zip(found).inspect(|&(&x, &found)| self.check(function, x, found)).count();
            assert_eq!(checked, x.len());
        }
    }
}

#[test]
fn functions_of_f32() {
    let x = arguments();
    let found: Vec<Vec<f64>> =
        run(Target::SM_80, &x).iter().map(|row| row.iter().map(|&y| y.into()).collect()).collect();
    F32.check_all(&x.iter().map(|&x| x.into()).collect::<Vec<_>>(), &found);
}

macro_rules! halves {
    ($($test:ident: $half:ident, $pair:ident, $format:ident, $targets:expr;)*) => {$(
        #[test]
        fn $test() {
            let x: Vec<$half> = arguments().into_iter().map($half::from_f32).filter(|x| x.is_finite()).collect();
            let pairs: Vec<$pair> = x.chunks_exact(2).map(|x| $pair([x[0], x[1]])).collect();
            let numbers: Vec<f64> = x.iter().map(|&x| x.into()).collect();
            for target in $targets {
                let found = run(target, &x);
                let numbers_found: Vec<Vec<f64>> =
                    found.iter().map(|row| row.iter().map(|&y| y.into()).collect()).collect();
                $format.check_all(&numbers, &numbers_found);
                // A pair gives what its halves give.
                for (row, (single, pair)) in found.iter().zip(run(target, &pairs)).enumerate() {
                    let flat = pair.iter().flat_map(|pair| pair.0.map($half::to_bits));
                    let wanted = single[..2 * pair.len()].iter().map(|x| x.to_bits());
                    assert!(flat.eq(wanted), "{} of pairs on {target}", FUNCTIONS[row].name);
                }
            }
        }
    )*};
}

halves! {
    functions_of_f16:  f16,  f16x2,  F16,  [Target::SM_75, Target::SM_90];
    functions_of_bf16: bf16, bf16x2, BF16, [Target::SM_80, Target::SM_90];
}

#[test]
fn functions_of_special_numbers() {
    const INF: f32 = f32::INFINITY;
    let x = [0.0, -0.0, INF, -INF, f32::NAN, -1.0];
    let found = run(Target::SM_80, &x);
    // NaN as text, so that it compares equal.
    let row = |name: &str| {
        let row = FUNCTIONS.iter().position(|f| f.name == name).unwrap();
        found[row].iter().map(|y| format!("{y}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("sqrt"), "0 -0 inf NaN NaN NaN");
    assert_eq!(row("recip"), "inf -inf 0 -0 NaN -1");
    assert_eq!(row("rsqrt"), "inf -inf 0 NaN NaN NaN");
    assert_eq!(row("exp2"), "1 1 inf 0 NaN 0.5");
    assert!(row("exp").starts_with("1 1 inf 0 NaN 0.3678"), "{}", row("exp"));
    assert_eq!(row("log2"), "-inf -inf inf NaN NaN NaN");
    assert_eq!(row("ln"), "-inf -inf inf NaN NaN NaN");
    assert!(row("tanh").starts_with("0 -0 1 -1 NaN -0.76"), "{}", row("tanh"));
    assert!(row("sin").starts_with("0 -0 NaN NaN NaN -0.84"), "{}", row("sin"));
    assert!(row("cos").starts_with("1 1 NaN NaN NaN 0.54"), "{}", row("cos"));
    assert!(row("sigmoid").starts_with("0.5 0.5 1 0 NaN 0.268"), "{}", row("sigmoid"));
    assert!(row("silu").starts_with("0 -0 inf NaN NaN -0.268"), "{}", row("silu"));
    assert!(row("gelu").starts_with("0 -0 inf NaN NaN -0.158"), "{}", row("gelu"));
    assert!(row("gelu_tanh").starts_with("0 -0 inf NaN NaN -0.158"), "{}", row("gelu_tanh"));
}

/// The functions that f64 has.
#[test]
fn roots_of_f64() {
    fn roots<'k, T: Root>(k: Builder<'k>, x: Val<'k, T>) -> [Val<'k, T>; 3] {
        [k.sqrt(x), k.recip(x), k.rsqrt(x)]
    }
    let x: Vec<f64> = arguments().iter().map(|&x| f64::from(x.abs()) * LN_2).filter(|&x| x > 0.0).collect();
    let n = x.len() as u32;
    let kernel = Kernel::<(In<f64>, Out<f64>)>::build("roots(x, y)", Target::SM_80, |k, (x, y)| {
        k.block([128]);
        k.grid([n.div_ceil(128)]);
        let i = k.ctaid_x() * 128 + k.tid_x();
        k.return_if(i.ge(n));
        let (x, y) = (k.slice(x, n), k.slice(y, 3 * n));
        for (row, value) in (0u32..).zip(roots(k, x.at(i).load())) {
            y.at(i + row * n).store(value);
        }
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let device = Simulator::new();
    let (input, mut y) = (device.upload(&x).unwrap(), device.output::<f64>(3 * x.len()).unwrap());
    device.launch(&kernel, (&input, &mut y)).unwrap_or_else(|e| panic!("{e}"));
    let y = device.download(&y).unwrap();
    for (i, &x) in x.iter().enumerate() {
        let at = |row: usize| y[row * n as usize + i];
        assert_eq!((at(0), at(1)), (x.sqrt(), x.recip()), "{x:e}");
        let rsqrt = x.sqrt().recip();
        assert!((at(2) - rsqrt).abs() <= rsqrt * p2(-51), "rsqrt({x:e}) is {rsqrt:e}, found {:e}", at(2));
    }
}
