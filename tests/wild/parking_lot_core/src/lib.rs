// SPDX-License-Identifier: Apache-2.0
//! Threads park on an address, if a last look under the lock of its queue says so.
use parking_lot_core::{park, unpark_one, DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static HAS_WORK: AtomicBool = AtomicBool::new(false);

fn waits(looks_again: bool) {
    let key = &HAS_WORK as *const _ as usize;
    let other = thread::spawn(move || {
        HAS_WORK.store(true, Ordering::Relaxed);
        unsafe { unpark_one(key, |_| DEFAULT_UNPARK_TOKEN) };
    });
    while !HAS_WORK.load(Ordering::Relaxed) {
        let parks = || !looks_again || !HAS_WORK.load(Ordering::Relaxed);
        unsafe { park(key, parks, || {}, |_, _| {}, DEFAULT_PARK_TOKEN, None) };
    }
    other.join().unwrap();
}

#[test]
fn looks_under_the_lock() {
    waits(true);
}

/// The defect is ours: what comes between the look and the lock is missed.
#[test]
fn looks_only_before_the_lock() {
    waits(false);
}
