/* SPDX-License-Identifier: Apache-2.0
 * kernel.h - the system calls that liburing's queue.c makes, as functions of the program. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int __sys_io_uring_enter(int fd, unsigned submitted, unsigned waits_for, unsigned flags,
			 sigset_t *mask);
int __sys_io_uring_enter2(int fd, unsigned submitted, unsigned waits_for, unsigned flags,
			  sigset_t *mask, size_t size);
