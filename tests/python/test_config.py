# SPDX-License-Identifier: Apache-2.0
"""wakeproof.config: arguments, then variables, then defaults; a bad value is named."""

from __future__ import annotations

import inspect
import os
import re
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from wakeproof import CarrierGroup, Compensation, LinuxTopology, Placement, Stealing, Tracing
from wakeproof._native.ffi import lib
from wakeproof.config import POLICIES, Settings, Tuning, settle
from wakeproof.topology import default_carriers

THEMES = (Stealing, Placement, Compensation, Tracing, Tuning)
VARIABLES = [f"{kind.__name__}_{field.name}".upper() for kind in THEMES for field in fields(kind)]
WITHOUT_VARIABLE = "TRACING_EVENTS"  # `wakeproof trace` has one of its own


def chosen(**arguments: Any) -> Settings:
    return settle(**arguments)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("WAKEPROOF_") and name != "WAKEPROOF_LIBRARY":
            monkeypatch.delenv(name)


def test_the_defaults_are_those_of_the_design() -> None:
    found = chosen()
    assert found == Settings(carriers=default_carriers())
    assert (found.work_stealing, found.topology, found.scope) == (False, None, "global")
    assert (found.yield_us, found.idle_spins, found.is_bounded) == (50, 0, False)
    assert (found.policy, found.at_resume, found.trace_events) == (lib.WP_PLACE_HOME, False, 0)
    assert (found.monitor_ms, found.spare_carriers) == (0, 0)


def test_variables_stand_for_arguments_that_are_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "CARRIERS": "3", "WORK_STEALING": "1", "TOPOLOGY": "none", "STEALING_SCOPE": "cluster",
        "PLACEMENT_POLICY": "least_loaded", "PLACEMENT_AT_RESUME": "true",
        "PLACEMENT_LOAD": "queued",
        "COMPENSATION_MONITOR_MS": "7", "COMPENSATION_SPARE_CARRIERS": "4",
        "TUNING_YIELD_US": "200", "TUNING_IDLE_SPINS": "9", "TUNING_QUEUE": "bounded",
    }  # fmt: skip
    assert sorted([*list(texts)[3:], WITHOUT_VARIABLE]) == sorted(VARIABLES)
    for name, text in texts.items():
        monkeypatch.setenv(f"WAKEPROOF_{name}", text)
    assert chosen() == Settings(
        carriers=3, work_stealing=True, topology=None, scope="cluster",
        policy=lib.WP_PLACE_LEAST_LOADED, at_resume=True, load_at_dequeue=True, monitor_ms=7,
        spare_carriers=4,
        yield_us=200, idle_spins=9, is_bounded=True,
    )  # fmt: skip
    monkeypatch.setenv("WAKEPROOF_TOPOLOGY", "linux")
    monkeypatch.setenv("WAKEPROOF_CARRIERS", "1")
    with CarrierGroup() as group:
        assert group[0].cpu in os.sched_getaffinity(0)


def test_an_argument_goes_before_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CARRIERS", "WORK_STEALING", "TOPOLOGY", *VARIABLES):
        monkeypatch.setenv(f"WAKEPROOF_{name}", "nonsense")
    settings = chosen(
        carriers=1, work_stealing=False, topology="linux", stealing=Stealing(scope="cluster"),
        placement=Placement(policy="home", at_resume=False, load="all"), tracing=Tracing(events=3),
        compensation=Compensation(monitor_ms=0, spare_carriers=0),
        tuning=Tuning(yield_us=7, idle_spins=0, queue="unbounded"),
    )  # fmt: skip
    topology = settings.topology
    assert isinstance(topology, LinuxTopology)
    assert topology.steal_scope == "cluster"
    assert settings == Settings(
        carriers=1, topology=topology, scope="cluster", trace_events=4, yield_us=7
    )


def test_what_a_topology_says_itself_goes_before_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WAKEPROOF_STEALING_SCOPE", "global")
    monkeypatch.setenv("WAKEPROOF_TOPOLOGY", "none")
    own = LinuxTopology(1, steal_scope="cluster")
    settings = chosen(topology=own)
    assert (settings.topology, settings.scope) == (own, "cluster")
    assert chosen(topology=own, stealing=Stealing(scope="global")).scope == "global"


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CARRIERS", "WORK_STEALING", "TOPOLOGY", *VARIABLES):
        monkeypatch.setenv(f"WAKEPROOF_{name}", "")
    assert chosen() == Settings(carriers=default_carriers())


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
        *[("TUNING_YIELD_US", bad, "1 to 1,000,000") for bad in ("0", "1000001", "50us")],
        *[
            ("COMPENSATION_SPARE_CARRIERS", bad, f"0 to {1024 - default_carriers():,}")
            for bad in ("-1", "1024")
        ],
        *[("TUNING_IDLE_SPINS", bad, "0 to 1,000,000") for bad in ("-1", "1000001", "few")],
        *[("WORK_STEALING", bad, "0, 1, false, true") for bad in ("yes", "True", "2")],
        *[("STEALING_SCOPE", bad, "global, cluster") for bad in ("GLOBAL", "socket")],
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
        ({"tuning": Tuning(yield_us=0)}, "tuning.yield_us is 0; allowed: 1 to 1,000,000"),
        ({"tuning": Tuning(idle_spins=-1)}, "tuning.idle_spins is -1; allowed: 0 to 1,000,000"),
        (
            {"tuning": Tuning(queue=5)},  # type: ignore[arg-type]
            "tuning.queue is 5; allowed: unbounded, bounded",
        ),
        (
            {"placement": Placement(at_resume=1)},  # type: ignore[arg-type]
            "placement.at_resume is 1; allowed: False, True",
        ),
        (
            {"compensation": Compensation(monitor_ms=-1)},
            "compensation.monitor_ms is -1; allowed: 0 to 3,600,000",
        ),
        (
            {"carriers": 1000, "compensation": Compensation(spare_carriers=25)},
            "compensation.spare_carriers is 25; allowed: 0 to 24",
        ),
        ({"tracing": Tracing(events=-1)}, "tracing.events is -1; allowed: 0 to 1,048,576"),
        ({"work_stealing": 1}, "work_stealing is 1; allowed: False, True"),
        (
            {"stealing": Stealing(scope="socket")},  # type: ignore[arg-type]
            "stealing.scope is 'socket'; allowed: global, cluster",
        ),
        *[
            ({kind.__name__.lower(): "home"}, f"is 'home'; allowed: a {kind.__name__}")
            for kind in THEMES
        ],
        ({"topology": "windows"}, "topology is 'windows'; allowed: none, linux"),
        ({"topology": 5}, "topology is 5; allowed: 'linux', or a Topology with its methods"),
    ],
)
def test_a_bad_argument_is_named_with_value_and_range(
    arguments: dict[str, object], says: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        chosen(**arguments)


@pytest.mark.parametrize("kind", THEMES)
def test_a_theme_takes_keywords_and_does_not_change(kind: type[Any]) -> None:
    with pytest.raises(TypeError, match="positional"):
        kind(1)
    with pytest.raises(FrozenInstanceError):
        setattr(kind(), fields(kind)[0].name, 1)
    with pytest.raises((AttributeError, TypeError)):
        kind().other = 1


@pytest.mark.parametrize("kind", THEMES)
def test_a_theme_documents_each_field_with_its_variable(kind: type[Any]) -> None:
    for field in fields(kind):
        assert f"\n    {field.name}: " in str(inspect.getdoc(kind))
    named = set(re.findall(r"WAKEPROOF_(\w+)", str(kind.__doc__)))
    assert named == {name for name in VARIABLES if name.startswith(f"{kind.__name__.upper()}_")} - {
        WITHOUT_VARIABLE
    }


def test_a_policy_has_the_name_of_its_constant_which_is_its_literal_in_the_stub() -> None:
    constants = {
        name.removeprefix("WP_PLACE_").lower(): getattr(lib, name)
        for name in dir(lib) if name.startswith("WP_PLACE_")
    }  # fmt: skip
    assert constants == {**POLICIES, "policies": lib.WP_PLACE_POLICIES}
