/* SPDX-License-Identifier: Apache-2.0
 * glib.h - what gwakeup.c gets from the rest of glib, also in place of glib-unix.h. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define TRUE 1
#define G_IO_IN 1
#define G_UNLIKELY(truth) (truth)
#define G_BEGIN_DECLS
#define G_END_DECLS
#define g_slice_new(type) ((type *)malloc(sizeof(type)))
#define g_slice_free(type, at) free(at)
#define g_error(...) abort()

typedef int gint;
typedef int gboolean;
typedef uint8_t guint8;
typedef uint64_t guint64;
typedef struct {
	const char *message;
} GError;
typedef struct {
	gint fd;
	unsigned short events, revents;
} GPollFD;

static inline gboolean g_unix_open_pipe(gint *made, gint flags, GError **unused)
{
	(void)flags;
	(void)unused;
	return pipe2(made, O_CLOEXEC | O_NONBLOCK) == 0;
}

static inline gboolean g_unix_set_fd_nonblocking(gint descriptor, gboolean is_so, GError **unused)
{
	(void)descriptor; /* g_unix_open_pipe has done that */
	(void)is_so;
	(void)unused;
	return TRUE;
}
