# SPDX-License-Identifier: Apache-2.0
"""Threads that wait on descriptors: eventfd, pipes, poll and epoll."""

from __future__ import annotations

import pytest
from tests.support.own import of_text, verdicts

from wakeproof.errors import UsageError

HEAD = """
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
static int fd, ends[2], data;
static void gives(int to) { uint64_t one = 1; assert(write(to, &one, 8) == 8); }
static uint64_t takes(int from) { uint64_t n; return read(from, &n, 8) == 8 ? n : 0; }
"""
MAIN = """
static void *f(void *a) { %s; return a; }
int main(void) {
    pthread_t t;
    %s;
    pthread_create(&t, NULL, f, NULL);
    %s;
    pthread_join(t, NULL);
    return 0;
}
"""
ENDED = "ended ended ended"
ASLEEP = "asleep asleep asleep"
RACE = "race race race"
CRASH = "crash crash crash"
EVENT = "fd = eventfd(0, 0)"
PIPE = "assert(pipe(ends) == 0)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("thread", "before", "main", "expected"),
    [
        pytest.param("data = 7; gives(fd)", EVENT, "assert(takes(fd) == 1 && data == 7)", ENDED,
                     id="an eventfd hands data over"),
        pytest.param("gives(fd); data = 7", EVENT, "assert(takes(fd) == 1 && data == 7)", RACE,
                     id="data after the event"),
        pytest.param("", EVENT, "takes(fd)", ASLEEP, id="nobody writes"),
        pytest.param("gives(fd)", EVENT, "gives(fd); printf(\"%d\", (int)takes(fd))", ENDED,
                     id="a read takes all"),
        pytest.param("gives(fd)", EVENT, "gives(fd); takes(fd); takes(fd)", ASLEEP,
                     id="a second read may find nothing"),
        pytest.param("gives(fd)", "fd = eventfd(0, EFD_SEMAPHORE)",
                     "gives(fd); takes(fd); assert(takes(fd) == 1)", ENDED, id="a semaphore"),
        pytest.param("gives(fd)", "fd = eventfd(0, EFD_NONBLOCK)",
                     "uint64_t n = takes(fd); assert(n == 1 || (n == 0 && errno == EAGAIN))",
                     ENDED, id="without waiting"),
        pytest.param("", f"{EVENT}; fcntl(fd, F_SETFL, O_NONBLOCK)",
                     "assert(!takes(fd) && errno == EAGAIN && fcntl(fd, F_GETFL) == O_NONBLOCK)",
                     ENDED, id="without waiting, by fcntl"),
        pytest.param("write(ends[1], \"abc\", 3)", PIPE,
                     "char c[9]; assert(read(ends[0], c, 9) == 3 && !memcmp(c, \"abc\", 3))",
                     ENDED, id="a pipe carries bytes"),
        pytest.param("write(ends[1], \"a\", 1); write(ends[1], \"b\", 1)", PIPE,
                     "char c[2] = \"\"; read(ends[0], c, 1); read(ends[0], c + 1, 1);"
                     "assert(c[0] == 'a' && c[1] == 'b')", ENDED, id="in order"),
        pytest.param("close(ends[1])", PIPE, "char c; assert(read(ends[0], &c, 1) == 0)", ENDED,
                     id="the end of a pipe"),
        pytest.param("close(ends[0])", PIPE, "write(ends[1], \"a\", 1)", CRASH,
                     id="a pipe that nobody reads"),
        pytest.param("close(fd)", EVENT, "gives(fd)", "assertion assertion assertion",
                     id="closed before it is written"),
    ],
)  # fmt: skip
def test_a_descriptor_wakes_who_waits(thread: str, before: str, main: str, expected: str) -> None:
    results = of_text(HEAD + MAIN % (thread, before, main))
    assert verdicts(results) == expected
    for result in results.values():
        assert (result.exhaustive, result.duplicates, result.error) == (True, 0, "")


def test_both_counts_of_an_eventfd_are_seen() -> None:
    text = MAIN % ("gives(fd)", EVENT, 'gives(fd); printf("%d", (int)takes(fd))')
    for result in of_text(HEAD + text).values():
        assert result.texts == {"1", "2"}


TWO = "fd = eventfd(0, 0), assert(pipe(ends) == 0)"
POLL = "struct pollfd of[2] = {{fd, POLLIN, 0}, {ends[0], POLLIN, 0}}; int n = poll(of, 2, %d)"


@pytest.mark.parametrize(
    ("thread", "main", "texts"),
    [
        ("gives(fd)", f'{POLL % -1}; printf("%d %x %x", n, of[0].revents, of[1].revents)',
         {"1 1 0"}),
        ("write(ends[1], \"a\", 1)",
         f'{POLL % -1}; printf("%d %x %x", n, of[0].revents, of[1].revents)', {"1 0 1"}),
        ("close(ends[1])", f'{POLL % -1}; printf("%d %x", n, of[1].revents)', {"1 10"}),
        ("gives(fd); write(ends[1], \"a\", 1)", f'{POLL % -1}; printf("%d", n)', {"1", "2"}),
        ("gives(fd)", f'{POLL % 0}; printf("%d", n)', {"0", "1"}),
        ("gives(fd)", f'{POLL % 5}; printf("%d", n)', {"0", "1"}),
    ],
)  # fmt: skip
def test_poll_returns_what_is_ready(thread: str, main: str, texts: set[str]) -> None:
    results = of_text(HEAD + MAIN % (thread, TWO, main))
    for result in results.values():
        assert (result.verdicts, result.texts) == ({"ended"}, texts)
        assert (result.exhaustive, result.duplicates) == (True, 0)


def test_poll_sleeps_if_nothing_will_be_ready() -> None:
    assert verdicts(of_text(HEAD + MAIN % ("", TWO, POLL % -1))) == ASLEEP
    assert verdicts(of_text(HEAD + MAIN % ("", TWO, POLL % 5))) == ENDED


EPOLL = """
static int set;
static void watch(int how, int number, unsigned events) {
    struct epoll_event event = {.events = events, .data.fd = number};
    assert(epoll_ctl(set, how, number, &event) == 0);
}
static int waits(int limit_ms) {
    struct epoll_event found;
    return epoll_wait(set, &found, 1, limit_ms) == 1 ? found.data.fd : -1;
}
"""
WATCHED = "set = epoll_create1(0), fd = eventfd(0, EFD_NONBLOCK), watch(EPOLL_CTL_ADD, fd, {})"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("events", "thread", "main", "expected"),
    [
        pytest.param("EPOLLIN", "gives(fd)",
                     "assert(waits(-1) == fd && waits(-1) == fd && takes(fd) == 1)", ENDED,
                     id="level: as long as it is ready"),
        pytest.param("EPOLLIN", "", "waits(-1)", ASLEEP, id="nobody writes"),
        pytest.param("EPOLLIN", "", "assert(waits(5) == -1)", ENDED, id="a time"),
        pytest.param("EPOLLIN | EPOLLET", "gives(fd)", "waits(-1); waits(-1)", ASLEEP,
                     id="edge: once"),
        pytest.param("EPOLLIN | EPOLLET", "gives(fd); gives(fd)",
                     "for (int n = 0; n < 2; n += (int)takes(fd)) waits(-1)", ENDED,
                     id="edge: all is read after each"),
        pytest.param("EPOLLIN | EPOLLONESHOT", "gives(fd); gives(fd)",
                     "for (int n = 0; n < 2; n += (int)takes(fd)) waits(-1)", ASLEEP,
                     id="one shot: not armed again"),
        pytest.param("EPOLLIN | EPOLLONESHOT", "gives(fd); gives(fd)",
                     "for (int n = 0; n < 2; n += (int)takes(fd)) waits(-1), "
                     "watch(EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLONESHOT)", ENDED,
                     id="one shot: armed again"),
        pytest.param("0", "gives(fd); watch(EPOLL_CTL_MOD, fd, EPOLLIN)",
                     "assert(waits(-1) == fd)", ENDED, id="asked for while it waits"),
        pytest.param("EPOLLIN", "assert(epoll_ctl(set, EPOLL_CTL_DEL, fd, 0) == 0); gives(fd)",
                     "waits(-1)", ASLEEP, id="no longer watched"),
    ],
)  # fmt: skip
def test_epoll_reports_what_is_ready(events: str, thread: str, main: str, expected: str) -> None:
    results = of_text(HEAD + EPOLL + MAIN % (thread, WATCHED.format(events), main))
    assert verdicts(results) == expected
    for result in results.values():
        assert (result.exhaustive, result.duplicates, result.error) == (True, 0, "")


PIPE_EDGES = """(void)!pipe(ends), set = epoll_create1(0);
    watch(EPOLL_CTL_ADD, ends[%d], EPOLLET | %s), waits(%d)"""


@pytest.mark.parametrize(
    ("end", "events", "first_ms", "thread", "expected"),
    [
        (1, "EPOLLOUT", -1, "close(ends[0])", ENDED),
        (1, "EPOLLOUT", -1, "", ASLEEP),
        (0, "EPOLLIN", 0, "close(ends[1])", ENDED),
        (0, "EPOLLIN", 0, "", ASLEEP),
    ],
)
def test_a_close_is_an_edge_for_the_other_end(
    end: int, events: str, first_ms: int, thread: str, expected: str
) -> None:
    """Linux wakes who watches the other end: EPOLLERR for the writer, EPOLLHUP for the reader."""
    first = PIPE_EDGES % (end, events, first_ms)
    assert verdicts(of_text(HEAD + EPOLL + MAIN % (thread, first, "waits(-1)"))) == expected


WAKER = """
static atomic_int work, is_awake;
static void *f(void *a) {
    atomic_store(&work, 1);
    if (!atomic_exchange(&is_awake, 1)) gives(fd);
    return a;
}
int main(void) {
    pthread_t t[2];
    int done = 0;
    fd = eventfd(0, 0);
    pthread_create(&t[0], NULL, f, NULL);
    pthread_create(&t[1], NULL, f, NULL);
    while (!done) {
        takes(fd);
        %s
    }
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
"""


def test_an_event_that_is_written_only_once_may_be_lost() -> None:
    """Writers skip the write if one is on its way; the reader must say so before it looks."""
    first = "atomic_store(&is_awake, 0); done = atomic_exchange(&work, 0);"
    last = "done = atomic_exchange(&work, 0); atomic_store(&is_awake, 0); if (!done) done = 0;"
    assert verdicts(of_text(HEAD + WAKER % first)) == ENDED
    twice = (HEAD + WAKER % last).replace("while (!done)", "for (int n = 0; n < 2; n += done)")
    assert verdicts(of_text(twice)) == ASLEEP


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("char c; read(0, &c, 1)", "read of a file"),
        ("char c[4097] = \"\"; pipe(ends); write(ends[1], c, 4097)", "more than 4096 bytes"),
        ("set = epoll_create1(0); fd = eventfd(0, 0); watch(EPOLL_CTL_ADD, fd, EPOLLEXCLUSIVE)",
         "an event of epoll other than"),
        ("set = epoll_create1(0); struct pollfd of = {set, POLLIN, 0}; poll(&of, 1, 0)",
         "a set of epoll within"),
        ("for (;;) eventfd(0, 0)", "descriptor"),
        ("close(1)", "the close of standard input, output or error is not modelled"),
    ],
)  # fmt: skip
def test_what_is_not_modelled_is_refused(body: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        of_text(f"{HEAD}{EPOLL}int main(void) {{ {body}; return 0; }}")
