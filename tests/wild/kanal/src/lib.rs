// SPDX-License-Identifier: Apache-2.0
//! A channel without a slot: a message goes from stack to stack.
use std::thread;

#[test]
fn a_message_arrives() {
    let (sender, receiver) = kanal::bounded(0);
    let other = thread::spawn(move || sender.send(Box::new(1)).unwrap());
    assert_eq!(*receiver.recv().unwrap(), 1);
    other.join().unwrap();
}

/// The defect is ours: nobody sends, and the sender is still there.
#[test]
fn no_message_is_sent() {
    let (sender, receiver) = kanal::bounded::<Box<u32>>(0);
    let other = thread::spawn(move || sender);
    assert!(receiver.recv().is_err());
    other.join().unwrap();
}
