//! Steps of AdamW.

use warpwright::{
    kernels::call::{self, AdamWStep},
    prelude::*,
    run::{Device, KernelCache, Simulator},
};

use super::numbers::{assert_near, halves, in_f64, numbers};
use crate::devices;

#[test]
fn two_steps_agree_with_f64() {
    let rule =
        AdamWStep { beta1: 0.8, beta2: 0.95, epsilon: 1e-3, weight_decay: 0.1, ..AdamWStep::new(1, 0.25) };
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        for count in [4096, 4099] {
            // The last parameters do not change.
            let mut expected: Vec<f64> = numbers(count + 5, 1).into_iter().map(f64::from).collect();
            let mut p = device.upload(&numbers(count + 5, 1)).expect("room");
            let zeros = vec![0.0f32; count];
            let [mut mean, mut square] = [&zeros, &zeros].map(|zeros| device.upload(zeros).expect("room"));
            let [mut means, mut squares] = [vec![0.0; count], vec![0.0; count]];
            for step in [1, 2] {
                let g = halves(count, step + 1);
                let on_g = device.upload(&g).expect("room");
                let rule = AdamWStep { step, ..rule };
                call::adamw(&kernels, &rule, count as u32, &mut p, &on_g, (&mut mean, &mut square))
                    .expect("launched");
                let [rate, beta1, beta2, epsilon, decay] =
                    [rule.learning_rate, rule.beta1, rule.beta2, rule.epsilon, rule.weight_decay]
                        .map(f64::from);
                for (i, g) in in_f64(&g).into_iter().enumerate() {
                    means[i] = beta1 * means[i] + (1.0 - beta1) * g;
                    squares[i] = beta2 * squares[i] + (1.0 - beta2) * g * g;
                    let [c1, c2] = [beta1, beta2].map(|beta| 1.0 - beta.powi(step as i32));
                    let change = rate * (means[i] / c1) / ((squares[i] / c2).sqrt() + epsilon);
                    expected[i] -= rate * decay * expected[i] + change;
                }
            }
            for (what, found, expected) in
                [("p", &p, &expected), ("mean", &mean, &means), ("square", &square, &squares)]
            {
                let found: Vec<f64> =
                    device.download(found).expect("copied").into_iter().map(f64::from).collect();
                assert_near(&format!("{what} of {count}"), &found, expected, 1e-5);
            }
        }
    }
}

#[test]
fn other_factors_and_steps_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let g = device.upload(&[bf16::ONE; 4]).expect("room");
    let mut p = device.upload(&[bf16::ONE; 4]).expect("room");
    let [mut mean, mut square] = [(); 2].map(|()| device.zeros::<f32>(4).expect("room"));
    let rule = AdamWStep::new(1, 0.1);
    for (rule, count, expected) in [
        (AdamWStep { step: 0, ..rule }, 4, "adamw: expected a step of at least 1, found 0"),
        (AdamWStep { beta1: 1.0, ..rule }, 4, "adamw: expected beta1 from 0 to less than 1, found 1"),
        (AdamWStep { beta2: f32::NAN, ..rule }, 4, "adamw: expected beta2 from 0 to less than 1, found NaN"),
        (
            rule,
            5,
            "adamw: kernel `adamw_bf16_bf16_any_by1`: parameter `p`: expected a buffer of at least 5 elements, found 4",
        ),
    ] {
        let error = call::adamw(&kernels, &rule, count, &mut p, &g, (&mut mean, &mut square));
        assert_eq!(error.expect_err("refused").to_string(), expected);
    }
}
