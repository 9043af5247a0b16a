# SPDX-License-Identifier: Apache-2.0
"""The system call futex: threads that are moved from one word to another, and wakes that select by
bits."""

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


BITS = """
static void waits_for(void *word, unsigned value, unsigned bits) {
    futex(word, FUTEX_WAIT_BITSET, value, 0, 0, bits);
}
static long wakes_bits(void *word, unsigned most, unsigned bits) {
    return futex(word, FUTEX_WAKE_BITSET, most, 0, 0, bits);
}
static atomic_uint word, other;
"""
# Threads 0 and 1 wait with bits 1 and 2.
TWO_BITS = (
    BITS
    + """
static void *f(void *bits) { while (!word) waits_for(&word, 0, (long)bits); return bits; }
int main(void) {
    pthread_t t[2];
    for (long i = 0; i < 2; i++) pthread_create(&t[i], NULL, f, (void *)(i + 1));
    %s
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
"""
)


@pytest.mark.parametrize(
    ("main", "holds"),
    [
        pytest.param("word = 1; wakes_bits(&word, 9, 1); wakes_bits(&word, 9, 2);", True,
                     id="one wake for each bit"),
        pytest.param("word = 1; wakes_bits(&word, 9, 1);", False, id="one of the bits"),
        pytest.param("word = 1; wakes_bits(&word, 9, 4);", False, id="a bit that nobody has"),
        pytest.param("word = 1; wakes_bits(&word, 9, 7);", True, id="both bits in one wake"),
        pytest.param("word = 1; wakes_bits(&word, 1, 7);", False, id="one wake for both"),
        pytest.param("word = 1; wakes(&word, 9);", True, id="a wake without bits has all"),
        pytest.param("word = 1; moves(&word, 0, 9, &other, 1); wakes_bits(&other, 9, 1);"
                     "wakes_bits(&other, 9, 2);", True, id="who was moved has its bits still"),
        pytest.param("word = 1; moves(&word, 0, 9, &other, 1); wakes_bits(&other, 9, 1);", False,
                     id="who was moved is not woken for another bit"),
        pytest.param("word = 1; moves(&word, 2, 9, &other, 1);", True,
                     id="a requeue wakes without bits"),
        pytest.param("word = 1; assert(wakes_bits(&word, 9, 0) == -1 && errno == EINVAL);"
                     "wakes(&word, 9);", True, id="no bit at all is an error of the wake"),
    ],
)  # fmt: skip
def test_who_waits_with_a_bit_is_woken_for_it(main: str, holds: bool) -> None:
    results = of_text(HEAD + TWO_BITS % main)
    for model in (Model.SC, Model.TSO):
        result = results[model]
        assert (result.exhaustive, result.duplicates, result.error) == (True, 0, "")
        assert result.verdicts.isdisjoint(LOST) == holds
        assert "ended" in result.verdicts


@pytest.mark.parametrize(("bit", "holds"), [(2, True), (1, False)])
def test_each_wait_has_its_own_bits(bit: int, holds: bool) -> None:
    text = """
    static void *f(void *u) {
        if (futex(&word, FUTEX_WAIT_BITSET, 0, 0, 0, 1)) return u;
        while (word == 1) waits_for(&word, 1, 2);
        return u;
    }
    int main(void) {
        pthread_t t;
        pthread_create(&t, NULL, f, NULL);
        word = 1; wakes_bits(&word, 1, 1);
        word = 2; wakes_bits(&word, 1, %d);
        pthread_join(t, NULL);
        return 0;
    }
    """
    result = of_text(HEAD + BITS + text % bit)[Model.SC]
    assert result.exhaustive
    assert result.verdicts.isdisjoint(LOST) == holds


def test_a_wait_without_bits_is_an_error_and_one_with_all_is_a_plain_wait() -> None:
    main = """
    int main(void) {
        assert(futex(&word, FUTEX_WAIT_BITSET, 0, 0, 0, 0) == -1 && errno == EINVAL);
        assert(futex(&word, FUTEX_WAIT_BITSET, 1, 0, 0, 6) == -1 && errno == EAGAIN);
        return 0;
    }
    """
    assert of_text(HEAD + BITS + main)[Model.SC].verdicts == {"ended"}
    plain = TWO_BITS.replace("(long)bits", "FUTEX_BITSET_MATCH_ANY")
    result = of_text(HEAD + plain % "word = 1; wakes_bits(&word, 9, -1);")[Model.SC]
    steps = [step.location for found in result.outcomes for step in found.example]
    assert (result.verdicts, result.exhaustive) == ({"ended"}, True)
    assert "requeues" not in steps


def test_one_wake_may_find_any_of_those_who_have_the_bit_and_nobody_else() -> None:
    text = """
    static void *f(void *bits) { waits_for(&word, 0, (long)bits); return bits; }
    int main(void) {
        long bits[] = {3, 2, 6};
        pthread_t t[3];
        for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, f, (void *)bits[i]);
        long first = wakes_bits(&word, 1, WANTED);
        word = 1;  /* from now on nobody falls asleep there */
        if (first == 1) {
            pthread_join(t[WHO], NULL);
            printf("%ld", wakes(&word, 9));
            for (int i = 0; i < 3; i++) if (i != WHO) pthread_join(t[i], NULL);
        } else wakes(&word, 9), printf("none");
        return 0;
    }
    """
    for bit, finds in ((1, {0}), (2, {0, 1, 2}), (4, {2}), (5, {0, 2}), (8, set())):
        for who in range(3):  # it ends with two asleep, if the first wake was its own
            source = text.replace("WANTED", str(bit)).replace("WHO", str(who))
            result = of_text(HEAD + BITS + source)[Model.SC]
            assert result.exhaustive
            assert ("2" in result.texts) == (who in finds), (bit, who)


def test_who_waits_with_a_bit_until_a_time_is_woken_for_it_or_times_out() -> None:
    text = """
    static void *f(void *u) {
        struct timespec soon = {0, 1000};
        long end = futex(&word, FUTEX_WAIT_BITSET, 0, &soon, 0, 2);
        printf("%s ", end == 0 ? "woken" : errno == EAGAIN ? "again" : "late");
        return u;
    }
    int main(void) {
        pthread_t t;
        pthread_create(&t, NULL, f, NULL);
        long woken = wakes_bits(&word, 9, WANTED);
        word = 1;
        pthread_join(t, NULL);
        printf("%ld", woken);
        return 0;
    }
    """
    late = {"0 / late ", "0 / again "}
    for bit, texts in (("2", late | {"1 / woken "}), ("1", late)):
        result = of_text(HEAD + BITS + text.replace("WANTED", bit))[Model.SC]
        assert (result.verdicts, result.exhaustive) == ({"ended"}, True)
        assert result.texts == texts


@pytest.mark.parametrize(
    ("waits", "holds"),
    [
        pytest.param("is_writer ? WRITER : READER", True, id="each waits with its bit"),
        pytest.param("READER", False, id="writers wait as readers do; the last reader finds none"),
    ],
)
def test_a_lock_of_readers_and_writers_that_wakes_one_writer_or_all_readers(
    waits: str, holds: bool
) -> None:
    """The last reader wakes a writer; a writer wakes one writer and all readers."""
    text = """
    enum { READER = 1, WRITER = 2, HELD = 0x100 };
    static int data;
    static void waits_as(int is_writer, unsigned seen) { waits_for(&word, seen, WAITS); }
    static void *writes(void *u) {
        unsigned free = 0;
        while (!atomic_compare_exchange_strong(&word, &free, HELD)) {
            waits_as(1, free);
            free = 0;
        }
        data++;
        word = 0;
        if (!wakes_bits(&word, 1, WRITER)) wakes_bits(&word, INT_MAX, READER);
        return u;
    }
    static void *reads(void *u) {
        for (;;) {
            unsigned seen = word;
            if (seen == HELD) waits_as(0, seen);
            else if (atomic_compare_exchange_strong(&word, &seen, seen + 1)) break;
        }
        assert(data <= 1);
        if (atomic_fetch_sub(&word, 1) == 1) wakes_bits(&word, 1, WRITER);
        return u;
    }
    int main(void) {
        pthread_t t[2];
        for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, reads, NULL);
        writes(NULL);
        for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
        return 0;
    }
    """
    results = of_text(HEAD + BITS + text.replace("WAITS", waits))
    for model in (Model.SC, Model.TSO):
        assert results[model].exhaustive
        assert results[model].verdicts.isdisjoint(LOST) == holds


def test_other_operations_are_refused() -> None:
    text = (
        "int main(void) { static atomic_uint a; futex(&a, FUTEX_LOCK_PI, 0, 0, 0, 0); return 0; }"
    )
    with pytest.raises(UsageError, match="is not modelled"):
        of_text(HEAD + text)


def test_a_program_that_moves_nobody_takes_no_lock() -> None:
    main = "from = 1; wakes(&from, 9);"
    for result in of_text(HEAD + TWO % main).values():
        steps = [step.location for found in result.outcomes for step in found.example]
        assert "requeues" not in steps
        assert verdicts({Model.SC: result}) == "ended"
