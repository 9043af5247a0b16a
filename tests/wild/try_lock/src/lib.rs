// SPDX-License-Identifier: Apache-2.0
//! A lock that is taken or not, and never waited for.
use std::sync::Arc;
use std::thread;
use try_lock::TryLock;

fn both_add() -> (u32, u32) {
    let lock = Arc::new(TryLock::new(0));
    let add = |lock: &TryLock<u32>| lock.try_lock().map(|mut held| *held += 1).is_some();
    let other = {
        let lock = lock.clone();
        thread::spawn(move || add(&lock))
    };
    let mine = add(&lock);
    let added = u32::from(mine) + u32::from(other.join().unwrap());
    let sum = *lock.try_lock().unwrap();
    (added, sum)
}

#[test]
fn who_gets_it_is_alone() {
    let (added, sum) = both_add();
    assert_eq!(added, sum);
}

/// The defect is ours: the other thread may hold the lock.
#[test]
fn both_get_it() {
    assert_eq!(both_add().0, 2);
}
