# SPDX-License-Identifier: Apache-2.0
"""Writes a report as one HTML file that loads nothing.

All text is escaped where the page is made, and the viewer's script sets text only.  The page's
policy forbids every request and every script but this one.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import BaseModel
from rich.console import Console

from wakeproof import locations
from wakeproof.errors import UsageError
from wakeproof.judge.page import plots
from wakeproof.judge.page.data import STRENGTHS, Counterexample, Report, StateGraph
from wakeproof.judge.report import WIDE

_TEMPLATES = Path(__file__).parent / "templates"


def check_folder(option: str, file: Path | None) -> None:
    """Check, before a long job starts, that its report can be written.

    Raises:
        UsageError: `file`, given with `option`, is a folder, or lies in none that exists.
    """
    if file is None:
        return
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{option} {file}: there is no folder {file.absolute().parent}; make it")
    if file.is_dir():
        raise UsageError(f"{option} {file}: this is a folder; name a file")


def write_report(file: Path, report: Report) -> None:
    """Write a whole report, completely or not at all."""
    locations.write_atomically(file, html(report))


def html(report: Report) -> str:
    """Return the page of a whole report."""
    viewed = {
        "counterexamples": report.counterexamples, "sources": _viewed(report),
        "graphs": report.graphs,
    }  # fmt: skip
    return _page("report.html", title=report.title, viewed=viewed, report=report)


def write(
    file: Path,
    title: str,
    show: Callable[[Console], None],
    counterexamples: Iterable[Counterexample] = (),
    graphs: Sequence[StateGraph] = (),
) -> None:
    """Write what a command prints, and what it found with the viewer."""
    screen = Console(record=True, file=io.StringIO(), width=WIDE, highlight=False)
    show(screen)
    printed = screen.export_html(code_format="{code}", inline_styles=True)
    found = list(counterexamples)
    sources = {key: source for one in found for key, source in one.sources.items()}
    viewed = {
        "counterexamples": [one.model_copy(update={"sources": {}}) for one in found],
        "sources": sources, "graphs": graphs,
    }  # fmt: skip
    text = _page("command.html", title=title, viewed=viewed, found=found, graphs=graphs,
                 printed=Markup(printed))  # fmt: skip  # noqa: S704  (rich escapes it)
    locations.write_atomically(file, text)


def _viewed(report: Report) -> dict[str, BaseModel]:
    """Return the sources that steps of counterexamples show; the others stand in the page."""
    keys = {key for one in report.counterexamples for s in one.steps for key in s.sources}
    return {key: report.sources[key] for key in sorted(keys)}


def _page(template: str, *, title: str, viewed: object, **values: object) -> str:
    script = (_TEMPLATES / "viewer.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    return _environment().get_template(template).render(
        title=title, policy=policy, script=Markup(script), data=in_script(viewed),  # noqa: S704
        style=Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8")),  # noqa: S704
        strengths=STRENGTHS, has_plots=plots.are_there(), **values,
    )  # fmt: skip


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["target"] = target
    made.filters["svg"] = Markup  # of plots.py, which escapes what is of others
    return made


def target(name: str) -> str:
    """Return what a link has behind its # for `name`."""
    return quote(name, safe="!.")


def in_script(value: object) -> Markup:
    """Return `value` as JSON that no text in it can end before its script element does."""
    text = json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)  # noqa: S704


def _plain(value: object) -> object:
    assert isinstance(value, BaseModel)
    return value.model_dump(mode="json", exclude_defaults=True)
