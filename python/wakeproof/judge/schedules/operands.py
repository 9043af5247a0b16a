# SPDX-License-Identifier: Apache-2.0
"""Where the operands of each instruction come from, as far as its code alone says it.

The stack of the interpreter cannot be read while a thread stops, so the code is gone through once,
with the origin of each value on the stack.  What is not known is None.

  ("fast", name)            a local variable, which only its thread changes
  ("const", value)          a constant, or what is of no interest: numbers, texts, new containers
  ("loaded", offset)        what the instruction at that offset has loaded
  ("builtin", name)         a builtin function
  ("method", origin, name)  the method of an object
  ("own",)                  the end of a `with`, or a function that is made here, as a generator is:
                            what its code touches it stops for itself
"""

from __future__ import annotations

import builtins
import dis
import re
from types import CodeType
from typing import Any, TypeAlias

Origin: TypeAlias = tuple[Any, ...] | None
Stack: TypeAlias = tuple[Origin, ...]

NULL: Origin = ("null",)
NEW: Origin = ("const", None)
OWN: Origin = ("own",)
BUILTINS = frozenset(dir(builtins))

_NOTHING = frozenset({
    "RESUME", "NOP", "PRECALL", "KW_NAMES", "MAKE_CELL", "COPY_FREE_VARS", "CACHE", "EXTENDED_ARG",
    "NOT_TAKEN", "GET_ITER", "RETURN_GENERATOR", "SETUP_ANNOTATIONS", "DELETE_DEREF",
    "DELETE_GLOBAL", "DELETE_NAME",
})  # fmt: skip
"""They leave the stack; an iterator counts as what it goes through."""
_MAKES_NEW = re.compile(
    r"BUILD_|FORMAT_|CONVERT_|COMPARE_OP|CONTAINS_OP|IS_OP|UNARY_NOT|TO_BOOL|LOAD_COMMON_CONSTANT"
)
_AT_MOST_ONE = re.compile(
    r"STORE_|DELETE_|POP_JUMP|JUMP_|RETURN_|YIELD_|RAISE_|RERAISE|UNARY_|BINARY_|LIST_|SET_|MAP_ADD"
    r"|DICT_|LOAD_CLOSURE|LOAD_BUILD_CLASS|IMPORT_|GET_AWAITABLE|END_FOR|POP_ITER"
    r"|POP_TOP|LOAD_ASSERTION_ERROR|CALL_INTRINSIC|CALL_FUNCTION_EX"
)
"""They pop what they need, and push one value or none."""
_POPS = re.compile(
    r"POP_|STORE_|DELETE_|FOR_ITER|END_FOR|RETURN_|RAISE_|RERAISE|LIST_APPEND|LIST_EXTEND|SET_ADD"
    r"|SET_UPDATE|MAP_ADD|DICT_"
)
"""They push none: what is below stays known, such as the end of a `with` below its value."""
_ENDS = re.compile(r"JUMP_FORWARD|JUMP_BACKWARD|RETURN_|RAISE_|RERAISE")
"""What comes after them is reached by a jump only."""
_PLAIN_RESULTS = frozenset({
    "range", "len", "isinstance", "issubclass", "id", "int", "str", "float", "bool", "hash", "ord",
    "chr", "repr", "abs", "object", "bytes", "list", "dict", "set", "tuple", "sorted", "sum",
})  # fmt: skip
_THROUGH = frozenset({"iter", "enumerate", "reversed"})
_VIEWS = frozenset({"keys", "values", "items"})


def stacks(code: CodeType) -> dict[int, Stack]:
    """Return the stack before each instruction, by its offset; its top is the last."""
    found: dict[int, Stack] = {}
    targets: dict[int, Stack] = {}
    stack: Stack | None = ()
    for one in dis.get_instructions(code):
        reached = targets.get(one.offset)
        if stack is None or reached is None:
            stack = stack if stack is not None else reached or ()
        else:
            stack = _both(stack, reached)
        found[one.offset] = stack
        after = _after(one, stack)
        if "JUMP" in one.opname or one.opname in ("FOR_ITER", "SEND"):
            effect = dis.stack_effect(one.opcode, one.arg, jump=True)
            jumped = _by_effect(one.opname, stack, effect)
            known = targets.get(one.argval)
            targets[one.argval] = jumped if known is None else _both(known, jumped)
        stack = None if _ENDS.match(one.opname) else after
    return found


def _both(one: Stack, other: Stack) -> Stack:
    """Return what two stacks have in common, from the top."""
    count = min(len(one), len(other))
    pairs = zip(one[len(one) - count :], other[len(other) - count :], strict=True)
    return tuple(a if a == b else None for a, b in pairs)


def _pop(stack: Stack, count: int) -> Stack:
    return stack[: max(len(stack) - count, 0)]


def _by_effect(name: str, stack: Stack, effect: int) -> Stack:
    """Return the stack after an instruction that pushes one value or none."""
    if effect > 0:
        return (*stack, *(None for _ in range(effect)))
    if _POPS.match(name):
        return _pop(stack, -effect)
    pushed = (None,) if len(stack) > -effect else ()
    return (*_pop(stack, 1 - effect), *pushed)


def _without(stack: Stack, *names: str) -> Stack:
    """Return the stack after these local variables have changed."""
    gone = [("fast", name) for name in names]
    return tuple(None if one in gone or (one and one[1:2] and one[1] in gone) else one
                 for one in stack)  # fmt: skip


def _after(one: dis.Instruction, stack: Stack) -> Stack:
    name, value, count = one.opname, one.argval, one.arg or 0
    effect = dis.stack_effect(one.opcode, one.arg, jump=False)
    if name in _NOTHING:
        return stack
    if name == "LOAD_GLOBAL" or name in ("LOAD_NAME", "LOAD_DEREF"):
        is_builtin = name != "LOAD_DEREF" and value in BUILTINS
        loaded: Origin = ("builtin", value) if is_builtin else ("loaded", one.offset)
        if effect == 1:
            return (*stack, loaded)
        return (*stack, NULL, loaded) if _NULL_IS_FIRST else (*stack, loaded, NULL)
    if name.startswith("LOAD_FAST") and "CLEAR" not in name:
        names = value if isinstance(value, tuple) else (value,)
        return (*stack, *(("fast", one) for one in names))
    if name == "STORE_FAST_LOAD_FAST":
        return (*_without(_pop(stack, 1), value[0]), ("fast", value[1]))
    if name.startswith("STORE_FAST"):
        names = value if isinstance(value, tuple) else (value,)
        return _without(_pop(stack, len(names)), *names)
    if name in ("LOAD_CONST", "LOAD_SMALL_INT"):
        return (*stack, ("const", value))
    if name == "PUSH_NULL":
        return (*stack, NULL)
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        of = stack[-1] if stack else None
        rest = _pop(stack, 1)
        if effect == 0:
            return (*rest, ("loaded", one.offset))
        return (*rest, ("method", of, value), of)
    if name == "COPY":
        return (*stack, stack[-count] if count <= len(stack) else None)
    if name == "SWAP":
        if count > len(stack):
            return ()
        top, other = stack[-1], stack[-count]
        return (*stack[:-count], top, *stack[1 - count : -1], other) if count > 1 else stack
    if name == "FOR_ITER":
        return (*stack, None)
    if name == "BEFORE_WITH":
        return (*_pop(stack, 1), OWN, None)
    if name == "LOAD_SPECIAL":
        return (*_pop(stack, 1), OWN, OWN)
    if name == "BINARY_SUBSCR" or (name == "BINARY_OP" and one.argrepr == "[]"):
        return (*_pop(stack, 2), ("loaded", one.offset))
    if name in ("CALL", "CALL_KW"):
        count += name == "CALL_KW"
        return (*_pop(stack, count + 2), _result(stack, count))
    if name == "MAKE_FUNCTION":
        return (*_pop(stack, 1 - effect), OWN)
    if _MAKES_NEW.match(name):
        return (*_pop(stack, 1 - effect), NEW)
    return _by_effect(name, stack, effect) if _AT_MOST_ONE.match(name) else ()


_NULL_IS_FIRST = "PRECALL" in dis.opmap or "KW_NAMES" in dis.opmap  # up to 3.12


def called(stack: Stack, count: int) -> tuple[Origin, Stack]:
    """Return what a call with so many arguments calls, and with what."""
    if len(stack) < count + 2:
        return None, (None,) * count
    lower, upper = stack[-count - 2], stack[-count - 1]
    args = stack[len(stack) - count :]
    if lower == OWN or (lower, upper) == (NULL, OWN):
        return OWN, args
    if lower is not None and lower[0] == "method":
        return lower, args
    if lower == NULL:
        return upper, args
    return (lower, args) if upper == NULL else (None, args)


def _result(stack: Stack, count: int) -> Origin:
    what, args = called(stack, count)
    if what is None:
        return None
    if what[0] == "method" and what[2] in _VIEWS and not count:
        return what[1]  # type: ignore[no-any-return]
    if what[0] == "builtin" and what[1] in _PLAIN_RESULTS:
        return NEW
    if what[0] == "builtin" and what[1] in _THROUGH and count:
        return args[0]
    return None
