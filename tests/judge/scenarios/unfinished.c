/* A scenario that does not compile. */
#include "stress.h"

STRESS_TEST(unfinished, .state_size = sizeof(struct missing));
