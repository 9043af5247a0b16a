# SPDX-License-Identifier: Apache-2.0
"""A group and its stacks at their limits: kernel/thread/stack.h, group.h; limits.c."""

from __future__ import annotations

import signal

import pytest
from tests.support.cases import COMPILES, EACH_BUILD, Compiled, hold
from tests.support.running import run

from wakeproof import locations
from wakeproof._native import build as _build

pytestmark = COMPILES
UNPROBED = "-fno-stack-clash-protection"


@EACH_BUILD
def test_what_carriers_keep_of_few_stacks_refuses_no_start(compiled: Compiled, build: str) -> None:
    hold(compiled("limits", build), ("cached", "slots"))


def test_stacks_up_to_1_gib_and_those_of_a_process_with_few_addresses_are_given(
    compiled: Compiled,
) -> None:
    hold(compiled("limits", "plain"), ("sizes", "addresses"))


@pytest.mark.parametrize("build", ["plain", "address"])
def test_a_group_out_of_range_is_misused_and_none_is_the_default(
    compiled: Compiled, build: str
) -> None:
    hold(compiled("limits", build), ["ranges"])


@pytest.mark.parametrize(
    ("case", "flags"),
    [("skips", [UNPROBED]), ("large", [UNPROBED]), ("skips", []), ("probed", [])],
)
def test_a_large_frame_at_the_end_of_a_stack_is_reported(
    compiled: Compiled, case: str, flags: list[str]
) -> None:
    ended = run(compiled("limits", "plain", *flags), case)
    assert (ended.stdout, ended.returncode) == ("", -signal.SIGSEGV), ended
    assert 'stack overflow in virtual thread "deep"' in ended.stderr


def test_the_kernel_is_built_with_probes() -> None:
    assert "-fstack-clash-protection" in _build.FLAGS
    rules = (locations.sources() / "examples" / "rules.mk").read_text()
    assert "EXAMPLES_FLAGS = -std=c11 -O2 -g -pthread -fstack-clash-protection" in rules
