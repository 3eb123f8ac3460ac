//! Sampling: the frequencies of columns against their exact probabilities, restrictions, and the largest elements.

use super::matrix::{Number, Shape, assembled, mixed, row, same_everywhere};
use warpwright::{
    kernels::{RowTiling, Sample},
    prelude::*,
    run::Device,
    tiles::Convert,
};

const TARGET: Target = Target::SM_90A;
const SEED: u64 = 0x0123_4567_89ab_cdef;

/// How columns are drawn.
#[derive(Clone, Copy, Debug)]
struct Rule {
    temperature: f32,
    top_k: u32,
    top_p: f32,
    offset: u64,
}

const ALL: Rule = Rule { temperature: 1.0, top_k: u32::MAX, top_p: 1.0, offset: 0 };
const GREEDY: Rule = Rule { temperature: 0.0, ..ALL };

/// An element of x.
type Element<'a> = &'a dyn Fn(usize, usize) -> f64;

/// Draws a column of each row, the same ones on every device.
fn drawn<X>(tiling: RowTiling, [m, n, ldx]: [usize; 3], rule: Rule, element: Element<'_>) -> Vec<i32>
where
    X: Number + Convert<f32>,
{
    let kernel = assembled(Sample { tiling }.kernel::<X>(TARGET));
    let x = Shape { m, n, pitch: ldx }.filled::<X>(element);
    let Rule { temperature, top_k, top_p, offset } = rule;
    same_everywhere(kernel.name(), &|device| {
        let x = device.upload(&x).expect("room");
        let mut tokens = device.upload(&vec![i32::MIN; m]).expect("room");
        let [m, n, ldx] = [m, n, ldx].map(|size| size as u32);
        let arguments = (&x, ldx, &mut tokens, m, n, temperature, top_k, top_p, SEED, offset);
        device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{error}"));
        device.download(&tokens).expect("copied")
    })
}

fn chosen<X: Number + Convert<f32>>([_, n, ldx]: [usize; 3]) -> RowTiling {
    let on = |target| Sample::for_rows(target, X::SIZE, &[n, ldx].map(|size| size as u32));
    assembled(on(Target::SM_80).kernel::<X>(Target::SM_80));
    on(TARGET).tiling
}

/// The probabilities of the columns of a row.
fn probabilities(x: &[f64], rule: Rule) -> Vec<f64> {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let terms: Vec<f64> = x.iter().map(|x| ((x - max) / f64::from(rule.temperature)).exp()).collect();
    let total: f64 = terms.iter().sum();
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|&a, &b| x[b].total_cmp(&x[a]));
    let mut kept = vec![0.0; x.len()];
    let mut preceding = 0.0;
    for (count, &col) in order.iter().enumerate() {
        if count > 0 && (count >= rule.top_k as usize || preceding >= f64::from(rule.top_p) * total) {
            break;
        }
        kept[col] = terms[col];
        preceding += terms[col];
    }
    kept.iter().map(|term| term / preceding).collect()
}

/// Pearson's χ² test of the numbers of draws of columns: rejects 1 of 1000 correct results. Adjacent columns that are expected less than 5
/// times are combined.
fn assert_distributed(what: &str, tokens: &[i32], probabilities: &[f64]) {
    let mut counts = vec![0.0; probabilities.len()];
    for &token in tokens {
        let at = usize::try_from(token).ok().filter(|&at| at < counts.len() && probabilities[at] > 0.0);
        counts[at.unwrap_or_else(|| panic!("{what}: drew {token}, which has no probability"))] += 1.0;
    }
    let expected = probabilities.iter().map(|p| p * tokens.len() as f64);
    let mut bins = vec![(0.0, 0.0)];
    for (count, expected) in counts.into_iter().zip(expected) {
        let last = bins.last_mut().expect("a bin");
        *last = (last.0 + count, last.1 + expected);
        if last.1 >= 5.0 {
            bins.push((0.0, 0.0));
        }
    }
    let (count, expected) = bins.pop().expect("a bin");
    let last = bins.last_mut().expect("more than 5 are expected");
    *last = (last.0 + count, last.1 + expected);
    let square: f64 = bins.iter().map(|(count, expected)| (count - expected).powi(2) / expected).sum();
    // The cube root of χ² over its degrees of freedom is almost normal (Wilson and Hilferty).
    let freedom = (bins.len() - 1) as f64;
    let variance = 2.0 / (9.0 * freedom);
    let deviation = ((square / freedom).cbrt() - (1.0 - variance)) / variance.sqrt();
    assert!(deviation < 3.09, "{what}: χ² {square} of {freedom} degrees, {deviation} deviations");
}

/// Checks the distribution of columns drawn from equal rows.
fn distributed<X: Number + Convert<f32>>(tiling: RowTiling, size @ [_, n, _]: [usize; 3], rule: Rule) {
    let of_row = |_: usize, col: usize| mixed(1, col);
    let tokens = drawn::<X>(tiling, size, rule, &of_row);
    let what = format!("{} {size:?} {rule:?}", X::NAME);
    assert_distributed(&what, &tokens, &probabilities(&row::<X>(n, 0, &of_row), rule));
}

#[test]
fn columns_are_drawn_with_their_probabilities() {
    for (size, temperature) in [([4000, 24, 24], 1.0), ([4000, 17, 19], 0.5), ([3000, 300, 304], 3.0)] {
        let rule = Rule { temperature, ..ALL };
        distributed::<f32>(chosen::<f32>(size), size, rule);
        distributed::<bf16>(chosen::<bf16>(size), size, rule);
    }
}

/// Blocks, and several parts for each.
#[test]
fn columns_of_long_rows_are_drawn_with_their_probabilities() {
    for (size, temperature) in [([400, 2000, 2000], 0.3), ([400, 2001, 2001], 0.3)] {
        let rule = Rule { temperature, ..ALL };
        distributed::<f16>(chosen::<f16>(size), size, rule);
        distributed::<f32>(
            RowTiling { threads: 64, stripes: 1, resident: 0, ..chosen::<f32>(size) },
            size,
            rule,
        );
    }
    let size = [60, 9000, 9000];
    assert_eq!(chosen::<f32>(size).threads, 512);
    distributed::<f32>(chosen::<f32>(size), size, Rule { temperature: 0.05, ..ALL });
}

#[test]
fn columns_are_restricted_by_count_and_probability() {
    let size = [2000, 60, 61];
    for (top_k, top_p) in
        [(5, 1.0), (u32::MAX, 0.6), (20, 0.6), (4, 0.9), (1, 1.0), (u32::MAX, 0.0), (7, f32::NAN)]
    {
        let rule = Rule { top_k, top_p, ..ALL };
        if top_k == 1 || top_p == 0.0 || top_p.is_nan() {
            let expected = drawn::<f32>(chosen::<f32>(size), size, GREEDY, &mixed);
            assert_eq!(drawn::<f32>(chosen::<f32>(size), size, rule, &mixed), expected, "{rule:?}");
        } else {
            distributed::<f32>(chosen::<f32>(size), size, rule);
        }
    }
    let size = [300, 3000, 3000];
    distributed::<bf16>(chosen::<bf16>(size), size, Rule { temperature: 0.5, top_k: 8, ..ALL });
    distributed::<bf16>(chosen::<bf16>(size), size, Rule { temperature: 0.1, top_p: 0.8, ..ALL });
}

/// Of equal elements, those of lower columns remain.
#[test]
fn equal_elements_are_restricted_by_column() {
    let size = [600, 40, 40];
    let tokens = drawn::<f32>(chosen::<f32>(size), size, Rule { top_k: 6, ..ALL }, &|_, col| {
        if col == 30 { 1.0 } else { 0.0 }
    });
    let mut terms = vec![0.0; 40];
    terms[..5].fill(1.0);
    terms[30] = 1f64.exp();
    let total: f64 = terms.iter().sum();
    let probabilities: Vec<f64> = terms.iter().map(|term| term / total).collect();
    assert_distributed("equal elements", &tokens, &probabilities);
}

/// The largest element of rows without a distribution, and of all rows at temperature 0.
#[test]
fn rows_without_a_distribution() {
    let element = |row: usize, col: usize| match (row, col) {
        (0, 7 | 30) => f64::NAN,
        (0, 3) | (1, 20 | 21) => f64::INFINITY,
        (2, _) => f64::NEG_INFINITY,
        (3, 5..) => f64::NEG_INFINITY,
        (4, 9 | 12) => 5.0,
        _ => mixed(row, col),
    };
    for n in [40, 41, 700, 9001, 9008] {
        let size = [6, n, n];
        for rule in [GREEDY, Rule { temperature: -1.0, ..ALL }] {
            let tokens = drawn::<f32>(chosen::<f32>(size), size, rule, &element);
            let of = |i: usize| {
                let row = row::<f32>(n, i, &element);
                let largest = row.iter().copied().reduce(f64::max).expect("elements");
                row.iter().position(|&x| x == largest).expect("the largest one") as i32
            };
            assert_eq!(tokens, [7, 20, 0, of(3), 9, of(5)], "{n}: {rule:?}");
        }
        let tokens = drawn::<f32>(chosen::<f32>(size), size, Rule { temperature: 1e-45, ..ALL }, &element);
        assert!([9, 12].contains(&tokens[4]), "{n}: {tokens:?}");
        let tokens = drawn::<bf16>(chosen::<bf16>(size), size, Rule { top_k: 3, ..ALL }, &element);
        assert_eq!(tokens[..3], [7, 20, 0], "{n}");
        assert!((0..5).contains(&tokens[3]), "{n}: drew {} of probability 0", tokens[3]);
    }
    assert_eq!(drawn::<f32>(chosen::<f32>([2, 0, 1]), [2, 0, 1], ALL, &element), [-1, -1]);
}

/// All elements are equally likely at an infinite temperature, but −∞ never is.
#[test]
fn infinite_temperatures() {
    let size = [1500, 20, 20];
    let rule = Rule { temperature: f32::INFINITY, ..ALL };
    let tokens = drawn::<f32>(chosen::<f32>(size), size, rule, &|_, col| {
        if col < 10 { f64::NEG_INFINITY } else { mixed(0, col) }
    });
    let mut probabilities = vec![0.1; 20];
    probabilities[..10].fill(0.0);
    assert_distributed("infinite", &tokens, &probabilities);
}

/// Other offsets give other columns.
#[test]
fn offsets_are_independent() {
    let size = [500, 200, 200];
    let zero = |_: usize, _: usize| 0.0;
    let [a, b] =
        [0, 1 << 40].map(|offset| drawn::<f32>(chosen::<f32>(size), size, Rule { offset, ..ALL }, &zero));
    let equal = a.iter().zip(&b).filter(|(a, b)| a == b).count();
    assert!(equal < 15, "{equal} of 500 columns are the same");
}
