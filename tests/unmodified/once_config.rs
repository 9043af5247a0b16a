// SPDX-License-Identifier: Apache-2.0
//! Two threads need a value that is made once.
//! The defect: it is published by a relaxed flag instead of a OnceLock.
#![allow(unexpected_cfgs, dead_code, static_mut_refs, unused_imports)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;
use std::thread;

static ONCE: OnceLock<Vec<u32>> = OnceLock::new();
static IS_MADE: AtomicBool = AtomicBool::new(false);
static mut MADE: Vec<u32> = Vec::new();

#[cfg(not(bug))]
fn config() -> u32 {
    ONCE.get_or_init(|| vec![7])[0]
}

#[cfg(bug)]
fn config() -> u32 {
    if !IS_MADE.load(Ordering::Relaxed) {
        unsafe { MADE = vec![7] };
        IS_MADE.store(true, Ordering::Relaxed);
    }
    unsafe { MADE[0] }
}

fn main() {
    let other = thread::spawn(|| assert_eq!(config(), 7));
    assert_eq!(config(), 7);
    other.join().unwrap();
}
