# SPDX-License-Identifier: Apache-2.0
"""The rounding mode and other control words of floating point; rounding.h.

rounding.c runs one case and prints what is lost. No spec: the words belong to who runs.
"""

from __future__ import annotations

import signal

import pytest
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, fails, hold
from tests.support.running import run

pytestmark = COMPILES
TWINS = {"kept_at_end": "ended", "left": "one", "not_loaded": "one", "not_saved": "one"}


@EACH_BUILD
def test_a_thread_keeps_its_own_words_and_the_others_those_of_the_os_thread(
    compiled: Compiled, build: str
) -> None:
    hold(compiled("rounding", build), ("one", "two"))


def test_words_that_were_changed_are_put_back_at_the_end(compiled: Compiled) -> None:
    hold(compiled("rounding", "plain"), ("ended",))


@pytest.mark.parametrize("build", ["address", "thread"])
@pytest.mark.parametrize("case", ["named", "ended"])
def test_a_build_for_sanitizers_names_who_changes_words_without_its_own(
    compiled: Compiled, build: str, case: str
) -> None:
    ended = run(compiled("rounding", build), case)
    assert ended.returncode == -signal.SIGABRT, ended
    assert "wakeproof: virtual thread one has changed the rounding mode" in ended.stderr


@pytest.mark.parametrize("twin", TWINS)
def test_each_twin_is_seen(compiled: Compiled, twin: str) -> None:
    fails(compiled("rounding", "plain", f"-DWP_TWIN_rounding_{twin}=1"), TWINS[twin])
