# SPDX-License-Identifier: Apache-2.0
"""Positions that are known from other executions (own_past.c) hide no defect."""

from __future__ import annotations

import pytest
from tests.support.own import CXX, of_text, verdicts

SWITCHED = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int switches[2];
%s
static void *one(void *unused)
{
	if (atomic_load_explicit(&switches[0], memory_order_relaxed))
		%s
	return unused;
}

static void *other(void *unused)
{
	if (atomic_load_explicit(&switches[1], memory_order_relaxed))
		%s
	return unused;
}

static void *turn_on(void *which)
{
	atomic_store_explicit((atomic_int *)which, 1, memory_order_relaxed);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	%s
	pthread_create(&threads[0], NULL, one, NULL);
	pthread_create(&threads[1], NULL, other, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[2 + i], NULL, turn_on, &switches[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""
"""Each of two threads does something if its switch is on, and a third and a fourth turn them on."""
LOCKED = """
#include <cassert>
#include <mutex>
#include <string>
#include <thread>

static std::mutex mutex;
static std::string *letters;

static void add(const char *letter)
{
	std::lock_guard<std::mutex> held(mutex);

	letters->append(letter);
}

int main()
{
	letters = new std::string;
	std::thread one([] { add("a"); }), two([] { add("b"); });

	one.join();
	two.join();
	assert(*letters == "ab");
	delete letters;
}
"""
LAST = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(void *) kept;

static void *keeps(void *unused)
{
	atomic_store_explicit(&kept, malloc(8), memory_order_relaxed);
	return unused;
}

static void *forgets(void *unused)
{
	atomic_store_explicit(&kept, NULL, memory_order_relaxed);
	return unused;
}

int main(void)
{
	pthread_t one, other;

	pthread_create(&one, NULL, forgets, NULL);
	pthread_create(&other, NULL, keeps, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	return 0;
}
"""
KEPT = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int value;
int kept;

static void *keeps(void *unused)
{
	kept = atomic_load_explicit(&value, memory_order_relaxed);
	printf("%d", kept);
	return unused;
}

static void *sets(void *unused)
{
	atomic_store_explicit(&value, 1, memory_order_relaxed);
	return unused;
}

int main(void)
{
	pthread_t one, other;

	pthread_create(&one, NULL, keeps, NULL);
	pthread_create(&other, NULL, sets, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	return 0;
}
"""
TWO_LOCKS = """
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, next = PTHREAD_MUTEX_INITIALIZER;
static int is_set;

static void *sets(void *unused)
{
	pthread_mutex_lock(&mutex);
	is_set = 1;
	pthread_mutex_unlock(&mutex);
	pthread_mutex_lock(&next);
	pthread_mutex_unlock(&next);
	return unused;
}

static void *loses(void *unused)
{
	pthread_mutex_lock(&mutex);
	int was_set = is_set;
	pthread_mutex_unlock(&mutex);
	pthread_mutex_lock(&next);
	if (was_set)
		malloc(8);
	pthread_mutex_unlock(&next);
	return unused;
}

int main(void)
{
	pthread_t one, other;

	pthread_create(&one, NULL, sets, NULL);
	pthread_create(&other, NULL, loses, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	return 0;
}
"""
ORDER = """
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_set;

static void *sets(void *unused)
{
	pthread_mutex_lock(&mutex);
	is_set = 1;
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *loses(void *unused)
{
	%s
	return unused;
}

int main(void)
{
	pthread_t one, other;

	pthread_create(&one, NULL, sets, NULL);
	pthread_create(&other, NULL, loses, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	return 0;
}
"""


def _switched(data: str, one: str, other: str, first: str = "") -> str:
    return SWITCHED % (data, one, other, first)


def test_a_race_of_two_steps_that_are_known_from_executions_without_it_is_found() -> None:
    results = of_text(_switched("static int shared;", "*(volatile int *)&shared = 1;",
                                "*(volatile int *)&shared = 2;"))  # fmt: skip
    assert verdicts(results) == "race race race"


def test_a_read_and_a_write_that_are_known_race() -> None:
    results = of_text(_switched("static int shared;", "(void)*(volatile int *)&shared;",
                                "*(volatile int *)&shared = 2;"))  # fmt: skip
    assert verdicts(results) == "race race race"


def test_reads_that_are_known_do_not_race() -> None:
    read = "(void)*(volatile int *)&shared;"
    results = of_text(_switched("static int shared;", read, read))
    assert verdicts(results) == "ended ended ended"
    assert {result.executions for result in results.values()} == {4}


def _freed(one: str, other: str) -> str:
    first = "block = malloc(sizeof(*block)); *block = 0;"
    return verdicts(of_text(_switched("static atomic_int *block;", one, other, first)))


def test_a_step_on_memory_that_another_known_step_frees_is_found() -> None:
    assert _freed("atomic_fetch_add(block, 1);", "free(block);") == "race race race"


def test_a_known_step_on_memory_that_is_freed_by_then_comes_after_the_free() -> None:
    # threads run in the order of their numbers
    assert _freed("free(block);", "atomic_fetch_add(block, 1);") == "crash crash crash"


@CXX
def test_what_the_library_of_cxx_writes_follows_from_the_order_of_locks() -> None:
    results = of_text(LOCKED, suffix=".cpp")
    assert verdicts(results) == "assertion assertion assertion"
    assert all("ended" in result.verdicts for result in results.values())


def test_a_leak_follows_from_the_last_value_of_a_location() -> None:
    for result in of_text(LAST).values():
        found = {outcome.verdict: outcome.count for outcome in result.outcomes}
        assert found == {"ended": 1, "assertion": 1}


UNDER_LOCK = """
	pthread_mutex_lock(&mutex);
	if (!is_set)
		malloc(8);
	pthread_mutex_unlock(&mutex);"""
AFTER_LOCK = """
	pthread_mutex_lock(&mutex);
	int was_set = is_set;
	pthread_mutex_unlock(&mutex);
	if (!was_set)
		malloc(8);"""


@pytest.mark.parametrize("loses", [UNDER_LOCK, AFTER_LOCK])
def test_a_leak_follows_from_what_another_thread_has_written(loses: str) -> None:
    for result in of_text(ORDER % loses).values():
        found = {outcome.verdict: outcome.count for outcome in result.outcomes}
        assert found == {"ended": 1, "assertion": 1}


def test_what_is_kept_follows_from_the_value_that_was_read() -> None:
    for result in of_text(KEPT).values():
        assert {outcome.text: outcome.count for outcome in result.outcomes} == {"0": 1, "1": 1}


def test_what_a_thread_has_read_before_tells_its_pasts_apart() -> None:
    for result in of_text(TWO_LOCKS).values():
        found = {outcome.verdict: outcome.count for outcome in result.outcomes}
        assert found == {"ended": 2, "assertion": 2}
