# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG, by Vega-Lite through vl-convert; without the extra `report` there are none.

The colours are variables of the page's style, so that a plot is light or dark as the page is.
"""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final

from markupsafe import escape

from wakeproof.judge import store
from wakeproof.judge.page.data import STRENGTHS, Claim, Outcome

WIDTH, ROW = 360, 22
_TEXT, _LINE = "currentColor", "var(--line)"
_GOOD, _SOME, _BAD, _NONE = (f"var(--{name})" for name in ("good", "some", "bad", "none"))
_GRADES: Final = {
    "acceptable": _GOOD, "interesting": _SOME, "required": _GOOD, "forbidden": _BAD, "": _NONE,
}  # fmt: skip
_BY_STRENGTH: Final = {
    "proved": "var(--accent)", "every": _GOOD, "sampled": _SOME, "observed": _SOME,
    "specification": _NONE,
}  # fmt: skip


@cache
def are_there() -> bool:
    """Say whether the extra `report` is installed."""
    return importlib.util.find_spec("vl_convert") is not None


def strengths(claims: Sequence[Claim]) -> str:
    """Return the number of claims that hold, by strength, as bars; "" without the extra."""
    counts = Counter(claim.strength for claim in claims if claim.holds)
    rows = [(text, counts[name], _BY_STRENGTH[name]) for name, text in STRENGTHS.items()]
    return _bars("claims", rows, "The number of claims by how they are known")


def outcomes(scenario: str, found: Iterable[Outcome]) -> str:
    """Return how often real cores showed each outcome as bars; "" without the extra."""
    rows = [(one.outcome, one.samples, _GRADES.get(one.grade, _NONE)) for one in found]
    if not any(samples for _, samples, _ in rows):
        return ""
    return _bars("samples", rows, f"Samples of each outcome of {scenario}", is_log=True)


def _bars(
    what: str, rows: Sequence[tuple[str, int, str]], title: str, *, is_log: bool = False
) -> str:
    if not are_there():
        return ""

    def draw() -> str:
        import vl_convert  # of an extra

        return str(vl_convert.vegalite_to_svg(_chart(what, rows, is_log=is_log)))

    svg = _kept({"bars": repr((what, is_log, rows))}, draw)
    svg = re.sub(r' (?:role|aria-[a-z]+|xmlns(?::xlink)?)="[^"]*"', "", svg)  # a table has the same
    return svg.replace("<svg ", '<svg role="img" ', 1).replace(
        ">", f"><title>{escape(title)}</title>", 1
    )


def _chart(what: str, rows: Sequence[tuple[str, int, str]], *, is_log: bool) -> dict[str, Any]:
    """Return bars with their numbers, in the language of Vega-Lite."""
    values = [{"name": name, "count": count, "colour": colour} for name, count, colour in rows]
    most = max(count for _, count, _ in rows)
    powers = [0, *(10**power for power in range(0, 10, 2) if 10**power <= most)]
    axis = {"values": powers, "format": ","} if is_log else {"format": "d", "tickCount": 5}
    x = {"field": "count", "type": "quantitative", "title": what, "axis": axis,
         "scale": {"type": "symlog" if is_log else "linear"}}  # fmt: skip
    y = {"field": "name", "type": "nominal", "sort": None, "title": None,
         "axis": {"labelLimit": 240}}  # fmt: skip
    colour = {"field": "colour", "type": "nominal", "scale": None}
    count = {"field": "count", "type": "quantitative", "format": ","}
    return {
        "data": {"values": values},
        "width": WIDTH, "height": ROW * len(rows),
        "padding": {"left": 40, "right": 40, "top": 4, "bottom": 4},  # a browser's font may be wide
        "layer": [
            {"mark": {"type": "bar", "height": {"band": 0.7}},
             "encoding": {"x": x, "y": y, "color": colour}},
            {"mark": {"type": "text", "align": "left", "dx": 4, "color": _TEXT},
             "encoding": {"x": x, "y": y, "text": count}},
        ],
        "config": {
            "background": "transparent", "font": "sans-serif", "view": {"stroke": None},
            "axis": {"labelColor": _TEXT, "titleColor": _TEXT, "gridColor": _LINE,
                     "domainColor": _LINE, "tickColor": _LINE, "labelFontSize": 12,
                     "titleFontSize": 12, "titleFontWeight": "normal"},
            "text": {"fontSize": 12},
        },
    }  # fmt: skip


def _kept(inputs: dict[str, str], draw: Callable[[], str]) -> str:
    """Return the picture of these inputs; drawn once, for that takes a fifth of a second."""
    named: dict[str, Any] = {**inputs, **store.code("page/plots.py")}
    known = store.look(named)
    if known is not None:
        return str(known.value)
    made = draw()
    store.keep(named, made)
    return made
