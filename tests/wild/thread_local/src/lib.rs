// SPDX-License-Identifier: Apache-2.0
//! One value for each thread, which any thread may iterate over.
use std::sync::Arc;
use std::thread;
use thread_local::ThreadLocal;

/// The third thread is the first whose value lies in memory that is allocated when it comes.
#[test]
fn is_iterated_while_a_value_comes() {
    let all = Arc::new(ThreadLocal::<u32>::new());
    all.get_or(|| 7);
    let second = {
        let all = all.clone();
        thread::spawn(move || {
            let other = Box::new(ThreadLocal::<u32>::new());
            other.get_or(|| 8);
            thread::spawn(move || {
                all.get_or(|| 7);
            })
            .join()
            .unwrap();
        })
    };
    assert!(all.iter().all(|one| *one == 7));
    second.join().unwrap();
}
