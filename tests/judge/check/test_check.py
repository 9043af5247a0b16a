# SPDX-License-Identifier: Apache-2.0
"""The judge `check` against a toy spec: the cases that it must accept, and each way to fail."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.conftest import Command

from wakeproof.errors import UsageError
from wakeproof.judge.check import own_spec
from wakeproof.judge.check import run as specs
from wakeproof.judge.check.run import ConfigResult, check
from wakeproof.judge.tlc.run import Outcome

pytestmark = pytest.mark.slow  # each test starts TLC, about a second

TOY = r"""
------------------------------- MODULE Toy -------------------------------
EXTENDS Naturals
CONSTANT Twin
VARIABLES x, pc
vars == <<x, pc>>
Init == x = 0 /\ pc = [t \in {"a", "b"} |-> "run"]
Step(t) == pc[t] = "run" /\ x' = x + (IF Twin = "jump" THEN 2 ELSE 1)
           /\ pc' = [pc EXCEPT ![t] = "end"]
Finished == x >= 2 /\ Twin # "stop" /\ pc = [t \in {"a", "b"} |-> "end"] /\ UNCHANGED vars
Grow == Twin = "endless" /\ x' = x + 1 /\ UNCHANGED pc
Next == (\E t \in {"a", "b"} : Step(t)) \/ Finished \/ Grow
Fairness == IF Twin = "unfair" THEN TRUE ELSE \A t \in {"a", "b"} : WF_vars(Step(t))
Spec == Init /\ [][Next]_vars /\ Fairness
Small == x <= 2
Natural == x >= 0
Slow == [][x' <= x + 1]_vars
Ends == <>(x >= 2)
Sometimes == []<>(x >= 0)
==========================================================================
"""
CFG = """SPECIFICATION Spec
CONSTANT Twin = "{twin}"
INVARIANTS {invariants}
PROPERTIES
  Sometimes
  Ends
  {more}
"""
ALL = ["Toy!Small", "Toy!Ends", "Toy!Sometimes"]
PASSING: dict[str, object] = {"module": "Toy", "claims": ALL, "states": 4, "depth": 3}


# Every twin needs a passing configuration with the same claim.  This one is large: it never runs.
SIBLING = {"module": "Toy", "set": "full", "claims": [*ALL, "Toy!Slow"]}


def judge(
    folder: Path,
    twin: str,
    entry: dict[str, object],
    *,
    invariants: str = "Small",
    more: str = "",
    toy: str = TOY,
) -> ConfigResult:
    text = CFG.format(twin=twin, invariants=invariants, more=more)
    (folder / "Toy.tla").write_text(toy)
    (folder / "Toy.cfg").write_text(text)
    (folder / "ToySibling.cfg").write_text(text)
    entries = {"Toy.cfg": {"module": "Toy", **entry}, "ToySibling.cfg": SIBLING}
    (folder / "manifest.json").write_text(json.dumps(entries))
    return check(specs=folder).results[0]


def twin_of(claim: str, trace: int) -> dict[str, object]:
    return {"expect": "violates", "claim": claim, "defect": "a toy", "trace": trace}


def test_a_correct_spec_holds_with_its_recorded_counts(tmp_path: Path) -> None:
    result = judge(tmp_path, "none", PASSING)
    assert (result.holds, result.wrong) == (True, "")
    assert (result.tlc.outcome, result.tlc.states, result.tlc.depth) == (Outcome.OK, 4, 3)


def test_a_changed_number_of_states_fails(tmp_path: Path) -> None:
    result = judge(tmp_path, "none", {**PASSING, "states": 5})
    assert result.wrong == "states: 4, the table says 5"


def test_a_spec_that_violates_an_invariant_fails_and_names_it(tmp_path: Path) -> None:
    result = judge(tmp_path, "jump", PASSING)
    assert (result.violated, result.wrong) == (("Small",), "violates Small")


def test_a_twin_that_violates_the_named_invariant_holds(tmp_path: Path) -> None:
    result = judge(tmp_path, "jump", twin_of("Toy!Small", 3))
    assert result.holds
    assert [step.action for step in result.tlc.trace] == ["", "Step", "Step"]


def test_a_twin_that_violates_another_claim_than_it_names_fails(tmp_path: Path) -> None:
    result = judge(tmp_path, "jump", twin_of("Toy!Ends", 3))
    assert result.wrong == "violates Small instead of Toy!Ends"


def test_a_twin_that_is_not_caught_fails(tmp_path: Path) -> None:
    result = judge(tmp_path, "none", twin_of("Toy!Small", 3))
    assert result.wrong == "the twin was not caught: ok; it must violate Toy!Small"


def test_a_counterexample_of_another_length_fails(tmp_path: Path) -> None:
    result = judge(tmp_path, "jump", twin_of("Toy!Small", 4))
    assert result.wrong == "trace: 3, the table says 4"


def test_a_violated_liveness_property_is_named_although_tlc_does_not(tmp_path: Path) -> None:
    result = judge(tmp_path, "unfair", twin_of("Toy!Ends", 2))
    assert (result.tlc.violated, result.violated, result.wrong) == ("", ("Ends",), "")
    assert result.tlc.stuttering


@pytest.mark.rotates
def test_a_twin_that_violates_another_liveness_property_than_it_names_fails(tmp_path: Path) -> None:
    result = judge(tmp_path, "unfair", twin_of("Toy!Sometimes", 2))
    assert result.wrong == "violates Ends instead of Toy!Sometimes"


def test_a_violated_action_property_is_named(tmp_path: Path) -> None:
    result = judge(tmp_path, "jump", twin_of("Toy!Slow", 2), more="Slow")
    assert (result.violated, result.wrong) == (("Slow",), "")


def test_a_deadlock_fails(tmp_path: Path) -> None:
    result = judge(tmp_path, "stop", PASSING)
    assert result.wrong == "violates deadlock"


def test_a_deadlock_is_not_the_violation_that_a_twin_names(tmp_path: Path) -> None:
    result = judge(tmp_path, "stop", twin_of("Toy!Small", 3))
    assert result.wrong == "violates deadlock instead of Toy!Small"


def test_a_spec_that_does_not_parse_fails_and_says_where(tmp_path: Path) -> None:
    result = judge(tmp_path, "none", PASSING, toy=TOY.replace("x = 0", "y = 0"))
    assert result.tlc.outcome is Outcome.PARSE
    assert "Unknown operator: `y'" in result.wrong


def test_a_twin_that_does_not_parse_is_not_caught(tmp_path: Path) -> None:
    broken = TOY.replace("x = 0", "y = 0")
    result = judge(tmp_path, "jump", twin_of("Toy!Small", 3), toy=broken)
    assert result.wrong.startswith("the twin was not caught: parse error")


def test_an_unknown_invariant_in_a_cfg_fails_and_names_it(tmp_path: Path) -> None:
    result = judge(tmp_path, "none", PASSING, invariants="Small Tiny")
    assert result.tlc.outcome is Outcome.CONFIG
    assert "Tiny" in result.wrong


def test_tlc_that_runs_out_of_time_gives_no_pass(tmp_path: Path) -> None:
    entry = {"module": "Toy", "claims": ["Toy!Natural"], "budget_s": 3}
    result = judge(tmp_path, "endless", entry, invariants="Natural")
    assert (result.tlc.outcome, result.got) == (Outcome.TIMEOUT, "time ran out")
    assert not result.holds


def test_a_cfg_that_is_missing_or_unlisted_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"Toy.cfg": PASSING}))
    (tmp_path / "Stray.cfg").touch()
    with pytest.raises(UsageError) as caught:
        check(specs=tmp_path)
    assert "Toy.cfg is in the manifest but not in" in str(caught.value)
    assert "Stray.cfg is not in manifest.json" in str(caught.value)


def test_a_claim_that_its_cfg_does_not_check_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not check Toy!Slow"):
        judge(tmp_path, "none", {**PASSING, "claims": ["Toy!Slow"]})


def test_a_twin_of_a_claim_that_no_passing_configuration_checks_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no passing configuration of Toy checks Toy!Natural"):
        judge(tmp_path, "jump", twin_of("Toy!Natural", 1), invariants="Natural")


def test_a_twin_that_lists_less_than_a_passing_configuration_is_an_error(tmp_path: Path) -> None:
    judge(tmp_path, "jump", twin_of("Toy!Small", 3))
    cfg = tmp_path / "Toy.cfg"
    cfg.write_text(cfg.read_text().replace("Ends", ""))
    with pytest.raises(UsageError, match=r"Toy\.cfg: does not list Ends"):
        check(specs=tmp_path)


def test_a_pattern_without_match_names_what_exists(tmp_path: Path) -> None:
    judge(tmp_path, "none", PASSING)
    with pytest.raises(UsageError, match="no configuration matches; specs: Toy"):
        check("Nothing", specs=tmp_path)


def test_an_interrupt_between_two_starts_waits_for_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., object], /, *arguments: object) -> Future[object]:  # type: ignore[override]
            super().submit(fn, *arguments)
            time.sleep(0.5)  # the run has begun
            raise KeyboardInterrupt

    monkeypatch.setattr(specs, "ThreadPoolExecutor", Interrupted)
    monkeypatch.setattr(
        specs.Runner, "judge", lambda runner, _: runner.children.run(["sleep", "60"])
    )
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        specs.check("MCGuard")
    assert time.monotonic() - begin < 30


# A module of the user's own.

OWN = r"""---- MODULE own ----
EXTENDS Naturals
CONSTANTS N, M  \* CONSTANT inside a comment
VARIABLE x
Init == x = 0
Up == x < N /\ x' = x + 1
Never == x > N /\ x' = 0
Rest == x = N /\ UNCHANGED x
Next == Up \/ Never \/ Rest
Spec == Init /\ [][Next]_x
TypeOK == x \in 0..N
Small == x < 2
Reaches == <>(x = N)
====
"""


def own(folder: Path, config: str | None, text: str = OWN) -> Path:
    (folder / "own.tla").write_text(text)
    if config is not None:
        (folder / "own.cfg").write_text(config)
    return folder / "own.tla"


LISTED = "SPECIFICATION Spec\nCONSTANT N = 3\nCONSTANT M = 1\n"


def test_a_module_of_one_s_own_is_checked_where_it_lies_without_a_manifest(
    wakeproof: Command, tmp_path: Path
) -> None:
    file = own(tmp_path, LISTED + "INVARIANT TypeOK\n")
    ended = wakeproof("check", str(file), "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
    assert (found["holds"], found["states"], found["depth"]) == (True, 4, 4)
    taken = {action["name"]: action["taken"] for action in found["actions"]}
    assert taken == {"Up": 3, "Never": 0, "Rest": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.cfg", "own.tla"]


def test_a_violation_of_one_s_own_has_its_counterexample_and_counts(
    wakeproof: Command, tmp_path: Path
) -> None:
    own(tmp_path, None)
    other = tmp_path / "small.cfg"
    other.write_text(LISTED + "INVARIANT Small\n")
    ended = wakeproof("check", str(tmp_path / "own.tla"), str(other))
    assert ended.returncode == 1
    assert "violates Small, 3 states." in ended.stdout
    assert "x: 1 -> 2" in ended.stdout
    assert "never taken" in ended.stdout
    assert "violates Small; 3 distinct states" in ended.stdout


def test_a_temporal_property_of_one_s_own_is_named(tmp_path: Path) -> None:
    file = own(tmp_path, LISTED + "INVARIANT TypeOK\nPROPERTY Reaches\n")
    found = own_spec.check_own(file)
    assert not found.holds
    assert found.result.violated == ("Reaches",)
    assert found.result.tlc.stuttering


def test_a_configuration_of_one_s_own_may_be_a_link_in_a_folder_that_is_one(tmp_path: Path) -> None:
    specs, configs = tmp_path / "deep" / "er" / "specs", tmp_path / "configs"
    for folder in (specs, configs):
        folder.mkdir(parents=True)
    own(specs, None)
    (configs / "text").write_text(LISTED + "INVARIANT TypeOK\n")
    (configs / "small.cfg").symlink_to("text")
    (tmp_path / "here").symlink_to(specs)
    (tmp_path / "there").symlink_to(configs)
    assert own_spec.check_own(tmp_path / "here/own.tla", tmp_path / "there/small.cfg").holds


def test_a_state_without_a_step_is_one_unless_that_is_right(tmp_path: Path) -> None:
    stops = OWN.replace(r" \/ Rest", "")
    file = own(tmp_path, LISTED + "INVARIANT TypeOK\n", stops)
    assert own_spec.check_own(file).result.tlc.outcome is Outcome.DEADLOCK
    assert own_spec.check_own(file, deadlock=False).holds


@pytest.mark.parametrize(
    ("config", "text", "says"),
    [
        (None, OWN, "there is no own.cfg beside it; write into it, a line each: "
         "SPECIFICATION Spec; CONSTANT N = ..; CONSTANT M = ..; INVARIANT TypeOK; PROPERTY"),
        ("SPECIFICATION Spec\nCONSTANT N = 3\nINVARIANT TypeOK\n", OWN,
         "own.cfg: The constant parameter M is not assigned a value"),
        (LISTED, OWN.replace("Next ==", "Next ="), "own.tla: "),
        (LISTED + "INVARIANT Big\n", OWN, "Big"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_one_s_own_files_is_said(
    config: str | None, text: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        own_spec.check_own(own(tmp_path, config, text))
    assert says in str(refused.value)


def test_files_that_are_none_and_options_of_our_own_specs_are_refused(
    wakeproof: Command, tmp_path: Path
) -> None:
    file = own(tmp_path, LISTED)
    for arguments, says in (
        ([str(tmp_path / "none.tla")], "there is no such file"),
        ([str(tmp_path / "own.cfg")], "name its module first"),
        ([str(file), "-t", "x"], "are for wakeproof's own specs"),
        ([str(file), str(file)], "no .cfg file"),
        ([str(file), "a.cfg", "b.cfg"], "one module at a time"),
    ):
        ended = wakeproof("check", *arguments)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert says in ended.stderr
        assert "Traceback" not in ended.stderr
