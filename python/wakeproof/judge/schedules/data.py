# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of attributes, globals, closures and items as operations of threads.

A thread stops before each instruction that touches one.  Two of them commute unless one writes what
the other touches:

  attribute   of one object, by its name
  item        of one dict or list, by its key, if that is a number or a text; else of all its items
  global      of one module, by its name
  variable    of closures, by its name alone
  iterator    by itself; a generator also before it ends a value: who asks it for one while it runs
              gets an error

The object is known if the code says where the operand comes from (`operands`).  If not, the
instruction touches the attributes of that name of all objects, or the items of all.  What a
function of C does is judged by its name: `append` writes, `len` reads; an unknown one writes.

What an instruction has loaded is noted when the thread has its turn, so another thread that changes
the attribute before the value is used does not mislead.

Source: instructions of the user's code, by ``sys.monitoring``; 3.11: by ``sys.settrace``.
"""

from __future__ import annotations

import builtins
import ctypes
import dis
import sys
import threading
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from inspect import CO_GENERATOR
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from wakeproof.judge.schedules import modelled
from wakeproof.judge.schedules.execution import Run
from wakeproof.judge.schedules.operands import BUILTINS, OWN, Origin, Stack, called, stacks
from wakeproof.judge.schedules.operation import (
    LINE,
    READ,
    READ_PART,
    WRITE,
    WRITE_PART,
    Access,
)
from wakeproof.judge.schedules.waits import is_of_user

_VARIABLES = {
    "LOAD_GLOBAL": READ, "LOAD_NAME": READ, "STORE_GLOBAL": WRITE, "STORE_NAME": WRITE,
    "DELETE_GLOBAL": WRITE, "DELETE_NAME": WRITE,
}  # fmt: skip
_CELLS = {"LOAD_DEREF": READ, "STORE_DEREF": WRITE, "DELETE_DEREF": WRITE}
_ATTRIBUTES = {"LOAD_ATTR": READ, "LOAD_METHOD": READ, "STORE_ATTR": WRITE, "DELETE_ATTR": WRITE}
# Where the container and its key are on the stack.
_ITEMS = {
    "BINARY_SUBSCR": (READ, -2, -1), "CONTAINS_OP": (READ, -1, -2), "STORE_SUBSCR": (WRITE, -2, -1),
    "DELETE_SUBSCR": (WRITE, -2, -1),
}  # fmt: skip
# How many operands it looks into, from the top, and where it begins.
_WHOLES = {
    "BINARY_SLICE": (READ, -3, -2), "STORE_SLICE": (WRITE, -3, -2), "FOR_ITER": (READ, -1, None),
    "UNPACK_SEQUENCE": (READ, -1, None), "COMPARE_OP": (READ, -2, None),
    "UNARY_NOT": (READ, -1, None), "TO_BOOL": (READ, -1, None), "GET_ITER": (READ, -1, None),
    "BINARY_OP": (READ, -2, None),
}  # fmt: skip
_TRUTHS = frozenset({"COMPARE_OP", "CONTAINS_OP", "IS_OP", "UNARY_NOT", "TO_BOOL"})
"""What leaves True or False, which a jump can test without looking at items."""
_LEAVES = frozenset({"YIELD_VALUE", "RETURN_VALUE", "RETURN_CONST"})
_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_LOOK = frozenset({
    "get", "keys", "values", "items", "copy", "index", "count", "len", "sorted", "sum", "min",
    "max", "any", "all", "list", "tuple", "set", "dict", "repr", "str", "iter", "enumerate", "zip",
    "range", "isinstance", "print", "join", "format", "startswith", "frozenset", "reversed",
})  # fmt: skip
_NO_LOOK = frozenset({
    "isinstance", "issubclass", "id", "type", "range", "int", "float", "bool", "callable", "super",
    "object", "property", "staticmethod", "classmethod",
})  # fmt: skip
"""They look at no items."""
_SHALLOW = frozenset({
    "len", "list", "tuple", "set", "dict", "frozenset", "iter", "enumerate", "zip", "reversed",
})  # fmt: skip
"""They look at the items of their arguments, and not into these."""
_OF_ONE = frozenset({
    "append", "appendleft", "add", "pop", "popleft", "popitem", "insert", "remove", "discard",
    "clear", "get", "setdefault", "keys", "values", "items", "copy", "index", "count", "sort",
    "reverse", "move_to_end",
})  # fmt: skip
"""Methods that touch their container alone."""
_BY_KEY = {"get": READ, "pop": WRITE, "setdefault": WRITE}
_PLAIN = frozenset({
    int, str, float, bool, bytes, complex, type(None), range, tuple, frozenset, slice,
})  # fmt: skip
"""Types whose objects do not change."""
_KEYS = frozenset({int, str, float, bool, bytes, type(None)})
_CONTAINERS = frozenset({
    list, dict, set, deque, bytearray, OrderedDict, defaultdict, Counter,
})  # fmt: skip
_PARTED = frozenset({list, dict})
"""Those whose items are touched one by one."""
_ITERATORS = frozenset(map(type, (iter([]), iter(()), iter(""), iter(range(0)))))
"""They say what they go through."""
_SYNCHRONISED = frozenset({type(threading.Lock()), type(threading.RLock())})
_PART = {READ: READ_PART, WRITE: WRITE_PART}
_UNKNOWN: Any = object()
_EVERY = ""
"""The name of all items."""


class _Name:
    """What all accesses by one name have in common."""

    def __init__(self, name: str) -> None:
        self.name = name


_generator_of: Any = ctypes.pythonapi.PyFrame_GetGenerator
_generator_of.argtypes, _generator_of.restype = (ctypes.py_object,), ctypes.py_object
_TOOL = 4  # of sys.monitoring; no tool of the standard library has it
_name: Callable[[str], _Name] = cache(_Name)
_cell: Callable[[str], _Name] = cache(_Name)


@dataclass(frozen=True, slots=True)
class Touch:
    """What an instruction does."""

    kind: str  # "variable", "cell", "attribute", "item", "whole", "numbers", "call", "running"
    name: str
    way: int
    operands: Stack = ()
    loads: bool = False


@cache
def touches(code: CodeType) -> dict[int, Touch]:
    """Return what each instruction touches, by its offset."""
    found = {}
    before = last = ""
    at = stacks(code)
    for one in dis.get_instructions(code):
        touch = _touch(one, at[one.offset], before, last)
        if code.co_flags & CO_GENERATOR and one.opname in _LEAVES:
            touch = Touch("running", "", WRITE)
        if touch is not None:
            found[one.offset] = touch
        if one.opname in ("LOAD_METHOD", "LOAD_ATTR", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            last = str(one.argval)
        before = one.opname
    return found


def _touch(one: dis.Instruction, stack: Stack, before: str, last: str) -> Touch | None:
    name, value = one.opname, str(one.argval)
    loads = name.startswith("LOAD_") or name == "BINARY_SUBSCR"
    if name in _VARIABLES:
        if value in BUILTINS and loads:
            return None
        return Touch("variable", value, _VARIABLES[name], (), loads)
    if name in _CELLS:
        return Touch("cell", value, _CELLS[name], (), loads)
    if name in _ATTRIBUTES:
        return Touch("attribute", value, _ATTRIBUTES[name], stack[-1:] or (None,), loads)
    if name == "BINARY_OP" and one.argrepr == "[]":  # 3.14
        name, loads = "BINARY_SUBSCR", True
    if name in _ITEMS:
        way, container, key = _ITEMS[name]
        both = (stack[container], stack[key]) if len(stack) > 1 else (None, None)
        return Touch("item", "", way, both, loads)
    if name in _WHOLES:
        way, begin, end = _WHOLES[name]
        operands = stack[begin:end] if len(stack) >= -begin else (None,)
        if name == "BINARY_OP" and one.argrepr.endswith("="):  # += changes a list
            way = WRITE
        kind = "numbers" if name in ("BINARY_OP", "COMPARE_OP") else "whole"
        return Touch(kind, "", way, operands)
    if "JUMP_" in name and name.endswith(("IF_TRUE", "IF_FALSE")) and before not in _TRUTHS:
        return Touch("whole", "", READ, stack[-1:] or (None,))
    if name in _CALLS and last:
        if name == "CALL_FUNCTION_EX":
            return Touch("call", last, READ if last in _LOOK else WRITE, (None,))
        what, args = called(stack, (one.arg or 0) + (name == "CALL_KW"))
        if what == OWN:
            return None
        known = str(what[-1]) if what and what[0] in ("method", "builtin") else last
        return Touch("call", known, READ if known in _LOOK else WRITE, (what, *args))
    return None


class _Stop:
    """A thread before an instruction: it finds what that touches."""

    def __init__(self, run: Run, frame: FrameType) -> None:
        self._run, self._frame = run, frame
        self._locals: Any = None

    # ---- objects ----

    def value(self, origin: Origin) -> Any:
        """Return the operand; or that it is not known."""
        if origin is None:
            return _UNKNOWN
        kind, *what = origin
        if kind == "const":
            return what[0]
        if kind == "fast":
            if self._locals is None:
                self._locals = self._frame.f_locals
            return self._locals.get(what[0], _UNKNOWN)
        if kind == "loaded":
            value = self._run.loaded.get(id(self._frame), {}).get(what[0], _UNKNOWN)
            if type(value) is weakref.ref:
                value = value()
                return _UNKNOWN if value is None else value
            return value
        return _UNKNOWN

    def load(self, touch: Touch, offset: int) -> None:
        """Note what the instruction loads now."""
        value = self._loads(touch)
        if isinstance(value, weakref.ref):
            value = _UNKNOWN
        if type(value) not in _PLAIN:
            value = self._run.weak(value)
        self._run.loaded.setdefault(id(self._frame), {})[offset] = value

    def _loads(self, touch: Touch) -> Any:
        frame = self._frame
        if touch.kind == "variable":
            return frame.f_globals.get(touch.name, _UNKNOWN)
        if touch.kind == "cell":
            return frame.f_locals.get(touch.name, _UNKNOWN)
        of = self.value(touch.operands[0])
        if of is _UNKNOWN:
            return of
        if touch.kind == "attribute":
            return _attribute(of, touch.name)[0]
        key = self.value(touch.operands[1])
        if type(of) not in _PARTED and type(of) is not tuple:
            return _UNKNOWN
        try:
            return of[key] if type(key) in _KEYS else _UNKNOWN
        except (LookupError, TypeError):
            return _UNKNOWN

    # ---- what it touches ----

    def accesses(self, touch: Touch) -> tuple[Access, ...]:
        """Return what the instruction touches; nothing: no other thread could notice it."""
        run = self._run
        if touch.kind == "cell":
            return ((run.number_of(_cell(touch.name)), touch.way),)
        if touch.kind == "variable":
            return ((run.number_of_part(self._frame.f_globals, touch.name), touch.way),)
        if touch.kind == "running":
            return self._whole([_generator_of(self._frame)], WRITE)
        values = [self.value(one) for one in touch.operands]
        if touch.kind == "attribute":
            return self._attribute(values[0], touch.name, touch.way)
        if touch.kind == "item":
            return self._item(values[0], values[1], touch.way)
        if touch.kind == "call":
            return self._call(touch, values)
        if touch.kind == "numbers" and any(type(one) in _KEYS for one in values):
            return ()
        return self._whole(values, touch.way)

    def _every(self, name: str, way: int) -> tuple[Access, ...]:
        return ((self._run.number_of(_name(name)), way),)

    def _attribute(self, of: Any, name: str, way: int) -> tuple[Access, ...]:
        run = self._run
        if of is _UNKNOWN:
            return self._every(name, way)
        kind = type(of)
        if kind in _PLAIN or (way == READ and (kind in _CONTAINERS or kind in _SYNCHRONISED)):
            return ()
        if kind is ModuleType:
            return ((run.number_of_part(vars(of), name), way), *self._every(name, _PART[way]))
        touched = [(run.number_of_part(of, name), way)]
        if way == READ:
            owner = _attribute(of, name)[1]
            if owner is not None and owner is not of:
                touched.append((run.number_of_part(owner, name), READ))
        return (*touched, *self._every(name, _PART[way]))

    def _item(self, of: Any, key: Any, way: int) -> tuple[Access, ...]:
        run = self._run
        kind = type(of)
        if kind not in _PARTED or type(key) not in _KEYS or (kind is list and not _is_place(key)):
            return self._whole([of], way)
        order = ((run.number_of_part(of, "order"), WRITE),) if kind is dict and way == WRITE else ()
        return (
            (run.number_of_part(of, ("item", key)), way),
            *order,  # it may be a new one, and a dict has its items in the order of their coming
            (run.number_of_part(of, _EVERY), _PART[way]),
            *self._every(_EVERY, _PART[way]),
        )

    def _whole(self, values: list[Any], way: int) -> tuple[Access, ...]:
        """Return the accesses to all items of some values."""
        found: list[Access] = []
        part = READ_PART
        for of in values:
            kind: Any = type(of)
            if of is _UNKNOWN:
                return self._every(_EVERY, way)
            if kind in _PLAIN or isinstance(of, (FunctionType, type, ModuleType)):
                continue
            if kind not in _CONTAINERS and is_of_user_type(kind):
                continue  # its methods are code that is stopped in
            is_iterator = _is_iterator(kind)
            found.append((self._run.number_of_part(of, _EVERY), WRITE if is_iterator else way))
            if kind in _ITERATORS:
                found += self._whole(list(of.__reduce__()[1]), READ)
            elif is_iterator and kind is not GeneratorType:
                return self._every(_EVERY, WRITE)
            if kind is not GeneratorType:  # what it touches it stops for
                part = max(part, _PART[WRITE if is_iterator else way])
        return (*found, *self._every(_EVERY, part)) if found else ()

    def _call(self, touch: Touch, values: list[Any]) -> tuple[Access, ...]:
        what, name, way = touch.operands[0], touch.name, touch.way
        args = values[1:]
        if what is None:
            return self._every(_EVERY, way)
        if what[0] == "builtin":
            if name in _NO_LOOK or _is_error(name):
                return ()
            if name in _SHALLOW:
                return self._whole(args, READ)
            if name == "next":
                return self._whole(args[:1], WRITE)
            return self._deep(args, way)
        if what[0] == "method":
            of = self.value(what[1])
            return self._method(of, name, way, args)
        if _is_users(values[0]):
            return ()
        return self._deep(args if _is_free(values[0]) else values, way)

    def _method(self, of: Any, name: str, way: int, args: list[Any]) -> tuple[Access, ...]:
        kind = type(of)
        if of is _UNKNOWN:
            return self._every(_EVERY, way)
        if kind in _SYNCHRONISED:
            return ()
        if kind in _PLAIN:
            return self._deep(args, READ)
        if kind in _CONTAINERS:
            if kind is dict and name in _BY_KEY and args:
                return self._item(of, args[0], _BY_KEY[name])
            if name in _OF_ONE:
                return self._whole([of], way)
            return self._deep([of, *args], way)
        method, owner = _attribute(of, name)
        if _is_users(method):
            return ()
        if isinstance(owner, type) and owner.__module__ in _BY_LOCKS:
            return self._whole([of], way)
        return self._deep(args if kind is ModuleType else [of, *args], way)

    def _deep(self, values: list[Any], way: int) -> tuple[Access, ...]:
        """Return the accesses to all items of values, and of what is in these."""
        if all(type(one) in _PLAIN for one in values):
            return ()
        if any(one is _UNKNOWN or not _is_flat(one) for one in values):
            return self._every(_EVERY, way)
        return self._whole(values, way)


_BY_LOCKS = frozenset({"threading", "queue", "_queue", "asyncio", "concurrent.futures._base"})
"""Modules whose methods go by locks, or touch their own object alone."""


def _is_iterator(kind: type) -> bool:
    """Return whether who takes an item leaves others the next ones."""
    return hasattr(kind, "__next__")


def _is_place(key: Any) -> bool:
    return type(key) is int and key >= 0


def _is_error(name: str) -> bool:
    found = vars(builtins).get(name)
    return isinstance(found, type) and issubclass(found, BaseException)


def _is_flat(value: Any) -> bool:
    """Return whether there is nothing that changes in what a value has."""
    kind = type(value)
    if kind in (list, set, deque, tuple, frozenset):
        return all(type(one) in _KEYS for one in value)
    if kind in _CONTAINERS and kind is not bytearray:
        return all(type(one) in _KEYS for one in value.values())
    return kind in _PLAIN or kind is bytearray


def _is_free(what: Any) -> bool:
    """Return whether to call it touches its arguments alone: a class, or a function of a module."""
    if isinstance(what, BuiltinFunctionType):
        return what.__self__ is None or isinstance(what.__self__, ModuleType)
    return isinstance(what, (type, FunctionType))


def _is_users(what: Any) -> bool:
    """Return whether to call it runs code of the user's and nothing else."""
    if isinstance(what, MethodType):
        what = what.__func__
    if isinstance(what, (staticmethod, classmethod)):
        what = what.__func__
    if isinstance(what, FunctionType):
        return is_of_user(what.__code__)
    if isinstance(what, type):
        made = [one for base in what.__mro__ for one in map(vars(base).get, ("__init__", "__new__"))
                if one is not None and base is not object]  # fmt: skip
        return is_of_user_type(what) and all(
            _is_users(one) for one in made if not isinstance(one, BuiltinFunctionType)
        )
    return False


@cache
def is_of_user_type(kind: type) -> bool:
    """Return whether a class has no items but those that its methods of the user's touch."""
    if any(base in _CONTAINERS or base.__module__ == "collections" for base in kind.__mro__):
        return False
    parts = (one for base in kind.__mro__ for one in vars(base).values())
    return any(isinstance(one, FunctionType) and is_of_user(one.__code__) for one in parts)


def _attribute(of: Any, name: str) -> tuple[Any, Any]:
    """Return an attribute, and the object or class that has it, without a call of user's code."""
    kind = type(of)
    if kind is ModuleType:
        return vars(of).get(name, _UNKNOWN), of
    bases = of.__mro__ if isinstance(of, type) else kind.__mro__
    owner = next((base for base in bases if name in vars(base)), None)
    static = _UNKNOWN if owner is None else vars(owner)[name]
    if isinstance(static, MemberDescriptorType) and not isinstance(of, type):
        try:
            return static.__get__(of), of
        except AttributeError:
            return _UNKNOWN, of
    if not isinstance(of, type):
        if hasattr(type(static), "__set__"):
            return _UNKNOWN, owner
        try:
            own = object.__getattribute__(of, "__dict__")
        except AttributeError:
            own = {}
        if type(own) is dict and name in own:
            return own[name], of
    if static is _UNKNOWN or (
        hasattr(type(static), "__get__")
        and not isinstance(static, (FunctionType, staticmethod, classmethod))
    ):
        return _UNKNOWN, owner
    return static, owner


def _stops(code: CodeType, offset: int, frame: FrameType) -> None:
    """Let the thread stop before an instruction that touches something, if it is one of a run."""
    run = modelled.running
    touch = touches(code).get(offset)
    if touch is None or run is None or not run.is_running or not modelled.is_ours():
        return
    accesses = _Stop(run, frame).accesses(touch)
    if accesses:
        run.point(LINE, None, accesses=accesses)
    if touch.loads:
        _Stop(run, frame).load(touch, offset)


if sys.version_info >= (3, 12):
    _monitoring = sys.monitoring

    def _stops_here(code: CodeType, offset: int) -> None:
        _stops(code, offset, sys._getframe(1))

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
        _monitoring.register_callback(_TOOL, events.INSTRUCTION, _stops_here)
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
            _stops(frame.f_code, frame.f_lasti, frame)
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
