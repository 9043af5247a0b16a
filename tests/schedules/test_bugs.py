# SPDX-License-Identifier: Apache-2.0
"""Each bug is found with its verdict, its schedule fails again, and what is mended holds."""

import pytest

from wakeproof.judge.schedules.explore import Options, explore

from .more_bugs import BUGS


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found(name: str) -> None:
    bug = BUGS[name]
    found = explore(lambda: bug.program(False), Options(**bug.options))
    assert found.verdict == bug.verdict, str(found)
    assert found.failure is not None
    again = explore(lambda: bug.program(False), Options(**bug.options, replay=found.failure.token))
    assert (again.schedules, again.verdict) == (1, bug.verdict)
    assert again.failure is not None
    assert again.failure.token == found.failure.token


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_what_is_mended_holds(name: str) -> None:
    bug = BUGS[name]
    found = explore(lambda: bug.program(True), Options(**bug.options))
    assert found.verdict == "holds", str(found)
    assert found.preemptions is None
