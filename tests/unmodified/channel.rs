// SPDX-License-Identifier: Apache-2.0
//! Two threads send through a channel of the standard library until they are done.
//! The defect: main keeps a sender, so the channel never closes.
#![allow(unexpected_cfgs)]
use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    let first = thread::spawn(move || other.send(1).unwrap());
    #[cfg(not(bug))]
    drop(sender);
    let received: u32 = receiver.iter().sum();
    assert_eq!(received, 1);
    first.join().unwrap();
}
