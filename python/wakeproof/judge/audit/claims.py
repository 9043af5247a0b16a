# SPDX-License-Identifier: Apache-2.0
"""Every claim in words, with the code that upholds it and the scenarios that show it.

The sentence of a claim is the comment above its operator.  The code of a claim is every label with
a comment that says that it upholds the claim, or else the files that the module's header names.
The scenarios of a claim declare that they uphold it, or must show a twin that breaks it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wakeproof.errors import UsageError
from wakeproof.judge.audit import run as auditing
from wakeproof.judge.conform.maps import CONCEPTS
from wakeproof.judge.twins import listed as twins

_SITE: Final = re.compile(r"\[([a-z]\w*\.\d+)\][^[]*?\bupholds\s+(?:\*\s+)?(\w+!\w+)")
_SCENARIO: Final = re.compile(
    r'\bSTRESS_TEST\(\s*(\w+),(?:(?!STRESS_TEST).)*?\.upholds\s*=\s*"([^"]+)"', re.DOTALL
)
_CODE: Final = re.compile(r"^\(\* Code(.*?)^\(\*(?: [A-Z]|\*)", re.DOTALL | re.MULTILINE)
_FILE: Final = re.compile(r"\b\w+\.(?:[chS]|py)\b")


@dataclass(frozen=True)
class Claim:
    """A promise of a module about the code."""

    name: str  # "Guard!NoLostWakeup"
    kind: str  # of `auditing.KINDS`
    sentence: str
    code: tuple[str, ...]  # "guard.2", or "guard.h" where no label upholds it
    scenarios: tuple[str, ...]
    compared: tuple[str, ...]  # by `conform`, under these names


def read(root: Path) -> list[Claim]:
    """Return all claims of the tree `root`, by module.

    Raises:
        UsageError: a claim has no sentence.
    """
    sites, scenarios = _by_claim(kernel_claims(root / "kernel")), _scenarios(root)
    found, missing = [], []
    for module in sorted((root / "specs").rglob("*.tla")):
        text = module.read_text(encoding="utf-8")
        for name, kind in auditing.kinds(text).items():
            claim = f"{module.stem}!{name}"
            sentence = _sentence(text, name)
            if not sentence:
                missing.append(f"{module.relative_to(root)}: {name}")
            compared = [concept.name for concept in CONCEPTS
                        if concept.module == module.stem and name not in concept.blind]  # fmt: skip
            found.append(Claim(
                claim, kind, sentence, tuple(sorted(sites[claim], key=_place) or _files(text)),
                tuple(sorted(set(scenarios[claim]))), tuple(compared),
            ))  # fmt: skip
    if missing:
        raise UsageError(
            f"{', '.join(missing)}: no comment above it says in a sentence what it claims"
        )
    return found


def kernel_claims(kernel: Path) -> list[tuple[str, str]]:
    """Return (label, claim) of each labelled site; tools/pairs.py checks the comments."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(kernel.rglob("*.[ch]")))
    return [pair for text in texts for pair in _SITE.findall(text)]


def _place(label: str) -> tuple[str, int]:
    stem, _, number = label.partition(".")
    return stem, int(number)


def _scenarios(root: Path) -> defaultdict[str, list[str]]:
    files = sorted((root / "stress" / "scenarios").rglob("*.c"))
    pairs = [pair for file in files for pair in _SCENARIO.findall(file.read_text(encoding="utf-8"))]
    pairs += [(twin.scenario, twin.violates) for twin in twins.read(root) if twin.scenario]
    return _by_claim(pairs)


def _by_claim(pairs: list[tuple[str, str]]) -> defaultdict[str, list[str]]:
    found = defaultdict(list)
    for name, claim in pairs:
        found[claim].append(name)
    return found


def _sentence(text: str, name: str) -> str:
    """Return the comment right above the operator."""
    found = re.search(rf"((?:^\\\* .*\n)*)^{name}\b.*==", text, re.MULTILINE)
    return " ".join(found[1].replace("\\*", " ").split()) if found else ""


def _files(text: str) -> list[str]:
    header = _CODE.search(text)
    return list(dict.fromkeys(_FILE.findall(header[1]))) if header else []
