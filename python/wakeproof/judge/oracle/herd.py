# SPDX-License-Identifier: Apache-2.0
"""herd7 as a judge of the axioms: a small program in its languages, and the outcomes it prints.

herd7 (herdtools7) enumerates the executions of a litmus test and keeps those that a model in its
language `cat` has.  It shares nothing with the explorer, nor with our oracles.

    model      language   herd7's model
    SC         C          sc.cat, with updates in its coherence
    x86-TSO    X86_64     x86tso-mixed.cat, with updates in its coherence
    RC11       C          rc11.cat: release sequences of C11, scb as in the paper
    ARMv8      AArch64    aarch64.cat

A program that has no form there is refused by an error that says why, never changed.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import JudgeError, MissingToolError, UsageError
from wakeproof.judge.explore.options import Model
from wakeproof.judge.oracle.armv8 import Mapping
from wakeproof.judge.oracle.graph import Switches
from wakeproof.judge.oracle.program import (
    CASES,
    UPDATES,
    WORD,
    Line,
    Operand,
    Program,
    parse,
)

FETCHED = locations.sources() / "build" / "herd" / "herd7"
"""Where ``tools/herd.py`` puts it."""
SECONDS = 10.0
NEVER = 999_999
SWITCHES = Switches(c11_release_sequence=True, paper_scb=True)
"""The flavour of rc11.cat."""
_CATS = {
    Model.SC: """\
"SC, where an update is one step"
include "sc.cat"
let update = [RMW] | rmw
let after = (rf^-1; co) \\ id
acyclic po | rf | co | after as order
empty update & (after; co) as step
""",
    Model.TSO: """\
"x86-TSO, where an update is one step"
include "x86tso-mixed.cat"
acyclic po-loc | rmw | rf | co | fr as step
""",
}
_OWN = {Model.RC11: "rc11.cat", Model.ARMV8: "aarch64.cat"}
_STATUS = re.compile(r":X1[789]$")
"""A register in which a store-exclusive says whether it failed."""
_STATE = re.compile(r"\[?([\w:]+)\]?=(-?\d+);")


class NoFormError(UsageError):
    """herd7's language cannot say this program."""


@dataclass(frozen=True)
class Answer:
    """What herd7 found: each outcome as the oracles write it, and whether there is a data race."""

    outcomes: frozenset[str]
    is_racy: bool


class SlowError(JudgeError):
    """herd7 did not end in time."""


def find() -> Path:
    """Return herd7: WAKEPROOF_HERD7, the one on the path, or the one that ``make herd`` fetched.

    Raises:
        MissingToolError: there is none.
    """
    named = os.environ.get("WAKEPROOF_HERD7") or shutil.which("herd7")
    if named:
        return Path(named)
    if FETCHED.exists():
        return FETCHED
    raise MissingToolError("no herd7: `make herd` fetches it, WAKEPROOF_HERD7 names your own")


def ask(herd: Path, program: str | Program, model: Model, mapping: Mapping | None = None) -> Answer:
    """Return what herd7 says of the program.

    Raises:
        NoFormError: the program has no form in its language.
        SlowError: it took longer than SECONDS.
        JudgeError: it failed.
    """
    program = parse(program) if isinstance(program, str) else program
    text, names = translated(program, model, mapping or Mapping())
    with tempfile.TemporaryDirectory(prefix="wakeproof-") as folder:
        test, cat = Path(folder) / "t.litmus", Path(folder) / "own.cat"
        test.write_text(text, "utf-8")
        cat.write_text(_CATS.get(model, ""), "utf-8")
        chosen = _OWN.get(model, str(cat))
        try:
            ended = subprocess.run(
                [herd, "-model", chosen, test], capture_output=True, text=True, timeout=SECONDS,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise SlowError(f"herd7 took more than {SECONDS:.0f} s") from error
    return read(ended.stdout, ended.stderr, names)


def read(output: str, errors: str, names: list[str]) -> Answer:
    """Return the states that herd7 printed; those in which a store-exclusive failed are none."""
    lines = re.search(r"^States \d+\n((?:.*;\n)*)", output, re.MULTILINE)
    if lines is None or "Warning" in errors:
        raise JudgeError(f"herd7 gave no states: {(errors or output).strip()[:300]}")
    outcomes = set()
    for line in lines[1].splitlines():
        values = dict(_STATE.findall(line))
        if all(value == "0" for name, value in values.items() if _STATUS.search(name)):
            outcomes.add(",".join(values[name] for name in names))
    return Answer(frozenset(outcomes), "\nUndef" in output)


def translated(program: Program, model: Model, mapping: Mapping) -> tuple[str, list[str]]:
    """Return the program as a litmus test, and the names of what is observed there.

    Raises:
        NoFormError: it has no form there.
    """
    for line in itertools.chain.from_iterable(program.threads):
        if line.what in ("assume", "assert", "cas_weak"):
            raise NoFormError(f"herd7 has no {line.what}")
        if line.index.register is not None:
            raise NoFormError("herd7 has no computed location")
        if line.order in ("light", "heavy"):
            raise NoFormError("herd7 has no asymmetric fences")
    if model is Model.ARMV8:
        return _Aarch64(program, mapping).test()
    if model is Model.TSO:
        return _X86(program).test()
    return _C(program).test()


_ORDER = "memory_order_"


class _C:
    """C11.  A branch has a copy of all that follows it, for herd7's C has no goto."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._expected: list[int] = []  # of each compare-and-swap, a location that it may change

    def test(self) -> tuple[str, list[str]]:
        threads = [self._thread(n, lines) for n, lines in enumerate(self._program.threads)]
        start = zip(self._program.locations, self._program.initial, strict=True)
        cells = [*start, *((f"e{n}", value) for n, value in enumerate(self._expected))]
        init = " ".join(f"[{name}] = {value};" for name, value in cells)
        names = [
            self._program.locations[n] if t < 0 else f"{t}:r{n}" for t, n in self._program.observed
        ]
        return _whole("C", init, "\n".join(threads), names, self._program.locations[0]), names

    def _thread(self, number: int, lines: tuple[Line, ...]) -> str:
        first = len(self._expected)
        body = self._block(lines, 0, "  ")
        mine = [f"e{n}" for n in range(first, len(self._expected))]
        parameters = ", ".join(f"atomic_int* {name}" for name in self._program.locations)
        parameters += "".join(f", int* {name}" for name in mine)
        registers = "".join(f"  int r{n} = 0;\n" for n in range(8))
        return f"P{number} ({parameters}) {{\n{registers}{body}}}"

    def _block(self, lines: tuple[Line, ...], at: int, indent: str) -> str:
        text = ""
        while at < len(lines):
            line = lines[at]
            if line.what == "goto":
                at = line.target
                continue
            if line.what == "if":
                test = f"{_c(line.a)} {line.operator} {_c(line.b)}"
                deeper = indent + "  "
                taken = self._block(lines, line.target, deeper)
                other = self._block(lines, at + 1, deeper)
                return (
                    f"{text}{indent}if ({test}) {{\n{taken}{indent}}} else {{\n{other}{indent}}}\n"
                )
            text += f"{indent}{self._statement(line)};\n"
            at += 1
        return text or f"{indent}int nothing = 0;\n"

    def _statement(self, line: Line) -> str:
        into = f"r{line.into} = " if line.into is not None else ""
        if line.what == "local":
            return f"{into}{_c(line.a)} {line.operator} {_c(line.b)}"
        order = _ORDER + line.order
        if line.what == "fence":
            return f"atomic_thread_fence({order})"
        place = self._program.locations[line.location]
        if line.what == "load":
            return (
                f"{into}*{place}"
                if order.endswith("plain")
                else (f"{into}atomic_load_explicit({place}, {order})")
            )
        value = _c(line.a)
        if line.what == "store":
            return (
                f"*{place} = {value}"
                if order.endswith("plain")
                else (f"atomic_store_explicit({place}, {value}, {order})")
            )
        scratch = into or "int scratch = "
        if line.what in UPDATES:
            name = "exchange" if line.what == "exchange" else f"fetch_{line.what}"
            return f"{scratch}atomic_{name}_explicit({place}, {value}, {order})"
        cell = f"e{len(self._expected)}"
        self._expected.append(_signed(line.b.number))
        before = f"*{cell} = {_c(line.b)}; " if line.b.register is not None else ""
        call = (
            f"int took{cell} = atomic_compare_exchange_strong_explicit({place}, {cell}, {value}, "
            f"{order}, {_ORDER}{line.fail_order})"
        )
        after = f"; {into}*{cell}" if into else ""
        return before + call + after


def _c(operand: Operand) -> str:
    return str(_signed(operand.number)) if operand.register is None else f"r{operand.register}"


def _signed(number: int) -> int:
    return number - WORD if number >= WORD // 2 else number


def _whole(
    language: str, init: str, body: str, names: list[str], never: str, more: str = ""
) -> str:
    """Return the test.  Its question is whether a first location can be what it never is."""
    seen = " ".join(f"{name};" for name in dict.fromkeys(names))
    end = f"locations [{seen}{more}]\nexists ({never}={NEVER})\n"
    return f"{language} t\n{{ {init} }}\n{body}\n{end}"


def _columns(threads: list[list[str]]) -> str:
    rows = itertools.zip_longest(*threads, fillvalue="")
    head = " | ".join(f"P{n}" for n in range(len(threads)))
    return "\n".join(f" {row} ;" for row in (head, *(" | ".join(row) for row in rows)))


class _Assembly:
    """What AArch64 and X86_64 have in common: a column of instructions for each thread."""

    language = ""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._code: list[str] = []
        self._cells: list[str] = []
        self._seen: list[str] = []  # registers that the reader looks at, beside the observed

    def test(self) -> tuple[str, list[str]]:
        start = zip(self._program.locations, self._program.initial, strict=True)
        self._cells += [f"uint64_t {name} = {value};" for name, value in start]
        threads = []
        for number, lines in enumerate(self._program.threads):
            self._code = []
            self._enter(number)
            self._lines(number, lines)
            threads.append(self._code)
        names = [
            self._program.locations[n] if t < 0 else f"{t}:{self._register(n)}"
            for t, n in self._program.observed
        ]
        more = "".join(f" {name};" for name in self._seen)
        init = " ".join(self._cells)
        return _whole(
            self.language, init, _columns(threads), names, self._program.locations[0], more
        ), names

    def _lines(self, number: int, lines: tuple[Line, ...]) -> None:
        targets = {line.target for line in lines if line.what in ("if", "goto")}
        for at, line in enumerate(lines):
            if at in targets:
                self._code.append(f"L{number}_{at}:")
            self._line(number, at, line)
        if len(lines) in targets:
            self._code.append(f"L{number}_{len(lines)}:")

    def _register(self, number: int) -> str:
        raise NotImplementedError

    def _enter(self, number: int) -> None:
        raise NotImplementedError

    def _line(self, number: int, at: int, line: Line) -> None:
        raise NotImplementedError


_ARM_JUMPS = {"==": "EQ", "!=": "NE", "<": "CC", "<=": "LS", ">": "HI", ">=": "CS"}
_ARM_LOCALS = {"+": "ADD", "-": "SUB", "&": "AND", "|": "ORR", "^": "EOR"}


class _Aarch64(_Assembly):
    """AArch64: X0-X7 hold r0-r7, X20 on the addresses; X9, X10 operands, X15 what is not used."""

    language = "AArch64"

    def __init__(self, program: Program, mapping: Mapping) -> None:
        super().__init__(program)
        self._mapping = mapping
        self._statuses = 0

    def _register(self, number: int) -> str:
        return f"X{number}"

    def _enter(self, number: int) -> None:
        for n, name in enumerate(self._program.locations):
            self._cells.append(f"{number}:X{20 + n}={name};")
        self._statuses = 0

    def _value(self, operand: Operand, into: str) -> str:
        if operand.register is not None:
            return f"X{operand.register}"
        self._code.append(f"MOV {into},#{_signed(operand.number)}")
        return into

    def _line(self, number: int, at: int, line: Line) -> None:
        code, target = self._code, "X15" if line.into is None else f"X{line.into}"
        place = f"[X{20 + line.location}]"
        match line.what:
            case "fence":
                fence = self._mapping.fence(line.order)
                code += [fence.replace("ishld", "LD").replace("ish", "SY").upper()] * bool(fence)
            case "load":
                order = "relaxed" if line.order == "plain" else line.order
                code.append(f"{self._mapping.load(order).upper()} {target},{place}")
            case "store":
                value = self._value(line.a, "X9")
                code.append(f"{self._mapping.store(line.order).upper()} {value},{place}")
            case "goto":
                code.append(f"B L{number}_{line.target}")
            case "if":
                left = self._value(line.a, "X9")
                code.append(f"CMP {left},{self._value(line.b, 'X10')}")
                code.append(f"B.{_ARM_JUMPS[line.operator]} L{number}_{line.target}")
            case "local":
                if line.operator not in _ARM_LOCALS:
                    raise NoFormError(f"no instruction for {line.operator}")
                left, right = self._value(line.a, "X9"), self._value(line.b, "X10")
                code.append(f"{_ARM_LOCALS[line.operator]} {target},{left},{right}")
            case _:
                self._update(number, at, line, target, place)

    def _update(self, number: int, at: int, line: Line, target: str, place: str) -> None:
        code, first = (
            self._code,
            self._mapping.update(
                line.what, line.order, line.fail_order if line.what in CASES else ""
            ),
        )
        value = self._value(line.a, "X9")
        if not self._mapping.pair:
            if line.what == "and":
                code.append(f"MVN X9,{value}")
                value = "X9"
            if line.what in CASES:
                code.append(f"MOV X15,{self._value(line.b, 'X10')}")
                code.append(f"{first[0].upper()} X15,{value},{place}")
                code += [f"MOV {target},X15"] * (target != "X15")
            else:
                code.append(f"{first[0].upper()} {value},{target},{place}")
            return
        status = f"X{17 + self._statuses}"
        self._statuses += 1
        if self._statuses > 3:
            raise NoFormError("more than three pairs of exclusive accesses in a thread")
        self._seen.append(f"{number}:{status}")
        expected = self._value(line.b, "X10") if line.what in CASES else ""
        code.append(f"{first[0].upper()} X15,{place}")
        if expected:
            code += [f"CMP X15,{expected}", f"B.NE F{number}_{at}"]
        elif line.what != "exchange":
            name = {"add": "ADD", "or": "ORR", "and": "AND"}[line.what]
            code.append(f"{name} X9,X15,{value}")
            value = "X9"
        code.append(f"{first[1].upper()} W{status[1:]},{value},{place}")
        code += [f"F{number}_{at}:"] * bool(expected)
        code += [f"MOV {target},X15"] * (target != "X15")


def without_results_of_adds(program: Program) -> Program:
    """Return the program without the registers that only hold what an addition gave.

    herd7's x86 adds in one step, but does not give the old value.
    """
    threads = []
    dropped = set()
    for number, lines in enumerate(program.threads):
        used = {o.register for line in lines for o in (line.a, line.b, line.index)}
        into = [line.into for line in lines]
        new = []
        for line in lines:
            if line.what == "add" and line.into not in used and into.count(line.into) == 1:
                dropped.add((number, line.into))
                line = replace(line, into=None)
            new.append(line)
        threads.append(tuple(new))
    seen = tuple(one for one in program.observed if one not in dropped)
    return replace(program, threads=tuple(threads), observed=seen)


_X86_REGISTERS = ("rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")
_X86_JUMPS = {"==": ("je", ""), "!=": ("jne", ""), "<=": ("jle", ""), ">=": ("jge", ""),
              "<": ("", "jge"), ">": ("", "jle")}  # fmt: skip
"""The jump of each comparison, or that of its opposite where herd7 has none."""
_X86_LOCALS = {"+": "addq", "-": "subq", "|": "orq", "^": "xorq"}


class _X86(_Assembly):
    """X86_64.  herd7 has no instruction that adds and gives the old value."""

    language = "X86_64"

    def _register(self, number: int) -> str:
        return _X86_REGISTERS[number]

    def _enter(self, number: int) -> None:
        pass

    def _operand(self, operand: Operand) -> str:
        if operand.register is None:
            return f"${_signed(operand.number)}"
        return f"%{_X86_REGISTERS[operand.register]}"

    def _line(self, number: int, at: int, line: Line) -> None:
        code, value = self._code, self._operand(line.a)
        into = "" if line.into is None else f"%{_X86_REGISTERS[line.into]}"
        place = f"({self._program.locations[line.location]})"
        match line.what:
            case "fence":
                code += ["mfence"] * (line.order == "seq_cst")
            case "load":
                code.append(f"movq {place},{into or '%rax'}")
            case "store":
                code.append(f"movq {value},{place}")
                code += ["mfence"] * (line.order == "seq_cst")
            case "exchange":
                code += [f"movq {value},%rax", f"xchgq %rax,{place}"]
                code += [f"movq %rax,{into}"] * bool(into)
            case "add" if not into:
                code.append(f"lock addq {value},{place}")
            case "cas":
                code += [f"movq {self._operand(line.b)},%rax", f"movq {value},%rbx"]
                code.append(f"lock cmpxchgq {place},%rbx")
                code += [f"movq %rax,{into}"] * bool(into)
            case "goto":
                code.append(f"jmp L{number}_{line.target}")
            case "if" if line.a.register is not None:
                jump, opposite = _X86_JUMPS[line.operator]
                code.append(f"cmpq {self._operand(line.b)},{value}")
                target, beyond = f"L{number}_{line.target}", f"B{number}_{at}"
                code += [f"{jump} {target}"] if jump else [
                    f"{opposite} {beyond}", f"jmp {target}", f"{beyond}:"
                ]  # fmt: skip
            case "local" if line.operator in _X86_LOCALS:
                code.append(f"movq {value},%rax")
                right = self._operand(line.b)
                if line.operator == "-" and line.b.register is None:  # it subtracts registers alone
                    code.append(f"addq ${-_signed(line.b.number)},%rax")
                else:
                    code.append(f"{_X86_LOCALS[line.operator]} {right},%rax")
                code.append(f"movq %rax,{into}")
            case _:
                what = line.operator if line.what in ("if", "local") else line.what
                raise NoFormError(f"herd7 has no x86 instruction for {what}")
