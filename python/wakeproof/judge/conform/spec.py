# SPDX-License-Identifier: Apache-2.0
"""The spec's side of a comparison: TLC's graph, each edge with its action's arguments.

TLC names an edge after its action and leaves out the arguments.  So the generated module adds one
named action per argument tuple to the spec's own Next.  The dump then has each step twice, and this
module checks that both sets of steps are the same.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from wakeproof.errors import JudgeError
from wakeproof.judge.conform.concept import Call, Concept
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import dump, models
from wakeproof.judge.tlc import run as tlc
from wakeproof.judge.tlc.dot import StateGraph

Action = tuple[str, tuple[str, ...]]


def actions(concept: Concept) -> dict[str, Action]:
    """Return the generated actions by name: ``Unpark__u1`` is Unpark("u1")."""
    return {_name(call): (call.action, call.plain) for call in concept.calls}


def _name(call: Call) -> str:
    return f"{call.action}__{'_'.join(call.plain)}"


def module_text(concept: Concept, *, bounded: bool) -> str:
    """Return the generated module."""
    definitions = [
        f"{_name(call)} == {call.tla} /\\ {_bound(concept, call) if bounded else 'TRUE'}"
        for call in concept.calls
    ]
    names = [*map(_name, concept.calls), *(concept.added if bounded else ())]
    text = [f"---- MODULE Conform{concept.module} ----", f"EXTENDS {concept.module}"]
    text += [concept.declares] if bounded else []
    text += definitions
    text.append("ConformNext ==")
    text += [] if bounded else ["  \\/ Next"]
    text += [f"  \\/ {name}" for name in names]
    text.append("ConformInit == Init" + (" /\\ BoundInit" if bounded else ""))
    return "\n".join([*text, "====", ""])


def _bound(concept: Concept, call: Call) -> str:
    text = concept.bounded.get(call.action, concept.bounded["*"])
    for number, argument in enumerate(call.arguments, start=1):
        text = text.replace(f"${number}", argument)
    return text


def graph(
    concept: Concept, specs: Path, children: Children, twin: str = ""
) -> tuple[StateGraph, list[Action]]:
    """Return the spec's graph and, per edge, its action with arguments.

    The loops of states that are meant to be final are left out.  The table need not know the
    actions that only a twin has, because these have no arguments.  If the table bounds the spec,
    such actions are left out, and the twin stops there.

    Raises:
        JudgeError: TLC failed, or the table's actions are not the spec's.
    """
    found = _dump(concept, specs, children, twin, bounded=False)
    edges = _checked(concept, found, is_twin=bool(twin))
    if concept.bounded:
        found = _dump(concept, specs, children, twin, bounded=True)
        known = {**actions(concept), **{name: (name, ()) for name in concept.added}}
        edges = [(a, b, known[name]) for a, b, name in found.edges]
    found.edges = [(a, b, action[0]) for a, b, action in edges]
    return found, [action for _, _, action in edges]


def _dump(
    concept: Concept, specs: Path, children: Children, twin: str, *, bounded: bool
) -> StateGraph:
    with tempfile.TemporaryDirectory(prefix="wakeproof-conform-") as folder:
        private = Path(folder)
        home = models.home(specs, concept.module, twin)
        for file in home.glob("*.tla"):
            shutil.copy(file, private)
        module = private / f"Conform{concept.module}.tla"
        module.write_text(module_text(concept, bounded=bounded), encoding="utf-8")
        config = dump.config_text("ConformInit", "ConformNext", concept.constants)
        jvm = tlc.SHORT_JVM if concept.is_quick else tlc.LARGE_JVM
        try:
            return dump.graph(module, config, children, jvm=jvm)
        except JudgeError as error:
            name = f"{concept.name} with {twin}" if twin else concept.name
            raise JudgeError(f"{name}: {error}") from None


def _checked(
    concept: Concept, found: StateGraph, *, is_twin: bool
) -> list[tuple[int, int, Action]]:
    """Return the edges of the generated actions, which must be exactly those of Next."""
    known = actions(concept)
    names = {name for name, _ in known.values()}
    own: dict[str, set[tuple[int, int]]] = {}
    theirs: dict[str, set[tuple[int, int]]] = {}
    edges = []
    for source, target, name in found.edges:
        if name in known:
            edges.append((source, target, known[name]))
            own.setdefault(known[name][0], set()).add((source, target))
        elif is_twin and name not in names and name != "Finished":
            edges.append((source, target, (name, ())))
        elif source != target or name not in ("Finished", "Terminating"):
            theirs.setdefault(name, set()).add((source, target))
    for name in own.keys() | theirs.keys():
        if own.get(name) != theirs.get(name):
            raise JudgeError(
                f"{concept.module}: the table's {name} takes {len(own.get(name, ()))} steps, "
                f"Next takes {len(theirs.get(name, ()))}"
            )
    return edges
