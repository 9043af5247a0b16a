# SPDX-License-Identifier: Apache-2.0
"""TLC's server and workers: the same states as in one process, whatever happens to processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Command

from wakeproof.errors import JudgeError, UsageError
from wakeproof.judge.check import distributed as check
from wakeproof.judge.process import Children
from wakeproof.judge.tlc import distributed
from wakeproof.judge.tlc.distributed import Cluster, State, Tick
from wakeproof.judge.tlc.run import Outcome, TlcResult

pytestmark = pytest.mark.slow  # each test starts TLC several times

CUBE = r"""---- MODULE Cube ----
EXTENDS Naturals
CONSTANTS Side, Corner
ASSUME Side > 1
VARIABLES x, y, z
vars == <<x, y, z>>
Init == x = 1 /\ y = 1 /\ z = 1
Next == \/ x < Side /\ x' = x + 1 /\ UNCHANGED <<y, z>>
        \/ y < Side /\ y' = y + 1 /\ UNCHANGED <<x, z>>
        \/ z < Side /\ z' = z + 1 /\ UNCHANGED <<x, y>>
        \/ x + y + z = 3 * Side /\ UNCHANGED vars
Spec == Init /\ [][Next]_vars
Inside == x + y + z < Corner
Grows == [][x' >= x]_vars
====
"""


def cube(folder: Path, side: int, corner: int = 1000, more: str = "") -> Path:
    (folder / "Cube.tla").write_text(CUBE)
    (folder / "Cube.cfg").write_text(
        f"SPECIFICATION Spec\nCONSTANTS\n  Side = {side}\n  Corner = {corner}\n"
        f"INVARIANT Inside\n{more}"
    )
    return folder / "Cube.tla"


@pytest.fixture
def children() -> Iterator[Children]:
    with Children() as found:
        yield found


def run(module: Path, cluster: Cluster, children: Children, tick: Tick) -> TlcResult:
    return distributed.run(
        module, module.with_suffix(".cfg"), f"test-{os.getpid()}-{module.parent.name}", cluster,
        children=children, timeout_s=120, tick=tick,
    )  # fmt: skip


def ignore(_state: State) -> None:
    pass


def processes(of: str) -> list[int]:
    """Return our own descendants that run this class of TLC."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().decode().split("\0")
            session = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, UnicodeDecodeError):
            continue
        if session == os.getpid() and f"tlc2.tool.distributed.{of}" in command:
            found.append(int(entry.name))
    return sorted(found)


def test_an_interrupted_run_goes_on_at_its_checkpoint_and_finds_the_same_states(
    tmp_path: Path,
) -> None:
    module, cluster = cube(tmp_path, 40), Cluster(1, checkpoint_s=1)

    def interrupt(state: State) -> None:
        if state.checkpoints and state.found:
            raise KeyboardInterrupt

    with Children() as first, pytest.raises(KeyboardInterrupt):
        run(module, cluster, first, interrupt)
    assert processes("TLCServer") == processes("TLCWorker") == []
    seen: list[State] = []
    with Children() as second:
        found = run(module, cluster, second, seen.append)
    assert (found.outcome, found.states) == (Outcome.OK, 40**3)
    assert 0 < max(state.taken_up for state in seen) < 40**3


@pytest.mark.rotates
def test_states_of_a_killed_and_of_a_stopped_worker_are_explored_again(
    tmp_path: Path, children: Children
) -> None:
    hurt: list[int] = []

    def hurt_two(state: State) -> None:
        if not hurt and state.workers == 4 and state.found > 1:
            hurt.extend(processes("TLCWorker")[:2])
            os.kill(hurt[0], signal.SIGKILL)
            os.kill(hurt[1], signal.SIGSTOP)

    seen: list[State] = []

    def tick(state: State) -> None:
        hurt_two(state)
        seen.append(state)

    cluster = Cluster(4, patience_s=2)
    found = run(cube(tmp_path, 60), cluster, children, tick)
    assert len(hurt) == 2
    assert (found.outcome, found.states) == (Outcome.OK, 60**3)
    assert seen[-1].lost == 2


@pytest.mark.rotates
def test_a_server_that_stands_still_is_started_again_at_its_checkpoint(
    tmp_path: Path, children: Children
) -> None:
    stopped: list[int] = []
    seen: list[State] = []

    def tick(state: State) -> None:
        seen.append(state)
        if not stopped and state.checkpoints and state.found > 1:
            stopped.extend(processes("TLCServer"))
            os.kill(stopped[0], signal.SIGSTOP)

    cluster = Cluster(1, checkpoint_s=1, silence_s=5)
    found = run(cube(tmp_path, 40), cluster, children, tick)
    assert len(stopped) == 1
    assert (found.outcome, found.states) == (Outcome.OK, 40**3)
    assert seen[-1].taken_up > 0


def test_parts_of_two_checkpoints_are_not_taken_up(tmp_path: Path) -> None:
    place, folder = tmp_path, tmp_path / "run"
    folder.mkdir()
    (folder / "Cube.st.chkpt").write_bytes((24).to_bytes(8, "big") + (12).to_bytes(8, "big"))
    (folder / "Cube.st").write_bytes(bytes(30))
    (folder / "queue.chkpt").write_bytes(b"old")
    distributed._note(place, Path("Cube.tla"))
    assert distributed._checkpoint(place, Path("Cube.tla")) == folder
    assert (folder / "Cube.st").stat().st_size == 24  # cut where the checkpoint was
    (folder / "queue.chkpt").write_bytes(b"newer")
    assert distributed._checkpoint(place, Path("Cube.tla")) is None
    assert not folder.exists()


@pytest.mark.rotates
def test_a_run_in_which_an_answer_was_lost_has_no_verdict(
    tmp_path: Path, children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed, "_REPEATED", distributed._INITIAL[0])  # once in each run
    with pytest.raises(JudgeError, match="the answer of a worker that goes on was lost"):
        run(cube(tmp_path, 3), Cluster(1), children, ignore)


@pytest.mark.rotates
def test_a_run_whose_workers_have_all_ended_says_so(tmp_path: Path, children: Children) -> None:
    def kill(_state: State) -> None:
        for worker in processes("TLCWorker"):  # once killed, it is counted for a while
            os.kill(worker, signal.SIGKILL)

    with pytest.raises(JudgeError, match="all workers have ended"):
        run(cube(tmp_path, 40), Cluster(1, checkpoint_s=1), children, kill)


@pytest.mark.rotates
def test_what_the_workers_find_is_explained_by_one_process(tmp_path: Path) -> None:
    found = check.check_own(Cluster(2), cube(tmp_path, 5, corner=7))
    assert found.result.violated == ("Inside",)
    assert len(found.result.tlc.trace) == 5  # from the sum 3 to the sum 7


def test_a_configuration_whose_initial_states_coincide_is_distributed(
    tmp_path: Path, children: Children
) -> None:
    module = cube(tmp_path, 3)
    module.write_text(CUBE.replace("Init == x = 1", r"Init == (x = 1 \/ x = 1)"))
    seen: list[State] = []
    found = run(module, Cluster(1), children, seen.append)
    assert (found.outcome, found.states) == (Outcome.OK, 3**3)
    assert max(state.workers for state in seen) == 1


def test_a_false_assumption_is_found(tmp_path: Path) -> None:
    found = check.check_own(Cluster(1), cube(tmp_path, 1))
    assert found.result.tlc.outcome is Outcome.ASSUME


@pytest.mark.rotates
def test_a_property_is_refused_because_it_would_not_be_checked(
    wakeproof: Command, tmp_path: Path
) -> None:
    module = cube(tmp_path, 3, more="PROPERTY Grows\n")
    ended = wakeproof("check", str(module), "--distributed")
    assert ended.returncode == 2
    assert "Cube.cfg lists PROPERTY Grows: TLC's distributed mode checks no" in ended.stderr


@pytest.mark.rotates
def test_other_machines_get_a_command_that_starts_a_worker(
    wakeproof: Command, tmp_path: Path
) -> None:
    module = cube(tmp_path, 4)
    ended = wakeproof("check", str(module), "--distributed", "--jobs", "1", "--host", "localhost")
    assert ended.returncode == 0, ended.stderr
    assert "64 distinct states" in ended.stdout
    assert "tlc2.tool.distributed.TLCWorker localhost" in ended.stdout


def test_options_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="jobs is 0"):
        Cluster(0).checked()
    with pytest.raises(UsageError, match=r"--host no\.such\.host\.invalid: "):
        Cluster(0, "no.such.host.invalid").checked()
