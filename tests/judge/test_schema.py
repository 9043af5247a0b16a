# SPDX-License-Identifier: Apache-2.0
"""What native engines print and tables say is read as dataclasses, and is checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge import schema
from wakeproof.judge.explore import results
from wakeproof.judge.explore.options import Model
from wakeproof.judge.process import Children
from wakeproof.judge.stress.engine import Measured, measure
from wakeproof.judge.tlc import manifest

EVENT: dict[str, Any] = {
    "thread": 1, "kind": "store", "order": "release", "location": "x",
    "site": {"file": "a.c", "line": 3, "what": ""}, "value": 0, "operand": 1, "expected": 0,
    "written": 1, "read_from": -1, "drain": False,
}  # fmt: skip
OUTCOME: dict[str, Any] = {
    "text": "0", "verdict": "ended", "count": 2, "example": [EVENT], "cycle_from": -1,
    "spinning": 0,
}  # fmt: skip
RESULT: dict[str, Any] = {
    "program": "p", "model": "rc11", "engine": "graphs", "threads": 2, "outcomes": [OUTCOME],
    "executions": 2, "blocked": 0, "bounded": 0, "duplicates": 0, "states": 0, "edges": 0,
    "depth": 0, "exhaustive": True, "stopped": "", "error": "", "seconds": 1, "bytes": 9,
    "size": [1, 0.5, 2.0],
}  # fmt: skip
MEASURED: dict[str, Any] = {
    "samples": 2, "seconds": 0.5, "seed": 7, "cpus": [0, 1], "asleep": 0, "asleep_changed": 0,
    "watch": "none", "uncounted": 0, "outcomes": [{"outcome": "0,1", "samples": 2}],
}  # fmt: skip


def with_(values: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return JSON data with one value replaced: ``outcomes.0.count``."""
    copy = json.loads(json.dumps(values))
    *outer, last = (int(one) if one.isdigit() else one for one in path.split("."))
    at = copy
    for one in outer:
        at = at[one]
    at[last] = value
    return copy


def test_a_result_of_the_explorer_is_read_whole() -> None:
    found = results.parse(json.dumps(RESULT))
    assert (found.model, found.size, found.seconds) == (Model.RC11, (1.0, 0.5, 2.0), 1.0)
    (event,) = found.outcomes[0].example
    assert event.site == results.Site("a.c", 3, "")
    assert (event.place, event.racing) == (-1, False)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("outcomes.0.count", "2", "outcomes.0.count: .*integer, not '2'"),
        ("outcomes.0.example.0.site.line", 1.5, "outcomes.0.example.0.site.line: .*not '1.5'"),
        ("model", "power", "model: .*'sc', 'tso', 'rc11'.* not 'power'"),
        ("exhaustive", 1, "exhaustive: .*boolean, not '1'"),
        ("outcomes", None, "outcomes: .*array, not 'None'"),
        ("size", [1, 2], "size.2: .*required"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(path: str, value: object, message: str) -> None:
    with pytest.raises(JudgeError, match=f"^the explorer printed no result: {message}"):
        results.parse(json.dumps(with_(RESULT, path, value)))


def test_a_value_that_is_missing_is_named() -> None:
    without = {name: value for name, value in RESULT.items() if name != "states"}
    with pytest.raises(JudgeError, match=r"no result: states: Field required: \{"):
        results.parse(json.dumps(without))


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        (json.dumps(with_(MEASURED, "cpus.1", "1")), r"cpus\.1: .*integer, not '1'"),
        (json.dumps(with_(MEASURED, "outcomes.0", {"outcome": "0"})), r"outcomes\.0\.samples: "),
        ("nonsense", "Invalid JSON"),
    ],
)
def test_what_is_no_measurement_is_a_judges_error(printed: str, message: str) -> None:
    with Children() as children, pytest.raises(JudgeError, match=f"printed no result: {message}"):
        measure(children, ["echo", printed], 60)


def test_a_measurement_is_read_whole() -> None:
    with Children() as children:
        found = measure(children, ["echo", json.dumps(MEASURED)], 60)
    assert isinstance(found, Measured)
    assert json.loads(schema.of(Measured).dump_json(found)) == MEASURED


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"module": "M", "set": "huge"}, "A.cfg: set: .*'short' or 'full', not 'huge'"),
        ({"module": "M", "claims": "M!It"}, "A.cfg: claims: .*array, not 'M!It'"),
        ({"module": "M", "stats": 1}, "A.cfg: unknown field stats; allowed: budget_s, claim"),
        ({"set": "short"}, "A.cfg: module: Field required"),
        ({"module": "M", "states": "12"}, "A.cfg: states: .*integer, not '12'"),
    ],
)
def test_a_wrong_entry_of_the_manifest_is_named(
    entry: dict[str, object], message: str, tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"A.cfg": entry}))
    with pytest.raises(UsageError, match=f"^manifest.json: {message}"):
        manifest.load(tmp_path)
