// SPDX-License-Identifier: Apache-2.0
//! A thread parks until there is work.
//! The defect: it is unparked before the work is there.
#![allow(unexpected_cfgs)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;

fn main() {
    let has_work = Arc::new(AtomicBool::new(false));
    let waiter = {
        let has_work = has_work.clone();
        thread::spawn(move || {
            while !has_work.load(Ordering::Acquire) {
                thread::park();
            }
        })
    };
    #[cfg(bug)]
    waiter.thread().unpark();
    has_work.store(true, Ordering::Release);
    #[cfg(not(bug))]
    waiter.thread().unpark();
    waiter.join().unwrap();
}
