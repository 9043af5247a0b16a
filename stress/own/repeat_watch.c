/* SPDX-License-Identifier: Apache-2.0
 * repeat_watch.c - proves that all threads of a run sleep for ever.
 *
 * Why it works  Every thread is in state S, in a futex wait that has no deadline. A second look, begun
 *               after the first is complete, finds the same threads, and none of them has stopped
 *               again: none ran between the two. Nobody else knows their words, unless the program
 *               shares memory with another process.
 *               State S is asked for because the file `syscall` of a thread that was woken, and is
 *               not on a CPU yet, still shows the wait.
 * Spec          none.
 * Evidence      tests/judge/own/test_stress.py. */
#include <dirent.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "repeat.h"

static bool read_file(pid_t process, long tid, const char *name, char *text, size_t size)
{
	char path[64];
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/task/%ld/%s", (int)process, tid, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	length = fread(text, 1, size - 1, file);
	text[length] = '\0';
	fclose(file);
	return length > 0;
}

static char state_of(pid_t process, long tid)
{
	char text[512], *end;

	if (!read_file(process, tid, "stat", text, sizeof(text)))
		return '?';
	end = strrchr(text, ')');
	return end && end[1] ? end[2] : '?';
}

static bool sleeps(pid_t process, long tid, unsigned long *word, unsigned long *value)
{
	char text[256];
	long number;
	unsigned long operation, deadline;

	if (state_of(process, tid) != 'S' ||
	    !read_file(process, tid, "syscall", text, sizeof(text)) ||
	    sscanf(text, "%ld %lx %lx %lx %lx", &number, word, &operation, value, &deadline) != 5)
		return false;
	operation &= FUTEX_CMD_MASK;
	return number == SYS_futex && deadline == 0 &&
	       (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
		operation == FUTEX_LOCK_PI);
}

static bool count_switches(pid_t process, long tid, uint64_t *switches)
{
	static const char *const names[] = {"\nvoluntary_ctxt_switches:",
					    "\nnonvoluntary_ctxt_switches:"};
	char text[4096];

	*switches = 0;
	if (!read_file(process, tid, "status", text, sizeof(text)))
		return false;
	for (int i = 0; i < 2; i++) {
		const char *at = strstr(text, names[i]);

		if (!at)
			return false;
		*switches += strtoull(at + strlen(names[i]), NULL, 10);
	}
	return true;
}

repeat_look repeat_look_at(pid_t process)
{
	repeat_look look = {0};
	char path[64];
	const struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	tasks = opendir(path);
	if (!tasks)
		return look;
	while ((entry = readdir(tasks))) {
		long tid = strtol(entry->d_name, NULL, 10);
		int at = look.threads;

		if (!tid || state_of(process, tid) == 'Z')
			continue;
		if (at == REPEAT_THREADS ||
		    !sleeps(process, tid, &look.of[at].word, &look.of[at].value) ||
		    !count_switches(process, tid, &look.of[at].switches)) {
			look.threads = 0;
			break;
		}
		look.of[at].tid = tid;
		look.threads++;
	}
	closedir(tasks);
	return look;
}

bool repeat_is_asleep(const repeat_look *first, const repeat_look *second)
{
	if (!first->threads || first->threads != second->threads)
		return false;
	for (int i = 0; i < first->threads; i++)
		if (first->of[i].tid != second->of[i].tid ||
		    first->of[i].switches != second->of[i].switches ||
		    first->of[i].word != second->of[i].word)
			return false;
	return true;
}
