/* SPDX-License-Identifier: Apache-2.0
 * aio_channel.h - of aio.c: the type that aio_channel.c has. */
#ifndef WP__AIO_CHANNEL_H
#define WP__AIO_CHANNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

/* Adds ChannelCore to the module; false: an exception. */
bool wp__add_channel(PyObject *module);

#endif
