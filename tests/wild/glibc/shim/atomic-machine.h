/* SPDX-License-Identifier: Apache-2.0
 * atomic-machine.h - what glibc's own one says for x86-64, without its older macros in assembly. */
#pragma once
#define USE_ATOMIC_COMPILER_BUILTINS 1
#define __HAVE_64B_ATOMICS 1
#define ATOMIC_EXCHANGE_USES_CAS 0
