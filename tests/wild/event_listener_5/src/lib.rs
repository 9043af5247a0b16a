// SPDX-License-Identifier: Apache-2.0
//! An event of the newest release.
use event_listener::{Event, Listener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;

#[test]
fn looks_after_it_listens() {
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
        if shared.1.load(Ordering::SeqCst) {
            break;
        }
        listener.wait();
    }
    other.join().unwrap();
}
