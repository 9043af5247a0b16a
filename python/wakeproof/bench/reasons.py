# SPDX-License-Identifier: Apache-2.0
"""The reasons why rows miss their goals.  Source: docs/inside/performance.md."""

LOCKED = (
    "what comes beside the one locked instruction of a push (mpsc.2), which the floor has as well; "
    "without it tasks are lost (twin mpsc_split_reserve)"
)
CLAIMED = (
    "what comes beside the one locked instruction of a pop (local_queue.4), which the floor has as "
    "well; from the Vyukov queue nobody else may take"
)
ASLEEP = "the machine's wake of a sleeping CPU; the kernel's part is the wakes and waits counted"
AWAKE = "lines that travel: the task, the end of the inbox, and the link to the task"
CROWDED = "another process on these CPUs: a slice that none disturbs takes 34 to 36 ns each"
UNEQUAL = "another process on one of these CPUs: undisturbed slices steal less than 0.1 %"
FENCED = "its two locked instructions: the push ([mpsc.2]) and fence [carrier.7]"
SWITCH = (
    "the switch is a call that saves what calls preserve; only code without functions (the limit) "
    "saves less, and pays where a function around it returns (the row below)"
)
ALL_OF_STD = (
    "every access of the standard library is explored: names of threads, reference counts, the "
    "memory of handles; and more than half of the graphs that are begun are blocked"
)
SECOND_PROCESS = (
    "CPUs that share a core: each process takes more processor time while the other one runs"
)
COLD = (
    "memory: a switch touches two lines of the thread's block and one of its stack, where a fiber "
    "alone has one and one, of a page that has not been touched since the last round"
)
HELD = "what comes beside the two locked instructions: the list of the mutexes that a thread holds"
LOOKING = (
    "the first waiter looks for the mutex on its own carrier, and finds that another thread has "
    "taken it; in Go and the JDK a waiter goes on where it was woken, when the other has stopped"
)
CALLED = "a switch there and back through greenlet, and a step of the kernel"
IN_C = "an object of Python and one of the kernel for each; their making and collection remain"
STACKED = "the part of the carrier's stack that greenlet keeps, and a block of the kernel"
BLOCKS = "an object of Python and one of the kernel for each: the latter lets any OS thread wake it"
KERNEL = "calls of Python and cffi around the kernel's object, which OS threads use as well"
SWITCHED = "each call looks whether a virtual thread makes it, and whether one waits in line"
