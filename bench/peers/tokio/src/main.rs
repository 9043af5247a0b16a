// SPDX-License-Identifier: Apache-2.0

//! The rows of bench/peers.c and bench/vthread.c with tokio: `peers ROW OPERATIONS CPU..` prints
//! nanoseconds per operation, or an object with its other counts.

mod shapes;
mod sync;

use std::future::{poll_fn, Future};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

const PARKED: usize = 4096;
const MILLION: usize = 1_000_000;

/// The CPU time of the process in nanoseconds.
fn cpu() -> f64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn clock(id: libc::clockid_t) -> f64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let code = unsafe { libc::clock_gettime(id, &mut now) };
    assert_eq!(code, 0);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

fn two_workers() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap()
}

async fn give_back(ops: usize, there: Arc<Notify>, back: Arc<Notify>) {
    for _ in 0..ops {
        there.notified().await;
        back.notify_one();
    }
}

async fn serve(ops: usize, there: Arc<Notify>, back: Arc<Notify>) -> f64 {
    let start = Instant::now();
    for _ in 0..ops {
        there.notify_one();
        back.notified().await;
    }
    start.elapsed().as_nanos() as f64
}

/// Two tasks of one runtime.
fn near(ops: usize) -> f64 {
    let (there, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let runtime = two_workers();
    let other = runtime.spawn(give_back(ops, there.clone(), back.clone()));
    let ns = runtime
        .block_on(runtime.spawn(serve(ops, there, back)))
        .unwrap();
    runtime.block_on(other).unwrap();
    ns / ops as f64
}

/// Gives this thread a CPU of its own, where there is one.
fn pin(index: usize) {
    let Some(cpu) = std::env::args().nth(3 + index) else {
        return;
    };
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu.parse().expect("CPU"), &mut set);
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set);
    }
}

/// Two threads with a runtime each.
fn far(ops: usize) -> f64 {
    let (there, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let others = (there.clone(), back.clone());
    let other = std::thread::spawn(move || {
        pin(1);
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(give_back(ops, others.0, others.1));
    });
    pin(0);
    let runtime = Builder::new_current_thread().build().unwrap();
    let ns = runtime.block_on(serve(ops, there, back));
    other.join().unwrap();
    ns / ops as f64
}

/// Half of them from each of two tasks; they end at once.
fn tasks(ops: usize) -> f64 {
    let runtime = two_workers();
    let (left, all) = (Arc::new(AtomicUsize::new(ops)), Arc::new(Notify::new()));
    let start = cpu();
    for _ in 0..2 {
        let (left, all) = (left.clone(), all.clone());
        runtime.spawn(async move {
            for _ in 0..ops / 2 {
                let (left, all) = (left.clone(), all.clone());
                tokio::spawn(async move {
                    if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                        all.notify_one();
                    }
                });
            }
        });
    }
    runtime.block_on(all.notified());
    (cpu() - start) / ops as f64
}

/// All parked tasks are resumed, and again when all have run.
fn wake(ops: usize, runtime: Runtime) -> f64 {
    let (ran, round) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let gates: Vec<_> = (0..PARKED).map(|_| Arc::new(Notify::new())).collect();
    for gate in &gates {
        let (gate, ran, round) = (gate.clone(), ran.clone(), round.clone());
        runtime.spawn(async move {
            loop {
                gate.notified().await;
                if (ran.fetch_add(1, Ordering::AcqRel) + 1) % PARKED == 0 {
                    round.notify_one();
                }
            }
        });
    }
    let start = cpu();
    for _ in 0..ops / PARKED {
        for gate in &gates {
            gate.notify_one();
        }
        runtime.block_on(round.notified());
    }
    let ns = cpu() - start;
    runtime.shutdown_background();
    ns / (ops / PARKED * PARKED) as f64
}

fn one_worker() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap()
}

/// Two tasks make way for each other on one worker, by CPU time, as bench/vthread.c does.
fn yields(ops: usize) -> f64 {
    let runtime = one_worker();
    let start = cpu();
    let halves: Vec<_> = (0..2)
        .map(|_| {
            runtime.spawn(async move {
                for _ in 0..ops / 2 {
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for half in halves {
        runtime.block_on(half).unwrap();
    }
    (cpu() - start) / ops as f64
}

/// Two tasks of one worker.
fn turns(ops: usize) -> f64 {
    let (there, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let runtime = one_worker();
    let start = cpu();
    let other = runtime.spawn(give_back(ops, there.clone(), back.clone()));
    runtime
        .block_on(runtime.spawn(serve(ops, there, back)))
        .unwrap();
    runtime.block_on(other).unwrap();
    (cpu() - start) / ops as f64
}

/// Tasks one after the other, each awaited.
fn joins(ops: usize) -> f64 {
    let runtime = one_worker();
    let start = cpu();
    let all = runtime.spawn(async move {
        for _ in 0..ops {
            tokio::spawn(async {}).await.unwrap();
        }
    });
    runtime.block_on(all).unwrap();
    (cpu() - start) / ops as f64
}

/// One timer is armed (a sleep registers when it is polled) and dropped, among a million.
fn timers(ops: usize) -> f64 {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let until =
        |k: usize| Duration::from_secs(3600) + Duration::from_millis((k * 7919 % MILLION) as u64);
    runtime.block_on(async {
        let mut others = Vec::with_capacity(MILLION);
        for k in 0..MILLION {
            let mut other = Box::pin(tokio::time::sleep(until(k)));
            poll_fn(|context| Poll::Ready(other.as_mut().poll(context)))
                .await
                .is_ready();
            others.push(other);
        }
        let start = cpu();
        for k in 0..ops {
            let mut one = pin!(tokio::time::sleep(until(k)));
            poll_fn(|context| Poll::Ready(one.as_mut().poll(context)))
                .await
                .is_ready();
        }
        (cpu() - start) / ops as f64
    })
}

fn main() {
    let row = std::env::args().nth(1).expect("ROW");
    let ops = std::env::args()
        .nth(2)
        .and_then(|n| n.parse().ok())
        .expect("OPERATIONS");
    if row == "vthread_memory" {
        let (ns, bytes) = sync::memory(ops);
        println!("{{\"ns\": {ns}, \"bytes\": {bytes}}}");
        return;
    }
    if row == "shapes_answer" {
        shapes::answer(ops / 10); // once to warm up
        let (ns, [p50, p90, p99]) = shapes::answer(ops);
        println!("{{\"ns\": {ns}, \"p50\": {p50}, \"p90\": {p90}, \"p99\": {p99}}}");
        return;
    }
    let run: fn(usize) -> f64 = match row.as_str() {
        "peers_near" => near,
        "peers_far" => far,
        "peers_tasks" => tasks,
        "peers_wake" => |ops| wake(ops, two_workers()),
        "vthread_yield" => yields,
        "vthread_turns" => turns,
        "vthread_join" => joins,
        "vthread_many" => |ops| tasks(ops) / 2.0,
        "vthread_wake" => |ops| wake(ops, one_worker()),
        "peers_timers" => timers,
        "channel_hand" => sync::hand,
        "channel_slots" => sync::slots,
        "channel_far" => sync::far,
        "mutex_free" => sync::free,
        "mutex_one" => sync::on_one,
        "mutex_two" => sync::on_two,
        "shapes_hash_1" => shapes::hash_of_one,
        "shapes_hash_3" => shapes::hash_of_three,
        "shapes_executes" => shapes::executes,
        "shapes_nest_1k" => shapes::nest_1k,
        "shapes_nest_100k" => shapes::nest_100k,
        _ => panic!("there is no row {row}"),
    };
    if !["peers_tasks", "peers_timers", "vthread_many"].contains(&row.as_str()) {
        run(ops); // once to warm up; these last long enough
    }
    println!("{}", run(ops));
}
