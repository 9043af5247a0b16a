/* SPDX-License-Identifier: Apache-2.0
 * default.c - which copy of this library makes the process's default group; see binding.h.
 *
 *   copy A                                   copy B
 *   [default.1] word := made by this process        [default.1] the same
 *   [default.5] fence                               [default.5] fence
 *   [default.2] any other copy's word? withdraw     [default.2] the same
 *
 * Why it works  The fences are ordered, so of two copies one sees the other's word. The loader's
 *               list names all copies, and each exports wp__default_maker. The word has the process
 *               in it: a forked child has made none, and an exec leaves no trace. */
#define _GNU_SOURCE
#include "binding.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

enum { WHO = 512 }; /* bytes; the rest of a longer name is cut */

/* word: 2 pid: being claimed; 2 pid + 1: made. who: the claimer, before the word says made. */
static wp_atomic(int64_t) word;
static char who[WHO];

const char *wp__default_maker(void)
{
	/* [default.2] acquire; pairs default.1: who it is. Ordered after default.1 of the asking copy by default.5. */
	return wp_load_acquire(&word) == 2 * (int64_t)getpid() + 1 ? who : NULL;
}

struct nth {
	size_t left;
	char path[PATH_MAX];
};

static int copy_path(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct nth *nth = arg;

	(void)size;
	if (nth->left-- != 0)
		return 0;
	snprintf(nth->path, sizeof(nth->path), "%s", info->dlpi_name);
	return 1;
}

/* Who has made it in the copy that was loaded from `path` (empty: the program itself); NULL: nobody,
 * it is no copy, or it is this one. [any thread | the loader's lock] */
static const char *maker_in(const char *path)
{
	void *object = dlopen(path[0] == '\0' ? NULL : path, RTLD_LAZY | RTLD_NOLOAD);
	const char *(*maker)(void), *found = NULL;

	if (object == NULL)
		return NULL;
	*(void **)&maker = dlsym(object, "wp__default_maker");
	if (maker != NULL)
		found = maker();
	dlclose(object);
	return found == who ? NULL : found;
}

static const char *maker_elsewhere(void)
{
	const char *found = NULL;
	struct nth nth;

	/* By number, not in the callback: the loader holds its lock there. */
	for (size_t n = 0; found == NULL; n++) {
		nth.left = n;
		if (dl_iterate_phdr(copy_path, &nth) == 0)
			return NULL;
		found = maker_in(nth.path);
	}
	return found;
}

const char *wp__default_claim(const char *by)
{
	int64_t mine = 2 * (int64_t)getpid();
	/* [default.3] acquire; pairs default.1: who it is, if it is made. */
	int64_t old = wp_load_acquire(&word);
	const char *other;

	if (old == mine + 1)
		return who;
	/* [default.4] acquire; pairs default.6: what a claimer before this one wrote in `who` comes first. */
	if (old == mine || !wp_cas_acquire(&word, &old, mine))
		return "another thread";
	snprintf(who, sizeof(who), "%s", by);
	/* [default.1] release; pairs default.2, default.3: who it is. */
	wp_store_release(&word, mine + 1);
	/* [default.5] seq_cst fence; pairs default.5: the own word before the others'. */
	wp_fence_seq_cst();
	other = maker_elsewhere();
	if (other != NULL)
		wp__default_unclaim();
	return other;
}

void wp__default_unclaim(void)
{
	/* [default.6] release; pairs default.4. */
	wp_store_release(&word, 0);
}
