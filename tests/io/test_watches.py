# SPDX-License-Identifier: Apache-2.0
"""A user's descriptor stays registered between waits, and each wait is for the right file.

Serves ``_native/watch.c``, and what ``_native/sockets.c`` and ``_runtime/watch.py`` do with it.
Here descriptors are closed, and their numbers given to other files, by the test's OS thread: it
tells nobody, as code in C.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import re
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.virtual import PATIENCE_S, until

from wakeproof import CarrierGroup, ThreadInterruptedError, VirtualThread, io
from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import calls, descriptor, watch
from wakeproof._runtime import socket as own_socket
from wakeproof._runtime.here import ARE_OWN

CARRIERS = 1  # of `group`
SHORT_S = 0.2  # how long a twin's thread is seen not to be woken
pytestmark = [
    pytest.mark.skipif(not ARE_OWN, reason="needs methods of C types exchanged in place"),
    pytest.mark.usefixtures("installed"),
]
Receive = Callable[[socket.socket], bytes]
BOTH = pytest.mark.parametrize(
    "receive",
    [
        pytest.param(lambda sock: sock.recv(9), id="in_c"),
        pytest.param(lambda sock: sock.recvfrom(9)[0], id="in_python"),
    ],
)


@pytest.fixture
def end() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def a_pair(end: ExitStack) -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    end.enter_context(ours)
    end.enter_context(theirs)
    return ours, theirs


def begin(group: Any, call: Callable[..., Any], *args: Any) -> VirtualThread:
    return VirtualThread(call, *args, group=group).start()


def waiting(group: Any, call: Callable[..., Any], *args: Any) -> VirtualThread:
    thread = begin(group, call, *args)
    until(lambda: thread.state == "parked")
    return thread


def outcome(thread: VirtualThread) -> Any:
    return thread.result(PATIENCE_S)


def replaced(sock: socket.socket, end: ExitStack) -> socket.socket:
    """Give the number of a socket to another one, and return what is connected to that."""
    new, new_peer = a_pair(end)
    os.dup2(new.fileno(), sock.fileno())
    new.close()
    return new_peer


def is_closed(thread: VirtualThread) -> bool:
    with pytest.raises(OSError, match="closed") as found:
        outcome(thread)
    return found.value.errno == errno.EBADF


def stays_parked(group: CarrierGroup, thread: VirtualThread) -> bool:
    """Whether nothing wakes the thread, which is interrupted then."""
    outcome(begin(group, time.sleep, SHORT_S))
    is_parked = thread.state == "parked"
    thread.interrupt()
    with pytest.raises(ThreadInterruptedError):
        outcome(thread)
    return is_parked


@contextmanager
def adding(add: Callable[[Any], int]) -> Iterator[None]:
    """Use another `wp__watch_add`, in C and in Python."""

    class Other:
        wp__watch_add = staticmethod(add)

        def __getattr__(self, name: str) -> Any:
            return getattr(lib, name)

    in_c = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(
        lambda address: add(ffi.cast("wp_io *", address))
    )
    address = ctypes.cast(in_c, ctypes.c_void_p).value
    real = int(ffi.cast("uintptr_t", ffi.addressof(lib, "wp__watch_add")))
    bound = own_socket.BOUND
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "lib", Other())
        functions = tuple(address if each == real else each for each in bound[0])
        calls.bind_sockets(functions, *bound[1:])
        try:
            yield
        finally:
            calls.bind_sockets(*bound)


def adds_once() -> Callable[[Any], int]:
    """Return a `wp__watch_add` that does not find out which file a number names now."""
    known: dict[int, int] = {}

    def add(io: Any) -> int:
        address = int(ffi.cast("uintptr_t", io))
        if address not in known:
            known[address] = lib.wp__watch_add(io)
        return known[address]

    return add


# ---- a close that nobody tells of ----


@BOTH
def test_a_close_that_nobody_tells_of_is_found_by_a_look(
    receive: Receive, group: CarrierGroup, end: ExitStack
) -> None:
    ours, theirs = a_pair(end)
    thread = waiting(group, receive, ours)
    os.close(ours.detach())
    assert theirs.recv(1) == b""  # nobody keeps the file open
    assert is_closed(thread)


@BOTH
@pytest.mark.usefixtures("without_looks")
def test_twin_without_looks_it_is_not(
    receive: Receive, group: CarrierGroup, end: ExitStack
) -> None:
    ours, _theirs = a_pair(end)
    thread = waiting(group, receive, ours)
    os.close(ours.detach())
    assert stays_parked(group, thread)


def test_looks_become_rarer(group: CarrierGroup, end: ExitStack) -> None:
    """After as long again as the wait has lasted: of 1.5 s, at 0.1, 0.2, 0.4 and 0.8."""
    ours, theirs = a_pair(end)
    looks: list[int] = []

    def add(io: Any) -> int:
        looks.append(lib.wp_clock_ns())
        return lib.wp__watch_add(io)

    with adding(add):
        thread = waiting(group, ours.recv, 9)
        time.sleep(1.5)
        theirs.sendall(b"hello")
        assert outcome(thread) == b"hello"
    begun, *between, _ = looks
    assert 1 <= len(between) <= 4
    waited = [at - begun for at in between]
    assert waited[0] >= 100_000_000
    assert all(later >= 1.9 * one for one, later in pairwise(waited))


# ---- a number that names another file ----


@BOTH
def test_who_waited_for_the_old_file_gets_nothing_of_the_new_one(
    receive: Receive, group: CarrierGroup, end: ExitStack
) -> None:
    ours, _theirs = a_pair(end)
    thread = waiting(group, receive, ours)
    replaced(ours, end).sendall(b"of the new file")
    assert is_closed(thread)
    assert outcome(begin(group, ours.recv, 99)) == b"of the new file"


@BOTH
def test_twin_who_does_not_look_at_the_file_reads_of_the_new_one(
    receive: Receive, group: CarrierGroup, end: ExitStack
) -> None:
    ours, _theirs = a_pair(end)
    with adding(adds_once()):
        thread = waiting(group, receive, ours)
        replaced(ours, end).sendall(b"new")
        assert outcome(thread) == b"new"


def wakes_who_waits_for_the_new_file(
    receive: Receive, group: CarrierGroup, end: ExitStack
) -> VirtualThread:
    """Wait for one file, and then for another one that has its number; send to that."""
    ours, theirs = a_pair(end)
    thread = waiting(group, receive, ours)
    theirs.sendall(b"old")
    assert outcome(thread) == b"old"
    new_peer = replaced(ours, end)
    thread = waiting(group, receive, ours)
    new_peer.sendall(b"new")
    return thread


@BOTH
@pytest.mark.usefixtures("without_looks")
def test_a_wait_for_the_new_file_is_registered(
    receive: Receive, group: CarrierGroup, end: ExitStack
) -> None:
    assert outcome(wakes_who_waits_for_the_new_file(receive, group, end)) == b"new"


@BOTH
@pytest.mark.usefixtures("without_looks")
def test_twin_a_registration_that_is_taken_for_granted_wakes_nobody(
    receive: Receive, group: CarrierGroup, end: ExitStack
) -> None:
    with adding(adds_once()):
        thread = wakes_who_waits_for_the_new_file(receive, group, end)
        assert stays_parked(group, thread)


@BOTH
@pytest.mark.usefixtures("without_looks")
def test_who_begins_to_wait_for_the_new_file_wakes_who_waited_for_the_old_one(
    receive: Receive, group: CarrierGroup, end: ExitStack
) -> None:
    ours, _theirs = a_pair(end)
    old = [waiting(group, receive, ours) for _ in range(3)]
    new_peer = replaced(ours, end)
    new = waiting(group, receive, ours)
    assert all(is_closed(each) for each in old)
    new_peer.sendall(b"new")
    assert outcome(new) == b"new"


@BOTH
@pytest.mark.usefixtures("without_looks")
def test_a_copy_of_the_old_file_does_not_feed_who_waits_for_the_new_one(
    receive: Receive, group: CarrierGroup, end: ExitStack
) -> None:
    """The old file is still registered under this number, because it has a copy."""
    ours, theirs = a_pair(end)
    thread = waiting(group, receive, ours)
    theirs.sendall(b"old")
    assert outcome(thread) == b"old"
    copy = end.enter_context(socket.socket(fileno=os.dup(ours.fileno())))
    new_peer = replaced(ours, end)
    thread = waiting(group, receive, ours)
    theirs.sendall(b"for the copy")
    assert outcome(begin(group, copy.recv, 99)) == b"for the copy"
    outcome(begin(group, time.sleep, SHORT_S))
    assert thread.state == "parked"
    new_peer.sendall(b"new")
    assert outcome(thread) == b"new"


# ---- one file, two numbers ----


@BOTH
@pytest.mark.usefixtures("without_looks")
def test_each_number_of_a_file_has_its_waits(
    receive: Receive, group: CarrierGroup, end: ExitStack
) -> None:
    ours, theirs = a_pair(end)
    copy = end.enter_context(ours.dup())
    threads = [waiting(group, receive, each) for each in (ours, copy)]
    theirs.sendall(b"one")
    until(lambda: any(not each.is_alive() for each in threads))
    [still] = [each for each in threads if each.is_alive()]
    theirs.sendall(b"two")
    assert sorted(outcome(each) for each in threads) == [b"one", b"two"]
    thread = waiting(group, receive, copy)
    outcome(begin(group, ours.close))
    assert thread.state == "parked"
    theirs.sendall(b"three")
    assert outcome(thread) == b"three"
    assert not still.is_alive()


# ---- two carriers ----


def events_there(group: CarrierGroup) -> list[int]:
    return [each.events for each in io.statistics(group)]


def moves_to_the_second_carrier(group: CarrierGroup, end: ExitStack, is_left: bool) -> list[int]:
    """Wait on one carrier, then on the other; return how many more events each has seen then."""
    ours, theirs = a_pair(end)
    thread = waiting(group[0], ours.recv, 1)
    if is_left:
        theirs.sendall(b"x")
        outcome(thread)
    second = waiting(group[1], ours.recv, 1)
    before = events_there(group)
    theirs.sendall(b"y")
    until(lambda: events_there(group)[1] > before[1])
    outcome(begin(group[0], time.sleep, SHORT_S))
    after = events_there(group)
    for each in (thread, second):
        each.interrupt()
        each.join()
    return [now - then for now, then in zip(after, before, strict=True)]


@pytest.mark.parametrize("is_left", [True, False])
def test_a_carrier_whose_threads_have_left_a_descriptor_is_not_woken_for_it(
    is_left: bool, end: ExitStack
) -> None:
    """Where a thread still waits, it is: so the count is seen to see it."""
    with CarrierGroup(2) as group:
        first, second = moves_to_the_second_carrier(group, end, is_left)
    assert second >= 1
    assert (first == 0) is is_left


# ---- beside descriptors of wakeproof.io ----


@pytest.mark.usefixtures("without_looks")
def test_a_socket_of_wakeproof_io_can_be_selected(group: CarrierGroup) -> None:
    """It is registered with the same poller under the same number."""
    ours, theirs = outcome(begin(group, io.socketpair))
    with ours, theirs:
        thread = waiting(group, select.select, [ours], [], [])
        theirs.sendall(b"x")
        assert outcome(thread)[0] == [ours]


@pytest.mark.usefixtures("without_looks")
def test_twin_who_takes_its_registration_for_that_of_the_watch_waits_for_ever(
    group: CarrierGroup,
) -> None:
    ours, theirs = outcome(begin(group, io.socketpair))
    with ours, theirs, adding(lambda io: max(lib.wp__watch_add(io), 0)):
        thread = waiting(group, select.select, [ours], [], [])
        theirs.sendall(b"x")
        assert stays_parked(group, thread)


@pytest.mark.parametrize("is_told", [True, False])
def test_a_descriptor_that_was_waited_for_can_be_given_to_wakeproof_io(
    is_told: bool, group: CarrierGroup, end: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = a_pair(end)
    thread = waiting(group, ours.recv, 9)
    theirs.sendall(b"x")
    assert outcome(thread) == b"x"

    class Silent:
        wp__watch_closed = staticmethod(lambda _: None)

        def __getattr__(self, name: str) -> Any:
            return getattr(lib, name)

    def takes() -> io.Socket:
        return io.Socket(fileno=ours.fileno())

    if not is_told:  # the twin
        monkeypatch.setattr(descriptor, "lib", Silent())
        with pytest.raises(FileExistsError):
            outcome(begin(group, takes))
        return
    with outcome(begin(group, takes)) as taken:
        ours.detach()
        thread = waiting(group, taken.recv, 9)
        theirs.sendall(b"y")
        assert outcome(thread) == b"y"


# ---- a forked child ----


def epoll_with(fd: int) -> int:
    """Return the epoll with which a descriptor is registered."""
    folder = Path("/proc/self/fdinfo")
    each = list(folder.iterdir())  # one of them is that of this list
    [found] = [
        one.name
        for one in each
        if one.exists() and re.search(rf"^tfd: +{fd} ", one.read_text(), re.MULTILINE)
    ]
    return int(found)


@pytest.mark.parametrize("forgets", [True, False])
@pytest.mark.usefixtures("without_looks")
def test_a_forked_child_takes_no_event_from_its_parent(
    forgets: bool, group: CarrierGroup, end: ExitStack
) -> None:
    """The child has the epoll of its parent's poller."""
    ours, theirs = a_pair(end)
    kept = ours.fileno()
    thread = waiting(group, ours.recv, 9)
    child = os.fork()
    if child == 0:
        try:
            if not forgets:  # the twin: the child removes the registration from its parent's epoll
                select.epoll.fromfd(epoll_with(kept)).unregister(kept)
            watch.closed(kept)
            gc.collect()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    theirs.sendall(b"hello")
    if forgets:
        assert outcome(thread) == b"hello"
    else:
        assert stays_parked(group, thread)
