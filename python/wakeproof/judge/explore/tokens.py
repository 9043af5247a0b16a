# SPDX-License-Identifier: Apache-2.0
"""A token names a counterexample: with the same sources it finds the identical execution again.

A token is base64 of compressed JSON.  The file that `explore` saves has the token and the
execution.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Found

VERSION = 2


@dataclass(frozen=True)
class Token:
    """The name of an execution, which was found in `file` with `options` under `model`."""

    file: str  # relative to the sources folder where it is the project's own
    name: str  # of the scenario or program
    twin: str
    model: str
    engine: str
    options: dict[str, object]
    outcome: str
    verdict: str
    events: str  # hash of the execution
    sources: str  # hash of everything that was compiled
    schedule: str = ""  # of the execution; empty: the execution is searched
    program: str = ""  # of a program with a `main` of its own: ``judge/own/program.py``

    @property
    def text(self) -> str:
        """Return the token as `wakeproof replay` takes it."""
        packed = json.dumps([VERSION, *self.__dict__.values()], separators=(",", ":"))
        return base64.urlsafe_b64encode(zlib.compress(packed.encode(), 9)).decode().rstrip("=")

    @property
    def path(self) -> Path:
        """Return the scenario's or program's file."""
        path = Path(self.file)
        return path if path.is_absolute() else locations.sources() / path

    def explore_options(self) -> ExploreOptions:
        """Return the options that found the execution, for its model alone.

        Raises:
            UsageError: the token holds an option that this version does not know.
        """
        values = dict(self.options)
        orders = values.pop("orders", ())
        try:
            assert isinstance(orders, (list, tuple))
            chosen = ExploreOptions(
                models=(Model(self.model),), engine=self.engine,
                orders=tuple((str(f), int(line), str(o)) for f, line, o in orders),
                **values,  # type: ignore[arg-type]
            )  # fmt: skip
        except (TypeError, ValueError, AssertionError) as error:
            raise UsageError(
                f"the token's options are not of this version: {error}: explore again"
            ) from error
        return chosen.checked()


def make(
    file: Path, name: str, twin: str, model: Model, engine: str, options: ExploreOptions,
    found: Found, sources: str, program: str = "",
) -> Token:  # fmt: skip
    """Return the token of a counterexample."""
    own = file.is_relative_to(locations.sources())
    place = file.relative_to(locations.sources()) if own else file
    changed = {name: value for name, value in options.changed().items() if name != "engine"}
    return Token(
        str(place), name, twin, model.value, engine, changed, found.text, found.verdict,
        found.digest, sources, found.schedule, program,
    )  # fmt: skip


def decode(text: str) -> Token:
    """Return the token that `text` encodes.

    Raises:
        UsageError: `text` is no token.
    """
    try:
        packed = base64.urlsafe_b64decode(text.strip() + "=" * (-len(text.strip()) % 4))
        version, *values = json.loads(zlib.decompress(packed))
    except (binascii.Error, zlib.error, TypeError, ValueError) as error:
        raise UsageError(
            f"{text[:40]!r}{'...' * (len(text) > 40)} is no token: give one that wakeproof explore "
            "printed, or a file that it saved"
        ) from error
    if version != VERSION:
        raise UsageError(
            f"the token is of version {version}; allowed: {VERSION}, this version's: explore again"
        )
    return _checked(dict(zip(Token.__dataclass_fields__, values, strict=False)))


def load(file: Path) -> Token:
    """Return the token that a saved counterexample holds.

    Raises:
        UsageError: the file has no token.
    """
    try:
        entry = json.loads(file.read_text("utf-8"))
        return decode(str(entry["token"]))
    except FileNotFoundError as error:
        raise UsageError(f"{file}: there is no such file") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{file} holds no counterexample of wakeproof explore") from error


def save(token: Token, found: Found, folder: Path) -> Path:
    """Write the counterexample to its own file in `folder`, completely or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{token.twin or token.name}-{token.model}-{short_hash(token.text)}".replace("/", "_")
    file = folder / f"{stem}.json"
    content = {"token": token.text, **asdict(token), "execution": asdict(found)}
    locations.write_atomically(file, json.dumps(content, indent=1) + "\n")
    return file


def short_hash(text: str) -> str:
    """Return eight digits of a hash of the text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _checked(values: Mapping[str, object]) -> Token:
    values = {"program": "", **values}  # tokens of scenarios have none
    texts = [values.get(name) for name in Token.__dataclass_fields__ if name != "options"]
    options = values.get("options")
    if not all(isinstance(text, str) for text in texts) or not isinstance(options, dict):
        raise UsageError(
            "the token is damaged, a field is missing or of the wrong kind: explore again"
        )
    return Token(**values)  # type: ignore[arg-type]
