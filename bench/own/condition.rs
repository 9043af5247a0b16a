// SPDX-License-Identifier: Apache-2.0
// condition.rs - two threads give, and main waits until both have.
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

fn main() {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let of = Arc::clone(&shared);
            thread::spawn(move || {
                *of.0.lock().unwrap() += 1;
                of.1.notify_one();
            })
        })
        .collect();
    let mut given = shared.0.lock().unwrap();
    while *given < 2 {
        given = shared.1.wait(given).unwrap();
    }
    drop(given);
    for thread in threads {
        thread.join().unwrap();
    }
}
