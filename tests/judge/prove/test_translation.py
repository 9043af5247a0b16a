# SPDX-License-Identifier: Apache-2.0
"""The translation against TLC on a toy and a spec, and translations that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.process import Children
from wakeproof.judge.prove import compare, modules, smt, subjects, values
from wakeproof.judge.prove.modules import OutsideFragmentError
from wakeproof.judge.prove.obligations import Problem
from wakeproof.judge.prove.paths import Path as Way
from wakeproof.judge.prove.shown import tla
from wakeproof.judge.prove.solver_child import ask_z3
from wakeproof.judge.tlc import dump, models
from wakeproof.judge.tlc.dot import StateGraph

from .toys import CONSTANTS, problem, written

pytestmark = pytest.mark.slow  # each test starts SANY, about a second

Toy = tuple[Problem, StateGraph]


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    with Children() as found:
        yield found


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory, children: Children) -> Toy:
    folder = tmp_path_factory.mktemp("toy")
    found = problem(written(folder), children)
    return found, dumped(folder, "Toy", CONSTANTS, children)


def dumped(
    folder: Path, module: str, constants: Mapping[str, str], children: Children
) -> StateGraph:
    """Return TLC's graph of a module for these constants."""
    config = dump.config_text("Init", "Next", constants)
    return dump.graph(folder / f"{module}.tla", config, children)


def differs(toy: Toy, paths: list[Way], initial: list[Way] | None = None) -> bool:
    """Say whether TLC contradicts these paths, or these ways to begin (None: the right ones)."""
    found, graph = toy
    wrong = copy(found)
    wrong.paths = paths
    wrong.initial = found.initial if initial is None else initial
    return next(compare.differences(wrong, CONSTANTS, graph), None) is not None


def test_the_translation_of_the_toy_takes_the_steps_of_tlc_and_no_others(toy: Toy) -> None:
    found, graph = toy
    assert len(graph.texts) > 20
    assert list(compare.differences(found, CONSTANTS, graph)) == []


SMALL = {
    "BiasedLock": {"Stealers": "{s1, s2}"},
    "Carrier": {"Submitters": "{s1}", "Victims": "{v1}", "Searches": "1", "Delaying": "TRUE"},
    "Condition": {"Waiters": "{a, b}", "Changers": "{c, d}"},
    "Guard": {"Producers": "{p1, p2}"},
    "Latch": {"Waiters": "{a, b}"},
    "Mpsc": {
        "Producers": "{p1, p2}", "Siblings": "{s1}", "Nodes": "{n1, n2}", "NoNode": "NoNode",
        "TakesMany": "TRUE",
    },
    "Mutex": {"Threads": "{a, b}", "Leavers": "{b}", "Passes": "1", "Miss": "1"},
    "Parker": {"Unparkers": "{u1}", "Rounds": "1", "MayClose": "TRUE"},
    "Search": {
        "Carriers": "{c1, c2}", "Submitters": "{s1}", "Endless": "{c2}", "Backlog": "0",
        "Pinners": "{}", "Spawns": "0", "Yields": "0", "Delaying": "{c1}", "Tokens": "{k1, k2}",
    },
    "Semaphore": {"Threads": "{a, b}", "Leavers": "{b}", "Large": "{b}", "Permits": "2"},
    "Task": {"Carriers": "{c1, c2}", "Unparkers": "{u1}", "Unparks": "1", "Yields": "1"},
    "VThread": {
        "Carriers": "{c1}", "Unparkers": "{u1}", "Unparks": "1", "Parks": "1", "Yields": "0",
    },
    "WaitQueue": {
        "Virtual": "{v}", "Os": "{o}", "Granters": "{g1}", "Waits": "1", "Strays": "1",
    },
}  # fmt: skip
"""A small configuration of each module that is proved."""
SUBJECTS = {one.name: one for _, one in subjects.every(locations.sources() / "specs")}


def test_every_module_that_is_proved_is_compared() -> None:
    assert {one.module for one in SUBJECTS.values()} == SMALL.keys()


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_translation_of_a_spec_takes_the_steps_of_tlc_and_no_others(
    name: str, children: Children
) -> None:
    made, subject = models.own(), SUBJECTS[name]
    modes = {constant: tla(value) for constant, value in subject.modes.items()}
    constants = SMALL[subject.module] | modes
    graph = dumped(made, subject.module, constants, children)
    found = Problem(modules.read(made / f"{subject.module}.tla", children), subject)
    assert len(graph.texts) > 90
    assert list(compare.differences(found, constants, graph)) == []


def test_a_translation_that_loses_a_path_differs_from_tlc(toy: Toy) -> None:
    paths = toy[0].paths
    for lost in paths:
        assert differs(toy, [path for path in paths if path is not lost]), lost.action


def test_a_translation_that_drops_a_guard_differs_from_tlc(toy: Toy) -> None:
    paths = toy[0].paths
    for wrong in paths:
        assert wrong.action is not None
        name = "line" if wrong.action.name == "Take" else "pc"  # a thread in line waits
        kept = [one for one in wrong.guards if not _mentions(one, name)]
        assert len(kept) < len(wrong.guards)
        loose = replace(wrong, guards=tuple(kept))
        assert differs(toy, [loose if path is wrong else path for path in paths]), wrong.action


def _mentions(guard: smt.Term, name: str) -> bool:
    return any(one.op == "symbol" and one.name == name for one in smt.subterms([guard]))


def test_a_translation_that_keeps_a_variable_that_changes_differs_from_tlc(toy: Toy) -> None:
    found, _ = toy
    for wrong in found.paths:
        for name, value in wrong.next.items():
            if value is not found.state[name]:
                kept = replace(wrong, next={**wrong.next, name: found.state[name]})
                paths = [kept if path is wrong else path for path in found.paths]
                assert differs(toy, paths), (wrong.action, name)


def test_a_translation_that_changes_an_unchanged_variable_differs_from_tlc(toy: Toy) -> None:
    found, _ = toy
    for wrong in found.paths:
        if wrong.next["taken"] is found.state["taken"]:
            more = replace(wrong, next={**wrong.next, "taken": smt.integer(0)})
            assert differs(toy, [more if path is wrong else path for path in found.paths])


def test_a_translation_with_a_step_more_differs_from_tlc(toy: Toy) -> None:
    found, _ = toy
    assert differs(toy, [*found.paths, Way(next=found.state)])


def test_a_translation_that_loses_a_way_to_begin_differs_from_tlc(toy: Toy) -> None:
    found, _ = toy
    assert len(found.initial) == 2  # taken is 0 or 1
    for lost in found.initial:
        assert differs(toy, found.paths, [one for one in found.initial if one is not lost])


FIRST = {
    # what Init says: what it says in a translation that is wrong
    "taken \\in {0, 1}": ("taken \\in {0}", "taken \\in {0, 1, 2}", "taken \\in {0, 2}"),
    'pc \\in [Threads -> {"idle", "wait"}]': (
        'pc \\in [Threads -> {"idle"}]', 'pc \\in [Threads -> {"idle", "in"}]',
        'pc \\in [Threads -> {"idle", "wait", "in"}]', 'pc = [t \\in Threads |-> "wait"]',
    ),
}  # fmt: skip


@pytest.mark.parametrize("old", FIRST)
def test_a_translation_that_begins_in_other_states_differs_from_tlc(
    old: str, toy: Toy, tmp_path: Path, children: Children
) -> None:
    found, graph = toy
    for new in FIRST[old]:
        wrong = problem(written(tmp_path, (old, new)), children)
        assert next(compare.differences(wrong, CONSTANTS, graph), None) is not None, new
        assert differs(toy, found.paths, wrong.initial), new


def test_a_conjunct_that_is_translated_wrongly_differs_from_tlc(toy: Toy) -> None:
    found, graph = toy
    wrong = copy(found)
    wrong.before = [*found.before[:-1], smt.negation(found.before[-1])]
    assert next(compare.differences(wrong, CONSTANTS, graph), None) is not None


OUTSIDE = {
    # what is replaced: (by what, what the error says)
    "taken' = IF taken < 2 THEN taken + 1 ELSE taken": (
        "taken' = CHOOSE n \\in {0, 1} : n = taken", "CHOOSE that depends on the state"
    ),
    "  /\\ holder' = None\n": ("", "Give gives no new value to holder"),
    "  /\\ taken \\in Nat\n": ("", "TypeOK, IndTypes gives no type to taken"),
    "/\\ taken >= 0": ("/\\ Cardinality(Threads) >= 3", "a cardinality is compared with more"),
    "/\\ line # <<>> /\\ Head(line) = t": (
        "/\\ line' # <<>> /\\ Head(line) = t", "line' is read before it is set"
    ),
    "holder' = t": ("holder' = {t}", "the new value of holder has another type"),
}  # fmt: skip


@pytest.mark.parametrize("old", OUTSIDE)
def test_what_is_outside_the_fragment_is_named_with_its_line(
    old: str, tmp_path: Path, children: Children
) -> None:
    new, says = OUTSIDE[old]
    file = written(tmp_path, (old, new))
    with pytest.raises(OutsideFragmentError, match=r"^Toy\.tla") as raised:
        list(problem(file, children).obligations())
    assert says in str(raised.value)
    if "value to" not in says and "type to" not in says:
        assert f"Toy.tla:{_line(file, new)}" in str(raised.value)


def _line(file: Path, text: str) -> int:
    return file.read_text(encoding="utf-8").partition(text)[0].count("\n") + 1


def test_an_error_of_the_module_is_reported_as_sany_says_it(
    tmp_path: Path, children: Children
) -> None:
    file = written(tmp_path, ("holder' = t", "holder' = unknown"))
    with pytest.raises(UsageError, match="Unknown operator: `unknown'"):
        modules.read(file, children)


def test_where_no_guard_of_a_case_is_true_must_never_be_reached(
    tmp_path: Path, children: Children
) -> None:
    text = 'Go(t, "in", CASE holder = t -> "idle")'
    found = problem(written(tmp_path, ('Go(t, "in", "idle")', text)), children)
    gaps = [one for one in found.obligations() if one.conjunct == "defined"]
    assert len(gaps) == 1
    assert "a CASE of which no guard is true" in gaps[0].what


def test_a_new_value_must_fit_the_type_of_its_variable(tmp_path: Path, children: Children) -> None:
    for tail, answer in (("Tail(line)", "unsat"), ("Tail(Tail(line))", "sat")):
        found = problem(written(tmp_path, ("line' = Tail(line)", f"line' = {tail}")), children)
        (kept,) = (one for one in found.obligations() if one.what == "Take keeps the type of line")
        assert ask_z3(kept.text, 10_000, "", {})["answer"] == answer


def test_a_step_that_changes_one_of_a_conjuncts_two_variables_is_asked_about(toy: Toy) -> None:
    found, _ = toy
    asked = {one.what for one in found.obligations()}
    reads = {one.name: one.reads for one in found.conjuncts}
    assert reads["HolderIsIn"] == {"pc", "holder"}
    assert reads["LineWaits"] == {"pc", "line"}
    # Wait and Leave change pc, and not holder; Give changes pc, and not line.
    assert {"Wait keeps HolderIsIn", "Leave keeps HolderIsIn", "Give keeps LineWaits"} <= asked
    assert "Give keeps LineIsDistinct" not in asked  # which reads line alone


def test_a_mode_that_is_fixed_folds_away(tmp_path: Path, children: Children) -> None:
    wrong = problem(written(tmp_path), children, "wrong")
    by_name = {path.action.name: path for path in wrong.paths if path.action}
    assert not any(_mentions(one, "holder") for one in by_name["Take"].guards)


def test_a_selection_is_the_sequence_that_tlc_selects(toy: Toy) -> None:
    found, _ = toy
    (leave,) = (one for one in found.paths if one.action and one.action.name == "Leave")
    assert isinstance(leave.next["line"], values.SequenceValue)
    assert len(found.evaluator.selections) == 1
