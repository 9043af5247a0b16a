// SPDX-License-Identifier: Apache-2.0
// mutex_order.rs - two threads take two of Rust's mutexes, which have no owner, in opposite orders.
//
// Class      value equal
// Verdict    stuck
// Fixed      waits
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

fn main() {
    let (left, right) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    let both = Arc::new(Barrier::new(2));
    let other = {
        let (left, right, both) = (Arc::clone(&left), Arc::clone(&right), Arc::clone(&both));
        thread::spawn(move || {
            let _right = right.lock().unwrap();
            both.wait();
            let _left = left.lock().unwrap();
        })
    };
    {
        let held = left.lock().unwrap();
        both.wait();
        if cfg!(fixed) {
            drop(held);
        }
        let _right = right.lock().unwrap();
    }
    other.join().unwrap();
    loop {
        thread::sleep(std::time::Duration::from_secs(1000));
    }
}
