// SPDX-License-Identifier: Apache-2.0
//! A stack of atomics from which two threads pop; popped nodes are freed at the end.
//! The defect: they are freed at once, while the other thread may look at them.
#![allow(unexpected_cfgs)]
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

struct Node {
    value: u32,
    next: *mut Node,
}

static HEAD: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

fn push(value: u32) {
    let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut() }));
    loop {
        let head = HEAD.load(Ordering::Relaxed);
        unsafe { (*node).next = head };
        if HEAD.compare_exchange(head, node, Ordering::Release, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

fn pop() -> Option<(u32, usize)> {
    loop {
        let head = HEAD.load(Ordering::Acquire);
        if head.is_null() {
            return None;
        }
        let next = unsafe { (*head).next };
        if HEAD.compare_exchange(head, next, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            let value = unsafe { (*head).value };
            #[cfg(bug)]
            drop(unsafe { Box::from_raw(head) });
            return Some((value, head as usize));
        }
    }
}

fn main() {
    push(1);
    push(2);
    let other = thread::spawn(pop);
    let popped = [pop(), other.join().unwrap()].map(|item| item.expect("there were two"));
    assert_eq!(popped[0].0 + popped[1].0, 3);
    #[cfg(not(bug))]
    for (_, node) in popped {
        drop(unsafe { Box::from_raw(node as *mut Node) });
    }
}
