# SPDX-License-Identifier: Apache-2.0
"""Many configurations in one JVM behave as if each had its own; a machine that errs is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tests.judge.check.test_check import ALL, CFG, LISTED, OWN, PASSING, TOY, twin_of
from tests.judge.tlc.test_tlc import PASSED

from wakeproof.judge.check import run as specs
from wakeproof.judge.check.command import RUNNER_DEFECT, _print, summary
from wakeproof.judge.check.run import CheckReport, check
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import jvm
from wakeproof.judge.tlc import run as tlc
from wakeproof.judge.tlc.jvm import JvmError, Machine, Machines
from wakeproof.judge.tlc.run import Outcome, TlcResult

pytestmark = pytest.mark.slow  # each test starts Java

SAFE = 'SPECIFICATION Spec\nCONSTANT Twin = "{twin}"\nINVARIANT {invariant}\n'


@pytest.fixture
def children() -> Iterator[Children]:
    with Children() as made:
        yield made


@pytest.fixture
def machines(children: Children) -> Iterator[Machines]:
    with Machines(children, tlc.SHORT_JVM) as made:
        yield made


def one_by_one(children: Children, module: Path, config: Path, *options: str) -> TlcResult:
    return bare(tlc.run(module, config, children=children, options=options))


def bare(result: TlcResult) -> TlcResult:
    return replace(result, seconds=0.0, output="")


def own(folder: Path) -> dict[str, tuple[str, str, Outcome]]:
    """Write files and return configuration -> module, option, outcome."""
    made = {
        "holds": ("Toy", CFG.format(twin="none", invariants="Small", more=""), Outcome.OK),
        "invariant": ("Toy", SAFE.format(twin="jump", invariant="Small"), Outcome.INVARIANT),
        "safe": ("Toy", SAFE.format(twin="none", invariant="Small"), Outcome.OK),
        "temporal": (
            "Toy", CFG.format(twin="unfair", invariants="Small", more=""), Outcome.PROPERTY,
        ),
        "action": (
            "Toy", CFG.format(twin="jump", invariants="Natural", more="Slow"), Outcome.PROPERTY,
        ),
        "deadlock": ("Toy", SAFE.format(twin="stop", invariant="Natural"), Outcome.DEADLOCK),
        "unknown": ("Toy", SAFE.format(twin="none", invariant="Tiny"), Outcome.CONFIG),
        "broken": ("Broken", SAFE.format(twin="none", invariant="Small"), Outcome.PARSE),
        "own": ("own", LISTED + "INVARIANT TypeOK\nPROPERTY Reaches\n", Outcome.PROPERTY),
    }  # fmt: skip
    (folder / "Toy.tla").write_text(TOY)
    (folder / "Broken.tla").write_text(TOY.replace("x = 0", "y = 0").replace("E Toy", "E Broken"))
    (folder / "own.tla").write_text(OWN)
    for name, (_, text, _) in made.items():
        (folder / f"{name}.cfg").write_text(text)
    option = {"own": "-deadlock"}
    return {name: (m, option.get(name, ""), outcome) for name, (m, _, outcome) in made.items()}


@pytest.mark.rotates
def test_a_run_in_a_shared_jvm_says_all_that_one_of_its_own_says(
    children: Children, machines: Machines, tmp_path: Path
) -> None:
    made = own(tmp_path)
    alone = {}
    for name, (module, option, outcome) in made.items():
        options = (option,) if option else ()
        files = tmp_path / f"{module}.tla", tmp_path / f"{name}.cfg"
        alone[name] = one_by_one(children, *files, *options)
        assert alone[name].outcome is outcome
    for name in [*made, *reversed(made)]:  # each one after the remains of each other one
        module, option, _ = made[name]
        config = tmp_path / f"{name}.cfg"
        shared = tlc.run_shared(
            tmp_path / f"{module}.tla", config, machines=machines, fresh=specs._is_temporal(config),
            options=(option,) if option else (),
        )  # fmt: skip
        assert bare(shared) == alone[name], name


def toys(folder: Path) -> Path:
    """Write a folder of specs: a pass and a twin of liveness, and a pass and a twin of safety."""
    entries: dict[str, object] = {
        "Holds.cfg": PASSING,
        "Unfair.cfg": {"module": "Toy", **twin_of("Toy!Ends", 2)},
        "Safe.cfg": {**PASSING, "claims": ["Toy!Small"]},
        "Jump.cfg": {"module": "Toy", **twin_of("Toy!Small", 3)},
    }
    (folder / "Toy.tla").write_text(TOY)
    (folder / "Holds.cfg").write_text(CFG.format(twin="none", invariants="Small", more=""))
    (folder / "Unfair.cfg").write_text(CFG.format(twin="unfair", invariants="Small", more=""))
    (folder / "Safe.cfg").write_text(SAFE.format(twin="none", invariant="Small"))
    (folder / "Jump.cfg").write_text(SAFE.format(twin="jump", invariant="Small"))
    (folder / "manifest.json").write_text(json.dumps(entries))
    assert {"Toy!Small", "Toy!Ends"} < set(ALL)
    return folder


def never(*_: object, **__: object) -> TlcResult:
    raise AssertionError("a configuration had a JVM of its own")


def test_small_configurations_share_a_jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tlc, "run", never)
    report = check(specs=toys(tmp_path), jobs=1)
    assert (report.holds, report.runner_defects) == (True, ())


@pytest.mark.rotates
def test_of_our_own_specs_both_kinds_agree_with_the_manifest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tlc, "run", never)
    assert check("^MC(BiasedLock|Guard_(light_light|retract_forgets_work|wait_once))$").holds


@pytest.mark.rotates
def test_alone_no_jvm_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tlc, "run_shared", never)
    assert check(specs=toys(tmp_path), alone=True).holds


def test_what_took_long_or_is_large_has_a_jvm_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toys(tmp_path)
    file = tmp_path / "manifest.json"
    entries = json.loads(file.read_text())
    entries["Safe.cfg"]["seconds"] = specs.LONG_S + 1
    entries["Jump.cfg"]["states"] = 1_000_000
    file.write_text(json.dumps(entries))
    monkeypatch.setattr(tlc, "run_shared", never)
    assert check("Safe|Jump", specs=tmp_path).holds


# Machines that err.


def broken(folder: Path, answer: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a machine that does `answer` for each request, and logs its starts."""
    child = folder / "broken_child.py"
    child.write_text(f"""
import json, os, sys, time
open({str(folder / "starts")!r}, "a").write("x")
def say(text):
    os.write(1, f"<tlc {{text}}>\\n".encode())
def said(request, text, code):
    open(request["output"], "w").write(text)
    say(code)
{answer}
""")
    monkeypatch.setattr(jvm, "CHILD", child)
    return folder / "starts"


ANSWERS = "say('ready')\nfor line in sys.stdin:\n    request = json.loads(line)\n    "


def said_of(report: CheckReport) -> dict[str, str]:
    assert report.holds  # each was run again, and the second result counts
    return {result.entry.name: result.runner for result in report.results}


@pytest.mark.rotates
def test_a_machine_that_says_holds_of_everything_is_caught_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(tmp_path, ANSWERS + f"said(request, {PASSED!r}, 0)", monkeypatch)
    assert said_of(check(specs=toys(tmp_path))) == {
        "Holds": "states: 1,234, the table says 4",
        "Safe": "states: 1,234, the table says 4",
        "Unfair": "the twin was not caught: ok; it must violate Toy!Ends",
        "Jump": "the twin was not caught: ok; it must violate Toy!Small",
    }


def test_a_machine_with_the_right_states_and_another_depth_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PASSED.replace("1,234", "4")
    broken(tmp_path, ANSWERS + f"said(request, {text!r}, 0)", monkeypatch)
    said = said_of(check("Safe", specs=toys(tmp_path)))
    assert said == {"Safe": "depth: 56, the table says 3"}


def test_a_machine_that_says_holds_beside_an_error_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = "@!@!@STARTMSG 1000:1 @!@!@\nThe file ended.\n@!@!@ENDMSG 1000 @!@!@\n"
    text = PASSED.replace("1,234", "4").replace("56", "3") + failed
    broken(tmp_path, ANSWERS + f"said(request, {text!r}, 0)", monkeypatch)
    assert said_of(check("Safe", specs=toys(tmp_path))) == {"Safe": "The file ended."}


@pytest.mark.rotates
def test_a_machine_that_keeps_what_a_temporal_run_has_left_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = jvm.CHILD.read_text()
    child = tmp_path / "keeping_child.py"
    child.write_text(text.replace("tlc.reset()", "pass").replace('request["fresh"]', "False"))
    assert child.read_text() != text
    monkeypatch.setattr(jvm, "CHILD", child)
    # To name the violated one, properties are checked apart; the error of the first run stays.
    said = said_of(check("Unfair", specs=toys(tmp_path)))
    assert said == {"Unfair": "violates Sometimes, Ends instead of Toy!Ends"}


@pytest.mark.rotates
def test_a_machine_that_ends_in_the_middle_is_noticed_and_the_next_run_gets_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = broken(tmp_path, ANSWERS + "sys.exit('out of memory')", monkeypatch)
    said = said_of(check(specs=toys(tmp_path), jobs=1))
    assert set(said.values()) == {"a shared JVM has ended; out of memory"}
    assert starts.read_text() == "xxxx"


@pytest.mark.rotates
def test_a_machine_that_cannot_start_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = broken(tmp_path, "sys.exit('no such library')", monkeypatch)
    said = said_of(check(specs=toys(tmp_path), jobs=1))
    assert set(said.values()) == {"a shared JVM has ended; no such library"}
    assert starts.read_text() == "x"


def test_a_machine_that_stands_still_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(tmp_path, ANSWERS + "time.sleep(600)", monkeypatch)
    monkeypatch.setattr(tlc, "STALL_S", 2.0)
    said = said_of(check("Safe", specs=toys(tmp_path)))
    assert said == {"Safe": "a shared JVM has stood still for 2 s"}


def test_what_a_shared_jvm_said_wrongly_is_told_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(tmp_path, ANSWERS + f"said(request, {PASSED!r}, 0)", monkeypatch)
    report = check("Jump", specs=toys(tmp_path))
    screen = Console(width=300)
    with screen.capture() as told:
        _print(screen, report, traced=False)
    assert f"Jump: {RUNNER_DEFECT}: the twin was not caught" in told.get()
    assert "all as expected, 1 of them only in a JVM of their own" in told.get()
    assert summary(report)["results"][0]["runner"].startswith("the twin was not caught")


@pytest.mark.rotates
def test_after_a_run_that_takes_too_long_the_others_get_a_new_machine(
    machines: Machines, tmp_path: Path
) -> None:
    own(tmp_path)
    (tmp_path / "endless.cfg").write_text(SAFE.format(twin="endless", invariant="Natural"))
    toy = tmp_path / "Toy.tla"
    late = tlc.run_shared(
        toy, tmp_path / "endless.cfg", machines=machines, fresh=False, timeout_s=4.0
    )
    assert (late.outcome, machines._idle) == (Outcome.TIMEOUT, [])
    safe = tlc.run_shared(toy, tmp_path / "safe.cfg", machines=machines, fresh=False)
    assert (safe.outcome, safe.states) == (Outcome.OK, 4)


def test_a_machine_is_replaced_before_its_memory_is_full(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = broken(tmp_path, ANSWERS + f"said(request, {PASSED!r}, 0)", monkeypatch)
    monkeypatch.setattr(jvm, "MOST_FRESH", 2)
    for fresh in (True, False, False, False, True, True):
        made = tmp_path / "private"
        made.mkdir(exist_ok=True)
        machines.run([], made, made, fresh=fresh, timeout_s=60.0, stall_s=30.0)
    assert starts.read_text() == "xx"


def test_a_machine_that_was_killed_says_so_instead_of_waiting(
    children: Children, tmp_path: Path
) -> None:
    machine = Machine(children, tlc.SHORT_JVM)
    children.kill_all()
    with pytest.raises(JvmError, match="has ended"):
        machine.run([], tmp_path, tmp_path, fresh=False, timeout_s=60.0, stall_s=30.0)
    machine.end()
    assert not Path(machine._unpacked.name).exists()
