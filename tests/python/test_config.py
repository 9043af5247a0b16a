# SPDX-License-Identifier: Apache-2.0
"""wakeproof.config: arguments, else variables, else defaults; a bad value is named."""

from __future__ import annotations

import os
import re
from typing import get_args

import pytest

from wakeproof import CarrierGroup, LinuxTopology
from wakeproof._native.ffi import ffi, lib
from wakeproof.config import Placement, Settings, settle
from wakeproof.topology import default_carriers


def chosen(**arguments: object) -> Settings:
    return settle(**arguments)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("WAKEPROOF_") and name != "WAKEPROOF_LIBRARY":
            monkeypatch.delenv(name)


def test_the_defaults_are_those_of_the_design() -> None:
    assert chosen() == Settings(default_carriers(), False, 50, "global", None, 0)


def test_variables_stand_for_arguments_that_are_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("CARRIERS", "3"), ("WORK_STEALING", "1"), ("YIELD_US", "200"),
                       ("STEAL_SCOPE", "cluster"), ("TOPOLOGY", "none"),
                       ("IDLE_SPINS", "9"), ("MONITOR_MS", "7"), ("QUEUE", "bounded"),
                       ("PLACE_AT_RESUME", "true"), ("SPARE_CARRIERS", "4")):  # fmt: skip
        monkeypatch.setenv(f"WAKEPROOF_{name}", text)
    assert chosen() == Settings(3, True, 200, "cluster", None, 9, 0, 7, True, 4, True)
    monkeypatch.setenv("WAKEPROOF_TOPOLOGY", "linux")
    monkeypatch.setenv("WAKEPROOF_CARRIERS", "1")
    with CarrierGroup() as group:
        assert group[0].cpu in os.sched_getaffinity(0)


def test_an_argument_goes_before_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CARRIERS", "WORK_STEALING", "YIELD_US", "STEAL_SCOPE", "TOPOLOGY"):
        monkeypatch.setenv(f"WAKEPROOF_{name}", "nonsense")
    settings = chosen(
        carriers=1, work_stealing=False, yield_us=7, steal_scope="cluster", topology="linux"
    )
    assert (settings.carriers, settings.work_stealing, settings.yield_us) == (1, False, 7)
    assert isinstance(settings.topology, LinuxTopology)
    assert settings.topology.steal_scope == settings.steal_scope == "cluster"


def test_what_a_topology_says_itself_goes_before_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WAKEPROOF_STEAL_SCOPE", "global")
    monkeypatch.setenv("WAKEPROOF_TOPOLOGY", "none")
    own = LinuxTopology(1, steal_scope="cluster")
    settings = chosen(topology=own)
    assert (settings.topology, settings.steal_scope) == (own, "cluster")
    assert chosen(topology=own, steal_scope="global").steal_scope == "global"


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CARRIERS", "WORK_STEALING", "YIELD_US", "STEAL_SCOPE", "TOPOLOGY"):
        monkeypatch.setenv(f"WAKEPROOF_{name}", "")
    assert chosen() == Settings(default_carriers(), False, 50, "global", None, 0)


@pytest.mark.parametrize(
    ("text", "meant"), [("0", False), ("1", True), ("false", False), ("true", True)]
)
def test_a_switch_is_a_digit_or_a_word(
    text: str, meant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAKEPROOF_WORK_STEALING", text)
    assert chosen().work_stealing is meant


@pytest.mark.parametrize(
    ("name", "bad", "allowed"),
    [
        *[("CARRIERS", bad, "1 to 1,024") for bad in ("0", "1025", "-1", "x", "1.0", " 1", "1_0")],
        *[("CARRIERS", bad, "1 to 1,024") for bad in ("9" * 5000, "\u0661")],
        *[("YIELD_US", bad, "1 to 1,000,000") for bad in ("0", "1000001", "50us")],
        *[("SPARE_CARRIERS", bad, f"0 to {1024 - default_carriers():,}") for bad in ("-1", "1024")],
        *[("IDLE_SPINS", bad, "0 to 1,000,000") for bad in ("-1", "1000001", "few")],
        *[("WORK_STEALING", bad, "0, 1, false, true") for bad in ("yes", "True", "2")],
        *[("STEAL_SCOPE", bad, "global, cluster") for bad in ("GLOBAL", "socket")],
        *[("TOPOLOGY", bad, "none, linux") for bad in ("Linux", "windows")],
    ],
)
def test_a_bad_variable_is_named_with_value_and_range(
    name: str, bad: str, allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"WAKEPROOF_{name}", bad)
    with pytest.raises(ValueError, match=re.escape(f"WAKEPROOF_{name} is {bad!r}; ") + ".*$") as e:
        chosen()
    assert str(e.value).endswith(f"allowed: {allowed}")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"carriers": "2"}, "carriers is '2'; allowed: 1 to 1,024"),
        ({"yield_us": 1_000_001}, "yield_us is 1000001; allowed: 1 to 1,000,000"),
        ({"idle_spins": -1}, "idle_spins is -1; allowed: 0 to 1,000,000"),
        ({"place_at_resume": 1}, "place_at_resume is 1; allowed: False, True"),
        ({"monitor_ms": -1}, "monitor_ms is -1; allowed: 0 to 3,600,000"),
        ({"work_stealing": 1}, "work_stealing is 1; allowed: False, True"),
        ({"steal_scope": "socket"}, "steal_scope is 'socket'; allowed: global, cluster"),
        ({"topology": "windows"}, "topology is 'windows'; allowed: none, linux"),
        ({"topology": 5}, "topology is 5; allowed: 'linux', or bind, cluster, core and so on"),
    ],
)
def test_a_bad_argument_is_named_with_value_and_range(
    arguments: dict[str, object], says: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        chosen(**arguments)


def test_the_type_of_placements_names_each_policy_of_the_kernel() -> None:
    found = [lib.wp_placement_policy_name(index) for index in range(lib.WP_PLACE_POLICIES)]
    assert list(get_args(Placement)) == [ffi.string(name).decode() for name in found]
    assert lib.wp_placement_policy_name(lib.WP_PLACE_POLICIES) == ffi.NULL
