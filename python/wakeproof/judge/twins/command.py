# SPDX-License-Identifier: Apache-2.0
"""`wakeproof twins`: list every named defect, its place, and the judges that must see it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from wakeproof import locations
from wakeproof.cli.panels import AsJson
from wakeproof.errors import UsageError
from wakeproof.judge import report
from wakeproof.judge.names import finder
from wakeproof.judge.twins import listed as judge
from wakeproof.judge.twins.listed import Listed


def twins(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[show NAME]",
            help="Show one twin with its edits. Default: list the twins.",
            show_default=False,
        ),
    ] = None,
    pattern: Annotated[
        str | None, typer.Option("-t", metavar="REGEX", help="List the twins whose name matches.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the twins: copies of the source with one named defect, which judges must see.

    A twin is an edit of the kernel's C, of a specification, or of both. The edits are in
    stress/twins/.

    Examples:

      wakeproof twins                         all of them

      wakeproof twins -t '^guard'             the guard's

      wakeproof twins show guard.no_fence     its edits as a diff, and its judges
    """
    root = locations.sources()
    if words:
        if len(words) != 2 or words[0] != "show":
            raise UsageError(
                f"{' '.join(words)!r}; allowed: show NAME, "
                "as in: wakeproof twins show guard.no_fence"
            )
        if pattern is not None:
            raise UsageError("-t is for the list of twins: leave out -t, or `show`")
        _show(judge.find(root, words[1]), root, as_json=as_json)
        return
    is_named = finder(pattern)
    found = [one for one in judge.read(root) if is_named(one.name)]
    if not found:
        raise UsageError(f"-t {pattern}: no twin matches; `wakeproof twins` lists all")
    if as_json:
        print(report.to_json({"judge": "twins", "twins": [summary(one) for one in found]}))
    else:
        _list(report.console(), found)


def _list(screen: Console, found: list[Listed]) -> None:
    rows = [
        (one.concept, one.defect, _where(one), ", ".join(one.seen_by), ", ".join(one.chance))
        for one in found
    ]
    columns = ("concept", "defect", "made in", "must be seen by", "may be seen by")
    screen.print(report.table("", columns, rows))
    specs, code = (sum(bool(getattr(one, at)) for one in found) for at in ("configuration", "code"))
    screen.print(f"\n{len(found)} twins, {specs} of them of a spec, {code} of code")


def _where(one: Listed) -> str:
    places = {"code": bool(one.code), "spec": bool(one.configuration)}
    return ", ".join(place for place, has in places.items() if has)


def _show(one: Listed, root: Path, *, as_json: bool) -> None:
    difference = judge.difference(one, root)
    settings = judge.own_settings(one, root)
    files = [str(file.relative_to(root)) for file in judge.branches(one, root)]
    if as_json:
        more = {"diff": difference, "settings": settings.splitlines(), "branches": files}
        print(report.to_json({"judge": "twins", **summary(one), **more}))
        return
    if one.about:
        print(f"{one.name}: {one.about}")
    if one.configuration:
        print(f"spec: {one.configuration} violates {one.violates}")
    if one.code:
        of = f", scenario {one.scenario}" if one.scenario else ""
        print(f"code: {one.code}{of}")
    print(f"must be seen by: {', '.join(one.seen_by)}")
    if one.chance:
        print(f"may be seen by: {', '.join(one.chance)}")
    if settings:
        print("\nin its row:\n  " + settings.replace("\n", "\n  "))
    if files:
        print(f"\nbranches of wp_twin({one.code}): {', '.join(files)}")
    if difference:
        print("\n" + difference, end="")


def summary(one: Listed) -> dict[str, Any]:
    """Return a twin as plain data."""
    return {
        "name": one.name, "concept": one.concept, "defect": one.defect, "about": one.about,
        "spec": one.configuration, "violates": one.violates, "code": one.code,
        "scenario": one.scenario, "seen_by": one.seen_by, "chance": one.chance,
    }  # fmt: skip
