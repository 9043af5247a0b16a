# SPDX-License-Identifier: Apache-2.0
"""What limits a row, where its goal is missed.  Source: docs/performance.md."""

LOCKED = (
    "the one locked instruction of a push (Q2): 'ring + one exchange' is the floor of any queue "
    "into which others may push meanwhile; without the lock the same code meets the goal, and "
    "loses tasks (twin mpsc_split_reserve)"
)
ASLEEP = "the machine's wake of a sleeping CPU; the kernel's part is the wakes and waits counted"
AWAKE = "lines that travel: about six times as often as between the two spinning threads below"
CROWDED = "another process on these CPUs: a slice that none disturbs takes 34 to 36 ns each"
UNEQUAL = "another process on one of these CPUs: undisturbed slices steal less than 0.1 %"
FENCED = "its two locked instructions: the push ([Q2]) and fence [S]"
LAST_NODE = (
    "pushes are the same instructions; what differs is how a consumer that has caught up takes the "
    "last node ([Q7] and what comes with it in kernel/mpsc.h)"
)
SWITCH = (
    "the switch is a call that saves what calls preserve; only code without functions (the limit) "
    "saves less, and pays where a function around it returns (the row below)"
)
SECOND_PROCESS = "the first tenth of a second is one process's, and what it found is not kept"
