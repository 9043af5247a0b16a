// SPDX-License-Identifier: Apache-2.0
//! Queues for any number of producers and consumers.
use crossbeam_queue::{ArrayQueue, SegQueue};
use std::sync::Arc;
use std::thread;

#[test]
fn an_array_queue_keeps_the_order() {
    let queue = Arc::new(ArrayQueue::new(1));
    let other = {
        let queue = queue.clone();
        thread::spawn(move || {
            u32::from(queue.push(Box::new(1)).is_ok()) + u32::from(queue.push(Box::new(2)).is_ok())
        })
    };
    let mut taken = Vec::new();
    taken.extend(queue.pop());
    let pushed = other.join().unwrap();
    taken.extend(queue.pop());
    taken.extend(queue.pop());
    assert_eq!(taken.len() as u32, pushed);
    assert!(taken.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn a_segmented_queue_loses_nothing() {
    let queue = Arc::new(SegQueue::new());
    let other = {
        let queue = queue.clone();
        thread::spawn(move || queue.push(Box::new(1)))
    };
    let first = queue.pop();
    other.join().unwrap();
    assert_eq!(*first.or_else(|| queue.pop()).unwrap(), 1);
    assert!(queue.pop().is_none());
}

/// The defect is ours: another consumer may come between the look and the pop.
#[test]
fn a_consumer_looks_and_then_pops() {
    let queue = Arc::new(SegQueue::new());
    queue.push(Box::new(1));
    let other = {
        let queue = queue.clone();
        thread::spawn(move || queue.pop())
    };
    if !queue.is_empty() {
        assert_eq!(*queue.pop().unwrap(), 1);
    }
    other.join().unwrap();
}

/// The defect is ours: the queue may be full when the second item comes.
#[test]
fn a_full_queue_is_pushed_to() {
    let queue = Arc::new(ArrayQueue::new(1));
    let other = {
        let queue = queue.clone();
        thread::spawn(move || (1..=2).for_each(|item| queue.push(Box::new(item)).unwrap()))
    };
    queue.pop();
    other.join().unwrap();
}
