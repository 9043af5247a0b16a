// SPDX-License-Identifier: Apache-2.0

//! The rows of bench/sync.c with tokio, and the memory of tasks.

use std::future::Future;
use std::hint::black_box;
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, Mutex, Notify};

use crate::{cpu, one_worker, two_workers};

const MANY: usize = 64;

/// Passes items from one task to another; tokio has no channel without slots.
fn pass(ops: usize, slots: usize, runtime: Runtime) -> f64 {
    let (sender, mut receiver) = mpsc::channel::<usize>(slots);
    let start = cpu();
    let taken = runtime.spawn(async move {
        for _ in 0..ops {
            receiver.recv().await.unwrap();
        }
    });
    let sent = runtime.spawn(async move {
        for item in 0..ops {
            sender.send(item).await.unwrap();
        }
    });
    runtime.block_on(sent).unwrap();
    runtime.block_on(taken).unwrap();
    (cpu() - start) / ops as f64
}

/// One slot, on one worker.
pub fn hand(ops: usize) -> f64 {
    pass(ops, 1, one_worker())
}

/// As many slots as bench/sync.c has.
pub fn slots(ops: usize) -> f64 {
    pass(ops, MANY, one_worker())
}

/// The same on two workers.
pub fn far(ops: usize) -> f64 {
    pass(ops, MANY, two_workers())
}

/// Tasks lock one mutex, and hold it.
fn contend<H, F>(ops: usize, tasks: usize, runtime: Runtime, hold: H) -> f64
where
    H: Fn() -> F + Copy + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let mutex = Arc::new(Mutex::new(0));
    let start = cpu();
    let all: Vec<_> = (0..tasks)
        .map(|_| {
            let mutex = mutex.clone();
            runtime.spawn(async move {
                for _ in 0..ops / tasks {
                    let mut held = mutex.lock().await;
                    *held += 1;
                    hold().await;
                }
            })
        })
        .collect();
    for one in all {
        runtime.block_on(one).unwrap();
    }
    assert_eq!(*mutex.blocking_lock(), ops / tasks * tasks);
    (cpu() - start) / (ops / tasks * tasks) as f64
}

/// No other task wants it.
pub fn free(ops: usize) -> f64 {
    contend(ops, 1, one_worker(), || async {})
}

/// On one worker, each yields while it has it.
pub fn on_one(ops: usize) -> f64 {
    contend(ops, MANY, one_worker(), tokio::task::yield_now)
}

/// On two workers, each counts while it has it.
pub fn on_two(ops: usize) -> f64 {
    contend(ops, MANY, two_workers(), || async {
        for k in 0..16 {
            black_box(k);
        }
    })
}

/// The resident memory of the process.
fn resident_kb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kb = |line: &str| -> f64 { line.split_whitespace().nth(1).unwrap().parse().unwrap() };
    let counts = |line: &&str| line.starts_with("VmRSS:") || line.starts_with("VmPTE:");
    status.lines().filter(counts).map(kb).sum()
}

/// Starts tasks that park: nanoseconds and bytes of each.
pub fn memory(ops: usize) -> (f64, f64) {
    let (gate, runtime) = (Arc::new(Notify::new()), one_worker());
    let (before, start) = (resident_kb(), cpu());
    let held = gate.clone();
    let all = runtime.spawn(async move {
        for _ in 0..ops {
            let gate = held.clone();
            tokio::spawn(async move { gate.notified().await });
        }
    });
    runtime.block_on(all).unwrap();
    runtime
        .block_on(runtime.spawn(tokio::task::yield_now()))
        .unwrap();
    let ns = (cpu() - start) / ops as f64;
    let bytes = (resident_kb() - before) * 1024.0 / ops as f64;
    runtime.shutdown_background();
    (ns, bytes)
}
