// SPDX-License-Identifier: Apache-2.0
//! A scoped thread and main add to a counter under a mutex.
//! The defect: main adds outside of it.
#![allow(unexpected_cfgs)]
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::thread;

struct Counter {
    lock: Mutex<()>,
    value: UnsafeCell<u32>,
}

unsafe impl Sync for Counter {}

impl Counter {
    fn add(&self) {
        unsafe { *self.value.get() += 1 };
    }
}

fn main() {
    let counter = Counter { lock: Mutex::new(()), value: UnsafeCell::new(0) };
    thread::scope(|scope| {
        scope.spawn(|| {
            let _held = counter.lock.lock().unwrap();
            counter.add();
        });
        #[cfg(not(bug))]
        let _held = counter.lock.lock().unwrap();
        counter.add();
    });
    assert_eq!(unsafe { *counter.value.get() }, 2);
}
