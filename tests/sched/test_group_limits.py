# SPDX-License-Identifier: Apache-2.0
"""A group and its stacks at their limits: kernel/thread/stack.h, group.h; limits.c."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable

import pytest

from wakeproof import locations
from wakeproof._native import build as _build

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not locations.is_checkout(), reason="not run: needs a checkout"),
]
Compiled = Callable[..., list[str]]
UNPROBED = "-fno-stack-clash-protection"


def run(command: list[str], case: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, case], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("build", ["plain", "address", "thread"])
def test_what_carriers_keep_of_few_stacks_refuses_no_start(compiled: Compiled, build: str) -> None:
    command = compiled("limits", build)
    for case in ("cached", "slots"):
        ended = run(command, case)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case


def test_stacks_up_to_1_gib_and_those_of_a_process_with_few_addresses_are_given(
    compiled: Compiled,
) -> None:
    command = compiled("limits", "plain")
    for case in ("sizes", "addresses"):
        ended = run(command, case)
        assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), case


@pytest.mark.parametrize("build", ["plain", "address"])
def test_a_group_out_of_range_is_misused_and_none_is_the_default(
    compiled: Compiled, build: str
) -> None:
    ended = run(compiled("limits", build), "ranges")
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)


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
