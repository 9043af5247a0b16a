# SPDX-License-Identifier: Apache-2.0
"""SARIF, which code review and editors read: rules, and results with their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import wakeproof

VERSION: Final = "2.1.0"


def rule(name: str, sentence: str, **properties: str) -> dict[str, Any]:
    """Return what can be broken."""
    shown: dict[str, Any] = {"id": name, "shortDescription": {"text": sentence}}
    return shown | ({"properties": properties} if properties else {})


def result(number: int, name: str, text: str, places: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return that rule `number`, which has this name, is broken."""
    found: dict[str, Any] = {
        "ruleId": name, "ruleIndex": number, "level": "error", "message": {"text": text},
    }  # fmt: skip
    return found | ({"locations": list(places)} if places else {})


def place(file: str, line: int) -> dict[str, Any]:
    """Return a line (from 1) of a file, which is relative to the folder of the sources."""
    region = {"startLine": line}
    return {"physicalLocation": {"artifactLocation": {"uri": file}, "region": region}}


def document(rules: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the document of one run."""
    driver = {"name": "wakeproof", "version": wakeproof.__version__, "rules": list(rules)}
    return {
        "$schema": f"https://json.schemastore.org/sarif-{VERSION}.json", "version": VERSION,
        "runs": [{"tool": {"driver": driver}, "results": list(results)}],
    }  # fmt: skip
