# SPDX-License-Identifier: Apache-2.0
"""The contents of a concept's table: how steps and states of the code map to those of the spec.

The tables are the modules of ``conform.maps``.  A comparison covers steps and states: steps alone
would not show that the code has reached a different state if its next steps have the same names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wakeproof.judge.conform.code import At, Step

HIDDEN = ""
"""The label of a step that the other side does not have."""
WAIT = "(wait)"
"""The label of a hidden step that may repeat for ever: a turn of a loop that waits."""
DROPPED = "(dropped)"
"""The label of no step at all, only for a step that changes nothing."""

SpecLabel = Callable[[str, tuple[str, ...], Mapping[str, Any], Mapping[str, Any]], str]
CodeLabel = Callable[["Step"], str]


@dataclass(frozen=True)
class Ghost:
    """Memory that the spec has and the code lacks, computed along the steps of the code.

    `after` returns the new memory, or None if the scenario may not make this choice.  Only a step
    of ``litmus_choose`` may be refused.
    """

    start: Hashable
    after: Callable[[Any, Step, str], Hashable | None]


@dataclass(frozen=True)
class Call:
    """An action of the spec with its arguments."""

    action: str
    arguments: tuple[str, ...]  # in TLA

    @property
    def plain(self) -> tuple[str, ...]:
        """The arguments without quotes."""
        return tuple(re.sub(r"\W", "", argument) for argument in self.arguments)

    @property
    def tla(self) -> str:
        """The action as TLA writes it."""
        return f"{self.action}({', '.join(self.arguments)})" if self.arguments else self.action


@dataclass(frozen=True, kw_only=True)
class Concept:
    """One comparison: a scenario of ``stress/conform`` with a spec at the same bounds.

    By default "timer two" belongs to ``conform_timer.c``, the test ``conform_timer_two`` and the
    module Timer.
    """

    name: str  # of the table's row
    scenario: str = ""  # stress/conform/**/conform_<scenario>.c: no name of a file in kernel/
    test: str = ""  # in this file
    module: str = ""
    bounds: str  # in words
    threads: tuple[str, ...]  # the actors' names in the spec
    constants: Mapping[str, str]
    plain: tuple[str, ...] = ()  # actions without arguments
    arguments: Mapping[str, str]  # action -> a set for each argument; see `calls`
    spec_label: SpecLabel
    spec_seen: Callable[[Mapping[str, Any]], Hashable]
    code_label: CodeLabel
    code_seen: Callable[[At, Any], Hashable]
    ghost: Ghost | None = None
    flags: tuple[str, ...] = ()  # of the explorer
    joins: tuple[tuple[str, str], ...] = ()  # (site, site that follows at once); see Joins
    starts: str = ""  # label of the steps that choose among several initial states
    joined: str = ""  # the joins, in words
    bounded: Mapping[str, str] = field(default_factory=dict)  # action -> what its bound adds
    declares: str = ""  # TLA: what `bounded` needs
    added: tuple[str, ...] = ()  # actions of `declares` that stand beside the spec's
    keeps: Callable[[str, tuple[str, ...], Mapping[str, Any], Mapping[str, Any]], bool] | None = (
        None
    )
    spec_twin: str = ""  # a defect of the module: "no_fence"
    code_twins: tuple[str, ...] = ()  # of wp_twin; "parker.1=relaxed": that site in another order
    is_quick: bool = True  # seconds, twins included
    is_long: bool = False  # too long for the audit: `wakeproof conform` alone compares it
    blind: tuple[str, ...] = ()  # claims of the module that no defect breaks at these bounds
    looks_ahead: bool = False  # the ghost follows the code's graph ahead, so no paths are made

    def __post_init__(self) -> None:
        scenario = self.scenario or self.name.split()[0]
        test = self.test or f"conform_{self.name.replace(' ', '_')}"
        module = self.module or "".join(map(str.capitalize, scenario.split("_")))
        for field_name, value in (("scenario", scenario), ("test", test), ("module", module)):
            object.__setattr__(self, field_name, value)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Each action with each choice of its arguments.

        ``Submitters+{"late"} {1,2}``: the first argument is an element of a constant or "late", the
        second is 1 or 2.  Further choices follow a ``|``.
        """
        named = {**dict.fromkeys(self.plain, ""), **self.arguments}
        return tuple(
            Call(action, arguments)
            for action, choices in named.items()
            for sets in choices.split("|")
            for arguments in itertools.product(*map(self._members, sets.split()))
        )

    def _members(self, union: str) -> list[str]:
        texts = (self.constants.get(name, name).strip("{}") for name in union.split("+"))
        return [member.strip() for text in texts for member in text.split(",") if member]

    @property
    def has_paths(self) -> bool:
        """Return whether the code is run along paths, in which no handler can end a wait."""
        return not self.looks_ahead and "--spurious" not in self.flags


def labels_of(names: Mapping[str, str]) -> SpecLabel:
    """Return a spec_label that gives the action its name in `names`, then its arguments."""

    def label(
        action: str, arguments: tuple[str, ...], _pre: Mapping[str, Any], _post: Mapping[str, Any]
    ) -> str:
        name = names.get(action, action)
        return " ".join((name, *arguments)) if name else HIDDEN

    return label
