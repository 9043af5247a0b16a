# SPDX-License-Identifier: Apache-2.0
"""JUnit XML, which CI systems read: a case for each thing that was judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, not even escaped."""


@dataclass(frozen=True)
class Case:
    """One thing that was judged."""

    kind: str  # "wakeproof.stress.twin"
    name: str
    status: Literal["", "failure", "skipped"] = ""
    message: str = ""
    seconds: float = 0.0


def document(name: str, cases: Sequence[Case], seconds: float) -> str:
    """Return the document of one suite."""
    suite = ElementTree.Element(
        "testsuite", name=name, tests=str(len(cases)),
        failures=str(sum(one.status == "failure" for one in cases)), errors="0",
        skipped=str(sum(one.status == "skipped" for one in cases)), time=f"{seconds:.3f}",
    )  # fmt: skip
    for one in cases:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_legal(one.kind), name=_legal(one.name),
            time=f"{one.seconds:.3f}",
        )  # fmt: skip
        if one.status:
            ElementTree.SubElement(case, one.status, message=_legal(one.message))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
