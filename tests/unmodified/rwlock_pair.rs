// SPDX-License-Identifier: Apache-2.0
//! A writer changes two numbers together; a reader must never see one alone.
//! The defect: the reader takes the lock twice in one statement. If the writer comes between, it waits
//! for the first guard, and the second waits for the writer.
#![allow(unexpected_cfgs)]
use std::sync::{Arc, RwLock};
use std::thread;

fn main() {
    let pair = Arc::new(RwLock::new((0, 0)));
    let writer = {
        let pair = pair.clone();
        thread::spawn(move || {
            let mut both = pair.write().unwrap();
            both.0 += 1;
            both.1 += 1;
        })
    };
    #[cfg(not(bug))]
    let seen = *pair.read().unwrap();
    #[cfg(bug)]
    let seen = (pair.read().unwrap().0, pair.read().unwrap().1);
    assert_eq!(seen.0, seen.1);
    writer.join().unwrap();
}
