# SPDX-License-Identifier: Apache-2.0
"""The sites that the order audit weakens, and their weaker orders."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import Model
from wakeproof.judge.labels import LabelledSite
from wakeproof.judge.names import finder

ONE_WEAKER = {
    "relaxed": (), "acquire": ("relaxed",), "release": ("relaxed",),
    "acq_rel": ("acquire", "release"), "seq_cst": ("acq_rel",), "heavy": ("light",),
    "light": ("none",),
}  # fmt: skip
"""Each order with the orders one step weaker; each fence with its replacement."""

_OVERRIDES = {"light": "relaxed", "none": "relaxed"}
_FENCES = ("seq_cst", "heavy", "light")


@dataclass(frozen=True)
class Mutant:
    """A site with a weaker order."""

    site: LabelledSite
    weaker: str

    @property
    def overrides(self) -> tuple[tuple[str, int, str], ...]:
        """Return the explorer's overrides: file, line and order of each line of the site."""
        order = _OVERRIDES.get(self.weaker, self.weaker)
        return tuple((self.site.file, n, order) for n in range(self.site.first, self.site.last + 1))

    @property
    def models(self) -> tuple[Model, ...]:
        """Return the models that may show the weaker order; a fence matters under x86-TSO too."""
        fence = self.site.order in _FENCES
        return (Model.TSO, Model.RC11) if fence else (Model.RC11,)


def selected(sites: list[LabelledSite], regex: str | None) -> list[LabelledSite]:
    """Keep the sites with a label that `regex` finds.

    Raises:
        UsageError: not a regular expression, no such label, or two sites on one line.
    """
    is_named = finder(regex)
    kept = [site for site in sites if is_named(site.label)]
    if not kept:
        known = ", ".join(site.label for site in sites) or "none"
        raise UsageError(f"no site has a label like {regex or ''!r}; there are {known}")
    for one, other in combinations(sites, 2):
        if one.file == other.file and one.first <= other.last and other.first <= one.last:
            raise UsageError(
                f"{one.file}:{other.first}: [{one.label}] and [{other.label}] share a line: the "
                "explorer tells sites apart by their lines"
            )
    return kept
