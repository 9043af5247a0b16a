// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The rows of bench/vthread.c and bench/sync.c with the JDK's virtual threads: {@code Peers ROW
 * OPERATIONS CPU..} prints nanoseconds of the process's CPU time per operation, or an object with
 * its other counts.
 */
final class Peers {
	static final int MANY = 64, SLOTS = 64, PARKED = 4096, WARM = 3;
	static final int HASHERS = 128, HASHED = 4096, TIMES = 100, EACH_NS = 5000, BUSY_NS = 10000;
	static final Duration SLEEP = Duration.ofNanos(100000);
	static final LongAdder hashes = new LongAdder();
	static int ops, held, spun;
	static long busy;
	static double answerNs;
	static double[] took;
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

	static void hash(int submitters) throws InterruptedException {
		int rounds = ops / (submitters * HASHERS);
		Thread[] all = new Thread[submitters];
		for (int at = 0; at < submitters; at++)
			all[at] = start(() -> {
				byte[] mine = new byte[HASHERS * HASHED];
				Thread[] hashers = new Thread[HASHERS];
				for (int round = 0; round < rounds; round++) {
					for (int k = 0; k < HASHERS; k++) {
						int from = k * HASHED;
						hashers[k] = start(() -> hashOne(mine, from));
					}
					for (Thread one : hashers)
						one.join();
				}
			});
		for (Thread one : all)
			one.join();
	}

	static void hashOne(byte[] bytes, int from) {
		long hash = -3750763034362895579L;
		for (int at = 0; at < HASHED; at++)
			hash = (hash ^ (bytes[from + at] & 0xff)) * 1099511628211L;
		hashes.add(hash);
	}

	/** A thread for each request of a producer that spins. */
	static void answer() throws InterruptedException {
		CountDownLatch all = new CountDownLatch(ops);
		long begun = cpu(), spun = threadCpu(), next = System.nanoTime();
		took = new double[ops];
		for (int k = 0; k < ops; k++) {
			next += EACH_NS;
			while (System.nanoTime() < next)
				Thread.onSpinWait();
			int mine = k;
			long due = next;
			start(() -> {
				Thread.sleep(SLEEP);
				took[mine] = (System.nanoTime() - due) / 1e3;
				all.countDown();
			});
		}
		spun = threadCpu() - spun;
		all.await();
		answerNs = (double) (cpu() - begun - spun) / ops;
		Arrays.sort(took);
	}

	/** A thread, 10 us of work by the clock, and another thread. */
	static void executes() throws InterruptedException {
		start(() -> {
			Thread[] all = new Thread[2 * TIMES];
			for (int round = 0; round < ops / all.length; round++) {
				for (int k = 0; k < all.length; k++) {
					if (k % 2 != 0) {
						long from = System.nanoTime(), now = from;
						while (now - from < BUSY_NS)
							now = System.nanoTime();
						busy += now - from;
					}
					all[k] = start(() -> { });
				}
				for (Thread one : all)
					one.join();
			}
		}).join();
	}

	static void nests(int left, CountDownLatch ended) {
		if (left > 1)
			start(() -> nests(left - 1, ended));
		else
			ended.countDown();
	}

	/** Each thread starts the next one. */
	static void nest(int most) throws InterruptedException {
		int deep = Math.min(most, ops);
		for (int chain = 0; chain < ops / deep; chain++) {
			CountDownLatch ended = new CountDownLatch(1);
			start(() -> nests(deep, ended));
			ended.await();
		}
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

	/** Of the calling OS thread. */
	static long threadCpu() {
		try {
			String ran = Files.readString(Path.of("/proc/thread-self/schedstat"));
			return Long.parseLong(ran.substring(0, ran.indexOf(' ')));
		} catch (IOException error) {
			throw new UncheckedIOException(error);
		}
	}

	public static void main(String[] arguments) throws InterruptedException {
		String row = arguments[0];
		boolean onTwo = row.equals("vthread_many") || row.endsWith("_far") || row.endsWith("_two") ||
			row.startsWith("shapes_") && !row.equals("shapes_answer");
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
			case "shapes_hash_1" -> () -> hash(1);
			case "shapes_hash_3" -> () -> hash(3);
			case "shapes_answer" -> Peers::answer;
			case "shapes_executes" -> Peers::executes;
			case "shapes_nest_1k" -> () -> nest(1000);
			case "shapes_nest_100k" -> () -> nest(100000);
			default -> throw new IllegalArgumentException("there is no row " + row);
		};
		for (int k = 0; k < (row.equals("vthread_many") ? 1 : WARM); k++)
			work.run();
		busy = 0;
		long begun = cpu();
		work.run();
		double each = (double) (cpu() - begun - busy) / ops;
		if (row.equals("shapes_answer")) {
			System.out.printf("{\"ns\": %f, \"p50\": %f, \"p90\": %f, \"p99\": %f}%n", answerNs,
				took[ops / 2], took[ops / 10 * 9], took[ops / 100 * 99]);
			return;
		}
		System.out.println(row.equals("vthread_many") ? each / 2 : each);
	}
}
