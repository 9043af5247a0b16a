/* SPDX-License-Identifier: Apache-2.0
 * graph_share.c - one search by several processes, or in parts that know nothing of each other.
 *
 *   each process   walks the same tree of graphs down to `split` visits. A subtree that begins
 *                  there is an item, and so is a graph that ends above. The process goes on only
 *                  below the items that it claims.
 *   claim          takes the next number of one shared counter; every process meets the items in
 *                  the same order
 *   part 3 of 64   goes on below the items 3, 67, 131, .. alone: on another machine, for example
 *
 * Why it works  All processes number the items alike, because the order of visits depends on the
 *               program alone. A process never claims an item that it has already passed: a process
 *               that passes an item has claimed a later one, so the counter is beyond that item. So
 *               each item is explored by exactly one process. A process that ends otherwise than
 *               with exit code 0 and a whole report makes the search an error, so no item is lost
 *               silently.
 *               Parts number the items alike as well: what comes before, the graphs that end first
 *               and the choice of the depth, has limits that no clock decides. A part that learns
 *               what changes the program would number them otherwise, so it says so and counts as
 *               nothing.
 * Spec          none.
 * Evidence      tests/judge/explore/test_parallel.py, test_parts.py. */
#include "graph_share.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coroutine.h"
#include "report.h"

enum {
	ITEMS_PER_JOB = 128, /* at least, if the tree has that many */
	ITEMS_PER_PART = 32,
	BEFORE_PARTS = 1000, /* ends of graphs; a search that has no more is not cut */
	SPLIT_STEP = 4,
	SPLIT_MOST = 200,
	LOOK_MS = 200,
	TOLD = 256,
	READ = 1 << 16,
};

#define NOBODYS UINT64_MAX

typedef struct worker {
	pid_t pid;
	int pipe; /* -1: closed */
	explore_letter letter;
} worker;

/* Items. */

bool explore_enters(explore_search *search, bool is_leaf)
{
	uint64_t item;

	if (search->depth != search->split && !(is_leaf && search->depth < search->split))
		return true;
	item = search->items++;
	if (search->worker < 0) /* this process only counts items */
		return false;
	if (!search->share)
		return item % (uint64_t)search->options->parts == (uint64_t)search->options->part;
	if (search->claimed == NOBODYS || search->claimed < item)
		search->claimed = __atomic_fetch_add(&search->share->next, 1, __ATOMIC_RELAXED);
	return search->claimed == item;
}

/* Chooses the depth at which the tree is cut. */
static void choose_split(explore_search *search, uint64_t wanted)
{
	search->worker = -1;
	for (search->split = 0; search->split < SPLIT_MOST && !search->is_over;) {
		search->split += search->share ? SPLIT_STEP : 1;
		search->items = 0;
		explore_visit_all(search);
		if (search->items >= wanted)
			return;
	}
}

bool explore_share_has_more(explore_search *search)
{
	uint64_t most = search->options->max_executions;

	if (!search->share)
		return !most || search->counted < most;
	return !most || __atomic_fetch_add(&search->share->counted, 1, __ATOMIC_RELAXED) < most;
}

void explore_share_tell(explore_search *search)
{
	const explore_report *report = search->report;

	if (!search->share || (report->executions + report->blocked) % TOLD)
		return;
	__atomic_store_n(&search->share->of[search->worker].executions, report->executions,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&search->share->of[search->worker].blocked, report->blocked,
			 __ATOMIC_RELAXED);
}

/* The processes. */

static _Noreturn void work(const explore_search *parent, pid_t parents, int number, int to)
{
	explore_report report;
	explore_search search;
	explore_options options = *parent->options;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parents) /* the parent has died before the prctl */
		_exit(3);
	if (dup2(to, STDOUT_FILENO) < 0 || !explore_after_fork())
		_exit(3);
	close(to);
	explore_progress_to(NULL);
	options.max_bytes /= (uint64_t)options.jobs;
	explore_search_begin(&search, parent->program, &options, &report, explore_cpu_seconds());
	search.share = parent->share;
	search.split = parent->split;
	search.worker = number;
	search.claimed = NOBODYS;
	explore_visit_all(&search);
	explore_search_end(&search);
	if (search.program->is_bounded && !report.stopped)
		report.stopped = "loop_bound"; /* only this process knows */
	report.cpu_seconds = explore_cpu_seconds();
	explore_report_send(parent->program, &report);
	_exit(fflush(stdout) ? 3 : 0);
}

static bool start(explore_search *search, worker *worker, int number)
{
	pid_t own = getpid();
	int ends[2];

	fflush(stdout);
	if (pipe(ends))
		return explore_fail(search, "no pipe for process %d: %s", number + 1,
				    strerror(errno));
	worker->pid = fork();
	if (worker->pid == 0) {
		close(ends[0]);
		work(search, own, number, ends[1]);
	}
	close(ends[1]);
	worker->pipe = ends[0];
	if (worker->pid < 0)
		return explore_fail(search, "process %d does not start: %s", number + 1,
				    strerror(errno));
	return true;
}

/* False: the process has sent everything and closed the pipe. */
static bool receive(explore_search *search, worker *worker)
{
	explore_letter *letter = &worker->letter;
	ssize_t got;

	if (letter->room - letter->size < READ) {
		char *bytes = realloc(letter->bytes, 2 * letter->room + READ);

		if (!bytes)
			return explore_fail(search, "out of memory");
		letter->bytes = bytes;
		letter->room = 2 * letter->room + READ;
	}
	got = read(worker->pipe, letter->bytes + letter->size, READ);
	if (got < 0 && errno == EINTR)
		return true;
	letter->size += got > 0 ? (size_t)got : 0;
	return got > 0;
}

/* The process has closed its pipe. Finds out how the process ended. */
static void collect(explore_search *search, worker *worker, int number)
{
	int status = 0;

	close(worker->pipe);
	worker->pipe = -1;
	while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
		;
	worker->pid = -1;
	if (WIFSIGNALED(status))
		explore_fail(search, "process %d of %d was killed by signal %d: its share is lost",
			     number + 1, search->options->jobs, WTERMSIG(status));
	else if (WEXITSTATUS(status) || !explore_report_merge(search->report, &worker->letter))
		explore_fail(search, "process %d of %d failed: its share is lost", number + 1,
			     search->options->jobs);
	search->is_over |= *search->report->error;
}

static void show_progress(explore_search *search)
{
	explore_report sum = {0};

	for (int w = 0; w < search->options->jobs; w++) {
		sum.executions +=
			__atomic_load_n(&search->share->of[w].executions, __ATOMIC_RELAXED);
		sum.blocked += __atomic_load_n(&search->share->of[w].blocked, __ATOMIC_RELAXED);
	}
	if (!explore_is_due())
		return;
	explore_estimate_more(search, sum.executions);
	explore_progress(&sum);
	if (search->program->error) /* a descent has revealed something that changes the program */
		explore_fail(search, "%s", search->program->error);
}

static void gather(explore_search *search, worker *workers)
{
	struct pollfd fds[EXPLORE_JOBS];
	int jobs = search->options->jobs, open = jobs;

	while (open && !search->is_over) {
		for (int w = 0; w < jobs; w++)
			fds[w] = (struct pollfd){.fd = workers[w].pipe, .events = POLLIN};
		if (poll(fds, (nfds_t)jobs, LOOK_MS) < 0)
			continue; /* interrupted by a signal */
		for (int w = 0; w < jobs && !search->is_over; w++)
			if (fds[w].revents && !receive(search, &workers[w])) {
				collect(search, &workers[w], w);
				open--;
			}
		show_progress(search);
	}
}

static void end(worker *worker)
{
	if (worker->pid > 0) {
		kill(worker->pid, SIGKILL);
		waitpid(worker->pid, NULL, 0);
	}
	if (worker->pipe >= 0)
		close(worker->pipe);
	free(worker->letter.bytes);
}

static void share_out(explore_search *search)
{
	worker workers[EXPLORE_JOBS];
	int jobs = search->options->jobs;

	for (int w = 0; w < jobs; w++)
		workers[w] = (worker){.pid = -1, .pipe = -1};
	choose_split(search, ITEMS_PER_JOB * (uint64_t)jobs);
	for (int w = 0; w < jobs && !search->is_over; w++)
		start(search, &workers[w], w);
	gather(search, workers);
	for (int w = 0; w < jobs; w++)
		end(&workers[w]);
	explore_report_order(search->report);
}

bool explore_search_shared(explore_program *program, const explore_options *options,
			   explore_report *report, double started)
{
	explore_search search;
	bool learned;

	explore_search_begin(&search, program, options, report, started);
	search.share = mmap(NULL, sizeof(*search.share), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (search.share == MAP_FAILED)
		explore_fail(&search, "no memory to share: %s", strerror(errno));
	else
		share_out(&search);
	if (search.share != MAP_FAILED)
		munmap(search.share, sizeof(*search.share));
	explore_search_end(&search);
	learned = !program->error && !strcmp(report->error, EXPLORE_START_AGAIN);
	if (learned)
		explore_report_free(report);
	return !learned;
}

/* Parts. */

/* True: the graphs that end first are all. */
static bool search_before(explore_program *program, const explore_options *options,
			  explore_report *report, double started)
{
	explore_options first = *options;
	explore_search search;

	first.max_seconds = 0;
	explore_search_begin(&search, program, &first, report, started);
	search.ends_most = BEFORE_PARTS;
	explore_visit_all(&search);
	explore_search_end(&search);
	if (report->stopped && !strcmp(report->stopped, "max_ends")) {
		explore_report_free(report);
		return false;
	}
	if (options->part) { /* part 0 has counted them */
		explore_report_free(report);
		report->executions = report->blocked = report->bounded = report->duplicates = 0;
	}
	return true;
}

static bool has_learned(const explore_program *program)
{
	return program->error && !strcmp(program->error, EXPLORE_START_AGAIN);
}

void explore_search_part(explore_program *program, const explore_options *options,
			 explore_report *report, double started)
{
	explore_options unhurried = *options;
	explore_search search;
	int split;

	if (search_before(program, options, report, started))
		return;
	unhurried.max_seconds = 0;
	explore_search_begin(&search, program, &unhurried, report, started);
	choose_split(&search, ITEMS_PER_PART * (uint64_t)options->parts);
	split = search.split;
	explore_search_end(&search);
	if (search.is_over) /* it may have learned something, which every part learns here */
		return;
	explore_search_begin(&search, program, options, report, started);
	search.split = split;
	explore_visit_all(&search);
	explore_search_end(&search);
	if (!has_learned(program) || options->parts == 1)
		return;
	report->stopped = "learned";
	*report->error = '\0';
	program->error = NULL;
}
