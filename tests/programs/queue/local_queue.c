/* SPDX-License-Identifier: Apache-2.0
 * local_queue.c CASE - a bounded run queue on real cores, and step by step.
 *
 *   storm TASKS SEED    an owner and two thieves, which also steal from each other; one hands over
 *   updates             300 tasks that yield once, through a queue that overflows; a thief
 *   script STEPS        prints the result of each step
 *
 * Why it works  Each task counts its runs. A step is a letter: p push, k keep or else push, o pop,
 *               s steal, t pop what was stolen, h hand over, g take a global one, a ask what may be
 *               stolen, e ask the owner, T ask which queue has its turn. */
#include "../case.h"
#include "../chance.h"
#include "queue/local_queue.h"
#include "queue/biased_lock.h"

enum { MOST = 100000, MEMBERS = 3, UPDATES = 300 };

struct task {
	wp_mpsc_node node;
	wp_atomic(uint32_t) runs;
	bool yields;
};

static struct task tasks[MOST];
static wp_local_queue rings[MEMBERS];
static wp_mpsc global;
static wp_biased_lock turn;
static wp_atomic(uint32_t) ran;
static uint32_t count, pushed;
static int64_t deadline_ns;

static void init(uint32_t many)
{
	count = many;
	for (int member = 0; member < MEMBERS; member++)
		wp_local_queue_init(&rings[member]);
	wp_mpsc_init(&global);
	wp_biased_lock_init(&turn);
	deadline_ns = patience();
}

static bool is_over(void)
{
	return wp_load_acquire(&ran) >= count || wp_clock_ns() > deadline_ns;
}

static wp_mpsc_node *take_global(void)
{
	wp_mpsc_node *node;
	uint64_t my;

	if (!wp_mpsc_has_published(&global) || !wp_biased_lock_try_acquire(&turn, &my))
		return NULL;
	node = wp_mpsc_pop(&global);
	wp_biased_lock_release(&turn, my);
	return node;
}

/* True: it ran a task, from whatever place. */
static bool step(int self, uint64_t *random)
{
	wp_mpsc_node *node = wp_local_queue_is_global_turn(&rings[self]) ? take_global() : NULL;
	struct task *task;

	if (node == NULL)
		node = wp_local_queue_pop(&rings[self]);
	if (node == NULL && !wp_local_queue_is_empty(&rings[self]))
		check(false, "a task that is there and is not popped");
	for (int other = 1; node == NULL && other < MEMBERS; other++)
		wp_local_queue_steal(&rings[(self + other) % MEMBERS], &rings[self], &node);
	if (node == NULL)
		node = take_global();
	if (node == NULL)
		return false;
	task = (struct task *)(void *)node;
	wp_fetch_add_relaxed(&task->runs, 1);
	if (task->yields && draw(random, 2) == 0) {
		wp_fetch_add_relaxed(&task->runs, (uint32_t)-1);
		wp_local_queue_push(&rings[self], node, &global);
	} else {
		wp_fetch_add_release(&ran, 1);
	}
	return true;
}

static void *member(void *arg)
{
	int self = (int)(uintptr_t)arg;
	uint64_t random = seed + (uint64_t)self + 1;

	while (!is_over())
		if (!step(self, &random))
			wp_yield();
	return NULL;
}

static void *owner(void *arg)
{
	uint64_t random = seed + 99;

	while (pushed < count) {
		wp_mpsc_node *node = &tasks[pushed++].node;
		uint32_t draws = draw(&random, 4);

		if (draws != 0 || !wp_local_queue_keep(&rings[0], node))
			wp_local_queue_push(&rings[0], node, &global);
		while (draws-- > 1)
			step(0, &random);
	}
	return member(arg);
}

/* From time to time a carrier blocks. */
static void *helper(void *arg)
{
	uint64_t random = seed + 7;

	while (!is_over()) {
		wp_local_queue_hand_over(&rings[draw(&random, MEMBERS)], &global);
		wp_yield();
	}
	return NULL;
}

static void run(bool helped)
{
	void *(*bodies[])(void *) = {owner, member, member, helper};
	pthread_t threads[MEMBERS + 1];
	int many = helped ? MEMBERS + 1 : MEMBERS;

	for (int at = 0; at < many; at++)
		if (pthread_create(&threads[at], NULL, bodies[at], (void *)(uintptr_t)at) != 0)
			abort();
	for (int at = 0; at < many; at++)
		pthread_join(threads[at], NULL);
	for (uint32_t task = 0; task < count; task++)
		check(wp_load_relaxed(&tasks[task].runs) == 1, "a task that runs once");
	check(wp_mpsc_is_quiescent(&global), "that nothing is left");
	for (int at = 0; at < MEMBERS; at++)
		check(wp_local_queue_is_empty(&rings[at]), "that no ring has anything left");
}

CASE(updates)
{
	init(UPDATES);
	for (uint32_t task = 0; task < UPDATES; task++)
		tasks[task].yields = true;
	run(false);
}

static void case_storm(char **args)
{
	init((uint32_t)atoi(args[0]));
	seed = strtoull(args[1], NULL, 10);
	run(true);
}

static int number(wp_mpsc_node *node)
{
	return node == NULL ? 0 : (int)((struct task *)(void *)node - tasks) + 1;
}

static int one_step(char letter)
{
	wp_mpsc_node *node = &tasks[pushed].node;

	switch (letter) {
	case 'k':
		pushed++;
		return wp_local_queue_keep(&rings[0], node)
			       ? -1
			       : (int)wp_local_queue_push(&rings[0], node, &global);
	case 'p':
		pushed++;
		return (int)wp_local_queue_push(&rings[0], node, &global);
	case 'o':
		return number(wp_local_queue_pop(&rings[0]));
	case 's':
		return wp_local_queue_steal(&rings[0], &rings[1], &node) == 0 ? 0 : number(node);
	case 't':
		return number(wp_local_queue_pop(&rings[1]));
	case 'h':
		return (int)wp_local_queue_hand_over(&rings[0], &global);
	case 'g':
		return number(wp_mpsc_pop(&global));
	case 'a':
		return (int)wp_local_queue_stealable(&rings[0]);
	case 'e':
		return wp_local_queue_is_empty(&rings[0]);
	default:
		return wp_local_queue_is_global_turn(&rings[0]);
	}
}

static int script(const char *steps)
{
	init(MOST);
	for (; *steps != 0; steps++)
		printf("%d\n", one_step(*steps));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "script") == 0)
		return script(argv[2]);
	if (argc == 4 && strcmp(argv[1], "storm") == 0) {
		case_storm(argv + 2);
		return failures != 0;
	}
	return run_case(argc, argv);
}
