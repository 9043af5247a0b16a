// SPDX-License-Identifier: Apache-2.0
//! A channel with room for some items, for none, or for any number.
use flume::{Receiver, Sender};
use std::thread;

fn hands_over((sender, receiver): (Sender<Box<u32>>, Receiver<Box<u32>>)) {
    let other = thread::spawn(move || sender.send(Box::new(1)).unwrap());
    assert_eq!(*receiver.recv().unwrap(), 1);
    other.join().unwrap();
}

#[test]
fn one_slot() {
    hands_over(flume::bounded(1));
}

#[test]
fn no_slot() {
    hands_over(flume::bounded(0));
}

#[test]
fn the_sender_leaves() {
    let (sender, receiver) = flume::unbounded::<Box<u32>>();
    let other = thread::spawn(move || drop(sender));
    assert!(receiver.recv().is_err());
    other.join().unwrap();
}

/// The defect is ours: nobody sends, and the sender is still there.
#[test]
fn the_sender_stays() {
    let (sender, receiver) = flume::unbounded::<Box<u32>>();
    let other = thread::spawn(move || sender);
    assert!(receiver.recv().is_err());
    other.join().unwrap();
}

/// The defect is ours: without a slot, a message that nobody takes is not sent.
#[test]
fn nobody_receives() {
    let (sender, receiver) = flume::bounded(0);
    let other = thread::spawn(move || sender.send(Box::new(1)));
    other.join().unwrap().unwrap();
    drop(receiver);
}
