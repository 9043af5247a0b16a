/* SPDX-License-Identifier: Apache-2.0
 * api.h - the marks of public functions, and how a public type looks from C and from C++.
 *
 *   WP_API int wp_mutex_lock(wp_mutex *mutex);            a public function
 *   WP_API_INLINE bool wp_guard_leave(wp_guard *guard)    a public function, inline in the library
 *
 * Why it works  The library is compiled with -fvisibility=hidden, so it exports the marked
 *               functions and nothing else. tools/public_headers.py makes the headers of
 *               <wakeproof/...> from the same marks, so nobody keeps a list by hand. Users call the
 *               inline functions as ordinary functions: make lib compiles one file with an empty
 *               WP_INLINE, which gives these functions symbols. C++ has no _Atomic. There an atomic
 *               field is declared as a plain one, which has the same size and alignment, and users
 *               do not touch it.
 * Evidence      tests/project/test_clib.py. */
#ifndef WP_BASE_API_H
#define WP_BASE_API_H

#define WP_API __attribute__((visibility("default")))

#ifdef WP_INLINE
#define WP_API_INLINE WP_API WP_INLINE
#define WP_INLINED WP_INLINE
#else
#define WP_INLINE static inline
#define WP_API_INLINE WP_INLINE
/* Inline also where the compiler thinks that the function is too large. */
#define WP_INLINED WP_INLINE __attribute__((always_inline))
#endif

#ifdef __cplusplus
#define wp_atomic(type) type
#define WP_ALIGNAS(bytes) alignas(bytes)
#else
#define wp_atomic(type) _Atomic(type)
#define WP_ALIGNAS(bytes) _Alignas(bytes)
#endif

#endif
