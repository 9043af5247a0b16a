# SPDX-License-Identifier: Apache-2.0
"""Small modules for the tests of `prove`, and what each is proved in."""

from __future__ import annotations

from pathlib import Path

from wakeproof.judge.process import Children
from wakeproof.judge.prove import modules, subjects
from wakeproof.judge.prove.obligations import Problem

LOCK = r"""
---- MODULE Toy ----
EXTENDS Naturals, Sequences, FiniteSets
CONSTANTS Threads, Mode
ASSUME Known == Mode \in {"right", "wrong"} /\ Threads # {}
VARIABLES holder, pc, line, taken
None == "nobody"
TypeOK ==
  /\ holder \in Threads \cup {None}
  /\ pc \in [Threads -> {"idle", "wait", "in"}]
  /\ line \in Seq(Threads)
  /\ taken \in Nat
Init ==
  /\ holder = None
  /\ pc \in [Threads -> {"idle", "wait"}]
  /\ line = <<>>
  /\ taken \in {0, 1}
IsIn(t) == \E i \in 1 .. Len(line) : line[i] = t
Go(t, from, to) == pc[t] = from /\ pc' = [pc EXCEPT ![t] = to]
Wait(t) ==
  /\ Go(t, "idle", "wait")
  /\ line' = Append(line, t)
  /\ UNCHANGED <<holder, taken>>
Take(t) ==
  /\ Go(t, "wait", "in")
  /\ line # <<>> /\ Head(line) = t
  /\ Mode = "right" => holder = None
  /\ holder' = t
  /\ line' = Tail(line)
  /\ taken' = IF taken < 2 THEN taken + 1 ELSE taken
Leave(t) ==
  /\ Go(t, "wait", "idle")
  /\ line' = SelectSeq(line, LAMBDA one : one # t)
  /\ UNCHANGED <<holder, taken>>
Give(t) ==
  /\ Go(t, "in", "idle")
  /\ holder' = None
  /\ UNCHANGED <<line, taken>>
Next == \E t \in Threads : Wait(t) \/ Take(t) \/ Leave(t) \/ Give(t)
Exclusive == Cardinality({t \in Threads : pc[t] = "in"}) <= 1
Counts == [][taken' <= taken + 1]_taken
IndTypes == taken <= 2
HolderIsIn == \A t \in Threads : pc[t] = "in" <=> holder = t
LineWaits == \A i \in 1 .. Len(line) : line[i] \in Threads /\ pc[line[i]] = "wait"
LineIsDistinct == \A i, j \in 1 .. Len(line) : i # j => line[i] # line[j]
IndInv == IndTypes /\ HolderIsIn /\ LineWaits /\ LineIsDistinct /\ taken >= 0
====
"""
"""A lock with a line; in the mode "wrong" a thread takes it although another holds it.

A thread that waits at first stands in no line, so it can only leave.
"""

CONSTANTS = {"Threads": "{a, b}", "Mode": '"right"'}


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write the toy with some of its text replaced, each of which stands there once."""
    text = LOCK
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file = folder / "Toy.tla"
    file.write_text(text, encoding="utf-8")
    config = "\n".join(f"  {name} = {value}" for name, value in CONSTANTS.items())
    file.with_suffix(".cfg").write_text(
        f"INIT Init\nNEXT Next\nCONSTANTS\n{config}\nINVARIANTS\n  TypeOK\n  Exclusive\n",
        encoding="utf-8",
    )
    return file


def problem(file: Path, children: Children, mode: str = "right") -> Problem:
    """Return the toy's problem in a mode."""
    subject = subjects.subject(
        "Toy", {"Mode": mode}, {"Threads": "{a, b}"}, claims=("Exclusive", "Counts"),
        types=("TypeOK", "IndTypes"),
    )  # fmt: skip
    return Problem(modules.read(file, children), subject)
