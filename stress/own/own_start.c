/* SPDX-License-Identifier: Apache-2.0
 * own_start.c - linked into each explored program: its main, renamed, is a function of it.
 *
 * Spec          none.
 * Evidence      tests/judge/own. */
int own_run(int (*main)(int, char **, char **), int argc, char **argv);
int own__main(int argc, char **argv, char **environment);

int main(int argc, char **argv)
{
	return own_run(own__main, argc, argv);
}
