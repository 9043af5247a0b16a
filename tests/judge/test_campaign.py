# SPDX-License-Identifier: Apache-2.0
"""Campaigns: results merge by key, whatever happens to workers, and nothing is left behind.

``make cluster`` runs what takes longer: four workers, of which one is killed and one is stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command

from wakeproof import locations
from wakeproof.errors import JudgeError, MissingToolError, UsageError
from wakeproof.judge import campaign
from wakeproof.judge.builds import Build
from wakeproof.judge.campaign import Merged, Shard
from wakeproof.judge.explore import merging, stored
from wakeproof.judge.explore.options import ExploreOptions, Model
from wakeproof.judge.explore.results import Event, Found, Result
from wakeproof.judge.explore.shards import listed
from wakeproof.judge.process import Children
from wakeproof.judge.stress import grading
from wakeproof.judge.stress import shards as stress_shards
from wakeproof.judge.stress.grading import Run
from wakeproof.judge.stress.options import StressOptions

CLUSTER = pytest.mark.skipif(not os.environ.get("WAKEPROOF_CLUSTER"), reason="make cluster runs it")
OPTIONS = ExploreOptions(models=(Model.SC, Model.TSO, Model.RC11), loop_bound=0)
GUARD = locations.sources() / "stress" / "scenarios" / "wakeup" / "guard.c"
SHARED = Path(__file__).parent / "scenarios" / "shared.c"
EXHIBITS = ["compio_948", "eio_110", "liburing_24", "liburing_541", "libuv_50", "tokio_3660"]


def shards(*names: str) -> list[Shard]:
    return [Shard(name, "wakeproof.judge.museum.shards:judge", (name, OPTIONS)) for name in names]


# Keys, and the merge.


def test_a_key_depends_on_function_arguments_and_files_alone(tmp_path: Path) -> None:
    file = tmp_path / "race.c"
    file.write_text("int one;\n")
    one = Shard("a", "m:f", (1, OPTIONS), (file,))
    assert one.key == Shard("b", "m:f", (1, OPTIONS), (file,)).key
    others = {
        Shard("a", "m:g", (1, OPTIONS), (file,)).key, Shard("a", "m:f", (2, OPTIONS), (file,)).key,
        Shard("a", "m:f", (1, OPTIONS)).key,
    }  # fmt: skip
    file.write_text("int two;\n")
    others.add(Shard("a", "m:f", (1, OPTIONS), (file,)).key)
    assert one.key in others  # a key is computed from the file as it is now
    assert len(others) == 4


def test_a_result_that_comes_twice_counts_once() -> None:
    both = shards("eio_110", "libuv_50")
    merged = Merged(both)
    merged.add(both[1].key, 2)
    merged.add(both[0].key, 1)
    merged.add(both[1].key, 3)
    assert (merged.done, merged.results()) == (2, [1, 2])


def test_a_result_that_is_missing_is_an_error() -> None:
    both = shards("eio_110", "libuv_50")
    merged = Merged(both)
    merged.add(both[0].key, 1)
    with pytest.raises(JudgeError, match="no result of libuv_50"):
        merged.results()


def test_two_equal_shards_are_refused() -> None:
    with pytest.raises(UsageError, match="are the same"):
        Merged(shards("eio_110", "eio_110"))


# A shard on a worker.


def test_a_worker_with_other_sources_refuses_a_shard() -> None:
    with pytest.raises(UsageError, match="is of other sources than here"):
        campaign.work("c", "another hash", shards("eio_110")[0])


def test_a_worker_that_lacks_a_file_says_so(tmp_path: Path) -> None:
    shard = Shard("a", "m:f", (), (tmp_path / "none.c",))
    with pytest.raises(UsageError, match=r"has no .*none\.c"):
        campaign.work("c", campaign.sources(), shard)


def test_an_error_of_a_judge_comes_back_from_its_process() -> None:
    with pytest.raises(UsageError, match="the museum has no nothing"):
        campaign.work("c", campaign.sources(), shards("nothing")[0])


def test_a_process_that_ends_without_a_result_is_an_error() -> None:
    with pytest.raises(JudgeError, match="a: exit code 7"):
        campaign.work("c", campaign.sources(), Shard("a", "os:_exit", (7,)))


def test_the_end_of_a_worker_ends_its_shard(tmp_path: Path) -> None:
    script = tmp_path / "judge.py"
    script.write_text(
        "import subprocess\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"  # as one that just began
        "subprocess.run(['sh', '-c', 'sleep 600 & exec sleep 600'])\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", (
        "from wakeproof.judge import campaign as c;"
        f"c.work('c', c.sources(), c.Shard('a', 'runpy:run_path', ({str(script)!r},)))"
    )])  # fmt: skip
    shard = wait_for(lambda: children_of(worker.pid))[0]
    begun, judging = wait_for(lambda: children_of(shard)[1:] and children_of(shard))
    other = wait_for(lambda: children_of(judging))[0]
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    wait_for(lambda: not any(is_alive(each) for each in (shard, begun, judging, other)))


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is more than its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def wait_for(condition: Any) -> Any:
    deadline = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


# What is wrong with an address.


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("local:0", "allowed: local:N with N of 1 or more"),
        ("local:two", "allowed: local:N"),
        ("tcp://127.0.0.1:1", "no scheduler answers there"),
        ("nonsense://x", "no scheduler answers there"),
    ],
)
def test_an_address_that_leads_nowhere_is_an_error(
    address: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "CONNECT_S", 0.5)
    with pytest.raises(UsageError, match=re.escape(says)):
        campaign.run(shards("eio_110"), address)


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'wakeproof\[cluster\]'"):
        campaign.run(shards("eio_110"), "local:1")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("Cluster failed to start: Timed out", MissingToolError),
        ("can't start new thread", RuntimeError),
    ],
)
def test_a_cluster_that_does_not_start_says_so(
    error: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")

    def fails(**_: object) -> None:
        raise RuntimeError(error) from TimeoutError("Timed out")

    monkeypatch.setattr(distributed, "LocalCluster", fails)
    with pytest.raises(kind, match=r"Timed out|can't start new thread") as found:
        campaign.run(shards("eio_110"), "local:1")
    assert found.type is kind


@pytest.mark.slow
def test_a_cluster_needs_no_port_of_its_own() -> None:
    with socket.socket() as other:
        with contextlib.suppress(OSError):  # somebody has it anyway
            other.bind(("127.0.0.1", 8787))
            other.listen()
        shard = Shard("a", "os:getpid", ())
        assert campaign.run([shard], "local:1") != [os.getpid()]


@pytest.mark.slow
def test_a_cluster_that_takes_long_to_end_loses_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Client, LocalCluster

    ended = []
    for kind in (Client, LocalCluster):
        close = kind.close

        def late(self: Any, timeout: float | None = None, close: Any = close) -> None:
            close(self, timeout=60)
            if timeout is not None:  # ours
                ended.append(timeout)
                raise TimeoutError(f"timed out after {timeout} s.")

        monkeypatch.setattr(kind, "close", late)
    [found] = campaign.run([Shard("a", "os:getpid", ())], "local:1")
    assert (ended, is_alive(found)) == ([campaign.STOP_S] * 2, False)


# Whole commands.


def plain(found: dict[str, Any]) -> str:
    """Return a report without times, as text."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: without(v) for k, v in value.items() if k not in TIMES}
        return [without(one) for one in value] if isinstance(value, list) else value

    return json.dumps(without(found), indent=1)


TIMES = {"seconds", "cpu_seconds", "ms", "fixed_ms", "bytes"}


def report(wakeproof: Command, *arguments: str) -> str:
    ended = wakeproof(*arguments, "--json")
    assert ended.returncode == 0, ended.stderr
    return plain(json.loads(ended.stdout))


@pytest.mark.slow
@pytest.mark.rotates
@pytest.mark.parametrize(
    "arguments",
    [
        ("museum", "run", "eio_110", "libuv_50"),
        ("explore", str(GUARD), "--model", "sc"),
        ("explore", str(SHARED), "--model", "rc11", "--parts", "3"),
    ],
    ids=["museum", "explore", "parts"],
)
def test_a_cluster_reports_what_one_process_reports(
    arguments: tuple[str, ...], wakeproof: Command
) -> None:
    alone = report(wakeproof, *arguments)
    assert report(wakeproof, *arguments, "--dask", "local:2") == alone


# Seeds.

SAMPLES = ("explore", str(GUARD), "-t", "^guard$", "--model", "tso", "--sample", "random:n=40")


@pytest.mark.slow
@pytest.mark.rotates
def test_a_cluster_draws_for_several_seeds_what_one_process_draws(wakeproof: Command) -> None:
    seeded = (*SAMPLES, "--seed", "5", "--seeds", "3")
    alone = report(wakeproof, *seeded)
    assert report(wakeproof, *seeded, "--dask", "local:2") == alone
    each = [json.loads(report(wakeproof, *SAMPLES, "--seed", str(seed))) for seed in (5, 6, 7)]
    assert counts(json.loads(alone)) == sum((counts(one) for one in each), Counter())
    twins = json.loads(alone)["twins"]
    assert twins
    assert all(one["status"] == "held" and one["judged"][0]["result"]["stopped"] for one in twins)


def counts(found: dict[str, Any]) -> Counter[tuple[str, str, str]]:
    """Return how often each scenario and twin showed each outcome."""
    return Counter({
        (one["name"], outcome["text"], outcome["verdict"]): outcome["count"]
        for one in (*found["scenarios"], *found["twins"])
        for judged in one["judged"] for outcome in judged["result"]["outcomes"]
    })  # fmt: skip


@pytest.mark.slow
@pytest.mark.rotates
def test_the_token_of_a_seed_finds_its_execution_again(wakeproof: Command, tmp_path: Path) -> None:
    """The first seed does not find the defect, and one of the others does."""
    seeded = (*SAMPLES[:3], "^guard_no_fence$", *SAMPLES[4:-1], "random:n=3", "--json")
    first, several = 0, wakeproof(*seeded, "--seed", "0")
    while kills(several.stdout):
        first += 1
        several = wakeproof(*seeded, "--seed", str(first))
    seeds = 1
    while not kills(several.stdout):
        seeds *= 4
        words = ("--seed", str(first), "--seeds", str(seeds), "--save", str(tmp_path))
        several = wakeproof(*seeded, *words)
    [example] = json.loads(several.stdout)["counterexamples"]
    assert example["options"]["seed"] > first
    assert wakeproof("replay", example["token"]).returncode == 0
    assert Path(example["saved"]).is_file()


def kills(output: str) -> bool:
    killed: bool = json.loads(output)["twins"][0]["killed"]["tso"]
    return killed


def drawn(*outcomes: Found, **fields: Any) -> Result:
    return replace(
        stored.of_plain("p", [["sc", "states", False, "sample", [2] + [1] * 9, []]], [])[0],
        outcomes=outcomes, **fields,
    )  # fmt: skip


def test_results_of_seeds_merge_by_content() -> None:
    step = Event(0, "load", "relaxed", None, None, 0, 0, 0, None, -1, drain=False)
    one = drawn(Found("1,0", "ended", 3, (step, step)), executions=3)
    other = drawn(
        Found("0,0", "ended", 1, (step,)), Found("1,0", "ended", 2, (step,)), executions=3, depth=9
    )
    tso = replace(one, model=Model.TSO)
    sc, apart = merging.together([one, tso, other], of_parts=False)
    assert [(f.text, f.count, len(f.example)) for f in sc.outcomes] == [
        ("1,0", 5, 1),
        ("0,0", 1, 1),
    ]
    assert (sc.executions, sc.depth, sc.exhaustive, sc.stopped) == (6, 9, False, "sample")
    assert apart == tso


def test_a_seed_whose_run_broke_leaves_no_verdict() -> None:
    whole, broken = drawn(Found("1,0", "ended", 3, ())), drawn(error="no memory")
    for results in ([whole, broken], [broken, whole]):
        assert [one.error for one in merging.together(results, of_parts=False)] == ["no memory"]
    skipped = drawn(stopped="inclusion")
    assert merging.together([skipped, whole], of_parts=False)[0].stopped == "sample"


def test_seeds_need_samples(wakeproof: Command) -> None:
    for words, says in (
        (("--seeds", "2"), "--seeds needs --sample"),
        (("--sample", "random", "--seeds", "0"), "--seeds is 0; allowed: 1 or more"),
        (("--sample", "random", "--seeds", "2", "--jobs", "2"), "take --dask local:N instead of"),
    ):
        ended = wakeproof("explore", str(GUARD), *words)
        assert (ended.returncode, says in ended.stderr) == (2, True), ended.stderr


@pytest.mark.slow
@pytest.mark.rotates
def test_a_cluster_gives_the_verdicts_of_stress_and_its_seed(wakeproof: Command) -> None:
    arguments = (
        "stress",
        str(GUARD),
        "-t",
        "^guard$",
        "--mode",
        "sanity",
        "--seed",
        "7",
        "--dask",
        "local:2",
    )
    ended = wakeproof(*arguments, "--no-twins", "--json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)["report"]
    assert [(one["name"], one["status"]) for one in found["scenarios"]] == [("guard", "held")]
    assert found["seed"] == 7


def test_seeds_of_stress_are_one_or_more(wakeproof: Command) -> None:
    ended = wakeproof("stress", str(GUARD), "--seeds", "0")
    assert (ended.returncode, "--seeds is 0; allowed: 1 or more" in ended.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.rotates
def test_all_runs_of_several_seeds_are_judged_together(wakeproof: Command) -> None:
    words = ("stress", str(GUARD), "-t", "^(guard|guard_no_fence)$", "--mode", "quick", "--json")
    ended = wakeproof(*words, "--seed", "7", "--seeds", "2")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)["report"]
    for one in (*found["scenarios"], *found["twins"]):
        assert one["status"] == "held"
        per_build = Counter(run["build"] for run in one["runs"])
        assert min(per_build.values()) == 2  # and more if one of the seeds had a second chance
        seeds = [seed for run in one["runs"] for seed in run["seeds"]]
        assert len(set(seeds)) == len(seeds)
    [scenario] = found["scenarios"]
    assert scenario["samples"] == sum(run["samples"] for run in scenario["runs"])
    assert scenario["samples"] == sum(row["samples"] for row in scenario["rows"])


def test_what_one_seed_shows_is_a_failure_of_all() -> None:
    options = StressOptions(mode="sanity", seed=1, opt=("O2",), delayed=False, computed=False)
    [build] = options.builds()
    with Children() as children:
        every, _ = listed([GUARD], children, Build(kind="explored"))
    guard = next(one for one in every if one.name == "guard")
    bad = next(one.pattern for one in guard.outcomes if one.grade == "FORBIDDEN")
    good = next(one.pattern for one in guard.outcomes if one.grade in ("REQUIRED", "ACCEPTABLE"))

    def run(**seen: int) -> Run:
        histogram = {{"good": good, "bad": bad}[name]: count for name, count in seen.items()}
        total = sum(seen.values())
        return Run(build.name, "stress", total, 0.1, 0, 0, (0, 1), (1,), "", histogram)

    for runs, status in (([run(good=9), run(good=9)], "held"),
                         ([run(good=9), run(good=8, bad=1)], "violated"),
                         ([run(good=8, bad=1), run(good=9)], "violated")):  # fmt: skip
        reports = [grading.judge_scenario(guard, [one], 2) for one in runs]
        found = stress_shards._scenario(guard, reports, options, 2, is_x86=True)
        assert (found.status, found.samples) == (status, 18)


def of_museum(progress: campaign.Progress) -> object:
    from wakeproof.judge.museum import exhibits, run
    from wakeproof.judge.museum import shards as museum
    from wakeproof.judge.museum.command import summary

    found = museum.run(exhibits.read(names=EXHIBITS), run.options(), "local:4", progress)
    return summary(found)


def of_seeds(progress: campaign.Progress) -> object:
    from wakeproof.judge.explore import shards
    from wakeproof.judge.explore.command import summary

    options = replace(OPTIONS, loop_bound=4, models=(Model.TSO,), sample=40, seed=5)
    save = locations.cache() / "explore"
    return summary(
        shards.run(
            [GUARD], [], "^guard$", options, "local:4", save=save, progress=progress, seeds=3
        )
    )


def of_parts(progress: campaign.Progress) -> object:
    from wakeproof.judge.explore import shards
    from wakeproof.judge.explore.command import summary

    options = replace(OPTIONS, loop_bound=4, models=(Model.RC11,))
    save = locations.cache() / "explore"
    return summary(
        shards.run([SHARED], [], None, options, "local:4", save=save, progress=progress, parts=6)
    )


@CLUSTER
@pytest.mark.parametrize(
    ("arguments", "judged"),
    [
        (("museum", "run", *EXHIBITS), of_museum),
        ((*SAMPLES, "--seed", "5", "--seeds", "3"), of_seeds),
        (("explore", str(SHARED), "--model", "rc11", "--parts", "6"), of_parts),
    ],
    ids=["museum", "seeds", "parts"],
)
def test_a_killed_and_a_stopped_worker_change_nothing(
    arguments: tuple[str, ...], judged: Callable[[campaign.Progress], object],
    wakeproof: Command, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from distributed import LocalCluster

    from wakeproof.judge.report import to_json

    alone = report(wakeproof, *arguments)
    monkeypatch.setattr(campaign, "PATIENCE_S", 5)
    pids: list[int] = []
    made = LocalCluster.__init__

    def remember(self: Any, *arguments: Any, **named: Any) -> None:
        made(self, *arguments, **named)
        pids.extend(worker.pid for worker in self.workers.values())

    monkeypatch.setattr(LocalCluster, "__init__", remember)
    hurt: list[int] = []

    def progress(_name: str, _done: int, _total: int) -> None:
        if len(pids) == 4 and not hurt:
            busy = wait_for(lambda: [pid for pid in pids if children_of_all(pid)][1:])
            hurt.extend([busy[0], next(pid for pid in pids if pid != busy[0])])
            os.kill(hurt[0], signal.SIGKILL)
            os.kill(hurt[1], signal.SIGSTOP)

    found = judged(progress)
    assert len(hurt) == 2
    assert plain(json.loads(to_json(found))) == alone
    assert not any(is_alive(pid) for pid in pids)


def children_of_all(pid: int) -> list[int]:
    """Return the children of all threads of a process."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += (task / "children").read_text().split()
    return [int(child) for child in found]


@CLUSTER
def test_an_interrupt_leaves_no_process_behind(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("wakeproof")
    child = subprocess.Popen(
        [script, "museum", "run", "--dask", "local:4"], env={**os.environ, "MARK": str(tmp_path)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def marked() -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if f"MARK={tmp_path}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except (OSError, ValueError):
                continue
        return found

    wait_for(lambda: len(marked()) > 10)  # the command, its workers, and their shards
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=60) == 130
    wait_for(lambda: not marked())
