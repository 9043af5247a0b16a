// SPDX-License-Identifier: Apache-2.0
//! An event: who listens and then looks is never left asleep.
use event_listener::Event;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;

fn waits(looks_again: bool) {
    let shared = Arc::new((Event::new(), AtomicBool::new(false)));
    let other = {
        let shared = shared.clone();
        thread::spawn(move || {
            shared.1.store(true, Ordering::SeqCst);
            shared.0.notify(1);
        })
    };
    while !shared.1.load(Ordering::SeqCst) {
        let listener = shared.0.listen();
        if looks_again && shared.1.load(Ordering::SeqCst) {
            break;
        }
        listener.wait();
    }
    other.join().unwrap();
}

#[test]
fn looks_after_it_listens() {
    waits(true);
}

/// The defect is ours: what comes between the look and the listening is missed.
#[test]
fn looks_only_before_it_listens() {
    waits(false);
}
