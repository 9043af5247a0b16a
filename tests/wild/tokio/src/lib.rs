// SPDX-License-Identifier: Apache-2.0
//! A channel for one message.
use std::thread;
use tokio::sync::oneshot;

#[test]
fn closes_before_it_looks() {
    let (sender, mut receiver) = oneshot::channel::<Box<u32>>();
    let other = thread::spawn(move || {
        let _ = sender.send(Box::new(7));
    });
    receiver.close();
    if let Ok(value) = receiver.try_recv() {
        assert_eq!(*value, 7);
    }
    other.join().unwrap();
}
