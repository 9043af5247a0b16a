/* SPDX-License-Identifier: Apache-2.0
 * tsan_hooks.h - the functions that -fsanitize=thread calls at each plain access. The including
 * file defines what they do:
 *
 *   #define TSAN_READ(place, size, is_volatile) ...
 *   #define TSAN_WRITE(place, size, is_volatile) ... */
#define TSAN_HOOK(name, call)   \
	void name(char *place); \
	void name(char *place)  \
	{                       \
		call;           \
	}
#define TSAN_HOOKS(size)                                                              \
	TSAN_HOOK(__tsan_read##size, TSAN_READ(place, size, false))                   \
	TSAN_HOOK(__tsan_write##size, TSAN_WRITE(place, size, false))                 \
	TSAN_HOOK(__tsan_unaligned_read##size, TSAN_READ(place, size, false))         \
	TSAN_HOOK(__tsan_unaligned_write##size, TSAN_WRITE(place, size, false))       \
	TSAN_HOOK(__tsan_volatile_read##size, TSAN_READ(place, size, true))           \
	TSAN_HOOK(__tsan_volatile_write##size, TSAN_WRITE(place, size, true))         \
	TSAN_HOOK(__tsan_unaligned_volatile_read##size, TSAN_READ(place, size, true)) \
	TSAN_HOOK(__tsan_unaligned_volatile_write##size, TSAN_WRITE(place, size, true))
TSAN_HOOKS(1)
TSAN_HOOKS(2)
TSAN_HOOKS(4)
TSAN_HOOKS(8)
TSAN_HOOKS(16)
TSAN_HOOK(__tsan_func_entry, )

void __tsan_init(void);
void __tsan_func_exit(void);
void __tsan_read_range(char *place, unsigned long size);
void __tsan_write_range(char *place, unsigned long size);

void __tsan_init(void)
{
}

void __tsan_func_exit(void)
{
}

void __tsan_read_range(char *place, unsigned long size)
{
	TSAN_READ(place, size, false);
}

void __tsan_write_range(char *place, unsigned long size)
{
	TSAN_WRITE(place, size, false);
}
