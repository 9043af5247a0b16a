// SPDX-License-Identifier: Apache-2.0
//! Queues that can be closed.
use concurrent_queue::ConcurrentQueue;
use std::sync::Arc;
use std::thread;

/// Returns what the first pop has found, and whether the queue was closed at the end.
fn hands_over(queue: ConcurrentQueue<Box<u32>>) -> Option<u32> {
    let queue = Arc::new(queue);
    let other = {
        let queue = queue.clone();
        thread::spawn(move || {
            queue.push(Box::new(1)).unwrap();
            queue.close();
        })
    };
    let first = queue.pop().ok().map(|one| *one);
    other.join().unwrap();
    assert_eq!(first.or_else(|| queue.pop().ok().map(|one| *one)), Some(1));
    assert!(queue.pop().unwrap_err().is_closed());
    first
}

#[test]
fn one_slot() {
    hands_over(ConcurrentQueue::bounded(1));
}

#[test]
fn two_slots() {
    hands_over(ConcurrentQueue::bounded(2));
}

#[test]
fn any_number_of_slots() {
    hands_over(ConcurrentQueue::unbounded());
}

/// The defect is ours: the first pop may come before the push.
#[test]
fn the_first_pop_finds_it() {
    assert!(hands_over(ConcurrentQueue::bounded(1)).is_some());
}
