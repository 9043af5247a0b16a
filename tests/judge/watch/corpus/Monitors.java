// SPDX-License-Identifier: Apache-2.0
// Monitors.java - threads of an executor take turns by wait and notify.
//
// Class      healthy
import java.util.concurrent.Executors;

class Monitors {
    private static int turn;

    public static void main(String[] words) throws Exception {
        var pool = Executors.newFixedThreadPool(3);
        for (int at = 0; at < 3; at++) {
            int own = at;
            pool.submit(() -> {
                while (true) {
                    synchronized (pool) {
                        while (turn % 3 != own) {
                            pool.wait();
                        }
                        turn++;
                        pool.notifyAll();
                    }
                    Thread.sleep(10);
                }
            });
        }
    }
}
