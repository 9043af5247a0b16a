// SPDX-License-Identifier: Apache-2.0
//! A queue of tasks: its owner pushes and pops, and other threads steal.
use crossbeam_deque::{Steal, Worker};
use std::thread;

/// Returns what the owner has popped and what was stolen, of one task with the number 1.
fn pops_beside_a_thief(worker: Worker<u32>) -> (u32, u32) {
    worker.push(1);
    let stealer = worker.stealer();
    let thief = thread::spawn(move || loop {
        match stealer.steal() {
            Steal::Success(task) => return task,
            Steal::Empty => return 0,
            Steal::Retry => (),
        }
    });
    let mine = worker.pop().unwrap_or(0);
    (mine, thief.join().unwrap())
}

#[test]
fn the_last_task_of_a_stack() {
    let (mine, stolen) = pops_beside_a_thief(Worker::new_lifo());
    assert_eq!(mine + stolen, 1);
}

#[test]
fn the_last_task_of_a_queue() {
    let (mine, stolen) = pops_beside_a_thief(Worker::new_fifo());
    assert_eq!(mine + stolen, 1);
}

/// The defect is ours: the thief may have been there first.
#[test]
fn the_owner_gets_it() {
    assert_eq!(pops_beside_a_thief(Worker::new_lifo()).0, 1);
}
