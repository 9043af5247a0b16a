/* SPDX-License-Identifier: Apache-2.0
 * hello.c - one virtual thread, linked with the installed library:
 *
 *   cc hello.c $(pkg-config --cflags --libs wakeproof) */
#include <stdio.h>
#include <wakeproof/wakeproof.h>

static int greet(void *name)
{
	printf("hello from the virtual thread %s\n", wp_vthread_name(wp_vthread_current()));
	return name == NULL;
}

int main(void)
{
	wp_group_config config = {.carriers = 2, .work_stealing = true};
	wp_vthread_config first = {.name = "first", .run = greet, .arg = "first"};
	wp_group *group;
	wp_vthread *thread;
	int failure;

	if (wp_group_new(&group, &config) != WP_OK ||
	    wp_vthread_new(group, &first, &thread) != WP_OK || wp_vthread_start(thread) != WP_OK ||
	    wp_vthread_join(thread, WP_FOREVER, &failure) != WP_OK)
		return 1;
	wp_vthread_free(thread);
	return failure || wp_group_close(group, WP_FOREVER, false, NULL, NULL) != WP_OK;
}
