// SPDX-License-Identifier: Apache-2.0
//! A pointer that counts its owners; the last one frees the value.
//! The defect: it does so without acquiring what the others did before.
#![allow(unexpected_cfgs, unused_imports)]
use std::cell::UnsafeCell;
use std::sync::atomic::{fence, AtomicUsize, Ordering};
use std::thread;

struct Inner {
    owners: AtomicUsize,
    value: UnsafeCell<u32>,
}

struct Shared(*mut Inner);

unsafe impl Send for Shared {}

impl Shared {
    fn new(value: u32) -> Self {
        let inner = Inner { owners: AtomicUsize::new(1), value: UnsafeCell::new(value) };
        Shared(Box::into_raw(Box::new(inner)))
    }

    fn get(&self) -> u32 {
        unsafe { *(*self.0).value.get() }
    }
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        unsafe { (*self.0).owners.fetch_add(1, Ordering::Relaxed) };
        Shared(self.0)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if unsafe { (*self.0).owners.fetch_sub(1, Ordering::Release) } == 1 {
            #[cfg(not(bug))]
            fence(Ordering::Acquire);
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
}

fn main() {
    let mine = Shared::new(5);
    let theirs = mine.clone();
    let other = thread::spawn(move || assert_eq!(theirs.get(), 5));
    drop(mine);
    other.join().unwrap();
}
