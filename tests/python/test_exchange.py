# SPDX-License-Identifier: Apache-2.0
"""Builtins call another function in virtual threads, and only there: ``_native/exchange.c``."""

from __future__ import annotations

import _queue
import _thread
import ctypes
import math
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from wakeproof import CarrierGroup, VirtualThread
from wakeproof._runtime.here import ARE_OWN

if ARE_OWN:
    from wakeproof._native.exchange import exchange, original, restore

PATIENCE_S = 60
pytestmark = pytest.mark.skipif(not ARE_OWN, reason="built without Python.h")

SOCKET = socket.socket()
LOCK = _thread.allocate_lock()
QUEUE: _queue.SimpleQueue[int] = _queue.SimpleQueue()
for _ in range(100):
    QUEUE.put(3)
LONG = tuple(range(30))  # more arguments than the C side has room for on its stack
sqrt_before, acquire_before = math.sqrt, LOCK.acquire
POSITIONAL, NAMED, FAST, NOARGS, ONE, METHOD = 0x1, 0x2, 0x80, 0x4, 0x8, 0x200  # METH_...


@dataclass
class Case:
    """A builtin, one of its objects by which to call it, and the arguments of a call."""

    function: Any
    called: Callable[..., Any]
    args: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)

    @property
    def flags(self) -> int:
        flags = ctypes.pythonapi.PyCFunction_GetFlags
        flags.argtypes = [ctypes.py_object]
        return int(flags(self.called))

    @property
    def received(self) -> tuple[Any, ...]:
        """What the replacement receives: a method also its object."""
        is_method = self.function is not self.called
        return (self.called.__self__, *self.args) if is_method else self.args  # type: ignore[attr-defined]

    def call(self) -> Any:
        return self.called(*self.args, **self.named)


def _of(thing: Any, name: str, *args: Any, **named: Any) -> Case:
    called = getattr(thing, name)
    owner = thing if isinstance(thing, type(os)) else _definer(type(thing), name)
    return Case(getattr(owner, name), called, args, named)


def _definer(type_: type, name: str) -> type:
    return next(base for base in type_.__mro__ if name in vars(base))


CASES = [
    _of(os, "getppid"),
    _of(math, "sqrt", 4),
    _of(socket, "inet_pton", socket.AF_INET, "127.0.0.1"),
    _of(socket._socket, "getaddrinfo", "127.0.0.1", 80, type=socket.SOCK_STREAM),  # type: ignore[attr-defined]
    _of(math, "gcd", 4, 6),
    _of(math, "lcm", *LONG[1:]),
    _of(os, "access", "/", os.R_OK, follow_symlinks=True),
    _of(SOCKET, "fileno"),
    _of(b"ab", "join", [b"c", b"d"]),
    _of(SOCKET, "getsockopt", socket.SOL_SOCKET, socket.SO_TYPE),
    _of("{}{}{a}", "format", *LONG, a=3),
    _of("{}{}", "format", *LONG),
    _of(LOCK, "acquire", False, timeout=-1),
    _of("abcb", "center", 9),
    _of("abc", "encode", "ascii", errors="strict"),
    _of("abc", "encode"),
    _of(QUEUE, "get", block=False),
]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.function))


@contextmanager
def exchanged(function: Any, replacement: Callable[..., Any]) -> Iterator[None]:
    exchange(function, replacement)
    try:
        yield
    finally:
        restore(function)


@pytest.fixture(scope="module")
def group() -> Iterator[CarrierGroup]:
    with CarrierGroup(1) as made:
        yield made


def in_virtual(group: CarrierGroup, call: Callable[[], Any]) -> Any:
    return VirtualThread(call, group=group).start().result(PATIENCE_S)


def test_the_cases_are_of_each_calling_convention() -> None:
    found = {(case.flags, case.function is case.called) for case in CASES}
    conventions = {NOARGS, ONE, POSITIONAL, POSITIONAL | NAMED, FAST, FAST | NAMED}
    assert found >= {(each, kind) for each in conventions for kind in (False, True)}
    assert (METHOD | FAST | NAMED, False) in found


@each_case
def test_a_virtual_thread_calls_the_replacement(case: Case, group: CarrierGroup) -> None:
    calls: list[Any] = []

    def replacement(*args: Any, **named: Any) -> str:
        calls.append((args, named))
        return "replaced"

    with exchanged(case.function, replacement):
        assert in_virtual(group, case.call) == "replaced"
    assert calls == [(case.received, case.named)]


@each_case
def test_an_os_thread_calls_the_original(case: Case, group: CarrierGroup) -> None:
    expected = case.call()
    with exchanged(case.function, lambda *_, **__: "replaced"):
        if case.called == LOCK.acquire:
            LOCK.release()
        assert case.call() == expected
        assert group.submit(lambda: len("a task is no virtual thread")).result(PATIENCE_S)


@each_case
def test_the_original_can_be_called_by_its_replacement(case: Case, group: CarrierGroup) -> None:
    if case.called == LOCK.acquire and LOCK.locked():
        LOCK.release()
    expected = case.call()
    if case.called == LOCK.acquire:
        LOCK.release()
    was = original(case.function)
    with exchanged(case.function, lambda *args, **named: [was(*args, **named)]):
        assert in_virtual(group, case.call) == [expected]


@each_case
def test_restored_it_is_as_it_was(case: Case, group: CarrierGroup) -> None:
    for _ in range(3):  # the slot is used again
        with exchanged(case.function, lambda *_, **__: "replaced"):
            assert in_virtual(group, case.call) == "replaced"
        assert in_virtual(group, case.call) != "replaced"


def test_names_and_bound_methods_from_before_go_through_it(group: CarrierGroup) -> None:
    def are_replaced() -> list[bool]:
        return [sqrt_before(4) == "replaced", acquire_before(False) == "replaced"]  # type: ignore[comparison-overlap]

    with (
        exchanged(math.sqrt, lambda _: "replaced"),
        exchanged(type(LOCK).acquire, lambda *_: "replaced"),
    ):
        assert in_virtual(group, are_replaced) == [True, True]


def test_twin_names_from_before_do_not_go_through_an_attribute(
    group: CarrierGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(math, "sqrt", lambda _: "replaced")
    assert in_virtual(group, lambda: [math.sqrt(4) == "replaced", sqrt_before(4)]) == [True, 2.0]  # type: ignore[comparison-overlap]


def test_a_subclass_inherits_it(group: CarrierGroup) -> None:
    class Mine(str):
        __slots__ = ()

    with exchanged(str.encode, lambda self, *_: f"replaced {self}"):
        assert in_virtual(group, lambda: Mine("me").encode()) == "replaced me"


def test_specialized_code_goes_through_it(group: CarrierGroup) -> None:
    def loop() -> float:
        return sum(sqrt_before(4) for _ in range(1000))

    assert in_virtual(group, loop) == 2000  # the interpreter has specialized its instructions
    with exchanged(math.sqrt, lambda _: 1):
        assert in_virtual(group, loop) == 1000
        assert loop() == 2000
    assert in_virtual(group, loop) == 2000


def test_errors_of_the_replacement_are_raised(group: CarrierGroup) -> None:
    def refuse(*_: object) -> None:
        raise LookupError("refused")

    with exchanged(math.sqrt, refuse), pytest.raises(LookupError, match="refused"):
        in_virtual(group, lambda: math.sqrt(4))


def test_a_replacement_may_be_restored_while_it_runs(group: CarrierGroup) -> None:
    def ends_itself(_: float) -> str:
        restore(math.sqrt)
        return "last"

    exchange(math.sqrt, ends_itself)
    assert in_virtual(group, lambda: math.sqrt(4)) == "last"
    assert in_virtual(group, lambda: math.sqrt(4)) == 2


def test_what_cannot_be_exchanged_is_refused() -> None:
    for wrong in (lambda: None, str, LOCK.acquire, 3):
        with pytest.raises(TypeError, match=r"cannot be exchanged; allowed: a builtin function"):
            exchange(wrong, len)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="replacement is 3; allowed: a callable"):
        exchange(math.sqrt, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sqrt> is not exchanged"):
        restore(math.sqrt)
    with (
        exchanged(math.sqrt, len),
        pytest.raises(ValueError, match="sqrt> is exchanged already; restore it first"),
    ):
        exchange(math.sqrt, len)


def test_a_call_after_the_group_has_ended_is_an_os_threads() -> None:
    with exchanged(time.monotonic, lambda: "replaced"):
        with CarrierGroup(1) as group:
            assert in_virtual(group, time.monotonic) == "replaced"
        assert isinstance(time.monotonic(), float)
