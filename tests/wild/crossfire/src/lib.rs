// SPDX-License-Identifier: Apache-2.0
//! A channel of one slot whose ends block their threads.
use std::thread;

#[test]
fn a_message_arrives() {
    let (sender, receiver) = crossfire::spsc::bounded_blocking(1);
    let other = thread::spawn(move || sender.send(Box::new(1)).unwrap());
    assert_eq!(*receiver.recv().unwrap(), 1);
    other.join().unwrap();
}

/// The defect is ours: nobody sends, and the sender is still there.
#[test]
fn no_message_is_sent() {
    let (sender, receiver) = crossfire::spsc::bounded_blocking::<Box<u32>>(1);
    let other = thread::spawn(move || sender);
    assert!(receiver.recv().is_err());
    other.join().unwrap();
}
