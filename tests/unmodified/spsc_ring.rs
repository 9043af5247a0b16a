// SPDX-License-Identifier: Apache-2.0
//! A ring with one producer and one consumer.
//! The defect: the tail is published without a release.
#![allow(unexpected_cfgs)]
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

const SIZE: usize = 2;
const PUBLISH: Ordering = if cfg!(bug) { Ordering::Relaxed } else { Ordering::Release };

struct Ring {
    slots: [UnsafeCell<u64>; SIZE],
    head: AtomicUsize,
    tail: AtomicUsize,
}

unsafe impl Sync for Ring {}

impl Ring {
    fn push(&self, item: u64) {
        let tail = self.tail.load(Ordering::Relaxed);
        while tail - self.head.load(Ordering::Acquire) == SIZE {
            spin_loop();
        }
        unsafe { *self.slots[tail % SIZE].get() = item };
        self.tail.store(tail + 1, PUBLISH);
    }

    fn pop(&self) -> u64 {
        let head = self.head.load(Ordering::Relaxed);
        while self.tail.load(Ordering::Acquire) == head {
            spin_loop();
        }
        let item = unsafe { *self.slots[head % SIZE].get() };
        self.head.store(head + 1, Ordering::Release);
        item
    }
}

fn main() {
    let ring = Arc::new(Ring {
        slots: [const { UnsafeCell::new(0) }; SIZE],
        head: AtomicUsize::new(0),
        tail: AtomicUsize::new(0),
    });
    let producer = {
        let ring = ring.clone();
        thread::spawn(move || (1..=3).for_each(|item| ring.push(item)))
    };
    assert_eq!([ring.pop(), ring.pop(), ring.pop()], [1, 2, 3]);
    producer.join().unwrap();
}
