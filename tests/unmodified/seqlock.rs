// SPDX-License-Identifier: Apache-2.0
//! A sequence lock over two atomics: a reader takes the pair only if no write came between.
//! The defect: the reader's loads are not kept before its second look at the sequence.
#![allow(unexpected_cfgs)]
use std::sync::atomic::{fence, AtomicU32, Ordering::*};
use std::thread;

static SEQUENCE: AtomicU32 = AtomicU32::new(0);
static LEFT: AtomicU32 = AtomicU32::new(0);
static RIGHT: AtomicU32 = AtomicU32::new(0);

fn write(value: u32) {
    let before = SEQUENCE.load(Relaxed);
    SEQUENCE.store(before + 1, Relaxed);
    fence(Release);
    LEFT.store(value, Relaxed);
    RIGHT.store(value, Relaxed);
    SEQUENCE.store(before + 2, Release);
}

fn read() -> Option<(u32, u32)> {
    let before = SEQUENCE.load(Acquire);
    let pair = (LEFT.load(Relaxed), RIGHT.load(Relaxed));
    #[cfg(not(bug))]
    fence(Acquire);
    (before % 2 == 0 && SEQUENCE.load(Relaxed) == before).then_some(pair)
}

fn main() {
    let writer = thread::spawn(|| write(1));
    if let Some((left, right)) = read() {
        assert_eq!(left, right);
    }
    writer.join().unwrap();
}
