/* SPDX-License-Identifier: Apache-2.0
 * linear.h - marks the calls and returns of operations in a program that `wakeproof linear` explores.
 *
 *   linear_call(push, 1);
 *   queue_push(&queue, 1);
 *   linear_return(0);
 *
 * An operation has one argument and one result, both whole numbers; the names are those of methods
 * of a class in Python, the sequential model. Elsewhere the marks do nothing. */
#ifndef WAKEPROOF_LINEAR_H
#define WAKEPROOF_LINEAR_H

#ifdef WAKEPROOF_LINEAR
#ifdef __cplusplus
extern "C" {
#endif
void wakeproof_call(const char *operation, long argument);
void wakeproof_return(long value);
#ifdef __cplusplus
}
#endif
#define linear_call(operation, argument) wakeproof_call(#operation, (long)(argument))
#define linear_return(value) wakeproof_return((long)(value))
#else
#define linear_call(operation, argument) ((void)(argument))
#define linear_return(value) ((void)(value))
#endif

#endif
