//! Processor time of this thread, and a kernel to compare machines by.

use std::time::{Duration, Instant};

/// A measurement repeats its work until a batch takes this long.
const BATCH: Duration = Duration::from_millis(10);

/// Batches of a measurement; the best one counts.
const BATCHES: usize = 5;

/// Order of the matrix of the reference kernel.
const KERNEL_SIZE: usize = 64;

/// Processor time that this thread has used. Where the system does not tell, the time on the clock.
pub fn processor_time() -> Duration {
    #[cfg(unix)]
    return clock(rustix::time::ClockId::ThreadCPUTime);
    #[cfg(not(unix))]
    return wall_clock();
}

/// Processor time that all threads of this process have used together. Where the system does not
/// tell, the time on the clock.
pub fn process_time() -> Duration {
    #[cfg(unix)]
    return clock(rustix::time::ClockId::ProcessCPUTime);
    #[cfg(not(unix))]
    return wall_clock();
}

#[cfg(unix)]
fn clock(id: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(id);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(not(unix))]
fn wall_clock() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

/// A stopwatch for work that may be shorter than the call that asks for processor time, on a
/// machine that may be busy.
pub struct Stopwatch {
    processor: Duration,
    clock: Instant,
}

impl Stopwatch {
    /// Starts.
    pub fn start() -> Self {
        let processor = processor_time();
        Self { processor, clock: Instant::now() }
    }

    /// The smaller one of the time on the clock, which counts what other programs do, and the
    /// processor time, which counts the calls of this stopwatch; in seconds.
    pub fn seconds(&self) -> f64 {
        let clock = self.clock.elapsed();
        clock.min(processor_time() - self.processor).as_secs_f64()
    }
}

/// Seconds that one run of `work` takes: the best mean of a few batches.
pub fn best_time(mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let mut repeats = 1u32;
    let mut batch = 0;
    while batch < BATCHES {
        let began = processor_time();
        (0..repeats).for_each(|_| work());
        let spent = processor_time() - began;
        if spent < BATCH && best.is_infinite() {
            // Not yet long enough to be measured: this was the warm-up.
            repeats = repeats.saturating_mul(if spent * 8 < BATCH { 8 } else { 2 });
            continue;
        }
        best = best.min(spent.as_secs_f64() / f64::from(repeats));
        batch += 1;
    }
    best
}

/// Seconds for one elimination without exchanges of a fixed dense matrix of order 64: plain loops,
/// the same on every machine.
pub fn reference_kernel() -> f64 {
    const N: usize = KERNEL_SIZE;
    let matrix: Vec<f64> =
        (0..N * N).map(|k| if k / N == k % N { N as f64 } else { ((k * 37 + 11) % 97) as f64 / 97.0 }).collect();
    let mut work = matrix.clone();
    best_time(|| {
        work.copy_from_slice(&matrix);
        for k in 0..N {
            let (above, below) = work.split_at_mut((k + 1) * N);
            let pivot_row = &above[k * N..];
            for row in below.chunks_exact_mut(N) {
                let factor = row[k] / pivot_row[k];
                for j in k..N {
                    row[j] -= factor * pivot_row[j];
                }
            }
        }
        std::hint::black_box(&work);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_grows_with_work_and_not_with_sleep() {
        let began = processor_time();
        std::thread::sleep(Duration::from_millis(30));
        let slept = processor_time() - began;
        #[cfg(unix)]
        assert!(slept < Duration::from_millis(20), "sleep counted as work: {slept:?}");
        let mut sum = 0.0;
        while processor_time() - began < slept + Duration::from_millis(2) {
            sum += std::hint::black_box(1.0);
        }
        assert!(sum > 0.0);
    }

    #[test]
    fn the_kernel_takes_a_plausible_time() {
        // 87 000 multiplications: neither a nanosecond nor a second.
        let seconds = reference_kernel();
        assert!((1e-6..1e-1).contains(&seconds), "{seconds}");
    }
}
