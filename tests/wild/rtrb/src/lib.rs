// SPDX-License-Identifier: Apache-2.0
//! A ring for one producer and one consumer.
use rtrb::RingBuffer;
use std::thread;

fn pushes_two() -> (Vec<u32>, bool) {
    let (mut producer, mut consumer) = RingBuffer::new(1);
    let other = thread::spawn(move || {
        let first = producer.push(Box::new(1)).is_ok();
        assert!(first);
        producer.push(Box::new(2)).is_ok()
    });
    let mut taken: Vec<u32> = consumer.pop().into_iter().map(|one| *one).collect();
    let has_second = other.join().unwrap();
    while let Ok(one) = consumer.pop() {
        taken.push(*one);
    }
    (taken, has_second)
}

#[test]
fn items_come_in_order() {
    let (taken, has_second) = pushes_two();
    assert_eq!(taken, if has_second { vec![1, 2] } else { vec![1] });
}

/// The defect is ours: the ring may be full when the second item comes.
#[test]
fn there_is_room_for_both() {
    assert!(pushes_two().1);
}
