//! The matmul example: its products, its check, and its errors. Its modules are compiled into the test, so that the test cannot run a stale
//! binary.

#[path = "../../examples/matmul/check.rs"]
pub(super) mod check;
#[path = "../../examples/matmul/job.rs"]
mod job;
#[path = "../../examples/matmul/npy.rs"]
mod npy;
#[path = "../../examples/matmul/options.rs"]
mod options;
#[path = "../../examples/matmul/progress.rs"]
mod progress;

use self::check::{Factors, check};
use npyz::WriterBuilder;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};
use warpwright::prelude::*;

/// A separate folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("warpwright-matmul-{}-{count}", process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A `.npy` file of elements like these.
    fn npy<T: npyz::AutoSerialize>(
        &self,
        name: &str,
        shape: &[u64],
        values: impl IntoIterator<Item = T>,
    ) -> PathBuf {
        let mut bytes = Vec::new();
        let options = npyz::WriteOptions::new().default_dtype().shape(shape);
        let mut writer = options.writer(&mut bytes).begin_nd().expect("a vector takes all");
        writer.extend(values).expect("a vector takes all");
        writer.finish().expect("as many values as the shape says");
        self.write(name, &bytes)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.file(name), bytes).expect("the temporary folder can be written");
        self.file(name)
    }

    /// The names of the files in the folder.
    fn names(&self) -> Vec<OsString> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .expect("it exists")
            .map(|entry| entry.expect("readable").file_name())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The example's output, or its exit code and message.
fn matmul(args: &[&dyn AsRef<std::ffi::OsStr>]) -> Result<String, (u8, String)> {
    let args = [OsString::from("matmul")].into_iter().chain(args.iter().map(|arg| arg.as_ref().to_owned()));
    let mut out = Vec::new();
    let outcome = options::parse(args).and_then(|options| job::run(&options, &mut out));
    match outcome {
        Ok(()) => Ok(String::from_utf8(out).expect("text")),
        Err(failure) => {
            let code = failure.code();
            let (options::Failure::Help(text)
            | options::Failure::Input(text)
            | options::Failure::Wrong(text)) = failure;
            Err((code, text))
        }
    }
}

/// The one-line message of an input that is rejected with exit code 2.
fn refused(args: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    let (code, message) = matmul(args).expect_err("it should be refused");
    assert_eq!((code, message.lines().count()), (2, 1), "{message}");
    message
}

#[test]
fn the_shipped_matrices_are_multiplied_and_verified() {
    let folder = Folder::new();
    let (ptx, out) = (folder.file("m.ptx"), folder.file("d.npy"));
    let printed = matmul(&[&"--device", &"sim", &"--ptx", &ptx, &"--out", &out]).expect("verified");
    let heads: Vec<_> = printed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(
        heads,
        ["device", "problem", "kernel", "uses", "ptx", "build", "run", "error", "verified", "written"]
    );
    assert!(printed.contains("A 203×139, B 139×91") && printed.contains("18473 elements"), "{printed}");
    let text = fs::read_to_string(ptx).expect("written");
    assert!(text.contains(".target sm_80") && !text.contains(".loc"), "{text}");
    let d = npy::read(&out).expect("written");
    assert_eq!((d.rows, d.cols, d.values.len()), (203, 91, 203 * 91));
}

#[test]
fn files_of_f32_and_f16_in_either_order() {
    let folder = Folder::new();
    // Small integers, whose product is exact.
    let a = folder.npy("a.npy", &[2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let b = folder.npy("b.npy", &[3, 1], [1u8, 10, 100].map(|x| f16::from_f32(x.into())));
    let out = folder.file("d.npy");
    let go = |a: &Path| {
        matmul(&[&"--device", &"sim", &"--a", &a, &"--b", &b, &"--out", &out, &"--ptx", &folder.file("p")])
            .expect("verified");
        npy::read(&out).expect("written").values
    };
    assert_eq!(go(&a), [321.0, 654.0]);
    let mut columns = Vec::new();
    let options = npyz::WriteOptions::new().default_dtype().shape(&[2, 3]).order(npyz::Order::Fortran);
    let mut writer = options.writer(&mut columns).begin_nd().expect("a vector takes all");
    writer.extend([1.0f32, 4.0, 2.0, 5.0, 3.0, 6.0]).expect("a vector takes all");
    writer.finish().expect("six values");
    assert_eq!(go(&folder.write("columns.npy", &columns)), [321.0, 654.0]);
}

#[test]
fn a_product_of_nan_is_correct() {
    let folder = Folder::new();
    let a = folder.npy("a.npy", &[1, 1], [f32::NAN]);
    let b = folder.npy("b.npy", &[1, 1], [1.0f32]);
    let printed = matmul(&[&"--device", &"sim", &"--a", &a, &"--b", &b, &"--ptx", &folder.file("p")])
        .expect("verified");
    assert!(printed.contains("verified  1 elements") && !printed.contains("NaN"), "{printed}");
}

#[test]
fn a_product_without_elements_is_correct() {
    let folder = Folder::new();
    let a = folder.npy("a.npy", &[0, 3], [0.0f32; 0]);
    let b = folder.npy("b.npy", &[3, 2], [1.0f32; 6]);
    let printed = matmul(&[&"--device", &"sim", &"--a", &a, &"--b", &b, &"--ptx", &folder.file("p")])
        .expect("verified");
    assert!(printed.contains("nothing to do") && printed.contains("verified  0 elements"), "{printed}");
}

#[test]
fn a_file_has_one_use() {
    let folder = Folder::new();
    let a = folder.npy("a.npy", &[2, 3], [1.0f32; 6]);
    let b = folder.npy("b.npy", &[3, 2], [1.0f32; 6]);
    let before = fs::read(&a).expect("written");
    let again = folder.0.join(".").join("a.npy");
    let fresh = folder.file("d");
    let both = |out: &Path, ptx: &Path| {
        refused(&[&"--device", &"sim", &"--a", &a, &"--b", &b, &"--out", &out, &"--ptx", &ptx])
    };
    assert!(both(&again, &fresh).ends_with("a.npy is named for both --a and --out"));
    assert!(both(&fresh, &b).ends_with("b.npy is named for both --b and --ptx"));
    assert!(both(&fresh, &fresh).ends_with("d is named for both --out and --ptx"));
    assert_eq!(fs::read(&a).expect("still there"), before);
    assert_eq!(folder.names(), ["a.npy", "b.npy"]);
}

#[test]
fn bad_input_is_refused_in_a_line_and_nothing_is_written() {
    let folder = Folder::new();
    let good = folder.npy("good.npy", &[2, 3], [1.0f32; 6]);
    let flat = folder.npy("flat.npy", &[6], [1.0f32; 6]);
    let cube = folder.npy("cube.npy", &[1, 2, 3], [1.0f32; 6]);
    let double = folder.npy("double.npy", &[3, 2], [1.0f64; 6]);
    let text = folder.write("text.npy", b"1 2 3\n4 5 6\n");
    let cut = fs::read(&good).expect("written");
    let short = folder.write("short.npy", &cut[..cut.len() - 4]);
    let cut = folder.write("cut.npy", &cut[..cut.len() - 1]);
    let missing = folder.file("missing.npy");
    let before = folder.names();

    let (ptx, out) = (folder.file("m.ptx"), folder.file("d.npy"));
    let with_b = |b: &Path| {
        let args: [&dyn AsRef<std::ffi::OsStr>; 10] =
            [&"--device", &"sim", &"--a", &good, &"--b", &b, &"--ptx", &ptx, &"--out", &out];
        refused(&args).replace(&*folder.0.to_string_lossy(), "")
    };
    assert_eq!(with_b(&missing), "/missing.npy cannot be read: No such file or directory (os error 2)");
    assert_eq!(with_b(&flat), "/flat.npy: expected a matrix of 2 dimensions, found 1 (6)");
    assert_eq!(with_b(&cube), "/cube.npy: expected a matrix of 2 dimensions, found 3 (1×2×3)");
    assert_eq!(with_b(&double), "/double.npy: expected elements of f32 ('<f4') or f16 ('<f2'), found '<f8'");
    assert_eq!(with_b(&good), "expected as many columns of A as rows of B, found A 2×3 and B 2×3");
    assert!(with_b(&text).starts_with("/text.npy is not a valid .npy file: "), "{}", with_b(&text));
    assert_eq!(with_b(&cut), "/cut.npy ends in the middle of an element");
    assert_eq!(with_b(&short), "/short.npy: expected 6 values for 2×3, found 5");
    assert_eq!(folder.names(), before);
}

#[test]
fn bad_options_are_refused_in_a_line_and_nothing_is_written() {
    let folder = Folder::new();
    let (ptx, none) = (folder.file("m.ptx"), folder.file("none/d.npy"));
    let target = |target: &str| refused(&[&"--device", &"sim", &"--ptx", &ptx, &"--target", &target]);
    assert_eq!(target("sm_100a"), "--target sm_100a: simulator (sm_90) cannot run it");
    assert!(target("sm_75").contains("found sm_75"), "{}", target("sm_75"));
    assert_eq!(
        target("sm_1"),
        "--target: unknown target `sm_1`: expected one of sm_75, sm_80, sm_86, sm_87, \
         sm_89, sm_90, sm_90a, sm_100a, sm_120a"
    );
    assert_eq!(
        refused(&[&"--device", &"tpu", &"--ptx", &ptx]),
        "--device: expected `auto`, `sim` or `gpu`, found `tpu`"
    );
    let unwritable = refused(&[&"--device", &"sim", &"--ptx", &ptx, &"--out", &none]);
    assert!(unwritable.contains("d.npy cannot be written: missing folder"), "{unwritable}");
    let half = refused(&[&"--a", &none]);
    assert_eq!(half, "--a FILE needs --b FILE as well");
    assert!(folder.names().is_empty());
    if let Err(why) = warpwright::run::open(warpwright::run::DeviceChoice::Gpu) {
        assert_eq!(refused(&[&"--device", &"gpu", &"--ptx", &ptx]), why.to_string());
        assert!(folder.names().is_empty());
    }
}

#[test]
fn help_is_not_an_error() {
    let (code, text) = matmul(&[&"--help"]).expect_err("help");
    assert_eq!(code, 0);
    assert!(text.contains("--device <DEVICE>"), "{text}");
}

/// A sum of products in the arithmetic on which the bound is based: groups, each aligned to its largest exponent and cut off after
/// `bits`, the sum cut off to an f32.
fn tensor_core(a: &[bf16], b: &[bf16], group: usize, bits: i32) -> f32 {
    let mut sum = 0.0f32;
    for (a, b) in a.chunks(group).zip(b.chunks(group)) {
        let products = a.iter().zip(b).map(|(a, b)| (a.to_f64() * b.to_f64(), exponent(*a) + exponent(*b)));
        let c = (f64::from(sum), f64::from(sum).abs().log2().floor().max(-126.0) as i32);
        let terms: Vec<(f64, i32)> = products.chain([c]).filter(|term| term.0 != 0.0).collect();
        let Some(largest) = terms.iter().map(|term| term.1).max() else { continue };
        let unit = 2f64.powi(largest.max(-133) - bits);
        let total: f64 = terms.iter().map(|term| (term.0 / unit).trunc() * unit).sum();
        // Toward zero: an f32 that was rounded away from zero steps back.
        let near = total as f32;
        sum = if f64::from(near).abs() > total.abs() { f32::from_bits(near.to_bits() - 1) } else { near };
    }
    sum
}

/// The exponent of a number, that of the smallest normal one for a subnormal.
fn exponent(x: bf16) -> i32 {
    (i32::from(x.to_bits() >> 7 & 0xff)).max(1) - 127
}

fn factor() -> impl Strategy<Value = bf16> {
    prop_oneof![
        4 => (-4.0f32..4.0).prop_map(bf16::from_f32),
        1 => (0u16..0x5f00).prop_map(bf16::from_bits),
        1 => (0x8000u16..0xdf00).prop_map(bf16::from_bits),
        1 => Just(bf16::ZERO),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// For any factors, results of Ampere's and of Hopper's arithmetic are within the bound, and a result whose error exceeds
    /// twice the bound is not.
    #[test]
    fn the_bound_holds(pairs in prop::collection::vec((factor(), factor()), 1..100)) {
        let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let factors = Factors { a: &a, b: &b, m: 1, n: 1, k: a.len() };
        for (group, bits) in [(8, 24), (16, 25)] {
            let d = tensor_core(&a, &b, group, bits);
            let verdict = check(&factors, &[d]);
            prop_assert!(verdict.wrong == 0, "{group} {bits}: {verdict:?}");
        }
        let worst = check(&factors, &[0.0]).worst.expect("one element");
        let off = (worst.expected + 2.0 * worst.bound + worst.expected.abs() * 1e-6) as f32;
        prop_assert_eq!(check(&factors, &[off]).wrong, 1, "{:?}", worst);
    }
}

#[test]
fn a_wrong_element_has_its_coordinates() {
    let a = [1.0, 2.0, 3.0, 4.0].map(bf16::from_f32);
    let b = [1.0, 0.0, 0.0, 1.0].map(bf16::from_f32);
    let factors = Factors { a: &a, b: &b, m: 2, n: 2, k: 2 };
    let verdict = check(&factors, &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!((verdict.wrong, verdict.first_wrong), (0, None));
    let verdict = check(&factors, &[1.0, 2.0, f32::NAN, 4.001]);
    let first = verdict.first_wrong.expect("two are wrong");
    assert_eq!((verdict.wrong, first.row, first.col, first.expected), (2, 1, 0, 3.0));
    assert!(!verdict.worst.expect("four elements").holds());
}

#[test]
fn special_values_follow_ieee_754() {
    let one = |a: [f32; 2], b: [f32; 2], d: f32| {
        let (a, b) = (a.map(bf16::from_f32), b.map(bf16::from_f32));
        check(&Factors { a: &a, b: &b, m: 1, n: 1, k: 2 }, &[d]).wrong == 0
    };
    let inf = f32::INFINITY;
    assert!(one([inf, 1.0], [1.0, 1.0], inf) && !one([inf, 1.0], [1.0, 1.0], -inf));
    assert!(one([inf, 1.0], [0.0, 1.0], f32::NAN) && !one([inf, 1.0], [0.0, 1.0], inf));
    assert!(one([inf, inf], [1.0, -1.0], f32::NAN) && !one([inf, inf], [1.0, -1.0], 0.0));
    // The sum of two numbers can leave the range of f32.
    assert!(one([3e38, 3e38], [1.0, 1.0], inf) && !one([1e38, 1e38], [1.0, 1.0], inf));
}
