// SPDX-License-Identifier: Apache-2.0
//! A place for an `Arc` that any thread may read or replace.
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::thread;

#[test]
fn a_value_is_read_beside_a_store() {
    let shared = Arc::new(ArcSwap::from_pointee(1));
    let other = {
        let shared = shared.clone();
        thread::spawn(move || shared.store(Arc::new(2)))
    };
    let seen = **shared.load();
    assert!(seen == 1 || seen == 2);
    other.join().unwrap();
    assert_eq!(**shared.load(), 2);
}
