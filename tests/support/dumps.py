# SPDX-License-Identifier: Apache-2.0
"""The shape of a dump in JSON: the JDK's thread dump, with states, carriers and stacks."""

from __future__ import annotations

import re
from typing import Any

STATES = {"new", "queued", "given", "running", "parked", "pinned", "closed"}


def checked(whole: dict[str, Any]) -> dict[str, Any]:
    """Return the dump, after checking its shape."""
    assert list(whole) == ["threadDump"]
    dump: dict[str, Any] = whole["threadDump"]
    assert int(dump["processId"]) > 0
    assert isinstance(dump["runtimeVersion"], str)
    assert dump["time"].endswith("Z")
    seen: set[str | None] = {None}
    for container in dump["threadContainers"]:
        assert container["parent"] in seen, "pre-order"
        assert (container["parent"] is None) == (container["container"] == dump_root(dump))
        seen.add(container["container"])
        assert container["owner"] is None or int(container["owner"]) > 0
        assert int(container["threadCount"]) >= len(container["threads"])
        for thread in container["threads"]:
            _check_thread(thread)
    for same in dump["stacks"]:
        assert int(same["count"]) >= len(same["names"]) > 0
        assert same["state"] in STATES
        _check_stack(same["stack"])
    total = sum(int(container["threadCount"]) for container in dump["threadContainers"])
    assert sum(int(same["count"]) for same in dump["stacks"]) + int(dump["others"]) == total
    return dump


def dump_root(dump: dict[str, Any]) -> str:
    root: str = dump["threadContainers"][0]["container"]
    return root


def _check_thread(thread: dict[str, Any]) -> None:
    assert int(thread["tid"]) >= 0
    assert isinstance(thread["name"], str)
    assert thread["state"] in STATES
    assert thread["home"].startswith("carrier-")
    assert thread["carrier"] is None or thread["carrier"].startswith("carrier-")
    _check_stack(thread["stack"])


def _check_stack(stack: list[str]) -> None:
    assert all(isinstance(frame, str) and frame for frame in stack)


def said_of(dump: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the entry of the one thread of that name."""
    listed = [one for container in dump["threadContainers"] for one in container["threads"]]
    (said,) = [one for one in listed if one["name"] == name]
    return dict(said)


def functions(stack: list[str]) -> list[str]:
    """Return the names of the frames."""
    return [re.split(r"[+ ]", frame)[0] for frame in stack]
