// SPDX-License-Identifier: Apache-2.0
//! A value that the first thread makes that needs it.
use once_cell::sync::OnceCell;
use std::sync::Arc;
use std::thread;

#[test]
fn both_get_the_same() {
    let cell = Arc::new(OnceCell::new());
    let other = {
        let cell = cell.clone();
        thread::spawn(move || **cell.get_or_init(|| Box::new(1)))
    };
    let mine = **cell.get_or_init(|| Box::new(2));
    assert_eq!(mine, other.join().unwrap());
}

/// The defect is ours: the other thread may not have made the value yet.
#[test]
fn one_only_looks() {
    let cell = Arc::new(OnceCell::new());
    let other = {
        let cell = cell.clone();
        thread::spawn(move || **cell.get_or_init(|| Box::new(1)))
    };
    assert_eq!(cell.get().map(|one| **one), Some(1));
    other.join().unwrap();
}
