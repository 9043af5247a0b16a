// SPDX-License-Identifier: Apache-2.0
// rwlock.rs - readers and writers of Rust's RwLock; a reader stays for 6 s.
//
// Class      healthy
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;

fn main() {
    let table = Arc::new(RwLock::new(0));
    for at in 0..4 {
        let table = Arc::clone(&table);
        thread::spawn(move || loop {
            if at % 2 == 0 {
                *table.write().unwrap() += 1;
            } else {
                let _read = table.read().unwrap();
                thread::sleep(Duration::from_millis(6000));
            }
            thread::sleep(Duration::from_millis(10));
        });
    }
    loop {
        thread::sleep(Duration::from_secs(1000));
    }
}
