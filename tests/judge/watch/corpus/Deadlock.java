// SPDX-License-Identifier: Apache-2.0
// Deadlock.java - two threads take two monitors in opposite orders.
//
// Class      another runtime
// Verdict    waits
import java.util.concurrent.CountDownLatch;

class Deadlock {
    private static final Object left = new Object(), right = new Object();
    private static final CountDownLatch both = new CountDownLatch(2);

    private static void take(Object first, Object second) {
        synchronized (first) {
            both.countDown();
            try {
                both.await();
            } catch (InterruptedException ended) {
                return;
            }
            synchronized (second) {
                return;
            }
        }
    }

    public static void main(String[] words) {
        new Thread(() -> take(left, right), "left").start();
        new Thread(() -> take(right, left), "right").start();
    }
}
