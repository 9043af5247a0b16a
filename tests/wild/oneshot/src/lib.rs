// SPDX-License-Identifier: Apache-2.0
//! A channel for one message, whose receiver blocks its thread or is a future.
use std::future::{Future, IntoFuture};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};

struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn a_message_arrives() {
    let (sender, receiver) = oneshot::channel();
    let other = thread::spawn(move || sender.send(Box::new(7)).unwrap());
    assert_eq!(*receiver.recv().unwrap(), 7);
    other.join().unwrap();
}

#[test]
fn the_sender_leaves() {
    let (sender, receiver) = oneshot::channel::<Box<u32>>();
    let other = thread::spawn(move || drop(sender));
    assert!(receiver.recv().is_err());
    other.join().unwrap();
}

#[test]
fn a_future_is_polled_until_it_is_ready() {
    let (sender, receiver) = oneshot::channel::<Box<u32>>();
    let other = thread::spawn(move || sender.send(Box::new(7)).unwrap());
    let waker = Arc::new(Unparks(thread::current())).into();
    let mut receiver = Box::pin(receiver.into_future());
    let value = loop {
        match receiver.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => break value.unwrap(),
            Poll::Pending => thread::park(),
        }
    };
    assert_eq!(*value, 7);
    other.join().unwrap();
}

#[test]
fn a_future_is_dropped_after_a_poll() {
    let (sender, receiver) = oneshot::channel::<Box<u32>>();
    let other = thread::spawn(move || {
        let _ = sender.send(Box::new(7));
    });
    let waker = Arc::new(Unparks(thread::current())).into();
    let mut receiver = Box::pin(receiver.into_future());
    let _ = receiver.as_mut().poll(&mut Context::from_waker(&waker));
    drop(receiver);
    other.join().unwrap();
}

/// The defect is ours: nobody sends, and the sender is still there.
#[test]
fn no_message_is_sent() {
    let (sender, receiver) = oneshot::channel::<Box<u32>>();
    let other = thread::spawn(move || sender);
    assert!(receiver.recv().is_err());
    other.join().unwrap();
}
