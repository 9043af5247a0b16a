# SPDX-License-Identifier: Apache-2.0
"""The system call futex: threads that are moved from one word to another."""

from __future__ import annotations

import pytest
from tests.support.own import of_text, verdicts

from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import Model

HEAD = """
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long futex(void *word, int how, unsigned value, void *time, void *other, unsigned last) {
    return syscall(SYS_futex, word, how | FUTEX_PRIVATE_FLAG, value, time, other, last);
}
static void waits(void *word, unsigned value) { futex(word, FUTEX_WAIT, value, 0, 0, 0); }
static long wakes(void *word, unsigned most) { return futex(word, FUTEX_WAKE, most, 0, 0, 0); }
static long moves(void *from, unsigned wake, long move, void *to, unsigned value) {
    return futex(from, FUTEX_CMP_REQUEUE, wake, (void *)move, to, value);
}
"""
TWO = """
static atomic_uint from, to;
static void *f(void *u) { while (!from) waits(&from, 0); return u; }
int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, f, NULL);
    %s
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
"""
LOST = ("lost_wakeup", "asleep")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("main", "holds"),
    [
        pytest.param("from = 1; moves(&from, 1, 9, &to, 1); wakes(&to, 9);", True,
                     id="one is woken, the other one is moved, and woken there"),
        pytest.param("from = 1; moves(&from, 1, 9, &to, 1);", False, id="nobody wakes it there"),
        pytest.param("from = 1; moves(&from, 2, 9, &to, 1);", True, id="both are woken"),
        pytest.param("from = 1; moves(&from, 1, 0, &to, 1); wakes(&to, 9);", False,
                     id="none is moved"),
        pytest.param("from = 1; moves(&from, 0, 9, &to, 1); wakes(&from, 9);", False,
                     id="who was moved is not found where it slept"),
        pytest.param("from = 1; moves(&from, 0, 9, &to, 1); wakes(&to, 1);", False,
                     id="one wake, two that were moved"),
        pytest.param("from = 1; moves(&from, 0, 9, &to, 1); wakes(&to, 1); wakes(&to, 1);", True,
                     id="two wakes"),
        pytest.param("from = 1; moves(&from, 0, 9, &to, 1);"
                     "futex(&to, FUTEX_REQUEUE, 0, (void *)9, &from, 0); wakes(&from, 9);", True,
                     id="moved back"),
        pytest.param("from = 1; assert(moves(&from, 9, 9, &to, 2) == -1 && errno == EAGAIN);"
                     "wakes(&from, 9);", True, id="another value: nothing happens"),
    ],
)  # fmt: skip
def test_who_is_moved_is_woken_there(main: str, holds: bool) -> None:
    results = of_text(HEAD + TWO % main)
    for model in (Model.SC, Model.TSO):
        result = results[model]
        assert (result.exhaustive, result.duplicates, result.error) == (True, 0, "")
        assert result.verdicts.isdisjoint(LOST) == holds
        assert "ended" in result.verdicts


def test_the_count_is_of_those_that_were_woken_and_moved() -> None:
    main = 'from = 1; printf("%ld ", moves(&from, 1, 9, &to, 1)); printf("%ld", wakes(&to, 9));'
    results = of_text(HEAD + TWO % main)
    assert results[Model.SC].texts == {"0 0", "1 0", "2 1"}


def test_one_wake_may_find_who_was_moved_or_who_slept_there_before() -> None:
    text = """
    static atomic_uint from, to;
    static void *moved(void *u) { waits(&from, 0); return u; }
    static void *direct(void *u) { waits(&to, 0); return u; }
    int main(void) {
        pthread_t t[2];
        pthread_create(&t[0], NULL, moved, NULL);
        pthread_create(&t[1], NULL, direct, NULL);
        long count = moves(&from, 0, 9, &to, 0);
        to = 1;  /* from now on nobody falls asleep there */
        if (count == 1 && wakes(&to, 1) == 1) {
            pthread_join(t[WHO], NULL);
            printf("%ld", wakes(&to, 9));
            pthread_join(t[!WHO], NULL);
        }
        return 0;
    }
    """
    for who in "01":  # it comes back without a second wake, if the first one was its own
        result = of_text(HEAD + text.replace("WHO", who))[Model.SC]
        assert result.exhaustive
        assert "1" in result.texts


def test_who_waits_until_a_time_is_moved_or_times_out() -> None:
    text = """
    static atomic_uint from, to;
    static void *f(void *u) {
        struct timespec soon = {0, 1000};
        long end = futex(&from, FUTEX_WAIT, 0, &soon, 0, 0);
        printf("%s ", end == 0 ? "woken" : errno == EAGAIN ? "again" : "late");
        return u;
    }
    int main(void) {
        pthread_t t;
        pthread_create(&t, NULL, f, NULL);
        moves(&from, 0, 9, &to, 0);
        long woken = wakes(&to, 9);
        from = 1;
        pthread_join(t, NULL);
        printf("%ld", woken);
        return 0;
    }
    """
    result = of_text(HEAD + text)[Model.SC]
    assert (result.verdicts, result.exhaustive) == ({"ended"}, True)
    assert result.texts == {"0 / late ", "1 / woken ", "0 / again "}


CONDITION = """
static atomic_uint mutex, sequence;  /* mutex: 0 free, 1 held, 2 held and somebody may sleep */
static int ready;
static void lock(unsigned as) {
    unsigned free = 0;
    if (atomic_compare_exchange_strong(&mutex, &free, as)) return;
    while (atomic_exchange(&mutex, 2)) waits(&mutex, 2);
}
static void unlock(void) { if (atomic_exchange(&mutex, 0) == 2) wakes(&mutex, 1); }
static void *f(void *u) {
    lock(1);
    while (!ready) {
        unsigned seen = sequence;
        unlock();
        waits(&sequence, seen);
        lock(2);
    }
    unlock();
    return u;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, f, NULL);
    lock(1);
    ready = 1;
    unsigned now = ++sequence;
    %s
    moves(&sequence, %d, INT_MAX, &mutex, now);
    unlock();
    pthread_join(t, NULL);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("marks", "wake", "holds"),
    [
        pytest.param("mutex = 2;", 0, True, id="the mutex says that somebody may sleep"),
        pytest.param("", 0, False, id="it does not, and its unlock wakes nobody"),
        pytest.param("", 1, True, id="one is woken, and marks the mutex itself"),
    ],
)
def test_a_broadcast_that_moves_waiters_to_the_mutex(marks: str, wake: int, holds: bool) -> None:
    results = of_text(HEAD + CONDITION % (marks, wake))
    for model in (Model.SC, Model.TSO):
        assert results[model].exhaustive
        assert results[model].verdicts.isdisjoint(LOST) == holds


@pytest.mark.parametrize("call", ["FUTEX_WAIT_BITSET, 0, 0, 0, 5", "FUTEX_WAKE_BITSET, 1, 0, 0, 5",
                                  "FUTEX_LOCK_PI, 0, 0, 0, 0"])  # fmt: skip
def test_other_operations_are_refused(call: str) -> None:
    with pytest.raises(UsageError, match="is not modelled"):
        of_text(HEAD + f"int main(void) {{ static atomic_uint a; futex(&a, {call}); return 0; }}")


def test_a_program_that_moves_nobody_takes_no_lock() -> None:
    main = "from = 1; wakes(&from, 9);"
    for result in of_text(HEAD + TWO % main).values():
        steps = [step.location for found in result.outcomes for step in found.example]
        assert "requeues" not in steps
        assert verdicts({Model.SC: result}) == "ended"
