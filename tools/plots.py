# SPDX-License-Identifier: Apache-2.0
"""Draws the benchmarks: speed beside peers, cost among many threads, answers of HTTP servers.

A plot is an SVG of a phone's width, which a wider screen scales.  Its colours follow the reader's
colour scheme, and it has a ground of its own, so that it can be read on a page of either scheme.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import vl_convert
from pydantic import TypeAdapter

from wakeproof.bench import Result
from wakeproof.bench.rows import Row
from wakeproof.bench.web import WebReport
from wakeproof.bench.web.results import ONE, Line
from wakeproof.bench.web.sample import MOST, PERCENTILES, Load

WIDTH = 300  # with the axis, the width of a phone
PEERS = ("Go", "tokio", "JDK 25", "Boost.Fiber", "Boost.Context", "moodycamel")
PYTHONS = ("gevent", "asyncio")
THREADS = {"1k": 1_000, "100k": 100_000, "1m": 1_000_000}
COLOURS = ["#3b7dd8", "#d9822b", "#2e9d62", "#b65fcf", "#8a8f98", "#d1495b", "#12a0a8"]
"""They can be told apart on white and on black."""
PERCENTILE_LABELS = tuple(f"{one:g} %" if one < 100 else "all" for one in PERCENTILES)
STYLE = """<style>
text { fill: #222 } .ground { fill: #fff }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .ground { fill: #131416 } }
</style>"""


@dataclass(frozen=True)
class Plot:
    """A picture: the name of its file, its heading, its sentence, and the same without a screen."""

    name: str
    title: str
    text: str
    alt: str
    svg: str

    def markdown(self) -> str:
        """Return what a page says of it."""
        return f"## {self.title}\n\n{self.text}\n\n![{self.alt}]({self.name}.svg)\n"


def stored(file: Path) -> list[Result]:
    """Return the results that `wakeproof bench` has stored."""
    found = json.loads(file.read_text(encoding="utf-8"))["results"]
    return [Result(**{**each, "row": Row(**each["row"])}) for each in found]


def plots(results: Sequence[Result]) -> list[Plot]:
    """Return the pictures of a benchmark; one for which nothing was measured is left out."""
    drawn = [
        _speeds("bench-peers", "Speed beside other runtimes", results, PEERS),
        _speeds("bench-python", "Speed beside Python's other threads", results, PYTHONS),
        _costs("bench-threads", "Cost of a switch among many threads", "virtual threads",
               list(_switches(results))),
        _costs("bench-placement", "Cost of a placement among many carriers", "carriers",
               list(_placements(results))),
    ]  # fmt: skip
    return [plot for plot in drawn if plot is not None]


def stored_web(file: Path) -> WebReport:
    """Return what `wakeproof bench-http` has stored."""
    return TypeAdapter(WebReport).validate_json(file.read_bytes())


def web_plots(found: WebReport) -> list[Plot]:
    """Return the pictures of the HTTP servers; one for which nothing was measured is left out."""
    drawn = []
    for load in dict.fromkeys(line.load for line in found.lines):
        lines = [line for line in found.lines if line.load == load and not line.not_run]
        drawn += [_latencies(load, lines, found.rate), _scaling(load, lines)]
    return [plot for plot in drawn if plot is not None]


def _latencies(load: Load, lines: Sequence[Line], rate: float) -> Plot | None:
    """Draw each percentile of the time of an answer, of the servers on one CPU."""
    one = [line for line in lines if line.setup in ONE and not line.place.reason]
    costs = [
        (line.setup.side, label, ms)
        for line in one
        for label, ms in zip(PERCENTILE_LABELS, line.percentiles_ms(), strict=False) if ms > 0
    ]  # fmt: skip
    if not costs:
        return None
    sides = list(dict.fromkeys(side for side, _, _ in costs))
    spec = {
        "data": {"values": [dict(zip(("side", "percentile", "ms"), each, strict=True))
                            for each in costs]},
        "width": WIDTH,
        "height": 200,
        "mark": {"type": "line", "point": {"size": 50}},
        "encoding": {
            "x": {"field": "percentile", "type": "ordinal", "sort": list(PERCENTILE_LABELS),
                  "title": "of all answers", "axis": {"labelAngle": 0}},
            "y": {"field": "ms", "type": "quantitative", "scale": {"type": "log"},
                  "title": "milliseconds"},
            **_kinds("side", sides, columns=2),
        },
    }  # fmt: skip
    title = f"Time of an answer: backend {load.name}"
    alt = f"{title}. " + "; ".join(
        f"{side}: " + ", ".join(f"{label} {ms:.3g} ms" for each, label, ms in costs if each == side)
        for side in sides
    )  # fmt: skip
    text = (
        f"At {rate:,g} requests a second, on one CPU of the server. A point is the median over the "
        "rounds of the time within which that share of the answers came."
    )
    return Plot(f"http-latency-{load.think_ms}ms", title, text, f"{alt}.", _drawn(spec))


def _scaling(load: Load, lines: Sequence[Line]) -> Plot | None:
    """Draw the most requests a second, by the number of the server's carriers."""
    best: dict[tuple[str, int], float] = {}
    for line in lines:
        if line.of(MOST):
            key = line.setup.side, line.place.carriers
            rate = median(sample.rate for sample in line.of(MOST)) / 1e3
            best[key] = max(rate, best.get(key, 0.0))
    several = {side for side, carriers in best if carriers > 1}
    costs = [(side, carriers, rate) for (side, carriers), rate in best.items() if side in several]
    if not costs:
        return None
    sides = list(dict.fromkeys(side for side, _, _ in costs))
    spec = {
        "data": {"values": [dict(zip(("side", "carriers", "rate"), each, strict=True))
                            for each in costs]},
        "width": WIDTH,
        "height": 200,
        "mark": {"type": "line", "point": {"size": 50}},
        "encoding": {
            "x": {"field": "carriers", "type": "ordinal", "title": "carriers",
                  "axis": {"labelAngle": 0}},
            "y": {"field": "rate", "type": "quantitative", "title": "thousand requests a second"},
            **_kinds("side", sides, columns=2),
        },
    }  # fmt: skip
    title = f"Most requests a second: backend {load.name}"
    alt = f"{title}. " + "; ".join(
        f"{side}: " + ", ".join(f"{rate:.3g} thousand with {carriers}"
                                for each, carriers, rate in costs if each == side)
        for side in sides
    )  # fmt: skip
    text = (
        "Each server answers as fast as it can; of several ways to place its carriers, the fastest "
        "is drawn. Where load and backend share the server's CPUs, more carriers cannot show more."
    )
    return Plot(f"http-scaling-{load.think_ms}ms", title, text, f"{alt}.", _drawn(spec))


def _speeds(name: str, title: str, results: Sequence[Result], peers: Sequence[str]) -> Plot | None:
    """Draw how many times as fast as each peer a row is, with the quartiles."""
    values, heads = [], dict[str, str]()
    for result in results:
        row = result.row
        if not row.name.startswith("- "):
            heads.setdefault(row.program, row.name)
        is_named = row.program in heads and row.name in (heads[row.program], "- the same")
        if not is_named or row.against not in peers or row.count or not result.ratio:
            continue
        spread = sorted(
            ratio if row.is_rate else 1 / ratio
            for ratio in (result.low, result.ratio, result.high)
        )  # fmt: skip
        values.append({"row": heads[row.program].removeprefix("Python: "), "peer": row.against,
                       **dict(zip(("low", "speed", "high"), spread, strict=True))})  # fmt: skip
    if not values:
        return None
    least = min(1, *(each["low"] for each in values)) / 1.2
    rows = {"field": "row", "type": "nominal", "sort": None, "axis": None}
    speed = {"type": "quantitative", "scale": {"type": "log", "domainMin": least},
             "axis": {"labelOverlap": True},
             "title": "times as fast (right of 1: wakeproof is faster)"}  # fmt: skip
    peer = _kinds("peer", peers, columns=3)
    spec = {
        "data": {"values": values},
        "width": WIDTH,
        "height": {"step": 34},
        "layer": [
            {"mark": {"type": "rule", "strokeDash": [4, 3], "color": "#8a8f98"},
             "encoding": {"x": {"datum": 1, **speed}}},
            {"data": {"values": [{"row": row} for row in dict.fromkeys(
                each["row"] for each in values)]},
             "mark": {"type": "text", "align": "left", "dy": -11},
             "encoding": {"y": rows, "text": {"field": "row", "type": "nominal"},
                          "x": {"datum": least, **speed}}},
            {"mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.6},
             "encoding": {"y": rows, "color": peer["color"], "x": {"field": "low", **speed},
                          "x2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.9},
             "encoding": {"y": rows, **peer,
                          "x": {"field": "speed", **speed}}},
        ],
    }  # fmt: skip
    text = (
        "A point is the median of the rounds in which both sides took turns, and the bar has the "
        "quartiles. Rows that stand under another row of the table are not drawn."
    )
    svg = _drawn(spec)
    values.sort(key=lambda each: each["speed"])
    ends = " to ".join(f"{each['speed']:.2g} times as fast as {each['peer']} ({each['row']})"
                       for each in (values[0], values[-1]))  # fmt: skip
    faster = sum(each["speed"] >= 1 for each in values)
    alt = f"{title}: wakeproof is faster in {faster} of {len(values)} comparisons, from {ends}"
    return Plot(name, title, text, f"{alt}.", svg)


def _switches(results: Iterable[Result]) -> Iterable[tuple[str, int, float]]:
    for result in results:
        row = result.row
        if row.program in ("scale_yield", "scale_turn") and row.peer == "2":
            what = "yield" if row.program == "scale_yield" else "hand-over in a ring"
            if row.ours == "1k":
                yield what, 2, result.peer
            yield what, THREADS[row.ours], result.ours


def _placements(results: Iterable[Result]) -> Iterable[tuple[str, int, float]]:
    for result in results:
        several = re.fullmatch(r"placement_(\d+)", result.row.program)
        if several and not result.row.count:
            yield result.row.ours.replace("_", " "), int(several[1]), result.ours


def _costs(name: str, title: str, of: str, costs: Sequence[tuple[str, int, float]]) -> Plot | None:
    """Draw nanoseconds over a number, both in logarithms."""
    if not costs:
        return None
    kinds = list(dict.fromkeys(kind for kind, _, _ in costs))
    log = {"type": "quantitative", "scale": {"type": "log"}}
    spec = {
        "data": {"values": [dict(zip(("kind", "several", "ns"), one, strict=True))
                            for one in costs]},
        "width": WIDTH,
        "height": 200,
        "mark": {"type": "line", "point": {"size": 50}},
        "encoding": {
            "x": {"field": "several", "title": of, "type": "quantitative",
                  "scale": {"type": "log", "nice": False},
                  "axis": {"format": "~s", "tickCount": 6, "labelOverlap": True}},
            "y": {"field": "ns", "title": "nanoseconds", **log},
            **_kinds("kind", kinds, columns=1),
        },
    }  # fmt: skip
    alt = f"{title}. " + "; ".join(
        f"{kind}: " + ", ".join(f"{ns:.3g} ns with {several:,}" for each, several, ns in costs
                                if each == kind) for kind in kinds
    )  # fmt: skip
    return Plot(name, title, f"Nanoseconds for one, by the number of {of}.", f"{alt}.",
                _drawn(spec))  # fmt: skip


def _kinds(field: str, names: Sequence[str], columns: int) -> dict[str, Any]:
    """Return the channels that tell series apart: by colour, and by shape without colours."""
    both = {"field": field, "type": "nominal",
            "legend": {"orient": "top", "title": None, "columns": columns}}  # fmt: skip
    domain = {"domain": list(names)}
    return {"color": {**both, "scale": {**domain, "range": COLOURS[: len(names)]}},
            "shape": {**both, "scale": domain}}  # fmt: skip


def _drawn(spec: dict[str, Any]) -> str:
    """Return the SVG, in the reader's colour scheme."""
    config = {
        "font": "sans-serif",
        "view": {"stroke": None},
        "axis": {"gridColor": "#8a8f98", "gridOpacity": 0.25, "domainColor": "#8a8f98",
                 "tickColor": "#8a8f98", "labelFontSize": 11, "titleFontSize": 11,
                 "titleFontWeight": "normal"},
        "legend": {"labelFontSize": 11},
        "text": {"fontSize": 11},
    }  # fmt: skip
    svg = vl_convert.vegalite_to_svg({**spec, "config": config, "padding": 8}, vl_version="5.20")
    head, ground, rest = re.split(r"(<rect )", svg, maxsplit=1)
    return f'{head}{STYLE}{ground}class="ground" {rest}\n'
