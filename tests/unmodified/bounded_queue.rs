// SPDX-License-Identifier: Apache-2.0
//! A queue with room for one item, of a mutex and one condition for both sides.
//! The defect: taking an item tells nobody that there is room again.
#![allow(unexpected_cfgs)]
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

struct Queue {
    items: Mutex<VecDeque<u32>>,
    has_changed: Condvar,
}

impl Queue {
    fn put(&self, item: u32) {
        let mut items = self.items.lock().unwrap();
        while !items.is_empty() {
            items = self.has_changed.wait(items).unwrap();
        }
        items.push_back(item);
        self.has_changed.notify_one();
    }

    fn take(&self) -> u32 {
        let mut items = self.items.lock().unwrap();
        loop {
            if let Some(item) = items.pop_front() {
                #[cfg(not(bug))]
                self.has_changed.notify_one();
                return item;
            }
            items = self.has_changed.wait(items).unwrap();
        }
    }
}

fn main() {
    let queue = Arc::new(Queue { items: Mutex::new(VecDeque::new()), has_changed: Condvar::new() });
    let producer = {
        let queue = queue.clone();
        thread::spawn(move || (1..=2).for_each(|item| queue.put(item)))
    };
    assert_eq!(queue.take() + queue.take(), 3);
    producer.join().unwrap();
}
