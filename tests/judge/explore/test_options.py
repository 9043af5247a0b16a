# SPDX-License-Identifier: Apache-2.0
"""The options of an exploration: limits are kept, and words of the command line are read."""

from __future__ import annotations

import pytest

from wakeproof.errors import UsageError
from wakeproof.judge.explore.options import MODELS, ExploreOptions, bytes_of, models_of, sample_of


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ExploreOptions(engine="fast"), "'fast'; allowed: auto, graphs, states, both"),
        (ExploreOptions(engine="states"), "states has no model rc11"),
        (ExploreOptions(models=()), "model is empty"),
        (ExploreOptions(preemptions=2), "needs engine states"),
        (ExploreOptions(spurious=-1), "spurious wakeups is -1; allowed: 0 to 100"),
        (ExploreOptions(seconds=-1.0), "seconds is -1; allowed: 0 to 10,000,000"),
        (ExploreOptions(pct_depth=3), "needs a number of samples"),
        (ExploreOptions(orders=(("guard.h", 3, "strong"),)), "'strong'; allowed: plain, relaxed"),
    ],
)
def test_a_bad_option_is_refused_with_what_is_allowed(
    options: ExploreOptions, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        options.checked()


def test_words_of_the_command_line_are_read() -> None:
    assert models_of("all") == models_of("tso,sc, rc11") == MODELS
    assert sample_of("random") == (10_000, 0)
    assert sample_of("pct:d=3") == (10_000, 3)
    assert sample_of("pct:d=2,n=50") == (50, 2)
    assert (bytes_of("2G"), bytes_of("500m"), bytes_of("7")) == (2 << 30, 500 << 20, 7)
    for wrong in (lambda: models_of("sc,arm"), lambda: sample_of("pct"), lambda: bytes_of("much")):
        with pytest.raises(UsageError):
            wrong()
