// SPDX-License-Identifier: Apache-2.0
//! A lock of one word for readers and writers, which spins.
use spin::RwLock;
use std::sync::Arc;
use std::thread;

#[test]
fn writers_take_turns() {
    let count = Arc::new(RwLock::new(0));
    let other = {
        let count = count.clone();
        thread::spawn(move || *count.write() += 1)
    };
    *count.write() += 1;
    other.join().unwrap();
    assert_eq!(*count.read(), 2);
}
