/* SPDX-License-Identifier: Apache-2.0
 * repeat.c - runs a program again and again on real cores, and counts how its runs end.
 *
 *   repeat SECONDS LEAST SEED LIMIT_S -- ARGUMENTS
 *
 *   this process                       a run: a fork
 *   forks, reads what the run prints   main, exit
 *   no news for LOOK_MS: looks at      all threads asleep for ever?
 *   its threads, twice                 LIMIT_S are over: killed
 *
 * Prints one line of JSON: the ends of runs, each with what was printed, and how often.
 *
 * Spec          none.
 * Evidence      tests/judge/own/test_stress.py. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/engine/json.h"
#include "repeat.h"

enum { ENDS = 64, PRINTED = 2000, LOOK_MS = 20, UNFINISHED_MOST = 3 };

enum kind { EXITED, KILLED, ASLEEP, UNFINISHED };

typedef struct end {
	enum kind kind;
	int code; /* of the exit; or the signal */
	char printed[PRINTED];
	uint64_t runs, first; /* how often; the number of the first such run */
	repeat_look look;
} end;

static end ends[ENDS];
static int ends_count;
static uint64_t others; /* runs that ended in yet another way */
static uint64_t unfinished;

int own__main(int argc, char **argv, char **environment);
extern char **environ;

/* Of the build without delays. */
__attribute__((weak)) void repeat_delays(uint64_t seed)
{
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void count(const end *found, uint64_t run)
{
	int i = 0;

	while (i < ends_count && (ends[i].kind != found->kind || ends[i].code != found->code ||
				  strcmp(ends[i].printed, found->printed) != 0))
		i++;
	if (i == ENDS) {
		others++;
		return;
	}
	if (i == ends_count) {
		ends[ends_count++] = *found;
		ends[i].first = run;
	}
	ends[i].runs++;
}

/* What the run prints, until it ends, sleeps for ever or has taken too long. A run that has closed
 * what it prints to, and goes on, is watched all the same. */
static void follow(pid_t process, int from, double limit_s, end *found)
{
	int ended = (int)syscall(SYS_pidfd_open, process, 0);
	struct pollfd events[] = {{.fd = from, .events = POLLIN}, {.fd = ended, .events = POLLIN}};
	repeat_look before = {0};
	double last = now_s() + limit_s;
	size_t used = 0;

	if (ended < 0) {
		perror("repeat: pidfd_open");
		kill(process, SIGKILL);
		exit(3);
	}
	for (;;) {
		char text[512];
		ssize_t size;

		if (now_s() >= last) {
			found->kind = UNFINISHED;
			break;
		}
		if (poll(events, 2, LOOK_MS) <= 0) {
			repeat_look look = repeat_look_at(process);

			if (repeat_is_asleep(&before, &look)) {
				found->kind = ASLEEP;
				found->look = look;
				break;
			}
			before = look;
			continue;
		}
		if (!events[0].revents)
			break; /* it has ended, and all that it printed is read */
		size = read(from, text, sizeof(text));
		if (size == 0)
			events[0].fd = -1;
		for (ssize_t i = 0; i < size && used + 1 < PRINTED; i++)
			found->printed[used++] = text[i] ? text[i] : ' ';
	}
	close(ended);
	while (used && strchr(" \n", found->printed[used - 1]))
		used--;
	found->printed[used] = '\0';
}

static void run(uint64_t number, uint64_t seed, double limit_s, int argc, char **argv)
{
	static end found;
	int stream[2], status = 0;
	pid_t process;

	memset(&found, 0, sizeof(found));
	if (pipe(stream) || (process = fork()) < 0) {
		perror("repeat");
		exit(3);
	}
	if (!process) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, 1);
		dup2(stream[1], STDOUT_FILENO);
		dup2(stream[1], STDERR_FILENO);
		close(stream[0]);
		close(stream[1]);
		repeat_delays((seed + number) * UINT64_C(0x9e3779b97f4a7c15));
		exit(own__main(argc, argv, environ));
	}
	close(stream[1]);
	follow(process, stream[0], limit_s, &found);
	close(stream[0]);
	if (found.kind == ASLEEP || found.kind == UNFINISHED)
		kill(process, SIGKILL);
	while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
	}
	if (found.kind == EXITED && WIFSIGNALED(status)) {
		found.kind = KILLED;
		found.code = WTERMSIG(status);
	} else if (found.kind == EXITED) {
		found.code = WEXITSTATUS(status);
	}
	unfinished += found.kind == UNFINISHED;
	count(&found, number);
}

/* A word that holds the number of a thread, until that thread ends: it joins this one. */
static bool joins(const repeat_look *look, int at)
{
	for (int i = 0; i < look->threads; i++)
		if (look->of[at].value == (unsigned long)look->of[i].tid)
			return true;
	return false;
}

static void print_end(const end *end)
{
	static const char *const kinds[] = {"exited", "killed", "asleep", "unfinished"};

	printf("{\"kind\":\"%s\",\"code\":%d,\"runs\":%llu,\"first\":%llu,\"printed\":",
	       kinds[end->kind], end->code, (unsigned long long)end->runs,
	       (unsigned long long)end->first);
	json_text(end->printed);
	printf(",\"sleepers\":[");
	for (int i = 0; i < end->look.threads; i++)
		printf("%s[%lu,%s]", i ? "," : "", end->look.of[i].word,
		       joins(&end->look, i) ? "true" : "false");
	printf("]}");
}

int main(int argc, char **argv)
{
	double seconds, started = now_s(), limit_s;
	uint64_t least, seed, runs = 0;

	if (argc < 6)
		return 2;
	seconds = strtod(argv[1], NULL);
	least = strtoull(argv[2], NULL, 10);
	seed = strtoull(argv[3], NULL, 10);
	limit_s = strtod(argv[4], NULL);
	argv[5] = argv[0];
	while (unfinished < UNFINISHED_MOST && (runs < least || now_s() - started < seconds))
		run(runs++, seed, limit_s, argc - 5, argv + 5);
	printf("{\"runs\":%llu,\"seconds\":%.3f,\"others\":%llu,\"ends\":[",
	       (unsigned long long)runs, now_s() - started, (unsigned long long)others);
	for (int i = 0; i < ends_count; i++) {
		printf(i ? "," : "");
		print_end(&ends[i]);
	}
	printf("]}\n");
	return 0;
}
