//! cuRAND: pseudorandom numbers.
//!
//! All generators use Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), regardless of their type. The numbers
//! have the same distributions as cuRAND's, but different values. They are computed on the host and copied in stream order.

use warpwright_cuda_calls::{of, out, report_unsupported};

use crate::driver;
use crate::handles::Handles;
use crate::memory::set;
use crate::{Address, absent, entries};

/// A `curandStatus_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Status(u32);

impl Status {
    pub(crate) const SUCCESS: Self = Self(0);
    const NOT_INITIALIZED: Self = Self(101);
    const TYPE_ERROR: Self = Self(103);
    const OUT_OF_RANGE: Self = Self(104);
    const LENGTH_NOT_MULTIPLE: Self = Self(105);
    const LAUNCH_FAILURE: Self = Self(201);
    const INITIALIZATION_FAILED: Self = Self(203);
    pub(crate) const INTERNAL_ERROR: Self = Self(999);

    /// Reports a function that the library does not support, and returns its status. cuRAND has no status for unsupported functions.
    pub(crate) fn unsupported(function: &str) -> Self {
        report_unsupported(function, "CURAND_STATUS_TYPE_ERROR");
        Self::TYPE_ERROR
    }
}

type Fallible<T = ()> = Result<T, Status>;

/// A `curandGenerator_t`.
struct Generator {
    context: Address,
    stream: Address,
    seed: u64,
    /// The index of the next 32-bit word.
    next: u64,
}

static GENERATORS: Handles<Generator> = Handles::new();

/// Calls `f` with the generator that a handle identifies.
fn with(generator: Address, f: impl FnOnce(&mut Generator) -> Fallible) -> Fallible {
    GENERATORS.with(generator, f).unwrap_or(Err(Status::NOT_INITIALIZED))
}

/// Returns the four words of a block of Philox4x32-10.
fn philox(seed: u64, block: u64) -> [u32; 4] {
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    let [mut key0, mut key1] = halves(seed);
    let [low, high] = halves(block);
    let mut words = [low, high, 0, 0];
    for _ in 0..10 {
        let [low0, high0] = halves(u64::from(words[0]) * 0xd251_1f53);
        let [low1, high1] = halves(u64::from(words[2]) * 0xcd9e_8d57);
        words = [high1 ^ words[1] ^ key0, low1, high0 ^ words[3] ^ key1, low0];
        (key0, key1) = (key0.wrapping_add(0x9e37_79b9), key1.wrapping_add(0xbb67_ae85));
    }
    words
}

impl Generator {
    fn word(&mut self) -> u32 {
        let word = philox(self.seed, self.next / 4)[(self.next % 4) as usize];
        self.next = self.next.wrapping_add(1);
        word
    }

    fn long(&mut self) -> u64 {
        u64::from(self.word()) | u64::from(self.word()) << 32
    }

    /// Returns a uniformly distributed number in (0, 1].
    fn uniform(&mut self) -> f32 {
        const STEP: f32 = 1.0 / (1u64 << 32) as f32;
        self.word() as f32 * STEP + STEP / 2.0
    }

    /// Returns a uniformly distributed number in (0, 1].
    fn uniform_double(&mut self) -> f64 {
        ((self.long() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Returns two numbers with the standard normal distribution, computed from two uniform numbers in (0, 1] (Box–Muller transform).
    fn normal(&mut self, uniform: impl Fn(&mut Self) -> f64) -> [f64; 2] {
        let radius = (-2.0 * uniform(self).ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * uniform(self)).sin_cos();
        [radius * sine, radius * cosine]
    }

    /// Copies numbers to the device in the generator's stream.
    fn copy<T>(&self, to: Address, numbers: &[T]) -> Fallible {
        if numbers.is_empty() {
            return Ok(());
        }
        let copied = driver::within(self.context, |driver| {
            // The status is 32 bits wide.
            let mut capture = 0;
            driver.cuStreamIsCapturing(self.stream, out(&mut capture))?;
            if capture != 0 {
                return Ok(false);
            }
            // The driver reads pageable memory during the call.
            driver.cuMemcpyHtoDAsync_v2(to, of(numbers), size_of_val(numbers), self.stream)?;
            Ok(true)
        });
        match copied {
            Ok(true) => Ok(()),
            // A graph would copy the same numbers in each launch.
            Ok(false) => Err(Status::unsupported("A generator of cuRAND during a stream capture")),
            Err(_) => Err(Status::LAUNCH_FAILURE),
        }
    }
}

/// Stores `count` numbers at a device address.
fn generate<T>(
    generator: Address,
    to: Address,
    count: usize,
    mut next: impl FnMut(&mut Generator) -> T,
) -> Fallible {
    with(generator, |generator| {
        let numbers: Vec<T> = (0..count).map(|_| next(generator)).collect();
        generator.copy(to, &numbers)
    })
}

/// Stores `count` normally distributed numbers, each transformed by `map`, at a device address.
fn generate_normal<T>(
    generator: Address,
    to: Address,
    count: usize,
    uniform: impl Fn(&mut Generator) -> f64,
    map: impl Fn(f64) -> T,
) -> Fallible {
    if !count.is_multiple_of(2) {
        return Err(Status::LENGTH_NOT_MULTIPLE);
    }
    with(generator, |generator| {
        let numbers: Vec<T> = (0..count / 2).flat_map(|_| generator.normal(&uniform)).map(map).collect();
        generator.copy(to, &numbers)
    })
}

/// Returns a uniformly distributed number with f32 precision.
fn single(generator: &mut Generator) -> f64 {
    generator.uniform().into()
}

/// The version of cuRAND whose interface is implemented: major, minor, patch.
const VERSION: [i32; 3] = [10, 4, 0];

/// Stores a result at an address, unless the address is null.
fn give<T>(to: Address, value: T) -> Fallible {
    set(to, value).ok_or(Status::OUT_OF_RANGE)
}

entries! {
    /// Quasirandom generators (types 200 and above) are not supported.
    fn curandCreateGenerator(out: Address, ty: u32) -> Status {
        if !(100..200).contains(&ty) {
            return Err(Status::unsupported(&format!("curandCreateGenerator with the curandRngType_t {ty}")));
        }
        let context = driver::context().map_err(|_| Status::INITIALIZATION_FAILED)?;
        if out == 0 {
            return Err(Status::OUT_OF_RANGE);
        }
        give(out, GENERATORS.insert(Generator { context, stream: 0, seed: 0, next: 0 }))
    }

    fn curandDestroyGenerator(generator: Address) -> Status {
        GENERATORS.remove(generator).map(drop).ok_or(Status::NOT_INITIALIZED)
    }

    fn curandGetVersion(version: Address) -> Status {
        give(version, VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2])
    }

    /// `property` is the index of a component of the version.
    fn curandGetProperty(property: u32, value: Address) -> Status {
        give(value, *VERSION.get(property as usize).ok_or(Status::OUT_OF_RANGE)?)
    }

    fn curandSetStream(generator: Address, stream: Address) -> Status {
        with(generator, |generator| { generator.stream = stream; Ok(()) })
    }

    fn curandSetPseudoRandomGeneratorSeed(generator: Address, seed: u64) -> Status {
        with(generator, |generator| { (generator.seed, generator.next) = (seed, 0); Ok(()) })
    }

    fn curandSetGeneratorOffset(generator: Address, offset: u64) -> Status {
        with(generator, |generator| { generator.next = offset; Ok(()) })
    }

    /// The numbers are the same in every ordering.
    fn curandSetGeneratorOrdering(generator: Address, _order: u32) -> Status {
        with(generator, |_| Ok(()))
    }

    /// The generator needs no state on the device.
    fn curandGenerateSeeds(generator: Address) -> Status {
        with(generator, |_| Ok(()))
    }

    fn curandGenerate(generator: Address, to: Address, count: usize) -> Status {
        generate(generator, to, count, Generator::word)
    }

    /// Only quasirandom generators, which are not supported, generate 64-bit numbers.
    fn curandGenerateLongLong(generator: Address, _to: Address, _count: usize) -> Status {
        with(generator, |_| Err(Status::TYPE_ERROR))
    }

    fn curandGenerateUniform(generator: Address, to: Address, count: usize) -> Status {
        generate(generator, to, count, Generator::uniform)
    }

    fn curandGenerateUniformDouble(generator: Address, to: Address, count: usize) -> Status {
        generate(generator, to, count, Generator::uniform_double)
    }

    fn curandGenerateNormal(generator: Address, to: Address, count: usize, mean: f32, deviation: f32) -> Status {
        generate_normal(generator, to, count, single, |x| mean + deviation * x as f32)
    }

    fn curandGenerateNormalDouble(generator: Address, to: Address, count: usize, mean: f64, deviation: f64) -> Status {
        generate_normal(generator, to, count, Generator::uniform_double, |x| mean + deviation * x)
    }

    fn curandGenerateLogNormal(generator: Address, to: Address, count: usize, mean: f32, deviation: f32) -> Status {
        generate_normal(generator, to, count, single, |x| (mean + deviation * x as f32).exp())
    }

    fn curandGenerateLogNormalDouble(
        generator: Address, to: Address, count: usize, mean: f64, deviation: f64,
    ) -> Status {
        generate_normal(generator, to, count, Generator::uniform_double, |x| (mean + deviation * x).exp())
    }
}

absent! { Status:
    curandCreateGeneratorHost curandCreatePoissonDistribution curandDestroyDistribution curandGeneratePoisson
    curandGeneratePoissonMethod curandGetDirectionVectors32 curandGetDirectionVectors64 curandGetScrambleConstants32
    curandGetScrambleConstants64 curandSetQuasiRandomGeneratorDimensions
}

#[cfg(test)]
mod tests {
    use super::philox;

    /// Checks the known answers from the authors' library, Random123.
    #[test]
    fn blocks_of_philox() {
        assert_eq!(philox(0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    }
}
