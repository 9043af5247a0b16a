/* SPDX-License-Identifier: Apache-2.0
 * sleep.h - tells the engine that a thread is about to sleep while a word has a value, and that it
 * is back. */
#ifndef WP_ENGINE_SLEEP_H
#define WP_ENGINE_SLEEP_H

#include <stdint.h>

void wp__stress_wait_begin(const void *word, uint32_t expected);
void wp__stress_wait_end(void);

/* The result of `call`, which sleeps. */
#define WP__ANNOUNCED(word, expected, call)                              \
	__extension__({                                                  \
		wp__stress_wait_begin((const void *)(word), (expected)); \
		__typeof__(call) wp__slept = (call);                     \
		wp__stress_wait_end();                                   \
		wp__slept;                                               \
	})

#endif
