# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of attributes, globals, closures and items as operations of threads.

A thread stops before each instruction that touches one.  Two of them commute unless they have the
same name and one writes; all items and elements, of whatever list or dict, have one name.  What a
function of C does is judged by its name: `append` writes, `len` reads; an unknown one writes.

Source: instructions of the user's code, by ``sys.monitoring``; 3.11: by ``sys.settrace``.
"""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType
from typing import Any

from wakeproof.judge.schedules import modelled
from wakeproof.judge.schedules.operation import LINE, READ, WRITE
from wakeproof.judge.schedules.waits import is_of_user

_ITEMS = "items"
_READS = {
    "LOAD_ATTR": READ, "LOAD_GLOBAL": READ, "LOAD_NAME": READ, "LOAD_DEREF": READ,
    "STORE_ATTR": WRITE, "STORE_GLOBAL": WRITE, "STORE_DEREF": WRITE, "STORE_NAME": WRITE,
    "DELETE_ATTR": WRITE, "DELETE_GLOBAL": WRITE, "DELETE_DEREF": WRITE,
}  # fmt: skip
_OF_ITEMS = {
    "BINARY_SUBSCR": READ, "BINARY_SLICE": READ, "CONTAINS_OP": READ, "FOR_ITER": READ,
    "UNPACK_SEQUENCE": READ, "COMPARE_OP": READ, "BINARY_OP": READ, "UNARY_NOT": READ,
    "TO_BOOL": READ, "GET_ITER": READ, "STORE_SUBSCR": WRITE, "STORE_SLICE": WRITE,
    "DELETE_SUBSCR": WRITE,
}  # fmt: skip
_TRUTHS = frozenset({"COMPARE_OP", "CONTAINS_OP", "IS_OP", "UNARY_NOT", "TO_BOOL"})
"""What leaves True or False, which a jump can test without looking at items."""
_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_LOOK = frozenset({
    "get", "keys", "values", "items", "copy", "index", "count", "len", "sorted", "sum", "min",
    "max", "any", "all", "list", "tuple", "set", "dict", "repr", "str", "iter", "enumerate", "zip",
    "range", "isinstance", "print", "join", "format", "startswith",
})  # fmt: skip
_BUILTINS = frozenset(dir(builtins))


class _Name:
    """What all accesses by one name have in common."""

    def __init__(self, name: str) -> None:
        self.name = name


_TOOL = 4  # of sys.monitoring; no tool of the standard library has it
_name: Callable[[str], _Name] = cache(_Name)


@cache
def touches(code: CodeType) -> dict[int, tuple[_Name, int]]:
    """Return what each instruction touches, and how, by its offset."""
    found = {}
    called = before = ""
    for one in dis.get_instructions(code):
        name = one.opname
        if name == "LOAD_METHOD":
            called = str(one.argval)
            found[one.offset] = (_name(called), READ)
        elif name in _READS:
            called = str(one.argval)
            if name not in ("LOAD_GLOBAL", "LOAD_NAME") or called not in _BUILTINS:
                found[one.offset] = (_name(called), _READS[name])
        elif name == "BINARY_OP" and one.argrepr.endswith("="):  # += changes a list
            found[one.offset] = (_name(_ITEMS), WRITE)
        elif name in _OF_ITEMS:
            found[one.offset] = (_name(_ITEMS), _OF_ITEMS[name])
        elif "JUMP_" in name and name.endswith(("IF_TRUE", "IF_FALSE")) and before not in _TRUTHS:
            found[one.offset] = (_name(_ITEMS), READ)
        elif name in _CALLS and called:
            found[one.offset] = (_name(_ITEMS), READ if called in _LOOK else WRITE)
        before = name
    return found


def _stops(code: CodeType, offset: int) -> None:
    """Let the thread stop before an instruction that touches something, if it is one of a run."""
    run = modelled.running
    touched = touches(code).get(offset)
    if touched is not None and run is not None and run.is_running and modelled.is_ours():
        run.point(LINE, *touched)


if sys.version_info >= (3, 12):
    _monitoring = sys.monitoring

    @contextmanager
    def traced() -> Iterator[None]:
        """Let threads of runs stop in the user's code, meanwhile."""
        events = _monitoring.events
        codes: dict[int, CodeType] = {}  # by id: equal ones of two files are two

        def begins(code: CodeType, _: int) -> Any:
            if is_of_user(code) and id(code) not in codes:
                codes[id(code)] = code
                _monitoring.set_local_events(_TOOL, code, events.INSTRUCTION)
            return _monitoring.DISABLE

        _monitoring.use_tool_id(_TOOL, "wakeproof.schedules")
        _monitoring.register_callback(_TOOL, events.PY_START, begins)
        _monitoring.register_callback(_TOOL, events.INSTRUCTION, _stops)
        _monitoring.set_events(_TOOL, events.PY_START)
        _monitoring.restart_events()
        try:
            yield
        finally:
            _monitoring.set_events(_TOOL, 0)
            for code in codes.values():
                _monitoring.set_local_events(_TOOL, code, 0)
            _monitoring.free_tool_id(_TOOL)

    def trace() -> None:
        """Do nothing: all threads are traced."""

else:

    def _by_instruction(frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            _stops(frame.f_code, frame.f_lasti)
        return _by_instruction

    def _by_call(frame: FrameType, event: str, _: Any) -> Any:
        if event != "call" or not is_of_user(frame.f_code):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return _by_instruction

    @contextmanager
    def traced() -> Iterator[None]:
        """Let threads of runs stop in the user's code, meanwhile."""
        before = sys.gettrace()
        try:
            yield
        finally:
            sys.settrace(before)

    def trace() -> None:
        """Trace the calling greenlet."""
        sys.settrace(_by_call)
