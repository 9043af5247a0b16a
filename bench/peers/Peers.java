// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The rows of bench/vthread.c and bench/sync.c with the JDK's virtual threads: {@code Peers ROW
 * OPERATIONS CPU..} prints nanoseconds of the process's CPU time per operation, or an object with
 * its other counts.
 */
final class Peers {
	static final int MANY = 64, SLOTS = 64, PARKED = 4096, WARM = 3;
	static int ops, held, spun;
	static volatile int round;

	interface Work {
		void run() throws InterruptedException;
	}

	/** In the name of each virtual thread; none of them is interrupted. */
	static Thread start(Work work) {
		return Thread.startVirtualThread(() -> {
			try {
				work.run();
			} catch (InterruptedException error) {
				throw new IllegalStateException(error);
			}
		});
	}

	static void both(Work first, Work second) throws InterruptedException {
		Thread left = start(first), right = start(second);
		left.join();
		right.join();
	}

	static void yields() throws InterruptedException {
		Work half = () -> {
			for (int k = 0; k < ops / 2; k++)
				Thread.yield();
		};
		both(half, half);
	}

	/** Two that park and unpark each other. */
	static final class Turn {
		volatile int turn;
		volatile Thread left, right;

		void pass(int mine, int next) {
			while (left == null || right == null)
				Thread.yield();
			for (int k = 0; k < ops; k++) {
				while (turn != mine)
					LockSupport.park();
				turn = next;
				LockSupport.unpark(next == 0 ? left : right);
			}
		}
	}

	static void turns() throws InterruptedException {
		Turn both = new Turn();
		both.left = start(() -> both.pass(0, 1));
		both.right = start(() -> both.pass(1, 0));
		both.left.join();
		both.right.join();
	}

	static void joins() throws InterruptedException {
		start(() -> {
			for (int k = 0; k < ops; k++)
				start(() -> { }).join();
		}).join();
	}

	/** Half of the threads are started by each of two. */
	static void many() throws InterruptedException {
		Work half = () -> {
			Thread[] all = new Thread[ops / 2];
			for (int k = 0; k < all.length; k++)
				all[k] = start(() -> { });
			for (Thread one : all)
				one.join();
		};
		both(half, half);
	}

	/** A thread outside unparks all, and again when all have run. */
	static void wake() throws InterruptedException {
		int rounds = ops / PARKED;
		Thread[] all = new Thread[PARKED];
		CountDownLatch[] ran = new CountDownLatch[rounds + 1];
		round = 0;
		for (int k = 0; k <= rounds; k++)
			ran[k] = new CountDownLatch(PARKED);
		Work parks = () -> {
			for (int k = 0; k <= rounds; k++) {
				ran[k].countDown();
				while (round <= k && k < rounds)
					LockSupport.park();
			}
		};
		for (int k = 0; k < PARKED; k++)
			all[k] = start(parks);
		for (int k = 0; k <= rounds; k++) {
			ran[k].await();
			round = k + 1;
			for (Thread one : all)
				LockSupport.unpark(one);
		}
		for (Thread one : all)
			one.join();
	}

	static void pass(BlockingQueue<Object> queue) throws InterruptedException {
		both(() -> {
			for (int k = 0; k < ops; k++)
				queue.put(queue);
		}, () -> {
			for (int k = 0; k < ops; k++)
				queue.take();
		});
	}

	static void contend(int threads, Runnable hold) throws InterruptedException {
		ReentrantLock mutex = new ReentrantLock();
		Thread[] all = new Thread[threads];
		held = 0;
		for (int at = 0; at < threads; at++)
			all[at] = start(() -> {
				for (int k = 0; k < ops / threads; k++) {
					mutex.lock();
					try {
						held++;
						hold.run();
					} finally {
						mutex.unlock();
					}
				}
			});
		for (Thread one : all)
			one.join();
		if (held != ops / threads * threads)
			throw new IllegalStateException("two threads had the mutex");
	}

	static void spin() {
		for (int k = 0; k < 16; k++)
			spun ^= k;
	}

	/** A lower bound of its memory: the live objects in its heap, after a collection. */
	static double bytes() {
		for (int k = 0; k < 3; k++)
			System.gc();
		Runtime runtime = Runtime.getRuntime();
		return runtime.totalMemory() - runtime.freeMemory();
	}

	static void memory() throws InterruptedException {
		CountDownLatch there = new CountDownLatch(ops);
		Thread[] all = new Thread[ops];
		double before = bytes();
		long begun = cpu();
		for (int k = 0; k < ops; k++)
			all[k] = start(() -> {
				there.countDown();
				LockSupport.park();
			});
		there.await();
		double ns = (double) (cpu() - begun) / ops;
		System.out.printf("{\"ns\": %f, \"bytes\": %f}%n", ns, (bytes() - before) / ops);
		System.exit(all.length == ops ? 0 : 1);
	}

	/** By the system's account of each thread, in nanoseconds; the JDK's own is in ticks of 10 ms. */
	static long cpu() {
		long sum = 0;
		for (File task : new File("/proc/self/task").listFiles())
			try {
				String ran = Files.readString(task.toPath().resolve("schedstat"));
				sum += Long.parseLong(ran.substring(0, ran.indexOf(' ')));
			} catch (IOException gone) {
				continue;
			}
		return sum;
	}

	public static void main(String[] arguments) throws InterruptedException {
		String row = arguments[0];
		boolean onTwo = row.equals("vthread_many") || row.endsWith("_far") || row.endsWith("_two");
		System.setProperty("jdk.virtualThreadScheduler.parallelism", onTwo ? "2" : "1");
		System.setProperty("jdk.virtualThreadScheduler.maxPoolSize", onTwo ? "2" : "1");
		ops = Integer.parseInt(arguments[1]);
		Work work = switch (row) {
			case "vthread_yield" -> Peers::yields;
			case "vthread_turns" -> Peers::turns;
			case "vthread_join" -> Peers::joins;
			case "vthread_many" -> Peers::many;
			case "vthread_wake" -> Peers::wake;
			case "vthread_memory" -> Peers::memory;
			case "channel_hand" -> () -> pass(new SynchronousQueue<>());
			case "channel_slots", "channel_far" -> () -> pass(new ArrayBlockingQueue<>(SLOTS));
			case "mutex_free" -> () -> contend(1, () -> { });
			case "mutex_one" -> () -> contend(MANY, Thread::yield);
			case "mutex_two" -> () -> contend(MANY, Peers::spin);
			default -> throw new IllegalArgumentException("there is no row " + row);
		};
		for (int k = 0; k < (row.equals("vthread_many") ? 1 : WARM); k++)
			work.run();
		long begun = cpu();
		work.run();
		double each = (double) (cpu() - begun) / ops;
		System.out.println(row.equals("vthread_many") ? each / 2 : each);
	}
}
