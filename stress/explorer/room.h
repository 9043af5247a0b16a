/* SPDX-License-Identifier: Apache-2.0
 * room.h - room for one more item: an array that is full is replaced by a larger one. */
#ifndef WP_EXPLORER_ROOM_H
#define WP_EXPLORER_ROOM_H

#include <stdlib.h>

/* False: there is no memory, and the array is unchanged. `first`: the room of the first
 * allocation. */
#define explore_has_room(items, count, room, first)                                        \
	__extension__({                                                                    \
		void *more_ = (items);                                                     \
		if ((count) == (room)) {                                                   \
			size_t room_ = (room) != 0 ? 2 * (size_t)(room) : (size_t)(first); \
			more_ = realloc((items), room_ * sizeof(*(items)));                \
			if (more_ != NULL) {                                               \
				(items) = more_;                                           \
				(room) = (__typeof__(room))room_;                          \
			}                                                                  \
		}                                                                          \
		more_ != NULL;                                                             \
	})

#endif
