/* SPDX-License-Identifier: Apache-2.0
 * own_start.c - linked into each explored program: its main, renamed, is a function of it.
 *
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <stdbool.h>
#include <stddef.h>

int own_run(int (*main)(int, char **, char **), int argc, char **argv, bool has_bare_code);
int own__main(int argc, char **argv, char **environment);

/* Whatever is linked from the library of C++, which has no hooks, needs this. */
__attribute__((weak)) int __gxx_personality_v0(void);

int main(int argc, char **argv)
{
	return own_run(own__main, argc, argv, __gxx_personality_v0 != NULL);
}
