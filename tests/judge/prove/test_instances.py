# SPDX-License-Identifier: Apache-2.0
"""INSTANCE in the translator, against TLC, and substitutions that are wrong on purpose."""

from __future__ import annotations

import xml.etree.ElementTree as ET  # of SANY, for the tests' own changes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wakeproof.judge.process import Children
from wakeproof.judge.prove import compare, modules, subjects
from wakeproof.judge.prove.modules import Module, Node, OutsideFragmentError
from wakeproof.judge.prove.obligations import Problem
from wakeproof.judge.tlc import dump

pytestmark = pytest.mark.slow  # each test starts SANY and TLC

COUNTER = r"""
---- MODULE Counter ----
EXTENDS Naturals
CONSTANTS Limit, Step(_)
VARIABLES n
ASSUME Limit \in Nat
Room == n < Limit
Up == Room /\ n' = n + 1
Same == UNCHANGED n
====
"""
MOVES = r"""
---- MODULE Moves ----
EXTENDS Naturals
CONSTANTS Threads, From, To
VARIABLES here, there
Other == INSTANCE Bag WITH bag <- there
Init == here = Threads /\ there = {}
Move(t) == here # {} /\ t \in here /\ here' = here \ {t} /\ Other!Add(t)
Within == here \subseteq Threads /\ there \subseteq Threads
Label == <<From, To>>
Stay == UNCHANGED <<here, there>>
====
"""
BAG = r"""
---- MODULE Bag ----
VARIABLE bag
Put(set, t) == set \cup {t}
Add(t) == LET added == Put(bag, t) IN bag' = added
====
"""
USER = r"""
---- MODULE User ----
EXTENDS Naturals
CONSTANTS Threads
VARIABLES here, there, last, turns
Forth == INSTANCE Moves WITH From <- "here", To <- "there"
Back == INSTANCE Moves WITH here <- there, there <- here, From <- "there", To <- "here"
INSTANCE Bag WITH bag <- last
Many(most) == INSTANCE Turns WITH n <- turns, Limit <- most + 1
TypeOK ==
  /\ here \subseteq Threads
  /\ there \subseteq Threads
  /\ last \subseteq Threads
  /\ turns \in 0 .. 3
Init == Forth!Init /\ last = {} /\ turns = 0
GoForth(t) == Forth!Move(t) /\ Add(t) /\ Many(2)!Up
GoBack(t) == Back!Move(t) /\ last' = {t} /\ Many(1)!Same
Rest == Back!Stay /\ UNCHANGED last /\ turns > 1 /\ Many(2)!Down
Next == (\E t \in Threads : GoForth(t) \/ GoBack(t)) \/ Rest
IndInv == Back!Within /\ Many(2)!Low
====
"""
TURNS = r"""
---- MODULE Turns ----
EXTENDS Naturals
CONSTANT Limit
VARIABLE n
ASSUME Limit \in Nat
Low == n <= Limit
Up == n < Limit /\ n' = n + 1
Down == n' = n - 1
Same == UNCHANGED n
====
"""
CONSTANTS = {"Threads": "{a, b}"}


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    with Children() as found:
        yield found


def written(folder: Path) -> Path:
    for name, text in {
        "Moves": MOVES, "Bag": BAG, "User": USER, "Turns": TURNS, "Counter": COUNTER,
    }.items():  # fmt: skip
        (folder / f"{name}.tla").write_text(text, encoding="utf-8")
    return folder / "User.tla"


def differences(folder: Path, children: Children) -> list[str]:
    """Return how the translation of `User` differs from TLC's graph."""
    file = written(folder)
    graph = dump.graph(file, dump.config_text("Init", "Next", CONSTANTS), children)
    assert len(graph.texts) > 15
    subject = subjects.subject("User", {}, CONSTANTS, claims=())
    found = Problem(modules.read(file, children), subject)
    assert {path.action.name for path in found.paths if path.action} == {
        "GoForth", "GoBack", "Rest",
    }  # fmt: skip
    return list(compare.differences(found, CONSTANTS, graph))


def test_a_module_with_instances_takes_the_steps_of_tlc_and_no_others(
    tmp_path: Path, children: Children
) -> None:
    assert differences(tmp_path, children) == []


Right = Callable[[Module, ET.Element, int], Node]


def swapped(substitutions: ET.Element) -> None:
    """Exchange what stands for the first and the second variable."""
    first, second = [one for one in substitutions if one.findtext("OpApplNode/level") == "1"][:2]
    (a, b), (c, d) = first, second
    first[:], second[:] = [a, d], [c, b]


def dropped(substitutions: ET.Element) -> None:
    """Let a variable of the instance stand for the module's own one of its name."""
    first, second = [one for one in substitutions if one.findtext("OpApplNode/level") == "1"][:2]
    first[:] = [first[0], second[1]]


def with_defect(monkeypatch: pytest.MonkeyPatch, defect: Callable[[ET.Element], None]) -> None:
    """Change the substitutions of each instance of `Moves`."""
    right: Right = Module._substituted

    def wrong(module: Module, xml: ET.Element, instance: int) -> Node:
        substitutions = xml.find("substs")
        assert substitutions is not None
        name = module.context[xml.findtext("instTo/ModuleNodeRef/UID") or ""]
        if name.findtext("uniquename") == "Moves":
            defect(substitutions)
        return right(module, xml, instance)

    monkeypatch.setattr(Module, "_substituted", wrong)


def test_two_substitutions_that_are_swapped_differ_from_tlc(
    tmp_path: Path, children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_defect(monkeypatch, swapped)
    found = differences(tmp_path, children)
    assert any("TLC does not take GoForth" in one for one in found), found


def test_a_substitution_that_is_dropped_leaves_a_variable_without_a_new_value(
    tmp_path: Path, children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_defect(monkeypatch, dropped)
    with pytest.raises(OutsideFragmentError, match="gives no new value to there"):
        differences(tmp_path, children)


def test_a_definition_below_an_instance_that_forgets_it_is_an_error(
    tmp_path: Path, children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Module, "_below", lambda _self, uid, _instance: uid)
    with pytest.raises((KeyError, AssertionError, OutsideFragmentError)):
        assert differences(tmp_path, children) == []


def test_an_instance_with_an_operator_is_outside_and_the_error_says_so(
    tmp_path: Path, children: Children
) -> None:
    file = written(tmp_path)
    counter = COUNTER.replace("n' = n + 1", "n' = n + Step(1)")
    (tmp_path / "Counter.tla").write_text(counter, encoding="utf-8")
    text = USER.replace(
        "INSTANCE Bag WITH", "Twice(x) == 2 * x\nC == INSTANCE Counter WITH n <- turns, "
        "Limit <- 3, Step <- Twice\nINSTANCE Bag WITH",
    ).replace("Many(2)!Up", "C!Up")  # fmt: skip
    file.write_text(text, encoding="utf-8")
    subject = subjects.subject("User", {}, CONSTANTS, claims=())
    with pytest.raises(OutsideFragmentError) as caught:
        Problem(modules.read(file, children), subject)
    assert str(caught.value) == (
        "Counter.tla:8: an instance with an operator for Step is outside the fragment; allowed: "
        "values for constants and variables"
    )
