// SPDX-License-Identifier: Apache-2.0

//! The rows of bench/shapes.c with tokio.

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::sync::Notify;

use crate::{clock, cpu, two_workers};

const HASHERS: usize = 128;
const HASHED: usize = 4096;
const EACH: Duration = Duration::from_micros(5);
const SLEEP: Duration = Duration::from_micros(100);
const BUSY_NS: f64 = 10_000.0;
const TIMES: usize = 100;

fn thread_cpu() -> f64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn hash_one(bytes: &[u8]) -> u64 {
    let start = 14695981039346656037u64;
    bytes.iter().fold(start, |hash, one| {
        (hash ^ u64::from(*one)).wrapping_mul(1099511628211)
    })
}

/// Each submitter spawns 128 tasks at a time.
fn hash(ops: usize, submitters: usize) -> f64 {
    let (rounds, runtime) = (ops / (submitters * HASHERS), two_workers());
    let start = cpu();
    let all: Vec<_> = (0..submitters)
        .map(|_| {
            runtime.spawn(async move {
                let mine = Arc::new(vec![0u8; HASHERS * HASHED]);
                for _ in 0..rounds {
                    let hashers: Vec<_> = (0..HASHERS)
                        .map(|at| {
                            let mine = mine.clone();
                            tokio::spawn(async move {
                                black_box(hash_one(&mine[at * HASHED..(at + 1) * HASHED]));
                            })
                        })
                        .collect();
                    for one in hashers {
                        one.await.unwrap();
                    }
                }
            })
        })
        .collect();
    for one in all {
        runtime.block_on(one).unwrap();
    }
    (cpu() - start) / (rounds * submitters * HASHERS) as f64
}

pub fn hash_of_one(ops: usize) -> f64 {
    hash(ops, 1)
}

pub fn hash_of_three(ops: usize) -> f64 {
    hash(ops, 3)
}

/// A task for each request of a producer that spins: CPU nanoseconds, and microseconds by percentile.
pub fn answer(ops: usize) -> (f64, [f64; 3]) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let took = Arc::new(Mutex::new(Vec::with_capacity(ops)));
    let (left, all) = (Arc::new(AtomicUsize::new(ops)), Arc::new(Notify::new()));
    let (begun, spun) = (cpu(), thread_cpu());
    let mut next = Instant::now();
    for _ in 0..ops {
        next += EACH;
        while Instant::now() < next {
            std::hint::spin_loop();
        }
        let (due, took, left, all) = (next, took.clone(), left.clone(), all.clone());
        runtime.spawn(async move {
            tokio::time::sleep(SLEEP).await;
            took.lock()
                .unwrap()
                .push(due.elapsed().as_nanos() as f64 / 1e3);
            if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                all.notify_one();
            }
        });
    }
    let spun = thread_cpu() - spun;
    runtime.block_on(all.notified());
    let ns = (cpu() - begun - spun) / ops as f64;
    let mut took = took.lock().unwrap().clone();
    took.sort_by(f64::total_cmp);
    (ns, [50, 90, 99].map(|of| took[ops * of / 100]))
}

/// A task, 10 us of work, and another task.
pub fn executes(ops: usize) -> f64 {
    let (rounds, runtime) = (ops / (2 * TIMES), two_workers());
    let start = cpu();
    let spun = runtime.spawn(async move {
        let mut spun = 0.0;
        for _ in 0..rounds {
            let mut all = Vec::with_capacity(2 * TIMES);
            for at in 0..2 * TIMES {
                if at % 2 != 0 {
                    let begun = thread_cpu();
                    let mut now = begun;
                    while now - begun < BUSY_NS {
                        now = thread_cpu();
                    }
                    spun += now - begun;
                }
                all.push(tokio::spawn(async {}));
            }
            for one in all {
                one.await.unwrap();
            }
        }
        spun
    });
    let spun = runtime.block_on(spun).unwrap();
    (cpu() - start - spun) / (rounds * 2 * TIMES) as f64
}

fn nests(left: usize, ended: Arc<Notify>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if left > 1 {
            tokio::spawn(nests(left - 1, ended));
        } else {
            ended.notify_one();
        }
    })
}

/// Each task spawns the next one.
fn nest(ops: usize, deep: usize) -> f64 {
    let (ended, runtime) = (Arc::new(Notify::new()), two_workers());
    let deep = deep.min(ops);
    let start = cpu();
    for _ in 0..ops / deep {
        runtime.spawn(nests(deep, ended.clone()));
        runtime.block_on(ended.notified());
    }
    (cpu() - start) / (ops / deep * deep) as f64
}

pub fn nest_1k(ops: usize) -> f64 {
    nest(ops, 1000)
}

pub fn nest_100k(ops: usize) -> f64 {
    nest(ops, 100_000)
}
