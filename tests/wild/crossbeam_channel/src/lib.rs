// SPDX-License-Identifier: Apache-2.0
//! A channel without a bound.
use crossbeam_channel::unbounded;
use std::thread;

fn receiver_leaves(senders: u32) -> u32 {
    let (sender, receiver) = unbounded::<u32>();
    let others: Vec<_> = (0..senders)
        .map(|item| {
            let sender = sender.clone();
            thread::spawn(move || sender.send(item).is_ok())
        })
        .collect();
    drop(receiver);
    others.into_iter().map(|other| u32::from(other.join().unwrap())).sum()
}

#[test]
fn a_receiver_leaves_one_sender() {
    receiver_leaves(1);
}

#[test]
fn a_receiver_leaves_two_senders() {
    receiver_leaves(2);
}

/// The defect is ours: nobody may rely on it that a message is sent before the receiver leaves.
#[test]
fn a_message_is_sent_in_time() {
    assert_eq!(receiver_leaves(1), 1);
}
