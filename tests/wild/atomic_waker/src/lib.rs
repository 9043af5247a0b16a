// SPDX-License-Identifier: Apache-2.0
//! A place for one waker. A task that registers and then looks is never left asleep.
use atomic_waker::AtomicWaker;
use std::future::{poll_fn, Future};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};

struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Arc::new(Unparks(thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

fn waits(looks_again: bool) {
    let shared = Arc::new((AtomicWaker::new(), AtomicBool::new(false)));
    let other = {
        let shared = shared.clone();
        thread::spawn(move || {
            shared.1.store(true, Ordering::Relaxed);
            shared.0.wake();
        })
    };
    block_on(poll_fn(|context| {
        if shared.1.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        shared.0.register(context.waker());
        if looks_again && shared.1.load(Ordering::Relaxed) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
    other.join().unwrap();
}

#[test]
fn looks_after_it_has_registered() {
    waits(true);
}

/// The defect is ours: what comes between the look and the registration is missed.
#[test]
fn looks_only_before_it_registers() {
    waits(false);
}
